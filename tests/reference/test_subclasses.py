"""Subclasses of a Graph, a Block and an Adjacency: kernels read what the class itself checked."""

import gc
import importlib
import weakref
from dataclasses import dataclass

import numpy as np
import pytest
from comparison import assert_bits
from strategies import power_law_graph

import fastimpl
import refimpl
from fastimpl import _lending
from refimpl import Adjacency, Block, Graph, Sampler, TypedGraph
from refimpl.loader import FeatureStore

fickle = importlib.import_module("fuzz.fickle")
AllAlike, NoHash, LIES = fickle.AllAlike, fickle.NoHash, fickle.LIES
SMALL = refimpl.as_graph([(0, 1), (1, 2)], symmetrize=True)
LARGE = power_law_graph(3000)


@dataclass(frozen=True)
class Named(Graph):
    """A Graph with a name, compared by its fields: arrays that cannot be compared."""

    name: str = ""


def all_of(gnn, graph):
    """Return what functions that keep something for a graph make of it."""
    nodes = np.arange(0, graph.n, 2)
    named = {"seed": 1, "epoch": 0, "batch": 0}
    sub = gnn.induced_subgraph(graph, nodes)
    return (
        (sub.graph.indices, sub.edge_ids, sub.transpose_perm),
        gnn.sample_mfg(graph, nodes, (2, 2), **named).nodes,
        gnn.samplers.layer_sample(graph, nodes, (2,), 3).nodes,
        gnn.frontier(graph, 1, 2, m=2, n=graph.n),
        *(gnn.samplers.edge(graph, 4, b=9, method=method) for method in ("direct", "alias")),
        [sub.nodes for sub in gnn.sample_many(graph, Sampler("edge", b=9), 1, 0, 2)],
        gnn.adjacency.sym_norm(graph).data,
    )


@pytest.mark.parametrize("kind", [AllAlike, NoHash, Named])
def test_graphs_are_told_apart_by_identity(gnn, kind):
    small, large = (kind(graph.indptr, graph.indices) for graph in (SMALL, LARGE))
    for graph, plain in ((small, SMALL), (large, LARGE), (small, SMALL)):
        assert_bits(all_of(gnn, graph), all_of(refimpl, plain))


def test_what_is_kept_for_a_graph_goes_with_it():
    graph = AllAlike(LARGE.indptr, LARGE.indices)
    fastimpl.induced_subgraph(graph, [0, 1])
    fastimpl.samplers.edge(graph, 1, b=2, method="alias")
    kept, gone, key = list(_lending.kept_for(graph)), weakref.ref(graph), id(graph)
    assert len(kept) == 4 and key in _lending._held
    del graph
    gc.collect()
    assert gone() is None and key not in _lending._held


def test_graphs_that_come_and_go_have_nothing_of_each_other():
    for n in (2, 4000, 3, 5000) * 20:  # at one address now and then
        ring = refimpl.as_graph([(v, (v + 1) % n) for v in range(n)], symmetrize=True)
        graph = AllAlike(ring.indptr, ring.indices)
        assert len(fastimpl.induced_subgraph(graph, np.arange(n)).nodes) == n


X, W = np.ones((3, 2)), np.ones((2, 2))
NAMED = {"seed": 1, "epoch": 0, "batch": 0}
TAKES = {
    "induced_subgraph": lambda gnn, graph: gnn.induced_subgraph(graph, [0, 1]),
    "transpose_perm": lambda gnn, graph: gnn.transpose_perm(graph),
    "as_graph": lambda gnn, graph: gnn.as_graph(graph),
    "as_graph, symmetrized": lambda gnn, graph: gnn.as_graph(graph, symmetrize=True),
    "spmm": lambda gnn, graph: gnn.spmm(graph, np.ones(4), X),
    "spmm_t": lambda gnn, graph: gnn.propagation.spmm_t(graph, np.ones(4), np.arange(4), X),
    "feature_propagate": lambda gnn, graph: gnn.partition.feature_propagate(
        graph, np.ones(4), X, gnn.partition.partition_plan(3, 2, 1, 2**10), 1
    ),
    "row_norm": lambda gnn, graph: gnn.adjacency.row_norm(graph),
    "sym_norm": lambda gnn, graph: gnn.adjacency.sym_norm(graph),
    "loop_norm": lambda gnn, graph: gnn.adjacency.loop_norm(graph),
    "add_self_loops": lambda gnn, graph: gnn.adjacency.add_self_loops(graph),
    "sample_many": lambda gnn, graph: gnn.sample_many(graph, Sampler("edge", b=2), 1, 0, 1),
    "frontier": lambda gnn, graph: gnn.frontier(graph, 1, 2, m=1, n=3),
    "sample_mfg": lambda gnn, graph: gnn.sample_mfg(graph, [0], (2,), **NAMED),
    "layer_sample": lambda gnn, graph: gnn.samplers.layer_sample(graph, [0], (2,), 1),
    "importance_law": lambda gnn, graph: gnn.samplers.importance_law(graph, np.ones(4)),
    "degree_hotness": lambda gnn, graph: gnn.history.degree_hotness(graph),
    "TypedGraph": lambda gnn, graph: gnn.TypedGraph(graph, np.zeros(4, int), 1),
    "gcn_forward": lambda gnn, graph: gnn.layers.gcn_forward(
        Adjacency(graph, np.ones(4), np.ones(4)), X, W, gnn.scheduling.ProductOrders(1, 1, 1)
    ),
    "relation_blocks": lambda gnn, graph: gnn.typed.relation_blocks(graph, np.zeros(4, int), 1),
}


@pytest.mark.parametrize("name", TAKES)
@pytest.mark.parametrize("member", LIES)
def test_a_graph_with_a_member_of_its_own_is_refused(gnn, name, member):
    with pytest.raises(TypeError, match=f"(graph|source|pattern|A) must keep .* {member} anew"):
        TAKES[name](gnn, fickle.lying_graph(SMALL, member))


@pytest.mark.parametrize("name", TAKES)
def test_a_member_from_a_class_beside_the_graph_counts_too(gnn, name):
    beside = type("Beside", (), {"n": 10**6})
    kind = type("Liar", (beside, Graph), {})
    with pytest.raises(TypeError, match="must keep the members of Graph, but Liar defines n anew"):
        TAKES[name](gnn, kind(SMALL.indptr, SMALL.indices))


@pytest.mark.parametrize("name", TAKES)
def test_what_only_says_that_it_is_a_graph_is_refused(gnn, name):
    kind = type("Liar", (), {"__class__": Graph, "n": 3, "e": 4, "symmetric": True})
    with pytest.raises((TypeError, ValueError), match="Liar|source"):
        TAKES[name](gnn, kind())


@pytest.mark.parametrize("name", [name for name in TAKES if name != "TypedGraph"])
def test_typed_graphs_and_subclasses_with_more_are_graphs(gnn, name):
    class More(Graph):
        def hubs(self):
            return np.flatnonzero(self.degrees() > 1)

    want = TAKES[name](refimpl, SMALL)
    for graph in (TypedGraph(SMALL, np.zeros(4, int), 1), More(SMALL.indptr, SMALL.indices)):
        got = TAKES[name](gnn, graph)
        if isinstance(want, np.ndarray):
            assert_bits(got, want)
        assert type(got).__name__ in (type(want).__name__, type(graph).__name__)


@pytest.mark.parametrize("member", ["relations", "edge_types", "relation_graphs"])
def test_a_typed_graph_with_a_member_of_its_own_is_refused(gnn, member):
    kind = type("Liar", (TypedGraph,), {member: property(lambda self: 2, lambda self, value: None)})
    graph = kind.__new__(kind)
    graph.__dict__.update(TypedGraph(SMALL, np.zeros(4, int), 1).__dict__)
    with pytest.raises(TypeError, match=f"graph must keep the members of TypedGraph.* {member}"):
        gnn.sample_mfg(graph, [0], [(2,)], **NAMED)


BLOCK = Block([0, 2], [2, 3], [0, 1, 0], 2)


@pytest.mark.parametrize("member", ["n_dst", "n_src", "e", "start", "end", "indices", "degrees"])
def test_a_block_with_a_member_of_its_own_is_refused(gnn, member):
    lie = property(lambda self: 10**6, lambda self, value: None)
    block = type("Liar", (Block,), {member: lie}).__new__(type("Liar", (Block,), {member: lie}))
    for name in ("start", "end", "indices", "n_src", "edge_ids"):
        block.__dict__[name] = getattr(BLOCK, name)
    mfg = gnn.block.MFG((np.array([0, 1]), np.array([0, 1])), (block,))
    for call in (
        lambda: gnn.spmm(block, np.ones(3), np.ones((2, 1))),
        lambda: gnn.block.transpose_block(block),
        lambda: gnn.adjacency.block_norm("row", block),
        lambda: gnn.history.prune_mfg(mfg, [np.zeros(2, bool)]),
        lambda: gnn.history.fair_share(mfg, np.ones(2, bool)),
    ):
        with pytest.raises(TypeError, match=f"must keep the members of Block.* {member} anew"):
            call()


@pytest.mark.parametrize("member", ["graph", "data", "data_t", "graph_t", "perm"])
def test_an_adjacency_with_a_member_of_its_own_is_refused(gnn, member):
    kind = type("Liar", (Adjacency,), {member: property(lambda self: None, lambda self, v: None)})
    A = kind.__new__(kind)
    order = gnn.scheduling.ProductOrders(1, 1, 1)
    for call in (
        lambda: gnn.layers.gcn_forward(A, X, W, order),
        lambda: gnn.sage_forward(A, X, W, W, order),
        lambda: gnn.layers.mixhop_forward([A], X, [W, W], 1),
        lambda: gnn.layers.rgcn_forward([A], X, [W], W),
        lambda: gnn.layers.gat_forward(A, X, W, np.ones((1, 2)), np.ones((1, 2))),
    ):
        with pytest.raises(TypeError, match=f"must keep .* Adjacency.* {member} anew"):
            call()


def test_a_feature_store_with_a_member_of_its_own_is_refused(gnn):
    kind = type("Liar", (FeatureStore,), {"d": 10**6})
    with pytest.raises(TypeError, match="store must keep the members of FeatureStore"):
        gnn.loader.plan_fetch(kind((np.ones((3, 2), np.float32),)), [0])


def test_a_sampler_that_changes_its_name_is_read_once(gnn):
    class Liar(Sampler):
        names = iter(())

        @property
        def name(self):
            return next(self.names, "pin_tile")

        @name.setter
        def name(self, value):
            pass

    sampler = Liar("edge", b=2)
    Liar.names = iter(["edge"])
    (got,) = gnn.sample_many(SMALL, sampler, 1, 0, 1)
    (want,) = refimpl.sample_many(SMALL, Sampler("edge", b=2), 1, 0, 1)
    assert_bits(got.nodes, want.nodes)


@pytest.mark.parametrize("clip", [-1, 0, "x", 2**40])
def test_a_sampler_whose_clip_was_changed_is_refused(gnn, clip):
    sampler = Sampler("edge", b=2, clip=2)
    sampler.clip = clip
    with pytest.raises((TypeError, ValueError), match="clip"):
        gnn.sample_many(SMALL, sampler, 1, 0, 1)
