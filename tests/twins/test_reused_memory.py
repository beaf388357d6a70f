"""A training step asks for no new memory once it was done; results keep theirs while they live."""

import gc

import numpy as np
import pytest
from strategies import even_graph

import fastimpl
from fastimpl import _buffers
from refimpl import TrainConfig
from refimpl.lab.training.stack import Stack

WIDTH, CLASSES = 96, 41
NODES = {"sage": 2000, "gcn": 2900, "mixhop": 4100, "gat": 6000, "mlp": 9000}


def training_step(model):
    """Return a function that does a step of a model of two layers, always on one subgraph."""
    config = TrainConfig(method="full", model=model, layers=2, hidden=WIDTH, bias=True)
    stack = Stack(fastimpl, config, WIDTH, CLASSES, False)
    n = NODES[model]
    graph = even_graph(n, 8)
    A = stack.adjacency(graph, fastimpl.transpose_perm(graph), dtype=np.float32)
    operands = stack.operands(A)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, WIDTH)).astype(np.float32)
    Y = np.eye(CLASSES, dtype=np.float32)[rng.integers(0, CLASSES, n)]
    weights = stack.initial_weights(1, np.dtype(np.float32))
    m, v = ({name: np.zeros_like(W) for name, W in weights.items()} for _ in range(2))

    def step(t):
        logits, kept = stack.forward(weights, operands, X)
        gradients = stack.gradients(weights, operands, kept, stack.loss(logits, Y).gradient)
        for name, W in weights.items():
            fastimpl.adam_step(W, gradients[name], m[name], v[name], t)

    return step


@pytest.mark.parametrize("model", NODES)
def test_a_step_after_the_first_asks_for_no_memory(model):
    step = training_step(model)
    step(1)
    gc.collect()
    first = _buffers.allocated()
    for t in range(2, 6):
        step(t)
        assert _buffers.allocated() == first


@pytest.mark.parametrize("model", NODES)
def test_gradients_of_a_step_lie_where_others_did(model, monkeypatch):
    """That of a layer's input, in an array whose values nobody needs any more."""
    config = TrainConfig(method="full", model=model, layers=3, hidden=WIDTH)
    stack, graph = Stack(fastimpl, config, WIDTH, CLASSES, False), even_graph(500, 8)
    A = stack.adjacency(graph, fastimpl.transpose_perm(graph), dtype=np.float32)
    X, Y = np.ones((500, WIDTH), np.float32), np.eye(CLASSES, dtype=np.float32)[[0] * 500]
    weights = stack.initial_weights(1, np.dtype(np.float32))
    logits, kept = stack.forward(weights, stack.operands(A), X)
    outputs = [X_l for X_l, _, _ in kept.values()][1:]
    found = []
    for layer in stack.layers.values():
        monkeypatch.setattr(layer, "backward", seen(layer.backward, found))
    stack.gradients(weights, stack.operands(A), kept, stack.loss(logits, Y).gradient)
    assert not kept
    for G, dX in found[1:-1]:  # the classifier's is the first, the first layer has none
        assert any(np.shares_memory(dX, array) for array in [*outputs, G])


class Foreign:
    """A layer of somebody else, whose gradients nobody may write over."""

    def __init__(self, layer):
        self.shapes, self.forward, self.inner = layer.shapes, layer.forward, layer

    def backward(self, W, A, X, needed, G_out):
        gradients, dX = self.inner.backward(W, A, X, needed, G_out)
        dX.flags.writeable = False
        return gradients, dX


def test_gradients_of_other_peoples_layers_are_left_alone(gnn):
    config = TrainConfig(method="full", model="gcn", layers=3, hidden=9)
    stack, graph = Stack(gnn, config, 9, CLASSES, False), even_graph(50, 8)
    A = stack.adjacency(graph, gnn.transpose_perm(graph), dtype=np.float32)
    X, Y = np.ones((50, 9), np.float32), np.eye(CLASSES, dtype=np.float32)[[0] * 50]
    weights = stack.initial_weights(1, np.dtype(np.float32))
    results = []
    for _ in range(2):
        logits, kept = stack.forward(weights, stack.operands(A), X)
        G = stack.loss(logits, Y).gradient
        results.append(stack.gradients(weights, stack.operands(A), kept, G))
        stack.layers["layer2"] = Foreign(stack.layers["layer2"])
    for name, gradient in results[0].items():
        np.testing.assert_array_equal(results[1][name], gradient)


def seen(backward, found):
    """Return a layer's `backward` that notes the gradients it is given and gives."""

    def noting(W, A, X, needed, G_out, **options):
        gradients, dX = backward(W, A, X, needed, G_out, **options)
        found.append((G_out, dX))
        return gradients, dX

    return noting


def test_memory_asked_for_is_counted():
    _buffers.release_waiting()  # what other tests left
    before = _buffers.allocated()
    _buffers.empty((700, 300), np.float32)
    assert _buffers.allocated() > before


def test_memory_in_use_is_not_handed_out_again():
    shape = 300, 200
    kept = [_buffers.empty(shape, np.float64) for _ in range(3)]
    for number, array in enumerate(kept):
        array[:] = number
    view = kept.pop()[7:, ::2]  # keeps the memory of the whole array
    gone = kept.pop(0).ctypes.data
    again = _buffers.empty(shape, np.float64)
    assert again.ctypes.data == gone
    again[:] = 9
    assert (view == 2).all() and (kept[0] == 1).all()


def test_arrays_of_one_size_class_share_memory_whatever_their_shape():
    array = _buffers.empty((1000, 100), np.float32)
    place = array.ctypes.data
    del array
    other = _buffers.empty((101, 500), np.float64)
    assert other.ctypes.data == place
    assert other.shape == (101, 500) and other.dtype == np.float64 and other.flags.c_contiguous
    assert other.flags.writeable


@pytest.mark.parametrize("shape", [(), (0,), (0, 5), (3,), (40, 1000), (2, 3, 4000)])
def test_any_shape(shape):
    array = _buffers.empty(shape, np.float32)
    array[...] = 1
    assert array.shape == shape and array.sum() == np.prod(shape)
