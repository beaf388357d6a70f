"""Draws by key and counter, and choosing without replacement."""

from refimpl.lab.apps.bench.cases.streams import BENCHES

__all__ = ["BENCHES"]


def test_streams(replay):
    """Time each kernel of `BENCHES`."""
    replay()
