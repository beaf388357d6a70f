"""GraphSAGE and GCN, forward and backward (JPDC'21 Equations 1, 4 and 12)."""

from typing import Any

from refimpl.adjacency import Adjacency, row_norm, sym_norm
from refimpl.graph import transpose_perm
from refimpl.lab.apps.conformance.case import Kernel
from refimpl.lab.apps.conformance.graphs import LONELY, LOOPS, MIXED, NOTHING
from refimpl.lab.apps.conformance.inputs import (
    BACK_FLAGS,
    LAYER_FLAGS,
    LINEAR,
    PRUNED,
    SAMPLED,
    among,
    backwards,
    distinct,
    numbers,
    single,
)
from refimpl.lab.apps.conformance.worked import worked
from refimpl.layers.gcn import gcn_forward
from refimpl.layers.sage import sage_forward
from refimpl.scheduling import ProductOrders

HAND = worked("layers")

SAGE_FLAGS = {
    **LAYER_FLAGS,
    "SELF_FIRST": "The node's own half stands first (E-E1).",
    "SUM": "The two halves are added: the output is as wide as each.",
}
GRADIENT_FLAGS = {
    **BACK_FLAGS,
    "RECOMPUTE": "The forward pass did not keep A X, and the gradient's order needs it.",
}


def sage(
    A: Adjacency,
    f: int,
    neigh: int,
    own: int,
    order: tuple[int, int, int] = (1, 1, 1),
    *,
    seed: int,
    bias: bool = False,
    **options: Any,
) -> dict[str, Any]:
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


def gcn(
    A: Adjacency,
    f: int,
    width: int,
    order: tuple[int, int, int] = (1, 1, 1),
    *,
    seed: int,
    bias: bool = False,
    **options: Any,
) -> dict[str, Any]:
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
        among(HAND["sage_forward"], {**SAGE_CASES, **SUM_CASES}),
        compare=LINEAR,
        flags=SAGE_FLAGS,
    ),
    Kernel(
        "sage_backward",
        "jpdc21",
        "Equation 12",
        among(HAND["sage_backward"], backwards(sage_forward, SAGE_BACK_CASES, 200)),
        compare=LINEAR,
        flags={**SAGE_FLAGS, **GRADIENT_FLAGS},
    ),
    Kernel(
        "gcn_forward",
        "jpdc21",
        "Equation 4",
        among(HAND["gcn_forward"], GCN_CASES),
        compare=LINEAR,
        flags=LAYER_FLAGS,
    ),
    Kernel(
        "gcn_backward",
        "jpdc21",
        "Equation 4",
        among(HAND["gcn_backward"], backwards(gcn_forward, GCN_BACK_CASES, 200)),
        compare=LINEAR,
        flags={**LAYER_FLAGS, **GRADIENT_FLAGS},
    ),
)
