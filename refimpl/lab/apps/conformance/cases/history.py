"""The cache of embeddings: finding, reading and writing entries (FreshGNN, section 4.2)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from refimpl.hints import Ids, Integers, Matrix, Positions
from refimpl.history.entries import Entries, cache_admit
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.inputs import changed, numbers, single
from refimpl.lab.apps.conformance.worked import worked

HAND = worked("history")

FLAGS = {
    "COMPUTED": "A slot of -1 stands for the next row of `computed`.",
    "GHOST": "The map names a slot that went to another node since: no entry.",
    "LAYERS": "Key (l - 1) n + v: the same node in two layers is two entries.",
    "NO_SLOTS": "A buffer without slots.",
    "OUT_OF_RANGE": "The map names a slot that there is not: no entry.",
    "STALE": "An entry older than the oldest stamp asked for: none; one just as old is valid.",
    "TAKE": "Values are rows of a larger matrix.",
    "BACK": "Slots that do not ascend: the header went back.",
}


def nothing(slots: int, h: int, layers: int, n: int) -> Entries:
    """Return Entries without an entry."""
    return Entries(
        np.zeros((slots, h)),
        np.full((layers, n), -1, np.int32),
        np.full(slots, -1, np.int64),
        np.zeros(slots, np.int32),
    )


def after(entries: Entries, *calls: dict[str, Any]) -> Entries:
    """Return Entries like these after some calls of `cache_admit`, each a dict of arguments."""
    entries = Entries(*(array.copy() for array in entries))  # type: ignore[arg-type]  # all fields
    for call in calls:
        cache_admit(entries, **call)
    return entries


def states(
    entries: Entries,
    layer: int,
    ids: Ids,
    values: Matrix[Any],
    slots: Ids,
    i: int,
    take: Positions | None = None,
) -> list[dict[str, Any]]:
    """Return the entries after each of `ids` has been written."""
    found = []
    for j in range(1, len(ids) + 1):
        rows = {"values": values[:j]} if take is None else {"values": values, "take": take[:j]}
        call = {"layer": layer, "ids": ids[:j], **rows, "slots": slots[:j], "i": i}
        found.append({"entries": after(entries, call)})
    return found


def admit(
    layer: int,
    ids: Sequence[int],
    slots: Sequence[int],
    i: int,
    *,
    h: int = 2,
    seed: int = 0,
    take: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Return the arguments of `cache_admit` but the entries, in float64."""
    ids = np.array(ids, np.int32)
    rows = len(ids) if take is None else max(take) + 1
    values, slots = numbers((rows, h), seed), np.array(slots, np.int32)
    call = {"layer": layer, "ids": ids, "values": values, "slots": slots, "i": i}
    return call if take is None else {**call, "take": np.array(take, np.int64)}


LOOKUP = HAND["cache_lookup"][0].args
LOOKUP_ENTRIES = LOOKUP["entries"]

ADMIT = HAND["cache_admit"][0].args

# One buffer of 4 slots for 2 layers of 6 nodes, over four iterations.
EMPTY = nothing(4, 2, 2, 6)
FILL = admit(1, [0, 1, 2], [0, 1, 2], 0, seed=1)
AROUND = admit(2, [0, 5], [3, 0], 1, seed=2)
MOVED = admit(1, [2, 3], [1, 2], 2, seed=3, take=[4, 1])
ALL = admit(1, [5, 4, 1, 0], [2, 3, 0, 1], 3, seed=4)
STEPS = after(EMPTY), after(EMPTY, FILL), after(EMPTY, FILL, AROUND)
MOVED_STEP = after(STEPS[2], MOVED)
EVERY = np.arange(6)
OUTSIDE = LOOKUP_ENTRIES._replace(slot_of=np.array([[3, -2, 2**31 - 1]] * 2, np.int32))
GONE = after(MOVED_STEP)
GONE.slot_of[0, 2] = -1  # as an eviction leaves it

FETCH = HAND["cache_fetch"][0].args
WARM = {
    "features": numbers((4, 3), 5),
    "rank": np.array([5, 3, 0, 6, 1, 2, 4], np.int32),
    "ids": np.arange(7),
    "held": 4,
}
READ = HAND["cache_read"][0].args
BESIDE = HAND["cache_read"][1].args

BAD_CALL = {"no_such_layer": {"layer": 3}, "layer_0": {"layer": 0}}


def lookup(
    id: str, entries: Entries, layer: int, oldest: int, *flags: str, ids: Integers = EVERY
) -> Case:
    """Return a case of `cache_lookup`."""
    return Case(id, {"entries": entries, "layer": layer, "ids": ids, "oldest": oldest}, flags)


KERNELS = (
    Kernel(
        "cache_lookup",
        "vldb24",
        "section 4.2",
        (
            *HAND["cache_lookup"],
            lookup("nothing_yet", EMPTY, 1, 0),
            lookup("filled", STEPS[1], 1, 0),
            lookup("other_layer", STEPS[1], 2, 0, "LAYERS"),
            lookup("overwritten", STEPS[2], 1, 0, "GHOST", "LAYERS"),
            lookup("second_layer", STEPS[2], 2, 0, "LAYERS"),
            lookup("of_this_iteration_only", MOVED_STEP, 1, 2, "STALE", "GHOST"),
            lookup("evicted", GONE, 1, 0),
            lookup("any_age", MOVED_STEP, 1, -(2**63), "LARGE_WORD", "GHOST"),
            lookup("outside_the_buffer", OUTSIDE, 1, 0, "OUT_OF_RANGE", ids=np.arange(3)),
            lookup("no_slots", nothing(0, 2, 1, 6), 1, 0, "NO_SLOTS"),
            lookup("no_ids", STEPS[1], 1, 0, "EMPTY", ids=np.zeros(0, np.int32)),
            *changed({**BAD_CALL, "node_3_of_3": {"ids": np.array([3])}}, LOOKUP, "value"),
            *changed({"ids_no_integers": {"ids": np.array([0.5])}}, LOOKUP, "type"),
        ),
        flags={name: FLAGS[name] for name in FLAGS if name not in ("COMPUTED", "TAKE", "BACK")},
    ),
    Kernel(
        "cache_admit",
        "vldb24",
        "section 4.2",
        (
            *HAND["cache_admit"],
            Case("fill", {"entries": EMPTY, **FILL}),
            Case("around_the_end", {"entries": STEPS[1], **AROUND}, ("BACK", "LAYERS")),
            Case("a_node_moves", {"entries": STEPS[2], **MOVED}, ("TAKE",)),
            Case("every_slot", {"entries": MOVED_STEP, **ALL}, ("BACK",)),
            Case("float32", single({"entries": STEPS[1], **AROUND}), ("FLOAT32", "BACK")),
            Case("no_ids", {"entries": STEPS[1], **admit(1, [], [], 7)}, ("EMPTY",)),
            Case(
                "no_slots",
                {"entries": nothing(0, 2, 1, 3), **admit(1, [], [], 7)},
                ("EMPTY", "NO_SLOTS"),
            ),
            *changed(
                {
                    **BAD_CALL,
                    "more_ids_than_slots": {"ids": np.arange(3), "values": np.ones((3, 1))},
                    "a_slot_twice": {"slots": np.array([1, 1])},
                    "values_too_wide": {"values": np.ones((2, 2))},
                    "no_such_slot": {"slots": np.array([2, 3])},
                    "row_out_of_range": {"take": np.array([0, 2])},
                    "iteration_below_0": {"i": -1},
                },
                ADMIT,
                "value",
            ),
            *changed({"two_dtypes": {"values": np.ones((2, 1), np.float32)}}, ADMIT, "type"),
        ),
        flags={name: FLAGS[name] for name in ("LAYERS", "NO_SLOTS", "TAKE", "BACK")},
        writes=("entries",),
        states=states,
    ),
    Kernel(
        "cache_read",
        "vldb24",
        "section 4.2",
        (
            *HAND["cache_read"],
            Case("all", {"rows": MOVED_STEP.rows, "slots": np.array([3, 2, 1, 0], np.int32)}),
            Case(
                "float32",
                {"rows": single(numbers((5, 3), 6)), "slots": np.array([4, 1])},
                ("FLOAT32",),
            ),
            Case(
                "special_numbers",
                {
                    "rows": np.array([[np.nan, -np.inf], [np.inf, 5e-324]]),
                    "slots": np.array([1, 0]),
                },
                ("SPECIAL",),
            ),
            Case("no_slots", {"rows": np.ones((0, 3)), "slots": np.zeros(0, np.int64)}, ("EMPTY",)),
            Case(
                "all_computed",
                {
                    "rows": np.ones((0, 3)),
                    "slots": np.array([-1, -1]),
                    "computed": numbers((2, 3), 8),
                },
                ("COMPUTED", "EMPTY"),
            ),
            Case("width_0", {"rows": np.ones((2, 0)), "slots": np.array([1])}, ("EMPTY",)),
            *changed(
                {
                    "slot_3_of_3": {"slots": np.array([3])},
                    "slot_below_0": {"slots": np.array([-1])},
                },
                READ,
                "value",
            ),
            *changed({"integers": {"rows": np.ones((3, 2), np.int64)}}, READ, "type"),
            *changed(
                {
                    "slot_minus_2": {"slots": np.array([0, -2])},
                    "one_row_too_few": {"slots": np.array([-1, -1, -1, 0])},
                    "another_width": {"computed": np.ones((1, 3))},
                },
                BESIDE,
                "value",
            ),
            *changed({"another_dtype": {"computed": np.ones((1, 2), np.float32)}}, BESIDE, "type"),
        ),
        flags={"COMPUTED": FLAGS["COMPUTED"]},
    ),
    Kernel(
        "cache_fetch",
        "vldb24",
        "section 4.2",
        (
            *HAND["cache_fetch"],
            Case("all_ranks", WARM),
            Case("grown_over", {**WARM, "held": 1}, ("FEWER",)),
            Case("none_held", {**WARM, "held": 0}, ("FEWER",)),
            Case("float32", {**WARM, "features": single(WARM["features"])}, ("FLOAT32",)),
            Case(
                "never_filled", {**WARM, "rank": np.full(7, 2**31 - 1, np.int32)}, ("NOT_RANKED",)
            ),
            Case(
                "ranks_below_0",
                {**WARM, "rank": np.array([-1, 0, -5, 1, 2, 3, 9], np.int32)},
                ("NOT_RANKED",),
            ),
            Case("no_ids", {**WARM, "ids": np.zeros(0, np.int32)}, ("EMPTY",)),
            Case("no_features", {**WARM, "features": np.ones((0, 3)), "held": 0}, ("EMPTY",)),
            *changed({"more_held_than_rows": {"held": 4}}, FETCH, "value"),
            *changed({"node_5_of_5": {"ids": np.array([5])}}, FETCH, "value"),
            *changed({"ranks_of_64_bits": {"rank": np.arange(5)}}, FETCH, "type"),
        ),
        flags={
            "FEWER": "Fewer ranks are held than there are rows: embeddings grew over the rest.",
            "NOT_RANKED": "Ranks below 0, or above every row: the node's features are not held.",
        },
    ),
)
