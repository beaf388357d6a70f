"""PyTorch and what is built on it, imported when they are used."""

import os


def torch_alone():
    """Return the module torch, or raise ImportError that says how."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"PyTorch is needed: pip install 'minibatch-gnn[torch]' ({error})"
        ) from error
    return torch


def libraries():
    """Return the modules (torch, torch_geometric.data), or raise ImportError that says how."""
    try:
        import torch
        import torch_geometric.data
    except ImportError as error:
        raise ImportError(
            f"PyTorch and PyG are needed: pip install 'minibatch-gnn[pyg]' ({error})"
        ) from error
    return torch, torch_geometric.data


def with_dgl():
    """Return the modules (torch, dgl), or raise ImportError that says how."""
    os.environ.setdefault("DGLBACKEND", "pytorch")  # else DGL writes a file into the home
    try:
        import dgl
        import torch
    except (ImportError, OSError) as error:  # OSError: DGL has no libraries for this torch
        raise ImportError(
            f"PyTorch and a DGL that runs beside it are needed: pip install 'minibatch-gnn[dgl]', "
            f"on Python 3.10 or 3.11 ({error})"
        ) from error
    return torch, dgl
