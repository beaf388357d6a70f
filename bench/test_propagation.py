"""Sparse x dense products."""

from refimpl.lab.apps.bench.cases.propagation import BENCHES

__all__ = ["BENCHES"]


def test_propagation(replay):
    """Time each kernel of `BENCHES`."""
    replay()
