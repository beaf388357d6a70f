"""Blocks for Hypothesis, with empty rows, rows out of order inside, and dead entries."""

import numpy as np
from hypothesis import strategies as st

from refimpl import Block

SIZES = st.integers(0, 7)


@st.composite
def block_arguments(draw):
    """Draw what a Block is made of, as keyword arguments; values are no larger than 6."""
    n_src = draw(SIZES, label="n_src")
    source = st.integers(0, max(n_src - 1, 0))
    dead = st.lists(source, max_size=2 if n_src else 0)
    start, end, indices = [], [], []
    for row in draw(st.lists(st.lists(source, unique=True, max_size=n_src), max_size=7)):
        indices += draw(dead)
        start.append(len(indices))
        indices += row
        end.append(len(indices))
    indices += draw(dead)
    arrays = {"start": start, "end": end, "indices": indices}
    dtype = draw(st.sampled_from([np.int64, np.int32, np.uint8]), label="dtype")
    arguments = {name: np.array(values, dtype) for name, values in arrays.items()}
    if draw(st.booleans(), label="with edge_ids"):
        arguments["edge_ids"] = np.arange(len(indices))[::-1] + 5
    if draw(st.booleans(), label="with weights"):
        arguments["weights"] = 1 + np.arange(len(indices)) * 0.3
    return {**arguments, "n_src": n_src}


def blocks():
    """Return a strategy of Blocks."""
    return block_arguments().map(lambda arguments: Block(**arguments))


def dense_block(block, data):
    """Return the matrix with `data` on the pattern of `block`, entry by entry."""
    matrix = np.zeros((block.n_dst, block.n_src), data.dtype)
    for i in range(block.n_dst):
        for j in range(block.start[i], block.end[i]):
            matrix[i, block.indices[j]] += data[j]
    return matrix
