"""Pre-propagation: features are summed over neighbours once, then training reads rows alone.

Wu et al. 2019, "Simplifying Graph Convolutional Networks"; Frasca et al. 2020, "SIGN: Scalable
Inception Graph Neural Networks".
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from refimpl._support.whole_files import about
from refimpl.lab.distributed.launch import available_cores
from refimpl.lab.training.methods import base
from refimpl.lab.training.methods.base import Iterations, LoadCounts, MethodSettings, Step
from refimpl.lab.training.run import Run, RunConfig
from refimpl.loader.lookahead_features import LookaheadFeatures
from refimpl.loader.packed import PackedFeatures
from refimpl.profiling import timed
from refimpl.streams import SHUFFLE, key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from refimpl.hints import FloatDtype, Ids, Matrix

CACHE = 2**20  # bytes of a lane's own cache
ROWS = 2**14  # that are read or written together


@dataclass(frozen=True)
class Prepropagation(MethodSettings):
    """Batches of rows of [X, A X, .., A^K X], which is computed once, before training.

    SGC, Wu et al. 2019; SIGN, Frasca et al. 2020. Nothing is sampled. The rows of the training
    nodes are stored in one random order, and every epoch reads them in this order.

    Parameters
    ----------
    batch_size : int
        Rows of a minibatch.
    """

    name: ClassVar[str] = "prepropagation"
    description: ClassVar[str] = "batches"
    setup_step: ClassVar[str] = "propagating features"
    counts_loads: ClassVar[bool] = True
    features_in: ClassVar[tuple[str, ...]] = ("memory", "mmap", "lookahead")  # all rows are needed

    batch_size: int = base.batch_size()

    def check(self, config: RunConfig) -> None:
        """Raise ValueError unless the model reads propagated features."""
        base.only(config, "sign")

    def start(self, run: Run) -> Iterations:
        """Return the iterations of a run."""
        return RowIterations(run)


class RowIterations:
    """The iterations on a `Run` over rows of features that are propagated once.

    An iteration depends on its number alone. It takes O(s (K + 1) f h) time for s rows of a batch.
    """

    cache = None

    def __init__(self, run: Run) -> None:
        self.run, seed, k = run, run.config.rng, len(run.roots)
        order = run.gnn.streams.pick_without_replacement(key(seed, SHUFFLE, 0), 0, k, k)
        self.nodes = run.roots[order]  # whose rows those of Z are
        with timed("normalization"):
            self.Z = propagated_rows(run, self.nodes)
        self.batches = self._batches()

    def _batches(self) -> Iterator[tuple[Ids, Matrix[Any]]]:
        """Yield (nodes, their rows) of one minibatch after another, of those here, without end."""
        turns, size = self.run.turns, self.run.config.method.batch_size
        for number in map(turns.number, count(self.run.begun)):
            first = number % -(-len(self.nodes) // size) * size
            batch = slice(first, first + size)
            yield self.nodes[batch], np.array(self.Z[batch])

    def iteration(self) -> Step:
        """Go forward and back over the next rows; return the `Step`."""
        run, L = self.run, self.run.config.layers
        (nodes, H), passes = next(self.batches), run.passes()

        for l in range(1, L + 1):
            H = passes.forward(l, None, H)
        loss = run.stack.loss(passes.classify(H), *run.targets(nodes))

        G = loss.gradient
        for l in range(L + 1, 0, -1):
            G = passes.backward(l, G)

        rows, row_bytes = len(nodes), self.Z.shape[1] * self.Z.itemsize
        counts = LoadCounts(rows, rows, loaded=rows, bytes=rows * row_bytes)
        return Step(loss.value, passes.gradients, rows, counts)

    def close(self) -> None:
        """Do nothing: there is no thread."""


def propagated_rows(run: Run, nodes: Ids) -> Matrix[Any]:
    """Return the rows of [X, A X, .., A^K X], or of A^K X, of some nodes.

    The columns of X are taken in blocks, each of which goes through all products before the next.
    A block has all columns where features are in memory. Where features are in a file, the result
    is in a file too, and a block and its product take `eval_memory`, but at least a column.

    Parameters
    ----------
    run : Run
    nodes : (k,) int32 array

    Returns
    -------
    (k, f) or (k, (K + 1) f) array, perhaps a numpy.memmap
    """
    gnn, model, n, f = run.gnn, run.config.model, run.graph.n, run.stack.f_in
    lanes, word = available_cores(), np.dtype(run.dtype).itemsize
    partition_plan = gnn.partition.partition_plan
    A = run.stack.adjacency(run.graph, dtype=run.dtype)
    shape, starts = (len(nodes), len(model.kept) * f), np.array([0, f])
    if on_storage(run.dataset.features if run.features is None else run.features):
        starts = partition_plan(n, f, 1, max(run.config.eval_memory // 2, 1), word=word).starts
        Z = temporary_map(shape, run.dtype)
    else:
        Z = np.empty(shape, run.dtype)
    for first, last in zip(starts[:-1], starts[1:], strict=True):
        X = columns(run, first, last)
        plan = partition_plan(n, last - first, lanes, CACHE, word=word)
        for power in range(model.hops + 1):
            if power:
                X = gnn.feature_propagate(A.graph, A.data, X, plan, lanes)
            if power in model.kept:
                left = model.kept.index(power) * f
                for i in range(0, len(nodes), ROWS):
                    Z[i : i + ROWS, left + first : left + last] = X[nodes[i : i + ROWS]]
    return Z


def on_storage(X: Any) -> bool:
    """Return whether features, or the array that they are a view of, are read from a file."""
    while isinstance(X, np.ndarray) and not isinstance(X, np.memmap):
        X = X.base
    return isinstance(X, np.memmap | LookaheadFeatures | PackedFeatures)


def columns(run: Run, first: int, last: int) -> Matrix[Any]:
    """Return some columns of the features of all nodes, read row by row."""
    X = np.empty((run.graph.n, last - first), run.dtype)
    for i in range(0, len(X), ROWS):
        rows = run.load(np.arange(i, min(i + ROWS, len(X))))
        X[i : i + ROWS] = rows[:, first:last]
    return X


def temporary_map(shape: tuple[int, int], dtype: FloatDtype) -> Matrix[Any]:
    """Return an array of zeros that is mapped from a file without a name.

    The file is written first: to map one that does not fit on the disk would end the process.
    It is in the system's folder for temporary files (TMPDIR), and goes with the array.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not size:
        return np.zeros(shape, dtype)
    try:
        with tempfile.TemporaryFile() as file:
            for done in range(0, size, 2**20):
                file.write(bytes(min(2**20, size - done)))
            file.flush()
            return np.memmap(file, dtype, "r+", shape=shape)
    except OSError as error:  # such as a full disk: which one
        raise about(f"{tempfile.gettempdir()} (TMPDIR)", error) from error
