"""P-F1: the chosen order of a GraphSAGE layer, by trying all of them."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st


def schedules(gnn, first):
    """Return every order that a layer can have."""
    return [gnn.SageOrder(*o) for o in product((1, 2), (1, 2), (0,) if first else (1, 2))]


def macs_by_hand(order, s, e, f, hn, hs, reuse):
    """Return (sparse, dense) as the sum over the products, one at a time."""
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
        assert gnn.sage_macs(order, s, e, f, hn, hs, reuse=reuse) == want
    assert gnn.sage_macs(order, s, e, f, hn, hs) == gnn.sage_macs(
        order, s, e, f, hn, hs, reuse=True
    )


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("reuse", [False, True])
def test_no_other_order_is_cheaper(gnn, reuse, first):
    for f1, f3 in product(range(1, 26), repeat=2):
        order = gnn.sage_order(f1, f3, first=first, reuse=reuse)
        assert order in schedules(gnn, first)
        cost = {o: sum(macs_by_hand(o, 7, 31, f1, f3, 5, reuse)) for o in schedules(gnn, first)}
        assert cost[order] == min(cost.values()), (f1, f3, order)
        if not reuse:
            rules = 1 if f1 < f3 else 2, 1 if f1 < f3 else 2, 1 if f3 < f1 else 2
            assert order == (*rules[:2], 0 if first else rules[2])
        sparse = gnn.sage_macs(order, 7, 31, f1, f3, 5, reuse=reuse).sparse
        if reuse:
            assert sparse == 31 * (min(f1, 2 * f3) if first else 2 * min(f1, f3))


@pytest.mark.parametrize("reuse", [False, True])
def test_reuse_is_the_default(gnn, reuse):
    same = [
        gnn.sage_order(f1, 3, first=True, reuse=reuse) == gnn.sage_order(f1, 3, first=True)
        for f1 in range(1, 9)
    ]
    assert all(same) == reuse


@pytest.mark.parametrize(
    ("f1", "f3", "error"),
    [(-1, 2, ValueError), (2, -1, ValueError), (1.0, 2, TypeError), (1, "2", TypeError)],
)
def test_sage_order_rejects(gnn, f1, f3, error):
    with pytest.raises(error):
        gnn.sage_order(f1, f3, first=True)
