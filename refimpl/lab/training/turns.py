"""Which minibatches of a run are whose: a step has one for each of its logical workers."""

from __future__ import annotations

from typing import NamedTuple


class Turns(NamedTuple):
    """The minibatches of some of a run's workers, one after another.

    In step i worker w of W has minibatch number i W + w. The workers `first` to `last` - 1 are
    here; their minibatches, in the order of these numbers, are counted from 0 too.

    Attributes
    ----------
    workers : int
        W.
    first, last : ints
    """

    workers: int = 1
    first: int = 0
    last: int = 1

    @property
    def mine(self):
        """The workers that are here."""
        return range(self.first, self.last)

    def begun(self, steps):
        """Return the count of the first minibatch here that comes after so many steps."""
        return steps * len(self.mine)

    def number(self, count):
        """Return the number of the minibatch here with this count."""
        step, place = divmod(count, len(self.mine))
        return step * self.workers + self.first + place

    def drawing(self, draw):
        """Return ``drawn(count, size)`` for items with these counts, from a `draw` by number.

        ``draw(number, size)`` returns the items number, .., number + size - 1.
        """
        if self.workers == len(self.mine):
            return draw

        def drawn(count, size):
            end, items = count + size, []
            while count < end:
                together = min(len(self.mine) - count % len(self.mine), end - count)
                items += draw(self.number(count), together)
                count += together
            return items

        return drawn


ALONE = Turns()
