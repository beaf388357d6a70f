"""Opening and training on a data set larger than its share of memory: seconds and memory by part.

Each row trains in a process of its own, by ``python -m fastimpl train``. Memory is what the process
has for itself, sampled 50 times a second: RssAnon and RssShmem of /proc/PID/status, so without the
pages of files that it maps, which the operating system takes back when it needs them (RssFile,
shown beside it). Linux only. Opening is timed in 7 processes.
"""

import json
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep

from bench.command import Common, UsageError
from bench.markdown import head, line, span
from refimpl import load_dataset

COMMON = Common()
QUICK = {"data": "karate", "train": "--epochs 2"}
ROWS = [
    "--method graph",
    "--method neighbor --fanouts 15,10 --batch-size 1000",
    "--method fresh --fanouts 15,10 --batch-size 1000",
]
OPENINGS = 7
OPEN = """
import sys
from time import perf_counter
from refimpl import load_dataset
begin = perf_counter()
dataset = load_dataset(sys.argv[1])
dataset.train_graph
print(perf_counter() - begin)
"""
PARTS = "normalization", "sampling", "cache", "aggregation", "weights", "other", "evaluation"
EVERY = 0.02  # seconds


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--data", default="communities", help="as for `minibatch-gnn train`")
    parser.add_argument("--train", default="--epochs 2", help="options of training, every row")
    parser.add_argument(
        "--row", action="append", help=f"options of a row; may be repeated (default: {ROWS})"
    )


def report(options):
    """Open and train; yield the table, a row when it is there."""
    seconds = [opened(options.data) for _ in range(OPENINGS)]
    dataset = load_dataset(options.data)
    yield (
        f"{dataset.graph}, {dataset.features.shape[1]} features of {dataset.features.dtype}, "
        f"{dataset.classes} classes, {len(dataset.train)} training nodes. Opened in "
        f"{statistics.median(seconds):.2f} s ({span(seconds, 2)}). All rows: `{options.train}`."
    )
    yield ""
    titles = ["options", "memory of its own, MiB", "with mapped files, MiB", "seconds"]
    yield from head([*titles, *PARTS, "steps"])
    for row in options.row or ROWS:
        run = trained(options.data, f"{options.train} {row}")
        parts = [f"{run['seconds'].get(part, 0):.1f}" for part in PARTS]
        peaks = [f"{run[peak] / 2**20:.0f}" for peak in ("own", "all")]
        yield line([f"`{row}`", *peaks, f"{run['wall']:.1f}", *parts, run["iterations"]])


def opened(data):
    """Return the seconds that a new process takes to open a data set."""
    done = subprocess.run([sys.executable, "-c", OPEN, data], capture_output=True, text=True)
    if done.returncode:
        raise UsageError(done.stderr[-2000:])
    return float(done.stdout)


def trained(data, options):
    """Train once; return what metrics.json says, and the seconds and bytes of the process."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "run")
        command = [sys.executable, "-m", "fastimpl", "train", "--data", data]
        command += [*shlex.split(options), "--out", str(out)]
        begin = perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
            with peaks(run.pid) as found:
                error = run.stderr.read().decode()
            if run.wait():
                raise UsageError(f"{shlex.join(command)}:\n{error[-2000:]}")
        result = json.loads((out / "metrics.json").read_text())
        return {**result, **found, "wall": perf_counter() - begin}


@contextmanager
def peaks(process):
    """Give a dict, filled at the end: the most bytes of its own that a process had, and of all."""
    found, ended = {"own": 0, "all": 0}, threading.Event()

    def look():
        while not ended.is_set():
            own, mapped = resident(process)
            found["own"], found["all"] = max(found["own"], own), max(found["all"], own + mapped)
            sleep(EVERY)

    watch = threading.Thread(target=look)
    watch.start()
    try:
        yield found
    finally:
        ended.set()
        watch.join()


def resident(process):
    """Return the bytes of its own, and of mapped files, that a process has in memory now."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:  # it has ended
        return 0, 0
    sizes = dict(entry.split(":", 1) for entry in text.splitlines() if entry.startswith("Rss"))
    kib = {name: int(size.split()[0]) for name, size in sizes.items()}
    own = kib.get("RssAnon", 0) + kib.get("RssShmem", 0)
    return 1024 * own, 1024 * kib.get("RssFile", 0)
