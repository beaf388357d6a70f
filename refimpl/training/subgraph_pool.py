"""The pool of subgraphs between the samplers and training: IPDPS'19 Algorithm 5, JPDC'21 8."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.reprs import showing
from refimpl._support.thread_limits import Worker
from refimpl.graph import Graph, Subgraph
from refimpl.hints import Int, Rng
from refimpl.profiling import timed
from refimpl.samplers.sampling import Sampler
from refimpl.streams import as_seed

if TYPE_CHECKING:
    from typing_extensions import Self


Item = TypeVar("Item")


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


def pool_arguments(self, draw, *, size, first, background):
    """Check the arguments of a `Pool`; return all."""
    if not isinstance(background, bool):
        raise TypeError("background must be True or False")
    size = require.integer("size", size, 1, 2**31 - 1)
    return self, draw, size, require.integer("first", first, 0, 2**63 - 1), background


class Pool(Generic[Item]):
    """Items first, first + 1, .. of a run, drawn `size` at a time: an iterator without end.

    First in, first out, by number (E-F9): neither the size nor the thread changes an item. With
    `background`, a thread draws the next `size` items while those before are used, so at most
    2 `size` exist. An exception of `draw` is raised where the first of these items is asked for.
    The thread ends with `close`, at the end of a ``with`` block, or with the pool. A forked child
    has a pool of its own, in the same state, and a thread of its own when it asks for items.

    Parameters
    ----------
    draw : callable
        ``draw(first, count)`` returns the items first, .., first + count - 1.
    size : int
    first : int
    background : bool

    Raises
    ------
    TypeError, ValueError
        If an option is of the wrong kind.
    """

    @checked_by(pool_arguments)
    def __init__(
        self,
        draw: Callable[[int, int], Iterable[Item]],
        *,
        size: Int = 1,
        first: Int = 0,
        background: bool = False,
    ) -> None:
        self.draw, self.size, self.next_q = draw, int(size), int(first)
        self.waiting: deque[Any] = deque()  # J8:1
        self.closed = False
        self._worker = Worker() if background else None
        self._under_way: Future | None = None

    __repr__ = showing("size", "next_q", "closed")

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        if not self.waiting:  # J8:3
            with timed("sampling"):
                drawn = self._drawn()
                self.waiting.extend(drawn)  # J8:7
                self.next_q += self.size
                if self._worker:
                    self._under_way = self._worker.start(self.draw, self.next_q, self.size)
        return self.waiting.popleft()  # J8:10 E-F9: first in, first out

    def _drawn(self) -> Any:
        """Return the next items: drawn now, or those that the thread has drawn or is drawing."""
        if self.closed:  # and so nothing waits
            raise ValueError("the pool is closed")
        if self._worker is None:
            return self.draw(self.next_q, self.size)
        if self._under_way is None or self._worker.forked():
            self._under_way = self._worker.start(self.draw, self.next_q, self.size)
        try:
            return self._under_way.result()
        finally:
            if self._under_way.done():  # not if the wait itself was interrupted
                self._under_way = None

    def close(self) -> None:
        """End the thread; nothing more can be taken.

        A compiled kernel ends at once, other functions once they have drawn what they draw.
        """
        self.closed = True
        self.waiting.clear()
        if self._worker is not None:
            self._worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def one_by_one(item, turns):
    """Return a `draw` for a `Pool` of the items ``item(q)`` with the numbers q of these turns.

    Nothing that has the pool may hang on `item`: the thread has it, and ends with the pool.
    """
    return lambda first, count: [item(turns.number(j)) for j in range(first, first + count)]


class SubgraphPool(Pool[Subgraph]):
    """Subgraphs first, first + 1, .. of a run, sampled `size` at a time.

    IPDPS'19 Algorithm 5 and JPDC'21 Algorithm 8; see `Pool` for their lines. First in, first
    out, by number (E-F9): the size changes when subgraphs are drawn, not which. An iterator
    without end.

    Parameters
    ----------
    graph : Graph
    sampler : Sampler
    rng : int, numpy.random.Generator or None
    size : int
        The paper's p_inter.
    first : int
        Number of the first subgraph.
    turns : Turns
        Whose subgraphs these are where a step has several workers; `first` counts them alone.
        Default: all are.
    background : bool
        Sample the next `size` subgraphs in a thread while those before are used; ``close()`` or
        a ``with`` block ends the thread. It has the OpenMP limit of the thread that takes
        subgraphs.

    Raises
    ------
    TypeError, ValueError
        If an option is of the wrong kind; the sampler's when the first subgraph is taken.
    """

    gnn: Any = None  # the implementation; bound in each package

    def __init__(
        self,
        graph: Graph,
        sampler: Sampler,
        rng: Rng,
        *,
        size: Int = 1,
        first: Int = 0,
        background: bool = False,
        turns: Turns = ALONE,
    ) -> None:
        draw = partial(self.gnn.sample_many, graph, sampler, as_seed(rng))  # 4-6
        super().__init__(turns.drawing(draw), size=size, first=first, background=background)
