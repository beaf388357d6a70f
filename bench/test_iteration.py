"""One training iteration: draw a subgraph, two GraphSAGE layers and a classifier, Adam."""

from refimpl.lab.apps.bench.cases.iteration import BENCHES

__all__ = ["BENCHES"]


def test_iteration(replay):
    """Time each kernel of `BENCHES`."""
    replay()
