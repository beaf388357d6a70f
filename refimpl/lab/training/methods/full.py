"""Full-batch training: the whole training graph in every iteration, a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from refimpl.lab.training.methods.base import Iterations, MethodSettings
from refimpl.profiling import timed

if TYPE_CHECKING:
    from refimpl.lab.training.run import Run


@dataclass(frozen=True)
class FullBatch(MethodSettings):
    """The whole training graph at once: a baseline of JPDC'21 section 7.2."""

    name: ClassVar[str] = "full"
    way: ClassVar[str] = "the full graph"
    several_workers: ClassVar[bool] = False
    sees_all: ClassVar[bool] = True
    epochs: ClassVar[int] = 200  # of one step

    def start(self, run: Run) -> Iterations:
        """Return the iterations of a run."""
        return FullIterations(run)


class FullIterations:
    """The iterations on the whole training graph of a `Run`."""

    cache = None

    def __init__(self, run):
        self.run = run
        with timed("sampling"):
            perm = run.gnn.transpose_perm(run.graph)
            A = run.stack.adjacency(run.graph, perm, dtype=run.dtype)
            self.operands = run.stack.operands(A)
        self.X, self.targets = run.load(), run.targets(np.arange(run.graph.n))

    def iteration(self):
        """Go forward and back over all nodes; return the `Step`."""
        return self.run.pass_over(self.operands, self.X, *self.targets)

    def close(self):
        """Do nothing: there is no thread."""
