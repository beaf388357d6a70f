"""Graph attention, forward and backward (JPDC'21 Equations 6 and 7)."""

from typing import Any

import numpy as np

from refimpl.adjacency import Adjacency, add_self_loops, loop_norm
from refimpl.lab.apps.conformance.case import Close, Kernel
from refimpl.lab.apps.conformance.graphs import LONELY, LOOPS, MIXED, NOTHING
from refimpl.lab.apps.conformance.inputs import (
    BACK_FLAGS,
    LAYER_FLAGS,
    among,
    backward,
    backwards,
    block,
    distinct,
    numbers,
    single,
)
from refimpl.lab.apps.conformance.worked import worked
from refimpl.layers.gat import gat_forward

HAND = worked("attention")

ATTENTION = Close(
    1e-10,
    1e-10,
    "Exponentials and sums in float64, in any order, of terms whose sizes add up to 6000 at most, "
    "through at most 100 operations: 100 * 6000 * 2**-53 < 1e-10. Float32 cases hold small "
    "multiples of a power of two and take no exponential but that of 0: they are exact.",
)
FLAGS = {
    **{name: LAYER_FLAGS[name] for name in ("BIAS", "BLOCK", "DEAD", "LINEAR")},
    "DROPOUT": "Some of the attention is set to 0, row by row, by the row's key.",
    "EQUAL": "All scores of a row are equal: softmax attention is the mean.",
    "HEADS": "Several heads: head k owns columns k h / heads and on.",
    "NO_NORM": "The scores themselves, as Equation 7 prints it (E-E6).",
    "OVERFLOW": "Scores whose exponential overflows unless the row's highest is subtracted first.",
    "ROW_NORM": "Scores times A's values, instead of their softmax.",
    "SPLIT": "phi(sigma) + phi(tau), as in the authors' code, for phi(sigma + tau) (E-E12).",
}

BY_HAND = HAND["gat_forward"][0].args
WITH_LOOPS = BY_HAND["A"]


def gat(
    A: Adjacency,
    f: int,
    width: int,
    *,
    seed: int,
    heads: int = 1,
    bias: bool = False,
    step: float = 0.5,
    **options: Any,
) -> dict[str, Any]:
    """Return the arguments of `gat_forward`, in float64."""
    arguments = {
        "A": A,
        "X": numbers((A.graph.n_src, f), seed, step),
        "W": numbers((f, width), seed + 1, step),
        "a_recv": numbers((heads, width // heads), seed + 2, 0.25),
        "a_send": numbers((heads, width // heads), seed + 3, 0.25),
    }
    if bias:
        arguments["b"] = numbers(width, seed + 4, step)
    return {**arguments, **options}


LOOPED, HUB = distinct(add_self_loops(LOOPS), 1), distinct(add_self_loops(MIXED), 2)
# Every destination stands in its own row, as in `block_norm`; in the last block one row is empty.
SAMPLE = distinct(block([[0, 4, 3], [1], [2, 0]], 5), 3)
DEAD = distinct(block([[0, 4, 3], [], [2, 0]], 5, dead=1), 4)
ONE, NONE = distinct(add_self_loops(LONELY), 5), distinct(NOTHING, 6)
PRINTED: dict[str, Any] = {"norm": "none"}
ROW: dict[str, Any] = {"norm": "row"}
SPLIT: dict[str, Any] = {"form": "split"}
EQUAL = gat(WITH_LOOPS, 2, 4, seed=10, heads=2, bias=True, slope=0.25)
EQUAL |= {"a_recv": np.zeros((2, 2)), "a_send": np.zeros((2, 2))}
KEYS = np.array([3, 2**63 + 5, 11, 3, 0, 2**64 - 1, 8, 9], np.uint64)
HUGE = {**BY_HAND, "X": np.array([[1000.0], [-3]]), "a_recv": np.zeros((1, 1))}

# id: the arguments of the forward pass, and the flags of both passes.
CASES = {
    "hub": (gat(HUB, 2, 2, seed=20, bias=True, step=0.25), ("HUB", "BIAS")),
    "heads": (gat(LOOPED, 2, 6, seed=30, heads=3, step=0.125), ("HEADS",)),
    "row_norm": (
        gat(LOOPED, 2, 4, seed=40, heads=2, bias=True, slope=0.25, **ROW),
        ("HEADS", "ROW_NORM", "BIAS"),
    ),
    "row_norm_of_means": (gat(loop_norm(MIXED), 2, 2, seed=45, **ROW), ("HUB", "ROW_NORM")),
    "as_printed": (
        gat(LOOPED, 3, 2, seed=50, slope=0.25, relu=False, **PRINTED),
        ("NO_NORM", "LINEAR"),
    ),
    "split": (gat(LOOPED, 2, 4, seed=60, heads=2, step=0.125, **SPLIT), ("HEADS", "SPLIT")),
    "split_as_printed": (
        gat(LOOPED, 2, 2, seed=75, slope=1.5, **SPLIT, **PRINTED),
        ("NO_NORM", "SPLIT"),
    ),
    "block": (gat(SAMPLE, 2, 2, seed=80, bias=True, step=0.25), ("BLOCK", "BIAS")),
    "dead_entries": (
        gat(DEAD, 2, 4, seed=90, heads=2, step=0.25),
        ("BLOCK", "DEAD", "HEADS", "ISOLATED"),
    ),
    "dead_entries_row_norm": (
        gat(DEAD, 2, 2, seed=95, slope=0.25, **ROW),
        ("BLOCK", "DEAD", "ROW_NORM", "ISOLATED"),
    ),
    "equal_scores": (EQUAL, ("HEADS", "EQUAL", "BIAS")),
    "float32_equal_scores": (single(EQUAL), ("FLOAT32", "HEADS", "EQUAL", "BIAS")),
    "float32_as_printed": (
        single(gat(LOOPED, 2, 2, seed=100, slope=0.25, **PRINTED)),
        ("FLOAT32", "NO_NORM"),
    ),
    "scores_of_a_thousand": (HUGE, ("OVERFLOW",)),
    "one_node": (gat(ONE, 2, 2, seed=110), ("ONE_NODE",)),
    "no_nodes": (gat(NONE, 2, 2, seed=120, bias=True), ("NO_NODES", "EMPTY", "BIAS")),
    "dropout": (
        gat(LOOPED, 2, 4, seed=140, heads=2, bias=True, step=0.25, dropout=0.4, keys=KEYS[:6]),
        ("HEADS", "BIAS", "DROPOUT", "DUPLICATE", "LARGE_WORD"),
    ),
    "dropout_of_dead_entries": (
        gat(DEAD, 2, 6, seed=150, heads=3, dropout=0.25, keys=KEYS[:3], **ROW),
        ("BLOCK", "DEAD", "HEADS", "ROW_NORM", "ISOLATED", "DROPOUT", "LARGE_WORD"),
    ),
    "float32_dropout": (
        single(gat(LOOPED, 2, 2, seed=160, slope=0.25, dropout=0.5, keys=KEYS[:6], **PRINTED)),
        ("FLOAT32", "NO_NORM", "DROPOUT", "DUPLICATE", "LARGE_WORD"),
    ),
    "keys_and_nothing_dropped": (gat(ONE, 2, 2, seed=170, keys=KEYS[:1]), ("ONE_NODE",)),
}
NO_DX = gat(LOOPED, 2, 2, seed=130, bias=True, step=0.25)
BACK_CASES = {
    **backwards(gat_forward, CASES, 200, need_dx=True),
    "no_dx": (backward(gat_forward, NO_DX, 250, need_dx=False), ("BIAS", "NO_DX")),
}

KERNELS = (
    Kernel(
        "gat_forward",
        "jpdc21",
        "Equations 6 and 7",
        among(HAND["gat_forward"], CASES),
        compare=ATTENTION,
        flags=FLAGS,
    ),
    Kernel(
        "gat_backward",
        "jpdc21",
        "Equations 6 and 7",
        among(HAND["gat_backward"], BACK_CASES),
        compare=ATTENTION,
        flags={
            **FLAGS,
            "KINK": "A LeakyReLU of 0: its slope there is that below 0.",
            "NO_DX": BACK_FLAGS["NO_DX"],
        },
    ),
)
