"""Normalised adjacency matrices of whole graphs (those of blocks are in `blocks`)."""

import numpy as np

from refimpl.adjacency import Adjacency
from refimpl.graph import Graph, transpose_perm
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
    PAIR,
    PATH3,
    PAW,
    STAR,
    ids,
    undirected,
)

FLAGS = {
    "BACKWARD": "`transpose_perm` is given, so the values of the transpose are there too.",
    "ROUNDED_LATE": "1 / sqrt(length of one row x length of the other) is rounded to float32 last.",
}

# The path 0 1 2 with a loop at every node.
PATH3_LOOPED = Graph(np.array([0, 2, 5, 7]), ids(0, 1, 0, 1, 2, 1, 2))
STAR_LOOPED = Graph(
    np.array([0, 8, 10, 12, 14, 16, 18, 20, 22]),
    ids(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7),
)


def errors(*others):
    """Return the calls that every normalisation refuses, and `others`."""
    return (
        Case("directed", {"graph": ARROWS}, ("DIRECTED",), error="value"),
        Case("no_graph", {"graph": None}, error="type"),
        *others,
    )


INTEGER_DTYPE = Case("integer_dtype", {"graph": PAW, "dtype": "int64"}, error="type")

ADD_SELF_LOOPS = (
    Case(
        "path3",
        {"graph": PATH3},
        ("WORKED",),
        PATH3_LOOPED,
        "Rows 0: 1, 1: 0 2, 2: 1 become 0 1, 0 1 2 and 1 2.",
    ),
    Case(
        "loop_once",
        {"graph": undirected(4, (0, 0), (0, 1), (2, 3), (3, 3))},
        ("WORKED",),
        Graph(np.array([0, 2, 4, 6, 8]), ids(0, 1, 0, 1, 2, 3, 2, 3)),
        "Rows 0: 0 1, 1: 0, 2: 3, 3: 2 3: the loops at 0 and 3 are there, those at 1 and 2 join.",
    ),
    Case("no_nodes", {"graph": NOTHING}, ("NO_NODES",)),
    Case("one_node", {"graph": LONELY}, ("ONE_NODE", "ISOLATED")),
    Case("one_loop", {"graph": LOOP}, ("ONE_NODE",)),
    Case("no_edges", {"graph": NO_EDGES}, ("NO_EDGES",)),
    Case("loops", {"graph": LOOPS}, ("ISOLATED",)),
    Case("hub", {"graph": STAR}, ("HUB",)),
    Case("mixed", {"graph": MIXED}, ("ISOLATED",)),
    *errors(),
)

STAR_SYM = np.array([0.125] + 7 * [0.25] + 7 * [0.25, 0.5])
SYM_NORM = (
    Case(
        "star",
        {"graph": STAR},
        ("WORKED", "HUB"),
        Adjacency(STAR_LOOPED, STAR_SYM, STAR_SYM),
        "With its loop the hub's row has length 8, all others have 2: 1 / sqrt(8 x 8) = 1/8 at "
        "the hub, 1 / sqrt(8 x 2) = 1/4 between it and a leaf, 1 / sqrt(2 x 2) = 1/2 at a leaf.",
    ),
    Case(
        "pair_and_isolated",
        {"graph": undirected(3, (0, 2)), "dtype": "float32"},
        ("WORKED", "ISOLATED", "FLOAT32"),
        Adjacency(
            Graph(np.array([0, 2, 3, 5]), ids(0, 2, 1, 0, 2)),
            np.array([0.5, 0.5, 1, 0.5, 0.5], np.float32),
            np.array([0.5, 0.5, 1, 0.5, 0.5], np.float32),
        ),
        "Rows 0: 0 2, 1: 1, 2: 0 2 have lengths 2 1 2: 1 / sqrt(2 x 2), and 1 / sqrt(1 x 1) at 1.",
    ),
    Case("no_nodes", {"graph": NOTHING}, ("NO_NODES",)),
    Case("no_edges", {"graph": NO_EDGES}, ("NO_EDGES",)),
    Case("one_loop", {"graph": LOOP}, ("ONE_NODE",)),
    Case("loops", {"graph": LOOPS}, ("ISOLATED",)),
    Case("mixed", {"graph": MIXED}, ("ISOLATED",)),
    Case("mixed_single", {"graph": MIXED, "dtype": "float32"}, ("FLOAT32", "ROUNDED_LATE")),
    Case("karate", {"graph": KARATE}),
    *errors(INTEGER_DTYPE),
)

LOOP_NORM = (
    Case(
        "path3",
        {"graph": PATH3},
        ("WORKED",),
        Adjacency(
            PATH3_LOOPED,
            np.array([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2]),
            np.array([1 / 2, 1 / 3, 1 / 2, 1 / 3, 1 / 2, 1 / 3, 1 / 2]),
            perm=np.array([0, 2, 1, 3, 5, 4, 6]),
        ),
        "Rows 0 1, 0 1 2, 1 2: values 1/2, 1/3, 1/2. Entries 1 = (0, 1) and 2 = (1, 0) change "
        "places in the transpose, and so do 4 = (1, 2) and 5 = (2, 1).",
    ),
    Case("no_nodes", {"graph": NOTHING}, ("NO_NODES",)),
    Case("no_edges", {"graph": NO_EDGES}, ("NO_EDGES",)),
    Case("one_loop", {"graph": LOOP}, ("ONE_NODE",)),
    Case("loops", {"graph": LOOPS}, ("ISOLATED",)),
    Case("hub_single", {"graph": STAR, "dtype": "float32"}, ("HUB", "FLOAT32")),
    Case("karate", {"graph": KARATE}),
    *errors(INTEGER_DTYPE),
)

ROW_NORM = (
    Case(
        "path3",
        {"graph": PATH3, "transpose_perm": np.array([1, 0, 3, 2])},
        ("WORKED", "BACKWARD"),
        Adjacency(PATH3, np.array([1, 0.5, 0.5, 1]), np.array([0.5, 1, 1, 0.5])),
        "Degrees 1 2 1: entries (0, 1) (1, 0) (1, 2) (2, 1) are 1, 1/2, 1/2, 1. Transposed, each "
        "changes places with its reverse: 1/2, 1, 1, 1/2.",
    ),
    Case(
        "forward_only",
        {"graph": STAR, "dtype": "float32"},
        ("WORKED", "HUB", "FLOAT32"),
        Adjacency(STAR, np.array(7 * [1 / 7] + 7 * [1], np.float32), None),
        "The hub takes the mean over 7 leaves, each leaf that over the hub.",
    ),
    Case("no_nodes", {"graph": NOTHING, "transpose_perm": np.zeros(0, np.int64)}, ("NO_NODES",)),
    Case("no_edges", {"graph": NO_EDGES}, ("NO_EDGES",)),
    Case(
        "loops",
        {"graph": LOOPS, "transpose_perm": transpose_perm(LOOPS)},
        ("ISOLATED", "BACKWARD"),
    ),
    Case(
        "mixed",
        {"graph": MIXED, "transpose_perm": transpose_perm(MIXED), "dtype": "float32"},
        ("ISOLATED", "BACKWARD", "FLOAT32"),
    ),
    Case("karate", {"graph": KARATE, "transpose_perm": transpose_perm(KARATE)}, ("BACKWARD",)),
    *errors(
        INTEGER_DTYPE,
        Case(
            "short_perm",
            {"graph": PAIR, "transpose_perm": np.zeros(1, np.int64)},
            error="value",
        ),
        Case("perm_beyond", {"graph": PAIR, "transpose_perm": np.array([1, 2])}, error="value"),
        Case("real_perm", {"graph": PAIR, "transpose_perm": np.array([1.0, 0])}, error="type"),
    ),
)

KERNELS = (
    Kernel("add_self_loops", "jpdc21", "Equation 4", ADD_SELF_LOOPS),
    Kernel("sym_norm", "jpdc21", "Equations 4 and 5", SYM_NORM, flags=FLAGS),
    Kernel("loop_norm", "jpdc21", "Equation 6", LOOP_NORM),
    Kernel("row_norm", "jpdc21", "Equation 1", ROW_NORM, flags=FLAGS),
)
