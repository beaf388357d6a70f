"""The Dashboard of IPDPS'19: equal to the pin-and-tile one; its own invariants; mutants."""

import importlib

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import KEYS, graph_from_edges, graphs, power_law_graph, sampler_options

import refimpl

module = importlib.import_module("refimpl.samplers.dashboard")
HUB = graph_from_edges(9, {(0, v) for v in range(1, 9)})
HUBS = power_law_graph(80)


def assert_is_pin_tile(gnn, graph, main, probe, options):
    """Check nodes, log and counters; return the counters."""
    got = gnn.dashboard(graph, main, probe, **options)
    want = gnn.pin_tile(graph, main, probe, **options)
    for a, b in zip(got[:3], want[:3], strict=True):
        assert_array_equal(a, b)
        assert a.dtype == b.dtype
    assert got.counters == want.counters
    return got.counters


@given(graph=graphs(min_nodes=1), main=KEYS, probe=KEYS, data=st.data())
def test_dashboard_is_pin_tile(gnn, graph, main, probe, data):
    options = data.draw(sampler_options(graph, "pin_tile"), label="options")
    assert_is_pin_tile(gnn, graph, main, probe, options)


@pytest.mark.parametrize("include", ["pushed", "popped"])
@pytest.mark.parametrize("overflow", ["truncate", "grow"])
@pytest.mark.parametrize("probe_range", ["capacity", "used"])
@pytest.mark.parametrize("eta", [1.01, 1.5, 2.0, 3.0])
def test_dashboard_is_pin_tile_among_hubs(gnn, eta, probe_range, overflow, include):
    """Clean-ups, and truncation or growth, do occur here."""
    seen = []
    for q, deg_cap in enumerate((None, 3, 30, None)):
        options = {"m": 4 + q, "n": 60, "eta": eta, "deg_cap": deg_cap, "lanes": 1 + q}
        options |= {"probe_range": probe_range, "overflow": overflow, "include": include}
        seen.append(assert_is_pin_tile(gnn, HUBS, q, q + 1, options))
    assert sum(c.cleanups for c in seen) > 3
    if overflow == "grow":
        assert sum(c.truncated for c in seen) == 0
    elif eta < 2:
        assert sum(c.truncated for c in seen) > 0


@given(graph=graphs(min_nodes=1), main=KEYS, probe=KEYS, data=st.data())
def test_dashboard_is_a_walk_on_a_list_of_blocks(gnn, graph, main, probe, data):
    """And not only equal to its twin: the oracle has blocks, no arrays."""
    options = data.draw(sampler_options(graph, "pin_tile"), label="options")
    start = gnn.dashboard(graph, main, probe, **{**options, "n": options["m"]})
    capacity = start.counters.capacity
    want = oracles.dashboard_walk(graph, main, probe, capacity=capacity, **options)
    got = gnn.dashboard(graph, main, probe, **options)
    assert (got.nodes.tolist(), got.popped.tolist(), got.pushed.tolist()) == want[:3]
    assert got.counters._asdict() == want.counters


def test_no_pins_no_steps(gnn):
    sample = gnn.dashboard(graph_from_edges(4, set()), 1, 2, m=3, n=9)
    assert (len(sample.nodes), sample.counters.pops, sample.counters.capacity) == (3, 0, 0)
    lone = gnn.dashboard(graph_from_edges(4, {(0, 1)}), 1, 2, m=4, n=9)
    assert lone.counters.pops == 5
    assert set(lone.popped) <= {0, 1}


def check_slots(board, s, m):
    """Raise AssertionError unless DB and the index array say the same about s columns."""
    starts, used = board.IA_start[: s + 1], board.IA_start[s]
    assert (np.diff(starts) >= 0).all()
    assert starts[0] == 0
    assert used <= board.DB.shape[1]
    live = np.flatnonzero(board.IA_live)
    assert len(live) == m
    assert live[-1] < s
    owner = np.full(board.DB.shape[1], module.INV)
    for i in live:
        start, end = starts[i], starts[i + 1]
        owner[start:end] = i
        if start < end:
            assert len(set(board.DB[0, start:end].tolist())) == 1
            assert board.DB[1, start:end].tolist() == [start - end, *range(1, end - start)]
    assert_array_equal(board.DB[0] != module.INV, owner != module.INV)
    assert_array_equal(board.DB[2, owner != module.INV], owner[owner != module.INV])
    assert board.valid == np.count_nonzero(owner != module.INV)


def checked(base):
    """Return the Dashboard class `base` with its invariants checked after every step."""

    class Checked(base):
        def __init__(self, DB, IA_start, IA_live, valid):
            super().__init__(DB, IA_start, IA_live, valid)
            self.m = np.count_nonzero(IA_live)
            check_slots(self, self.m, self.m)

        def pop_frontier(self, *arguments):
            before = self.DB[0].copy()
            v_pop = super().pop_frontier(*arguments)
            assert set(before[before != self.DB[0]].tolist()) == {v_pop}
            return v_pop

        def add_to_frontier(self, v_new, s, *arguments):
            super().add_to_frontier(v_new, s, *arguments)
            assert self.DB[0, self.IA_start[s]] == v_new
            check_slots(self, s + 1, self.m)

    return Checked


class StaleColumns(module.SlotDashboard):
    """E-B11: the clean-up moves the entries, and they keep their old columns."""

    def cleanup(self, s):
        kept = self.DB[2, self.DB[0] != module.INV]
        super().cleanup(s)
        self.DB[2, self.DB[0] != module.INV] = kept


class SumOfStarts(module.SlotDashboard):
    """E-B7: the new start of a column is the sum of old starts, as printed."""

    def cleanup(self, s):
        starts = self.IA_start[:s][self.IA_live[:s]].copy()
        super().cleanup(s)
        self.IA_start[1 : 1 + len(starts)] = np.cumsum(starts)


class OffsetOfFirst(module.SlotDashboard):
    """E-B15: an entry that is not the first one frees its node from its own place on."""

    def pop_frontier(self, *arguments):
        before = self.DB[1].copy()
        self.DB[1, 1:] = np.where(before[1:] == 1, -1, before[1:])
        v_pop = super().pop_frontier(*arguments)
        self.DB[1] = before
        return v_pop


class OneTooMany(module.SlotDashboard):
    """E-B8: the room that is left is overstated by one."""

    def free(self, s):
        return super().free(s) + 1


class LastEntryLeft(module.SlotDashboard):
    """E-B19: a split of the entries among lanes that rounds the end down."""

    def pop_frontier(self, *arguments):
        before = self.DB[0].copy()
        v_pop = super().pop_frontier(*arguments)
        last = np.flatnonzero(before != self.DB[0])[-1]
        self.DB[0, last] = v_pop
        return v_pop


class WrongNode(module.SlotDashboard):
    """E-B17: the entries of a new node get another number."""

    def add_to_frontier(self, v_new, *arguments):
        super().add_to_frontier(v_new + 1, *arguments)


def walk_among_hubs():
    """Sample so that clean-ups and truncation are frequent; return the counters."""
    return [
        refimpl.dashboard(HUBS, q, q + 1, m=9, n=60, eta=1.2, overflow=overflow).counters
        for q in range(6)
        for overflow in ("truncate", "grow")
    ]


def test_slots_hold_after_every_step_among_hubs(monkeypatch):
    monkeypatch.setattr(module, "SlotDashboard", checked(module.SlotDashboard))
    counters = walk_among_hubs()
    assert sum(c.cleanups for c in counters) > 20
    assert sum(c.truncated for c in counters) > 5
    assert len({c.capacity for c in counters}) > 2


@given(graph=graphs(min_nodes=1), main=KEYS, probe=KEYS, data=st.data())
def test_slots_hold_after_every_step(graph, main, probe, data):
    options = data.draw(sampler_options(graph, "pin_tile"), label="options")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SlotDashboard", checked(module.SlotDashboard))
        refimpl.dashboard(graph, main, probe, **options)


@pytest.mark.parametrize(
    "mutant",
    [StaleColumns, SumOfStarts, OffsetOfFirst, OneTooMany, LastEntryLeft, WrongNode],
)
def test_slot_mutants_are_caught(monkeypatch, mutant):
    """Known mistakes break the invariants."""
    monkeypatch.setattr(module, "SlotDashboard", checked(mutant))
    with pytest.raises((AssertionError, IndexError)):
        walk_among_hubs()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"m": 0}, ValueError),
        ({"m": 10}, ValueError),  # more than there are nodes
        ({"n": 2}, ValueError),  # below m
        ({"n": 2.0}, TypeError),
        ({"deg_cap": 0}, ValueError),
        ({"include": "both"}, ValueError),
        ({"eta": 1}, ValueError),
        ({"eta": "2"}, TypeError),
        ({"lanes": 0}, ValueError),
        ({"probing": "all"}, ValueError),
        ({"probe_range": "all"}, ValueError),
        ({"overflow": "raise"}, ValueError),
    ],
)
def test_dashboard_rejects(gnn, change, error):
    with pytest.raises(error):
        gnn.dashboard(HUB, 0, 1, **{"m": 3, "n": 5, **change})
