"""Induced subgraphs, and the transposes of graphs and blocks."""

import numpy as np

from refimpl.block import Block
from refimpl.graph import Graph, Subgraph
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.graphs import (
    ARROWS,
    KARATE,
    LONELY,
    LOOP,
    LOOPS,
    MIXED,
    NO_EDGES,
    NOTHING,
    PATH3,
    PAW,
    STAR,
    ids,
)
from refimpl.lab.data.generators import power_law

FLAGS = {
    "DEAD": "Entries of `indices` that belong to no row: they must not be in the result.",
    "UNSORTED": "A row of a block whose sources do not ascend.",
    "LARGE": "A graph of the size of Cora, in the .npz file.",
}


def positions(*values):
    """Return positions in an array: int64."""
    return np.array(values, np.int64)


TRANSPOSE = (
    Case(
        "path3",
        {"graph": PATH3},
        ("WORKED",),
        ids(1, 0, 3, 2),
        "Rows 1 | 0 2 | 1 begin at 0 1 3. Entry 0 = (0, 1) is the first in column 1: place 1. "
        "Entry 1 = (1, 0): place 0. Entry 2 = (1, 2): place 3. Entry 3 = (2, 1) is the second in "
        "column 1: place 2.",
    ),
    Case(
        "paw",
        {"graph": PAW},
        ("WORKED",),
        ids(2, 4, 0, 5, 1, 3, 7, 6),
        "Rows 1 2 | 0 2 | 0 1 3 | 2: entries 0-1, 2-3, 4-6, 7. Place 0 is (0, 1), so it gets the "
        "entry (1, 0), which is 2; place 1 is (0, 2) and gets (2, 0), entry 4; and so on: (0, 1) "
        "0, (2, 1) 5, (0, 2) 1, (1, 2) 3, (3, 2) 7, (2, 3) 6.",
    ),
    Case(
        "loop",
        {"graph": LOOP},
        ("WORKED", "ONE_NODE"),
        ids(0),
        "The entry (0, 0) is its own transpose.",
    ),
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
    Case(
        "paw",
        {"graph": PAW, "nodes": ids(0, 2, 3)},
        ("WORKED",),
        Subgraph(
            ids(0, 2, 3),
            Graph(positions(0, 1, 3, 4), ids(1, 0, 2, 1)),
            positions(1, 4, 6, 7),
            ids(1, 0, 3, 2),
        ),
        "Rows 1 2 | 0 2 | 0 1 3 | 2. Node 0 keeps entry 1, node 2 entries 4 and 6, node 3 entry "
        "7. Nodes 0 2 3 are called 0 1 2: rows 1 | 0 2 | 1, the path of transpose_perm's case.",
    ),
    Case(
        "none",
        {"graph": PAW, "nodes": ids()},
        ("WORKED", "EMPTY", "NO_NODES"),
        Subgraph(ids(), Graph(positions(0), ids()), positions(), ids()),
        "Without nodes there is no row and no entry.",
    ),
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
TWO_BY_THREE = Block(positions(0, 2), positions(2, 4), ids(0, 2, 1, 0), 3)
BLOCK = (
    Case(
        "two_by_three",
        {"block": TWO_BY_THREE},
        ("WORKED", "UNSORTED"),
        (
            Block(positions(0, 2, 3), positions(2, 3, 4), ids(0, 1, 1, 0), 2),
            positions(0, 3, 2, 1),
        ),
        "Rows 0 2 | 1 0. Source 0 goes to rows 0 and 1, by entries 0 and 3; source 1 to row 1, "
        "by entry 2; source 2 to row 0, by entry 1.",
    ),
    Case(
        "dead",
        {"block": Block(positions(0, 2), positions(1, 3), ids(1, 0, 2), 3, positions(9, 4, 6))},
        ("WORKED", "DEAD", "ISOLATED"),
        (Block(positions(0, 0, 1), positions(0, 1, 2), ids(0, 1), 2), positions(0, 2)),
        "Entry 1 is in no row. Source 0 has none left, 1 has row 0 by entry 0, 2 has row 1 by "
        "entry 2.",
    ),
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
