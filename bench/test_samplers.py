"""The samplers for the nodes of one sample, and for eight whole subgraphs."""

from refimpl.lab.apps.bench.cases.samplers import BENCHES

__all__ = ["BENCHES"]


def test_samplers(replay):
    """Time each kernel of `BENCHES`."""
    replay()
