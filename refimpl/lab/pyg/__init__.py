"""Loaders for PyTorch Geometric: its `Data` in, its `Data` out, sampled by this project's kernels.

`torch` and `torch_geometric` are imported when a loader is made, by nothing else.
"""

from refimpl.lab.pyg.neighbors import NeighborLoader
from refimpl.lab.pyg.subgraphs import (
    GraphSAINTEdgeSampler,
    GraphSAINTNodeSampler,
    GraphSAINTRandomWalkSampler,
    SubgraphLoader,
)

__all__ = [
    "GraphSAINTEdgeSampler",
    "GraphSAINTNodeSampler",
    "GraphSAINTRandomWalkSampler",
    "NeighborLoader",
    "SubgraphLoader",
]
