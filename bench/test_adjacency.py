"""Normalised matrices, with the values of their transposes."""

from refimpl.lab.apps.bench.cases.adjacency import BENCHES

__all__ = ["BENCHES"]


def test_adjacency(replay):
    """Time each kernel of `BENCHES`."""
    replay()
