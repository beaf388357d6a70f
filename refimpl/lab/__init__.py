"""What is written once, over any implementation: data, training, programs."""

from refimpl.lab import backend, data, distributed, pyg, training

__all__ = ["backend", "data", "distributed", "pyg", "training"]
