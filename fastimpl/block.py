"""refimpl/block.py on a kernel."""

import numpy as np

from fastimpl import _block
from fastimpl._twin import twin
from refimpl.block import Block, block_arguments


@twin
def transpose_block(block):
    (block,) = block_arguments(block)
    live = int(block.degrees().sum())
    indptr = np.empty(block.n_src + 1, np.int64)
    destinations, perm = np.empty(live, np.int32), np.empty(live, np.int64)
    _block.transpose_block(block.start, block.end, block.indices, indptr, destinations, perm)
    return Block._trusted(indptr[:-1], indptr[1:], destinations, block.n_dst), perm
