"""PyTorch and what is built on it, imported when they are used."""

from typing import Any


def torch_alone() -> Any:
    """Return the module torch, or raise ImportError that says how."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"PyTorch is needed: pip install 'minibatch-gnn[torch]' ({error})"
        ) from error
    return torch


def libraries() -> tuple[Any, Any]:
    """Return the modules (torch, torch_geometric.data), or raise ImportError that says how."""
    try:
        import torch
        import torch_geometric.data
    except ImportError as error:
        raise ImportError(
            f"PyTorch and PyG are needed: pip install 'minibatch-gnn[pyg]' ({error})"
        ) from error
    return torch, torch_geometric.data
