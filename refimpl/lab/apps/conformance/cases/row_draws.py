"""Draws of rows by weight and by time, and the places of what they meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from refimpl.hints import Integers
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.graphs import KARATE, NO_EDGES, NOTHING, PAW, STAR
from refimpl.lab.apps.conformance.worked import worked
from refimpl.samplers import EntryTable, build_entry_table

if TYPE_CHECKING:
    from refimpl.graph import Graph

HAND = worked("row_draws")
FLAGS = {
    "ALL": "A fan-out of -1, or not below the number of entries: all are drawn.",
    "NO_WEIGHT": "Entries or rows of weight 0.",
    "REPLACED": "An entry may be drawn several times.",
    "TIMED": "Entries later than the row's time are not there.",
    "WEIGHTED": "Entries are drawn in proportion to their weights.",
    "ZERO": "A fan-out of 0: nothing is drawn.",
}


def weights_of(graph: Graph) -> NDArray[np.float64]:
    """Return weights, some of them 0."""
    return np.arange(graph.e) % 5 / 4


def times_of(graph: Graph) -> NDArray[np.int64]:
    """Return times that ascend in each row, with ties."""
    place = np.arange(graph.e) - np.repeat(graph.start, graph.degrees())
    return place // 2


def table(graph: Graph, **given: Any) -> dict[str, Any]:
    """Return the arguments of `build_entry_table`."""
    return {"graph": graph, **given}


def draw(
    graph: Graph, rows: Integers, fanout: float, own: Any = None, **options: Any
) -> dict[str, Any]:
    """Return the arguments of `draw_rows`."""
    keys = np.arange(len(rows), dtype=np.uint64) + np.uint64(2**63)
    rows = np.array(rows, np.int64)
    return {
        "graph": graph, "rows": rows, "fanout": fanout, "keys": keys, "table": own, **options,
    }  # fmt: skip


def weighed(graph: Graph) -> EntryTable:
    """Return a table with weights and times."""
    return build_entry_table(graph, weights=weights_of(graph), times=times_of(graph))


HUBS, UNTIL = [33, 0, 33, 16, 2], np.array([4, 1, -1, 0, 9])
TABLES = (
    *HAND["build_entry_table"],
    Case("neither", table(PAW)),
    Case("no_nodes", table(NOTHING, weights=np.ones(0)), ("NO_NODES",)),
    Case("no_edges", table(NO_EDGES, times=np.zeros(0, np.int64)), ("NO_EDGES",)),
    Case(
        "karate",
        table(KARATE, weights=weights_of(KARATE).astype(np.float32), times=times_of(KARATE)),
        ("NO_WEIGHT",),
    ),
    Case("no_graph", {"graph": [[0]]}, error="type"),
    Case("integers", table(PAW, weights=np.ones(8, np.int64)), error="type"),
    Case("a_weight_too_few", table(PAW, weights=np.ones(7)), error="value"),
    Case("negative", table(PAW, weights=np.full(8, -1.0)), error="value"),
    Case("nan", table(PAW, weights=np.full(8, np.nan)), error="value"),
    Case("sum_infinite", table(PAW, weights=np.full(8, 1.7e308)), error="value"),
    Case("real_times", table(PAW, times=np.zeros(8)), error="type"),
    Case("a_time_too_few", table(PAW, times=np.zeros(7, np.int64)), error="value"),
    Case("falling", table(PAW, times=-np.arange(8)), error="value"),
)
DRAWS = (
    *HAND["draw_rows"],
    Case("no_rows", draw(PAW, [], 2), ("EMPTY",)),
    Case("no_edges", draw(NO_EDGES, [1, 1], 2), ("NO_EDGES",)),
    Case("zero", draw(PAW, [1, 2], 0, weighed(PAW)), ("ZERO", "WEIGHTED")),
    Case("all", draw(PAW, [3, 2], -1, weighed(PAW)), ("ALL", "WEIGHTED")),
    Case("uniform", draw(KARATE, HUBS, 3), ("ALL", "HUB")),
    Case("replaced", draw(KARATE, HUBS, 4, replace=True), ("HUB", "REPLACED")),
    Case("weighted", draw(KARATE, HUBS, 3, weighed(KARATE)), ("HUB", "WEIGHTED", "NO_WEIGHT")),
    Case(
        "weighted_replaced",
        draw(KARATE, HUBS, 4, weighed(KARATE), replace=True),
        ("HUB", "REPLACED", "WEIGHTED", "NO_WEIGHT"),
    ),
    Case(
        "timed",
        draw(
            KARATE,
            HUBS,
            3,
            weighed(KARATE)._replace(weights=None, prob=None, alias=None),
            until=UNTIL,
        ),
        ("HUB", "TIMED"),
    ),
    Case(
        "timed_weighted",
        draw(KARATE, HUBS, 3, weighed(KARATE), until=UNTIL),
        ("HUB", "TIMED", "WEIGHTED", "NO_WEIGHT"),
    ),
    Case(
        "timed_weighted_replaced",
        draw(KARATE, HUBS, 3, weighed(KARATE), until=UNTIL, replace=True, last=True),
        ("HUB", "REPLACED", "TIMED", "WEIGHTED", "NO_WEIGHT"),
    ),
    Case(
        "heavy",
        draw(STAR, [0, 0, 0], 2, build_entry_table(STAR, weights=1e-9 ** np.arange(STAR.e))),
        ("HUB", "WEIGHTED"),
    ),
    Case("no_graph", {**draw(PAW, [0], 1), "graph": [[0]]}, error="type"),
    Case("row_beyond", draw(PAW, [4], 1), error="value"),
    Case("fanout_below", draw(PAW, [2], -2), error="value"),
    Case("real_fanout", draw(PAW, [2], 0.5), error="type"),
    Case("one_key", {**draw(PAW, [2, 1], 1), "keys": np.ones(1, np.uint64)}, error="value"),
    Case("integer_keys", {**draw(PAW, [2], 1), "keys": np.ones(1, np.int64)}, error="type"),
    Case("replace_number", draw(PAW, [2], 1, replace=1), error="type"),
    Case("no_table", draw(PAW, [2], 1, [1.0]), error="type"),
    Case("until_without_times", draw(PAW, [2], 1, until=np.array([1])), error="value"),
    Case("a_time_too_few", draw(PAW, [2, 1], 1, weighed(PAW), until=np.array([1])), error="value"),
    Case("table_of_another", draw(PAW, [2], 1, weighed(STAR)), error="value"),
    Case("half_a_table", draw(PAW, [2], 1, EntryTable(weights=np.ones(8))), error="value"),
)
CODES = np.array([5, -(2**62), 5, 2**62, 7, 7, 3])
PLACES = (
    *HAND["relabel"],
    Case("nothing", {"known": np.array([], np.int64), "met": np.array([], np.int64)}, ("EMPTY",)),
    Case("known_twice", {"known": CODES, "met": CODES[::-1].copy()}, ("DUPLICATE",)),
    Case("none_known", {"known": CODES[:0], "met": CODES}, ("DUPLICATE",)),
    Case("real", {"known": np.array([0.5]), "met": CODES}, error="type"),
    Case("matrix", {"known": CODES, "met": np.array([[1]])}, error="value"),
)
RACE = "Efraimidis and Spirakis 2006"
KERNELS = (
    Kernel("build_entry_table", "common", "Vose 1991", TABLES, flags=FLAGS),
    Kernel("draw_rows", "common", RACE, DRAWS, flags=FLAGS),
    Kernel("relabel", "common", "one tree a root", PLACES, flags=FLAGS),
)
