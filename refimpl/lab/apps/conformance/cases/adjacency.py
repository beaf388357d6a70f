"""Normalised adjacency matrices of whole graphs (those of blocks are in `blocks`)."""

import numpy as np

from refimpl.graph import transpose_perm
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
    PAW,
    STAR,
)
from refimpl.lab.apps.conformance.worked import worked

HAND = worked("adjacency")

FLAGS = {
    "BACKWARD": "`transpose_perm` is given, so the values of the transpose are there too.",
    "ROUNDED_LATE": "1 / sqrt(length of one row x length of the other) is rounded to float32 last.",
}


def errors(*others: Case) -> tuple[Case, ...]:
    """Return the calls that every normalisation refuses, and `others`."""
    return (
        Case("directed", {"graph": ARROWS}, ("DIRECTED",), error="value"),
        Case("no_graph", {"graph": None}, error="type"),
        *others,
    )


INTEGER_DTYPE = Case("integer_dtype", {"graph": PAW, "dtype": "int64"}, error="type")

ADD_SELF_LOOPS = (
    *HAND["add_self_loops"],
    Case("no_nodes", {"graph": NOTHING}, ("NO_NODES",)),
    Case("one_node", {"graph": LONELY}, ("ONE_NODE", "ISOLATED")),
    Case("one_loop", {"graph": LOOP}, ("ONE_NODE",)),
    Case("no_edges", {"graph": NO_EDGES}, ("NO_EDGES",)),
    Case("loops", {"graph": LOOPS}, ("ISOLATED",)),
    Case("hub", {"graph": STAR}, ("HUB",)),
    Case("mixed", {"graph": MIXED}, ("ISOLATED",)),
    *errors(),
)

SYM_NORM = (
    *HAND["sym_norm"],
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
    *HAND["loop_norm"],
    Case("no_nodes", {"graph": NOTHING}, ("NO_NODES",)),
    Case("no_edges", {"graph": NO_EDGES}, ("NO_EDGES",)),
    Case("one_loop", {"graph": LOOP}, ("ONE_NODE",)),
    Case("loops", {"graph": LOOPS}, ("ISOLATED",)),
    Case("hub_single", {"graph": STAR, "dtype": "float32"}, ("HUB", "FLOAT32")),
    Case("karate", {"graph": KARATE}),
    *errors(INTEGER_DTYPE),
)

ROW_NORM = (
    *HAND["row_norm"],
    Case("no_nodes", {"graph": NOTHING, "transpose_perm": np.zeros(0, np.int64)}, ("NO_NODES",)),
    Case("no_edges", {"graph": NO_EDGES}, ("NO_EDGES",)),
    Case(
        "loops", {"graph": LOOPS, "transpose_perm": transpose_perm(LOOPS)}, ("ISOLATED", "BACKWARD")
    ),
    Case(
        "mixed",
        {"graph": MIXED, "transpose_perm": transpose_perm(MIXED), "dtype": "float32"},
        ("ISOLATED", "BACKWARD", "FLOAT32"),
    ),
    Case("karate", {"graph": KARATE, "transpose_perm": transpose_perm(KARATE)}, ("BACKWARD",)),
    *errors(
        INTEGER_DTYPE,
        Case("short_perm", {"graph": PAIR, "transpose_perm": np.zeros(1, np.int64)}, error="value"),
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
