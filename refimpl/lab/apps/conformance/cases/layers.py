"""GraphSAGE and GCN, forward and backward (JPDC'21 Equations 1, 4 and 12)."""

import numpy as np

from refimpl.adjacency import row_norm, sym_norm
from refimpl.graph import transpose_perm
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.graphs import LONELY, LOOPS, MIXED, NOTHING, PATH3
from refimpl.lab.apps.conformance.inputs import (
    BACK_FLAGS,
    LAYER_FLAGS,
    LINEAR,
    PRUNED,
    SAMPLED,
    backward,
    changed,
    distinct,
    numbers,
    single,
    weighted,
)
from refimpl.layers.gcn import GcnGradients, GcnOutput, gcn_forward
from refimpl.layers.sage import SageGradients, SageOutput, sage_forward
from refimpl.scheduling import ProductOrders

SAGE_FLAGS = {
    **LAYER_FLAGS,
    "SELF_FIRST": "The node's own half stands first (E-E1).",
    "SUM": "The two halves are added: the output is as wide as each.",
}
GRADIENT_FLAGS = {
    **BACK_FLAGS,
    "RECOMPUTE": "The forward pass did not keep A X, and the gradient's order needs it.",
}

# A takes the mean over the neighbours on the path 0 - 1 - 2.
SAGE_BY_HAND = {
    "A": weighted(PATH3, np.array([1, 0.5, 0.5, 1])),
    "X": np.array([[1.0, 2], [4, 0], [4, 4]]),
    "W_neigh": np.array([[1.0], [2]]),
    "W_self": np.array([[1.0], [-1]]),
    "order": ProductOrders(1, 1, 1),
}
SAGE_OUTPUT = SageOutput(
    np.array([[4.0, 0], [8.5, 4], [4, 0]]), np.array([[4.0, 0], [2.5, 3], [4, 0]])
)
SAGE_WORKING = """\
A X is the mean over the neighbours: rows (4, 0), ((1, 2) + (4, 4)) / 2 = (2.5, 3), (4, 0).
Times W_neigh = (1, 2)^T: 4 + 0, 2.5 + 6, 4 + 0 = 4, 8.5, 4.
X W_self, with W_self = (1, -1)^T: 1 - 2, 4 - 0, 4 - 4 = -1, 4, 0.
Side by side, neighbours first, negative numbers set to 0: (4, 0), (8.5, 4), (4, 0)."""
SAGE_GRADIENTS = SageGradients(
    np.array([[25.0], [6]]), np.array([[12.0], [0]]), np.array([[1.0, 2], [8, 7], [1, 2]]), None
)
SAGE_BACK_WORKING = """\
The output is above 0 in the first column, and in the second in row 1 only: row 2 is 0 there as its
argument is. So the gradients before the ReLU are (1, 2, 4) for the neighbours' half and (0, 3, 0)
for the own half. dW_neigh = (A X)^T (1, 2, 4) = (4 1 + 2.5 2 + 4 4, 0 + 3 2 + 0) = (25, 6).
dW_self = X^T (0, 3, 0) = 3 (4, 0) = (12, 0).
A^T (1, 2, 4): node 0 is read by row 1 with 1/2: 1; node 1 by rows 0 and 2 with 1: 1 + 4 = 5; node 2
as node 0: 1. Times W_neigh^T = (1, 2): rows (1, 2), (5, 10), (1, 2). Row 1 gets 3 (1, -1) besides,
from its own half: (8, 7). There is no bias: None."""

# A = ((0, 1/2, 0), (1/4, 0, 2), (0, -1, 0)): not its own transpose, as that of `sym_norm` is.
GCN_BY_HAND = {
    "A": weighted(PATH3, np.array([0.5, 0.25, 2, -1])),
    "X": np.array([[8.0, 0], [2, 4], [-4, 4]]),
    "W": np.array([[1.0, -1], [2, 1]]),
    "order": ProductOrders(2, 1, 2),
    "b": np.array([1.0, -1]),
}
GCN_OUTPUT = GcnOutput(np.array([[6.0, 0], [11, 13], [0, 0]]), None)
GCN_WORKING = """\
A = ((0, 1/2, 0), (1/4, 0, 2), (0, -1, 0)). The weights first: X W has the rows (8 + 0, -8 + 0),
(2 + 8, -2 + 4), (-4 + 8, 4 + 4) = (8, -8), (10, 2), (4, 8).
A times that: (5, 1), (2 + 8, -2 + 16) = (10, 14), (-10, -2).
Plus b = (1, -1): (6, 0), (11, 13), (-9, -3); below 0 becomes 0. No A X was computed: None."""
GCN_GRADIENTS = GcnGradients(
    np.array([[-17.0, 6], [26, -8]]), np.array([[1, 1.25], [0.5, 1], [8, 10]]), np.array([4.0, -1])
)
GCN_BACK_WORKING = """\
The output is above 0 in row 0, first column, and in row 1; row 0, second column is 0 as its
argument is, and passes nothing. So G has the rows (1, 0), (3, -1), (0, 0).
A X: half of (2, 4) = (1, 2); (8, 0) / 4 + 2 (-4, 4) = (-6, 8); minus (2, 4).
dW = (A X)^T G = ((1 - 18, 6), (2 + 24, -8)).
G W^T: (1, 2), (3 + 1, 6 - 1) = (4, 5), (0, 0). dX = A^T of that: node 0 is read by row 1 with 1/4:
(1, 1.25); node 1 by row 0 with 1/2 and row 2 with -1: (0.5, 1); node 2 by row 1 with 2: (8, 10).
db is the sum of the rows of G: (4, -1)."""


def sage(A, f, neigh, own, order=(1, 1, 1), *, seed, bias=False, **options):
    """Return the arguments of `sage_forward`, in float64."""
    arguments = {
        "A": A,
        "X": numbers((A.graph.n_src, f), seed),
        "W_neigh": numbers((f, neigh), seed + 1),
        "W_self": numbers((f, own), seed + 2),
        "order": ProductOrders(*order),
    }
    if bias:
        width = neigh if options.get("concat") == "sum" else neigh + own
        arguments["b"] = numbers(width, seed + 3)
    return {**arguments, **options}


def gcn(A, f, width, order=(1, 1, 1), *, seed, bias=False, **options):
    """Return the arguments of `gcn_forward`, in float64."""
    arguments = {
        "A": A,
        "X": numbers((A.graph.n_src, f), seed),
        "W": numbers((f, width), seed + 1),
        "order": ProductOrders(*order),
    }
    if bias:
        arguments["b"] = numbers(width, seed + 3)
    return {**arguments, **options}


HUB, LOOPED = distinct(MIXED, 1), distinct(LOOPS, 2)
SAMPLE, DEAD = distinct(SAMPLED, 3), distinct(PRUNED, 4)
NO_EDGES, NO_NODES = distinct(LONELY, 5), distinct(NOTHING, 6)
MEANS = row_norm(MIXED, transpose_perm(MIXED))

# id: the arguments of the forward pass, and the flags of both passes.
SAGE_CASES = {
    "hub": (sage(HUB, 3, 2, 1, seed=10, bias=True), ("HUB", "ISOLATED", "BIAS")),
    "weights_first": (sage(LOOPED, 3, 2, 2, (2, 2, 1), seed=20), ("ISOLATED",)),
    "self_first": (
        sage(LOOPED, 3, 2, 1, (1, 2, 2), seed=40, bias=True, concat="self_first"),
        ("ISOLATED", "BIAS", "SELF_FIRST"),
    ),
    "no_relu": (sage(LOOPED, 2, 1, 2, seed=50, relu=False), ("ISOLATED", "LINEAR")),
    "float32": (single(sage(LOOPED, 2, 2, 1, seed=60, bias=True)), ("FLOAT32", "BIAS")),
    "block": (sage(SAMPLE, 2, 2, 2, seed=70), ("BLOCK", "ISOLATED")),
    "dead_entries": (sage(DEAD, 2, 2, 1, (2, 2, 1), seed=80), ("BLOCK", "DEAD", "ISOLATED")),
    "thirds": (sage(MEANS, 3, 2, 2, seed=90), ("HUB", "ISOLATED", "THIRDS")),
    "one_node": (sage(NO_EDGES, 2, 1, 2, seed=100), ("ONE_NODE", "NO_EDGES")),
    "no_neighbour_half": (sage(LOOPED, 2, 0, 2, seed=110), ("EMPTY", "ISOLATED")),
    "no_nodes": (sage(NO_NODES, 2, 1, 1, seed=120, bias=True), ("NO_NODES", "EMPTY", "BIAS")),
}
SUM_CASES = {
    "sum": (
        sage(LOOPED, 3, 2, 2, (1, 2, 1), seed=130, bias=True, concat="sum"),
        ("ISOLATED", "BIAS", "SUM"),
    ),
    "sum_of_a_block": (
        sage(SAMPLE, 2, 3, 3, (2, 1, 2), seed=140, relu=False, concat="sum"),
        ("BLOCK", "ISOLATED", "LINEAR", "SUM"),
    ),
}
GCN_CASES = {
    "hub": (gcn(HUB, 3, 2, seed=15, bias=True), ("HUB", "ISOLATED", "BIAS")),
    "weights_first": (gcn(LOOPED, 3, 2, (2, 2, 1), seed=25), ("ISOLATED",)),
    "no_relu": (gcn(LOOPED, 2, 3, (1, 2, 2), seed=45, relu=False), ("ISOLATED", "LINEAR")),
    "float32": (single(gcn(LOOPED, 2, 2, seed=55, bias=True)), ("FLOAT32", "BIAS")),
    "block": (gcn(SAMPLE, 2, 3, seed=65), ("BLOCK", "ISOLATED")),
    "dead_entries": (gcn(DEAD, 2, 2, (2, 2, 1), seed=75), ("BLOCK", "DEAD", "ISOLATED")),
    "thirds": (gcn(sym_norm(MIXED), 3, 2, seed=85), ("HUB", "THIRDS")),
    "one_node": (gcn(NO_EDGES, 2, 2, seed=95), ("ONE_NODE", "NO_EDGES")),
    "no_nodes": (gcn(NO_NODES, 2, 1, seed=105, bias=True), ("NO_NODES", "EMPTY", "BIAS")),
}

BAD_VALUE = {
    "too_few_rows": {"X": np.ones((2, 2))},
    "bias_too_long": {"b": np.ones(9)},
    "no_such_order": {"order": ProductOrders(3, 1, 1)},
}
BAD_HALVES = {
    "no_such_half": {"concat": "both"},
    "sum_of_two_widths": {"concat": "sum", "W_self": np.ones((2, 2))},
}
BAD_TYPE = {
    "two_dtypes": {"X": np.ones((3, 2), np.float32)},
    "integers": {"X": np.ones((3, 2), np.int64)},
}
BAD_GRADIENT = {
    "gradient_of_other_shape": {"G_out": np.ones((2, 2))},
    "no_transpose": {"A": row_norm(PATH3)},
}


def forward_cases(cases, by_hand):
    """Return the generated cases of a forward pass, and those that must fail."""
    return (
        *(Case(id, arguments, flags) for id, (arguments, flags) in cases.items()),
        *changed(BAD_VALUE, by_hand, "value"),
        *changed(BAD_TYPE, by_hand, "type"),
    )


def backward_cases(forward, cases, by_hand):
    """Return the generated cases of a backward pass, and those that must fail."""
    return (
        *(
            Case(id, backward(forward, arguments, 200 + i), flags)
            for i, (id, (arguments, flags)) in enumerate(cases.items())
        ),
        *changed(BAD_GRADIENT, by_hand, "value"),
        *changed({"two_dtypes": {"G_out": np.ones((3, 2), np.float32)}}, by_hand, "type"),
    )


SAGE_BACK = {
    **SAGE_BY_HAND,
    "out": SAGE_OUTPUT,
    "G_out": np.array([[1.0, 1], [2, 3], [4, 2]]),
}
GCN_BACK = {**GCN_BY_HAND, "out": GCN_OUTPUT, "G_out": np.array([[1.0, 2], [3, -1], [4, 5]])}
SAGE_BACK_CASES = {
    **SAGE_CASES,
    "recompute": (sage(LOOPED, 2, 3, 1, (2, 1, 2), seed=30), ("ISOLATED", "RECOMPUTE")),
    "no_dx": (sage(LOOPED, 3, 2, 1, (1, 1, 0), seed=35, bias=True), ("BIAS", "NO_DX")),
    **SUM_CASES,
}
GCN_BACK_CASES = {
    **GCN_CASES,
    "recompute": (gcn(LOOPED, 2, 3, (2, 1, 1), seed=125), ("ISOLATED", "RECOMPUTE")),
    "no_dx": (gcn(LOOPED, 3, 2, (2, 2, 0), seed=115, bias=True), ("BIAS", "NO_DX")),
}

KERNELS = (
    Kernel(
        "sage_forward",
        "jpdc21",
        "Equation 1",
        (
            Case("by_hand", SAGE_BY_HAND, ("WORKED",), SAGE_OUTPUT, SAGE_WORKING),
            *forward_cases({**SAGE_CASES, **SUM_CASES}, SAGE_BY_HAND),
            *changed(BAD_HALVES, SAGE_BY_HAND, "value"),
        ),
        compare=LINEAR,
        flags=SAGE_FLAGS,
    ),
    Kernel(
        "sage_backward",
        "jpdc21",
        "Equation 12",
        (
            Case("by_hand", SAGE_BACK, ("WORKED", "KINK"), SAGE_GRADIENTS, SAGE_BACK_WORKING),
            *backward_cases(sage_forward, SAGE_BACK_CASES, SAGE_BACK),
        ),
        compare=LINEAR,
        flags={**SAGE_FLAGS, **GRADIENT_FLAGS},
    ),
    Kernel(
        "gcn_forward",
        "jpdc21",
        "Equation 4",
        (
            Case("by_hand", GCN_BY_HAND, ("WORKED", "BIAS"), GCN_OUTPUT, GCN_WORKING),
            *forward_cases(GCN_CASES, GCN_BY_HAND),
        ),
        compare=LINEAR,
        flags=LAYER_FLAGS,
    ),
    Kernel(
        "gcn_backward",
        "jpdc21",
        "Equation 4",
        (
            Case(
                "by_hand",
                GCN_BACK,
                ("WORKED", "BIAS", "KINK", "RECOMPUTE"),
                GCN_GRADIENTS,
                GCN_BACK_WORKING,
            ),
            *backward_cases(gcn_forward, GCN_BACK_CASES, GCN_BACK),
        ),
        compare=LINEAR,
        flags={**LAYER_FLAGS, **GRADIENT_FLAGS},
    ),
)
