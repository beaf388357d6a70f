"""Adam, on the weights of one layer."""

from refimpl.lab.apps.bench.cases.optimizers import BENCHES

__all__ = ["BENCHES"]


def test_optimizers(replay):
    """Time each kernel of `BENCHES`."""
    replay()
