"""The live rows of a pruned message-flow graph, numbered anew."""

from typing import Any

import numpy as np

from refimpl import prune_mfg
from refimpl.block import MFG
from refimpl.history.compaction import LiveRows
from refimpl.history.pruning import PruneResult
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.cases.blocks import COMPUTED, LIVE, ROOT, TREE, masks, pattern
from refimpl.lab.apps.conformance.inputs import changed

FLAGS = {
    "CACHED": "A row that is read from a cache has no row in the block, and stays as a source.",
    "IDS": "The block's entries keep their positions in the graph.",
}
TWO: Any = np.arange(2)  # int64, while samplers give int32
PRUNED = PruneResult(
    MFG(TREE.nodes, (pattern([0, 1, 2], [1, 2, 2], [1, 3, 3, 4], 5), ROOT)), LIVE, COMPUTED, 1, 8
)


def after(mfg, *hit):
    """Return the arguments for what pruning leaves of `mfg`; `hit` as lists of 0 and 1."""
    return {"pruned": prune_mfg(mfg, masks(*hit))}


def named(graph, first):
    """Return the graph, the entries of its first block numbered from `first`."""
    block = graph.blocks[0]
    ids = np.arange(first, first + len(block.indices))
    block = pattern(block.start, block.end, block.indices, block.n_src, ids)
    return MFG(graph.nodes, (block, *graph.blocks[1:]))


LIVE_LAYERS = (
    Case(
        "a_cached_node",
        {"pruned": PRUNED},
        ("WORKED", "CACHED"),
        LiveRows(
            tuple(np.array(rows) for rows in ([0, 1, 3], [0, 1, 2], [0])),
            masks([1, 1, 0], [1]),
            (pattern([0, 1], [1, 2], [1, 2], 3), pattern([0], [2], [1, 2], 3)),
        ),
        "Layer 1: the root's own row 0 first, then 1 and 2, which it reads: they stand where they "
        "stood. Layer 0: rows 0 and 1 are computed above and come first; of the others 3 alone is "
        "live, and becomes number 2. Row 2 of layer 1 is cached: the block has rows 0 and 1.",
    ),
    Case("no_hits", after(TREE, [0, 0, 0], [0])),
    Case("all_hits", after(TREE, [1, 1, 1], [0]), ("CACHED",)),
    Case("positions_in_the_graph", after(named(TREE, 10), [0, 1, 0], [0]), ("IDS", "CACHED")),
    Case("no_blocks", {"pruned": PruneResult(MFG((TWO,), ()), masks([1, 1]), (), 0, 0)}),
    *changed(
        {
            "dead_below": {"pruned": PRUNED._replace(live=masks([0, 1, 0, 1, 0], [1, 1, 1], [1]))},
            "dead_source": {"pruned": PRUNED._replace(live=masks([1, 1, 0, 0, 0], [1, 1, 1], [1]))},
            "a_layer_too_few": {"pruned": PRUNED._replace(comp=COMPUTED[1:])},
            "mask_too_short": {"pruned": PRUNED._replace(comp=masks([1, 1], [1]))},
        },
        {},
        "value",
    ),
    *changed({"no_result": {"pruned": None}}, {}, "type"),
)


def asked(mfg, *hit):
    """Return the arguments of `prune_layers`; `hit` as lists of 0 and 1."""
    return {"mfg": mfg, "hit": masks(*hit)}


PRUNE_LAYERS = (
    Case(
        "a_cached_node",
        asked(TREE, [0, 0, 1], [0]),
        ("WORKED", "CACHED"),
        LIVE_LAYERS[0].result,
        "What `live_layers` leaves of the same graph when row 2 of layer 1 is cached: rows 0 and 1 "
        "are computed and come first below, where 3 alone is also live.",
    ),
    Case("no_hits", asked(TREE, [0, 0, 0], [0])),
    Case("all_hits", asked(TREE, [1, 1, 1], [0]), ("CACHED",)),
    Case("positions_in_the_graph", asked(named(TREE, 10), [0, 1, 0], [0]), ("IDS", "CACHED")),
    *changed(
        {
            "a_root_cached": {"hit": masks([0, 0, 0], [1])},
            "a_layer_too_few": {"hit": masks([0, 0, 0])},
            "mask_too_short": {"hit": masks([0, 0], [0])},
        },
        asked(TREE, [0, 0, 0], [0]),
        "value",
    ),
    *changed({"no_graph": {"mfg": None}}, asked(TREE, [0, 0, 0], [0]), "type"),
)

KERNELS = (
    Kernel("live_layers", "vldb24", "Algorithm 1", LIVE_LAYERS, "11-17", flags=FLAGS),
    Kernel("prune_layers", "vldb24", "Algorithm 1", PRUNE_LAYERS, "8-9", flags=FLAGS),
)
