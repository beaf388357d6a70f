"""Cross-entropies and their gradients."""

from refimpl.lab.apps.bench.cases.losses import BENCHES

__all__ = ["BENCHES"]


def test_losses(replay):
    """Time each kernel of `BENCHES`."""
    replay()
