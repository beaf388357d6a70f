"""What is done with rows of features: dropout, normalising, gathering."""

from refimpl.lab.apps.bench.cases.rows import BENCHES

__all__ = ["BENCHES"]


def test_rows(replay):
    """Time each kernel of `BENCHES`."""
    replay()
