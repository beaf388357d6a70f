"""What is written once, over any implementation: data, training, programs."""

from refimpl.lab import backend, data, training

__all__ = ["backend", "data", "training"]
