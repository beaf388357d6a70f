"""Test scores of training runs as a Markdown table: mean and range over seeds."""

import json
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


def table(shared, rows, seeds):
    """Train each row's options with each seed; return the table.

    Parameters
    ----------
    shared : str
        Options of ``minibatch-gnn train`` for every row.
    rows : list of str
        The options that make a row.
    seeds : int
        Each row is trained with seeds 0, 1, .. of this number.

    Raises
    ------
    subprocess.CalledProcessError
        If a run fails.
    """
    lines = [
        "| options | test F1-micro, mean | range | training seconds, median |",
        "| --- | --- | --- | --- |",
    ]
    for row in rows:
        runs = [metrics(f"{shared} {row} --seed {seed}") for seed in range(seeds)]
        scores = [run["test_f1"] for run in runs]
        seconds = [
            sum(s for part, s in run["seconds"].items() if part != "evaluation") for run in runs
        ]
        lines.append(
            f"| `{row or '(defaults)'}` | {statistics.mean(scores):.3f} | {min(scores):.3f} to "
            f"{max(scores):.3f} | {statistics.median(seconds):.1f} |"
        )
        print(lines[-1], file=sys.stderr)
    return "\n".join(lines) + "\n"


def metrics(options):
    """Train once; return what the run wrote to metrics.json."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "fastimpl", "train", *shlex.split(options)]
        subprocess.run([*command, "--out", folder], check=True, stdout=subprocess.DEVNULL)
        return json.loads(Path(folder, "metrics.json").read_text())
