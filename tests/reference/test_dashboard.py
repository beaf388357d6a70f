"""The invariants of the reference's dashboard; three known mistakes break them."""

import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import KEYS, graphs, power_law_graph, sampler_options

import refimpl

pin_tile = importlib.import_module("refimpl.samplers.pin_tile")
NULL = -1
HUBS = power_law_graph(80)


def check_dashboard(board, m):
    """Raise AssertionError unless DB, the index array and the tiles say the same."""
    DB, used = np.asarray(board.DB), board.IA_start[board.cnt]
    starts = np.asarray(board.IA_start[: board.cnt + 1])
    assert (np.diff(starts) >= 0).all()
    assert starts[0] == 0
    assert used <= len(DB)
    live = np.flatnonzero(board.IA_live[: board.cnt])
    assert len(live) == m
    assert sorted(board.IA_tile[live]) == list(range(m))
    for column in live:
        tile = board.IA_tile[column]
        start, end = board.IA_start[column], board.IA_start[column + 1]
        assert (board.start[tile], board.end[tile], board.slot[tile]) == (start, end, column)
        assert np.flatnonzero(tile == DB).tolist() == list(range(start, end))
    assert np.count_nonzero(DB != NULL) == board.valid
    assert board.valid == sum(board.end[tile] - board.start[tile] for tile in range(m))
    assert (DB[used:] == NULL).all()


def checked(base):
    """Return the dashboard class `base` with its invariants checked after every step."""

    class Checked(base):
        def __init__(self, capacity, FS, *rest):
            self.m, self.was_cleaned = len(FS), False
            super().__init__(capacity, FS, *rest)
            check_dashboard(self, self.m)
            assert self.cnt == self.m

        def cleanup(self):
            super().cleanup()
            assert self.cnt == self.m - 1
            self.was_cleaned = True

        def add_to_frontier(self, *arguments):
            super().add_to_frontier(*arguments)
            check_dashboard(self, self.m)
            assert self.cnt == self.m or not self.was_cleaned
            self.was_cleaned = False

    return Checked


class StaleTiles(pin_tile.Dashboard):
    """E-B11: the clean-up moves the pins and forgets the tiles."""

    def cleanup(self):
        tiles = [array.copy() for array in (self.start, self.end, self.slot)]
        super().cleanup()
        for array, old in zip((self.start, self.end, self.slot), tiles, strict=True):
            array[:] = old


class OneTooMany(pin_tile.Dashboard):
    """E-B8: the room that is left is overstated by one."""

    def free(self):
        return super().free() + 1


class LastPinLeft(pin_tile.Dashboard):
    """A pop that forgets the last pin of the popped node."""

    def pop_frontier(self, *arguments):
        v_pop, tile = super().pop_frontier(*arguments)
        self.DB[self.end[tile] - 1] = tile
        return v_pop, tile


def walk_among_hubs():
    """Sample so that clean-ups and truncation are frequent; return the counters."""
    return [
        refimpl.pin_tile(HUBS, q, q + 1, m=9, n=60, eta=1.2, overflow=overflow).counters
        for q in range(8)
        for overflow in ("truncate", "grow")
    ]


def test_invariants_hold_after_every_step_among_hubs(monkeypatch):
    monkeypatch.setattr(pin_tile, "Dashboard", checked(pin_tile.Dashboard))
    counters = walk_among_hubs()
    assert sum(c.cleanups for c in counters) > 20
    assert sum(c.truncated for c in counters) > 5
    assert len({c.capacity for c in counters}) > 2


@given(graph=graphs(min_nodes=1), main=KEYS, probe=KEYS, data=st.data())
def test_invariants_hold_after_every_step(graph, main, probe, data):
    options = data.draw(sampler_options(graph, "pin_tile"), label="options")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pin_tile, "Dashboard", checked(pin_tile.Dashboard))
        refimpl.pin_tile(graph, main, probe, **options)


@pytest.mark.parametrize("mutant", [StaleTiles, OneTooMany, LastPinLeft])
def test_mutants_are_caught(monkeypatch, mutant):
    monkeypatch.setattr(pin_tile, "Dashboard", checked(mutant))
    with pytest.raises((AssertionError, IndexError)):
        walk_among_hubs()
