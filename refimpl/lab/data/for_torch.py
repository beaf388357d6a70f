"""Data sets as PyG's `Data` and as graphs of DGL."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support.torch_modules import libraries
from refimpl.graph import WeightedGraph
from refimpl.lab.data.splits import PARTS

if TYPE_CHECKING:
    from numpy.typing import NDArray


def as_pyg(dataset: Any) -> Any:
    """Return what `Dataset.to_pyg` does."""
    torch, library = libraries()
    target = np.repeat(np.arange(dataset.graph.n), dataset.graph.degrees())
    edge_index = np.stack([dataset.graph.indices, target]).astype(np.int64)
    arrays = {"edge_index": edge_index, **of_nodes(dataset, "x", "y")}
    if isinstance(dataset.graph, WeightedGraph):
        arrays["edge_weight"] = dataset.graph.weights.astype(dataset.dtype)
    return library.Data(**{name: torch.from_numpy(array) for name, array in arrays.items()})


def as_dgl(dataset: Any) -> Any:
    """Return what `Dataset.to_dgl` does."""
    os.environ.setdefault("DGLBACKEND", "pytorch")  # otherwise DGL writes a file into the home
    try:
        import dgl
        import torch
    except (ImportError, OSError) as error:  # OSError: DGL has no libraries for this torch
        raise ImportError(
            f"PyTorch and a DGL that runs beside it are needed: pip install dgl torch ({error})"
        ) from error
    csc = dataset.graph.indptr, dataset.graph.indices, np.arange(dataset.graph.e)
    columns = tuple(torch.from_numpy(array.astype(np.int64)) for array in csc)
    graph = dgl.graph(("csc", columns), num_nodes=dataset.graph.n)
    if isinstance(dataset.graph, WeightedGraph):
        graph.edata["weight"] = torch.from_numpy(dataset.graph.weights.astype(dataset.dtype))
    for name, array in of_nodes(dataset, "feat", "label").items():
        graph.ndata[name] = torch.from_numpy(array)
    return graph


def of_nodes(dataset: Any, features: str, label: str) -> dict[str, NDArray[Any]]:
    """Return what models of other libraries read of nodes, by name, as new arrays."""
    kind = np.float32 if dataset.multilabel else np.int64
    arrays = {features: dataset.inputs(), label: dataset.labels.astype(kind)}
    for part in PARTS:
        arrays[f"{part}_mask"] = np.isin(np.arange(dataset.graph.n), getattr(dataset, part))
    return arrays
