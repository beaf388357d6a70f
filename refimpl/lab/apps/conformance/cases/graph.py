"""Induced subgraphs, and the transposes of graphs and blocks."""

import numpy as np

from refimpl.block import Block
from refimpl.hints import Positions
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.graphs import (
    ARROWS,
    KARATE,
    LONELY,
    LOOPS,
    MIXED,
    NO_EDGES,
    NOTHING,
    PAW,
    STAR,
    ids,
)
from refimpl.lab.apps.conformance.worked import worked
from refimpl.lab.data.generators import power_law

HAND = worked("graph")

FLAGS = {
    "DEAD": "Entries of `indices` that belong to no row: they must not be in the result.",
    "UNSORTED": "A row of a block whose sources do not ascend.",
    "LARGE": "A graph of the size of Cora, in the .npz file.",
}


def positions(*values: int) -> Positions:
    """Return positions in an array: int64."""
    return np.array(values, np.int64)


TRANSPOSE = (
    *HAND["transpose_perm"],
    Case("loops", {"graph": LOOPS}, ("ISOLATED",)),
    Case("star", {"graph": STAR}, ("HUB",)),
    Case("mixed", {"graph": MIXED}, ("HUB", "ISOLATED")),
    Case("no_edges", {"graph": NO_EDGES}, ("NO_EDGES",)),
    Case("no_nodes", {"graph": NOTHING}, ("NO_NODES",)),
    Case("karate", {"graph": KARATE}),
    Case("large", {"graph": power_law(2708, 3.9, 1)}, ("LARGE",)),
    Case("directed", {"graph": ARROWS}, error="value"),
    Case("no_graph", {"graph": [[0, 1], [1, 0]]}, error="type"),
)
INDUCED = (
    *HAND["induced_subgraph"],
    Case("all", {"graph": PAW, "nodes": ids(0, 1, 2, 3)}),
    Case("loops", {"graph": LOOPS, "nodes": ids(1, 3, 4)}, ("ISOLATED",)),
    Case("leaves", {"graph": STAR, "nodes": ids(1, 2, 7)}, ("NO_EDGES",)),
    Case("hub", {"graph": STAR, "nodes": ids(0, 3, 5)}, ("HUB",)),
    Case("lonely", {"graph": LONELY, "nodes": ids(0)}, ("ONE_NODE", "ISOLATED")),
    Case("karate", {"graph": KARATE, "nodes": ids(0, 1, 2, 3, 13, 16, 31, 32, 33)}),
    Case("unsorted", {"graph": PAW, "nodes": ids(2, 0)}, error="value"),
    Case("twice", {"graph": PAW, "nodes": ids(2, 2)}, ("DUPLICATE",), error="value"),
    Case("no_such_node", {"graph": PAW, "nodes": ids(4)}, error="value"),
    Case("directed", {"graph": ARROWS, "nodes": ids(0)}, error="value"),
    Case("real_nodes", {"graph": PAW, "nodes": np.array([0.0])}, error="type"),
)
BLOCK = (
    *HAND["transpose_block"],
    Case("emptied", {"block": Block(positions(0, 2), positions(0, 2), ids(0, 1), 2)}, ("DEAD",)),
    Case(
        "no_destinations",
        {"block": Block(positions(), positions(), ids(), 4)},
        ("EMPTY", "NO_EDGES"),
    ),
    Case("nothing", {"block": Block(positions(), positions(), ids(), 0)}, ("EMPTY", "NO_NODES")),
    Case(
        "wide",
        {"block": Block(positions(0, 3, 3), positions(3, 3, 7), ids(4, 0, 6, 5, 4, 1, 2), 7)},
        ("ISOLATED", "UNSORTED"),
    ),
    Case("a_graph", {"block": PAW}, error="type"),
)

KERNELS = (
    Kernel("transpose_perm", "jpdc21", "Algorithm 6", TRANSPOSE, "1-11", flags=FLAGS),
    Kernel("induced_subgraph", "jpdc21", "Algorithm 3", INDUCED, "31", flags=FLAGS),
    Kernel("transpose_block", "common", "Counting sort", BLOCK, flags=FLAGS),
)
