"""Blocks: their norms, and message-flow graphs without what only cached nodes would need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl.block import MFG, Block
from refimpl.hints import Integers, Mask
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.graphs import PAW, ids
from refimpl.lab.apps.conformance.inputs import PRUNED, SAMPLED, block, changed
from refimpl.lab.apps.conformance.worked import worked

if TYPE_CHECKING:
    from refimpl.graph import Graph

HAND = worked("blocks")

NOBODY = block([], 0)


def pattern(
    start: Integers, end: Integers, indices: Integers, n_src: int, edge_ids: Integers | None = None
) -> Block:
    """Return the Block of these lists."""
    start, end, indices = (np.array(values, np.int64) for values in (start, end, indices))
    return Block(start, end, indices, n_src, None if edge_ids is None else np.array(edge_ids))


def weighted(block: Block) -> Block:
    """Return the Block with weights 1, 1.5, 2, ..."""
    parts = block.start, block.end, block.indices, block.n_src, block.edge_ids
    return Block(*parts, 1 + np.arange(block.e) / 2)


NUMBERED = pattern([0, 1], [1, 4], [1, 2, 3, 0], 4, [7, 4, 5, 6])
NORM_FLAGS = {
    "DEAD": "Entries of the pattern that belong to no row: they are not in the result.",
    "LOOP": "A sampled self-loop is the node itself: one entry, first in its row.",
    "ROW": "The mean over the sampled neighbours.",
    "SELF": "The mean over the node itself, first in its row, and the sampled neighbours.",
    "SYM": "An unbiased estimate of the symmetric norm: the node itself first in its row.",
    "WEIGHTS": "The entries have weights: each counts by its weight over the mean of its row.",
}


def norm(
    kind: str, block: Graph | Block, degrees: Sequence[int] | None = None, **others: Any
) -> dict[str, Any]:
    """Return the arguments of `block_norm`."""
    degrees = None if degrees is None else np.array(degrees, np.int64)
    return {"kind": kind, "block": block, "degrees": degrees, **others}


BLOCK_NORM = (
    *HAND["block_norm"],
    Case("nothing", norm("row", NOBODY), ("EMPTY", "ROW")),
    Case("dead_row", norm("row", PRUNED), ("DEAD", "ISOLATED", "ROW")),
    Case("dead_loop", norm("loop", PRUNED), ("DEAD", "ISOLATED", "SELF", "LOOP")),
    Case("dead_sym", norm("sym", PRUNED, [4, 0, 3, 7, 1]), ("DEAD", "ISOLATED", "SYM", "LOOP")),
    Case("row_single", norm("row", SAMPLED, dtype="float32"), ("FLOAT32", "ISOLATED", "ROW")),
    Case(
        "sym_single",
        norm("sym", SAMPLED, [6, 0, 3, 7, 1], dtype="float32"),
        ("FLOAT32", "ISOLATED", "SYM", "LOOP"),
    ),
    Case("weighted_row", norm("row", weighted(PRUNED)), ("DEAD", "ISOLATED", "ROW", "WEIGHTS")),
    Case(
        "weighted_loop",
        norm("loop", weighted(PRUNED), dtype="float32"),
        ("DEAD", "FLOAT32", "ISOLATED", "SELF", "LOOP", "WEIGHTS"),
    ),
    Case(
        "weighted_sym",
        norm("sym", weighted(SAMPLED), [6, 0, 3, 7, 1]),
        ("ISOLATED", "SYM", "LOOP", "WEIGHTS"),
    ),
    Case("few_sources_row", norm("row", block([[0], [], [0]], 1)), ("ISOLATED", "ROW")),
    Case("few_sources_loop", norm("loop", block([[0], [], [0]], 1)), error="value"),
    Case("unknown_kind", norm("mean", SAMPLED), error="value"),
    Case("no_degrees", norm("sym", SAMPLED), error="value"),
    Case("short_degrees", norm("sym", SAMPLED, [1, 2]), error="value"),
    Case("no_block", norm("row", PAW), error="type"),
    Case("integer_dtype", norm("row", SAMPLED, dtype="int64"), error="type"),
)

PRUNE_FLAGS = {
    "ALL_HIT": "All embeddings of a layer are cached: nothing below is needed.",
    "COUNTED": "`ops` and `touched_bytes` follow from the layout; the rest does not.",
    "EDGE_IDS": "The entries know where they stand in the graph.",
    "NO_LAYERS": "No block: the roots are the inputs.",
    "NO_SELF": "A node does not need its own embedding of the layer below.",
    "SHARED_SOURCE": "A source of a cached node stays if a computed one needs it too.",
    "WEIGHTS": "The entries have weights; only the layout `csr2` takes them.",
    "UNNEEDED_HIT": "Cached, and dead: it counts neither as computed nor as live.",
}


def flow(sizes: Sequence[int], *blocks: Block) -> MFG:
    """Return the MFG of these blocks, the first layer first; nodes are numbered from 0."""
    return MFG(tuple(ids(*range(size)) for size in sizes), blocks)


def prune(mfg: MFG, *hit: Sequence[int], **others: Any) -> dict[str, Any]:
    """Return the arguments of `prune_mfg`: `hit` as lists of 0 and 1."""
    return {"mfg": mfg, "hit": [np.array(layer, np.bool_) for layer in hit], **others}


def masks(*layers: Sequence[int]) -> tuple[Mask, ...]:
    """Return bool arrays of lists of 0 and 1."""
    return tuple(np.array(layer, np.bool_) for layer in layers)


TREE = HAND["prune_mfg"][0].args["mfg"]
ROOT = TREE.blocks[1]
CHAIN = flow(
    [6, 4, 2, 1],
    block([[4, 1], [2], [5, 3, 0], [3]], 6),
    block([[1, 2], [3]], 4),
    block([[1, 0]], 2),
)
CHAIN_HIT = ([0, 1, 0, 1], [0, 1], [0])
WITH_WEIGHTS = MFG(TREE.nodes, tuple(map(weighted, TREE.blocks)))
PRUNE = (
    *HAND["prune_mfg"],
    Case("no_layers", prune(flow([3])), ("NO_LAYERS",)),
    Case("nothing_cached", prune(CHAIN, [0, 0, 0, 0], [0, 0], [0])),
    Case("all_hit", prune(CHAIN, [0, 0, 0, 0], [1, 1], [0]), ("ALL_HIT",)),
    Case("weights", prune(flow([4, 2], weighted(NUMBERED)), [0, 0]), ("EDGE_IDS", "WEIGHTS")),
    Case("unneeded_hit", prune(CHAIN, *CHAIN_HIT), ("UNNEEDED_HIT",)),
    *(
        Case(f"chain_{layout}", prune(CHAIN, *CHAIN_HIT, layout=layout), ("COUNTED",))
        for layout in ("csr", "csr_batched", "coo", "coo_compact")
    ),
    *(
        Case(
            f"edge_ids_{layout}",
            prune(flow([4, 2], NUMBERED), [0, 0], layout=layout),
            ("COUNTED", "EDGE_IDS"),
        )
        for layout in ("csr2", "csr", "coo_compact")
    ),
    *changed(
        {
            "cached_root": {"hit": list(masks([0, 0, 0], [1]))},
            "layer_missing": {"hit": list(masks([0]))},
            "short_layer": {"hit": list(masks([0, 0], [0]))},
            "unknown_layout": {"layout": "csc"},
            "weights_in_rows": {"mfg": WITH_WEIGHTS, "layout": "csr"},
            "blocks_do_not_fit": {"mfg": flow([5, 2, 1], TREE.blocks[0], ROOT)},
        },
        prune(TREE, [0, 0, 1], [0]),
        "value",
    ),
    *changed(
        {
            "integer_hit": {"hit": [np.zeros(3, np.int64), np.zeros(1, np.int64)]},
            "no_mfg": {"mfg": None},
            "number_for_bool": {"uses_self": 1},
        },
        prune(TREE, [0, 0, 1], [0]),
        "type",
    ),
)

KERNELS = (
    Kernel("block_norm", "jpdc21", "Equations 1, 4 and 6", BLOCK_NORM, flags=NORM_FLAGS),
    Kernel("prune_mfg", "vldb24", "Algorithm 1", PRUNE, "6-9", flags=PRUNE_FLAGS),
)
