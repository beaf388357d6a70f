"""Fetching rows of features from the parts that hold them, without the owners' help and with it."""

from refimpl.lab.apps.bench.cases.fetching import BENCHES

__all__ = ["BENCHES"]


def test_fetching(replay):
    """Time each kernel of `BENCHES`."""
    replay()
