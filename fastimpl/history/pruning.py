"""refimpl/history/pruning.py on kernels."""

from typing import Any

import numpy as np

from fastimpl._buffers import empty
from fastimpl._twin import twin
from fastimpl.history import _pruning
from fastimpl.history.layouts import OTHERS
from refimpl.block import MFG, Block
from refimpl.history import pruning
from refimpl.history.layouts import Work
from refimpl.history.pruning import PruneResult, io_saving, prune_arguments

__all__ = ["LAYOUTS", "PruneResult", "io_saving", "prune_mfg"]


@twin
def prune_mfg(mfg, hit, *, uses_self=True, layout="csr2"):
    mfg, hit, uses_self, layout = prune_arguments(mfg, hit, uses_self, layout)
    live = [np.ones(len(mfg.nodes[-1]), np.bool_)]
    comp: list[np.ndarray] = []
    blocks: list[Block] = []
    ops = touched_bytes = 0
    for block, cached in zip(mfg.blocks[::-1], hit[::-1], strict=True):
        computed, end = np.empty(block.n_dst, np.bool_), empty((block.n_dst,), np.int64)
        needed = np.zeros(block.n_src, np.bool_)
        rows = (block.start, block.end, block.indices)
        masks = [mask.view(np.uint8) for mask in (live[0], cached, computed, needed)]
        emptied = _pruning.prune_block(*rows, *masks, bool(uses_self), end)
        if layout == "csr2":
            rest = block.n_src, block.edge_ids, block.weights
            pruned = Block._trusted(block.start, end, block.indices, *rest)
            work = Work(emptied, 8 * emptied)
        else:
            edges = LAYOUTS[layout](block)
            work = edges.empty(np.flatnonzero(end < block.end))
            pruned = edges.block()
        live.insert(0, needed)
        comp.insert(0, computed)
        blocks.insert(0, pruned)
        ops, touched_bytes = ops + work.ops, touched_bytes + work.touched_bytes
    mfg = MFG(mfg.nodes, tuple(blocks))
    return PruneResult(mfg, tuple(live), tuple(comp), ops, touched_bytes)


class Csr2(pruning.Csr2):
    def empty(self, rows):
        _pruning.empty_csr2(self.source.start, self.end, rows)
        return Work(len(rows), 8 * len(rows))


LAYOUTS: dict[str, Any] = {"csr2": Csr2, **OTHERS}
