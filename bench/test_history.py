"""FreshGNN's cache: finding, reading and writing entries, and pruning."""

from refimpl.lab.apps.bench.cases.history import BENCHES

__all__ = ["BENCHES"]


def test_history(replay):
    """Time each kernel of `BENCHES`."""
    replay()
