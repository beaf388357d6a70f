"""kill -9 at random moments of training runs: every run that goes on ends in the same bits.

    python tests/fuzz kills --times 200 --seed 1

A run is a process of its own, forked from one that has imported everything and computed nothing.
It trains on the karate club and saves its position many times; a moment between its start and
its usual end is drawn, and SIGKILL sent then. What is left must be whole; the run is resumed, and
killed again up to twice. In the end its files are compared with those of an undisturbed run.
"""

import argparse
import csv
import hashlib
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

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
COMMON = "--data karate --hidden 8 --lr 0.03 --epochs"
EPOCHS = 12
PACKAGES = ("refimpl", "fastimpl")
KILLS_A_RUN = 3  # at most
PATIENCE = 600.0  # seconds until a run counts as one that hangs


class Case(NamedTuple):
    """A run: what is asked for."""

    method: str
    impl: str
    options: str

    def argv(self, out, *more):
        """Return the command line."""
        words = f"train {COMMON} {EPOCHS} --method {self.method} --impl {self.impl} {self.options}"
        return [*words.split(), "--out", str(out), *more]


class Wrong(Exception):
    """What must not happen."""


def main(argv=None):
    """Run a command line; return its exit status."""
    options = _options(argv)
    _import_all()
    methods = importlib.import_module("refimpl.lab.training.methods").METHODS
    unknown = set(options.methods) - set(methods)
    if unknown:
        print(f"fuzz kills: no such method: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    rng = random.Random(options.seed)
    begin = time.perf_counter()
    print(f"fuzz kills: {options.times} kills, seed {options.seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="fuzz_kills_"))
    counts: Counter = Counter()
    case = None
    try:
        while (left := options.times - sum(counts[one, "kills"] for one in methods)) > 0:
            method = min(options.methods or methods, key=lambda one: counts[one, "kills"])
            case = Case(method, rng.choice(PACKAGES), rng.choice(VARIANTS.get(method, ("",))))
            _one_run(case, folder, rng, min(left, KILLS_A_RUN), counts)
    except Wrong as wrong:
        print(f"WRONG: {case}: {wrong}\nits files are in {folder}")
        return 1
    shutil.rmtree(folder)
    _show(counts)
    print(f"every run ended in the same bits ({time.perf_counter() - begin:.0f} s)")
    return 0


def _options(argv):
    parser = argparse.ArgumentParser(prog="python tests/fuzz kills", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--times", type=int, default=200, help="number of kills (default: 200)")
    seed = random.SystemRandom().randrange(2**32)
    parser.add_argument(
        "--seed", type=int, default=seed, help="of the moments (default: a new one)"
    )
    parser.add_argument("--methods", nargs="*", default=(), help="methods (default: all)")
    return parser.parse_args(argv)


def _import_all():
    """Import what a run imports, and compute nothing: a forked process must find no threads."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    for name in (*PACKAGES, "refimpl.lab.apps.cli"):
        importlib.import_module(name)
    # Drawing a curve takes longer than such a run: most moments would be within it.
    sys.modules["matplotlib.figure"] = None  # type: ignore[assignment]
    warnings.filterwarnings("ignore", "This process.* is multi-threaded", DeprecationWarning)


def _one_run(case, folder, rng, most, counts):
    """Start a run, kill it some times and let it end; compare it with the undisturbed one."""
    expected, seconds = _undisturbed(case, folder)
    out = folder / "run"
    for _ in range(rng.randint(1, most)):
        if not _killed(case, out, rng.uniform(0, seconds)):
            counts[case.method, "ended first"] += 1
            break
        counts[case.method, "kills"] += 1
        counts[case.method, "before a checkpoint"] += not (out / "checkpoint.npz").exists()
        check_whole(out)
    _end(_start(_command(case, out), out), out)
    counts[case.method, "runs"] += 1
    if result_of(out) != expected:
        raise Wrong("the run ended in other bits")
    shutil.rmtree(out)


@cache
def _undisturbed(case, folder):
    """Return what a run gives that nothing disturbs, and how long it takes."""
    out = folder / "undisturbed"
    begin = time.perf_counter()
    _end(_start(case.argv(out), out), out)
    seconds = time.perf_counter() - begin
    found = result_of(out)
    shutil.rmtree(out)
    return found, seconds


def _command(case, out):
    """Return how the run in a folder begins or goes on; one without a checkpoint begins again."""
    return case.argv(out, *(["--resume"] if (out / "checkpoint.npz").exists() else []))


def _killed(case, out, moment):
    """Kill a run `moment` seconds after its start; return whether it was still there."""
    pid = _start(_command(case, out), out)
    time.sleep(moment)
    os.kill(pid, signal.SIGKILL)  # of a process that nobody has waited for, so there is one
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return True
    _expect_success(status, out)
    return False


def _start(argv, out):
    """Fork a process that runs a command line; return its id."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 3
    try:
        log = os.open(_log(out), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        status = importlib.import_module("refimpl.lab.apps.cli").main(argv)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _log(out):
    return out.with_name(f"{out.name}.log")


def _end(pid, out):
    """Wait for a run to end; it has to succeed and to leave nothing but results."""
    limit = time.monotonic() + PATIENCE
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            break
        if time.monotonic() > limit:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise Wrong("it hangs")
        time.sleep(0.002)
    _expect_success(status, out)
    names = {path.name for path in out.iterdir()}
    if names != {"checkpoint.npz", "metrics.json", "history.csv", "model.npz"}:
        raise Wrong(f"it left {sorted(names)}")


def _expect_success(status, out):
    if status != 0:
        raise Wrong(f"status {status}: {_log(out).read_text()}")


def check_whole(out):
    """Read every file that a killed run left under its own name."""
    training = importlib.import_module("refimpl.lab.training")
    readers = {
        "checkpoint.npz": training.load_checkpoint,
        "model.npz": training.load_model,
        "metrics.json": lambda path: json.loads(path.read_text()),
        "history.csv": _read_history,
    }
    for name, read in readers.items():
        if (out / name).exists():
            try:
                read(out / name)
            except ValueError as error:
                raise Wrong(f"{name} is not whole: {error}") from error


def _read_history(path):
    """Return the rows of a history, without the times."""
    times = importlib.import_module("refimpl.profiling").PARTS
    text = path.read_text()
    rows = list(csv.DictReader(text.splitlines(), restval=None, strict=True))
    if not text.endswith("\n") or any(None in row or None in row.values() for row in rows):
        raise ValueError("a line is not whole")
    return [{name: row[name] for name in row if name not in times} for row in rows]


def result_of(folder):
    """Return a digest of all that a run ended in, apart from times, and from its ranks."""
    times = importlib.import_module("refimpl.profiling").PARTS
    digest = hashlib.blake2b(digest_size=16)
    for name in ("checkpoint.npz", "model.npz"):
        with importlib.import_module("numpy").load(folder / name) as file:
            arrays = {key: file[key] for key in sorted(file.files)}
        meta = json.loads(arrays.pop("meta").item())
        for record in meta.get("history", ()):
            for part in times:
                del record[part]
        digest.update(json.dumps(meta, sort_keys=True).encode())
        for key, array in arrays.items():
            digest.update(f"{key} {array.dtype} {array.shape}".encode() + array.tobytes())
    metrics = json.loads((folder / "metrics.json").read_text())
    del metrics["seconds"]
    metrics.pop("ranks", None)
    digest.update(json.dumps(metrics, sort_keys=True).encode())
    digest.update(repr(_read_history(folder / "history.csv")).encode())
    return digest.hexdigest()


def _show(counts):
    """Print a line a method."""
    columns = ("runs", "kills", "before a checkpoint", "ended first")
    methods = sorted({method for method, _ in counts})
    print(f"{'method':10}", *columns, sep="  ")
    for method in (*methods, "all"):
        of = methods if method == "all" else [method]
        sums = [sum(counts[one, column] for one in of) for column in columns]
        cells = [f"{n:{len(column)}}" for n, column in zip(sums, columns, strict=True)]
        print(f"{method:10}", *cells, sep="  ")
