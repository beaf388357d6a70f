"""Training runs that are killed at random moments and resumed end in the same bits.

    python tests/fuzz kills --times 200 --seed 1
    python tests/fuzz kills --ranks --times 30 --seed 1

A run is a process that trains on the karate club and saves its position many times. It is killed at
a moment that is drawn, most often between its first line and its usual end. What is left must be
whole; the run is resumed, and killed again up to twice. In the end its files are compared with
those of an undisturbed run.

With --ranks, mpiexec starts a run of four workers on 2 or 4 ranks, and one rank gets SIGKILL or
SIGTERM: all others have to end within seconds. The run is resumed on another number of ranks.
"""

import argparse
import csv
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.launching import ON_ONE_MACHINE, mpiexec
from refimpl.lab import training
from refimpl.lab.training.methods import METHODS
from refimpl.profiling import PARTS

# Options of each method, beside its defaults and COMMON; a method that is not here has none.
VARIANTS = {
    "graph": (
        "--background --pool 3",
        "--normalize both --sampler edge",
        "--model gat --dropout 0.2",
    ),
    "layer": ("--batch-size 5", "--batch-size 6 --background --model gcn"),
    "full": ("", "--dropout 0.2 --bias"),
    "fresh": (
        "--batch-size 5 --t-stale 9 --features-in mmap --buffer 3000",
        "--batch-size 6 --t-stale inf --buffer 4000 --workers 2 --control random --model gat",
    ),
    "neighbor": ("--batch-size 5", "--batch-size 6 --workers 2 --dropout 0.2"),
    "gas": ("--batch-size 5", "--batch-size 8 --dropout 0.2"),
    "graphfm": ("--batch-size 5 --beta 0.4", "--batch-size 8"),
    "vrgcn": ("--batch-size 5 --model gcn", "--batch-size 6 --model gcn --workers 1"),
    "cluster": ("--clusters 4 --clusters-per-batch 2", "--clusters 5 --background"),
    "fastgcn": ("--batch-size 5 --model gcn", "--batch-size 6 --model gcn --background"),
    "ladies": ("--batch-size 5 --model gcn", "--batch-size 6 --model gcn --background"),
    "prepropagation": ("--model sign --batch-size 5", "--model sign --batch-size 6 --powers last"),
}
ON_RANKS = {
    "fresh": ("--batch-size 5 --t-stale 9 --buffer 3000",),
    "graph": ("--model gat --dropout 0.2",),
    "neighbor": ("--batch-size 5 --workers 1",),
    "layer": ("--batch-size 3 --partition local --shuffle 0.5",),
}
COMMON = "train --data karate --hidden 8 --lr 0.03 --epochs 12"
PACKAGES = ("refimpl", "fastimpl")
RANKS = (1, 2, 4)
KILLS_A_RUN = 3  # at most
PATIENCE = 600.0  # seconds until a run counts as one that hangs
ENDS = 20.0  # seconds in which all have to end when one is killed
FILES = {"checkpoint.npz", "metrics.json", "history.csv", "model.npz"}
# What a run executes; drawing a curve would take longer than the run.
CODE = """import sys
from refimpl.lab.apps.cli import main
import fastimpl
sys.modules["matplotlib.figure"] = None
print("begun", flush=True)
sys.exit(main(sys.argv[1:]))"""


class Case(NamedTuple):
    """A run: what is asked for."""

    method: str
    impl: str
    options: str

    def argv(self, out, *more):
        """Return the command line."""
        words = f"{COMMON} --method {self.method} --impl {self.impl} {self.options}"
        return [*words.split(), "--out", str(out), *more]


class Wrong(Exception):
    """What must not happen."""


def main(argv=None):
    """Run a command line; return its exit status."""
    options = parsed(argv)
    variants = ON_RANKS if options.ranks else {one: VARIANTS.get(one, ("",)) for one in METHODS}
    if unknown := set(options.methods) - set(variants):
        print(f"fuzz kills: no such method: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    if options.ranks and mpiexec() is None:
        print("fuzz kills: --ranks needs mpiexec", file=sys.stderr)
        return 2
    rng, begin = random.Random(options.seed), time.perf_counter()
    print(f"fuzz kills: {options.times} kills, seed {options.seed}", flush=True)
    folder, counts = Path(tempfile.mkdtemp(prefix="fuzz_kills_")), Counter()
    try:
        while (left := options.times - counts["all", "kills"]) > 0:
            method = min(options.methods or variants, key=lambda one: counts[one, "kills"])
            package = "fastimpl" if options.ranks else rng.choice(PACKAGES)
            case = Case(method, package, rng.choice(variants[method]))
            for what, number in one_run(case, folder, rng, min(left, KILLS_A_RUN), options.ranks):
                counts[method, what] += number
                counts["all", what] += number
    except Wrong as wrong:
        print(f"WRONG: {case}: {wrong}\nits files are in {folder}")
        return 1
    shutil.rmtree(folder)
    columns = ("runs", "kills", "before a checkpoint", "ended first")
    print(f"{'method':16}", *columns, sep="  ")
    for method in (*sorted({one for one, _ in counts} - {"all"}), "all"):
        cells = [f"{counts[method, column]:{len(column)}}" for column in columns]
        print(f"{method:16}", *cells, sep="  ")
    print(f"every run ended in the same bits ({time.perf_counter() - begin:.0f} s)")
    return 0


def parsed(argv):
    """Return the options of a command line."""
    parser = argparse.ArgumentParser(prog="python tests/fuzz kills", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--times", type=int, default=200, help="number of kills (default: 200)")
    seed = random.SystemRandom().randrange(2**32)
    parser.add_argument(
        "--seed", type=int, default=seed, help="of the moments (default: a new one)"
    )
    parser.add_argument("--methods", nargs="*", default=(), help="methods (default: all)")
    parser.add_argument("--ranks", action="store_true", help="kill ranks of runs under mpiexec")
    return parser.parse_args(argv)


def one_run(case, folder, rng, most, ranks):
    """Start a run, kill it some times, let it end; yield what happened, as (name, number)."""
    expected, seconds = undisturbed(case, folder, ranks)
    out = folder / "run"
    for _ in range(rng.randint(1, most)):
        if not killed(case, out, rng, seconds, rng.choice(RANKS[1:]) if ranks else 0):
            yield "ended first", 1
            break
        yield "kills", 1
        yield "before a checkpoint", int(not (out / "checkpoint.npz").exists())
        check_whole(out)
    job = started(case, out, rng.choice(RANKS) if ranks else 0)
    ended(job, out)
    yield "runs", 1
    if result_of(out) != expected:
        raise Wrong("the run ended in other bits")
    shutil.rmtree(out)


@cache
def undisturbed(case, folder, ranks):
    """Return what a run of one process gives, and how long it takes after it has begun."""
    out = folder / "undisturbed"
    job = started(case, out, int(ranks))
    begun(job, out)
    begin = time.perf_counter()
    ended(job, out)
    seconds = time.perf_counter() - begin
    found = result_of(out)
    shutil.rmtree(out)
    return found, seconds


def started(case, out, ranks):
    """Start a run or resume it; one without a checkpoint begins again. 0 ranks: without MPI."""
    more = ["--resume"] if (out / "checkpoint.npz").exists() else []
    command = [sys.executable, "-c", CODE, *case.argv(out, *more)]
    if ranks:
        command += ["--threads", "1", "--workers-a-step", "4"]
    if ranks > 1:
        command = [mpiexec(), "-n", str(ranks), *command]
    with log_of(out).open("w") as log:
        env = {**os.environ, **ON_ONE_MACHINE, "OMP_WAIT_POLICY": "passive"}
        env |= {"OMP_NUM_THREADS": "1"} if ranks else {}
        streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        return subprocess.Popen(command, env=env, **streams)


def log_of(out):
    """Return the file of what a run prints."""
    return out.with_name(f"{out.name}.log")


def begun(job, out):
    """Wait until a run has printed its first line, or has ended."""
    while job.poll() is None and not log_of(out).stat().st_size:
        time.sleep(0.002)


def killed(case, out, rng, seconds, ranks):
    """Kill one process of a run at a moment that is drawn; return whether it was still there."""
    job = started(case, out, ranks)
    if rng.random() < 0.8:
        begun(job, out)
        time.sleep(rng.uniform(0, seconds))
    else:  # while Python starts, before MPI_Init
        time.sleep(rng.uniform(0, 0.6))
    pids = ranks_of(job) if ranks else [job.pid]  # not waited for yet, so the process exists
    if pids:
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(rng.choice(pids), rng.choice((signal.SIGKILL, *[signal.SIGTERM] * (ranks > 0))))
    status = waited(job, ENDS if pids else PATIENCE, out)
    if status == 0 and not (out / "metrics.json").exists():
        raise Wrong("a run that was killed says that it has succeeded")
    if status and (not pids or not ranks and status != -signal.SIGKILL):
        raise Wrong(log_of(out).read_text())
    return status != 0


def ended(job, out):
    """Wait for a run to end; it has to succeed and to leave nothing but results."""
    if waited(job, PATIENCE, out):
        raise Wrong(log_of(out).read_text())
    names = {path.name for path in out.iterdir()}
    if names != FILES:
        raise Wrong(f"it left {sorted(names)}")


def waited(job, limit, out):
    """Return the status of a run that has to end in so many seconds."""
    try:
        return job.wait(limit)
    except subprocess.TimeoutExpired:
        for pid in {*ranks_of(job), job.pid}:
            os.kill(pid, signal.SIGKILL)
        job.wait()
        raise Wrong(f"it has not ended in {limit} s: {log_of(out).read_text()}") from None


def ranks_of(job):
    """Return the processes below a job that run the program."""
    children: dict = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = stat.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, ahead = [], [job.pid]
    while ahead:
        new = children.get(ahead.pop(), [])
        ahead += new
        for pid in new:
            with suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                found += [pid] * (words[2:3] == [CODE.encode()])
    return found


def check_whole(out):
    """Check that each file that a killed run left can be read."""
    readers = {
        "checkpoint.npz": training.load_checkpoint,
        "model.npz": training.load_model,
        "metrics.json": lambda path: json.loads(path.read_text()),
        "history.csv": rows_of,
    }
    for name, read in readers.items():
        if (out / name).exists():
            try:
                read(out / name)
            except ValueError as error:
                raise Wrong(f"{name} is not whole: {error}") from error


def rows_of(path):
    """Return the rows of a history, without the times."""
    text = path.read_text()
    rows = list(csv.DictReader(text.splitlines(), restval=None, strict=True))
    if not text.endswith("\n") or any(None in row or None in row.values() for row in rows):
        raise ValueError("a line is not whole")
    return [{name: row[name] for name in row if name not in PARTS} for row in rows]


def result_of(folder):
    """Return a digest of all that a run ended in, apart from times, and from its ranks."""
    digest = hashlib.blake2b(digest_size=16)
    for name in ("checkpoint.npz", "model.npz"):
        with np.load(folder / name) as file:
            arrays = {key: file[key] for key in sorted(file.files)}
        meta = json.loads(arrays.pop("meta").item())
        for record in meta.get("history", ()):
            for part in PARTS:
                del record[part]
        digest.update(json.dumps(meta, sort_keys=True).encode())
        for key, array in arrays.items():
            digest.update(f"{key} {array.dtype} {array.shape}".encode() + array.tobytes())
    metrics = json.loads((folder / "metrics.json").read_text())
    del metrics["seconds"]
    metrics.pop("ranks", None)
    digest.update(json.dumps(metrics, sort_keys=True).encode())
    digest.update(repr(rows_of(folder / "history.csv")).encode())
    return digest.hexdigest()
