"""Random numbers by key and counter, and what is drawn with them."""

import numpy as np

from refimpl import streams
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.graphs import ids
from refimpl.samplers.alias import AliasTable

PLACE = "SplitMix64 with a key"
K = 16860246889822268962  # key(7, 1, 2, 3)
DRAWS = (  # of K
    "The draws of key(7, 1, 2, 3) begin .1615 .4620 .9754, as docs/conformance.md gives them. "
)
ALL_BITS = 3558559446808474027  # its draw 0 has all 53 bits set
FLAGS = {
    "WRAP": "A sum or a product passes 2**64 and is taken modulo 2**64.",
    "LAST": "The draw is the largest there is, (2**53 - 1) / 2**53: the index must stay in range.",
    "TAKEN": "An integer is drawn that is chosen already: the last one is taken instead.",
    "SHORT": "The last batch is shorter than the others.",
}


def words(*values):
    """Return 64-bit words, as `mix` takes them."""
    return np.array(values, np.uint64)


MIX = (
    Case(
        "zero",
        {"x": 0},
        ("WORKED",),
        0,
        "Shifts, exclusive ors and products of 0 are 0.",
    ),
    Case(
        "published",
        {"x": words(*((1234567 + i * streams.GOLD) % 2**64 for i in (1, 2, 3)))},
        ("WORKED", "LARGE_WORD", "WRAP"),
        words(6457827717110365317, 3203168211198807973, 9817491932198370423),
        "SplitMix64 seeded 1234567 gives mix(1234567 + i GOLD) as number i; these are the first "
        "three as published on Rosetta Code.",
    ),
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
    Case("no_parts", {"parts": []}, ("WORKED", "EMPTY"), 0, "The sum starts at 0."),
    Case(
        "zero",
        {"parts": [0]},
        ("WORKED", "LARGE_WORD"),
        0xE220A8397B1DCDAF,
        "mix(0 + GOLD + 0): the first number of SplitMix64 seeded 0, published as "
        "e220a8397b1dcdaf.",
    ),
    Case(
        "four",
        {"parts": [7, 1, 2, 3]},
        ("WORKED", "LARGE_WORD"),
        0xE9FBA137853DAE22,
        "A golden value of docs/kernels/streams.md.",
    ),
    Case("order_matters", {"parts": [3, 2, 1, 7]}),
    Case("largest", {"parts": [2**64 - 1, 2**64 - 1]}, ("LARGE_WORD", "WRAP")),
    Case("negative", {"parts": [1, -1]}, error="value"),
    Case("too_large", {"parts": [2**64]}, error="value"),
    Case("real", {"parts": [1.0]}, error="type"),
    Case("true", {"parts": [True]}, error="type"),
)
UNIFORM = (
    Case(
        "wraps_to_zero",
        {"k": 2**64 - streams.GOLD, "c": 0},
        ("WORKED", "LARGE_WORD", "WRAP"),
        0.0,
        "k + GOLD (0 + 1) is 2**64, which is 0, and mix(0) is 0.",
    ),
    Case(
        "published",
        {"k": 1234567, "c": 0},
        ("WORKED", "LARGE_WORD"),
        3153236189995295 / 2**53,
        "mix(1234567 + GOLD) is published as 6457827717110365317; divided by 2048 and rounded "
        "down that is 3153236189995295.",
    ),
    Case("all_bits", {"k": ALL_BITS, "c": 0}, ("LARGE_WORD", "LAST")),
    Case("array", {"k": K, "c": words(0, 1, 2)}, ("LARGE_WORD",)),
    Case("last_counter", {"k": 5, "c": 2**64 - 1}, ("LARGE_WORD", "WRAP")),
    Case("none", {"k": 5, "c": words()}, ("EMPTY",)),
    Case("negative_counter", {"k": 5, "c": -1}, error="value"),
    Case("large_key", {"k": 2**64, "c": 0}, error="value"),
    Case("real_key", {"k": 5.0, "c": 0}, error="type"),
)
BELOW = (
    Case(
        "ten",
        {"k": K, "c": words(0, 1, 2), "n": 10},
        ("WORKED", "LARGE_WORD"),
        np.array([1, 4, 9]),
        DRAWS + "Ten times that, rounded down: 1 4 9.",
    ),
    Case("one", {"k": K, "c": 4, "n": 1}, ("WORKED", "ONE_NODE"), 0, "Below 1 there is only 0."),
    Case("never_n", {"k": ALL_BITS, "c": 0, "n": 2**53 - 1}, ("LARGE_WORD", "LAST")),
    Case("large_n", {"k": 8, "c": words(*range(6)), "n": 2**40 + 1}),
    Case("zero", {"k": 1, "c": 0, "n": 0}, error="value"),
    Case("too_large", {"k": 1, "c": 0, "n": 2**53}, error="value"),
    Case("real_n", {"k": 1, "c": 0, "n": 2.0}, error="type"),
    Case("true_n", {"k": 1, "c": 0, "n": True}, error="type"),
)
PICK = (
    Case(
        "three_of_five",
        {"k": K, "c": 0, "N": 5, "m": 3},
        ("WORKED",),
        ids(0, 2, 4),
        DRAWS + "Of 0 1 2 3 4: floor(.1615 x 5) = 0 takes 0. 1 + floor(.4620 x 4) = 2 takes 2, "
        "and 1 stands in its place: 0 2 1 3 4. 2 + floor(.9754 x 3) = 4 takes 4.",
    ),
    Case(
        "moved",
        {"k": K, "c": 1, "N": 3, "m": 3},
        ("WORKED",),
        ids(1, 2, 0),
        DRAWS + "From the second on, of 0 1 2: floor(.4620 x 3) = 1 takes 1, and 0 stands in its "
        "place: 1 0 2. 1 + floor(.9754 x 2) = 2 takes 2, and 0 stands in its place. What is left "
        "is 0.",
    ),
    Case("none", {"k": 3, "c": 0, "N": 4, "m": 0}, ("EMPTY",)),
    Case("of_none", {"k": 3, "c": 0, "N": 0, "m": 0}, ("EMPTY",)),
    Case("few_of_many", {"k": 3, "c": 9, "N": 2**31 - 1, "m": 5}),
    Case("wraps", {"k": 3, "c": 2**64 - 2, "N": 7, "m": 5}, ("LARGE_WORD", "WRAP")),
    Case("too_many", {"k": 3, "c": 0, "N": 4, "m": 5}, error="value"),
    Case("wide", {"k": 3, "c": 0, "N": 2**31, "m": 1}, error="value"),
    Case("real_m", {"k": 3, "c": 0, "N": 4, "m": 2.0}, error="type"),
)
PERMUTATION = (
    Case(
        "four",
        {"key": K, "n": 4},
        ("WORKED",),
        ids(0, 2, 3, 1),
        DRAWS + "Of 0 1 2 3: 0 + floor(.1615 x 4) = 0 keeps 0. 1 + floor(.4620 x 3) = 2 swaps 1 "
        "and 2: 0 2 1 3. 2 + floor(.9754 x 2) = 3 swaps 1 and 3: 0 2 3 1.",
    ),
    Case("none", {"key": 1, "n": 0}, ("EMPTY",)),
    Case("one", {"key": 1, "n": 1}, ("ONE_NODE",)),
    Case("fifty", {"key": 6, "n": 50}),
    Case("negative", {"key": 1, "n": -1}, error="value"),
    Case("real", {"key": 1, "n": 3.0}, error="type"),
)
FLOYD = (
    Case(
        "three_of_five",
        {"key": K, "n": 5, "f": 3},
        ("WORKED",),
        ids(0, 1, 4),
        DRAWS + "floor(.1615 x 3) = 0, floor(.4620 x 4) = 1 and floor(.9754 x 5) = 4 are all new.",
    ),
    Case(
        "ten_of_thirty",
        {"key": K, "n": 30, "f": 10},
        ("WORKED", "TAKEN"),
        ids(2, 3, 6, 10, 15, 19, 21, 22, 26, 29),
        "A golden value of docs/kernels/choosing.md.",
    ),
    Case(
        "all",
        {"key": 9, "n": 4, "f": 4},
        ("WORKED", "TAKEN"),
        ids(0, 1, 2, 3),
        "Step c chooses among the first c + 1 integers, of which c are chosen: whatever the "
        "draws, all are in the end.",
    ),
    Case("taken", {"key": 2, "n": 12, "f": 9}, ("TAKEN",)),
    Case("none", {"key": 9, "n": 4, "f": 0}, ("EMPTY",)),
    Case("too_many", {"key": 9, "n": 4, "f": 5}, error="value"),
    Case("real_f", {"key": 9, "n": 4, "f": 1.0}, error="type"),
    Case("true_f", {"key": 9, "n": 4, "f": True}, error="type"),
)
ALIAS = (
    Case(
        "quarters",
        {"weights": np.array([1.0, 1.0, 2.0, 4.0])},
        ("WORKED", "TIE"),
        AliasTable(np.array([0.5, 0.5, 1.0, 1.0]), np.array([3, 3, 2, 3])),
        "The sum is 8; four times the shares are 1/2 1/2 1 2, so 0 1 are small, 2 3 are large. "
        "From the tops of the stacks: 1 takes its other half from 3, which keeps 2 + 1/2 - 1 = "
        "3/2 and goes back; 0 takes its other half from 3, which keeps 1. The rest is whole.",
    ),
    Case(
        "one",
        {"weights": np.array([7.0])},
        ("WORKED", "ONE_NODE"),
        AliasTable(np.ones(1), np.array([0])),
        "The only outcome has all of the only part.",
    ),
    Case(
        "zero_weight",
        {"weights": np.array([0.0, 5.0])},
        ("WORKED",),
        AliasTable(np.array([0.0, 1.0]), np.array([1, 1])),
        "Twice the shares are 0 and 2: part 0 is all of outcome 1, which keeps 2 + 0 - 1 = 1.",
    ),
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
    Case(
        "three_by_two",
        {"ids": ids(7, 3, 9), "batch_size": 2, "seed": 4, "epoch": 12},
        ("WORKED", "SHORT"),
        [ids(3, 9), ids(7)],
        "The domain NODES is 9. The draws of key(4, 9, 12) begin .4976 .9840 .5913. Of 0 1 2: "
        "floor(.4976 x 3) = 1 swaps 0 and 1; 1 + floor(.9840 x 2) = 2 swaps 0 and 2: 1 2 0. So the "
        "ids are 3 9 7.",
    ),
    Case(
        "no_ids",
        {"ids": ids(), "batch_size": 3, "seed": 1, "epoch": 1},
        ("WORKED", "EMPTY"),
        [],
        "There is nothing to cut.",
    ),
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
