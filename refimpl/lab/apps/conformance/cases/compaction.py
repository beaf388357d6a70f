"""The live rows of a pruned message-flow graph, numbered anew."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from refimpl import prune_mfg
from refimpl.block import MFG, Block
from refimpl.hints import Mask
from refimpl.history.pruning import PruneResult
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.inputs import Cases, among
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
# id: a graph, the hits of its layers as lists of 0 and 1, and flags.
CASES: dict[str, tuple[MFG, list[list[int]], tuple[str, ...]]] = {
    "no_hits": (TREE, [[0, 0, 0], [0]], ()),
    "all_hits": (TREE, [[1, 1, 1], [0]], ("CACHED",)),
    "by_node": (renamed(TREE), [[0, 0, 0], [0]], ("NODES",)),
    "positions_in_the_graph": (NUMBERED, [[0, 1, 0], [0]], ("IDS", "CACHED")),
    "weights": (WITH_WEIGHTS, [[0, 1, 0], [0]], ("CACHED", "WEIGHTS")),
}
ASKED: Cases = {
    id: ({"mfg": mfg, "hit": masks(*hit)}, flags) for id, (mfg, hit, flags) in CASES.items()
}
AFTER: Cases = {id: ({"pruned": prune_mfg(**args)}, flags) for id, (args, flags) in ASKED.items()}
NO_BLOCKS = {"pruned": PruneResult(MFG((TWO,), ()), masks([1, 1]), (), 0, 0)}
BAD_RESULTS = {
    "dead_below": PRUNED._replace(live=masks([0, 1, 0, 1, 0], [1, 1, 1], [1])),
    "dead_source": PRUNED._replace(live=masks([1, 1, 0, 0, 0], [1, 1, 1], [1])),
    "a_layer_too_few": PRUNED._replace(comp=PRUNED.comp[1:]),
    "mask_too_short": PRUNED._replace(comp=masks([1, 1], [1])),
}
LIVE_LAYERS = (
    *HAND["live_layers"],
    *among([], {**AFTER, "no_blocks": (NO_BLOCKS, ())}),
    *(Case(id, {"pruned": pruned}, error="value") for id, pruned in BAD_RESULTS.items()),
    Case("no_result", {"pruned": None}, error="type"),
)

KERNELS = (
    Kernel("live_layers", "vldb24", "Algorithm 1", LIVE_LAYERS, "11-17", flags=FLAGS),
    Kernel(
        "prune_layers",
        "vldb24",
        "Algorithm 1",
        among(HAND["prune_layers"], ASKED),
        "8-9",
        flags=FLAGS,
    ),
)
