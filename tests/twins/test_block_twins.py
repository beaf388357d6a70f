"""Fast against reference for blocks and layer sampling."""

import copy
import pickle

import numpy as np
import pytest
from blocks import blocks
from comparison import assert_bits, assert_same_error, assert_twins, read_only
from hypothesis import given
from hypothesis import strategies as st
from strategies import KEYS, directed_graphs, even_graph, graph_from_edges, graphs, power_law_graph

import fastimpl
import refimpl

THREADS = st.sampled_from([1, 2, 5])
BIG, HUBS, EVEN = power_law_graph(700), power_law_graph(3000), even_graph(3000, 20)
PATH = graph_from_edges(3, {(0, 1), (1, 2)})
# Rows of up to 2300 neighbours: too long to be shuffled whole.
LONG = graph_from_edges(2400, {(u, v) for u in range(3) for v in range(3, 900 + 700 * u)})


@given(block=blocks(), count=THREADS)
def test_transpose_block(block, count):
    transpose, _ = assert_twins("transpose_block", block, count=count)
    assert transpose.n_src == block.n_dst


@given(
    graph=graphs(max_nodes=14) | directed_graphs(),
    fanouts=st.lists(st.sampled_from([-1, 0, 1, 2, 3, 7]), max_size=3),
    key=KEYS,
    data=st.data(),
    count=THREADS,
)
def test_layer_sample(graph, fanouts, key, data, count):
    node = st.integers(0, max(graph.n - 1, 0))
    roots = data.draw(st.lists(node, max_size=graph.n, unique=True), label="roots")
    dtype = data.draw(st.sampled_from([np.int32, np.int64, np.uint8]))
    mfg = assert_twins(
        "layer_sample", graph, read_only(np.array(roots, dtype)), fanouts, key, count=count
    )
    assert isinstance(mfg, refimpl.MFG)


@pytest.mark.parametrize("fanouts", [(25, 10), (64, 65), (70, 3), (-1, 2), (1, 1, 1, 1)], ids=repr)
@pytest.mark.parametrize("graph", [BIG, LONG], ids=repr)
def test_layers_of_hundreds_of_nodes(graph, fanouts):
    """More rows than a thread takes at a time; few and many picks of short and long rows."""
    for key, count in ((1, 1), (2, 2), (3, 5)):
        roots = np.random.default_rng(key).permutation(graph.n)[:150]
        mfg = assert_twins("layer_sample", graph, roots, fanouts, key, count=count)
        assert isinstance(mfg, refimpl.MFG)
        for block in mfg.blocks:
            assert_twins("transpose_block", block, count=count)


def test_counters_go_on_past_many_rows():
    """Rows that are drawn at the same time have to know how many draws went before."""
    mfg = assert_twins("layer_sample", EVEN, np.arange(2999, -1, -1), (7, 9), 2**64 - 1, count=5)
    assert mfg.blocks[1].e == 7 * 3000


def test_transposing_in_parts():
    """Enough entries for several threads, of which one gets only empty rows."""
    block = fastimpl.layer_sample(EVEN, np.arange(3000), (19,), 1).blocks[0]
    end = block.end.copy()
    end[1000:] = block.start[1000:]
    for pruned in (block, refimpl.Block(block.start, end, block.indices, block.n_src)):
        for count in (1, 2, 3, 5):
            assert_twins("transpose_block", pruned, count=count)


@given(
    block=blocks(),
    kind=st.sampled_from(["row", "sym", "loop"]),
    dtype=st.sampled_from([np.float32, np.float64]),
    data=st.data(),
    count=THREADS,
)
def test_block_norm(block, kind, dtype, data, count):
    degrees = data.draw(
        st.lists(st.integers(0, 50), min_size=block.n_src, max_size=block.n_src), label="degrees"
    )
    degrees = read_only(np.array(degrees, np.int64))
    if kind != "row" and block.n_dst > block.n_src:
        assert_same_error("block_norm", kind, block, degrees, dtype=dtype)
    else:
        assert_twins("block_norm", kind, block, degrees, dtype=dtype, count=count)


BIG_BLOCK = refimpl.Block(HUBS.start, HUBS.end, HUBS.indices, HUBS.n)


@pytest.mark.parametrize("dx", [0, 2])
def test_only_a_gradient_of_the_input_makes_the_transpose(dx):
    """The first layer needs none. A copy is whole, whichever way it is made."""
    block = refimpl.layer_sample(EVEN, np.arange(100), (3,), 1).blocks[0]
    A = fastimpl.adjacency.block_norm("row", block, dtype=np.float32)
    X, W = np.ones((block.n_src, 4), np.float32), np.ones((4, 2), np.float32)
    order = refimpl.scheduling.ProductOrders(1, 1, dx)
    out = fastimpl.layers.sage_forward(A, X, W, W, order)
    fastimpl.layers.sage_backward(A, X, W, W, out, np.ones((100, 4), np.float32), order)
    assert ("graph_t" in vars(A)) == (dx != 0)
    for one in (pickle.loads(pickle.dumps(A)), copy.copy(A), copy.deepcopy(A), A):
        assert_bits(one, refimpl.adjacency.block_norm("row", block, dtype=np.float32))
    with pytest.raises(AttributeError, match="graph_T"):
        A.graph_T  # noqa: B018


def layers():
    roots = np.arange(0, 3000, 4)
    return [
        fastimpl.layer_sample(graph, roots, fanouts, 7)
        for graph in (HUBS, EVEN)
        for fanouts in ((25, 10), (70, 3), (-1,))
    ]


TWINS = {
    "block_norm": test_block_norm,
    "layer_sample": test_layer_sample,
    "transpose_block": test_transpose_block,
}

NARROW = refimpl.Block(np.array([0, 0]), np.array([0, 1]), np.array([0], np.int32), 1)
WIDE = refimpl.Block(np.array([0]), np.array([1]), np.array([1], np.int32), 2)

ERRORS = [
    ("block_norm", "mean", WIDE),
    ("block_norm", "row", PATH),
    ("block_norm", "sym", WIDE),
    ("block_norm", "sym", WIDE, np.array([1])),
    ("block_norm", "sym", WIDE, np.array([1, -1])),
    ("block_norm", "sym", WIDE, np.array([0.5, 1])),
    ("block_norm", "loop", NARROW),
    ("layer_sample", "graph", np.array([0]), (1,), 0),
    ("layer_sample", PATH, np.array([3]), (1,), 0),
    ("layer_sample", PATH, np.array([0, 0]), (1,), 0),
    ("layer_sample", PATH, np.array([0.5]), (1,), 0),
    ("layer_sample", PATH, np.array([0]), 1, 0),
    ("layer_sample", PATH, np.array([0]), (1, -2), 0),
    ("layer_sample", PATH, np.array([0]), (1.0,), 0),
    ("layer_sample", PATH, np.array([0]), (1,), 2**64),
    ("transpose_block", PATH),
    ("transpose_block", None),
]

LARGE = {
    "block_norm": lambda: [
        fastimpl.adjacency.block_norm(kind, BIG_BLOCK, HUBS.degrees(), dtype=np.float32)
        for kind in ("row", "sym", "loop")
    ],
    "layer_sample": layers,
    "transpose_block": lambda: [
        fastimpl.block.transpose_block(block)
        for block in (BIG_BLOCK, fastimpl.layer_sample(EVEN, np.arange(3000), (19,), 1).blocks[0])
    ],
}
