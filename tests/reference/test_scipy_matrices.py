"""Matrices of scipy.sparse as sources: every format, whole and damaged."""

import importlib
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

matrices = importlib.import_module("fuzz.matrices")
FORMATS, KINDS, DENSE = matrices.FORMATS, matrices.KINDS, matrices.DENSE


@st.composite
def dense_matrices(draw):
    n = draw(st.integers(1, 8))
    cells = draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))
    return np.array(cells, np.float64).reshape(n, n)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [form for form in FORMATS if form != "bsr"])
@given(dense=dense_matrices())
def test_every_format_has_the_entries_of_the_dense_matrix(gnn, form, kind, dense):
    graph = gnn.as_graph(matrices.of_format(form, kind, dense))
    assert_array_equal(graph.to_scipy().toarray(), dense)


@pytest.mark.parametrize("kind", KINDS)
@given(dense=dense_matrices())
def test_every_place_of_a_block_is_an_entry(gnn, kind, dense):
    source = matrices.of_format("bsr", kind, dense)
    stored = getattr(sparse, f"bsr_{kind}")(
        (np.ones_like(source.data), source.indices, source.indptr), shape=source.shape
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of zeros, which are no ones
        graph = gnn.as_graph(source)
    assert_array_equal(graph.to_scipy().toarray(), stored.toarray())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMATS)
def test_matrices_without_entries_or_nodes(gnn, form, kind):
    made = getattr(sparse, f"{form}_{kind}")
    for n in (0, 1, 5) if form not in ("bsr", "dia") else (1, 5):
        assert (gnn.as_graph(made((n, n))).n, gnn.as_graph(made((n, n))).e) == (n, 0)


@pytest.mark.parametrize("form", ["coo", "csc", "csr", "lil", "bsr"])
def test_an_explicit_zero_is_an_edge_in_every_format_that_keeps_one(gnn, form):
    coo = sparse.coo_array(([0.0, 1.0], ([0, 1], [1, 0])), shape=(3, 3))
    source = sparse.bsr_array(coo, blocksize=(1, 1)) if form == "bsr" else coo.asformat(form)
    with pytest.warns(UserWarning, match="those in 'data' of source are dropped"):
        graph = gnn.as_graph(source)
    assert graph.indices.tolist() == [1, 0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [form for form in FORMATS if form != "bsr"])
def test_what_is_damaged_below_is_a_graph_before(gnn, form, kind):
    assert_array_equal(gnn.as_graph(matrices.whole(form, kind)).to_scipy().toarray(), DENSE)


CASES = [(form, name) for form, damages in matrices.DAMAGES.items() for name in damages]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("form", "name"), CASES, ids=[" ".join(case) for case in CASES])
def test_a_damaged_matrix_is_refused(gnn, form, name, kind):
    source = matrices.damaged(form, name, kind)
    with pytest.raises((ValueError, TypeError), match="source"):
        gnn.as_graph(source)


@pytest.mark.parametrize("form", FORMATS)
def test_a_format_that_is_another_is_refused(gnn, form):
    for other in FORMATS:
        source = matrices.whole(form)
        liar = type("Liar", (type(source),), {"format": other})
        source.__class__ = liar
        if other != form and {form, other} not in ({"csr", "csc"}, {"lil", "dok"}):
            with pytest.raises((ValueError, TypeError), match="source"):
                gnn.as_graph(source)


class NoMatrix:
    """What has the methods of a Graph, and wrong arrays."""

    n, indptr, indices = 2, np.array([0, 1, 1]), np.array([2**30], np.int32)

    def to_scipy(self):
        return self


def test_what_only_looks_like_a_graph_is_refused(gnn):
    with pytest.raises(TypeError, match="source must be a Graph, got NoMatrix"):
        gnn.as_graph(NoMatrix())
