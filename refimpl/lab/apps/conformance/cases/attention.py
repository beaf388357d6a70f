"""Graph attention, forward and backward (JPDC'21 Equations 6 and 7)."""

from math import log

import numpy as np

from refimpl.adjacency import add_self_loops, loop_norm, sym_norm
from refimpl.lab.apps.conformance.case import Case, Close, Kernel
from refimpl.lab.apps.conformance.graphs import LONELY, LOOPS, MIXED, NOTHING, PAIR
from refimpl.lab.apps.conformance.inputs import (
    BACK_FLAGS,
    LAYER_FLAGS,
    backward,
    block,
    changed,
    distinct,
    numbers,
    single,
    weighted,
)
from refimpl.layers.gat import GatGradients, GatOutput, gat_forward

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

LN2 = log(2)
WITH_LOOPS = weighted(add_self_loops(PAIR), np.array([0.5, 0.5, 0.5, 0.5]))
BY_HAND = {
    "A": WITH_LOOPS,
    "X": np.array([[1.0], [-2]]),
    "W": np.array([[1.0]]),
    "a_recv": np.array([[0.75 * LN2]]),
    "a_send": np.array([[1.25 * LN2]]),
    "slope": 0.0,
}
OUTPUT = GatOutput(
    np.array([[0.4], [0]]),
    np.array([[1.0], [-2]]),
    np.array([[0.75 * LN2, -1.5 * LN2]]),
    np.array([[1.25 * LN2, -2.5 * LN2]]),
    np.array([[0.8, 0.2, 0.5, 0.5]]),
)
WORKING = """\
H = X W = (1, -2). sigma = 0.75 ln 2 H = (0.75, -1.5) ln 2, tau = 1.25 ln 2 H = (1.25, -2.5) ln 2.
Scores sigma_u + tau_v, in ln 2: row 0: 2 and -1.75; row 1: -0.25 and -4. With slope 0, what is
below 0 becomes 0: row 0: 2 and 0; row 1: 0 and 0. The exponentials are 2^2 = 4 and 1; 1 and 1.
So P has the rows (4/5, 1/5) and (1/2, 1/2), and P H = (0.8 - 0.4, 0.5 - 1) = (0.4, -0.5); below 0
becomes 0."""
BACK = {**BY_HAND, "out": OUTPUT, "G_out": np.array([[1.0], [1]]), "need_dx": True}
GRADIENTS = GatGradients(
    np.array([[0.4 + 0.96 * LN2]]),
    np.array([[0.48]]),
    np.array([[0.48]]),
    np.array([[0.8 + 0.96 * LN2], [0.2]]),
    None,
)
BACK_WORKING = """\
Row 1 of the output is 0 and passes nothing: G = (1, 0). The gradient of P in row 0 is G_0 H_v, so
(1, -2). Through the softmax, with the mean 0.8 1 + 0.2 (-2) = 0.4 taken off: 0.8 (1 - 0.4) = 0.48
and 0.2 (-2 - 0.4) = -0.48.
Only entry (0, 0) has a score above 0, so with slope 0 only its 0.48 goes on, to sigma_0 and tau_0.
da_recv = da_send = 0.48 H_0 = 0.48. dH = P^T G + 0.48 (a_recv + a_send) in row 0
= (0.8 + 0.48 2 ln 2, 0.2). dW = X^T dH = 0.8 + 0.96 ln 2 - 0.4, and dX = dH W^T = dH."""

FIRST_ENTRIES = {**BY_HAND, "dropout": 0.5, "keys": np.zeros(2, np.uint64)}
FIRST_OUTPUT = OUTPUT._replace(X_out=np.array([[1.6], [1]]))
FIRST_WORKING = """\
H, sigma, tau and P are as without dropout: P has the rows (4/5, 1/5) and (1/2, 1/2).
SplitMix64 with seed 0, the key of both rows, begins with the words e220a8397b1dcdaf and
6e789e6aa1b965f4. Draw i is word i over 2^64, so draw 0 is above 1/2 and draw 1 is not: each row
keeps its first entry, over 1 - 1/2, and loses its second: (8/5, 0) and (1, 0).
Times H = (1, -2): (1.6, 1)."""
FIRST_BACK = {**FIRST_ENTRIES, "out": FIRST_OUTPUT, "G_out": np.array([[1.0], [1]])}
FIRST_BACK |= {"need_dx": True}
FIRST_GRADIENTS = GatGradients(
    np.array([[2.6 + 0.64 * LN2]]),
    np.array([[0.32]]),
    np.array([[0.32]]),
    np.array([[2.6 + 0.64 * LN2], [0]]),
    None,
)
FIRST_BACK_WORKING = """\
All outputs are above 0: G = (1, 1). The gradient of what is left of P is G_u H_v, so (1, -2) in
both rows; that of P is (1 2, 0), as the second entries are dropped. Through the softmax: row 0 has
the mean 0.8 2 = 1.6, so 0.8 (2 - 1.6) = 0.32 and 0.2 (0 - 1.6) = -0.32; row 1 has 0.5 and -0.5.
Only entry (0, 0) has a score above 0, so with slope 0 only its 0.32 goes on, to sigma_0 and tau_0.
da_recv = da_send = 0.32 H_0 = 0.32. What is left of P, transposed, times G: 1.6 + 1 and 0; row 0
gets 0.32 (a_recv + a_send) = 0.32 2 ln 2 besides. dH = (2.6 + 0.64 ln 2, 0) = dX,
dW = X^T dH = 2.6 + 0.64 ln 2."""

AS_PRINTED = {
    **BY_HAND,
    "a_recv": np.array([[1.0]]),
    "a_send": np.array([[2.0]]),
    "slope": 0.25,
    "norm": "none",
}
PRINTED_OUTPUT = GatOutput(
    np.array([[4.5], [3]]),
    np.array([[1.0], [-2]]),
    np.array([[1.0, -2]]),
    np.array([[2.0, -4]]),
    np.array([[3, -0.75, 0, -1.5]]),
)
PRINTED_WORKING = """\
H = (1, -2), sigma = H, tau = 2 H. Scores: row 0: 1 + 2 = 3, 1 - 4 = -3; row 1: -2 + 2 = 0,
-2 - 4 = -6. Below 0 times 1/4: 3, -0.75, 0, -1.5; these are the weights.
P H = (3 1 + 0.75 2, 0 1 + 1.5 2) = (4.5, 3)."""
PRINTED_BACK = {
    **AS_PRINTED,
    "out": PRINTED_OUTPUT,
    "G_out": np.array([[1.0], [2]]),
    "need_dx": True,
}
PRINTED_GRADIENTS = GatGradients(
    np.array([[21.0]]), np.array([[1.5]]), np.array([[4.5]]), np.array([[6.5], [-7.25]]), None
)
PRINTED_BACK_WORKING = """\
All outputs are above 0: G = (1, 2). The gradient of the weight of entry (u, v) is G_u H_v: row 0:
1, -2; row 1: 2, -4. Times the slope at the scores 3, -3, 0, -6, which is 1 above 0 and 1/4 at 0 and
below: 1, -0.5, 0.5, -1. Sums of rows, for sigma: (0.5, -0.5); of columns, for tau: (1.5, -1.5).
da_recv = H^T (0.5, -0.5) = 0.5 + 1; da_send = H^T (1.5, -1.5) = 1.5 + 3.
dH = P^T G + 1 (0.5, -0.5) + 2 (1.5, -1.5) = (3 + 0.5 + 3, -0.75 - 3 - 0.5 - 3) = (6.5, -7.25).
dW = X^T dH = 6.5 + 14.5; dX = dH."""


def gat(A, f, width, *, seed, heads=1, bias=False, step=0.5, **options):
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
PRINTED, ROW, SPLIT = {"norm": "none"}, {"norm": "row"}, {"form": "split"}
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
BAD_VALUE = {
    "too_few_rows": {"X": np.ones((1, 1))},
    "heads_do_not_divide": {"a_recv": np.ones((2, 1)), "a_send": np.ones((2, 1))},
    "vectors_of_two_shapes": {"a_send": np.ones((1, 2))},
    "no_such_norm": {"norm": "mean"},
    "no_such_form": {"form": "both"},
    "slope_below_0": {"slope": -0.25},
    "dropout_1": {"dropout": 1.0, "keys": KEYS[:2]},
    "dropout_without_keys": {"dropout": 0.5},
    "a_key_too_few": {"dropout": 0.5, "keys": KEYS[:1]},
}
BAD_TYPE = {
    "two_dtypes": {"a_recv": np.ones((1, 1), np.float32)},
    "slope_no_number": {"slope": "0.2"},
    "signed_keys": {"keys": np.zeros(2, np.int64)},
}
BAD_GRADIENT = {
    "gradient_of_other_shape": {"G_out": np.ones((2, 2))},
    "no_permutation": {"A": sym_norm(PAIR)},
}

KERNELS = (
    Kernel(
        "gat_forward",
        "jpdc21",
        "Equations 6 and 7",
        (
            Case("by_hand", BY_HAND, ("WORKED",), OUTPUT, WORKING),
            Case(
                "by_hand_as_printed",
                AS_PRINTED,
                ("WORKED", "NO_NORM"),
                PRINTED_OUTPUT,
                PRINTED_WORKING,
            ),
            Case(
                "by_hand_dropout",
                FIRST_ENTRIES,
                ("WORKED", "DROPOUT", "DUPLICATE"),
                FIRST_OUTPUT,
                FIRST_WORKING,
            ),
            *(Case(id, arguments, flags) for id, (arguments, flags) in CASES.items()),
            *changed(BAD_VALUE, BY_HAND, "value"),
            *changed(BAD_TYPE, BY_HAND, "type"),
        ),
        compare=ATTENTION,
        flags=FLAGS,
    ),
    Kernel(
        "gat_backward",
        "jpdc21",
        "Equations 6 and 7",
        (
            Case("by_hand", BACK, ("WORKED",), GRADIENTS, BACK_WORKING),
            Case(
                "by_hand_as_printed",
                PRINTED_BACK,
                ("WORKED", "NO_NORM", "KINK"),
                PRINTED_GRADIENTS,
                PRINTED_BACK_WORKING,
            ),
            Case(
                "by_hand_dropout",
                FIRST_BACK,
                ("WORKED", "DROPOUT", "DUPLICATE"),
                FIRST_GRADIENTS,
                FIRST_BACK_WORKING,
            ),
            *(
                Case(id, backward(gat_forward, arguments, 200 + i, need_dx=True), flags)
                for i, (id, (arguments, flags)) in enumerate(CASES.items())
            ),
            Case(
                "no_dx",
                backward(gat_forward, NO_DX, 250, need_dx=False),
                ("BIAS", "NO_DX"),
            ),
            *changed(BAD_GRADIENT, BACK, "value"),
            *changed({"two_dtypes": {"G_out": np.ones((2, 1), np.float32)}}, BACK, "type"),
        ),
        compare=ATTENTION,
        flags={
            **FLAGS,
            "KINK": "A LeakyReLU of 0: its slope there is that below 0.",
            "NO_DX": BACK_FLAGS["NO_DX"],
        },
    ),
)
