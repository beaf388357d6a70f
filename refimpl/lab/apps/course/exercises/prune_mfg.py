"""Leave out of a minibatch what only cached embeddings would need."""

import numpy as np

from refimpl.block import MFG, Block
from refimpl.history.pruning import PruneResult


def prune_mfg(mfg, hit, *, uses_self=True, layout="csr2"):
    """Return the message-flow graph without what is needed only to compute cached embeddings.

    FreshGNN, Algorithm 1 lines 6 to 9, from the roots down. The roots are live. In each layer, a
    node that is live and not cached is computed; all other rows of the layer's block are emptied.
    Live in the layer below is what a computed node reads: the sources in its row, and, with
    `uses_self`, its own place there. A source stays live as long as one computed node reads it,
    even if a cached one would have, too. Being cached says nothing of a dead node: it is neither
    live nor computed.

    Parameters
    ----------
    mfg : MFG
        mfg.nodes[l] are the nodes of layer l, the inputs being layer 0 and the roots the last;
        mfg.blocks[l - 1] is layer l: row i, entries block.start[i] to block.end[i] of
        block.indices, says which places of mfg.nodes[l - 1] node i reads. Node i of a layer is
        node i of the layer below.
    hit : list of bool arrays
        hit[l - 1][i]: node i of layer l has a cached embedding. Roots have none.
    uses_self : bool
    layout : "csr2"
        Has no part in this exercise.

    Returns
    -------
    PruneResult
        Of the pruned MFG (its nodes are those of `mfg`, its blocks emptied by `emptied`); live, a
        bool array for each of the layers 0 to L; comp, one for each of 1 to L: which are computed;
        how many rows with entries were emptied; and 8 bytes for each of them.
    """
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
    return Block(block.start, end, block.indices, block.n_src, block.edge_ids)


# ---- what follows is the course's ----

PAGE = "learn/fresh_cache"
REFERENCE = "refimpl.history.pruning:prune_mfg"
BESIDE = (
    "The reference is the same loop; how a row is emptied is a class of its own, one for each of "
    "the five layouts that FreshGNN compares."
)
WITHOUT = ("COUNTED",)
GIVEN = ("emptied",)
STEPPER = ("pruning", "bounds", "")
HINTS = (
    "Go through blocks and hits from the back: `zip(mfg.blocks[::-1], hit[::-1])`.",
    "`computed = live & ~cached`. Rows to be emptied are not computed and have entries: "
    "block.start < block.end.",
    "What is live below is the sources of the computed rows, and the computed nodes' own places.",
)
MISTAKES = (
    (
        "        for i in np.flatnonzero(computed):",
        "        for i in np.flatnonzero(live[0]):",
        "keeps what cached nodes would have read",
        "",
    ),
    (
        "            if uses_self:\n                needed[i] = True\n",
        "            needed[i] = True\n",
        "takes a node to need itself, whatever `uses_self` says",
        "A node does not need its own embedding of the layer below",
    ),
    (
        "computed = live[0] & ~cached",
        "computed = ~cached",
        "computes dead nodes too, if they are not cached",
        "",
    ),
    (
        "        live.insert(0, needed)\n",
        "        for i in np.flatnonzero(cached):\n"
        "            needed[block.indices[block.start[i] : block.end[i]]] = False\n"
        "        live.insert(0, needed)\n",
        "drops all that a cached node reads, even if a computed one reads it too",
        "A source of a cached node stays if a computed one needs it too",
    ),
    (
        "        count += len(rows)\n",
        "        count += int((block.end - block.start)[rows].sum())\n",
        "counts the entries of the rows that were emptied, and not the rows",
        "ops",
    ),
)
