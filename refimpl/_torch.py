"""PyTorch and PyG, imported when they are used."""


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
