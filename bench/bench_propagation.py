"""The sparse x dense product."""

import pytest
from numpy.testing import assert_allclose

from bench import inputs, work


@pytest.mark.sizes("tiny", "small", "large")
@pytest.mark.parametrize("f, dtype", [(128, "float32"), (512, "float32"), (128, "float64")])
def test_spmm(case, f, dtype):
    A, X = inputs.adjacency(case.size, dtype), inputs.normal((case.scale.s, f), 1, dtype)
    text = f"{inputs.graph_text(A.graph)} f={f} {dtype}"
    case.describe("spmm", text, work.spmm(A.graph, f, dtype))
    got = case.run(case.gnn.spmm, A.graph, A.data, X)
    assert got.dtype == dtype
    expected = A.graph.to_scipy(A.data.astype("float64")) @ X.astype("float64")
    assert_allclose(got, expected, atol=1e-5 if dtype == "float32" else 1e-13)
