"""Message-flow graphs for Hypothesis, and which of their embeddings are cached."""

import numpy as np
from hypothesis import strategies as st
from strategies import block_chains

from refimpl import MFG, Block


def mfg_of(blocks, *, edge_ids=False):
    """Return the MFG of these blocks, first layer first; row i is node 613 i modulo 1009."""
    sizes = [blocks[0].n_src, *(block.n_dst for block in blocks)]
    if edge_ids:
        blocks = [
            Block(b.start, b.end, b.indices, b.n_src, np.arange(b.e)[::-1] * 5 + 2) for b in blocks
        ]
    nodes = tuple(np.arange(size, dtype=np.int32) * 613 % 1009 for size in sizes)
    return MFG(nodes, tuple(blocks))


def mfg_from_rows(*layers):
    """Return the MFG in which the rows of layer l are ``layers[l - 1]``: sources of each node.

    The first entry is the number of inputs.
    """
    n_src, blocks = layers[0], []
    for rows in layers[1:]:
        start = np.cumsum([0, *map(len, rows)])
        indices = np.array([u for row in rows for u in row], np.int32)
        blocks.append(Block(start[:-1], start[1:], indices, n_src))
        n_src = len(rows)
    return mfg_of(blocks)


@st.composite
def mfgs(draw, max_layers=3):
    """Draw an MFG: empty rows, sources that nothing needs, and dead entries are common."""
    depth = draw(st.integers(1, max_layers), label="layers")
    return mfg_of(draw(block_chains(depth)), edge_ids=draw(st.booleans(), label="edge_ids"))


def weighted(mfg):
    """Return an MFG with a weight for each entry, all different."""
    blocks = [
        Block(b.start, b.end, b.indices, b.n_src, b.edge_ids, 1 + 0.3 * np.arange(b.e))
        for b in mfg.blocks
    ]
    return MFG(mfg.nodes, tuple(blocks))


@st.composite
def hits(draw, mfg):
    """Draw which embeddings are cached: none of a root."""
    mask = [
        draw(st.lists(st.booleans(), min_size=len(nodes), max_size=len(nodes)), label="hit")
        for nodes in mfg.nodes[1:-1]
    ]
    return [*(np.array(m, np.bool_) for m in mask), np.zeros(len(mfg.nodes[-1]), np.bool_)]


def no_hits(mfg):
    """Return that nothing is cached."""
    return [np.zeros(len(nodes), np.bool_) for nodes in mfg.nodes[1:]]


def edges(block):
    """Return the live entries of each row in order: (source, position in the graph, any weight)."""
    ids = np.full(block.e, -1) if block.edge_ids is None else block.edge_ids
    arrays = [block.indices, ids] if block.weights is None else [block.indices, ids, block.weights]
    return [
        list(zip(*(values[a:b].tolist() for values in arrays), strict=True))
        for a, b in zip(block.start, block.end, strict=True)
    ]
