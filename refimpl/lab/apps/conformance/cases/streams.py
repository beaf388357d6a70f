"""Random numbers by key and counter, and what is drawn with them."""

import numpy as np

from refimpl.hints import Words
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.graphs import ids
from refimpl.lab.apps.conformance.worked import worked

HAND = worked("streams")

PLACE = "SplitMix64 with a key"
K = 16860246889822268962  # key(7, 1, 2, 3)
ALL_BITS = 3558559446808474027  # its draw 0 has all 53 bits set
FLAGS = {
    "WRAP": "A sum or a product passes 2**64 and is taken modulo 2**64.",
    "LAST": "The draw is the largest there is, (2**53 - 1) / 2**53: the index must stay in range.",
    "TAKEN": "An integer is drawn that is chosen already: the last one is taken instead.",
    "TIE": "A scaled weight equal to 1: it is large. Only a weight below 1 is small.",
    "SHORT": "The last batch is shorter than the others.",
}


def words(*values: int) -> Words:
    """Return 64-bit words, as `mix` takes them."""
    return np.array(values, np.uint64)


MIX = (
    *HAND["mix"],
    Case("one", {"x": 1}),
    Case("largest", {"x": 2**64 - 1}, ("LARGE_WORD", "WRAP")),
    Case("none", {"x": words()}, ("EMPTY",)),
    Case("table", {"x": words(*range(6)).reshape(2, 3)}),
    Case("negative", {"x": -1}, error="value"),
    Case("too_large", {"x": 2**64}, error="value"),
    Case("real", {"x": 1.5}, error="type"),
    Case("signed_array", {"x": np.array([1, 2])}, error="type"),
)
KEY = (
    *HAND["key"],
    Case("order_matters", {"parts": [3, 2, 1, 7]}),
    Case("largest", {"parts": [2**64 - 1, 2**64 - 1]}, ("LARGE_WORD", "WRAP")),
    Case("negative", {"parts": [1, -1]}, error="value"),
    Case("too_large", {"parts": [2**64]}, error="value"),
    Case("real", {"parts": [1.0]}, error="type"),
    Case("true", {"parts": [True]}, error="type"),
)
UNIFORM = (
    *HAND["uniform"],
    Case("all_bits", {"k": ALL_BITS, "c": 0}, ("LARGE_WORD", "LAST")),
    Case("array", {"k": K, "c": words(0, 1, 2)}, ("LARGE_WORD",)),
    Case("last_counter", {"k": 5, "c": 2**64 - 1}, ("LARGE_WORD", "WRAP")),
    Case("none", {"k": 5, "c": words()}, ("EMPTY",)),
    Case("negative_counter", {"k": 5, "c": -1}, error="value"),
    Case("large_key", {"k": 2**64, "c": 0}, error="value"),
    Case("real_key", {"k": 5.0, "c": 0}, error="type"),
)
BELOW = (
    *HAND["below"],
    Case("never_n", {"k": ALL_BITS, "c": 0, "n": 2**53 - 1}, ("LARGE_WORD", "LAST")),
    Case("large_n", {"k": 8, "c": words(*range(6)), "n": 2**40 + 1}),
    Case("zero", {"k": 1, "c": 0, "n": 0}, error="value"),
    Case("too_large", {"k": 1, "c": 0, "n": 2**53}, error="value"),
    Case("real_n", {"k": 1, "c": 0, "n": 2.0}, error="type"),
    Case("true_n", {"k": 1, "c": 0, "n": True}, error="type"),
)
PICK = (
    *HAND["pick_without_replacement"],
    Case("none", {"k": 3, "c": 0, "N": 4, "m": 0}, ("EMPTY",)),
    Case("of_none", {"k": 3, "c": 0, "N": 0, "m": 0}, ("EMPTY",)),
    Case("few_of_many", {"k": 3, "c": 9, "N": 2**31 - 1, "m": 5}),
    Case("wraps", {"k": 3, "c": 2**64 - 2, "N": 7, "m": 5}, ("LARGE_WORD", "WRAP")),
    Case("too_many", {"k": 3, "c": 0, "N": 4, "m": 5}, error="value"),
    Case("wide", {"k": 3, "c": 0, "N": 2**31, "m": 1}, error="value"),
    Case("real_m", {"k": 3, "c": 0, "N": 4, "m": 2.0}, error="type"),
)
PERMUTATION = (
    *HAND["permutation"],
    Case("none", {"key": 1, "n": 0}, ("EMPTY",)),
    Case("one", {"key": 1, "n": 1}, ("ONE_NODE",)),
    Case("fifty", {"key": 6, "n": 50}),
    Case("negative", {"key": 1, "n": -1}, error="value"),
    Case("real", {"key": 1, "n": 3.0}, error="type"),
)
FLOYD = (
    *HAND["floyd"],
    Case("taken", {"key": 2, "n": 12, "f": 9}, ("TAKEN",)),
    Case("none", {"key": 9, "n": 4, "f": 0}, ("EMPTY",)),
    Case("too_many", {"key": 9, "n": 4, "f": 5}, error="value"),
    Case("real_f", {"key": 9, "n": 4, "f": 1.0}, error="type"),
    Case("true_f", {"key": 9, "n": 4, "f": True}, error="type"),
)
ALIAS = (
    *HAND["alias_build"],
    Case("inexact", {"weights": np.array([0.1, 0.7, 0.2, 1.3, 0.4, 0.05])}),
    Case("equal", {"weights": np.full(5, 0.3)}, ("TIE",)),
    Case("single", {"weights": np.array([0.1, 0.6, 0.2], np.float32)}, ("FLOAT32",)),
    Case("small_and_large", {"weights": np.array([1e-300, 1e300, 3.0])}, ("SPECIAL",)),
    Case("empty", {"weights": np.zeros(0)}, error="value"),
    Case("all_zero", {"weights": np.zeros(3)}, error="value"),
    Case("negative", {"weights": np.array([1.0, -1.0])}, error="value"),
    Case("infinite", {"weights": np.array([1.0, np.inf])}, error="value"),
    Case("integers", {"weights": np.array([1, 2])}, error="type"),
)
BATCHES = (
    *HAND["epoch_batches"],
    Case("even", {"ids": ids(*range(10, 22)), "batch_size": 4, "seed": 1, "epoch": 2}),
    Case("one_batch", {"ids": ids(5, 2, 8), "batch_size": 9, "seed": 3, "epoch": 0}, ("SHORT",)),
    Case(
        "largest_seed",
        {"ids": ids(5, 2, 8, 1), "batch_size": 1, "seed": 2**64 - 1, "epoch": 1},
        ("LARGE_WORD",),
    ),
    Case("no_size", {"ids": ids(1), "batch_size": 0, "seed": 1, "epoch": 1}, error="value"),
    Case("table", {"ids": ids(1, 2)[None], "batch_size": 1, "seed": 1, "epoch": 1}, error="value"),
    Case("real", {"ids": np.ones(2), "batch_size": 1, "seed": 1, "epoch": 1}, error="type"),
)

KERNELS = (
    Kernel("mix", "common", PLACE, MIX, flags=FLAGS),
    Kernel("key", "common", PLACE, KEY, flags=FLAGS),
    Kernel("uniform", "common", PLACE, UNIFORM, flags=FLAGS),
    Kernel("below", "common", PLACE, BELOW, flags=FLAGS),
    Kernel("pick_without_replacement", "common", "Fisher and Yates", PICK, flags=FLAGS),
    Kernel("permutation", "common", "Fisher and Yates", PERMUTATION, flags=FLAGS),
    Kernel("floyd", "common", "Bentley and Floyd 1987", FLOYD, flags=FLAGS),
    Kernel("alias_build", "common", "Vose 1991", ALIAS, flags=FLAGS),
    Kernel("epoch_batches", "vldb24", "section 2", BATCHES, flags=FLAGS),
)
