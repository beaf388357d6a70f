"""Features as matrices of scipy.sparse: SciPy's own dense form of them is the law."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from refimpl import Dataset, as_graph, load_dataset
from refimpl.lab.data.sparse_features import DENSEST, checked_sparse, dense_rows
from refimpl.lab.training.sparse_inputs import sparse_rows
from refimpl.loader import gather_rows

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")


@st.composite
def matrices(draw):
    """Draw a matrix in COO: duplicates, zeros, and rows and columns without entries among it."""
    n, width = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    count = draw(st.integers(0, 12))
    places = [st.integers(0, n - 1), st.integers(0, width - 1), st.integers(-2, 2)]
    row, col, data = (
        np.array(draw(st.lists(one, min_size=count, max_size=count)), int) for one in places
    )
    dtype = draw(st.sampled_from([np.float32, np.float64, np.int8, np.uint16]))
    data = np.abs(data) if dtype is np.uint16 else data  # SciPy adds duplicates modulo 2**16
    return sp.coo_array((data.astype(dtype), (row, col)), shape=(n, width))


@given(matrices(), st.sampled_from(FORMATS))
def test_every_format_is_read_as_scipy_reads_it(matrix, form):
    want = matrix.toarray()
    found = checked_sparse(matrix if form == "coo" else matrix.asformat(form))
    assert_array_equal(found.toarray(), want)
    assert_array_equal(dense_rows(found), want)
    assert found.nnz == np.count_nonzero(want)  # no zeros, nothing twice
    assert found.dtype == (matrix.dtype if matrix.dtype.kind == "f" else np.float32)
    assert all(np.diff(found.indices[a:b]).min(initial=1) > 0 for a, b in pairs(found.indptr))


def pairs(indptr):
    return zip(indptr[:-1], indptr[1:], strict=True)


def test_entries_in_any_order_and_twice_are_understood():
    matrix = sp.csr_array(
        (np.array([1.0, 2.0, 4.0, 8.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), (2, 3)
    )
    found = checked_sparse(matrix)
    assert_array_equal(found.toarray(), [[2, 0, 5], [0, 8, 0]])
    assert found.nnz == 3


def test_it_is_a_copy_that_nobody_can_write_to():
    matrix = sp.csr_array(np.eye(3))
    found = checked_sparse(matrix)
    matrix.data[:] = 7
    assert_array_equal(found.toarray(), np.eye(3))
    with pytest.raises(ValueError, match="read-only"):
        found.data[0] = 1


def damaged(**changes):
    matrix = sp.csr_array(np.eye(3))
    for name, value in changes.items():
        setattr(matrix, name, value)
    return matrix


@pytest.mark.parametrize(
    ("matrix", "error", "words"),
    [
        (sp.csr_array(np.diag([np.inf, 1, 1])), ValueError, "row 0 has .* in column 0"),
        (sp.csr_array(np.eye(3) * 1j), TypeError, "must be real numbers"),
        (damaged(indices=np.array([0, 1, 9])), ValueError, r"indices must be in \[0, 3\)"),
        (damaged(indptr=np.array([0, 3, 1, 3])), ValueError, "indptr must rise"),
        (damaged(data=np.ones(2)), ValueError, "data must have shape"),
    ],
)
def test_damaged_matrices_are_refused(matrix, error, words):
    with pytest.raises(error, match=words):
        checked_sparse(matrix)


@given(matrices(), st.data())
def test_rows_are_those_that_a_dense_matrix_gives(gnn, matrix, data):
    X = checked_sparse(matrix.astype(np.float64))
    nodes = np.array(data.draw(st.lists(st.integers(0, X.shape[0] - 1), max_size=8)), int)
    scaling, dtype = data.draw(st.sampled_from(["rows", None])), np.float32
    got = sparse_rows(gnn, X, nodes, scaling, dtype)
    want = gather_rows(X.toarray(), nodes, scaling, dtype)
    assert_allclose(got.graph.to_scipy(got.data).toarray(), want, rtol=1e-6)
    X, X_t = got.graph.to_scipy(got.data), got.graph_t.to_scipy(got.data_t)
    assert_array_equal(X_t.toarray().T, X.toarray())


GRAPH = as_graph([(0, 1), (1, 2)], n=4, symmetrize=True)


def made(features, scaling="rows", **more):
    return Dataset.from_arrays(GRAPH, features, [0, 1, 0, 1], [0, 1], scaling=scaling, **more)


def test_density_decides_whether_features_stay_sparse():
    matrix = sp.random_array((4, 100), density=DENSEST, rng=1, format="csr")
    data = made(matrix)
    assert sp.issparse(data.features) and data.dtype == np.float64
    assert_allclose(data.inputs(), gather_rows(matrix.toarray(), np.arange(4), "rows"))
    more = sp.vstack([matrix[:3], np.ones((1, 100))], format="coo")
    assert not sp.issparse(made(more).features)
    assert not sp.issparse(made(matrix.toarray()).features)
    kept = Dataset("all", GRAPH, more, np.zeros(4, int), np.arange(4), (), (), scaling="rows")
    assert sp.issparse(kept.features)  # given to the class itself, it stays as it is


def test_a_mean_of_columns_is_refused():
    matrix = sp.csr_array((4, 100))
    with pytest.raises(ValueError, match='scaling must be "rows" or "none" where features are sp'):
        made(matrix, "standard")
    with pytest.raises(ValueError, match='scaling must be "rows" or None where features are spar'):
        made(matrix, (np.zeros(100), np.ones(100)))


def test_a_wrong_number_of_rows_is_refused():
    with pytest.raises(ValueError, match="features must have a row for each of 4 nodes"):
        made(sp.csr_array((3, 100)))
    with pytest.raises(ValueError, match=r"features must have shape \(4, at least 1\)"):
        Dataset("all", GRAPH, sp.csr_array((4, 0)), np.zeros(4, int), [0], (), ())


def test_a_saved_data_set_has_the_same_features(tmp_path):
    matrix = sp.random_array((4, 100), density=0.04, rng=1, format="csr", dtype=np.float32)
    made(matrix).save(tmp_path / "saved")
    again = load_dataset(tmp_path / "saved", verify=True)
    assert_array_equal(again.features, matrix.toarray())
    assert again.scaling == "rows"
