"""Minibatches that are drawn from a graph on storage, a window of them at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refimpl.lab.training.undrawn import epoch_roots, minibatch_of

if TYPE_CHECKING:
    from refimpl.block import MFG
    from refimpl.hints import Ids
    from refimpl.lab.training.run import Run
    from refimpl.loader.lookahead_graph import LookaheadGraph
    from refimpl.samplers.neighbor import Minibatch


class GraphWindows:
    """Draws windows of the minibatches here: a function of the window's number.

    Parameters
    ----------
    run : Run
    stored : LookaheadGraph
        What is drawn from.
    ahead : int
        The first minibatch is of the step that comes this many steps later.
    """

    def __init__(self, run: Run, stored: LookaheadGraph, ahead: int = 0) -> None:
        self.run, self.stored, self.begun = run, stored, run.begun_by(ahead)
        self.batches = -(-len(run.roots) // run.config.method.batch_size)  # in an epoch
        self.epoch = -1
        self.roots: list[Ids] = []

    def __call__(self, number: int) -> list[MFG]:
        """Return the minibatches of a window."""
        settings, size = self.run.config.method, self.stored.window
        first = self.begun + number * size
        minibatches = [self.minibatch(count) for count in range(first, first + size)]
        return self.stored.draw(minibatches, settings.sample_mode, settings.batch_dependency)

    def minibatch(self, count: int) -> Minibatch:
        """Return the minibatch with this count among those here; nothing is drawn."""
        epoch, b = divmod(self.run.turns.number(count), self.batches)
        if epoch != self.epoch:
            self.epoch, self.roots = epoch, epoch_roots(self.run, epoch)
        return minibatch_of(self.run, self.roots[b], epoch, b)
