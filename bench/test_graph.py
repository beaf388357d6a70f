"""Reading edges, induced subgraphs, transposes; what `as_graph` sorts is shared by packages."""

from refimpl.lab.apps.bench.cases.graph import BENCHES

__all__ = ["BENCHES"]


def test_graph(replay):
    """Time each kernel of `BENCHES`."""
    replay()
