"""Test scores of training runs: mean and range over seeds."""

import json
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.command import Common, UsageError
from bench.markdown import head, line, span

COMMON = Common(timed=False, seeds=3)
QUICK = {"train": "--data karate --epochs 2"}


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--train", default="", help="options of `minibatch-gnn train`, every row")
    parser.add_argument("--row", action="append", help="options of a row; may be repeated")


def report(options):
    """Train each row's options with each seed; yield the table, a row when it is there."""
    titles = ["options", "test F1-micro, mean", "range", "training seconds, median"]
    for number, row in enumerate(options.row or [""]):
        runs = [metrics(f"{options.train} {row} --seed {seed}") for seed in range(options.seeds)]
        scores = [run["test_f1"] for run in runs]
        seconds = [
            sum(s for part, s in run["seconds"].items() if part != "evaluation") for run in runs
        ]
        assert all(0 <= score <= 1 for score in scores)
        if not number:
            yield from head(titles)
        cells = [f"`{row or '(defaults)'}`", f"{statistics.mean(scores):.3f}", span(scores, 3)]
        yield line([*cells, f"{statistics.median(seconds):.1f}"])


def metrics(options):
    """Train once; return what the run wrote to metrics.json."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "fastimpl", "train", *shlex.split(options)]
        done = subprocess.run([*command, "--out", folder], capture_output=True, text=True)
        if done.returncode:
            raise UsageError(f"{shlex.join(command)}:\n{done.stderr}")
        return json.loads(Path(folder, "metrics.json").read_text())
