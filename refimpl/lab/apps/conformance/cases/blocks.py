"""Blocks: their norms, and message-flow graphs without what only cached nodes would need."""

import numpy as np

from refimpl.adjacency import Adjacency
from refimpl.block import MFG, Block
from refimpl.history.pruning import PruneResult
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.graphs import PAW, ids
from refimpl.lab.apps.conformance.inputs import PRUNED, SAMPLED, block, changed

NOBODY = block([], 0)


def pattern(start, end, indices, n_src, edge_ids=None):
    """Return the Block of these lists."""
    start, end, indices = (np.array(values, np.int64) for values in (start, end, indices))
    return Block(start, end, indices, n_src, None if edge_ids is None else np.array(edge_ids))


NUMBERED = pattern([0, 1], [1, 4], [1, 2, 3, 0], 4, [7, 4, 5, 6])
NORM_FLAGS = {
    "DEAD": "Entries of the pattern that belong to no row: they are not in the result.",
    "LOOP": "A sampled self-loop is the node itself: one entry, first in its row.",
    "ROW": "The mean over the sampled neighbours.",
    "SELF": "The mean over the node itself, first in its row, and the sampled neighbours.",
    "SYM": "An unbiased estimate of the symmetric norm: the node itself first in its row.",
}


def norm(kind, block, degrees=None, **others):
    """Return the arguments of `block_norm`."""
    degrees = None if degrees is None else np.array(degrees, np.int64)
    return {"kind": kind, "block": block, "degrees": degrees, **others}


SELF_SAMPLED = block([[1, 2], [2, 1]], 3)
BLOCK_NORM = (
    Case(
        "row",
        norm("row", block([[1, 2], []], 3)),
        ("WORKED", "ROW", "ISOLATED"),
        Adjacency(
            pattern([0, 2], [2, 2], [1, 2], 3),
            np.array([0.5, 0.5]),
            np.array([0.5, 0.5]),
            pattern([0, 0, 1], [0, 1, 2], [0, 0], 2),
            np.array([0, 1]),
        ),
        "Two neighbours with 1/2 each; the second row stays empty. Nobody reads source 0, row 0 "
        "reads sources 1 and 2.",
    ),
    Case(
        "loop",
        norm("loop", SELF_SAMPLED),
        ("WORKED", "SELF", "LOOP"),
        Adjacency(
            pattern([0, 3], [3, 5], [0, 1, 2, 1, 2], 3),
            np.array([1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2]),
            np.array([1 / 3, 1 / 3, 1 / 2, 1 / 3, 1 / 2]),
            pattern([0, 1, 3], [1, 3, 5], [0, 0, 1, 0, 1], 2),
            np.array([0, 1, 3, 2, 4]),
        ),
        "Row 0 is itself, then 1 2: thirds. Row 1 has sampled 2 and itself, which moves to the "
        "front: 1 2, halves. Source 0 is read by row 0 (entry 0), source 1 by both (entries 1 and "
        "3), source 2 by both (entries 2 and 4).",
    ),
    Case(
        "sym",
        norm("sym", block([[1, 2]], 3), [3, 3, 15]),
        ("WORKED", "SYM"),
        Adjacency(
            pattern([0], [3], [0, 1, 2], 3),
            np.array([1 / 4, 3 / 8, 3 / 16]),
            np.array([1 / 4, 3 / 8, 3 / 16]),
            pattern([0, 1, 2], [1, 2, 3], [0, 0, 0], 1),
            np.array([0, 1, 2]),
        ),
        "The node has degree 3: 1 / (3 + 1) for itself. It has sampled 2 of its 3, so what they "
        "have is taken 3/2 times: 3/2 / sqrt(4 x 4) = 3/8 and 3/2 / sqrt(16 x 4) = 3/16.",
    ),
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
    "UNNEEDED_HIT": "Cached, and dead: it counts neither as computed nor as live.",
}


def flow(sizes, *blocks):
    """Return the MFG of these blocks, the first layer first; nodes are numbered from 0."""
    return MFG(tuple(ids(*range(size)) for size in sizes), blocks)


def prune(mfg, *hit, **others):
    """Return the arguments of `prune_mfg`: `hit` as lists of 0 and 1."""
    return {"mfg": mfg, "hit": [np.array(layer, np.bool_) for layer in hit], **others}


def masks(*layers):
    """Return bool arrays of lists of 0 and 1."""
    return tuple(np.array(layer, np.bool_) for layer in layers)


ROOT = block([[1, 2]], 3)
TREE = flow([5, 3, 1], block([[1], [3], [3, 4]], 5), ROOT)
LIVE = masks([1, 1, 0, 1, 0], [1, 1, 1], [1])
COMPUTED = masks([1, 1, 0], [1])
TREE_WORKING = (
    "The root needs nodes 1 and 2, and itself. 2 is cached: its row, 3 4, goes. Nodes 0 and 1 "
    "are computed: they need themselves, and 1 and 3. So 3 stays, which 1 needs as well; 4 does "
    "not, nor does 2, which only its own computing would need."
)
CHAIN = flow(
    [6, 4, 2, 1],
    block([[4, 1], [2], [5, 3, 0], [3]], 6),
    block([[1, 2], [3]], 4),
    block([[1, 0]], 2),
)
CHAIN_HIT = ([0, 1, 0, 1], [0, 1], [0])
PRUNE = (
    Case(
        "shared_source",
        prune(TREE, [0, 0, 1], [0]),
        ("WORKED", "SHARED_SOURCE"),
        PruneResult(
            flow([5, 3, 1], pattern([0, 1, 2], [1, 2, 2], [1, 3, 3, 4], 5), ROOT),
            LIVE,
            COMPUTED,
            1,
            8,
        ),
        TREE_WORKING + " One row end of 8 bytes is stored.",
    ),
    Case(
        "batched",
        prune(TREE, [0, 0, 1], [0], layout="csr_batched"),
        ("WORKED", "SHARED_SOURCE", "COUNTED"),
        PruneResult(
            flow([5, 3, 1], pattern([0, 1, 2], [1, 2, 2], [1, 3], 5), ROOT),
            LIVE,
            COMPUTED,
            8,
            48,
        ),
        TREE_WORKING + " Both blocks are written anew, without dead entries: 1 row and 2 entries, "
        "and 3 rows and 2 entries: 8 numbers; rows have 8 bytes, entries 4: 4 x 8 + 4 x 4.",
    ),
    Case(
        "no_self",
        prune(TREE, [0, 0, 1], [0], uses_self=False),
        ("WORKED", "NO_SELF"),
        PruneResult(
            flow([5, 3, 1], pattern([0, 1, 2], [0, 2, 2], [1, 3, 3, 4], 5), ROOT),
            masks([0, 0, 0, 1, 0], [0, 1, 1], [1]),
            masks([0, 1, 0], [1]),
            2,
            16,
        ),
        "The root needs nodes 1 and 2, not itself: 0 is dead, its row goes. 2 is cached: its row "
        "goes too. Two row ends. 1 is computed, and needs 3 only.",
    ),
    Case("no_layers", prune(flow([3])), ("NO_LAYERS",)),
    Case("nothing_cached", prune(CHAIN, [0, 0, 0, 0], [0, 0], [0])),
    Case("all_hit", prune(CHAIN, [0, 0, 0, 0], [1, 1], [0]), ("ALL_HIT",)),
    Case("unneeded_hit", prune(CHAIN, *CHAIN_HIT), ("UNNEEDED_HIT",)),
    *(
        Case(f"chain_{layout}", prune(CHAIN, *CHAIN_HIT, layout=layout), ("COUNTED",))
        for layout in ("csr", "csr_batched", "coo", "coo_compact")
    ),
    *(
        Case(
            f"edge_ids_{layout}",
            prune(
                flow([4, 2], NUMBERED),
                [0, 0],
                layout=layout,
            ),
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
