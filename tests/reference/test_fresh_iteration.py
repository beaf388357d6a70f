"""FreshGNN's Algorithm 1 as one function: with a model of one's own, and against dictionaries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from strategies import even_graph

from refimpl import Dataset, TrainConfig, methods

N, F, CLASSES, HIDDEN, L, SEED = 90, 5, 3, 6, 3, 4
GRAPH = even_graph(N, 6)
BATCH, FANOUTS = 12, (3, 2, 2)
ROUNDS = 24


def small_data(dtype):
    """Return (features, labels)."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N, F)).astype(dtype)
    return X, np.eye(CLASSES, dtype=dtype)[rng.integers(0, CLASSES, N)]


def minibatches(gnn):
    """Yield the sampled neighbours of batches, epoch after epoch."""
    nodes, epoch = np.arange(N, dtype=np.int32), 0
    while True:
        for b, roots in enumerate(gnn.samplers.epoch_batches(nodes, BATCH, SEED, epoch)):
            yield gnn.sample_mfg(GRAPH, roots, FANOUTS, seed=SEED, epoch=epoch, batch=b)
        epoch += 1


# With public names only.


class SageModel:
    """GraphSAGE and a classifier, as `fresh_iteration` asks for a model."""

    def __init__(self, gnn, weights, Y):
        self.gnn, self.W, self.Y = gnn, weights, Y
        self.kept, self.gradients = {}, {}

    def forward(self, l, block, nodes, H):
        gnn = self.gnn
        assert block.n_dst < block.n_src == len(nodes) == len(H)
        A = gnn.adjacency.block_norm("row", block, dtype=H.dtype)
        order = gnn.scheduling.ProductOrders(1, 1, 2 if l > 1 else 0)
        halves = self.W[f"layer{l}.W_neigh"], self.W[f"layer{l}.W_self"]
        out = gnn.sage_forward(A, H, *halves, order)
        self.kept[l] = A, H, halves, out, order
        return out.X_out

    def loss(self, H, nodes):
        W = self.W["classifier.W"]
        logits = self.gnn.dense_forward(H, W, relu=False)
        loss = self.gnn.softmax_cross_entropy(logits, self.Y[nodes])
        back = self.gnn.dense_backward(H, W, logits, loss.gradient, relu=False, need_dx=True)
        self.gradients["classifier.W"] = back.W
        return loss.value, back.X

    def backward(self, l, G):
        A, H, halves, out, order = self.kept[l]
        back = self.gnn.sage_backward(A, H, *halves, out, G, order)
        self.gradients[f"layer{l}.W_neigh"] = back.W_neigh
        self.gradients[f"layer{l}.W_self"] = back.W_self
        return back.X


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("control", ["gradient", "random"])
def test_without_the_trainer_it_gives_the_trainers_weights(gnn, control, dtype):
    """Bit for bit, in every iteration, with a model of one's own on public kernels."""
    X, Y = small_data(dtype)
    every, none = np.arange(N), np.arange(0)
    data = Dataset("small", GRAPH, X, Y.argmax(axis=1), every, none, none)
    policy = {"t_stale": 5, "p_grad": 0.8, "control": control, "hotness": "none"}
    fresh = methods.Fresh(batch_size=BATCH, fanouts=FANOUTS, buffer=2**16, **policy)
    config = TrainConfig(method=fresh, layers=L, hidden=HIDDEN, rng=SEED)
    cache = gnn.BidirectionalCache(N, F, HIDDEN, L - 1, 2**16 // X.itemsize, t_stale=5, dtype=dtype)
    with gnn.make_trainer(data, config) as trainer:
        W = {name: array.copy() for name, array in trainer.state.weights.items()}
        m, v = ({name: np.zeros_like(array) for name, array in W.items()} for _ in range(2))
        graphs, hits, evicted = minibatches(gnn), 0, 0
        for i in range(ROUNDS):
            model = SageModel(gnn, W, Y)
            step = gnn.fresh_iteration(
                graphs,
                cache,
                model,
                lambda nodes: X[nodes],
                i,
                cached_layers=(2, 1),
                seed=SEED,
                control=control,
                p=0.8,
            )
            for name, gradient in model.gradients.items():
                gnn.adam_step(W[name], gradient, m[name], v[name], i + 1, lr=config.lr)
            assert trainer.step().loss == step.loss
            for name, array in trainer.state.weights.items():
                assert_array_equal(W[name], array, err_msg=f"{name} in iteration {i}")
            hits += sum(int(read.sum()) for read in step.cached)
            evicted += sum(done.evicted for done in step.updates.values())
    assert hits and evicted, "nothing was read or evicted: this shows nothing"


# Against dictionaries.


class Plain:
    """Layers H' = relu(mean of the sampled V H + H U), softmax on the last, in plain NumPy."""

    def __init__(self, V, U, Y):
        self.V, self.U, self.Y, self.kept, self.gradients = V, U, Y, {}, {}

    def forward(self, l, block, nodes, H):
        S = np.zeros((block.n_dst, block.n_src))
        for row, (start, end) in enumerate(zip(block.start, block.end, strict=True)):
            S[row, block.indices[start:end]] = 1 / max(end - start, 1)
        out = np.maximum(S @ H @ self.V[l] + H[: len(S)] @ self.U[l], 0)
        self.kept[l] = S, H, out
        return out

    def loss(self, H, nodes):
        P = np.exp(H) / np.exp(H).sum(axis=1, keepdims=True)
        Y = self.Y[nodes]
        return -np.log((P * Y).sum(axis=1)).mean(), (P - Y) / len(Y)

    def backward(self, l, G):
        S, H, out = self.kept[l]
        G = G * (out > 0)
        self.gradients[l] = (S @ H).T @ G, H[: len(S)].T @ G
        below = S.T @ G @ self.V[l].T
        below[: len(S)] += G @ self.U[l].T
        return below if l > 1 else None


class Simulation:
    """Algorithm 1 one node at a time: rows, gradients and the cache are dictionaries.

    The cache is {(layer, node): (stamp, row)}, without a bound on its size.
    """

    def __init__(self, V, U, X, Y, p, t_stale, lookup_roots):
        self.V, self.U, self.X, self.Y = V, U, X, Y
        self.p, self.t_stale, self.lookup_roots = p, t_stale, lookup_roots
        self.cache = {}

    def entry(self, l, v, i):
        stamp, row = self.cache.get((l, v), (None, None))
        return row if row is not None and i - stamp <= self.t_stale else None

    def step(self, mfg, i):
        """Do iteration i; leave what it was made of."""
        roots = [int(v) for v in mfg.nodes[L]]
        sampled = [None]
        for l, block in enumerate(mfg.blocks, start=1):
            below, above = mfg.nodes[l - 1], mfg.nodes[l].tolist()
            rows = zip(above, block.start, block.end, strict=True)
            sampled.append({v: below[block.indices[a:b]].tolist() for v, a, b in rows})
        self.h, self.g = [{} for _ in range(L + 1)], [{} for _ in range(L + 1)]
        self.read, self.admitted, self.evicted = set(), {1: 0, 2: 0}, {1: 0, 2: 0}

        def row(l, v):
            if v not in self.h[l]:
                self.h[l][v] = self.found(l, v, i, roots)
            if self.h[l][v] is None:
                near = [row(l - 1, u) for u in sampled[l][v]]
                mean = sum(near) / len(near) if near else np.zeros_like(row(l - 1, v))
                self.h[l][v] = np.maximum(mean @ self.V[l] + row(l - 1, v) @ self.U[l], 0)
            return self.h[l][v]

        self.loss = 0.0
        for v in roots:
            power = np.exp(row(L, v))
            chances = power / power.sum()
            self.loss -= np.log(chances @ self.Y[v]) / len(roots)
            self.g[L][v] = (chances - self.Y[v]) / len(roots)
        self.gradients = {l: (np.zeros_like(self.V[l]), np.zeros_like(self.U[l])) for l in self.V}
        for l in range(L, 0, -1):
            for v, g in self.g[l].items():
                if (l, v) not in self.read:
                    self.back(l, v, g, sampled[l][v])
        for l in (2, 1):
            self.update(l, i)

    def found(self, l, v, i, roots):
        if l == 0:
            return self.X[v]
        entry = self.entry(l, v, i) if l < L and (self.lookup_roots or v not in roots) else None
        if entry is not None:
            self.read.add((l, v))
        return entry

    def back(self, l, v, g, near):
        g = g * (self.h[l][v] > 0)
        dV, dU = self.gradients[l]
        own = self.h[l - 1][v]
        dU += np.outer(own, g)
        self.g[l - 1][v] = self.g[l - 1].get(v, 0) + g @ self.U[l].T
        for u in near:
            dV += np.outer(self.h[l - 1][u], g) / len(near)
            self.g[l - 1][u] = self.g[l - 1].get(u, 0) + g @ self.V[l].T / len(near)

    def update(self, l, i):
        """The share p of the live rows with the smallest gradients is stable, the rest not."""
        ranked = sorted(self.g[l], key=lambda v: (np.linalg.norm(self.g[l][v]), v))
        stable = int(self.p * len(ranked) + 1e-9)
        for rank, v in enumerate(ranked):
            if rank >= stable:
                self.evicted[l] += self.entry(l, v, i + 1) is not None
                self.cache.pop((l, v), None)
            elif (l, v) not in self.read:
                self.cache[l, v] = i, self.h[l][v]
                self.admitted[l] += 1


@pytest.mark.parametrize("lookup_roots", [True, False])
@pytest.mark.parametrize(("p", "t_stale"), [(0.7, 4), (0.5, np.inf), (1.0, 2)])
def test_an_iteration_is_algorithm_1_on_dictionaries(gnn, p, t_stale, lookup_roots):
    """What is looked up, pruned, computed, admitted and evicted, and every row and gradient."""
    X, Y = small_data("float64")
    rng = np.random.default_rng(3)
    widths = [F, HIDDEN, HIDDEN, CLASSES]
    V, U = (
        {l: 0.4 * rng.normal(size=(widths[l - 1], widths[l])) for l in range(1, L + 1)}
        for _ in range(2)
    )
    said = Simulation(V, U, X, Y, p, t_stale, lookup_roots)
    age = None if t_stale == np.inf else t_stale
    cache = gnn.BidirectionalCache(N, F, HIDDEN, L - 1, 2**14, t_stale=age, dtype=np.float64)
    loaded, nodes = [], np.arange(N, dtype=np.int32)

    def load(ids):
        loaded.append(ids.tolist())
        return X[ids]

    read = evicted = pruned = 0
    for i, mfg in zip(range(ROUNDS), minibatches(gnn), strict=False):
        model = Plain(V, U, Y)
        options = {"cached_layers": (2, 1), "lookup_roots": lookup_roots, "p": p}
        step = gnn.fresh_iteration(iter([mfg]), cache, model, load, i, **options)
        said.step(mfg, i)
        assert step.loss == pytest.approx(said.loss, rel=1e-12)
        assert step.inputs == len(mfg.nodes[0])
        assert loaded[-1] == step.nodes[0].tolist() and len(loaded) == i + 1
        for l in range(L + 1):
            live = step.nodes[l].tolist()
            assert set(live) == said.h[l].keys() and len(live) == len(said.h[l])
            assert_allclose(step.H[l], [said.h[l][v] for v in live], rtol=1e-10, atol=1e-13)
            if l:
                assert_allclose(step.G[l], [said.g[l][v] for v in live], rtol=1e-9, atol=1e-13)
                assert step.cached[l - 1].tolist() == [(l, v) in said.read for v in live]
                assert_allclose(model.gradients[l][0], said.gradients[l][0], atol=1e-12)
                assert_allclose(model.gradients[l][1], said.gradients[l][1], atol=1e-12)
            pruned += len(mfg.nodes[l]) - len(live)
        for l in (1, 2):
            done = step.updates[l]
            assert (done.admitted, done.evicted) == (said.admitted[l], said.evicted[l])
            slots = cache.lookup(l, nodes, i + 1)
            want = [said.entry(l, v, i + 1) for v in range(N)]
            assert (slots >= 0).tolist() == [row is not None for row in want]
            kept = [row for row in want if row is not None]
            assert_allclose(cache.read(slots[slots >= 0]), np.reshape(kept, (-1, HIDDEN)))
            evicted += done.evicted
        read += len(said.read)
        for l, (dV, dU) in said.gradients.items():
            V[l] -= 0.5 * dV
            U[l] -= 0.5 * dU
    assert read and pruned, "nothing was read or pruned: this shows nothing"
    assert (evicted > 0) == (p < 1), "nothing was evicted: this shows nothing"


@pytest.mark.parametrize("highest_first", [True, False])
def test_the_highest_layer_is_updated_first(gnn, highest_first):
    """E-V24: it has all the room of a buffer that is too small; the order is the caller's."""
    X, Y = small_data("float64")
    widths = [F, HIDDEN, HIDDEN, CLASSES]
    V, U = ({l: np.ones((widths[l - 1], widths[l])) for l in range(1, L + 1)} for _ in range(2))
    layers, slots = (2, 1) if highest_first else (1, 2), 20
    cache = gnn.BidirectionalCache(
        N, F, HIDDEN, L - 1, slots * HIDDEN, t_stale=9, dtype=np.float64, overflow="drop"
    )
    step = gnn.fresh_iteration(
        iter([next(minibatches(gnn))]),
        cache,
        Plain(V, U, Y),
        lambda ids: X[ids],
        0,
        cached_layers=layers,
        p=1.0,
    )
    rows = {l: len(step.nodes[l]) for l in layers}
    assert min(rows.values()) > slots, "there is room: this shows nothing"
    assert [step.updates[l].admitted for l in layers] == [slots, 0]


def test_without_cached_layers_it_is_neighbour_sampling(gnn):
    """No cache is asked for anything; every row is computed."""
    X, Y = small_data("float64")
    rng = np.random.default_rng(3)
    widths = [F, HIDDEN, HIDDEN, CLASSES]
    V, U = (
        {l: rng.normal(size=(widths[l - 1], widths[l])) for l in range(1, L + 1)} for _ in range(2)
    )
    mfg = next(minibatches(gnn))
    step = gnn.fresh_iteration(
        iter([mfg]), None, Plain(V, U, Y), lambda ids: X[ids], 0, cached_layers=(), p=0.9
    )
    assert step.updates == {} and not np.concatenate(step.cached).any()
    for got, want in zip(step.nodes, mfg.nodes, strict=True):
        assert_array_equal(got, want)
