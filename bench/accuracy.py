"""Test scores of training runs: mean and range over seeds.

A row has the options that all share and its own, which win. What all share but the row's model or
method does not have is left out, and said in the row. A row that fails says why; the others stay.
"""

import json
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.command import Common, UsageError
from bench.markdown import head, line, span
from refimpl.lab.apps.cli import build_parser
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.options import train_options
from refimpl.lab.apps.settings import unmet, with_defaults

COMMON = Common(timed=False, seeds=3)
QUICK = {"train": "--data karate --epochs 2"}
TITLES = ("options", "test F1-micro, mean", "range", "training seconds, median")


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--train", default="", help="options of `minibatch-gnn train`, every row")
    parser.add_argument("--row", action="append", help="options of a row; may be repeated")


def report(options):
    """Train each row's options with each seed; yield the table, a row when it is there."""
    lines, failed, rows, succeeded = head(TITLES), [], options.row or [""], False
    for row in rows:
        try:
            lines.append(scored(options, row))
        except UsageError as error:
            reason = str(error).strip().splitlines()[-1].replace("|", "\\|")
            lines.append(line([f"`{row or '(defaults)'}`", f"failed: {reason}", "-", "-"]))
            failed.append(error)
        else:
            succeeded = True
        if succeeded:  # before that, it may be the options that all share
            yield from lines
            lines = []
    if failed:
        raise UsageError(f"{len(failed)} of {len(rows)} rows failed: {failed[0]}")


def scored(options, row):
    """Return the line of a row.

    Raises
    ------
    UsageError
        If a run of it fails.
    """
    shared, left_out = applying(shlex.split(options.train), shlex.split(row))
    words = [*shared, *shlex.split(row)]
    runs = [metrics([*words, "--seed", str(seed)]) for seed in range(options.seeds)]
    scores = [run["test_f1"] for run in runs]
    seconds = [sum(s for part, s in run["seconds"].items() if part != "evaluation") for run in runs]
    assert all(0 <= score <= 1 for score in scores)
    name = f"`{row or '(defaults)'}`" + (f" without {', '.join(left_out)}" if left_out else "")
    cells = [name, f"{statistics.mean(scores):.3f}", span(scores, 3)]
    return line([*cells, f"{statistics.median(seconds):.1f}"])


def applying(shared, row):
    """Return the words of the shared options that apply in a row, and the flags of the others."""
    options, own = train_options(), given(row)
    settings = with_defaults(options, given([*shared, *row]))
    others = [
        options[key].flag
        for key in given(shared)
        if key not in own and unmet(options[key], settings) is not None
    ]
    kept, dropping = [], False
    for word in shared:
        if word.startswith("--"):
            dropping = word.partition("=")[0] in others
        if not dropping:
            kept.append(word)
    return kept, others


def given(words):
    """Return the options of `minibatch-gnn train` in some words, by key."""
    try:
        found = vars(build_parser().parse_args(["train", *words]))
    except UserError as error:
        raise UsageError(str(error)) from error
    return {key: value for key, value in found.items() if key in train_options()}


def metrics(words):
    """Train once; return what the run wrote to metrics.json."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "fastimpl", "train", *words]
        done = subprocess.run([*command, "--out", folder], capture_output=True, text=True)
        if done.returncode:
            raise UsageError(f"{shlex.join(command)}:\n{done.stderr}")
        return json.loads(Path(folder, "metrics.json").read_text())
