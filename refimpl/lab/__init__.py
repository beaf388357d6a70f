"""What is written once, over any implementation: data, training, programs."""

from refimpl.lab import backend, data, dgl, distributed, pyg, training

__all__ = ["backend", "data", "dgl", "distributed", "pyg", "training"]
