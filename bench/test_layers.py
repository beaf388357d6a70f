"""GraphSAGE layers in both orders of their products, and dense layers."""

from refimpl.lab.apps.bench.cases.layers import BENCHES

__all__ = ["BENCHES"]


def test_layers(replay):
    """Time each kernel of `BENCHES`."""
    replay()
