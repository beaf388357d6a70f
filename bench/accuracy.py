"""Test scores of training runs: mean and range over seeds.

A row has the options that all share and its own, which win. What all share but the row's model or
method does not have is left out, and said in the row. A row that fails says why; the others stay.
"""

import csv
import io
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.command import Common, UsageError
from bench.markdown import head, line, span
from refimpl._support.whole_files import replacing
from refimpl.lab.apps.cli import build_parser
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.options import train_options
from refimpl.lab.apps.settings import unmet, with_defaults

COMMON = Common(timed=False, seeds=3)
QUICK = {"train": "--data karate --epochs 2"}
TITLES = ("options", "test F1-micro, mean", "range", "training seconds, median")
PAIRED = ("test, points", "late validation, points", "rows spared by embeddings")
OF_RUN = ("test_f1", "late_val_f1", "rows_spared", "seconds")


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--train", default="", help="options of `minibatch-gnn train`, every row")
    parser.add_argument("--row", action="append", help="options of a row; may be repeated")
    parser.add_argument(
        "--paired",
        action="store_true",
        help="compare each row with the first row, seed by seed: mean difference and its standard "
        "error, of the test score and of the mean validation score of the last half of the epochs",
    )
    parser.add_argument("--runs", type=Path, metavar="FILE", help="CSV file with a line a run")
    parser.add_argument(
        "--processes", type=int, default=1, help="train this many models at a time (default: 1)"
    )


def report(options):
    """Train each row's options with each seed; yield the table, a row when it is there."""
    if options.processes < 1:
        raise UsageError(f"--processes must be at least 1, got {options.processes}")
    if options.runs and not options.runs.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {options.runs.absolute().parent} for --runs")
    titles = TITLES + PAIRED * options.paired
    lines, failed, rows, found = head(titles), [], options.row or [""], {}
    training = ThreadPoolExecutor(options.processes)  # each thread waits for a process
    waiting = ThreadPoolExecutor(len(rows))
    try:
        for row, runs in zip(
            rows, [waiting.submit(trained, options, row, training) for row in rows], strict=True
        ):
            name = f"`{row or '(defaults)'}`"
            try:
                left_out, found[row] = runs.result()
            except UsageError as error:
                reason = str(error).strip().splitlines()[-1].replace("|", "\\|")
                lines.append(line([name, f"failed: {reason}", *"-" * (len(titles) - 2)]))
                failed.append(error)
            else:
                name += f" without {', '.join(left_out)}" if left_out else ""
                more = compared(found[row], found.get(rows[0])) if options.paired else []
                lines.append(line([name, *scored(found[row]), *more]))
            if found:  # before that, it may be the options that all share
                yield from lines
                lines = []
    finally:
        training.shutdown(cancel_futures=True)
    if options.runs:
        write_runs(options.runs, found)
    if failed:
        raise UsageError(f"{len(failed)} of {len(rows)} rows failed: {failed[0]}")


def trained(options, row, training):
    """Return the flags that do not apply in a row, and what its runs measured, by `OF_RUN`.

    Raises
    ------
    UsageError
        If a run of it fails.
    """
    shared, left_out = applying(shlex.split(options.train), shlex.split(row))
    words = [*shared, *shlex.split(row)]
    seeds = ([*words, "--seed", str(seed)] for seed in range(options.seeds))
    return left_out, [measured(*run) for run in training.map(metrics, seeds)]


def measured(run, late):
    """Return what a table needs of a run's metrics.json and of its `late` validation scores."""
    seconds = sum(s for part, s in run["seconds"].items() if part != "evaluation")
    spared = (run.get("loads") or {}).get("embedding_saving")
    assert 0 <= run["test_f1"] <= 1
    late = statistics.mean(late) if late else None
    return dict(zip(OF_RUN, (run["test_f1"], late, spared, seconds), strict=True))


def scored(runs):
    """Return a row's mean and range of test scores, and its time."""
    scores = [run["test_f1"] for run in runs]
    seconds = statistics.median(run["seconds"] for run in runs)
    return [f"{statistics.mean(scores):.3f}", span(scores, 3), f"{seconds:.1f}"]


def compared(runs, first):
    """Return a row's differences from the first row, which has failed if None, and its saving."""
    cells = []
    for name in ("test_f1", "late_val_f1"):
        pairs = list(zip(runs, first or (), strict=first is not None))
        known = all(one[name] is not None for pair in pairs for one in pair)
        cells.append(points([a[name] - b[name] for a, b in pairs] if known else []))
    spared = [run["rows_spared"] for run in runs if run["rows_spared"] is not None]
    return [*cells, f"{statistics.mean(spared):.1%}" if spared else "-"]


def points(differences):
    """Return the mean of differences in points, and its standard error."""
    if len(differences) < 2:
        return "-"
    error = statistics.stdev(differences) / len(differences) ** 0.5
    return f"{100 * statistics.mean(differences):+.2f} ± {100 * error:.2f}"


def write_runs(path, found):
    """Write a line a run: the row's options, the seed and what was measured."""
    lines = io.StringIO(newline="")
    writer = csv.writer(lines)
    writer.writerow(["options", "seed", *OF_RUN])
    for row, runs in found.items():
        writer.writerows([row, seed, *run.values()] for seed, run in enumerate(runs))
    with replacing(path) as file:
        file.write(lines.getvalue().encode())


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
    """Train once; return metrics.json and the validation scores of the last half of the epochs."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "fastimpl", "train", *words]
        done = subprocess.run([*command, "--out", folder], capture_output=True, text=True)
        if done.returncode:
            raise UsageError(f"{shlex.join(command)}:\n{done.stderr}")
        with Path(folder, "history.csv").open(newline="", encoding="utf-8") as file:
            scores = [row["val_f1"] for row in csv.DictReader(file)]
        late = [float(score) for score in scores[len(scores) // 2 :] if score]
        return json.loads(Path(folder, "metrics.json").read_text()), late
