"""Backward passes that may write over the gradient and the output that they are given."""

import numpy as np
import pytest
from layer_cases import LAYERS, PATTERNS, make_parameters, problem, rows_in

from refimpl.lab.backend import find


def writable_copy(value):
    """Return a layer's result, its arrays copied."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(writable_copy(part) for part in value)
    return tuple(map(writable_copy, value)) if isinstance(value, tuple) else value


def arrays_of(value):
    """Yield the arrays of a layer's result."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from arrays_of(part)


@pytest.mark.parametrize("layer", LAYERS, ids=repr)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("as_wide", [True, False])
def test_gradients_are_those_without(gnn, layer, pattern, relu, as_wide):
    """With an input as wide as the output too, whose gradient fits where another array is."""
    hops, P, G = problem(layer, pattern, bias=True, relu=relu)
    if as_wide:
        P = make_parameters(layer, rows_in(layer, hops), layer.width, bias=True)
    for array in (*P.values(), *(x for A in hops for x in (A.data, A.data_t))):
        array.flags.writeable = False
    for way in layer.ways:
        out = layer.forward(gnn, hops, P, way, relu)
        left, copied, G_copy = writable_copy(out), writable_copy(out), G.copy()
        want = layer.backward(gnn, hops, P, out, G_copy, way, relu)
        np.testing.assert_array_equal(G_copy, G)
        for now, before in zip(arrays_of(out), arrays_of(left), strict=True):
            np.testing.assert_array_equal(now, before)
        got = layer.backward(gnn, hops, P, copied, G_copy, way, relu, overwrite=True)
        assert got.keys() == want.keys()
        for name, gradient in want.items():
            np.testing.assert_array_equal(got[name], gradient, err_msg=f"{name} {way}")


@pytest.mark.parametrize("layer", LAYERS, ids=repr)
def test_arrays_that_must_stay_are_refused(gnn, layer):
    hops, P, G = problem(layer)
    way = layer.ways[0]
    out = layer.forward(gnn, hops, P, way)
    kept = writable_copy(out)
    G.flags.writeable = False
    with pytest.raises(ValueError, match="G_out must be writeable where overwrite is True"):
        layer.backward(gnn, hops, P, kept, G, way, overwrite=True)
    if G.size:
        shared = layer.output(kept)
        with pytest.raises(ValueError, match="share no memory with the other arrays"):
            layer.backward(gnn, hops, P, kept, shared, way, overwrite=True)
    with pytest.raises(TypeError, match="overwrite must be"):
        layer.backward(gnn, hops, P, kept, G.copy(), way, overwrite=1)


def test_the_reference_masks_in_place(gnn):
    """So does each package: nothing else would save memory."""
    X, W = np.ones((4, 3)), -np.eye(3)
    Y = find(gnn, "dense_forward")(X, W, relu=True)
    G = np.ones_like(Y)
    gradients = find(gnn, "dense_backward")(X, W, Y, G, relu=True, need_dx=True, overwrite=True)
    assert not G.any() and not gradients.X.any()
