"""FreshGNN's iteration with draws for computed rows only: the same bits as with all draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import KEYS, even_graph, graphs, power_law_graph

from refimpl.samplers import Minibatch
from refimpl.typed import TypedGraph

F, HIDDEN = 3, 2


class Mixing:
    """Rows of a layer: sines of sums of rows below, in the order of the entries; `W` is moved."""

    def __init__(self, L, dtype):
        rng = np.random.default_rng(L)
        widths = [F, *L * [HIDDEN]]
        pairs = zip(widths, widths[1:], strict=False)
        self.W = [rng.normal(size=pair).astype(dtype) for pair in pairs]
        self.kept, self.edge_ids = {}, []

    def forward(self, l, block, nodes, H):
        sums = H[: block.n_dst].copy()
        for row, (start, end) in enumerate(zip(block.start, block.end, strict=True)):
            for u in block.indices[start:end]:
                sums[row] += H[u]
        self.kept[l] = block, H, sums
        self.edge_ids.append(block.edge_ids)
        return np.sin(sums @ self.W[l - 1])

    def loss(self, H, nodes):
        return float(H.sum()), np.cos(H + nodes[:, None].astype(H.dtype))

    def backward(self, l, G):
        block, H, sums = self.kept[l]
        G = G * np.cos(sums @ self.W[l - 1])
        G_sums = G @ self.W[l - 1].T
        self.W[l - 1] += H.dtype.type(0.01) * (sums.T @ G)
        G_below = np.zeros_like(H)
        G_below[: block.n_dst] = G_sums
        for row, (start, end) in enumerate(zip(block.start, block.end, strict=True)):
            for u in block.indices[start:end]:
                G_below[u] += G_sums[row]
        return G_below if l > 1 else None


def all_of(step, model, cache):
    """Return everything that an iteration made or left, as bytes, but for the inputs counted."""
    arrays = [*step.nodes, *step.cached, *step.H, *step.G[1:], *model.W, *model.edge_ids]
    state = cache.state_dict()
    return (
        step.loss,
        step.updates,
        [(array.dtype, array.shape, array.tobytes()) for array in arrays],
        {name: array.tobytes() for name, array in sorted(state.items())},
    )


def train_both_ways(gnn, graph, fanouts, rounds, *, batch=4, seed=3, slots=40, age=None, **options):
    """Do iterations with lazy and with all draws; compare them. Return how many rows were spared.

    Roots come in no order.
    """
    L, n = len(fanouts), graph.n
    X = np.random.default_rng(n).normal(size=(n, F))
    size = {"t_stale": age, "dtype": np.float64}
    caches = [gnn.BidirectionalCache(n, F, HIDDEN, L - 1, slots * HIDDEN, **size) for _ in range(2)]
    models, spared = [Mixing(L, np.float64), Mixing(L, np.float64)], 0
    batches = -(-n // batch)
    options = {"cached_layers": range(L - 1, 0, -1), "p": 0.8, "seed": seed, **options}
    for i in range(rounds):
        epoch, b = divmod(i, batches)
        roots = gnn.samplers.epoch_batches(np.arange(n), batch, seed, epoch)[b]
        minibatch = Minibatch(graph, roots, fanouts, seed, epoch, b)
        mfg = gnn.sample_mfg(graph, roots, fanouts, seed=seed, epoch=epoch, batch=b)
        ways = (gnn.history.lazy_fresh_iteration, minibatch), (gnn.fresh_iteration, mfg)
        found = []
        for (way, item), model, cache in zip(ways, models, caches, strict=True):
            step = way(iter([item]), cache, model, lambda nodes: X[nodes], i, **options)
            found.append(all_of(step, model, cache))
            inputs = step.inputs
        assert found[0] == found[1]
        spared += inputs - len(step.nodes[0])
    return spared


FANOUTS = st.lists(st.sampled_from([-1, 0, 1, 2, 3]), min_size=1, max_size=4)


@given(
    graph=graphs(min_nodes=1),
    fanouts=FANOUTS,
    seed=KEYS,
    batch=st.integers(1, 4),
    slots=st.sampled_from([0, 1, 3, 100]),
    age=st.sampled_from([None, 1, 3]),
    p=st.sampled_from([0.0, 0.5, 0.8, 1.0]),
    lookup_roots=st.booleans(),
    control=st.sampled_from(["gradient", "random"]),
)
def test_lazy_draws_change_no_bit(gnn, graph, fanouts, **options):
    """Graphs of one node, without edges, with loops, hubs and isolated nodes; full buffers, too."""
    train_both_ways(gnn, graph, fanouts, 8, **options)


@pytest.mark.parametrize("lookup_roots", [True, False])
@pytest.mark.parametrize("fanouts", [(3, 2, 2), (2, 2, 2, 2)])
@pytest.mark.parametrize("graph", [even_graph(90, 6), power_law_graph(200)], ids=["even", "hubs"])
def test_lazy_draws_change_no_bit_where_much_is_pruned(gnn, graph, fanouts, lookup_roots):
    """With four layers, nodes that are dead in layer 2 are live in layer 0."""
    options = {"batch": 12, "slots": 300, "age": 6, "lookup_roots": lookup_roots}
    assert train_both_ways(gnn, graph, fanouts, 24, **options) > 300


def test_lazy_draws_by_relation_change_no_bit(gnn):
    graph = even_graph(90, 6)
    typed = TypedGraph(graph, np.arange(graph.e) % 2, 2)
    fanouts = ((2, 1), (1, 2), 2)
    assert train_both_ways(gnn, typed, fanouts, 24, batch=12, slots=300, age=6) > 300


def test_without_cached_layers_it_is_neighbour_sampling(gnn):
    """No cache is asked for anything; the rows are those of `sample_mfg`."""
    graph = even_graph(90, 6)
    name = {"seed": 1, "epoch": 0, "batch": 5}
    mfg = gnn.sample_mfg(graph, [7, 3], (3, 2), **name)
    step = gnn.history.lazy_fresh_iteration(
        iter([Minibatch(graph, [7, 3], (3, 2), *name.values())]),
        None,
        Mixing(2, np.float64),
        lambda nodes: np.ones((len(nodes), F)),
        0,
        cached_layers=(),
        p=0.9,
    )
    assert step.updates == {} and not np.concatenate(step.cached).any()
    for got, want in zip(step.nodes, mfg.nodes, strict=True):
        assert got.dtype == want.dtype
        assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("item", "error", "words"),
    [
        (None, TypeError, "must be a Minibatch, got NoneType"),
        (Minibatch(None, [0], (2,), 1, 0, 0), TypeError, "graph must be a Graph"),
        (Minibatch(even_graph(9, 2), [0, 0], (2,), 1, 0, 0), ValueError, "roots must be distinct"),
        (Minibatch(even_graph(9, 2), [0, 0], (), 1, 0, 0), ValueError, "roots must be distinct"),
        (Minibatch(even_graph(9, 2), [0], (-2,), 1, 0, 0), ValueError, "fanouts"),
        (Minibatch(even_graph(9, 2), [0], (2,), -1, 0, 0), ValueError, "seed"),
    ],
)
def test_other_minibatches_are_refused(gnn, item, error, words):
    with pytest.raises(error, match=words):
        gnn.history.lazy_fresh_iteration(
            iter([item]), None, Mixing(1, np.float64), len, 0, cached_layers=(), p=0.5
        )


def test_minibatches_that_are_no_iterator_are_refused(gnn):
    with pytest.raises(TypeError, match="minibatches must be an iterator of Minibatches, got list"):
        gnn.history.lazy_fresh_iteration([], None, None, None, 0, cached_layers=(), p=0.5)
