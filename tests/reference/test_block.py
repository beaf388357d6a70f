"""Blocks: what they refuse, what they hold, and their transposes against dense matrices."""

import copy
import pickle

import numpy as np
import pytest
from blocks import block_arguments, blocks, dense_block
from hypothesis import given
from numpy.testing import assert_array_equal
from strategies import directed_graphs, distinct

ROWS = {"start": [0, 3, 3], "end": [2, 3, 5], "indices": [2, 1, 0, 3, 2], "n_src": 4}
ARRAYS = {"start": "i8", "end": "i8", "indices": "i4", "edge_ids": "i8", "weights": "f8"}


@given(arguments=block_arguments())
def test_a_block_keeps_copies_of_its_arrays_read_only(gnn, arguments):
    block = gnn.Block(**arguments)
    want = copy.deepcopy(arguments)
    for name in ARRAYS:
        if name in arguments:
            arguments[name][...] = 0
    for copied in (block, copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
        assert (copied.n_src, copied.n_dst) == (want["n_src"], len(want["start"]))
        assert copied.e == len(want["indices"])
        for name in ("edge_ids", "weights"):
            assert (getattr(copied, name) is None) == (name not in want)
        assert_array_equal(copied.degrees(), want["end"].astype(int) - want["start"])
        for name in want.keys() & ARRAYS.keys():
            array = getattr(copied, name)
            assert_array_equal(array, want[name])
            assert array.dtype == np.dtype(ARRAYS[name])
            assert not array.flags.writeable


BAD = {
    "start-float": ({"start": [0.0, 3.0, 3.0]}, TypeError, "start must hold integers"),
    "start-short": ({"start": [0, 3]}, ValueError, "end must be as long as start"),
    "start-2d": ({"start": [[0, 3, 3]]}, ValueError, "start must be 1-D"),
    "start-negative": ({"start": [-1, 3, 3]}, ValueError, r"start must be in \[0, 6\)"),
    "end-outside": ({"end": [2, 3, 6]}, ValueError, r"end must be in \[0, 6\)"),
    "end-below-start": ({"end": [2, 2, 5]}, ValueError, "end must be in"),
    "rows-overlap": ({"end": [4, 4, 5]}, ValueError, "end must be in"),
    "rows-not-in-order": ({"start": [3, 3, 0], "end": [5, 3, 2]}, ValueError, "end must be in"),
    "indices-outside": ({"indices": [2, 1, 0, 4, 2]}, ValueError, r"indices must be in \[0, 4\)"),
    "dead-one-outside": ({"indices": [2, 1, 9, 3, 2]}, ValueError, "indices must be in"),
    "indices-twice": ({"indices": [2, 1, 0, 3, 3]}, ValueError, "twice"),
    "indices-negative": ({"indices": [2, -1, 0, 3, 2]}, ValueError, "indices must be in"),
    "n_src-float": ({"n_src": 4.0}, TypeError, "n_src must be an integer"),
    "n_src-negative": ({"n_src": -1}, ValueError, "n_src must be"),
    "n_src-large": ({"n_src": 2**31}, ValueError, "n_src must be"),
    "edge_ids-short": ({"edge_ids": [0, 1]}, ValueError, "edge_ids must have shape"),
    "edge_ids-negative": ({"edge_ids": [-1, 0, 0, 0, 0]}, ValueError, "edge_ids must be in"),
    "edge_ids-float": ({"edge_ids": np.ones(5)}, TypeError, "edge_ids must hold integers"),
    "weights-short": ({"weights": np.ones(4)}, ValueError, r"weights must have shape \(5,\)"),
    "weights-zero": ({"weights": [1, 1, 0, 1, 1]}, ValueError, "weights must be positive"),
    "weights-nan": ({"weights": [1, 1, np.nan, 1, 1]}, ValueError, "weights must be positive"),
    "weights-text": ({"weights": ["1"] * 5}, TypeError, "weights must be real numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_block_is_refused(gnn, case):
    gnn.Block(**ROWS)
    change, error, message = BAD[case]
    with pytest.raises(error, match=message):
        gnn.Block(**{**ROWS, **change})


def test_a_source_may_come_twice_in_a_block_but_not_in_a_row(gnn):
    """Also where the two stand apart in the row; a dead entry is in no row."""
    gnn.Block([0, 2], [2, 4], [0, 1, 1, 0], 2)
    gnn.Block([0, 3], [2, 4], [0, 1, 1, 0], 2)
    with pytest.raises(ValueError, match="twice"):
        gnn.Block([0], [3], [1, 0, 1], 2)


@given(block=blocks())
def test_to_scipy(gnn, block):
    data = distinct(block.e, float)
    assert_array_equal(block.to_scipy(data).toarray(), dense_block(block, data))
    assert_array_equal(block.to_scipy().toarray(), dense_block(block, np.ones(block.e)))
    assert block.to_scipy().shape == (block.n_dst, block.n_src)
    assert block.to_scipy().nnz == block.degrees().sum()


@given(block=blocks())
def test_a_row_is_emptied_by_its_end_alone(gnn, block):
    """CSR2: the bounds of the other rows, the entries and their values stay as they are."""
    data = distinct(block.e, float)
    for row in range(block.n_dst):
        end = block.end.copy()
        end[row] = block.start[row]
        want = dense_block(block, data)
        want[row] = 0
        pruned = gnn.Block(block.start, end, block.indices, block.n_src)
        assert_array_equal(dense_block(pruned, data), want)


@given(block=blocks())
def test_transpose_block(gnn, block):
    data = distinct(block.e, float)
    transpose, perm = gnn.block.transpose_block(block)
    assert isinstance(transpose, gnn.Block)
    assert (transpose.n_dst, transpose.n_src) == (block.n_src, block.n_dst)
    assert transpose.edge_ids is None
    assert_array_equal(dense_block(transpose, data[perm]), dense_block(block, data).T)
    live = [j for i in range(block.n_dst) for j in range(block.start[i], block.end[i])]
    assert sorted(perm.tolist()) == live
    assert perm.dtype == np.int64
    assert_array_equal(transpose.start[1:], transpose.end[:-1])
    for u in range(transpose.n_dst):
        destinations = transpose.indices[transpose.start[u] : transpose.end[u]]
        assert (np.diff(destinations) > 0).all()
    gnn.Block(transpose.start, transpose.end, transpose.indices, transpose.n_src)  # checks it


@given(block=blocks())
def test_transposing_twice_sorts_the_rows(gnn, block):
    transpose, perm = gnn.block.transpose_block(block)
    twice, back = gnn.block.transpose_block(transpose)
    order = perm[back]
    want = [
        j
        for i in range(block.n_dst)
        for j in sorted(range(block.start[i], block.end[i]), key=lambda j: block.indices[j])
    ]
    assert order.tolist() == want
    assert_array_equal(twice.indices, block.indices[order])
    assert_array_equal(twice.degrees(), block.degrees())


def test_transpose_block_by_hand(gnn):
    """Rows {2, 1}, {} and {3, 2}; the 0 between the first and the second is dead."""
    transpose, perm = gnn.block.transpose_block(gnn.Block(**ROWS))
    assert transpose.start.tolist() == [0, 0, 1, 3]
    assert transpose.end.tolist() == [0, 1, 3, 4]
    assert transpose.indices.tolist() == [0, 0, 2, 2]
    assert perm.tolist() == [1, 0, 4, 3]


@given(graph=directed_graphs())
def test_a_graph_reads_like_a_block(gnn, graph):
    assert (graph.n_dst, graph.n_src) == (graph.n, graph.n)
    assert_array_equal(graph.start, graph.indptr[:-1])
    assert_array_equal(graph.end, graph.indptr[1:])
    assert graph.start is graph.start and graph.end is graph.end
    assert not (graph.start.flags.writeable or graph.end.flags.writeable)
    block = gnn.Block(graph.start, graph.end, graph.indices, graph.n_src)
    assert_array_equal(block.to_scipy().toarray(), graph.to_scipy().toarray())
