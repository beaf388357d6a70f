"""A graph whose neighbours are on storage, drawn from hop by hop for a window of minibatches.

Not in the papers. Draws depend on keys alone, so the minibatches of a window can be drawn together:
the rows that all of them need in a hop are read at once, in ascending order, before the hop is
drawn. The draws are those of `sample_mfg`, to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.distinct import distinct
from refimpl._support.reprs import showing
from refimpl.block import MFG, as_mfg, sources
from refimpl.graph import Graph
from refimpl.graph.csr import checked
from refimpl.hints import Ids, Int, Positions, SampleMode
from refimpl.loader.lookahead_features import ReadCounts
from refimpl.loader.paged_file import PagedFile
from refimpl.samplers.neighbor import (
    MODES,
    Minibatch,
    dependency_argument,
    mfg_arguments,
    with_rows_before,
)

if TYPE_CHECKING:
    from typing_extensions import Self

ENTRY = 4  # bytes of a neighbour in the file
FACTS = ("symmetric", "self_loops", "max_degree")  # about a graph, where they are known


def draw_arguments(stored, minibatches, mode, batch_dependency):
    """Check the arguments of `LookaheadGraph.draw`; return them, the minibatches in its graph."""
    require.choice("mode", mode, MODES)
    kappa, found = dependency_argument(mode, batch_dependency), []
    for one in require.listed("minibatches", minibatches, "Minibatches"):
        if not isinstance(one, Minibatch):
            raise TypeError(f"minibatches must hold Minibatches, got {type(one).__name__}")
        _, roots, fanouts, seed, epoch, batch = require.record("minibatches", one, Minibatch)
        own = mfg_arguments(stored._graph, roots, fanouts, seed, epoch, batch, mode, kappa)
        found.append(Minibatch(*own[:6]))
    if len({len(one.fanouts) for one in found}) > 1:
        raise ValueError("minibatches must have equally many fan-outs")
    return stored, found, mode, kappa


class LookaheadGraph:
    """A graph in a folder, whose file of neighbours is read into a cache of a given size.

    `indptr` is in memory, beside the cache. A forked child reads on its own. Not in the papers.

    Parameters
    ----------
    graph : Graph
        Its `indices` are mapped from a file, as in a data set that `load_dataset` opens from a
        folder of ``minibatch-gnn convert``.
    memory : int
        Bytes of the cache, its tables included.
    depth : int, from 1 to 1024
        Reads under way at a time, in fastimpl.
    window : int, at least 1
        Minibatches that training draws together. It changes no result.

    Attributes
    ----------
    counts : ReadCounts
        `asked` and `rows` count pages of 4 KiB: those that hops needed, and those that were read.
        `waiting` are the seconds of the reads; training waits for some of them.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or `memory` is too small for a page.
    OSError
        If the file cannot be opened.
    MemoryError
        If the cache finds no memory.
    """

    gnn: Any = None  # the implementation; bound in each package

    def __init__(self, graph: Graph, memory: Int, *, depth: Int = 64, window: Int = 8) -> None:
        self.path, self.offset = file_of(checked(graph).indices)
        self.n, self.e = graph.n, graph.e
        self.depth = require.integer("depth", depth, 1, 1024)
        self.window = require.integer("window", window, 1, 2**31 - 1)
        memory = require.integer("memory", memory, 1, 2**62)
        self.file = PagedFile(self.path, memory, self.depth, self.gnn.loader.read_rows)
        end = self.offset + ENTRY * self.e
        if len(self.file.bytes) < end:
            self.file.close()
            raise ValueError(f"{self.path} must have {end} bytes, got {len(self.file.bytes)}")
        indices = self.file.bytes[self.offset : end].view(np.int32)
        known = {name: graph.__dict__[name] for name in FACTS if name in graph.__dict__}
        self._graph = Graph._trusted(np.array(graph.indptr), indices, **known)

    __repr__ = showing("path", "n", "e", "depth", "window")

    @property
    def counts(self) -> ReadCounts:
        """What was read."""
        return self.file.counts

    @property
    def capacity(self) -> int:
        """Pages that the cache can hold."""
        return self.file.pages.capacity

    @checked_by(draw_arguments)
    def draw(
        self,
        minibatches: Sequence[Minibatch],
        mode: SampleMode = "layered",
        batch_dependency: Int = 1,
    ) -> list[MFG]:
        """Draw some minibatches together, hop by hop.

        Parameters
        ----------
        minibatches : sequence of Minibatch
            Of equally many fan-outs, none by relation. Their graph is not looked at.
        mode, batch_dependency
            As for `sample_mfg`.

        Returns
        -------
        list of MFG
            What `sample_mfg` returns for each of `minibatches`.

        Raises
        ------
        TypeError, ValueError
            If an argument is not as above.
        TooManyPages
            A ValueError: the rows that one of them needs in a hop do not fit in the cache.
        ReadFailed
            An OSError: the file cannot be read, or has become shorter.
        """
        growing = [Growing(one, mode, batch_dependency) for one in minibatches]
        for _ in range(max((len(one.fanouts) for one in minibatches), default=0)):
            for some, pages in self._together(growing):
                with self._holding(pages) as graph:
                    for one in some:
                        one.draw_hop(self.gnn, graph)
        return [one.mfg() for one in growing]

    def _together(self, growing):
        """Yield minibatches whose rows of the next hop fit in the cache together, and the pages."""
        some: list[Growing] = []
        pages: Positions = np.empty(0, np.int64)
        for one in growing:
            own = self.pages_of(one.reads())
            both = distinct(np.concatenate([pages, own]))
            if some and len(both) > self.capacity:
                yield some, pages
                some, both = [], own
            some, pages = [*some, one], both
        yield some, pages

    def pages_of(self, nodes: Ids) -> Positions:
        """Return the pages of the file that hold the neighbours of some nodes, ascending."""
        nodes = np.sort(nodes)
        begin, end = self._graph.start[nodes], self._graph.end[nodes]
        return self.file.pages_of(self.offset + ENTRY * begin, self.offset + ENTRY * end)

    @contextmanager
    def _holding(self, pages: Positions) -> Iterator[Graph]:
        """Read some pages; give a Graph that has them, and anything elsewhere."""
        self.file.own_process()
        with self.file.lock:
            self.file.hold(pages)
            yield self._graph

    def close(self) -> None:
        """Close the file; may be called again."""
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class Growing:
    """A minibatch that is drawn hop by hop, as `sample_mfg` draws it.

    Parameters
    ----------
    minibatch : Minibatch
    mode, batch_dependency
        As for `sample_mfg`.
    """

    def __init__(self, minibatch: Minibatch, mode: SampleMode, batch_dependency: Int) -> None:
        self.minibatch, self.fanouts = minibatch, minibatch.fanouts
        self.shared, self.how = mode == "shared", (mode, batch_dependency)
        self.nodes: list[Ids] = [minibatch.roots]
        self.hops: list[Any] = []  # a Block each, or in the mode "shared" what it is made of

    def front(self) -> Ids:
        """Return the nodes that draw in the next hop."""
        # in the mode "shared", the nodes that the hop before drew for do not draw again
        return self.nodes[0][len(self.nodes[1]) if self.shared and self.hops else 0 :]

    def reads(self) -> Ids:
        """Return the nodes whose rows are read in the next hop."""
        return self.front() if self.fanouts[len(self.hops)] else self.front()[:0]

    def draw_hop(self, gnn: Any, graph: Graph) -> None:
        """Draw the next hop from a graph that has the rows of its `front`."""
        hop, (mode, kappa), one = len(self.hops), self.how, self.minibatch
        # the hops behind it, which draw nothing, give this one the number of its layer
        fanouts = (self.fanouts[hop], *(0 for _ in self.fanouts[hop + 1 :]))
        mfg = gnn.sample_mfg(
            graph, self.front(), fanouts, seed=one.seed, epoch=one.epoch, batch=one.batch,
            mode=mode, batch_dependency=kappa,
        )  # fmt: skip
        src, block = mfg.nodes[-2], mfg.blocks[-1]
        if self.shared:
            src, indices = sources(self.nodes[0], src[block.indices])
            block = np.append(block.start, block.e), indices, block.edge_ids
        self.nodes.insert(0, src)
        self.hops.append(block)

    def mfg(self) -> MFG:
        """Return the MFG, when all hops are drawn."""
        if self.shared:
            return as_mfg(self.nodes, with_rows_before(self.hops))
        return MFG(tuple(self.nodes), tuple(self.hops[::-1]))


def is_mapped(array: Any) -> bool:
    """Return whether an array is mapped from a file."""
    return mapping_of(array) is not None


def mapping_of(array: Any) -> Any:
    """Return the memory map of a file that an array is in, or None."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return None if array is None or array.filename is None else array


def file_of(array: Any) -> tuple[Path, int]:
    """Return the file that an array is mapped from, and where in the file the array begins.

    Raises
    ------
    ValueError
        If it is not mapped from a file.
    """
    mapped = mapping_of(array)
    if mapped is None:
        raise ValueError("graph must have indices that are mapped from a file, as of load_dataset")
    begin = array.__array_interface__["data"][0] - mapped.__array_interface__["data"][0]
    return Path(mapped.filename), mapped.offset + begin
