"""The live rows of a pruned message-flow graph, numbered anew."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from refimpl import prune_mfg
from refimpl.block import MFG, Block
from refimpl.hints import Mask
from refimpl.history.pruning import PruneResult
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.inputs import changed
from refimpl.lab.apps.conformance.worked import worked

HAND = worked("compaction")

FLAGS = {
    "CACHED": "A row that is read from a cache has no row in the block, and stays as a source.",
    "NODES": "Rows that the layer above does not compute stand by their node, not by their place.",
    "IDS": "The block's entries keep their positions in the graph.",
    "WEIGHTS": "The block's entries keep their weights.",
}
TWO: Any = np.arange(2)  # int64, while samplers give int32
PRUNED = HAND["live_layers"][0].args["pruned"]
TREE = HAND["prune_layers"][0].args["mfg"]


def masks(*layers: Sequence[int]) -> tuple[Mask, ...]:
    """Return bool arrays of lists of 0 and 1."""
    return tuple(np.array(layer, np.bool_) for layer in layers)


def after(mfg: MFG, *hit: Sequence[int]) -> dict[str, Any]:
    """Return the arguments for what pruning leaves of `mfg`; `hit` as lists of 0 and 1."""
    return {"pruned": prune_mfg(mfg, masks(*hit))}


def renamed(graph: MFG) -> MFG:
    """Return the graph with other nodes in the last places of its inputs, the higher one first."""
    inputs, *others = graph.nodes
    inputs = inputs.copy()
    inputs[-2:] = inputs[-2:][::-1]
    return MFG((inputs, *others), graph.blocks)


def numbered(block: Block) -> Block:
    """Return the Block, its entries numbered from 10."""
    ids = np.arange(10, 10 + block.e)
    return Block(block.start, block.end, block.indices, block.n_src, ids)


def weighted(block: Block) -> Block:
    """Return the Block with weights 1, 1.5, 2, ..."""
    parts = block.start, block.end, block.indices, block.n_src, block.edge_ids
    return Block(*parts, 1 + np.arange(block.e) / 2)


NUMBERED = MFG(TREE.nodes, (numbered(TREE.blocks[0]), TREE.blocks[1]))
WITH_WEIGHTS = MFG(TREE.nodes, tuple(map(weighted, TREE.blocks)))
LIVE_LAYERS = (
    *HAND["live_layers"],
    Case("no_hits", after(TREE, [0, 0, 0], [0])),
    Case("all_hits", after(TREE, [1, 1, 1], [0]), ("CACHED",)),
    Case("by_node", after(renamed(TREE), [0, 0, 0], [0]), ("NODES",)),
    Case("positions_in_the_graph", after(NUMBERED, [0, 1, 0], [0]), ("IDS", "CACHED")),
    Case("weights", after(WITH_WEIGHTS, [0, 1, 0], [0]), ("CACHED", "WEIGHTS")),
    Case("no_blocks", {"pruned": PruneResult(MFG((TWO,), ()), masks([1, 1]), (), 0, 0)}),
    *changed(
        {
            "dead_below": {"pruned": PRUNED._replace(live=masks([0, 1, 0, 1, 0], [1, 1, 1], [1]))},
            "dead_source": {"pruned": PRUNED._replace(live=masks([1, 1, 0, 0, 0], [1, 1, 1], [1]))},
            "a_layer_too_few": {"pruned": PRUNED._replace(comp=PRUNED.comp[1:])},
            "mask_too_short": {"pruned": PRUNED._replace(comp=masks([1, 1], [1]))},
        },
        {},
        "value",
    ),
    *changed({"no_result": {"pruned": None}}, {}, "type"),
)


def asked(mfg: MFG, *hit: Sequence[int]) -> dict[str, Any]:
    """Return the arguments of `prune_layers`; `hit` as lists of 0 and 1."""
    return {"mfg": mfg, "hit": masks(*hit)}


PRUNE_LAYERS = (
    *HAND["prune_layers"],
    Case("no_hits", asked(TREE, [0, 0, 0], [0])),
    Case("all_hits", asked(TREE, [1, 1, 1], [0]), ("CACHED",)),
    Case("by_node", asked(renamed(TREE), [0, 0, 0], [0]), ("NODES",)),
    Case("positions_in_the_graph", asked(NUMBERED, [0, 1, 0], [0]), ("IDS", "CACHED")),
    Case("weights", asked(WITH_WEIGHTS, [0, 1, 0], [0]), ("CACHED", "WEIGHTS")),
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
