"""Typed graphs: their relations, on graphs and on blocks; and typed data sets."""

import copy
import pickle
import zlib
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import matrix
from strategies import KEYS, graph_from_edges, graphs
from tiny_data import write_graphsaint
from typed_data import write_typed

import refimpl
from refimpl import Block, TypedGraph, streams
from refimpl.lab.data import communities, generators, typed
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.data.typed import load_typed, typed_communities

PATH = graph_from_edges(3, {(0, 1), (1, 2)})


# ---- TypedGraph --------------------------------------------------------------------------------


def test_a_typed_graph_is_a_graph_with_frozen_types():
    types = np.array([0, 1, 1, 0])
    graph = TypedGraph(PATH, types, 2, [0, 1, 0])
    assert isinstance(graph, refimpl.Graph) and graph.symmetric and graph.relations == 2
    assert_array_equal(graph.indices, PATH.indices)
    assert graph.edge_types.dtype == graph.node_types.dtype == np.int16
    types[0] = 1
    assert graph.edge_types[0] == 0
    for array in (graph.edge_types, graph.node_types):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(FrozenInstanceError):
        graph.edge_types = types
    assert TypedGraph(PATH, types, 5).node_types is None
    assert (graph.kinds, TypedGraph(PATH, types, 5).kinds) == (2, 0)
    assert repr(graph) == "TypedGraph(n=3, e=4, undirected, relations=2)"


def test_copies_of_a_typed_graph_are_typed():
    graph = TypedGraph(PATH, [0, 1, 2, 0], 4, [5, 0, 1])
    for twin in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph)):
        assert type(twin) is TypedGraph and twin.relations == 4
        for name in ("indptr", "indices", "edge_types", "node_types"):
            assert_array_equal(getattr(twin, name), getattr(graph, name))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("graph", [0], 1), TypeError, "graph must be a Graph"),
        ((PATH, [0, 0, 0], 1), ValueError, r"edge_types must have shape \(4,\)"),
        ((PATH, [0, 0, 0, 1], 1), ValueError, r"edge_types must be in \[0, 1\)"),
        ((PATH, [0, 0, 0, -1], 1), ValueError, "edge_types"),
        ((PATH, [0.0] * 4, 1), TypeError, "edge_types must hold integers"),
        ((PATH, [0] * 4, 0), ValueError, "relations"),
        ((PATH, [0] * 4, 2**15 + 1), ValueError, "relations"),
        ((PATH, [0] * 4, 1.0), TypeError, "relations"),
        ((PATH, [0] * 4, 1, [0, 1]), ValueError, r"node_types must have shape \(3,\)"),
        ((PATH, [0] * 4, 1, [0, 1, -1]), ValueError, "node_types"),
    ],
)
def test_bad_types_are_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        TypedGraph(*arguments)


@st.composite
def typed_graphs(draw, min_nodes=0):
    """Draw a TypedGraph with types of nodes; some relations may have no edge."""
    graph = draw(graphs(min_nodes=min_nodes))
    relations = draw(st.integers(1, 4))
    kinds = st.lists(st.integers(0, relations - 1), min_size=graph.e, max_size=graph.e)
    return TypedGraph(graph, draw(kinds), relations, np.arange(graph.n) % 3)


@given(graph=typed_graphs(), data=st.data())
def test_types_on_another_graph(graph, data):
    """A part of the nodes, in any order, and of the edges between them."""
    nodes = np.array(data.draw(st.permutations(range(graph.n))), np.int64)
    nodes = nodes[: data.draw(st.integers(0, graph.n))]
    inside = graph.to_scipy(np.arange(graph.e) + 1)[nodes][:, nodes].toarray()
    kept = inside * (np.random.default_rng(0).random(inside.shape) < 0.7)
    smaller = refimpl.as_graph(sp.csr_array(kept > 0))
    got = graph.on(nodes, smaller)
    at = matrix(smaller, np.arange(smaller.e))
    for i, j in zip(*np.nonzero(kept), strict=True):
        assert got.edge_types[int(at[i, j])] == graph.edge_types[kept[i, j] - 1]
    assert got.relations == graph.relations
    assert_array_equal(got.node_types, graph.node_types[nodes])


def test_entries_without_a_type_are_refused():
    graph = TypedGraph(PATH, [0, 1, 1, 0], 2)
    with pytest.raises(ValueError, match=r"\(0, 2\) has no type"):
        graph.on(np.array([2, 0]), graph_from_edges(2, {(0, 1)}).__class__([0, 0, 1], [0]))
    with pytest.raises(ValueError, match="must have 2 nodes"):
        graph.on(np.array([2, 0]), PATH)
    with pytest.raises(ValueError, match=r"nodes must be in \[0, 3\)"):
        graph.on(np.array([3]), graph_from_edges(1, set()))
    with pytest.raises(TypeError, match="graph must be a Graph"):
        graph.on(np.array([0]), None)


@given(graph=typed_graphs(min_nodes=1), seed=KEYS)
def test_a_subgraph_keeps_the_types_of_its_entries(graph, seed):
    nodes = np.sort(np.random.default_rng(seed).permutation(graph.n)[: graph.n // 2 + 1])
    sub = refimpl.induced_subgraph(graph, nodes)
    got = graph.typed(sub).graph
    want = graph.on(nodes, sub.graph)
    assert_array_equal(got.edge_types, want.edge_types)
    assert_array_equal(got.node_types, want.node_types)


# ---- relations ---------------------------------------------------------------------------------


def brute_force(pattern, edge_types, r):
    """Return the sources and edge ids of every row that are of relation r."""
    rows = []
    for start, end in zip(pattern.start, pattern.end, strict=True):
        edge_ids = getattr(pattern, "edge_ids", np.arange(pattern.e))
        weights = getattr(pattern, "weights", None)
        entries = [
            (pattern.indices[k], edge_ids[k], None if weights is None else weights[k])
            for k in range(start, end)
        ]
        rows.append([entry for entry in entries if edge_types[entry[1]] == r])
    return rows


def check_blocks(pattern, graph):
    blocks = refimpl.typed.relation_blocks(pattern, graph.edge_types, graph.relations)
    assert isinstance(blocks, tuple) and len(blocks) == graph.relations
    for r, block in enumerate(blocks):
        assert (block.n_dst, block.n_src) == (pattern.n_dst, pattern.n_src)
        checked = Block(block.start, block.end, block.indices, block.n_src, block.edge_ids)
        assert checked.indices.dtype == block.indices.dtype and not block.indices.flags.writeable
        assert brute_force(block, graph.edge_types, r) == brute_force(pattern, graph.edge_types, r)
        assert block.e == block.degrees().sum()
    assert sum(block.e for block in blocks) == (pattern.end - pattern.start).sum()
    return blocks


@given(graph=typed_graphs(min_nodes=1), key=KEYS, data=st.data())
def test_relation_blocks_have_the_entries_of_their_relation(graph, key, data):
    """On the graph, on sampled blocks, and on pruned ones, whose cut rows hold dead entries."""
    check_blocks(graph, graph)
    roots = np.arange(data.draw(st.integers(0, graph.n)))
    for block in refimpl.layer_sample(graph, roots, (3, 2), key).blocks:
        check_blocks(block, graph)
        end = np.where(np.arange(block.n_dst) % 2, block.end, block.start)
        for weights in (None, 1 + 0.3 * np.arange(block.e)):
            cut = Block(block.start, end, block.indices, block.n_src, block.edge_ids, weights)
            check_blocks(cut, graph)


@given(graph=typed_graphs(min_nodes=1), key=KEYS)
def test_relation_norms_are_means_over_each_relation(gnn, graph, key):
    (block,) = refimpl.layer_sample(graph, np.arange(graph.n), (2,), key).blocks
    for pattern in (graph, block):
        blocks = refimpl.typed.relation_blocks(pattern, graph.edge_types, graph.relations)
        norms = gnn.layers.relation_norms(
            pattern, graph.edge_types, graph.relations, dtype=np.float32
        )
        for A, relation in zip(norms, blocks, strict=True):
            assert A.data.dtype == np.float32
            want = matrix(relation)
            want /= np.maximum(want.sum(axis=1, keepdims=True), 1)
            assert_allclose(matrix(A.graph, A.data), want, rtol=1e-6)
            assert_allclose(matrix(A.graph_t, A.data_t), want.T, rtol=1e-6)


TYPES = np.zeros(4, np.int16)
WITH_IDS = Block([0, 1], [1, 2], [1, 0], 2, [0, 3])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("graph", TYPES, 1), TypeError, "pattern must be a Graph or a Block"),
        ((Block([0], [1], [0], 1), TYPES, 1), ValueError, "pattern must have edge_ids"),
        ((PATH, TYPES[1:], 1), ValueError, r"edge_types must have shape \(4,\)"),
        ((WITH_IDS, TYPES[1:], 1), ValueError, "edge_types must have a type .* up to 3, got 3"),
        ((WITH_IDS, TYPES + 1, 1), ValueError, r"edge_types must be in \[0, 1\)"),
        ((PATH, TYPES - 1, 1), ValueError, "edge_types"),
        ((PATH, TYPES.astype(float), 1), TypeError, "edge_types must be 1-D and hold integers"),
        ((PATH, TYPES[None], 1), TypeError, "edge_types must be 1-D"),
        ((PATH, TYPES, 0), ValueError, "relations"),
    ],
)
def test_bad_relations_are_refused(gnn, arguments, error, words):
    with pytest.raises(error, match=words):
        refimpl.typed.relation_blocks(*arguments)
    with pytest.raises(error, match=words):
        gnn.layers.relation_norms(*arguments)
    with pytest.raises(TypeError, match="dtype"):
        gnn.layers.relation_norms(PATH, TYPES, 1, dtype=int)


# ---- the built-in data set ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def built_in():
    return typed_communities(0, dtype="float64")


def test_typed_communities_depend_on_the_seed_alone(built_in):
    again = load_dataset("typed", dtype="float64")
    for name in ("features", "labels", "train", "val", "test"):
        assert_array_equal(getattr(again, name), getattr(built_in, name))
    graph = built_in.graph
    assert_array_equal(again.graph.edge_types, graph.edge_types)
    assert not np.array_equal(typed_communities(1).graph.indptr, graph.indptr)
    arrays = (graph.indptr, "<i8"), (graph.indices, "<i4"), (graph.edge_types, "<i2")
    crc = [zlib.crc32(array.astype(dtype)) for array, dtype in arrays]
    assert (graph.e, built_in.train_graph.e, *crc) == PINNED  # on every machine, in every version


PINNED = (121_880, 52_334, 4241967225, 1132764552, 2360671827)


def test_typed_communities_draw_from_streams_of_their_own(monkeypatch):
    keys, make = [], streams.key
    monkeypatch.setattr(streams, "key", lambda *parts: keys.append(parts) or make(*parts))
    monkeypatch.setattr(np.random, "default_rng", None)
    typed_communities(3)
    assert {parts[:2] for parts in keys} == {(3, streams.DATA)}
    uses = {parts[2] for parts in keys}
    assert len(uses) == len(keys) == 6
    assert min(uses) > max(communities.FLIP, generators.NAMES)


def test_a_relation_joins_two_types_of_nodes(built_in):
    for graph in (built_in.graph, built_in.train_graph):
        assert graph.relations == len(typed.RELATIONS) == 5 and graph.kinds == 3
        row = graph.node_types[np.repeat(np.arange(graph.n), graph.degrees())]
        pairs = {(0, 0): 0, (0, 1): 1, (1, 0): 2, (1, 2): 3, (2, 1): 4}
        want = [pairs[pair] for pair in zip(row, graph.node_types[graph.indices], strict=True)]
        assert_array_equal(graph.edge_types, want)
    assert_array_equal(np.bincount(built_in.graph.node_types), typed.NODES)
    assert_array_equal(built_in.train_graph.node_types, built_in.graph.node_types[built_in.train])


def test_which_communities_an_edge_joins_depends_on_its_relation(built_in):
    graph, community = built_in.graph, built_in.labels
    rows = np.repeat(np.arange(graph.n), graph.degrees())
    apart = (community[graph.indices] - community[rows]) % typed.COMMUNITIES
    for relation, shift in enumerate((0, 3, -3, 5, -5)):
        counts = np.bincount(apart[graph.edge_types == relation], minlength=8)
        share = counts / counts.sum()
        assert share.argmax() == shift % 8
        assert 0.5 < share.max() < 0.65 and np.delete(share, share.argmax()).max() < 0.1


# ---- folders -----------------------------------------------------------------------------------


def test_a_folder_with_types(tmp_path):
    data = load_dataset(write_typed(tmp_path / "a"), dtype="float64")
    graph, train = data.graph, data.train_graph
    assert (graph.relations, graph.kinds, train.relations) == (3, 2, 3)
    rows = np.repeat(np.arange(200), graph.degrees())
    assert_array_equal(graph.edge_types, (rows + graph.indices) % 3)
    ends = data.train[np.repeat(np.arange(train.n), train.degrees())] + data.train[train.indices]
    assert_array_equal(train.edge_types, ends % 3)
    assert_array_equal(train.node_types, data.train % 2)
    untyped = load_typed(write_typed(tmp_path / "b", node_types=False))
    assert untyped.graph.node_types is None and untyped.train_graph.node_types is None
    assert type(load_dataset(write_graphsaint(tmp_path / "c")).graph) is refimpl.Graph


def spoiled(folder, name, change):
    np.save(folder / name, change(np.load(folder / name)))


def _unsorted(folder):
    full = sp.load_npz(folder / "adj_full.npz")
    full.indices[full.indptr[3] : full.indptr[4]] = full.indices[full.indptr[3] : full.indptr[4]][
        ::-1
    ]
    sp.save_npz(folder / "adj_full.npz", full)


def _fewer(folder):
    """Take away an edge between training nodes, and its types."""
    full, train = (sp.load_npz(folder / f"adj_{part}.npz").toarray() for part in ("full", "train"))
    u, v = np.argwhere(train)[0]
    full[u, v] = full[v, u] = 0
    smaller = sp.csr_array(full)
    sp.save_npz(folder / "adj_full.npz", smaller)
    np.save(folder / "edge_types.npy", np.zeros(smaller.nnz, int))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: spoiled(f, "edge_types.npy", lambda t: t[1:]), r"edge_types\.npy must hold"),
        (lambda f: spoiled(f, "edge_types.npy", lambda t: t + 0.5), r"edge_types\.npy must hold"),
        (lambda f: spoiled(f, "edge_types.npy", lambda t: t.astype(int) - 1), r"in \[0, 32768\)"),
        (lambda f: spoiled(f, "node_types.npy", lambda t: t[:, None]), r"node_types\.npy must"),
        (lambda f: (f / "edge_types.npy").write_bytes(b"no"), r"edge_types\.npy cannot be read"),
        (_unsorted, r"adj_full\.npz cannot be read as a CSR matrix without self-loops"),
        (_fewer, r"adj_train\.npz must have no entry that adj_full\.npz does not have"),
    ],
)
def test_a_damaged_folder_is_refused_by_the_name_of_the_file(tmp_path, spoil, words):
    folder = write_typed(tmp_path)
    spoil(folder)
    with pytest.raises(ValueError, match=words):
        load_dataset(folder)
