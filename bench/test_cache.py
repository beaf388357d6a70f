"""FreshGNN's cache as a whole: a few iterations of one, and what one update does to it."""

from refimpl.lab.apps.bench.cases.cache import BENCHES

__all__ = ["BENCHES"]


def test_cache(replay):
    """Time each kernel of `BENCHES`."""
    replay()
