"""The multiply-adds that are predicted are those that are counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layer_cases import LAYERS, Gat, Gcn, MixHop, Sage, problem
from strategies import asymmetric, block_from_rows

from refimpl.lab.backend import find

SIZE = st.integers(0, 40)
WIDTHS = st.lists(st.integers(0, 12), min_size=1, max_size=4)


def mixhop_sparse(depth, f1, widths, first):
    """Return the widths of all sparse products of both passes, added up."""
    after = sum(max(k - depth, 0) * width for k, width in enumerate(widths))
    return depth * f1 + after + after + (0 if first else depth * f1)


@given(s=SIZE, e=SIZE, f1=SIZE, widths=WIDTHS, first=st.booleans())
def test_mixhop_macs(gnn, s, e, f1, widths, first):
    products = 2 if first else 3
    for depth in range(len(widths)):
        want = e * mixhop_sparse(depth, f1, widths, first), products * s * f1 * sum(widths)
        got = gnn.scheduling.mixhop_macs(depth, s, e, f1, widths, first=first)
        assert got == want
        assert (got.sparse, got.dense) == want


@given(s=SIZE, e=SIZE, f1=SIZE, size=st.integers(0, 9), heads=st.integers(1, 4))
def test_gat_macs(gnn, s, e, f1, size, heads):
    """By GAT's formula, where f' counts all heads."""
    f2 = size * heads
    forward = e * f2, s * f1 * f2 + 2 * s * f2
    backward = 2 * e * f2, 4 * s * f2 + s * f1 * f2
    sparse, dense = (a + b for a, b in zip(forward, backward, strict=True))
    assert gnn.scheduling.gat_macs(s, e, f1, f2, heads=heads, first=True) == (sparse, dense)
    more = dense + s * f1 * f2
    assert gnn.scheduling.gat_macs(s, e, f1, f2, heads=heads, first=False) == (sparse, more)
    if heads == 1:
        assert gnn.scheduling.gat_macs(s, e, f1, f2, first=False) == (sparse, more)


@given(s=SIZE, f1=SIZE, f2=SIZE)
def test_dense_macs(gnn, s, f1, f2):
    assert gnn.scheduling.dense_macs(s, f1, f2, first=True) == (0, 2 * s * f1 * f2)
    assert gnn.scheduling.dense_macs(s, f1, f2, first=False) == (0, 3 * s * f1 * f2)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("layer", [*LAYERS, Sage(5, 1), Gcn(2), MixHop(1, 1, 1, 1)], ids=repr)
def test_counters_are_the_prediction(gnn, layer, first):
    """In every order and depth; nothing is counted where no profile is in force."""
    hops, P, G = problem(layer, bias=True)
    s, e = len(P["X"]), hops[0].graph.e if hops else 0
    for way in layer.ways:
        with gnn.profiling.Meter() as profile:
            out = layer.forward(gnn, hops, P, way)
            layer.backward(gnn, hops, P, out, G, way, need_dx=not first)
        layer.forward(gnn, hops, P, way)
        sparse, dense = layer.macs(gnn, way, s, e, P["X"].shape[1], first)
        assert profile.macs == {"sparse": sparse, "dense": dense}, way
        assert all(type(count) is int for count in profile.macs.values())


@pytest.mark.parametrize("layer", [Gcn(4), Gat(4, 2)], ids=repr)
def test_counters_on_a_block(gnn, layer):
    """Rows of the product, not of the input; 3 destinations, 5 sources, 6 entries."""
    A = asymmetric(block_from_rows([[0, 4, 2], [1], [2, 3]], 5))
    P = {name: np.ones(shape) for name, shape in {"X": (5, 3), **layer.shapes(3)}.items()}
    with gnn.profiling.Meter() as profile:
        layer.forward(gnn, (A,), P, layer.ways[0])
    if layer.name == "gcn":
        assert profile.macs == {"sparse": 6 * 3, "dense": 3 * 3 * 4}
    else:
        assert profile.macs == {"sparse": 6 * 4, "dense": 5 * 3 * 4 + 3 * 4 + 5 * 4}


@pytest.mark.parametrize(
    ("name", "arguments", "argument"),
    [
        ("mixhop_depth", (-1, [2]), "f1"),
        ("mixhop_depth", (2.0, [2]), "f1"),
        ("mixhop_depth", (2, []), "widths"),
        ("mixhop_depth", (2, [1, -1]), "width"),
        ("mixhop_depth", (2, [1, 1.5]), "width"),
        ("mixhop_macs", (-1, 2, 2, 2, [1]), "depth"),
        ("mixhop_macs", (1, 2, 2, 2, [1]), "depth"),
        ("mixhop_macs", (0, -2, 2, 2, [1]), "s must"),
        ("mixhop_macs", (0, 2, 2, 2, [-1]), "width"),
        ("gat_macs", (1, -1, 1, 1), "e must"),
        ("gat_macs", (1, 1, 1, 1.5), "f_out"),
        ("dense_macs", (-1, 1, 1), "s must"),
        ("dense_macs", (1, 1, "1"), "f2"),
    ],
)
def test_sizes_that_are_refused(gnn, name, arguments, argument):
    options = {} if name == "mixhop_depth" else {"first": True}
    with pytest.raises((TypeError, ValueError), match=argument):
        find(gnn, name)(*arguments, **options)
