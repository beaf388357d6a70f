"""Batches made ahead by threads, and delivered in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from threadpoolctl import ThreadpoolController

from refimpl._support import require
from refimpl._support.reprs import showing
from refimpl._support.thread_limits import Threads, in_background
from refimpl.block import MFG
from refimpl.graph import Graph
from refimpl.hints import Fanouts, Int, Integers, SampleMode
from refimpl.lab.training.graph_windows import GraphWindows
from refimpl.lab.training.methods.base import hop_fanouts
from refimpl.profiling import timed
from refimpl.samplers.neighbor import mfgs_arguments

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from typing_extensions import Self

    from refimpl.lab.training.run import Run
    from refimpl.loader.lookahead_graph import LookaheadGraph
    from refimpl.training.subgraph_pool import Turns

MOST_WORKERS = 1024  # threads
WITHOUT_END = range(2**62)

Item = TypeVar("Item")


class Ahead(Generic[Item]):
    """Items with given numbers, made ahead by threads and delivered in this order: an iterator.

    An item may be begun when it is fewer than `window` items behind the one that is asked for
    next: that one always may, so nothing can wait forever, and at most `window` finished items
    wait here. An exception is raised where its item is asked for, and closes the iterator. The
    threads end with the last item, with `close`, at the end of a ``with`` block, or with the
    iterator. A forked child has an iterator of its own, in the same state, with threads of its own.

    Parameters
    ----------
    make : callable
        ``make(number)`` returns an item. Nothing that has the iterator may hang on it: the threads
        have it, and end with the iterator.
    numbers : list of ints
    workers : int
        Threads; each has one OpenMP thread. 0 makes an item when it is asked for, in the thread
        that asks, with as many OpenMP threads as it has.
    window : int, at least 1
    prepare : callable, optional
        Called in each thread first, before OpenMP is limited there.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.
    ValueError
        If an item is asked for after `close`, or after an exception.
    """

    def __init__(
        self,
        make: Callable[[int], Item],
        numbers: Sequence[int],
        *,
        workers: Int = 0,
        window: Int = 4,
        prepare: Callable[[], object] | None = None,
    ) -> None:
        self._make, self.numbers, self._prepare = make, numbers, prepare
        self.workers = require.integer("workers", workers, 0, MOST_WORKERS)
        self.window = require.integer("window", window, 1, 2**31 - 1)
        self.next_out = 0
        self.closed = False
        self._begun: deque[Future[Item]] = deque()  # items next_out, next_out + 1, ..
        self._executor: ThreadPoolExecutor | None = None
        self._process, self._unwanted = os.getpid(), bytearray(1)

    __repr__ = showing("numbers", "next_out", "workers", "window", "closed")

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[int, Item]:
        if self.next_out == len(self.numbers):
            self.close()
            raise StopIteration
        if self.closed:
            raise ValueError("the prefetcher is closed")
        try:
            item = self._take()
        except Exception:  # of the item; if the wait was interrupted, it can be asked for again
            self.close()
            raise
        self.next_out += 1
        if self.workers:
            self._begin()  # the window has moved on
        return self.numbers[self.next_out - 1], item

    @timed("sampling")
    def _take(self) -> Item:
        """Return the next item."""
        if not self.workers:
            return self._make(self.numbers[self.next_out])
        self._begin()
        item = self._begun[0].result()
        self._begun.popleft()
        return item

    def _begin(self) -> None:
        """Let the threads make all items in the window; they take them in order."""
        if self._process != os.getpid():  # forked: nobody makes what the parent began
            self._begun.clear()
            self._executor, self._process = None, os.getpid()
        if self._executor is None:
            self._executor = Threads(
                self.workers,
                "minibatch-gnn-prefetch",
                _use_one_thread,
                (self._prepare, ThreadpoolController().select(user_api="openmp").lib_controllers),
            )
        last = min(self.next_out + self.window, len(self.numbers))
        for number in self.numbers[self.next_out + len(self._begun) : last]:
            task = partial(self._make, number)
            self._begun.append(self._executor.submit(in_background, self._unwanted, task))

    def close(self) -> None:
        """End the threads; may be called again.

        Compiled kernels end at once, the reference's once they have drawn what they draw.
        """
        self.closed = True
        self._unwanted[0] = 1
        self._begun.clear()
        if self._executor is not None and self._process == os.getpid():
            self._executor.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class Prefetcher(Ahead[MFG]):
    """Pairs (b, MFG) of batches b of an epoch, in order: an iterator.

    FreshGNN's asynchronous sampling (VLDB'24 section 5). What is drawn depends on the
    batch's number alone, so neither `workers` nor `window` changes a bit. A batch may be begun
    when it is fewer than `window` batches behind the one that is asked for next: that one always
    may, so nothing can wait forever, and at most `window` finished graphs wait here.

    An exception is raised where its batch is asked for, and closes the prefetcher. The threads
    end with the last batch, with `close`, at the end of a ``with`` block, or with the prefetcher.
    A forked child has a prefetcher of its own, in the same state, with threads of its own.

    Parameters
    ----------
    graph, fanouts, seed, epoch, mode, batch_dependency
        As for `sample_mfg`.
    batches : sequence of (any,) integer arrays
        The roots of each batch, as `epoch_batches` gives them.
    numbers : sequence of ints, optional
        Those of the batches that are wanted, in this order; default: all.
    workers : int
        Threads; each samples with one OpenMP thread. 0 samples when a batch is asked for, in the
        thread that asks, with as many OpenMP threads as it has.
    window : int, at least 1

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.
    ValueError
        If a batch is asked for after `close`, or after an exception.
    """

    gnn: Any = None  # the implementation; bound in each package

    def __init__(
        self,
        graph: Graph,
        batches: Sequence[Integers],
        fanouts: Fanouts,
        *,
        seed: Int,
        epoch: Int,
        workers: Int = 0,
        window: Int = 4,
        mode: SampleMode = "layered",
        batch_dependency: Int = 1,
        numbers: Sequence[Int] | None = None,
    ) -> None:
        _, self.batches, fanouts, seed, epoch, _, mode, kappa = mfgs_arguments(
            graph, batches, fanouts, seed, epoch, 0, mode, batch_dependency
        )
        how = {"mode": mode, "batch_dependency": kappa}
        draw = partial(self.gnn.sample_mfg, graph, fanouts=fanouts, seed=seed, epoch=epoch, **how)
        count = len(self.batches)
        wanted = range(count) if numbers is None else require.sequence("numbers", numbers)
        chosen = [require.integer("numbers", b, 0, count - 1) for b in wanted]
        make = partial(_drawn, draw, self.batches)
        super().__init__(make, chosen, workers=workers, window=window)


def message_flow_graphs(run: Run, ahead: int = 0) -> Generator[MFG, None, None]:
    """Yield the sampled neighbours of one minibatch after another, of those here, without end.

    The first one is of the step that comes `ahead` steps later. Those of forward-only passes, which
    are ahead, are sampled when they are asked for: otherwise every pass would have threads of its
    own. A graph on storage is drawn from by `windows_of_graph` instead.
    FreshGNN (VLDB'24) Algorithm 1, lines 3 to 5; ``# V1:n`` marks line n. The threads that
    sample ahead end with ``close()``, or when the iterator is deleted.
    """
    if run.stored is not None:
        yield from windows_of_graph(run, run.stored, ahead)
        return
    gnn, graph, settings, seed = run.gnn, run.graph, run.config.method, run.config.rng
    nodes = run.roots
    batches = -(-len(nodes) // settings.batch_size)  # in an epoch
    begun = run.begun_by(ahead)
    while True:
        epoch = run.turns.number(begun) // batches
        with timed("sampling"):  # the prefetcher records the rest
            numbers = of_epoch(run.turns, begun, epoch, batches)
            roots = gnn.samplers.epoch_batches(nodes, settings.batch_size, seed, epoch)  # V1:3
        with gnn.Prefetcher(
            graph,
            roots,
            hop_fanouts(settings),
            seed=seed,
            epoch=epoch,
            workers=0 if ahead else settings.workers,
            mode=settings.sample_mode,
            batch_dependency=settings.batch_dependency,
            numbers=numbers,
        ) as graphs:
            for _, mfg in graphs:  # V1:4
                yield mfg  # V1:5
        begun += len(numbers)


def windows_of_graph(
    run: Run, stored: LookaheadGraph, ahead: int = 0
) -> Generator[MFG, None, None]:
    """Yield what `message_flow_graphs` yields; a thread draws a window while training works.

    One thread, whatever `workers` is: what waits for storage needs no processor. Windows of
    forward-only passes, which are `ahead`, are drawn when they are asked for.
    """
    make = GraphWindows(run, stored, ahead)
    with Ahead(make, WITHOUT_END, workers=0 if ahead else 1, window=1) as windows:
        for _, mfgs in windows:
            yield from mfgs


def of_epoch(turns: Turns, begun: int, epoch: int, batches: int) -> list[int]:
    """Return which batches of an epoch are here, from the minibatch with the count `begun` on."""
    found: list[int] = []
    while True:
        number = turns.number(begun + len(found)) - epoch * batches
        if number >= batches:
            return found
        found.append(number)


def _drawn(draw: Callable[..., MFG], batches: Sequence[Integers], b: int) -> MFG:
    """Return the MFG of batch b."""
    return draw(batches[b], batch=b)


def _use_one_thread(prepare: Callable[[], object] | None, libraries: Iterable[Any]) -> None:
    """Limit OpenMP in the thread that calls this: the limit belongs to a thread."""
    if prepare is not None:
        prepare()
    for library in libraries:
        library.set_num_threads(1)
