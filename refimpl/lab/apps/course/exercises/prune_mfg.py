"""Leave out of a minibatch what only cached embeddings would need."""

import numpy as np

from refimpl.block import MFG, Block
from refimpl.history.pruning import PruneResult


def prune_mfg(mfg, hit, *, uses_self=True, layout="csr2"):
    """Return the message-flow graph without what is needed only to compute cached embeddings."""
    live = [np.ones(len(mfg.nodes[-1]), np.bool_)]
    comp, blocks, count = [], [], 0
    for block, cached in zip(mfg.blocks[::-1], hit[::-1], strict=True):
        computed = live[0] & ~cached
        rows = np.flatnonzero(~computed & (block.start < block.end))
        needed = np.zeros(block.n_src, np.bool_)
        for i in np.flatnonzero(computed):
            needed[block.indices[block.start[i] : block.end[i]]] = True
            if uses_self:
                needed[i] = True
        live.insert(0, needed)
        comp.insert(0, computed)
        blocks.insert(0, emptied(block, rows))
        count += len(rows)
    pruned = MFG(mfg.nodes, tuple(blocks))
    return PruneResult(pruned, tuple(live), tuple(comp), count, 8 * count)


def emptied(block, rows):
    """Return a block in which some rows end where they start."""
    end = block.end.copy()
    end[rows] = block.start[rows]
    return Block(block.start, end, block.indices, block.n_src, block.edge_ids, block.weights)
