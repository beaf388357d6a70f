"""Rounds of transfers: their invariants, worked examples, and the fluid model by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

TREES = [(1,), (2,), (5,), (2, 2), (1, 3), (2, 4), (4, 2), (3, 3), (2, 2, 2)]


def all_pairs(n, size=1):
    return size * (np.ones((n, n), int) - np.eye(n, dtype=int))


def pairs(rounds):
    return [{f"{t.source}{t.target}" for t in step} for step in rounds]


@st.composite
def problems(draw, shapes=TREES):
    """Draw (shape of a tree, demand)."""
    shape = draw(st.sampled_from(shapes))
    n = int(np.prod(shape))
    sizes = st.integers(0, 4) | st.integers(0, 10**12)
    demand = draw(st.lists(sizes, min_size=n * n, max_size=n * n))
    return shape, np.array(demand).reshape(n, n)


@given(problem=problems(), mix=st.booleans(), chunk=st.booleans())
def test_rounds_carry_the_demand_and_share_no_link(gnn, problem, mix, chunk):
    """All of it, once; the same each time; and at most about twice the rounds there must be."""
    shape, demand = problem
    topology = gnn.loader.Topology.tree(shape)
    rounds = gnn.loader.plan_rounds(topology, demand, mix_classes=mix, chunk=chunk)
    carried = np.zeros_like(demand)
    for step in rounds:
        assert step
        links = [k for t in step for k in topology.routes[t.source, t.target]]
        assert len(links) == len(set(links))
        for t in step:
            assert t.bytes > 0
            carried[t.source, t.target] += t.bytes
    off_diagonal = demand * all_pairs(len(demand))
    assert np.array_equal(carried, off_diagonal)
    bound = gnn.loader.round_bound(topology, demand)
    if not chunk:
        assert sum(map(len, rounds)) == np.count_nonzero(off_diagonal)
        assert bound <= len(rounds) <= 2 * bound + 1
    assert rounds == gnn.loader.plan_rounds(topology, demand.copy(), mix_classes=mix, chunk=chunk)


def test_the_papers_example(gnn):
    """VLDB'24 section 5, figure 9(c): first within the switches, then four rounds across."""
    topology = gnn.loader.Topology.tree((2, 2))
    rounds = gnn.loader.plan_rounds(topology, all_pairs(4))
    want = [{"01", "10", "23", "32"}, {"02", "20"}, {"03", "21"}, {"12", "30"}, {"13", "31"}]
    assert pairs(rounds) == want
    for step in rounds[1:]:  # both directions of the bridge
        assert {(t.source < 2, t.target < 2) for t in step} == {(True, False), (False, True)}


def test_the_papers_rounds_are_not_the_fewest(gnn):
    topology = gnn.loader.Topology.tree((2, 2))
    assert gnn.loader.round_bound(topology, all_pairs(4)) == 4
    mixed = gnn.loader.plan_rounds(topology, all_pairs(4), mix_classes=True)
    assert len(mixed) == 4
    assert sum(map(len, mixed)) == 12


@pytest.mark.parametrize(
    ("shape", "local_first", "mixed", "bound"),
    [((2, 4), 19, 16, 16), ((4, 2), 15, 14, 12), ((4,), 3, 3, 3), ((1,), 0, 0, 0)],
)
def test_rounds_of_larger_trees(gnn, shape, local_first, mixed, bound):
    """The greedy choice is not optimal: 14 rounds where 12 might do."""
    topology = gnn.loader.Topology.tree(shape)
    demand = all_pairs(topology.devices)
    assert len(gnn.loader.plan_rounds(topology, demand)) == local_first
    assert len(gnn.loader.plan_rounds(topology, demand, mix_classes=True)) == mixed
    assert gnn.loader.round_bound(topology, demand) == bound


def test_long_transfers_are_cut_to_the_median(gnn):
    demand = np.array([[0, 10, 0], [3, 0, 0], [0, 0, 0]])
    whole = gnn.loader.plan_rounds(gnn.loader.Topology.crossbar(3), demand)
    assert whole == (((0, 1, 10), (1, 0, 3)),)
    demand[2, 2], demand[1, 2], demand[1, 0], demand[2, 0] = 9, 4, 0, 3
    cut = gnn.loader.plan_rounds(gnn.loader.Topology.crossbar(3), demand, chunk=True)
    assert cut == (((0, 1, 4), (1, 2, 4), (2, 0, 3)), ((0, 1, 6),))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 16])
def test_pairwise_exchange(gnn, n):
    rounds = gnn.loader.pairwise_exchange(all_pairs(n, 7))
    assert len(rounds) == n - 1
    seen = set()
    for step in rounds:
        assert sorted(t.source for t in step) == sorted(t.target for t in step) == list(range(n))
        if n in (2, 4, 8, 16):
            assert {t[:2] for t in step} == {t[1::-1] for t in step}
        seen |= {t[:2] for t in step}
    assert len(seen) == n * (n - 1)
    few = np.zeros((n, n), int)
    few[-1, 0] = 3
    assert gnn.loader.pairwise_exchange(few) == ((((n - 1, 0, 3),),) if n > 1 else ())


def test_routes(gnn):
    """Fewest links, then lowest vertices; devices pass nothing on."""
    both = [(a, b, 1.0) for a, b in [(0, 3), (0, 4), (3, 1), (4, 1), (1, 2), (4, 2)]]
    routes = gnn.loader.Topology(3, both).routes
    ends = {pair: [both[k][:2] for k in route] for pair, route in routes.items()}
    assert ends == {(0, 1): [(0, 3), (3, 1)], (0, 2): [(0, 4), (4, 2)], (1, 2): [(1, 2)]}
    assert set(gnn.loader.Topology(3, [(0, 1, 1.0), (1, 2, 1.0)]).routes) == {(0, 1), (1, 2)}
    tree = gnn.loader.Topology.tree((2, 2))
    assert [len(tree.routes[0, d]) for d in (1, 2, 3)] == [2, 4, 4]
    assert tree.reverse(tree.routes[0, 1][0]) == tree.routes[1, 0][1]
    rates = gnn.loader.Topology.tree((2, 2), (3.0, 5.0))
    assert [rates.links[k][2] for k in rates.routes[0, 2]] == [5.0, 3.0, 3.0, 5.0]


FOUR = {"all_at_once": 48.0, "fifo_per_destination": 32.0, "shifted": 48.0, "rounds": 38.4}


@pytest.mark.parametrize("policy", FOUR)
def test_shared_without_loss_no_order_beats_all_at_once(gnn, policy):
    topology = gnn.loader.Topology.tree((2, 2), 16.0)
    done = gnn.loader.simulate(topology, all_pairs(4, 16), policy)
    assert done.throughput == pytest.approx(FOUR[policy])
    assert done.seconds == pytest.approx(12 * 16 / FOUR[policy])
    assert max(done.finish.values()) == pytest.approx(done.seconds)
    assert len(done.finish) == 12


def test_rounds_win_where_sharing_costs(gnn):
    topology, demand = gnn.loader.Topology.tree((2, 2), 16.0), all_pairs(4, 16)
    mixed = gnn.loader.plan_rounds(topology, demand, mix_classes=True)
    # the bridge carries 4 at a time: 16 / 1.45 bytes a second for 64 bytes
    at_once = gnn.loader.simulate(topology, demand, "all_at_once", gamma=0.15)
    assert at_once.seconds == pytest.approx(64 * 1.45 / 16)
    assert gnn.loader.simulate(topology, demand, gamma=0.15).throughput == pytest.approx(38.4)
    assert gnn.loader.simulate(topology, demand, gamma=9, rounds=mixed).throughput == pytest.approx(
        48
    )


def test_max_min_fair_by_hand(gnn):
    """Device 2 sends to 0 and to 1, device 0 to 1; what comes down to 1 is the bottleneck."""
    links = [(0, 3, 4.0), (2, 3, 10.0), (3, 0, 9.0), (3, 1, 6.0)]
    topology = gnn.loader.Topology(3, links)
    demand = np.array([[0, 30, 0], [0, 0, 0], [49, 12, 0]])
    done = gnn.loader.simulate(topology, demand, "all_at_once")
    # 0->1 and 2->1 at 3 each, 2->0 at the 7 that are left; 2->1 ends at 4, then 0->1 goes at 4
    # (its own link) and 2->0 at 9: 21 left, 2 1/3 s; 0->1 has 18 left, 4 1/2 s.
    assert done.finish == pytest.approx({(2, 1): 4, (2, 0): 4 + 21 / 9, (0, 1): 8.5})


def test_latency_and_barriers(gnn):
    topology = gnn.loader.Topology.crossbar(3, 2.0)
    demand = np.array([[0, 4, 6], [0, 0, 0], [0, 0, 0]])
    cost = {"latency": 0.5, "barrier": 0.25}
    assert gnn.loader.simulate(topology, demand, **cost).seconds == pytest.approx(5 + 2 * 0.75)
    assert gnn.loader.simulate(topology, demand, "shifted", **cost).seconds == pytest.approx(
        5 + 2 * 0.5
    )
    assert gnn.loader.simulate(topology, demand, "all_at_once", **cost).seconds == pytest.approx(
        5.5
    )


@given(problem=problems(TREES[:6]), gamma=st.sampled_from([0.0, 0.15, 2.0]))
def test_no_policy_beats_the_busiest_link(gnn, problem, gamma):
    shape, demand = problem
    topology = gnn.loader.Topology.tree(shape, 16.0)
    carried = np.zeros(len(topology.links))
    for pair, route in topology.routes.items():
        for k in route:
            carried[k] += demand[pair]
    least = carried.max(initial=0) / 16
    for policy in FOUR:
        done = gnn.loader.simulate(topology, demand, policy, gamma=gamma)
        assert done.seconds >= least * (1 - 1e-9)
        total = (demand * all_pairs(len(demand))).sum()
        assert done.throughput * done.seconds == pytest.approx(total)


BAD = {
    "links-loop": (
        lambda g: g.loader.Topology(2, [(0, 0, 1.0)]),
        ValueError,
        "links must join two",
    ),
    "links-twice": (
        lambda g: g.loader.Topology(2, [(0, 1, 1.0), (0, 1, 2.0)]),
        ValueError,
        "links must hold a pair",
    ),
    "bandwidth": (
        lambda g: g.loader.Topology(2, [(0, 1, 0.0)]),
        ValueError,
        "bandwidth of links must be finite",
    ),
    "devices": (lambda g: g.loader.Topology(0, []), ValueError, r"devices must be in \[1, 1024\]"),
    "shape": (
        lambda g: g.loader.Topology.tree(()),
        ValueError,
        "shape must have 1 to 64 levels",
    ),
    "topology": (
        lambda g: g.loader.plan_rounds(4, all_pairs(4)),
        TypeError,
        "topology must be a Topology",
    ),
    "demand-shape": (
        lambda g: g.loader.plan_rounds(g.loader.Topology.crossbar(3), all_pairs(4)),
        ValueError,
        "demand must have",
    ),
    "demand-float": (
        lambda g: g.loader.pairwise_exchange(np.ones((2, 2))),
        TypeError,
        "demand must hold integers",
    ),
    "demand-negative": (
        lambda g: g.loader.pairwise_exchange(-all_pairs(2)),
        ValueError,
        "demand must be at least 0",
    ),
    "no-way": (
        lambda g: g.loader.plan_rounds(g.loader.Topology(2, [(0, 1, 1.0)]), all_pairs(2)),
        ValueError,
        "demand must be 0 where there is no way, as from 1 to 0",
    ),
    "policy": (
        lambda g: g.loader.simulate(g.loader.Topology.crossbar(2), all_pairs(2), "best"),
        ValueError,
        "policy must be one of",
    ),
    "rounds": (
        lambda g: g.loader.simulate(g.loader.Topology.crossbar(2), all_pairs(2), rounds=()),
        ValueError,
        "rounds must carry just the bytes of demand",
    ),
    "rounds-policy": (
        lambda g: g.loader.simulate(
            g.loader.Topology.crossbar(2), all_pairs(2), "shifted", rounds=()
        ),
        ValueError,
        "rounds must be None",
    ),
    "gamma": (
        lambda g: g.loader.simulate(g.loader.Topology.crossbar(2), all_pairs(2), gamma=-1),
        ValueError,
        "gamma",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments(gnn, case):
    call, error, message = BAD[case]
    with pytest.raises(error, match=message):
        call(gnn)
