"""What FreshGNN is at the ends of its settings: neighbour sampling, frozen rows, GAS."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from fresh_cases import LAYERS, config_of, trajectory, watched
from numpy.testing import assert_allclose, assert_array_equal

import refimpl
from refimpl.lab.training.stack import Stack

pytestmark = pytest.mark.runs

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
STEPS = 9


# Neighbour sampling.


def neighbour_sampling(gnn, dataset, config, steps):
    """Train on sampled neighbours, a loop on its own; return (loss, bytes of weights) of steps."""
    graph, X, Y = (
        dataset.train_graph,
        dataset.inputs(dataset.train),
        dataset.targets(dataset.train),
    )
    stack = Stack(gnn, config, X.shape[1], Y.shape[1], dataset.multilabel)
    weights = stack.initial_weights(config.rng, X.dtype)
    m, v = ({name: np.zeros_like(W) for name, W in weights.items()} for _ in range(2))
    settings = config.method
    each_epoch = -(-graph.n // settings.batch_size)
    result = []
    for i in range(steps):
        epoch, batch = divmod(i, each_epoch)
        roots = gnn.samplers.epoch_batches(
            np.arange(graph.n), settings.batch_size, config.rng, epoch
        )[batch]
        mfg = gnn.sample_mfg(
            graph, roots, settings.fanouts, seed=config.rng, epoch=epoch, batch=batch
        )
        matrices = stack.block_operands(mfg, graph, dtype=X.dtype)
        logits, kept = stack.forward(weights, matrices, X[mfg.nodes[0]])
        loss = stack.loss(logits, Y[roots], None)
        gradients = stack.gradients(weights, matrices, kept, loss.gradient)
        for name, W in weights.items():
            gnn.adam_step(W, gradients[name], m[name], v[name], i + 1, lr=config.lr)
        result.append((loss.value, tuple(W.tobytes() for W in weights.values())))
    return result


WITHOUT_HITS = {
    "neighbor": {"method": "neighbor"},
    "p_grad=0": {"p_grad": 0.0, "t_stale": 3},
    "t_stale=0": {"t_stale": 0},
    "no layer": {"cache_layers": ()},
    "warm-up": {"warmup": 1000},
}
EACH_END = pytest.mark.parametrize("end", sorted(WITHOUT_HITS))


def assert_neighbour_sampling(gnn, dataset, steps=STEPS, **options):
    with watched(gnn, dataset, config_of(**options)) as trainer:
        assert trajectory(trainer, steps) == neighbour_sampling(gnn, dataset, trainer.config, steps)
        counts = trainer.counts_of_epoch
        assert counts.loaded == counts.live == counts.inputs > 0 == counts.hits


@EACH_END
@pytest.mark.parametrize("model", sorted(LAYERS))
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_without_a_cache_it_is_neighbour_sampling(gnn, dataset, end, model, layers):
    """Losses and weights bit for bit, and every row is loaded."""
    assert_neighbour_sampling(gnn, dataset, **WITHOUT_HITS[end], model=model, layers=layers)


def real_graph(name):
    """Return a data set whose graph was not drawn at random, or skip the test."""
    if name == "computers" and not (DATA / name).exists():
        pytest.skip(f"no {DATA / name}")
    return refimpl.load_dataset(name if name == "karate" else DATA / name, dtype="float64")


@EACH_END
@pytest.mark.parametrize("name", ["karate", "computers"])
def test_without_a_cache_it_is_neighbour_sampling_on_a_real_graph(gnn, end, name):
    """Losses and weights bit for bit."""
    options = {"batch_size": 5 if name == "karate" else 32, "layers": 2, "fanouts": (4, 3)}
    assert_neighbour_sampling(gnn, real_graph(name), steps=4, **WITHOUT_HITS[end], **options)


def test_one_layer_has_nothing_to_cache(gnn, dataset):
    assert_neighbour_sampling(gnn, dataset, layers=1, p_grad=1.0)


def test_until_the_end_of_the_warm_up_it_is_neighbour_sampling(gnn, dataset):
    """The first embeddings are kept in iteration `warmup`, and read in the next."""
    warmup = 4
    with watched(gnn, dataset, config_of(warmup=warmup, p_grad=1.0)) as trainer:
        got = trajectory(trainer, warmup + 1)
        assert got == neighbour_sampling(gnn, dataset, trainer.config, warmup + 1)
        assert trainer.counts_of_epoch.hits == 0 < trainer.cache.admitted
        assert trainer.cache.entries.stamp.max() == warmup
        want = neighbour_sampling(gnn, dataset, trainer.config, warmup + 2)
        assert trajectory(trainer, 1) != want[-1:]
        assert trainer.counts_of_epoch.hits > 0


@pytest.mark.parametrize("end", ["p_grad=0", "t_stale=0", "no layer"])
def test_a_filled_cache_is_ignored_and_not_drained(gnn, dataset, end):
    """Entries for all nodes, and none is used or taken out."""
    with watched(gnn, dataset, config_of(**WITHOUT_HITS[end])) as trainer:
        fill(trainer)
        want = neighbour_sampling(gnn, dataset, trainer.config, STEPS)
        assert trajectory(trainer, STEPS) == want
        nodes = np.arange(dataset.train_graph.n, dtype=np.int32)
        assert (trainer.cache.lookup(1, nodes, 0) >= 0).all()


# Frozen embeddings.


def test_without_selection_every_row_is_computed_once(gnn, dataset):
    """p = 1 and no bound on the age freeze every embedding, which GAS would refresh."""
    seen, frozen, without_load, with_load = set(), {}, 0, 0
    nodes = np.arange(dataset.train_graph.n, dtype=np.int32)
    with watched(gnn, dataset, config_of(p_grad=1.0)) as trainer:
        for i in range(30):
            met_before = {v for layer, v in seen if layer == 2}
            loaded = trainer.counts_of_epoch.loaded
            trainer.step()
            loaded = trainer.counts_of_epoch.loaded - loaded
            if met_before.issuperset(trainer.mfg.nodes[2].tolist()):
                assert loaded == 0
                without_load += 1
            with_load += loaded > 0
            for layer in (1, 2):
                rows = trainer.nodes[layer][trainer.live.computed[layer - 1]]
                pairs = {(layer, v) for v in rows.tolist()}
                assert len(pairs) == len(rows) and not pairs & seen
                seen |= pairs
                slots = trainer.cache.lookup(layer, nodes, i + 1)
                held = slots >= 0
                assert {(layer, v) for v in nodes[held].tolist()} == {
                    p for p in seen if p[0] == layer
                }
                for v, row in zip(
                    nodes[held].tolist(), trainer.cache.read(slots[held]), strict=True
                ):
                    assert frozen.setdefault((layer, v), row.tobytes()) == row.tobytes()
        assert without_load > 3 < with_load
        assert trainer.counts_of_epoch.evicted == 0


# GAS.


def fill(trainer):
    """Put zeros into the cache for every node of every cacheable layer."""
    nodes = np.arange(trainer.dataset.train_graph.n, dtype=np.int32)
    for layer in range(1, trainer.config.layers):
        zeros = np.zeros((len(nodes), trainer.config.hidden), trainer.run.dtype)
        assert trainer.cache.admit(layer, nodes, zeros, 0) == len(nodes)


class Gas:
    """GNNAutoScale with GraphSAGE in NumPy and SciPy: histories of all nodes, batches as given.

    In-batch rows are computed from all neighbours, in-batch ones as they are now, the others
    from their histories, through which no gradient flows.
    """

    def __init__(self, dataset, weights, layers, hidden, lr):
        self.X, self.Y = dataset.inputs(dataset.train), dataset.targets(dataset.train)
        A = dataset.train_graph.to_scipy()
        self.mean = sp.diags_array(1 / np.maximum(A.sum(axis=1), 1)) @ A
        self.W = {name: W.copy() for name, W in weights.items()}
        self.moments = {name: (np.zeros_like(W), np.zeros_like(W)) for name, W in weights.items()}
        self.history = [np.zeros((A.shape[0], hidden)) for _ in range(layers - 1)]
        self.layers, self.lr, self.t = layers, lr, 0

    def step(self, batch):
        P, kept, source = self.mean[batch], [], self.X
        for layer in range(1, self.layers + 1):
            W_neigh, W_self = (self.W[f"layer{layer}.{name}"] for name in ("W_neigh", "W_self"))
            out = np.hstack([P @ source @ W_neigh, source[batch] @ W_self]).clip(0)
            kept.append((source, out))
            if layer < self.layers:
                self.history[layer - 1][batch] = out
                source = self.history[layer - 1].copy()
        logits = out @ self.W["classifier.W"]
        chances = np.exp(logits)
        chances /= chances.sum(axis=1, keepdims=True)
        loss = -np.log((chances * self.Y[batch]).sum(axis=1)).mean()
        G = (chances - self.Y[batch]) / len(batch)
        self.update(self.gradients(G, P, kept, out, batch))
        return loss

    def gradients(self, G, P, kept, out, batch):
        found = {"classifier.W": out.T @ G}
        G = G @ self.W["classifier.W"].T
        for layer in range(self.layers, 0, -1):
            source, out = kept[layer - 1]
            W_neigh, W_self = (self.W[f"layer{layer}.{name}"] for name in ("W_neigh", "W_self"))
            G_neigh, G_self = np.split(G * (out > 0), [W_neigh.shape[1]], axis=1)
            found[f"layer{layer}.W_neigh"] = (P @ source).T @ G_neigh
            found[f"layer{layer}.W_self"] = source[batch].T @ G_self
            G = P[:, batch].T @ G_neigh @ W_neigh.T + G_self @ W_self.T
        return found

    def update(self, gradients):
        """Adam."""
        self.t += 1
        for name, g in gradients.items():
            m, v = self.moments[name]
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            scaled = np.sqrt(v / (1 - 0.999**self.t)) + 1e-8
            self.W[name] -= self.lr * m / (1 - 0.9**self.t) / scaled


@pytest.mark.parametrize("layers", [2, 3])
@pytest.mark.parametrize("lookup_roots", [False, True])
def test_gas_is_the_cache_that_always_computes_the_roots(gnn, dataset, layers, lookup_roots):
    """In losses, weights and histories; with roots looked up, it is another method."""
    both = side_by_side(gnn, dataset, 18, layers=layers, lookup_roots=lookup_roots)
    if not lookup_roots:
        assert_same_as_gas(*both, visited=0.5)
        return
    losses, trainer, histories, _ = both
    assert trainer.counts_of_epoch.loaded == 0
    assert abs(losses[0] - losses[1]).max() > 0.01
    assert_array_equal(histories, np.zeros_like(histories))  # frozen at what they were


@pytest.mark.parametrize("name", ["karate", "computers"])
def test_gas_is_the_cache_on_a_real_graph(gnn, name):
    """In losses, weights and histories."""
    batch, visited = (5, 0.5) if name == "karate" else (400, 0.1)
    both = side_by_side(gnn, real_graph(name), 4, layers=2, lookup_roots=False, batch_size=batch)
    assert_same_as_gas(*both, visited=visited)


def side_by_side(gnn, dataset, steps, layers, **options):
    """Return (both's losses, the FreshGNN trainer, its histories, GNNAutoScale) after steps."""
    config = config_of(layers=layers, fanouts=(-1,) * layers, p_grad=1.0, hidden=6, **options)
    nodes, losses = np.arange(dataset.train_graph.n, dtype=np.int32), []
    with watched(gnn, dataset, config) as trainer:
        gas = Gas(dataset, trainer.state.weights, layers, 6, config.lr)
        fill(trainer)
        for _ in range(steps):
            loss = trainer.step().loss
            losses.append((loss, gas.step(trainer.mfg.nodes[-1])))
    slots = [trainer.cache.lookup(layer, nodes, steps) for layer in range(1, layers)]
    return np.array(losses).T, trainer, [trainer.cache.read(found) for found in slots], gas


def assert_same_as_gas(losses, trainer, histories, gas, *, visited):
    assert_allclose(*losses, rtol=1e-9)
    for name, W in trainer.state.weights.items():
        assert_allclose(W, gas.W[name], rtol=1e-7, atol=1e-10, err_msg=name)
    for rows, history in zip(histories, gas.history, strict=True):
        assert history.any(axis=1).mean() > visited
        assert_allclose(rows, history, rtol=1e-7, atol=1e-10)


# One iteration.


@pytest.mark.parametrize("t_stale", [1, 2])
def test_entries_live_as_long_as_they_are_told(gnn, dataset, t_stale):
    """With t = 1 an entry is read only in the iteration after its own."""
    ages = set()
    with watched(gnn, dataset, config_of(t_stale=t_stale, p_grad=1.0)) as trainer:
        for i in range(25):
            for layer in (1, 2):
                slots = trainer.cache.lookup(layer, np.arange(130, dtype=np.int32), i)
                ages |= set((i - trainer.cache.entries.stamp[slots[slots >= 0]]).tolist())
            trainer.step()
        assert trainer.counts_of_epoch.hits > 0
    assert ages == set(range(1, t_stale + 1))
