"""Which embeddings are kept: the policies for accuracy and performance (FreshGNN, section 4)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from refimpl.block import MFG
from refimpl.hints import Integers, Mask
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.inputs import block, changed, numbers
from refimpl.lab.apps.conformance.worked import worked
from refimpl.streams import permutation

HAND = worked("policy")

STABLE_FLAGS = {
    "FLOOR": "The count is floor(p m + 1e-9): a product just below an integer counts as that.",
    "TIE": "Scores are equal: the lower id is stable first.",
}
SHARE_FLAGS = {
    "DEAD": "Entries of a block that belong to no row.",
    "EDGE_IDS": "Blocks that say where their entries stand in the graph: it plays no part.",
    "ORDER": "A row is summed from the node's own share on, then in the order of its entries.",
}

STABLE = HAND["select_stable"][0].args


def stable(
    id: str, score: Any, ids: Integers, p: float, *flags: str, dtype: DTypeLike = np.float64
) -> Case:
    """Return a case of `select_stable`."""
    args = {"score": np.array(score, dtype), "ids": np.array(ids, np.int64), "p": p}
    return Case(id, args, flags)


def mfg(n: int, *layers: Sequence[Sequence[int]], dead: int = 0) -> MFG:
    """Return the MFG of n inputs with these rows for each layer; node v has id 10 v + 7."""
    blocks, sizes = [], [n]
    for rows in layers:
        blocks.append(block(rows, sizes[-1], dead))
        sizes.append(len(rows))
    nodes = tuple(np.arange(size, dtype=np.int32) * 10 + 7 for size in sizes)
    return MFG(nodes, tuple(blocks))


SHARED = HAND["fair_share"][0].args
# In another order of addition, other last bits.
ROUNDED = mfg(
    8,
    [[7, 4, 2, 0, 1], [4, 6, 7, 5, 3], [4, 6, 5, 1, 2], [0, 5, 1, 3, 4], [3, 7, 1, 5, 0]],
    [[1, 4, 2], [3, 2, 1], [1, 0, 4]],
    [[2, 1]],
)
ALL_OF_8 = np.ones(8, np.bool_)
WITH_IDS = ROUNDED._replace(
    blocks=tuple(
        type(b)(b.start, b.end, b.indices, b.n_src, np.arange(b.e)[::-1] * 3)
        for b in ROUNDED.blocks
    )
)


def share(id: str, mfg: MFG, needed: Sequence[int] | Mask, *flags: str) -> Case:
    """Return a case of `fair_share`."""
    return Case(id, {"mfg": mfg, "needed": np.array(needed, np.bool_)}, flags)


INFINITE = [np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324]
MANY = permutation(5, 40) % 7 / 4  # 40 scores, of which many are equal

KERNELS = (
    Kernel(
        "select_stable",
        "vldb24",
        "section 4.1",
        (
            *HAND["select_stable"],
            stable("equal_ids", [2, 2, 2, 1], [3, 3, 3, 3], 0.5, "TIE", "DUPLICATE"),
            stable("distinct", numbers(9, 1), range(9), 0.4),
            stable("many_ties", MANY, permutation(6, 40), 0.35, "TIE"),
            stable("float32", MANY[:10], range(10, 0, -1), 0.6, "FLOAT32", "TIE", dtype=np.float32),
            stable("just_below_29", np.zeros(100), range(100), 0.29, "TIE", "FLOOR"),
            stable("infinities_and_zeros", INFINITE, [4, 5, 1, 0, 2, 3], 0.5, "SPECIAL", "TIE"),
            stable("large_ids", [1, 1, 1], [2**62, 2**53 + 1, 2**53], 0.34, "TIE", "LARGE_WORD"),
            stable("all", [2, 1], [0, 1], 1.0),
            stable("none", [2, 1], [0, 1], 0.0),
            stable("one_row", [7], [3], 0.999, "ONE_NODE"),
            stable("no_rows", [], [], 0.5, "EMPTY"),
            *changed(
                {
                    "more_than_all": {"p": 1.5},
                    "an_id_too_few": {"ids": np.array([5, 9, 4])},
                    "id_below_0": {"ids": np.array([5, 9, -4, 0])},
                },
                STABLE,
                "value",
            ),
            *changed(
                {
                    "integer_score": {"score": np.array([3, 1, 1, 2])},
                    "ids_no_integers": {"ids": np.array([5.0, 9, 4, 0])},
                },
                STABLE,
                "type",
            ),
        ),
        flags=STABLE_FLAGS,
    ),
    Kernel(
        "fair_share",
        "vldb24",
        "section 4.2",
        (
            *HAND["fair_share"],
            share("three_layers", ROUNDED, ALL_OF_8, "ORDER"),
            share("some_cached", ROUNDED, [0, 1, 1, 0, 0, 1, 1, 0], "ORDER"),
            share("none_needed", ROUNDED, [0] * 8),
            share("edge_ids", WITH_IDS, ALL_OF_8, "ORDER", "EDGE_IDS"),
            share("dead_entries", mfg(4, [[3, 1], [], [2]], [[2], []], dead=1), [1] * 4, "DEAD"),
            share("isolated", mfg(3, [[], [], []]), [1, 0, 1], "ISOLATED"),
            share("no_layers", mfg(2), [1, 0], "NO_EDGES"),
            share("no_nodes", mfg(0, [], []), [], "EMPTY"),
            *changed({"a_node_too_few": {"needed": np.ones(2, np.bool_)}}, SHARED, "value"),
            *changed(
                {"blocks_do_not_fit": {"mfg": MFG(SHARED["mfg"].nodes[:2], ROUNDED.blocks[:1])}},
                SHARED,
                "value",
            ),
            *changed({"needed_no_bools": {"needed": np.array([1, 0, 1])}}, SHARED, "type"),
        ),
        flags=SHARE_FLAGS,
    ),
)
