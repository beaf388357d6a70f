"""The chosen order of products, by trying all of them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import graph_from_edges

# GraphSAGE and GCN.


def schedules(gnn, first):
    """Return every order that a layer can have."""
    return [
        gnn.scheduling.ProductOrders(*o) for o in product((1, 2), (1, 2), (0,) if first else (1, 2))
    ]


def macs_by_hand(order, s, e, f, hn, hs, reuse):
    """Return (sparse, dense) as the sum over the products, one at a time.

    E-F2: the product of the other weight's gradient, X^T G_self, is dense only.
    """
    forward, dw, dx = order
    sparse = e * f if forward == 1 else e * hn
    if not (dw == 1 and forward == 1 and reuse):
        sparse += e * f if dw == 1 else e * hn
    dense_products = 2 * (s * f * hn + s * f * hs)
    if dx:
        dense_products += s * f * hn + s * f * hs
        if not (dx == 1 and dw == 2 and reuse):
            sparse += e * hn if dx == 1 else e * f
    return sparse, dense_products


SIZE = st.integers(0, 40)


@given(s=SIZE, e=SIZE, f=SIZE, hn=SIZE, hs=SIZE, reuse=st.booleans(), first=st.booleans())
def test_macs(gnn, s, e, f, hn, hs, reuse, first):
    for order in schedules(gnn, first):
        want = macs_by_hand(order, s, e, f, hn, hs, reuse)
        assert gnn.scheduling.chain_macs(order, s, e, f, hn, hs, reuse=reuse) == want
    assert gnn.scheduling.chain_macs(order, s, e, f, hn, hs) == gnn.scheduling.chain_macs(
        order, s, e, f, hn, hs, reuse=True
    )


@pytest.mark.parametrize("h_self", [5, 0])  # GraphSAGE, GCN
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("reuse", [False, True])
def test_no_other_order_is_cheaper(gnn, reuse, first, h_self):
    for f1, f3 in product(range(1, 26), repeat=2):
        order = gnn.scheduling.chain_order(f1, f3, first=first, reuse=reuse)
        assert order in schedules(gnn, first)
        cost = {
            o: sum(macs_by_hand(o, 7, 31, f1, f3, h_self, reuse)) for o in schedules(gnn, first)
        }
        assert cost[order] == min(cost.values()), (f1, f3, order)
        if not reuse:
            rules = 1 if f1 < f3 else 2, 1 if f1 < f3 else 2, 1 if f3 < f1 else 2
            assert order == (*rules[:2], 0 if first else rules[2])
        sparse = gnn.scheduling.chain_macs(order, 7, 31, f1, f3, h_self, reuse=reuse).sparse
        if reuse:
            assert sparse == 31 * (min(f1, 2 * f3) if first else 2 * min(f1, f3))


@pytest.mark.parametrize("reuse", [False, True])
def test_reuse_is_the_default(gnn, reuse):
    same = [
        gnn.scheduling.chain_order(f1, 3, first=True, reuse=reuse)
        == gnn.scheduling.chain_order(f1, 3, first=True)
        for f1 in range(1, 9)
    ]
    assert all(same) == reuse


@pytest.mark.parametrize(
    ("f1", "f3", "error"),
    [(-1, 2, ValueError), (2, -1, ValueError), (1.0, 2, TypeError), (1, "2", TypeError)],
)
def test_chain_order_rejects(gnn, f1, f3, error):
    with pytest.raises(error):
        gnn.scheduling.chain_order(f1, f3, first=True)


def test_the_weight_gradient_needs_the_transpose(gnn):
    """E-F4: W1^T A W3 is (A W1)^T W3 for a symmetric A only; a mean over neighbours is none."""
    star = graph_from_edges(4, {(0, 1), (0, 2), (0, 3)})
    perm = gnn.transpose_perm(star)
    A = gnn.adjacency.row_norm(star, perm)
    X, G = np.random.default_rng(1).normal(size=(2, 4, 3))
    AX, AG = gnn.spmm(star, A.data, X), gnn.spmm(star, A.data, G)
    AtG = gnn.propagation.spmm_t(star, A.data, perm, G)
    assert_allclose(AX.T @ G, X.T @ AtG, atol=1e-12)
    assert np.abs(AX.T @ G - X.T @ AG).max() > 0.1


# MixHop.


def splits(K):
    """Yield for each branch k, after how many of its k powers its weights may come."""
    return product(*(range(k + 1) for k in range(K + 1)))


MIXHOPS = [
    (f1, widths)
    for K in range(3)
    for f1, widths in product((1, 2, 3, 5, 8), product((0, 1, 3, 7), repeat=K + 1))
]


@pytest.mark.parametrize("first", [False, True])
def test_no_other_split_is_cheaper(gnn, first):
    """Every branch may split where it likes, in each of the three products.

    Branch k multiplies by its weights after `up` powers; its weights' gradient takes `dw` powers
    of X, and of G the rest; G goes back through `back` powers before the weights. Powers of X,
    powers of G and, by Horner, powers of the sum over branches are each computed once.
    """
    every = {K: np.array([*product(splits(K), repeat=2 if first else 3)]) for K in range(3)}
    for f1, widths in MIXHOPS:
        k, w = np.arange(len(widths)), np.array(widths)
        up, dw, *rest = every[len(widths) - 1].swapaxes(0, 1)
        columns = np.maximum(up, dw).max(axis=1) * f1 + (k - up) @ w
        if first:
            columns += (k - dw) @ w
        else:
            (back,) = rest
            columns += np.maximum(k - dw, back) @ w + (k - back).max(axis=1) * f1
        depth = gnn.scheduling.mixhop_depth(f1, widths, first=first)
        got = gnn.scheduling.mixhop_macs(depth, 7, 31, f1, widths, first=first)
        assert got.sparse == 31 * columns.min(), (f1, widths, depth)


def test_no_other_split_of_one_pass_is_cheaper(gnn):
    """Without reuse: each pass has the same cheapest depth, that of an inner layer."""
    for f1, widths in MIXHOPS:
        K = len(widths) - 1
        columns = {
            split: max(split) * f1 + sum((k - j) * widths[k] for k, j in enumerate(split))
            for split in splits(K)
        }
        at_depth = [columns[tuple(min(k, J) for k in range(K + 1))] for J in range(K + 1)]
        cheapest = at_depth.index(min(columns.values()))  # the smallest of equals
        assert gnn.scheduling.mixhop_depth(f1, widths) == cheapest


@pytest.mark.parametrize("first", [False, True])
def test_one_power_is_a_gcn(gnn, first):
    for f1, f3 in product(range(1, 20), repeat=2):
        depth = gnn.scheduling.mixhop_depth(f1, [0, f3], first=first)
        got = gnn.scheduling.mixhop_macs(depth, 7, 31, f1, [0, f3], first=first)
        order = gnn.scheduling.chain_order(f1, f3, first=first)
        assert got == gnn.scheduling.chain_macs(order, 7, 31, f1, f3, 0)


def test_a_first_layer_splits_deeper(gnn):
    """Its powers of X are computed once, the narrow products twice, as in GraphSAGE."""
    assert gnn.scheduling.mixhop_depth(6, [4, 0, 4], first=True) == 2
    assert gnn.scheduling.mixhop_depth(6, [4, 0, 4], first=False) == 0
    assert gnn.scheduling.mixhop_depth(6, [4, 0, 4]) == 0
