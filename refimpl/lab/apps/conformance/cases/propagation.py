"""Products of a sparse and a dense matrix, and the same product in parts of the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl.graph import Graph, transpose_perm
from refimpl.lab.apps.conformance.case import Kernel
from refimpl.lab.apps.conformance.graphs import (
    ARROWS,
    KARATE,
    LOOPS,
    MIXED,
    NO_EDGES,
    NOTHING,
    PAW,
    STAR,
    directed,
)
from refimpl.lab.apps.conformance.inputs import PRUNED, FloatKind, among, numbers
from refimpl.lab.apps.conformance.worked import worked
from refimpl.partition import Partition, partition_plan

if TYPE_CHECKING:
    from refimpl.block import Block

HAND = worked("propagation")

FLAGS = {
    "DEAD": "Entries of the pattern that belong to no row; their value is NaN, never to be read.",
    "FUSED": "Each product is rounded before it is added: a fused multiply-add shows.",
    "NO_COLUMNS": "X has no columns, and neither has the result.",
    "ORDER": "A row is summed in the order of its entries: another order rounds otherwise.",
    "THIRDS": "Values that no binary number is: every step of the sum rounds.",
}
PARTS = {
    "COLUMN_MAJOR": "The parts come from a column-major copy; the result is row-major even so.",
    "EMPTY_PART": "A part without columns.",
    "IDLE": "More lanes than parts: some have nothing to do.",
    "IPDPS": "The order of IPDPS'19: the parts of a round are neighbours.",
}


def product(
    graph: Graph | Block, f: int, seed: int, dtype: FloatKind = np.float64
) -> dict[str, Any]:
    """Return the arguments of `spmm` with thirds as numbers, so that sums round."""
    data = numbers(graph.e, seed, 1 / 3, dtype)
    X = numbers((graph.n_src, f), seed + 1, 1 / 3, dtype)
    return {"graph": graph, "data": data, "X": X}


def with_dead_values(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `spmm` with NaN where an entry belongs to no row."""
    pattern, data = arguments["graph"], arguments["data"].copy()
    bounds = zip(pattern.start, pattern.end, strict=True)
    dead = np.setdiff1d(np.arange(pattern.e), [j for a, b in bounds for j in range(a, b)])
    data[dead] = np.nan
    return {**arguments, "data": data}


SPMM = {
    "no_nodes": (product(NOTHING, 2, 1), ("NO_NODES",)),
    "no_edges": (product(NO_EDGES, 2, 1), ("NO_EDGES",)),
    "no_columns": (product(PAW, 0, 1), ("NO_COLUMNS",)),
    "loops": (product(LOOPS, 2, 2), ("ISOLATED", "THIRDS")),
    "hub_single": (product(STAR, 3, 3, np.float32), ("HUB", "FLOAT32", "THIRDS")),
    "arrows": (product(ARROWS, 2, 4), ("DIRECTED", "ISOLATED", "THIRDS")),
    "block": (with_dead_values(product(PRUNED, 2, 5)), ("DEAD", "ISOLATED", "THIRDS")),
    "karate": (product(KARATE, 2, 6), ("THIRDS",)),
    "special": (
        {
            "graph": directed(4, (0, 1), (1, 1), (1, 2), (2, 0), (2, 3), (3, 0)),
            "data": np.array([1, 1, 2, -1, 1, 5e-324]),
            "X": np.array([[-np.inf, 1], [np.inf, 0.75], [np.inf, -0.0], [np.nan, 1e308]]),
        },
        ("DIRECTED", "SPECIAL"),
    ),
}


def transposed(graph: Graph, f: int, seed: int, dtype: FloatKind = np.float64) -> dict[str, Any]:
    """Return the arguments of `spmm_t`."""
    arguments = product(graph, f, seed, dtype)
    arguments["G"] = arguments.pop("X")
    return {**arguments, "transpose_perm": transpose_perm(graph)}


SPMM_T = {
    "no_nodes": (transposed(NOTHING, 2, 1), ("NO_NODES",)),
    "no_edges": (transposed(NO_EDGES, 2, 1), ("NO_EDGES",)),
    "no_columns": (transposed(PAW, 0, 1), ("NO_COLUMNS",)),
    "loops": (transposed(LOOPS, 2, 2), ("ISOLATED", "THIRDS")),
    "hub_single": (transposed(STAR, 3, 3, np.float32), ("HUB", "FLOAT32", "THIRDS")),
    "karate": (transposed(KARATE, 2, 6), ("THIRDS",)),
}


def plan(*starts: int, p: int = 2) -> Partition:
    """Return the Partition with these starts."""
    return Partition(np.array(starts), -(-(len(starts) - 1) // p), True)


def in_parts(
    graph: Graph | Block, f: int, seed: int, p: int, dtype: FloatKind = np.float64, **others: Any
) -> dict[str, Any]:
    """Return the arguments of `feature_propagate`, cut for a cache of 128 bytes a lane."""
    arguments = product(graph, f, seed, dtype)
    word = np.dtype(dtype).itemsize
    cut = partition_plan(graph.n_src, f, p, 128, word=word)
    return {**arguments, "plan": cut, "p": p, **others}


FEATURE_PROPAGATE = {
    "no_nodes": ({**product(NOTHING, 2, 1), "plan": plan(0, 2), "p": 1}, ("NO_NODES",)),
    "no_edges": (in_parts(NO_EDGES, 2, 1, 2), ("NO_EDGES",)),
    "no_columns": ({**product(PAW, 0, 1), "plan": plan(0, 0), "p": 3}, ("NO_COLUMNS", "IDLE")),
    "empty_part": (
        {**product(PAW, 3, 2), "plan": plan(0, 2, 2, 3), "p": 2},
        ("EMPTY_PART", "THIRDS"),
    ),
    "loops": (in_parts(LOOPS, 5, 2, 2), ("ISOLATED", "THIRDS")),
    "ipdps": (in_parts(MIXED, 5, 3, 2, version="ipdps"), ("ISOLATED", "IPDPS", "THIRDS")),
    "column_major": (
        in_parts(STAR, 7, 4, 3, np.float32, layout="F"),
        ("HUB", "FLOAT32", "COLUMN_MAJOR", "THIRDS"),
    ),
    "idle": ({**product(PAW, 2, 5), "plan": plan(0, 1, 2), "p": 5}, ("IDLE", "THIRDS")),
    "block": (
        with_dead_values({**product(PRUNED, 3, 6), "plan": plan(0, 2, 3), "p": 1}),
        ("DEAD", "ISOLATED", "THIRDS"),
    ),
    "karate": (in_parts(KARATE, 3, 7, 2), ("THIRDS",)),
}

KERNELS = (
    Kernel("spmm", "jpdc21", "Equation 1", among(HAND["spmm"], SPMM), flags=FLAGS),
    Kernel("spmm_t", "jpdc21", "section 5.2", among(HAND["spmm_t"], SPMM_T), flags=FLAGS),
    Kernel(
        "feature_propagate",
        "jpdc21",
        "Algorithm 7",
        among(HAND["feature_propagate"], FEATURE_PROPAGATE),
        "1-10",
        flags={**FLAGS, **PARTS},
    ),
)
