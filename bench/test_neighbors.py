"""Sampled neighbours: of layer sampling, of FreshGNN, and the batches that they start from."""

from refimpl.lab.apps.bench.cases.neighbors import BENCHES

__all__ = ["BENCHES"]


def test_neighbors(replay):
    """Time each kernel of `BENCHES`."""
    replay()
