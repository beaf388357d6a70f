"""The states of kernels that work step by step: what the vectors show between the steps."""

import copy
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from refimpl import BidirectionalCache
from refimpl.hints import Ids, Matrix, Positions
from refimpl.history.entries import Entries, cache_admit
from refimpl.lab.apps.stepper.recorder import Stack, record
from refimpl.samplers.dashboard import dashboard
from refimpl.samplers.frontier import frontier
from refimpl.samplers.pin_tile import pin_tile

Variables: TypeAlias = dict[str, Any]  # of a call of the kernel
States: TypeAlias = Callable[..., list[dict[str, Any]]]


def of_sampler(
    kernel: Callable[..., object], ready: str, state: Callable[[Variables], dict[str, Any]]
) -> States:
    """Return a function of the arguments that lists ``state(variables)`` before and after steps.

    `ready` is the local variable of the kernel that is the last to be set before the first step.
    """

    def states(**arguments: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []

        def view(stack: Stack) -> dict[str, Any]:
            seen = stack[0].variables
            if ready in seen and len(seen["pushed"]) == len(found):
                found.append({**state(seen), "sample": sorted(seen["Vs"])})
            return {}

        name = kernel.__name__
        record(lambda: kernel(**arguments), [f"refimpl.samplers.{name}:{name}"], view)
        return found

    return states


def slots(seen: Variables) -> dict[str, Any]:
    """Return a Dashboard of three slots an entry; those of free entries as -1, 0 and -1."""
    board, s = seen["board"], seen["s"]
    node, offset, column = board.DB
    return {
        "node": node.tolist(),
        "offset": np.where(node >= 0, offset, 0).tolist(),
        "column": np.where(node >= 0, column, -1).tolist(),
        "IA_start": board.IA_start[: s + 1].tolist(),
        "IA_live": board.IA_live[:s].tolist(),
    }


def tiles(seen: Variables) -> dict[str, Any]:
    """Return a Dashboard of pins, its columns (the tile of a dead one as -1) and its tiles."""
    board = seen["board"]
    live = board.IA_live[: board.cnt]
    return {
        "DB": board.DB.tolist(),
        "IA_start": board.IA_start[: board.cnt + 1].tolist(),
        "IA_live": live.tolist(),
        "IA_tile": np.where(live, board.IA_tile[: board.cnt], -1).tolist(),
        **{name: getattr(board, name).tolist() for name in ("node", "start", "end", "slot")},
    }


def of_entries(
    entries: Entries,
    layer: int,
    ids: Ids,
    values: Matrix[Any],
    slots: Ids,
    i: int,
    take: Positions | None = None,
) -> list[dict[str, Any]]:
    """Return the entries after each of `ids` has been written."""
    found = []
    for j in range(1, len(ids) + 1):
        rows: dict[str, Any] = {"values": values[:j]}
        if take is not None:
            rows = {"values": values, "take": take[:j]}
        after = copy.deepcopy(entries)
        cache_admit(after, layer=layer, ids=ids[:j], **rows, slots=slots[:j], i=i)
        found.append({"entries": after})
    return found


def of_cache(calls: list[Any], **arguments: Any) -> list[dict[str, Any]]:
    """Return the cache before the first call and after each: no entry has key and stamp -1."""
    cache = BidirectionalCache(**arguments)
    found = []
    for method, rest in [(None, None), *calls]:
        if method is not None:
            getattr(cache, method)(**rest)
        counters = {name: getattr(cache, name) for name in ("admitted", "dropped", "lost")}
        state = {
            "head": cache.head,
            "feature_rows": cache.feature_rows,
            "slot_of": cache.entries.slot_of,
            "back": cache.entries.back,
            "stamp": np.where(cache.entries.back >= 0, cache.entries.stamp, -1),
            **counters,
        }
        found.append(copy.deepcopy(state))
    return found


STATES: dict[str, States] = {
    "frontier": of_sampler(frontier, "Vs", lambda seen: {"frontier": seen["FS"].tolist()}),
    "dashboard": of_sampler(dashboard, "s", slots),
    "pin_tile": of_sampler(pin_tile, "board", tiles),
    "cache_admit": of_entries,
    "BidirectionalCache": of_cache,
}
