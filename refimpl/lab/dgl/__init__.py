"""Loaders for DGL: its graph in, its blocks or graphs out, sampled by this project's kernels.

`torch` and `dgl` are imported when a loader is made, by nothing else.
"""

from refimpl.lab.dgl.neighbors import DataLoader, NeighborSampler
from refimpl.lab.dgl.subgraphs import SubgraphDataLoader

__all__ = ["DataLoader", "NeighborSampler", "SubgraphDataLoader"]
