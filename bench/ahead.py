"""Steps with features on storage beside steps with features in memory, in turns.

Features lie in a folder of `minibatch-gnn convert`. Neighbour sampling trains on an array in
memory, and through look-ahead caches that hold some shares of the rows. FreshGNN, with room for all
embeddings, trains through the same caches: with its default age of embeddings, and with an age of
an epoch, at which about half of the look-ups hit. Storage is read past the system's cache. A round
ends when the next window of minibatches is read, so a round reads as many windows as it uses. All
train an epoch before the first round.
"""

import statistics
import tempfile
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

import fastimpl
from bench.command import Common, numbers
from bench.figures.training import ALL_CACHED, settings
from bench.fresh import NEIGHBOR
from bench.kronecker import write_kronecker
from bench.markdown import median_and_range, table
from bench.timing import elapsed, in_turns
from refimpl.lab.data.convert import convert
from refimpl.loader.lookahead_features import OF_A_SLOT, ReadCounts

COMMON = Common(rounds=7)
QUICK = {"data": None, "batch": 50, "fanouts": [3, 2], "hidden": 4, "steps": 4}
MEMORY = "in memory"


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--data", help="a folder of `minibatch-gnn convert` (default: a small one)")
    parser.add_argument("--shares", type=numbers(float), default=[0.4, 0.18], help="of the rows")
    parser.add_argument("--model", default="sage", choices=("sage", "gcn"))
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--fanouts", type=numbers(int), default=[15, 10, 5])
    parser.add_argument("--steps", type=int, default=40, help="of a round")


def report(options):
    """Measure in turns; yield the table."""
    with ExitStack() as opened:
        folder = Path(options.data or opened.enter_context(small()))
        dataset = fastimpl.load_dataset(folder)
        epoch = -(-len(dataset.roots) // options.batch)
        shared = {"model": options.model, "hidden": options.hidden, "batch_size": options.batch}
        shared |= {"layers": len(options.fanouts), "fanouts": tuple(options.fanouts)}
        methods = {NEIGHBOR: settings("neighbor", **shared)}
        for age, t_stale in {"default age": None, f"age {epoch}": epoch}.items():
            methods[f"FreshGNN, {age}"] = settings("fresh", **shared, **ALL_CACHED, t_stale=t_stale)
        runs = {(NEIGHBOR, MEMORY): Run(opened, dataset, methods[NEIGHBOR], folder, None, epoch)}
        for share in options.shares:
            for method, config in methods.items():
                run = Run(opened, dataset, config, folder, share, epoch)
                runs[method, f"{share:.0%} of the rows"] = run
        tasks = {name: partial(run.round, options.steps) for name, run in runs.items()}
        seconds = in_turns(tasks, options.rounds)
    yield (
        f"{dataset.graph}, {dataset.features.shape[1]} features of {dataset.features.dtype}, model "
        f"{options.model}, {options.hidden} hidden, fan-outs {options.fanouts}, {epoch} batches of "
        f"{options.batch} an epoch; median (range) of {options.rounds} rounds of {options.steps} "
        "steps."
    )
    yield ""
    titles = ["", "features", "ms a step", "times in memory", "speed-up", "hits", "rows found"]
    yield from table([*titles, "MiB read a step"], [cells(*name, runs, seconds) for name in runs])


@contextmanager
def small():
    """Give a small folder."""
    with tempfile.TemporaryDirectory() as name:
        write_kronecker(Path(name, "raw"), scale=11, features=16, classes=4)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "ignored .* self-loops")
            convert(Path(name, "raw"), Path(name, "folder"), feature_dtype="float16")
        yield Path(name, "folder")


class Run:
    """A trainer after an epoch, and its features: an array, or a cache for a share of the rows."""

    def __init__(self, opened, dataset, config, folder, share, epoch):
        self.cache = features = None
        if share is None:
            dataset = replace(dataset, features=np.array(dataset.features))
        else:
            n, d = dataset.features.shape
            row = d * dataset.features.itemsize + OF_A_SLOT
            memory = 4 * n + int(share * n) * row
            features = fastimpl.loader.LookaheadFeatures(folder / "features.npy", memory)
            self.cache = opened.enter_context(features)
        self.trainer = opened.enter_context(
            fastimpl.make_trainer(dataset, config, features=features)
        )
        self.steps = 0
        self.round(epoch, None)
        self.before, self.steps = self.counts(), 0

    def round(self, steps, _):
        """Return the mean seconds of some steps, with the reads of the next window."""

        def train():
            for _ in range(steps):
                self.counted = self.trainer.step().counts
            if self.cache:
                self.cache.finish()

        seconds = elapsed(train) / steps
        self.steps += steps
        return seconds

    def counts(self):
        """Return what was read so far."""
        return replace(self.cache.counts) if self.cache else ReadCounts()


def cells(method, where, runs, seconds):
    """Return the cells of a run; ratios are of rounds."""

    def times(other, own):
        pairs = zip(seconds[other], seconds[own], strict=True)
        return median_and_range([a / b for a, b in pairs], 2)

    run, own = runs[method, where], (method, where)
    milliseconds = f"{1000 * statistics.median(seconds[own]):.0f}"
    hits = f"{run.counted.embedding_hit_rate:.0%}" if run.counted.lookups else "-"
    read = run.counts().since(run.before)
    rate = read.shares(1.0)["hit_rate"]
    found = "-" if rate is None else f"{rate:.0%}"
    mib = f"{read.bytes / 2**20 / run.steps:.1f}"
    slower, faster = times(own, (NEIGHBOR, MEMORY)), times((NEIGHBOR, where), own)
    return [method, where, milliseconds, slower, faster, hits, found, mib]
