"""The pool between the samplers and the training loop, refilled at once or in the background."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from threadpoolctl import ThreadpoolController

from refimpl import _check
from refimpl._shown import showing
from refimpl._threads import in_background
from refimpl.graph import Graph, Subgraph
from refimpl.hints import Int, Rng
from refimpl.lab.training.turns import ALONE, Turns
from refimpl.profiling import timed
from refimpl.samplers.sampling import Sampler
from refimpl.streams import as_seed

if TYPE_CHECKING:
    from typing_extensions import Self


Item = TypeVar("Item")


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

    def __init__(
        self,
        draw: Callable[[int, int], Iterable[Item]],
        *,
        size: Int = 1,
        first: Int = 0,
        background: bool = False,
    ) -> None:
        if not isinstance(background, bool):
            raise TypeError("background must be True or False")
        self.draw = draw
        self.size = _check.integer("size", size, 1, 2**31 - 1)
        self.next_q = _check.integer("first", first, 0, 2**63 - 1)
        self.waiting: deque[Any] = deque()  # J8:1
        self.closed = False
        self._worker = Worker() if background else None
        self._under_way: Future | None = None

    __repr__ = showing("size", "next_q", "closed")

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        if self.closed:
            raise ValueError("the pool is closed")
        if not self.waiting:  # J8:3
            self._refill()
        return self.waiting.popleft()  # J8:10 E-F9: first in, first out

    @timed("sampling")
    def _refill(self):
        worker = self._worker
        drawn = self._drawn_by(worker) if worker else self.draw(self.next_q, self.size)
        self.waiting.extend(drawn)  # J8:7
        self.next_q += self.size
        if worker:
            self._under_way = worker.start(self.draw, self.next_q, self.size)

    def _drawn_by(self, worker: Any) -> Any:
        """Return the items that the thread has drawn already, or is drawing."""
        if self._under_way is None or worker.forked():
            self._under_way = worker.start(self.draw, self.next_q, self.size)
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


class Worker:
    """One thread, started when it is first needed, that calls functions one after another.

    OpenMP's limit on threads belongs to the thread that set it: each call runs under the limit
    that its caller has at the time. No profile is in force in the calls.
    """

    def __init__(self):
        self._libraries = None
        self._begin()

    def _begin(self):
        self._process, self._unwanted = os.getpid(), bytearray(1)
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="minibatch-gnn-pool")

    def forked(self):
        """Whether this is a child of the process whose thread it was: no call of it ends here."""
        return self._process != os.getpid()

    def start(self, function, *args):
        """Call ``function(*args)`` in the thread; return the Future of its result."""
        if self.forked():
            self._begin()
        if self._libraries is None:  # now, when the kernels are loaded
            self._libraries = ThreadpoolController().select(user_api="openmp").lib_controllers
        limits = [(library, library.num_threads) for library in self._libraries]
        return self._executor.submit(_call_under, limits, self._unwanted, function, args)

    def close(self):
        """End the call under way where it can be, forget those that wait, and end the thread."""
        self._unwanted[0] = 1
        if not self.forked():
            self._executor.shutdown(cancel_futures=True)


def _call_under(limits, flag, function, args):
    for library, threads in limits:
        library.set_num_threads(threads)
    return in_background(flag, function, *args)
