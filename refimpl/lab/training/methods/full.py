"""Full-batch training: the whole training graph in every iteration, a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import ClassVar

import numpy as np

from refimpl.graph import Subgraph
from refimpl.lab.training.methods.base import Iterations, MethodSettings, Step
from refimpl.lab.training.run import Run
from refimpl.profiling import timed


@dataclass(frozen=True)
class FullBatch(MethodSettings):
    """The whole training graph at once, a baseline of JPDC'21 section 7.2."""

    name: ClassVar[str] = "full"
    description: ClassVar[str] = "the full graph"
    sparse_features: ClassVar[bool] = True
    several_workers: ClassVar[bool] = False
    features_in: ClassVar[tuple[str, ...]] = ("memory", "mmap", "parts")  # it keeps all rows
    epoch_covers_graph: ClassVar[bool] = True
    epochs: ClassVar[int] = 200  # of one step

    def start(self, run: Run) -> Iterations:
        """Return the iterations of a run."""
        return FullIterations(run)


class FullIterations:
    """The iterations on the whole training graph of a `Run`."""

    cache, moves_weights = None, True

    def __init__(self, run: Run) -> None:
        self.run = run
        nodes = np.arange(run.graph.n, dtype=np.int32)
        with timed("sampling"):
            perm = run.gnn.transpose_perm(run.graph)
            whole = Subgraph(nodes, run.graph, np.empty(0, np.int64), perm)  # edge ids are not read
            self.A = run.normalized(whole)
        self.whole = whole._replace(transpose_perm=perm[:0].copy())  # A has what it needs
        self.X, self.targets = run.load(), run.targets(nodes)

    def iteration(self) -> Step:
        """Do an iteration on all nodes: the subgraph is the whole graph; return the `Step`."""
        run = self.run
        done = run.gnn.graph_iteration(
            repeat(self.whole),
            run.passes(),
            lambda sub: self.A,
            lambda nodes: self.X,
            lambda nodes: self.targets,
            run.adam(),
        )
        return Step(done.loss, done.gradients, len(done.nodes))

    def close(self) -> None:
        """Do nothing: there is no thread."""
