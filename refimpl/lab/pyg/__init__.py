"""Loaders for PyTorch Geometric: its `Data` in, its `Data` out, sampled by this project's kernels.

`NeighborSampler` and the loaders in `PLUGGED` extend PyG's classes. They are made when they are
first asked for, because torch and torch_geometric are then imported, and by nothing else.
"""

from types import ModuleType
from typing import Any

from refimpl._support.torch_modules import libraries
from refimpl.hints import bound
from refimpl.lab.pyg.subgraphs import SubgraphLoader

__all__ = ["SubgraphLoader", "disable", "enable"]
PLUGGED = (
    "ClusterData",
    "ClusterLoader",
    "GraphSAINTEdgeSampler",
    "GraphSAINTNodeSampler",
    "GraphSAINTRandomWalkSampler",
    "GraphSAINTSampler",
    "HGTLoader",
    "HGTSampler",
    "LinkLoader",
    "LinkNeighborLoader",
    "NeighborLoader",
    "NeighborSampler",
    "NodeLoader",
    "ShaDowKHopSampler",
)


def later(place: ModuleType, name: str, gnn: ModuleType, bind: Any) -> Any:
    """Return a class of `PLUGGED`, bound to `gnn`, as the module `place` has it from now on."""
    if name not in PLUGGED:
        raise AttributeError(f"module {place.__name__!r} has no attribute {name!r}")
    libraries()
    from refimpl.lab.pyg import loaders

    made = bind(getattr(loaders, name), gnn, place.__name__)
    setattr(place, name, made)
    return made


@bound
def enable(gnn: ModuleType) -> bool:
    """Have PyG's own loaders use this package's samplers, in this process.

    Not in the papers. Nothing is changed where pyg-lib or torch-sparse is installed.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.

    Returns
    -------
    bool
        Whether PyG's loaders use it now.

    Raises
    ------
    ImportError
        If torch or torch_geometric is missing, or its version is not supported.

    Notes
    -----
    These names are replaced until `disable` is called: `NeighborSampler` in
    ``torch_geometric.sampler``, ``torch_geometric.loader.neighbor_loader`` and
    ``torch_geometric.loader.link_neighbor_loader``; `__iter__` of
    ``torch_geometric.loader.NodeLoader`` and ``LinkLoader``, which counts epochs; and methods of
    ``ShaDowKHopSampler``, ``GraphSAINTSampler``, ``ClusterData`` and ``HGTSampler``, which
    `HGTLoader` uses: those that the classes of the same names here define. Loaders that exist
    already keep their sampler. Code that has imported PyG's `NeighborSampler` by name keeps PyG's.
    """
    libraries()
    from refimpl.lab.pyg import loaders

    return loaders.enable(gnn)


def disable() -> None:
    """Undo `enable`: PyG's names are PyG's own again.

    Not in the papers. Does nothing where `enable` has changed nothing.

    Raises
    ------
    ImportError
        If torch or torch_geometric is missing.
    """
    libraries()
    from refimpl.lab.pyg import loaders

    loaders.disable()
