"""JPDC'21 Algorithm 1 and the layer-sampled baseline, with a model of one's own."""

from itertools import repeat

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from strategies import even_graph

from refimpl.training import AdamState

N, F, HIDDEN, CLASSES = 24, 4, 3, 2
GRAPH = even_graph(N, 4)
SUBGRAPH = np.array([1, 2, 3, 5, 8, 13, 21])
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, F))
Y = np.eye(CLASSES)[RNG.integers(0, CLASSES, N)]
LOSS_WEIGHTS = RNG.uniform(0.1, 1, N)
WEIGHTS = {
    "1": RNG.normal(size=(F, HIDDEN)),
    "2": RNG.normal(size=(HIDDEN, HIDDEN)),
    "3": RNG.normal(size=(HIDDEN, CLASSES)),
}


class Means:
    """Two layers ReLU(A X W) without a self term, and a classifier, as the iterations ask."""

    depth = 2

    def __init__(self, gnn, weights):
        self.gnn, self.W, self.kept, self.gradients, self.asked = gnn, weights, {}, {}, []

    def forward(self, l, A, H):
        self.asked.append(f"forward {l}")
        AX = self.gnn.spmm(A.graph, A.data, H)
        Z = AX @ self.W[str(l)]
        self.kept[l] = A, AX, Z
        return np.maximum(Z, 0)

    def classify(self, H):
        self.asked.append("classify")
        self.kept[3] = H
        return H @ self.W["3"]

    def loss(self, logits, labels, node_weights):
        self.asked.append("loss")
        return self.gnn.softmax_cross_entropy(logits, labels, node_weights)

    def backward(self, l, G):
        self.asked.append(f"backward {l}")
        if l == 3:
            self.gradients["3"] = self.kept[3].T @ G
            return G @ self.W["3"].T
        A, AX, Z = self.kept[l]
        G = G * (Z > 0)
        self.gradients[str(l)] = AX.T @ G
        return self.gnn.spmm(A.graph_t, A.data_t, G @ self.W[str(l)].T)


def row_norm(gnn):
    return lambda sub: gnn.adjacency.row_norm(sub.graph, sub.transpose_perm)


def features_of(nodes):
    return X[nodes]


def labels(nodes):
    return Y[nodes], LOSS_WEIGHTS[nodes]


def on_subgraph(gnn, model, adam=None, nodes=SUBGRAPH):
    """Do one iteration on the subgraph of some nodes."""
    subgraphs = iter([gnn.induced_subgraph(GRAPH, nodes)])
    return gnn.graph_iteration(subgraphs, model, row_norm(gnn), features_of, labels, adam)


def dense_loss(weights, nodes):
    """Return the loss on the subgraph of some nodes, in dense algebra."""
    A = GRAPH.to_scipy().toarray()[np.ix_(nodes, nodes)]
    P, H = A / np.maximum(A.sum(axis=1, keepdims=True), 1), X[nodes]
    for l in ("1", "2"):
        H = np.maximum(P @ H @ weights[l], 0)
    logits = H @ weights["3"]
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -(LOSS_WEIGHTS[nodes] * (Y[nodes] * log_p).sum(axis=1)).sum()


def test_loss_and_gradients_are_those_of_dense_algebra(gnn):
    """Gradients by central differences; each layer is asked once forward, once back, in order."""
    model = Means(gnn, WEIGHTS)
    step = on_subgraph(gnn, model)
    assert_array_equal(step.nodes, SUBGRAPH)
    assert step.loss == pytest.approx(dense_loss(WEIGHTS, SUBGRAPH), rel=1e-12)
    there, back = ["forward 1", "forward 2", "classify"], ["backward 3", "backward 2", "backward 1"]
    assert model.asked == [*there, "loss", *back]
    for name, W in WEIGHTS.items():
        for place in np.ndindex(W.shape):
            at = []
            for moved in (1e-6, -1e-6):
                other = {**WEIGHTS, name: W.copy()}
                other[name][place] += moved
                at.append(dense_loss(other, SUBGRAPH))
            slope = (at[0] - at[1]) / 2e-6
            assert step.gradients[name][place] == pytest.approx(slope, rel=1e-5, abs=1e-8)


def adam_of(weights, t, decay):
    m, v = ({name: np.full_like(W, value) for name, W in weights.items()} for value in (0.1, 0.2))
    return AdamState(weights, m, v, t, 0.05, decay)


@pytest.mark.parametrize("decay", [{}, {"1": 0.5}])
def test_adam_moves_all_weights_after_the_gradients(gnn, decay):
    """And what decays has so much of the weight in its gradient; without Adam nothing moves."""
    weights = {name: W.copy() for name, W in WEIGHTS.items()}
    on_subgraph(gnn, Means(gnn, weights))
    assert all(np.array_equal(weights[name], W) for name, W in WEIGHTS.items())
    adam = adam_of(weights, 7, decay)
    step = on_subgraph(gnn, Means(gnn, weights), adam)
    for name, W in WEIGHTS.items():
        G = step.gradients[name] + decay.get(name, 0) * W
        want, m, v = W.copy(), np.full_like(W, 0.1), np.full_like(W, 0.2)
        gnn.adam_step(want, G, m, v, 7, lr=0.05)
        for got, expected in ((weights, want), (adam.m, m), (adam.v, v)):
            assert_array_equal(got[name], expected)
        assert not np.array_equal(weights[name], W)


def all_neighbors(gnn):
    """Return the MFG of all nodes with all of their neighbours, and a matrix for each layer."""
    roots = np.arange(N, dtype=np.int32)
    mfg = gnn.sample_mfg(GRAPH, roots, (-1, -1), seed=1, epoch=0, batch=0)
    return mfg, [gnn.adjacency.block_norm("row", block) for block in mfg.blocks]


def test_all_neighbors_of_all_nodes_are_the_whole_graph(gnn):
    """Then both iterations compute the same, and move the weights alike."""
    found = []
    for whole in (True, False):
        weights = {name: W.copy() for name, W in WEIGHTS.items()}
        model, adam = Means(gnn, weights), adam_of(weights, 2, {"2": 0.1})
        if whole:
            step = on_subgraph(gnn, model, adam, np.arange(N))
        else:
            pair = iter([all_neighbors(gnn)])
            step = gnn.training.sampled_iteration(pair, model, features_of, labels, adam)
        assert_array_equal(step.nodes, np.arange(N))
        found.append((step, weights))
    (one, moved), (other, moved_too) = found
    assert one.loss == pytest.approx(other.loss, rel=1e-12)
    for name in WEIGHTS:
        assert_allclose(one.gradients[name], other.gradients[name], rtol=1e-9, atol=1e-12)
        assert_allclose(moved[name], moved_too[name], rtol=1e-9)


def test_the_features_are_those_of_the_inputs_and_the_labels_those_of_the_roots(gnn):
    mfg = gnn.sample_mfg(GRAPH, np.array([4, 9]), (2, 2), seed=3, epoch=0, batch=0)
    A, asked = [gnn.adjacency.block_norm("row", block) for block in mfg.blocks], {}

    def features(nodes):
        asked["features"] = nodes
        return X[nodes]

    def of_roots(nodes):
        asked["labels"] = nodes
        return Y[nodes], None

    model = Means(gnn, WEIGHTS)
    step = gnn.training.sampled_iteration(iter([(mfg, A)]), model, features, of_roots)
    assert_array_equal(asked["features"], mfg.nodes[0])
    assert_array_equal(asked["labels"], [4, 9])
    assert_array_equal(step.nodes, [4, 9])
    assert len(mfg.nodes[0]) > 2 and set(step.gradients) == set(WEIGHTS)


class Shallow(Means):
    depth = 0


@pytest.mark.parametrize(
    "changed, error, message",
    [
        ({"subgraphs": []}, TypeError, "subgraphs must be an iterator, got list"),
        ({"subgraphs": iter([])}, TypeError, "the next of subgraphs must be a Subgraph, got None"),
        ({"subgraphs": repeat(3)}, TypeError, "the next of subgraphs must be a Subgraph, got int"),
        ({"model": 3}, TypeError, "model must have a method forward, got int"),
        ({"model": Shallow(None, {})}, ValueError, "model.depth must be"),
        ({"normalize": None}, TypeError, "normalize must be callable, got NoneType"),
        ({"load_features": X}, TypeError, "load_features must be callable, got ndarray"),
        ({"load_labels": Y}, TypeError, "load_labels must be callable, got ndarray"),
        ({"adam": 0.1}, TypeError, "adam must be an AdamState, got float"),
    ],
)
def test_a_subgraphs_iteration_refuses(gnn, changed, error, message):
    subgraphs = iter([gnn.induced_subgraph(GRAPH, SUBGRAPH)])
    arguments = {"subgraphs": subgraphs, "model": Means(gnn, WEIGHTS), "normalize": row_norm(gnn)}
    arguments |= {"load_features": features_of, "load_labels": labels}
    with pytest.raises(error, match=message):
        gnn.graph_iteration(**{**arguments, **changed})
    assert changed.keys() == {"subgraphs"} or next(subgraphs, None) is not None, "it was used up"


@pytest.mark.parametrize(
    "changed, error, message",
    [
        ({"minibatches": []}, TypeError, "minibatches must be an iterator, got list"),
        ({"minibatches": iter([])}, TypeError, "the next of minibatches must be a pair of an MFG"),
        ({"minibatches": repeat((1, 2))}, TypeError, "must be a pair of an MFG and matrices"),
        ({"model": 3}, TypeError, "model must have a method forward, got int"),
        ({"load_features": X}, TypeError, "load_features must be callable, got ndarray"),
        ({"load_labels": Y}, TypeError, "load_labels must be callable, got ndarray"),
        ({"adam": 0.1}, TypeError, "adam must be an AdamState, got float"),
    ],
)
def test_an_iteration_on_sampled_neighbors_refuses(gnn, changed, error, message):
    arguments = {"minibatches": iter([all_neighbors(gnn)]), "model": Means(gnn, WEIGHTS)}
    arguments |= {"load_features": features_of, "load_labels": labels}
    with pytest.raises(error, match=message):
        gnn.training.sampled_iteration(**{**arguments, **changed})
