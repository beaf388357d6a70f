"""What a run writes and shows, from its first moment to its last; rank 0 alone does."""

from __future__ import annotations

import platform
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scipy.sparse import issparse

from refimpl._support.reprs import one_line
from refimpl.history.cache import BidirectionalCache
from refimpl.lab.apps import info, plots, report
from refimpl.lab.apps.errors import UserError, user_errors
from refimpl.lab.apps.ranks import is_first, together
from refimpl.lab.data.sparse_features import density
from refimpl.lab.distributed import gathered_state
from refimpl.lab.distributed.collectives import to_first
from refimpl.lab.distributed.local import EmptyPart, LocalIterations
from refimpl.lab.distributed.parts import FeatureParts
from refimpl.lab.distributed.worker_caches import WorkerCaches
from refimpl.lab.training.checkpoints import save_checkpoint
from refimpl.lab.training.model import TrainedModel, save_model
from refimpl.lab.training.progress import Progress
from refimpl.lab.training.run import reads_sparse
from refimpl.loader.direct_reads import PAGE
from refimpl.loader.lookahead_features import LookaheadFeatures

if TYPE_CHECKING:
    from pathlib import Path

    from refimpl.hints import Absent
    from refimpl.lab.apps.option import Chosen
    from refimpl.lab.training.state import TrainResult
    from refimpl.lab.training.trainer import Trainer
    from refimpl.loader.lookahead_graph import LookaheadGraph
    from refimpl.loader.mpi import Communicator

CHECKPOINT, METRICS, HISTORY, CURVE = "checkpoint.npz", "metrics.json", "history.csv", "curve.png"
MODEL = "model.npz"
RESULTS = (METRICS, HISTORY, CHECKPOINT, MODEL, CURVE)


class Output:
    """The results of a run in a folder; every rank calls every method.

    Parameters
    ----------
    folder : Path
    trainer : Trainer
    settings, facts : dicts
        Of the run and of its data, as JSON can hold them.
    comm : Communicator or None
        The ranks.
    """

    def __init__(
        self,
        folder: Path,
        trainer: Trainer,
        settings: Chosen,
        facts: dict[str, Any],
        comm: Communicator | Absent,
    ) -> None:
        self.folder, self.trainer, self.comm = folder, trainer, comm
        self.settings, self.facts = settings, facts

    def start(self) -> None:
        """Replace an old run in the folder by one that has not begun."""
        # The checkpoint first: a run killed in its first epoch must not resume an old one.
        self._save()
        with together(self.comm), user_errors():
            for name in RESULTS:
                if name != CHECKPOINT and is_first(self.comm):
                    (self.folder / name).unlink(missing_ok=True)

    def run_epochs(self) -> None:
        """Train to the last epoch; after each, save the position and the history."""
        trainer, state, lr = self.trainer, self.trainer.state, self.settings["lr"]
        with Progress(trainer) as progress:
            while not trainer.done:
                try:
                    trainer.epoch(progress.within_epoch)
                except FloatingPointError as error:
                    features = getattr(error, "first", None) == "features"
                    advice = "correct that value" if features else f"try a smaller --lr than {lr}"
                    raise UserError(f"{error}: {advice}") from error
                except EmptyPart as error:
                    raise UserError(str(error)) from error
                self._save()
                with together(self.comm):
                    if is_first(self.comm):
                        known = state.history, state.loads, state.reads
                        report.write_history(self.folder / HISTORY, *known)
                progress.after_epoch()

    def finish(self, features: object) -> None:
        """Score the best weights; write and print the result."""
        result = self.trainer.result()
        ranks = None if self.comm is None else to_first(self.comm, self._of_rank(features))
        with together(self.comm):
            if is_first(self.comm):
                self._write(result, ranks, features)

    def _save(self) -> None:
        """Write the checkpoint of all workers."""
        state = self.trainer.state
        if self.comm is not None:
            state = gathered_state(state, self.comm)
        with together(self.comm), user_errors():
            if is_first(self.comm):
                settings = {**self.settings, "dataset": self.facts}
                save_checkpoint(self.folder / CHECKPOINT, state, settings)

    def _write(self, result: TrainResult, ranks: list[Any] | None, features: object) -> None:
        folder, trainer = self.folder, self.trainer
        seconds = trainer.training_seconds - trainer.seconds_before
        model = TrainedModel.trained(trainer.dataset, trainer.config, result.weights)
        save_model(folder / MODEL, model)
        metrics = {
            "val_f1": result.val_f1,
            "test_f1": result.test_f1,
            "best_epoch": result.best_epoch,
            "epochs": len(result.history),
            "iterations": result.iterations,
            "seconds": trainer.meter.seconds,
            **_loads(trainer),
            **({} if ranks is None else {"ranks": ranks}),
            **_reads(features, seconds),
            **_graph_reads(trainer.stored, seconds),
            "settings": self.settings,
            "dataset": self.facts,
            "versions": info.versions(),
            "build": info.build_of(trainer.gnn),
            "threads": info.threads_of(trainer.gnn),
        }
        report.write_json(folder / METRICS, metrics)
        known = trainer.state.loads, trainer.state.reads
        report.write_history(folder / HISTORY, result.history, *known)
        title = report.title(self.settings, self.facts)
        why = plots.missing(plots.draw_curves, folder / CURVE, result.history, title, *known)
        print(f"{title}\n\n{report.summary(metrics)}\n")
        for line in [*_of_features(trainer), *_advice(trainer, result)]:
            print(line)
        for name in (METRICS, HISTORY, CHECKPOINT, MODEL):
            print(f"wrote {one_line(folder / name)}")
        print(f"no {CURVE}: {why}" if why else f"wrote {one_line(folder / CURVE)}")

    def _of_rank(self, features: object) -> dict[str, Any]:
        """Return what this rank did, sent and waited for."""
        trainer = self.trainer
        counts: dict[str, Any] = {}
        if isinstance(features, FeatureParts):
            counts = {"features": asdict(features.fetching)}
        if isinstance(trainer.iterations, LocalIterations):
            counts["nodes_moved"] = trainer.iterations.moved
        workers = trainer.team.turns.mine
        return {
            "rank": self.comm.rank,
            "machine": platform.node(),
            "workers": [workers[0], workers[-1]],
            "threads": info.threads_of(trainer.gnn),
            "seconds": trainer.meter.seconds,
            "gradients": asdict(trainer.team.traffic),
            **counts,
        }


def _reads(features: object, seconds: float) -> dict[str, Any]:
    """Return what was read of features on storage, if they are there, in `seconds` of training."""
    if not isinstance(features, LookaheadFeatures):
        return {}
    counts = features.counts
    size = (counts.rows + counts.on_demand) * features.row_bytes
    shares = {
        "pages": counts.bytes // PAGE,
        "amplification": counts.bytes / size if size else None,
    }
    return {"reads": {**asdict(counts), **shares, **counts.shares(seconds)}}


def _graph_reads(graph: LookaheadGraph | None, seconds: float) -> dict[str, Any]:
    """Return what was read of a graph on storage, if it is there, in `seconds` of training."""
    if graph is None:
        return {}
    counts, shares = graph.counts, graph.counts.shares(seconds)
    found = {
        "asked": counts.asked,
        "pages": counts.rows,
        "bytes": counts.bytes,
        "reading": counts.waiting,
        "hit_rate": shares["hit_rate"],
        "mib_a_second": shares["mib_a_second"],
    }
    return {"graph_reads": found}


def _loads(trainer: Trainer) -> dict[str, Any]:
    """Return what was loaded in the whole run, and the caches at its end, if that is counted."""
    if not trainer.config.method.counts_loads:
        return {}
    cache, found = trainer.state.cache, None
    caches = list(cache.caches.values()) if isinstance(cache, WorkerCaches) else [cache]
    if isinstance(caches[0], BidirectionalCache):
        workers = trainer.config.workers_a_step  # each has as large a one
        one = caches[0]
        found = {"bytes": workers * one.nbytes, "features": workers * one.feature_rows}
    return {"loads": report.totals(trainer.state.loads), "cache": found}


def _of_features(trainer: Trainer) -> list[str]:
    """Return a line about sparse features, if the data set has them."""
    X = trainer.dataset.features
    if not issparse(X):
        return []
    how = "as such" if reads_sparse(trainer.dataset, trainer.config) else "as dense rows"
    return [f"features: a sparse matrix ({density(X):.2%} are not 0), read {how}"]


def _advice(trainer: Trainer, result: TrainResult) -> list[str]:
    """Return lines about a run that went other than its user may think."""
    if not trainer.dataset.val.size:
        return ["no validation nodes: the weights are those of the last epoch"]
    if result.history and result.best_epoch == len(result.history):
        return ["the best epoch is the last: more --epochs may do better"]
    return []
