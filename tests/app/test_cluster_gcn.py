"""Cluster-GCN: the partition, what is in a batch, its normalisation, and runs."""

import numpy as np
import pytest
from dense_histories import bits
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import Draws, dense_fisher_yates, neighbours
from strategies import (
    KEYS,
    directed_from_edges,
    even_graph,
    graph_from_edges,
    graphs,
    power_law_graph,
)
from typed_data import write_typed

import fastimpl
import refimpl
from refimpl.lab.data.communities import communities
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.training.config import config_from
from refimpl.streams import CLUSTERS, SHUFFLE, key

pytestmark = pytest.mark.runs

MODELS = ("sage", "gcn", "mixhop", "gat", "mlp")
ALL_OPTIONS = {"bias": True, "dropout": 0.3, "row_l2": True}
EACH = pytest.mark.parametrize("model", MODELS)


def config_of(model="sage", **options):
    """Return a small TrainConfig of Cluster-GCN: 12 clusters, 5 in a batch, so 3 batches."""
    few = {"clusters": 12, "clusters_per_batch": 5, "hidden": 8, "rng": 6}
    return config_from({"method": "cluster", "model": model, **few, **options})


def full(model, **options):
    return config_from({"method": "full", "model": model, "hidden": 8, "rng": 6, **options})


def subgraphs(gnn, dataset, config, count):
    """Return what the first iterations train on."""
    with gnn.make_trainer(dataset, config) as trainer:
        return [next(trainer.iterations.pool) for _ in range(count)]


# The partition.


def grown(graph, parts, key):
    """Return the clusters by their rule: look at all free nodes for every node taken."""
    shuffled = dense_fisher_yates(Draws(key), graph.n, graph.n)
    cluster = [None] * graph.n
    for c in range(parts):
        links, since, time = [0] * graph.n, [0] * graph.n, 0
        for _ in range(graph.n * (c + 1) // parts - graph.n * c // parts):
            free = [v for v in shuffled if cluster[v] is None]
            linked = [v for v in free if links[v]]
            v = max(linked, key=lambda v: (links[v], -since[v])) if linked else free[0]
            cluster[v] = c
            for u in neighbours(graph, v):
                links[u] += 1
                time += 1
                since[u] = time
    return cluster


@given(graph=graphs(max_nodes=14), data=st.data(), key=KEYS)
def test_clusters_are_grown_by_their_rule(graph, data, key):
    parts = data.draw(st.integers(1, max(graph.n, 1)))
    cluster = refimpl.lab.training.grow_clusters(graph, parts, key)
    assert cluster.dtype == np.int32
    assert cluster.tolist() == grown(graph, parts, key)


@pytest.mark.parametrize("graph", [even_graph(60, 8), power_law_graph(80)], ids=["even", "hubs"])
def test_clusters_of_larger_graphs_are_grown_by_their_rule(graph):
    for parts in (2, 5, 17):
        for seed in range(3):
            assert refimpl.lab.training.grow_clusters(graph, parts, seed).tolist() == grown(
                graph, parts, seed
            )


@pytest.mark.parametrize("parts", [1, 7, 50, 333, 1000])
def test_clusters_cover_each_node_once_in_equal_sizes(parts):
    cluster = refimpl.lab.training.grow_clusters(even_graph(1000, 8), parts, 3)
    sizes = np.bincount(cluster)
    assert len(cluster) == sizes.sum() == 1000
    assert len(sizes) == parts
    assert sizes.max() - sizes.min() <= 1


def test_components_are_the_clusters_where_they_fit():
    """Five rings of eight nodes, every fifth node in the same."""
    graph = graph_from_edges(40, {(v, (v + 5) % 40) for v in range(40)})
    for seed in range(20):
        cluster = refimpl.lab.training.grow_clusters(graph, 5, seed).reshape(8, 5)
        assert (cluster == cluster[0]).all()
        assert set(cluster[0].tolist()) == set(range(5))


def test_clusters_hold_many_more_edges_than_random_ones():
    """Of `communities`, 0.25 in 50 clusters; random ones of equal size hold a fiftieth."""
    graph = communities(0).train_graph
    row = np.repeat(np.arange(graph.n), graph.degrees())
    for seed in range(3):
        cluster = refimpl.lab.training.grow_clusters(graph, 50, seed)
        inside = (cluster[row] == cluster[graph.indices]).mean()
        assert inside > 0.2
        mixed = np.random.default_rng(seed).permutation(cluster)
        assert (mixed[row] == mixed[graph.indices]).mean() < 0.03


def test_clusters_depend_on_the_key():
    graph = even_graph(100, 6)
    found = {refimpl.lab.training.grow_clusters(graph, 4, key).tobytes() for key in (1, 1, 2, 3)}
    assert len(found) == 3


def test_what_cannot_be_clustered_is_refused():
    graph = graph_from_edges(3, {(0, 1)})
    for parts in (0, 4):
        with pytest.raises(ValueError, match=r"parts must be in \[1, 3\]"):
            refimpl.lab.training.grow_clusters(graph, parts, 1)
    with pytest.raises(ValueError, match="graph must be undirected"):
        refimpl.lab.training.grow_clusters(directed_from_edges(3, {(0, 1)}), 1, 1)
    with pytest.raises(TypeError, match="key must be an integer"):
        refimpl.lab.training.grow_clusters(graph, 1, 1.0)
    assert refimpl.lab.training.grow_clusters(graph_from_edges(0, set()), 1, 1).size == 0


# What a batch is.


@pytest.mark.parametrize(("p", "q"), [(12, 5), (12, 12), (130, 1), (1, 1), (6, 2)])
def test_an_epoch_has_every_cluster_once_in_a_new_order(gnn, dataset, p, q):
    graph = dataset.train_graph
    cluster = refimpl.lab.training.grow_clusters(graph, p, key(6, CLUSTERS))
    batches, orders = -(-p // q), []
    config = config_of(clusters=p, clusters_per_batch=q)
    found = [sub.nodes for sub in subgraphs(gnn, dataset, config, 2 * batches)]
    for epoch in range(2):
        nodes = found[epoch * batches : (epoch + 1) * batches]
        shuffled = dense_fisher_yates(Draws(key(6, SHUFFLE, epoch)), p, p)
        for b, batch in enumerate(nodes):
            chosen = shuffled[b * q : (b + 1) * q]
            assert_array_equal(batch, np.flatnonzero(np.isin(cluster, chosen)))
        assert_array_equal(np.sort(np.concatenate(nodes)), np.arange(graph.n))
        orders.append([batch.tolist() for batch in nodes])
    assert (orders[0] == orders[1]) == (q == p)


def test_links_between_the_clusters_of_a_batch_are_there(gnn, dataset):
    graph = dataset.train_graph
    cluster = refimpl.lab.training.grow_clusters(graph, 12, key(6, CLUSTERS))
    _, sub = subgraphs(gnn, dataset, config_of(), 2)
    assert len(np.unique(cluster[sub.nodes])) == 5
    dense = graph.to_scipy().toarray()[np.ix_(sub.nodes, sub.nodes)]
    assert_array_equal(sub.graph.to_scipy().toarray(), dense)
    row, col = np.nonzero(dense)
    assert (cluster[sub.nodes[row]] != cluster[sub.nodes[col]]).any()


@pytest.mark.parametrize("model", ["sage", "gcn"])
def test_the_first_step_in_dense_algebra(gnn, dataset, model):
    """The batch has the degrees of its own subgraph, and the loss is the mean over its nodes."""
    config = config_of(model)
    with gnn.make_trainer(dataset, config) as trainer:
        W = {name: w.copy() for name, w in trainer.state.weights.items()}
        loss, _, count, _ = trainer.step()
    nodes = subgraphs(gnn, dataset, config, 1)[0].nodes
    A = dataset.train_graph.to_scipy().toarray()[np.ix_(nodes, nodes)]
    H = dataset.inputs(dataset.train[nodes])
    for number in (1, 2):
        if model == "sage":
            mean = A / np.maximum(A.sum(axis=1, keepdims=True), 1) @ H
            own = H @ W[f"layer{number}.W_self"]
            H = np.maximum(np.hstack([mean @ W[f"layer{number}.W_neigh"], own]), 0)
        else:
            root = np.sqrt(A.sum(axis=1) + 1)
            H = np.maximum(
                (A + np.eye(len(A))) / np.outer(root, root) @ H @ W[f"layer{number}.W"], 0
            )
    logits = H @ W["classifier.W"]
    P = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    Y = dataset.targets(dataset.train[nodes])
    assert count == len(nodes)
    assert loss == pytest.approx(-np.log((P * Y).sum(axis=1)).mean(), rel=1e-12)
    gradient = trainer.state.m["classifier.W"] / 0.1
    assert_allclose(gradient, H.T @ (P - Y) / count, rtol=0, atol=1e-12)


# Runs.


@pytest.mark.parametrize("options", [{}, ALL_OPTIONS], ids=["plain", "all"])
@EACH
def test_all_clusters_at_once_are_full_batch_training(gnn, dataset, model, options):
    whole = config_of(model, epochs=4, clusters_per_batch=12, **options)
    a = gnn.train(dataset, whole)
    b = gnn.train(dataset, full(model, epochs=4, **options))
    assert a.iterations == b.iterations == 4
    assert bits(a.state) == bits(b.state)
    assert [r[:4] for r in a.history] == [r[:4] for r in b.history]


def test_clusters_of_a_typed_graph_keep_its_types(gnn, tmp_path):
    """All at once they are full-batch training; fewer have the relations of their edges."""
    dataset = load_dataset(write_typed(tmp_path / "typed"), dtype="float64")
    typed = {"relations": 3, "node_types": 2}
    a = gnn.train(dataset, config_of("rgcn", epochs=2, clusters_per_batch=12, **typed))
    b = gnn.train(dataset, full("rgcn", epochs=2, **typed))
    assert bits(a.state) == bits(b.state)
    graph = dataset.train_graph
    *_, sub = subgraphs(gnn, dataset, config_of("rgcn", **typed), 3)
    assert_array_equal(sub.graph.edge_types, graph.edge_types[sub.edge_ids])
    assert_array_equal(sub.graph.node_types, graph.node_types[sub.nodes])


@pytest.mark.parametrize("model", ["sage", "gcn"])
def test_it_learns_communities(model):
    """Far better than without the graph, which reaches 0.60 of the test nodes."""
    config = refimpl.TrainConfig(method="cluster", model=model, hidden=64, epochs=6)
    assert fastimpl.train(communities(0), config).test_f1 > 0.8


def test_clusters_of_one_node_have_no_edges(gnn, dataset):
    config = config_of("sage", clusters=130, clusters_per_batch=1)
    with gnn.make_trainer(dataset, config) as trainer:
        for _ in range(130):
            step = trainer.step()
            assert step.nodes == 1
            assert np.isfinite(step.loss)
        assert next(trainer.iterations.pool).graph.e == 0


def test_an_epoch_ends_with_its_clusters(gnn, dataset):
    with gnn.make_trainer(dataset, config_of("mlp")) as trainer:
        for epoch in (1, 2, 3):
            trainer.epoch()
            assert trainer.state.iterations == 3 * epoch


def test_both_packages_have_the_same_batches(dataset):
    both = (subgraphs(gnn, dataset, config_of(), 4) for gnn in (refimpl, fastimpl))
    for a, b in zip(*both, strict=True):
        assert_array_equal(a.nodes, b.nodes)
        assert_array_equal(a.graph.indices, b.graph.indices)


def test_settings_that_do_not_fit_are_refused(gnn, dataset):
    with pytest.raises(
        ValueError, match=r"clusters_per_batch must be at most clusters \(3\), got 5"
    ):
        config_of(clusters=3)
    for name in ("clusters", "clusters_per_batch"):
        with pytest.raises(ValueError, match=f"{name} must be in"):
            config_of(**{name: 0})
        with pytest.raises(ValueError, match=f'{name} is no setting where .*method is "full"'):
            full("sage", **{name: 2})
    with pytest.raises(
        ValueError, match=r"at most the number of nodes that training sees \(130\), got 131"
    ):
        gnn.make_trainer(dataset, config_of(clusters=131))
