"""GCN, MixHop, GAT and R-GCN, forward and backward, beside another implementation's answers."""

from refimpl.lab.apps.bench.cases.other_layers import BENCHES

__all__ = ["BENCHES"]


def test_other_layers(replay):
    """Time each kernel of `BENCHES`."""
    replay()
