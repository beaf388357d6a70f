"""MixHop, forward and backward (JPDC'21 Equation 5)."""

from collections.abc import Sequence
from typing import Any

from refimpl.adjacency import Adjacency, sym_norm
from refimpl.lab.apps.conformance.case import Kernel
from refimpl.lab.apps.conformance.graphs import LONELY, LOOPS, MIXED, NOTHING
from refimpl.lab.apps.conformance.inputs import (
    BACK_FLAGS,
    LAYER_FLAGS,
    LINEAR,
    PRUNED,
    among,
    backward,
    backwards,
    block,
    distinct,
    numbers,
    single,
)
from refimpl.lab.apps.conformance.worked import worked
from refimpl.layers.mixhop import mixhop_forward

HAND = worked("mixhop")

FLAGS = {
    **LAYER_FLAGS,
    "HOPS": "Every hop has a matrix of its own, with fewer rows than the one before.",
    "NO_HOPS": "K = 0: one branch, without a graph.",
}


def mixhop(
    hops: Sequence[Adjacency],
    f: int,
    widths: Sequence[int],
    depth: int,
    *,
    seed: int,
    bias: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Return the arguments of `mixhop_forward`, in float64; without hops, on 4 rows."""
    rows = hops[0].graph.n_src if hops else 4
    arguments = {
        "hops": hops,
        "X": numbers((rows, f), seed, 0.5),
        "W": tuple(numbers((f, width), seed + 1 + k, 0.5) for k, width in enumerate(widths)),
        "depth": depth,
    }
    if bias:
        arguments["b"] = numbers(sum(widths), seed + 9, 0.5)
    return {**arguments, **options}


LOOPED, HUB = distinct(LOOPS, 1), distinct(MIXED, 2, step=1)
SHRINKING = (
    distinct(block([[4, 0], [3, 1, 5], [], [0, 3]], 6), 3),
    distinct(block([[3], [2, 0]], 4), 4),
)
DEAD = (distinct(PRUNED, 5), distinct(block([[2, 1], []], 3, dead=2), 6))
NO_EDGES, NO_NODES = distinct(LONELY, 7), distinct(NOTHING, 8)
NORMAL = sym_norm(MIXED)

# id: the arguments of the forward pass, and the flags of both passes.
CASES = {
    "depth_0": (mixhop((LOOPED,) * 2, 2, (1, 2, 1), 0, seed=10, bias=True), ("ISOLATED", "BIAS")),
    "depth_1": (mixhop((LOOPED,) * 2, 2, (2, 1, 1), 1, seed=20), ("ISOLATED",)),
    "depth_2": (mixhop((LOOPED,) * 2, 2, (1, 1, 2), 2, seed=30), ("ISOLATED",)),
    "hub": (mixhop((HUB,), 2, (1, 2), 1, seed=40), ("HUB", "ISOLATED")),
    "no_relu": (mixhop((LOOPED,), 2, (1, 2), 0, seed=50, relu=False), ("ISOLATED", "LINEAR")),
    "float32": (
        single(mixhop((LOOPED,) * 2, 2, (1, 1, 1), 1, seed=60, bias=True)),
        ("FLOAT32", "ISOLATED", "BIAS"),
    ),
    "shrinking_blocks": (
        mixhop(SHRINKING, 2, (1, 2, 1), 1, seed=70),
        ("BLOCK", "HOPS", "ISOLATED"),
    ),
    "shrinking_blocks_depth_0": (
        mixhop(SHRINKING, 2, (1, 1, 2), 0, seed=75),
        ("BLOCK", "HOPS", "ISOLATED"),
    ),
    "dead_entries": (mixhop(DEAD, 2, (1, 1, 2), 2, seed=80), ("BLOCK", "DEAD", "HOPS", "ISOLATED")),
    "branch_of_width_0": (mixhop((LOOPED,) * 2, 2, (0, 2, 0), 1, seed=90), ("EMPTY", "ISOLATED")),
    "no_hops": (mixhop((), 3, (2,), 0, seed=100, bias=True), ("NO_HOPS", "BIAS")),
    "thirds": (mixhop((NORMAL,) * 2, 2, (1, 1, 1), 1, seed=110), ("HUB", "THIRDS")),
    "one_node": (mixhop((NO_EDGES,), 2, (1, 1), 1, seed=120), ("ONE_NODE", "NO_EDGES")),
    "no_nodes": (mixhop((NO_NODES,) * 2, 2, (1, 1, 1), 1, seed=130), ("NO_NODES", "EMPTY")),
}
NO_DX = mixhop((LOOPED,) * 2, 2, (1, 2, 1), 1, seed=140, bias=True)
BACK_CASES = {
    **backwards(mixhop_forward, CASES, 200, need_dx=True),
    "no_dx": (backward(mixhop_forward, NO_DX, 250, need_dx=False), ("BIAS", "NO_DX")),
}

KERNELS = (
    Kernel(
        "mixhop_forward",
        "jpdc21",
        "Equation 5",
        among(HAND["mixhop_forward"], CASES),
        compare=LINEAR,
        flags=FLAGS,
    ),
    Kernel(
        "mixhop_backward",
        "jpdc21",
        "Equation 5",
        among(HAND["mixhop_backward"], BACK_CASES),
        compare=LINEAR,
        flags={**FLAGS, "NO_DX": BACK_FLAGS["NO_DX"]},
    ),
)
