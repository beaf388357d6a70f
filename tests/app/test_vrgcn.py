"""VR-GCN: its aggregate against the formula in dense algebra, exact and unbiased as it claims."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from dense_histories import (
    logits,
    mask,
    matrix,
    mean_loss,
    pattern,
    relu,
    small_dataset,
    weights_of,
)
from test_gas import check_steps

import refimpl
from refimpl.lab.training.config import config_from
from refimpl.lab.training.methods.vrgcn import control_variate, edge_values

pytestmark = pytest.mark.runs

MODELS = ("sage", "gcn")
CASES = [
    ("sage", {}),
    ("sage", {"layers": 3, "bias": True, "dropout": 0.3, "fanouts": (1, 3)}),
    ("sage", {"layers": 1, "dropout": 0.2}),
    ("sage", {"layers": 3, "fanouts": (-1, 2), "row_l2": True}),
    ("gcn", {}),
    ("gcn", {"layers": 3, "dropout": 0.2, "fanouts": (3, 1)}),
    ("gcn", {"layers": 1, "bias": True}),
    ("gcn", {"layers": 3, "fanouts": (2, -1)}),
]


def config_of(model="sage", **options):
    usual = {"method": "vrgcn", "hidden": 6, "rng": 6, "batch_size": 10, "lr": 0.05}
    return config_from({**usual, "model": model, **options})


@pytest.fixture(scope="module")
def dataset():
    return small_dataset()


def graph_of(gnn, dataset, config, iteration):
    """Return what is sampled in an iteration: hops of the layers 2 .. L alone."""
    graph = dataset.train_graph
    settings = config.fitted(dataset).method
    epoch, b = divmod(iteration, -(-graph.n // settings.batch_size))
    roots = gnn.samplers.epoch_batches(
        np.arange(graph.n, dtype=np.int32), settings.batch_size, config.rng, epoch
    )
    return gnn.sample_mfg(graph, roots[b], settings.fanouts, seed=config.rng, epoch=epoch, batch=b)


def layer(model, W, aggregate, own):
    """Return a layer's output, from what it aggregates for every node."""
    if model == "sage":
        out = np.hstack([aggregate @ W["W_neigh"], own @ W["W_self"]])
    else:
        out = aggregate @ W["W"]
    return relu(out + W.get("b", 0))


def exact_pass(dataset, config, weights):
    """Return the outputs of all layers for every node, from all neighbours, without dropout."""
    A = pattern(dataset.train_graph)
    P, H = matrix(config.model.name, A, A.sum(axis=1)), [dataset.inputs(dataset.train)]
    for number in range(1, config.layers + 1):
        H.append(layer(config.model.name, weights_of(weights, f"layer{number}"), P @ H[-1], H[-1]))
    return H[1:]


def dense_pass(gnn, dataset, config, weights, mfg, histories, iteration):
    """Return the loss of an iteration, and the histories afterwards, by the formula."""
    A = pattern(dataset.train_graph)
    n, degrees = len(A), A.sum(axis=1)
    P = matrix(config.model.name, A, degrees)
    own_weight, P = np.diag(P)[:, None] * np.eye(n), P * A
    X, histories = dataset.inputs(dataset.train), histories.copy()
    first = mask(gnn, config, *X.shape, 0, iteration)
    aggregate, own = ((P + own_weight) @ X) * first, X * first
    for number in range(1, config.layers + 1):
        computed = mfg.nodes[number - 1]
        H = np.full((n, config.hidden), 7j)  # a row that is not computed must not matter
        H[computed] = layer(
            config.model.name, weights_of(weights, f"layer{number}"), aggregate, own
        )[computed]
        if number == config.layers:
            break
        dropped = mask(gnn, config, *H.shape, number, iteration)
        h, known = H * dropped, histories[number - 1] * dropped
        block, above = mfg.blocks[number - 1], mfg.nodes[number]
        sampled = np.zeros((n, n))
        sampled[np.ix_(above, computed)] = block.to_scipy().toarray()
        scale = degrees / np.maximum(sampled.sum(axis=1), 1)
        aggregate = P @ known + scale[:, None] * ((P * sampled) @ (h - known)) + own_weight @ h
        own = h
        histories[number - 1, computed] = H[computed].real
    roots, last = mfg.nodes[-1], mask(gnn, config, *H.shape, config.layers, iteration)
    Y = dataset.targets(dataset.train)[roots]
    return mean_loss(logits(config, weights, H[roots], last[roots]), Y), histories


@pytest.mark.parametrize(("model", "options"), CASES)
def test_every_step_by_the_formula(gnn, dataset, model, options):
    """Two epochs and a half; h' is a constant."""
    config = config_of(model, **options)
    graphs = [graph_of(gnn, dataset, config, i) for i in range(10)]

    def dense(i, W, histories):
        return dense_pass(gnn, dataset, config, W, graphs[i], histories, i)

    found = check_steps(gnn.make_trainer(dataset, config), dense)
    assert found == [len(mfg.nodes[-1]) for mfg in graphs]


@pytest.mark.parametrize("fanout", [1, 2, 30, -1])
@pytest.mark.parametrize("model", MODELS)
def test_it_is_exact_where_the_histories_are(gnn, dataset, model, fanout):
    """Whatever is sampled."""
    config = config_of(model, layers=3, fanouts=(fanout,) * 2)
    for rng in range(3):
        trainer = gnn.make_trainer(dataset, replace(config, rng=rng))
        W = trainer.state.weights
        exact = exact_pass(dataset, config, W)
        trainer.state.cache.rows[...] = exact[:2]
        roots = graph_of(gnn, dataset, trainer.config, 0).nodes[-1]
        X = exact[2][roots] @ W["classifier.W"]
        expected = mean_loss(X, dataset.targets(dataset.train)[roots])
        assert trainer.step()[0] == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(trainer.state.cache.rows, exact[:2], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("taken", [1, 2, 3])
@pytest.mark.parametrize("model", MODELS)
def test_it_is_unbiased_for_any_histories(gnn, dataset, model, taken):
    """The mean over all subsets of a node's neighbours is P for h, and 0 for h'."""
    graph, A = dataset.train_graph, pattern(dataset.train_graph)
    n, degrees = graph.n, graph.degrees()
    exact, P = matrix(model, A, degrees), edge_values(graph, model, np.float64)
    kind, tried = {"sage": "row", "gcn": "sym"}[model], 0
    for v in np.flatnonzero(degrees >= taken):
        total, count = np.zeros(2 * n), 0
        for chosen in combinations(range(degrees[v]), taken):
            edge_ids = graph.start[v] + np.array(chosen)
            computed = np.concatenate([[v], graph.indices[edge_ids]]).astype(np.int32)
            block = refimpl.Block([0], [taken], np.arange(1, taken + 1), taken + 1, edge_ids)
            sampled = gnn.adjacency.block_norm(kind, block, degrees[computed], dtype=np.float64)
            both, outside = control_variate(sampled, block, computed[:1], graph, P)
            nodes = np.concatenate([computed, outside])
            row = both.graph.to_scipy(both.data).toarray()[0]
            columns = nodes + n * (np.arange(len(nodes)) > taken)
            assert len(np.unique(columns)) == len(columns)
            total[columns] += row
            count += 1
            tried += degrees[v] > taken
            assert len(nodes) == taken + 1 + (degrees[v] if degrees[v] > taken else 0)
        np.testing.assert_allclose(total[:n] / count, exact[v], atol=1e-15)
        np.testing.assert_allclose(total[n:] / count, 0, atol=1e-15)
    assert tried > 50


@pytest.mark.parametrize("model", MODELS)
def test_with_all_neighbors_it_is_neighbor_sampling(gnn, dataset, model):
    """Nothing is read from histories, which may then hold anything."""
    config = config_of(model, layers=3, fanouts=(-1, -1))
    trainer = gnn.make_trainer(dataset, config)
    neighbor = refimpl.methods.Neighbor(batch_size=10, fanouts=(-1,) * 3)
    plain = gnn.make_trainer(dataset, replace(config, method=neighbor))
    for _ in range(6):
        trainer.state.cache.rows[...] = np.nan
        assert trainer.step()[0] == pytest.approx(plain.step()[0], rel=1e-9)
    for name, W in plain.state.weights.items():
        np.testing.assert_allclose(trainer.state.weights[name], W, rtol=0, atol=1e-8)


def test_only_histories_of_neighbors_are_read(gnn, dataset):
    config = config_of(layers=3, fanouts=(1, 1))
    trainer, A = gnn.make_trainer(dataset, config), pattern(dataset.train_graph)
    mfg, rows = graph_of(gnn, dataset, config, 0), trainer.state.cache.rows
    far = []
    for layer in (1, 2):
        near = A[mfg.nodes[layer]].any(axis=0)
        far.append(np.setdiff1d(np.flatnonzero(~near), mfg.nodes[layer - 1]))
        rows[layer - 1, ~near] = np.nan
    assert len(far[0]) + len(far[1]) > 0
    assert np.isfinite(trainer.step()[0])
    for layer in (1, 2):
        assert np.isnan(rows[layer - 1, far[layer - 1]]).all()
        assert np.isfinite(rows[layer - 1, mfg.nodes[layer - 1]]).all()


def test_the_gradient_has_no_rows_for_histories(gnn, dataset):
    graph = dataset.train_graph
    mfg = gnn.sample_mfg(graph, np.arange(9, dtype=np.int32), (2,), seed=0, epoch=0, batch=0)
    (computed, receiving), (block,) = mfg
    sampled = gnn.adjacency.block_norm("row", block, dtype=np.float64)
    P = edge_values(graph, "sage", np.float64)
    both, outside = control_variate(sampled, block, receiving, graph, P)
    width = len(computed) + len(outside)
    assert len(outside) > 0
    refimpl.Block(both.graph.start, both.graph.end, both.graph.indices, width)  # checks it
    t = both.graph_t
    refimpl.Block(t.start, t.end, t.indices, t.n_src)  # checks it
    transpose = t.to_scipy(both.data_t).toarray()
    forward = both.graph.to_scipy(both.data).toarray()
    assert transpose.shape == forward.T.shape
    np.testing.assert_array_equal(transpose[: len(computed)], forward.T[: len(computed)])
    assert not transpose[len(computed) :].any()


@pytest.mark.parametrize("model", MODELS)
def test_edge_values_are_the_matrix(gnn, dataset, model):
    """Off its diagonal; a self-loop is no edge of its own for GCN."""
    A = pattern(dataset.train_graph)
    exact = matrix(model, A, A.sum(axis=1)) * A
    values = edge_values(dataset.train_graph, model, np.float64)
    np.testing.assert_allclose(dataset.train_graph.to_scipy(values).toarray(), exact, rtol=1e-15)
    looped = gnn.as_graph([(0, 1), (1, 0), (1, 1)], n=3)
    values = edge_values(looped, model, np.float32)
    assert values.dtype == np.float32
    if model == "sage":
        assert values.tolist() == [1, 0.5, 0.5]
    else:
        np.testing.assert_allclose(values, [1 / np.sqrt(6), 1 / np.sqrt(6), 0], rtol=1e-6)


def test_fanouts_are_of_the_layers_above_the_first():
    def fanouts(**options):
        return config_of(**options).fitted(small_dataset()).method.fanouts

    assert fanouts(layers=3) == (2, 2)
    assert fanouts(layers=1) == ()
    with pytest.raises(ValueError, match="fanouts must have 1 numbers"):
        fanouts(layers=2, fanouts=(2, 2))
    for model in ("gat", "mixhop", "mlp"):
        with pytest.raises(ValueError, match="model must be"):
            config_of(model)


def test_rows_loaded_read_and_written_are_counted(gnn, dataset):
    config = config_of(layers=3)
    trainer = gnn.make_trainer(dataset, config)
    trainer.epoch()
    A, degrees = pattern(dataset.train_graph), dataset.train_graph.degrees()
    loaded = read = written = 0
    for iteration in range(4):
        mfg = graph_of(gnn, dataset, config, iteration)
        loaded += 2 * len(mfg.nodes[0])
        written += len(mfg.nodes[0]) + len(mfg.nodes[1])
        for above in mfg.nodes[1:]:
            read += A[above[degrees[above] > 2]].any(axis=0).sum()
    (load,) = trainer.state.loads
    assert (load["loaded"], load["hits"], load["admitted"]) == (loaded, read, written)
    assert read > 0
