"""One training run in a folder: new, or resumed from its checkpoint."""

from __future__ import annotations

import os
import shlex
import warnings
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support.mpi_start import exit_status
from refimpl._support.untrusted_files import naming
from refimpl._support.whole_files import temporary_beside
from refimpl.lab.apps.errors import Interrupted, UserError, user_errors
from refimpl.lab.apps.options import load_implementation
from refimpl.lab.apps.output import CHECKPOINT, RESULTS, Output
from refimpl.lab.apps.preparing import check_sampler, facts_of, limited_threads, load_data
from refimpl.lab.apps.ranks import check_run, ending_all, is_first, together
from refimpl.lab.apps.results import results_in
from refimpl.lab.apps.resuming import Before, naming_it
from refimpl.lab.apps.settings import asked, config_of, recorded
from refimpl.lab.distributed.collectives import everyones
from refimpl.lab.distributed.launch import fair_threads
from refimpl.lab.distributed.parts import FeatureParts, planned
from refimpl.lab.distributed.team import Team
from refimpl.lab.training.run import places_of_features, places_of_graph, reads_sparse
from refimpl.loader.files import open_features, write_features
from refimpl.loader.lookahead_features import ReadFailed
from refimpl.loader.lookahead_graph import is_mapped
from refimpl.loader.packed import PackedFeatures
from refimpl.loader.paged_file import TooManyPages
from refimpl.loader.windows import CacheTooSmall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from refimpl.lab.apps.option import Chosen, Options
    from refimpl.lab.data.dataset import Dataset
    from refimpl.lab.training.state import TrainState
    from refimpl.loader.lookahead_features import LookaheadFeatures
    from refimpl.loader.lookahead_graph import LookaheadGraph
    from refimpl.loader.mpi import MPIComm

FEATURES = "training_features.npy"
KEPT = "--resume to continue it, --overwrite to replace it"


def train(
    given: Chosen,
    *,
    options: Options,
    out: str | None,
    resume: bool,
    overwrite: bool,
    prog: str,
    comm: MPIComm | None,
) -> None:
    """Train with the options `given`; write the folder and print the tables.

    Parameters
    ----------
    given : dict
        The values that the user gave, by the keys of `options`, as JSON holds them.
    options : dict of Option
        From `train_options`.
    out : str, optional
        The folder; default: runs/ and the name of the data.
    resume : bool
        Go on from the checkpoint in the folder.
    overwrite : bool
        Replace the run in the folder; without it and `resume`, one that is there is an error.
    prog : str
        How the user calls the program.
    comm : MPIComm, optional
        The ranks that train; None for one process.

    Raises
    ------
    UserError
        If the options, the data, the checkpoint or the folder are at fault.
    Interrupted
        If the user stops the run once it has a checkpoint.
    """
    data = given.get("data", options["data"].default)
    folder = Path("runs", Path(data).name) if out is None else Path(out)
    keep = not (resume or overwrite)
    with ending_all(comm), ExitStack() as until_the_end:
        if not is_first(comm):  # rank 0 warns for all
            until_the_end.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
        with together(comm):
            if is_first(comm):
                alone = results_in(folder, RESULTS, keep=keep, instead=KEPT)
                until_the_end.enter_context(alone)
        _train(folder, given, options, resume, prog, comm)


def _train(
    folder: Path, given: Chosen, options: Options, resume: bool, prog: str, comm: MPIComm | None
) -> None:
    """Train in a folder that is this run's alone; `comm` are the ranks that do, or None."""
    saved = False
    try:
        with ExitStack() as until_the_end:
            share = None if comm is None else fair_threads(comm)
            with together(comm, like=True):
                found = Prepared(folder, given, options, resume)
                saved = resume
                with naming_it(None if "threads" in given else found.before):
                    until_the_end.enter_context(threads_of(found.settings, share))
                found.load()
            if comm is not None:
                check_run(comm, found.settings, found.facts)
            features = until_the_end.enter_context(_features(folder, found, comm))
            with together(comm), naming_it(found.before), user_errors():
                Team(found.config.workers_a_step, comm)  # said once; the trainer makes its own
            graph = until_the_end.enter_context(_graph(found))
            with user_errors(), found.naming():
                trainer = found.gnn.make_trainer(
                    found.dataset,
                    found.config,
                    found.state,
                    features=features,
                    graph=graph,
                    comm=comm,
                )
            with trainer:
                output = Output(folder, trainer, found.settings, found.facts, comm)
                if not resume:
                    output.start()
                saved = True
                with _reading_ahead():
                    output.run_epochs()
                output.finish(features)
    except KeyboardInterrupt as stop:
        if not saved:
            raise
        epochs = str(found.settings["epochs"])
        command = ["train", "--resume", "--out", str(folder), "--epochs", epochs]
        raise Interrupted(
            f"interrupted; {folder / CHECKPOINT} is complete up to the last finished epoch; "
            f"to resume: {prog} {shlex.join(command)}",
            exit_status(stop),
        ) from None


class Prepared:
    """What a run needs, from its options and its checkpoint: the same on every rank."""

    def __init__(self, folder: Path, given: Chosen, options: Options, resume: bool) -> None:
        self.options = options
        self.before: Before | None = None
        if resume:
            self.before = Before(folder / CHECKPOINT, options, given)
        self.settings = asked(options, given) if self.before is None else self.before.asked
        self.gnn = load_implementation(self.settings["impl"])

    def load(self) -> None:
        """Read the data, and let it fill in what it decides."""
        before = self.before
        with naming_it(before):
            self.dataset = load_data(self.settings)
        self.facts = facts_of(self.dataset)
        if before is not None:
            before.check_data(self.facts)
        with naming_it(before):
            self.config = config_of(self.settings, self.dataset)
            check_sampler(self.gnn, self.dataset, self.config)
        self.settings = recorded(self.options, self.settings, self.config)
        if before is not None:
            before.check_settings(self.settings)

    @property
    def state(self) -> TrainState | None:
        """Where the run goes on, or None."""
        return None if self.before is None else self.before.state

    def naming(self) -> AbstractContextManager[object]:
        """Return a context manager in which a complaint about the state names the checkpoint."""
        return nullcontext() if self.before is None else naming(self.before.checkpoint)


def threads_of(settings: Chosen, share: int | None) -> AbstractContextManager[object] | Any:
    """Return a context manager in which a process has the threads asked for.

    Where nobody asked for a number it has its `share`, if there are several processes.
    """
    threads = settings["threads"]
    if threads is None and "OMP_NUM_THREADS" not in os.environ:
        threads = share
    return limited_threads(threads)


@contextmanager
def _features(
    folder: Path, found: Prepared, comm: MPIComm | None
) -> Iterator[FeatureParts | LookaheadFeatures | NDArray[Any] | None]:
    """Give what training reads features of, as long as the block runs; None: the data set's own.

    With "mmap" they are in a file. A run that goes on writes it anew: the data set is read into
    memory anyway. With "parts" each rank has the rows of its part, and reads the others'. With
    "lookahead" they are in the folder that the data came from.
    """
    settings, dataset, place = found.settings, found.dataset, found.settings.get("features_in")
    n, half = dataset.train_graph.n, settings.get("half_features")
    if (half or place not in (None, "memory")) and reads_sparse(dataset, found.config):
        raise UserError(
            f"{'--half-features' if half else f'--features-in {place}'} needs features in an "
            "array, and training multiplies the entries of this data's sparse features: leave it "
            "out, or give a folder of minibatch-gnn convert as --data"
        )
    places = places_of_features(found.config)
    if place not in (None, *places):
        local = " and --partition local" if found.config.partition == "local" else ""
        raise UserError(
            f"--features-in {place} does not go with --method {found.config.method.name}{local}: "
            f"choose one of {', '.join(places)}"
        )
    if place == "parts" and comm is not None:
        with together(comm), naming_it(found.before), user_errors():
            first, last = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
            X = _rows(dataset, half, first, last)
            planned(settings["rounds"], comm.size)
        with FeatureParts(comm, X, settings["rounds"]) as parts:
            yield parts
        return
    if place == "lookahead":
        with _lookahead(found, half) as features:
            yield features
        return
    X = _rows(dataset, half, 0, n) if half else None
    if place != "mmap":
        yield X
        return
    path = temporary_beside(folder / FEATURES)
    if comm is not None:
        path = everyones(comm, path)[0]
    try:
        with together(comm), user_errors():
            if is_first(comm):
                write_features(path, _rows(dataset, half, 0, n) if X is None else X)
        with together(comm), user_errors():
            X = open_features(path)
        yield X
    finally:
        if is_first(comm):
            path.unlink(missing_ok=True)


@contextmanager
def _reading_ahead() -> Iterator[None]:
    """Turn what features and neighbours on storage cannot do while training into a UserError."""
    try:
        yield
    except TooManyPages as error:
        raise UserError(f"--graph-memory: {error}") from error
    except (CacheTooSmall, ReadFailed) as error:
        raise UserError(str(error)) from error


def _lookahead(found: Prepared, half: bool | None) -> LookaheadFeatures | Any:
    """Return the features of a folder of ``convert``, in a cache of the size asked for."""
    X = found.dataset.features
    if not isinstance(X, np.memmap | PackedFeatures):
        raise UserError(
            "--features-in lookahead needs a folder of minibatch-gnn convert as --data: the "
            "features of other data are in memory already"
        )
    if half:
        raise UserError(
            "--half-features does not go with --features-in lookahead: store half features by "
            "minibatch-gnn convert --feature-dtype float16"
        )
    if X.dtype == np.float64:
        raise UserError(
            "--features-in lookahead reads float32 and float16: store them by minibatch-gnn "
            "convert --feature-dtype float32"
        )
    with user_errors():
        settings = found.settings
        ahead = found.gnn.loader.LookaheadFeatures
        return ahead(X.filename, settings["memory"], evict=settings["evict"])


@contextmanager
def _graph(found: Prepared) -> Iterator[LookaheadGraph | None]:
    """Give the graph of a folder of ``convert`` on storage, if that is asked for."""
    settings, graph = found.settings, found.dataset.train_graph
    if settings.get("graph_in") != "lookahead":
        yield None
        return
    if "lookahead" not in places_of_graph(found.config):
        raise UserError("--graph-in lookahead does not go with --partition local")
    if not is_mapped(graph.indices):
        raise UserError(
            "--graph-in lookahead needs a folder of minibatch-gnn convert as --data: the graph of "
            "other data is in memory already"
        )
    with user_errors("--graph-memory"):
        stored = found.gnn.loader.LookaheadGraph(graph, settings["graph_memory"])
    with stored:
        yield stored


def _rows(dataset: Dataset, half: bool | None, first: int, last: int) -> NDArray[Any]:
    """Return the training features of some nodes, in float16 where asked."""
    nodes: Any = np.arange(first, last)
    X = dataset.inputs(dataset.in_graph(nodes))
    if half and np.abs(X).max(initial=0) > np.finfo(np.float16).max:
        raise UserError("--half-features: a feature is too large for float16")
    return np.ascontiguousarray(X.astype(np.float16) if half else X)
