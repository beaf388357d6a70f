"""Layers whose dense products have factors in bfloat16: fast against reference."""

import numpy as np
import pytest
from comparison import parts
from layer_cases import LAYERS, problem
from oracles import nearest_bfloat16
from strategies import even_graph, with_values

import fastimpl
import refimpl
from fastimpl import _bfloat16
from refimpl._support.bfloat16 import bfloat16_products, rounded

FLIP = 2**-7  # of a factor that differs in its last bit, and is rounded to another neighbour
ROUNDING = 1e-5


def test_every_upper_half_is_rounded_as_defined():
    """With lower halves around the ties, all exponents, infinities, and numbers below normal."""
    upper = np.arange(2**16, dtype=np.uint32)[:, None] << 16
    lower = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    X = (upper | lower).view(np.float32)
    fast = np.empty_like(X)
    _bfloat16.rounded(X, fast)
    for got in (fast, rounded(X)):
        nan = np.isnan(X)
        assert np.isnan(got[nan]).all()
        assert got[~nan].tobytes() == nearest_bfloat16(X[~nan]).tobytes()
    bits = np.empty(X.shape, np.uint16)
    _bfloat16.lowered(X, bits)
    assert (bits.astype(np.uint32) << 16).tobytes() == fast.tobytes()


def single(hops, P, G):
    """Return a layer's input in float32."""
    hops = [with_values(A.graph, A.data.astype(np.float32)) for A in hops]
    return hops, {name: W.astype(np.float32) for name, W in P.items()}, G.astype(np.float32)


def assert_close(got, want, exact):
    """Check that `got` and `want` agree up to rounding, and that both differ from `exact`.

    A factor that both packages computed may be rounded otherwise by them: some results differ more.
    """
    differ = []
    for (name, a), (_, b), (_, c) in zip(parts(got), parts(want), parts(exact), strict=True):
        if isinstance(b, np.ndarray) and b.size:
            apart, size = np.abs(a - b), max(np.abs(b).max(), 0.01)  # some cancel
            assert apart.max() <= FLIP * size, name
            assert np.median(apart) <= ROUNDING * size, name
            differ.append(np.abs(a - c).max())
    assert max(differ) > 1e-4


@pytest.mark.parametrize("pattern", ["graph", "block"])
@pytest.mark.parametrize("layer", LAYERS, ids=repr)
def test_layers(layer, pattern):
    hops, P, G = single(*problem(layer, pattern, bias=True))
    for way in layer.ways:
        exact = layer.forward(refimpl, hops, P, way)
        exact_grads = layer.backward(refimpl, hops, P, exact, G, way)
        with bfloat16_products():
            want = layer.forward(refimpl, hops, P, way)
            assert_close(layer.forward(fastimpl, hops, P, way), want, exact)
            grads = [layer.backward(gnn, hops, P, exact, G, way) for gnn in (fastimpl, refimpl)]
        assert_close(*(tuple(one.values()) for one in grads), tuple(exact_grads.values()))


@pytest.mark.parametrize("bases", [0, 2])
def test_rgcn(bases):
    rng = np.random.default_rng(0)

    def normal(*shape):
        return rng.standard_normal(shape, np.float32)

    A = [with_values(g, normal(g.e)) for g in (even_graph(40, 6), even_graph(40, 3, 1))]
    common = A, normal(40, 9), [normal(9, 7) for _ in range(bases or 2)], normal(9, 7)
    options = {"coefficients": normal(2, bases) if bases else None, "b": normal(7)}
    exact, G = refimpl.rgcn_forward(*common, **options), normal(40, 7)
    back = {**options, "need_dx": True}
    exact_grads = refimpl.rgcn_backward(*common, exact, G, **back)
    with bfloat16_products():
        forward = [gnn.rgcn_forward(*common, **options) for gnn in (fastimpl, refimpl)]
        grads = [gnn.rgcn_backward(*common, exact, G, **back) for gnn in (fastimpl, refimpl)]
    assert_close(*forward, exact)
    assert_close(*grads, exact_grads)
