"""One training run in a folder: new, or resumed from its checkpoint."""

import hashlib
import json
import math
import shlex
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from refimpl import _check
from refimpl._reading import naming
from refimpl.history.cache import BidirectionalCache
from refimpl.lab.apps import info, plots, report
from refimpl.lab.apps.errors import Interrupted, UserError, user_errors
from refimpl.lab.apps.options import RUN, load_implementation
from refimpl.lab.apps.progress import Progress
from refimpl.lab.apps.results import results_in
from refimpl.lab.apps.settings import asked, check_applicable, config_of, names_of, recorded
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.training.checkpoints import load_checkpoint, save_checkpoint
from refimpl.lab.training.config import PARTS
from refimpl.lab.training.model import TrainedModel, save_model
from refimpl.lab.training.trainer import make_trainer
from refimpl.loader.files import open_features, write_features

CHECKPOINT, METRICS, HISTORY, CURVE = "checkpoint.npz", "metrics.json", "history.csv", "curve.png"
MODEL = "model.npz"
RESULTS = (METRICS, HISTORY, CHECKPOINT, MODEL, CURVE)
FEATURES = "training_features.npy"
KEPT = "--resume to go on with it, --overwrite to replace it"
MOST_THREADS = 1024
PACKAGES = ("refimpl", "fastimpl")


def train(given, *, options, out, resume, overwrite, prog):
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
    with results_in(folder, RESULTS, keep=keep, working=(FEATURES,), instead=KEPT):
        _train(folder, given, options, resume, prog)


def _train(folder, given, options, resume, prog):
    """Train in a folder that is this run's alone."""
    before = None
    if resume:
        before = Before(folder / CHECKPOINT, options, given)
        settings = before.asked
    else:
        settings = asked(options, given)
    saved = resume
    try:
        gnn = load_implementation(settings["impl"])
        with _of(before):
            limits = limited_threads(settings["threads"])
        with limits, ExitStack() as until_the_end:
            with _of(before):
                dataset = load_data(settings)
            facts = facts_of(dataset)
            if before is not None:
                before.check_data(facts)
            with _of(before):
                config = config_of(settings, dataset)
                check_sampler(gnn, dataset, config)
            settings = recorded(options, settings, config)
            if before is not None:
                before.check_settings(settings)
            features = until_the_end.enter_context(_features(folder, dataset, settings))
            with user_errors():
                state = None if before is None else before.state
                with nullcontext() if before is None else naming(before.checkpoint):
                    trainer = make_trainer(gnn, dataset, config, state, features=features)
            with trainer:
                if not resume:
                    _start(folder, trainer.state, settings, facts)
                saved = True
                _run_epochs(folder, trainer, settings, facts)
                _finish(folder, trainer, settings, facts)
    except KeyboardInterrupt:
        if not saved:
            raise
        command = ["train", "--resume", "--out", str(folder), "--epochs", str(settings["epochs"])]
        raise Interrupted(
            f"interrupted; {folder / CHECKPOINT} is whole, as of the last finished epoch; "
            f"to go on: {prog} {shlex.join(command)}"
        ) from None


def limited_threads(threads):
    """Return a context manager in which at most so many threads are used; None: no limit."""
    if threads is None:
        return nullcontext()
    with user_errors():
        _check.integer("threads", threads, 1, MOST_THREADS)
    return threadpool_limits(threads)


def load_data(settings):
    """Return the Dataset that the settings name."""
    more = {name: settings.get(name) for name in ("setting", "split", "scaling")}
    more["verify"] = settings.get("verify", False)
    tables = {name: settings.get(name) for name in ("features", "labels")}
    with user_errors():
        return load_dataset(settings["data"], dtype=settings["dtype"], **more, **tables)


def check_sampler(gnn, dataset, config):
    """Draw a subgraph, to find out now whether the sampler's options fit the graph."""
    sampler = getattr(config.method, "sampler", None)
    if sampler is not None:
        with user_errors():
            gnn.sample_many(dataset.train_graph, sampler, config.rng, 0, 1)


def facts_of(dataset):
    """Return the size of a data set, and a digest to know it by.

    The digest leaves the features out: they are standardised in floating point, so their last
    bits may differ between machines. That of a folder of `Dataset.save` is of all its checksums,
    and of the parts of the split: no other array is read.
    """
    digest = hashlib.blake2b(digest_size=8)
    arrays = [dataset.train, dataset.val, dataset.test]
    if dataset.checksums is None:
        graphs = [dataset.graph] + ([dataset.train_graph] if dataset.inductive else [])
        csr = [array for graph in graphs for array in (graph.indptr, graph.indices)]
        arrays = [*csr, dataset.labels, *arrays]
    else:
        digest.update(json.dumps(dataset.checksums, sort_keys=True).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return {
        "name": dataset.name,
        "nodes": dataset.graph.n,
        "edges": dataset.graph.e,
        "features": dataset.features.shape[1],
        "classes": dataset.classes,
        "multilabel": dataset.multilabel,
        "train": dataset.train.size,
        "val": dataset.val.size,
        "test": dataset.test.size,
        "setting": dataset.setting,
        "digest": digest.hexdigest(),
    }


class Before:
    """The run in a checkpoint that `train` is to go on with.

    What fixes the data and which settings apply is compared at once, the others when the data
    has filled in what it decides.
    """

    def __init__(self, checkpoint, options, given):
        self.checkpoint, self.options, self.given = checkpoint, options, given
        with user_errors():
            self.state, self.settings = load_checkpoint(checkpoint)
        self.facts = self.settings.pop("dataset", None)
        if not self._is_ours():
            raise UserError(f"{checkpoint} was not written by this version of the program")
        check_applicable(options, given, self.settings)
        package = self.settings["impl"]
        if package not in PACKAGES and "impl" not in given:  # a file decides on no import
            raise UserError(f"{checkpoint} is of --impl {package}: give it to go on with that")
        self.asked = {**self.settings, **{options[key].name: v for key, v in given.items()}}
        deciding = {other for option in options.values() for other in option.only}
        for option in (options[key] for key in given):
            if option.group == RUN or option.name in deciding:
                self._compare(option, self.asked)

    def _is_ours(self):
        for part, known in PARTS.items():
            if self.settings.get(part) not in tuple(known):  # it may be of any type
                return False
        own = [option for option in self.options.values() if option.group == RUN]
        if not all(_fits(one, self.settings.get(one.name, one.default)) for one in own):
            return False
        kinds = {  # of what is used before all are checked
            "data": (str,),
            "epochs": (int,),
            "labels": (str,),
            "features": (str, type(None)),
            "split": (str, int, type(None)),
        }
        if not all(isinstance(self.settings.get(name), kind) for name, kind in kinds.items()):
            return False
        return isinstance(self.facts, dict) and self.settings.keys() == names_of(
            self.options, self.settings
        )

    def check_data(self, facts):
        """Refuse data of another size or digest."""
        if facts != self.facts:
            differing = [name for name in facts if facts[name] != self.facts.get(name)]
            raise UserError(
                f"--resume: the data set has changed since the run began ({', '.join(differing)}): "
                f"{self.settings['data']}"
            )

    def check_settings(self, settings):
        """Refuse what was given and is not as in the checkpoint, but for what may change."""
        for key in self.given:
            self._compare(self.options[key], settings)

    def _compare(self, option, settings):
        stored, value = self.settings[option.name], settings[option.name]
        longer = option.name == "epochs" and value > stored
        if value == stored or option.free or longer:
            return
        more = "; it can only be raised" if option.name == "epochs" else ""
        raise UserError(
            f"--resume: {option.flag} is {option.as_typed(stored)} in {self.checkpoint}, "
            f"got {option.as_typed(value)}{more}"
        )


@contextmanager
def _of(before):
    """Let a UserError name the checkpoint that the settings are of, if they are of one."""
    try:
        yield
    except UserError as error:
        if before is None:
            raise
        raise UserError(f"{before.checkpoint}: {error}") from error


def _fits(option, value):
    """Say whether a value that a file gives an option of the run is of its kind."""
    if option.sets is not None:
        return isinstance(value, bool)
    return option.choices is None or value in (option.default, *option.choices)


@contextmanager
def _features(folder, dataset, settings):
    """Give the array where training reads features; None: those of the data set.

    With "mmap" they are in a file as long as the block runs. A run that goes on writes it anew:
    the data set is read into memory anyway.
    """
    X, path = None, folder / FEATURES
    every = dataset.in_graph(np.arange(dataset.train_graph.n))
    if settings.get("half_features"):
        X = _in_float16(dataset.inputs(every))
    if settings.get("features_in") != "mmap":
        yield X
        return
    try:
        with user_errors():
            write_features(path, dataset.inputs(every) if X is None else X)
            X = open_features(path)
        yield X
    finally:
        path.unlink(missing_ok=True)


def _in_float16(X):
    if np.abs(X).max(initial=0) > np.finfo(np.float16).max:
        raise UserError("--half-features: a feature is too large for float16")
    return X.astype(np.float16)


def _start(folder, state, settings, facts):
    """Replace an old run in the folder by one that has not begun."""
    with user_errors():
        # The checkpoint first: a run killed in its first epoch must not resume an old one.
        _save(folder, state, settings, facts)
        for name in RESULTS:
            if name != CHECKPOINT:
                (folder / name).unlink(missing_ok=True)


def _save(folder, state, settings, facts):
    save_checkpoint(folder / CHECKPOINT, state, {**settings, "dataset": facts})


def _run_epochs(folder, trainer, settings, facts):
    """Train to the last epoch; after each, save the position and the history."""
    state, counted = trainer.state, trainer.config.method.counts_loads
    with Progress(settings["epochs"], len(state.history)) as progress:

        def show(share):
            progress.within_epoch(share, trainer.counts_of_epoch if counted else None)

        while not trainer.done:
            try:
                trainer.epoch(show)
            except FloatingPointError as error:
                raise UserError(f"{error}: try a smaller --lr than {settings['lr']}") from error
            record = state.history[-1]
            if not math.isfinite(record.loss):
                raise UserError(
                    f"the loss is {record.loss} in epoch {record.epoch}: try a smaller --lr "
                    f"than {settings['lr']}"
                )
            _save(folder, state, settings, facts)
            report.write_history(folder / HISTORY, state.history, state.loads)
            progress.after_epoch(record)


def _save_model(folder, trainer, weights):
    """Write the best weights as a model, with all that its use needs."""
    if not all(np.isfinite(W).all() for W in weights.values()):
        raise UserError("the training diverged: try a smaller --lr")
    save_model(folder / MODEL, TrainedModel.trained(trainer.dataset, trainer.config, weights))


def _loads(trainer):
    """Return what was loaded in the whole run, and the cache at its end, if that is counted."""
    if not trainer.config.method.counts_loads:
        return {}
    cache, found = trainer.state.cache, None
    if isinstance(cache, BidirectionalCache):
        found = {"bytes": cache.nbytes, "features": cache.feature_rows}
    return {"loads": report.totals(trainer.state.loads), "cache": found}


def _advice(trainer, result):
    """Return lines about a run that went other than its user may think."""
    if not trainer.dataset.val.size:
        return ["no validation nodes: the weights are those of the last epoch"]
    if result.history and result.best_epoch == len(result.history):
        return ["the best epoch is the last: more --epochs may do better"]
    return []


def _finish(folder, trainer, settings, facts):
    """Score the best weights; write and print the result."""
    result = trainer.result()
    _save_model(folder, trainer, result.weights)
    metrics = {
        "val_f1": result.val_f1,
        "test_f1": result.test_f1,
        "best_epoch": result.best_epoch,
        "epochs": len(result.history),
        "iterations": result.iterations,
        "seconds": trainer.meter.seconds,
        **_loads(trainer),
        "settings": settings,
        "dataset": facts,
        "versions": info.versions(),
        "build": info.build_of(trainer.gnn),
        "threads": info.threads_of(trainer.gnn),
    }
    report.write_json(folder / METRICS, metrics)
    loads = trainer.state.loads
    report.write_history(folder / HISTORY, result.history, loads)
    title = report.title(settings, facts)
    drawn = plots.draw_curves(folder / CURVE, result.history, title, loads)
    print(f"{title}\n\n{report.summary(metrics)}\n")
    for line in _advice(trainer, result):
        print(line)
    for name in (METRICS, HISTORY, CHECKPOINT, MODEL):
        print(f"wrote {folder / name}")
    print(f"wrote {folder / CURVE}" if drawn else f"no {CURVE}: matplotlib is not installed")
