"""Data to train on: built-in `communities`, GraphSAINT folders, Planetoid's raw files."""

from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.generators import kronecker, power_law
from refimpl.lab.data.karate import karate
from refimpl.lab.data.loading import load_dataset

__all__ = ["Dataset", "karate", "kronecker", "load_dataset", "power_law"]
