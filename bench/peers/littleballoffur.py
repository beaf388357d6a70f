"""littleballoffur: its samplers, in Python over NetworKit's graphs."""

import random

import littleballoffur as fur
import networkit
import numpy as np

from bench.peers.protocol import serve, versions_of


class Subgraphs:
    """The sampler that comes nearest to ours; each draws about `nodes` nodes.

    It checks its graph anew in each call, and lists all nodes or all edges.
    """

    def __init__(self, path, kind, options, nodes):
        with np.load(path) as held:
            indptr, indices = held["indptr"], held["indices"]
        n = len(indptr) - 1
        rows = np.repeat(np.arange(n), np.diff(indptr))
        once = rows <= indices
        ends = rows[once].astype(np.uint64), indices[once].astype(np.uint64)
        self.graph = networkit.GraphFromCoo(ends, n=n, weighted=False, directed=False)
        random.seed(1)
        self.make = {
            "frontier": lambda seed: fur.FrontierSampler(options.get("m"), nodes, seed),
            "edge": lambda seed: fur.RandomEdgeSamplerWithInduction(options.get("b"), seed),
        }[kind]

    def __call__(self):
        return self.make(random.randrange(2**31)).sample(self.graph)

    def answer(self):
        """Return a subgraph's nodes and the global ends of its entries."""
        drawn = self()
        ends = np.array(list(drawn.iterEdges()), np.int64).reshape(-1, 2)
        ends = np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)  # loops stand once
        return {
            "nodes": np.array(list(drawn.iterNodes()), np.int64),
            "rows": ends[:, 0],
            "cols": ends[:, 1],
        }


def versions():
    """Return what runs here."""
    return versions_of(("littleballoffur", "networkit", "networkx", "numpy"))


if __name__ == "__main__":
    serve({"subgraphs": Subgraphs}, versions=versions)
