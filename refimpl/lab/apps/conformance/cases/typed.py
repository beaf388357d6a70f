"""R-GCN, forward and backward: the model of FreshGNN for typed graphs."""

from collections.abc import Sequence
from typing import Any

from refimpl.adjacency import Adjacency, row_norm
from refimpl.graph import transpose_perm
from refimpl.lab.apps.conformance.case import Kernel
from refimpl.lab.apps.conformance.graphs import LONELY, LOOPS, MIXED, NOTHING, undirected
from refimpl.lab.apps.conformance.inputs import (
    BACK_FLAGS,
    LAYER_FLAGS,
    LINEAR,
    PRUNED,
    SAMPLED,
    among,
    backward,
    backwards,
    block,
    distinct,
    numbers,
    single,
)
from refimpl.lab.apps.conformance.worked import worked
from refimpl.layers.rgcn import rgcn_forward

HAND = worked("typed")

FLAGS = {
    **LAYER_FLAGS,
    "BASES": "The matrix of a relation is a mixture of a few (Equation 3 of Schlichtkrull et al.).",
    "NO_SOURCE": "A relation in which no destination has a source: its mean has no rows.",
}


def rgcn(
    A: Sequence[Adjacency],
    f: int,
    h: int,
    *,
    seed: int,
    bases: int = 0,
    bias: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Return the arguments of `rgcn_forward`, in float64."""
    arguments = {
        "A": A,
        "X": numbers((A[0].graph.n_src, f), seed),
        "W": tuple(numbers((f, h), seed + 1 + i) for i in range(bases or len(A))),
        "W_self": numbers((f, h), seed + 6),
    }
    if bases:
        arguments["coefficients"] = numbers((len(A), bases), seed + 7)
    if bias:
        arguments["b"] = numbers(h, seed + 8)
    return {**arguments, **options}


# The edges of LOOPS in one relation, others on as many nodes in the second.
GRAPHS = (distinct(LOOPS, 1), distinct(undirected(6, (0, 5), (2, 4), (3, 4)), 2))
BLOCKS = (distinct(SAMPLED, 3), distinct(block([[1], [4, 2], []], 5), 4))
DEAD = (distinct(PRUNED, 5), distinct(block([[1], [], [3]], 5, dead=2), 6))
WITHOUT = (distinct(SAMPLED, 7), distinct(block([[], [], []], 5), 8), distinct(SAMPLED, 9))
MEANS = (row_norm(MIXED, transpose_perm(MIXED)),)

# id: the arguments of the forward pass, and the flags of both passes.
CASES = {
    "graphs": (rgcn(GRAPHS, 2, 3, seed=10, bias=True), ("ISOLATED", "BIAS")),
    "blocks": (rgcn(BLOCKS, 3, 2, seed=20), ("BLOCK", "ISOLATED")),
    "dead_entries": (rgcn(DEAD, 2, 2, seed=30), ("BLOCK", "DEAD", "ISOLATED")),
    "two_bases": (
        rgcn(WITHOUT, 2, 2, seed=40, bases=2, bias=True),
        ("BLOCK", "ISOLATED", "BASES", "NO_SOURCE", "BIAS"),
    ),
    "one_basis": (rgcn(GRAPHS, 2, 2, seed=50, bases=1), ("ISOLATED", "BASES")),
    "no_source": (rgcn(WITHOUT, 2, 2, seed=60), ("BLOCK", "ISOLATED", "NO_SOURCE")),
    "no_relu": (rgcn(GRAPHS, 2, 2, seed=70, relu=False), ("ISOLATED", "LINEAR")),
    "float32": (
        single(rgcn(BLOCKS, 2, 2, seed=80, bases=2, bias=True)),
        ("FLOAT32", "BLOCK", "ISOLATED", "BASES", "BIAS"),
    ),
    "thirds": (rgcn(MEANS, 3, 2, seed=90), ("HUB", "ISOLATED", "THIRDS")),
    "one_node": (
        rgcn((distinct(LONELY, 1),) * 2, 2, 2, seed=100),
        ("ONE_NODE", "NO_EDGES", "NO_SOURCE"),
    ),
    "no_nodes": (
        rgcn((distinct(NOTHING, 1),), 2, 2, seed=110, bias=True),
        ("NO_NODES", "EMPTY", "NO_SOURCE", "BIAS"),
    ),
}
NO_DX = rgcn(BLOCKS, 2, 2, seed=120, bases=2)
NO_DX_FLAGS = ("BLOCK", "ISOLATED", "BASES", "NO_DX")
BACK_CASES = {
    **backwards(rgcn_forward, CASES, 200, need_dx=True),
    "no_dx": (backward(rgcn_forward, NO_DX, 250, need_dx=False), NO_DX_FLAGS),
}

KERNELS = (
    Kernel(
        "rgcn_forward",
        "vldb24",
        "section 7.6",
        among(HAND["rgcn_forward"], CASES),
        compare=LINEAR,
        flags=FLAGS,
    ),
    Kernel(
        "rgcn_backward",
        "vldb24",
        "section 7.6",
        among(HAND["rgcn_backward"], BACK_CASES),
        compare=LINEAR,
        flags={**FLAGS, "NO_DX": BACK_FLAGS["NO_DX"]},
    ),
)
