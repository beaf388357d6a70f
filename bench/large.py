"""Opening and training on a data set larger than its share of memory: seconds and memory by part.

Each row trains in a process of its own, by ``python -m fastimpl train``. Memory is what the process
has for itself, sampled 50 times a second: RssAnon and RssShmem of /proc/PID/status, so without the
pages of files that it maps, which the operating system takes back when it needs them (RssFile,
shown beside it). Linux only. Opening is timed in 7 processes.

``--limit MIB`` holds each process down, page cache included, by a memory cgroup; the files of the
data set are taken out of the page cache first. ``--score F1`` shows after how many epochs a row
reaches this validation score, and in how many seconds of training, evaluation apart. What a process
reads from storage is counted by the operating system (``read_bytes`` of /proc/PID/io).

``--mapped STEPS`` trains STEPS steps of GraphSAGE instead, each contestant in the same limit. One
reads features and neighbours ahead. The other is torch with both mapped (`bench.peers.mapped`):
once the system reads ahead around pages of features, once it does not. Neighbours are mapped as
`load_dataset` maps them, so the system always reads ahead around their pages.

``--convert SCALE`` writes a raw Kronecker graph of 2**SCALE nodes instead, and measures its
conversion in the same way.
"""

import csv
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

import fastimpl
from bench.command import Common, UsageError, numbers
from bench.figures.training import settings
from bench.kronecker import write_kronecker
from bench.markdown import head, line, span
from bench.storage import forget, limited_group
from bench.timing import elapsed
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
    parser.add_argument("--limit", type=int, default=0, help="MiB of a process; 0: any")
    parser.add_argument("--score", type=float, help="validation score to reach")
    parser.add_argument(
        "--mapped", type=int, metavar="STEPS", help="steps of torch on a mapped array"
    )
    parser.add_argument("--ahead", type=int, default=1024, help="MiB of features, for --mapped")
    parser.add_argument("--graph-ahead", type=int, default=1024, help="MiB of neighbours, as well")
    parser.add_argument("--batch", type=int, default=1000, help="for --mapped")
    parser.add_argument("--fanouts", type=numbers(int), default=[15, 10, 5], help="for --mapped")
    parser.add_argument("--hidden", type=int, default=128, help="for --mapped")
    parser.add_argument("--python", help="interpreter that has torch, for --mapped")
    parser.add_argument("--convert", type=int, metavar="SCALE", help="convert 2**SCALE nodes")


def report(options):
    """Convert, or open and train; return the lines of the table, a row when it is there."""
    if options.convert is not None:
        return conversion(options)
    return mapped(options) if options.mapped else trainings(options)


def conversion(options):
    """Write a raw graph, convert it; yield the table."""
    with limited_group(options.limit) as group, tempfile.TemporaryDirectory(dir=".") as name:
        raw, folder = Path(name, "raw"), Path(name, "folder")
        write_kronecker(raw, scale=options.convert)
        size = sum(file.stat().st_size for file in raw.rglob("*") if file.is_file())
        command = [sys.executable, "-m", "fastimpl", "convert", str(raw), str(folder)]
        run = watched(command, group, raw)
        graph = load_dataset(folder).graph
    indptr, own = graph.indptr.nbytes / 2**20, run["own"] / 2**20
    yield f"{graph}, raw files {size / 2**20:.0f} MiB."
    yield ""
    yield from head(["seconds", "memory of its own, MiB", "beside one indptr, MiB"])
    yield line([f"{run['wall']:.1f}", f"{own:.0f}", f"{own - indptr:.0f}"])


def trainings(options):
    """Open and train; yield the table."""
    seconds = [opened(options.data) for _ in range(OPENINGS)]
    dataset = load_dataset(options.data)
    limit = f" Memory of a process: {options.limit} MiB." if options.limit else ""
    yield (
        f"{dataset.graph}, {dataset.features.shape[1]} features of {dataset.features.dtype}, "
        f"{dataset.classes} classes, {len(dataset.train)} training nodes. Opened in "
        f"{statistics.median(seconds):.2f} s ({span(seconds, 2)}). All rows: `{options.train}`."
        f"{limit}"
    )
    yield ""
    titles = ["options", "memory of its own, MiB", "with mapped files, MiB", "MiB read", "seconds"]
    score = [] if options.score is None else [f"epochs to {options.score}", "their seconds"]
    yield from head([*titles, *PARTS, "steps", "validation", *score])
    with limited_group(options.limit) as group:
        for row in options.row or ROWS:
            run = trained(options.data, f"{options.train} {row}", group)
            parts = [f"{run['seconds'].get(part, 0):.1f}" for part in PARTS]
            sizes = [f"{run[size] / 2**20:.0f}" for size in ("own", "all", "read")]
            cells = [f"`{row}`", *sizes, f"{run['wall']:.1f}", *parts, run["iterations"]]
            yield line([*cells, f"{run['val_f1']:.3f}", *reached(run["history"], options.score)])


def mapped(options):
    """Train some steps with features and neighbours on storage; yield the table."""
    if not options.python:
        raise UsageError("--mapped needs --python, an interpreter that has torch")
    asked = {"folder": options.data, "steps": options.mapped, "batch": options.batch}
    asked |= {"fanouts": options.fanouts, "hidden": options.hidden}
    memory = {"memory": options.ahead * 2**20, "graph_memory": options.graph_ahead * 2**20}
    torch = [options.python, "-m", "bench.peers.mapped"]
    ways = {
        "look-ahead": ([sys.executable, "-m", "bench.large"], {**asked, **memory}),
        "torch, mapped": (torch, {**asked, "readahead": False}),
        "torch, mapped, the system reads ahead": (torch, {**asked, "readahead": True}),
    }
    graph = load_dataset(options.data).graph
    yield f"{graph}, batches of {options.batch}, fan-outs {options.fanouts}, {options.limit} MiB."
    yield ""
    yield from head(["", "MiB read", "memory of its own, MiB", "first step", "mean of a step"])
    with limited_group(options.limit) as group:
        for name, (command, words) in ways.items():
            run = watched([*command, json.dumps(words)], group, Path(options.data))
            seconds = json.loads(run["text"].splitlines()[-1])
            sizes = [f"{run[size] / 2**20:.0f}" for size in ("read", "own")]
            yield line([name, *sizes, f"{seconds[0]:.1f}", f"{statistics.mean(seconds):.2f}"])


def steps_ahead(folder, steps, batch, fanouts, hidden, memory, graph_memory):
    """Train some steps with features and neighbours read ahead; return the seconds of each."""
    dataset = fastimpl.load_dataset(folder)
    shared = {"hidden": hidden, "batch_size": batch}
    config = settings("neighbor", layers=len(fanouts), fanouts=tuple(fanouts), **shared)
    loader = fastimpl.loader
    with (
        loader.LookaheadFeatures(Path(folder, "features.npy"), memory) as features,
        loader.LookaheadGraph(dataset.graph, graph_memory) as graph,
        fastimpl.make_trainer(dataset, config, features=features, graph=graph) as trainer,
    ):
        return [elapsed(trainer.step) for _ in range(steps)]


def reached(history, score):
    """Return the cells on the first epoch that has a score; none where no score is asked for."""
    if score is None:
        return []
    for epoch in history:
        if epoch["val_f1"] and float(epoch["val_f1"]) >= score:
            seconds = sum(float(epoch[part] or 0) for part in PARTS if part != "evaluation")
            return [epoch["epoch"], f"{seconds:.1f}"]
    return ["not reached", "-"]


def opened(data):
    """Return the seconds that a new process takes to open a data set."""
    done = subprocess.run([sys.executable, "-c", OPEN, data], capture_output=True, text=True)
    if done.returncode:
        raise UsageError(done.stderr[-2000:])
    return float(done.stdout)


def trained(data, options, group=None):
    """Train once; return what metrics.json and history.csv say, and what `watched` returns."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "run")
        command = [sys.executable, "-m", "fastimpl", "train", "--data", data]
        found = watched([*command, *shlex.split(options), "--out", str(out)], group, Path(data))
        result = json.loads((out / "metrics.json").read_text())
        with (out / "history.csv").open(newline="") as file:
            return {**result, **found, "history": list(csv.DictReader(file))}


def watched(command, group, cold):
    """Run a command, in a memory cgroup if there is one; return seconds, bytes and what it prints.

    Raises
    ------
    UsageError
        If the command fails.
    """
    if group:
        for file in cold.rglob("*"):  # pages of other processes would not count for the group
            if file.is_file():
                forget(file)
        command = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', f"{group}/cgroup.procs", *command]
    begin = perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        with peaks(run.pid) as found:
            text, error = run.communicate()
        if run.returncode:
            raise UsageError(f"{shlex.join(command)}:\n{error[-2000:]}")
    return {**found, "text": text, "wall": perf_counter() - begin}


@contextmanager
def peaks(process):
    """Give a dict, filled at the end: the most bytes of its own that a process had, and of all.

    ``read`` is what the process read from storage.
    """
    found, ended = {"own": 0, "all": 0, "read": 0}, threading.Event()

    def look():
        while not ended.is_set():
            own, mapped = resident(process)
            found["own"], found["all"] = max(found["own"], own), max(found["all"], own + mapped)
            found["read"] = max(found["read"], read_of(process))
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


def read_of(process):
    """Return the bytes that a process has read from storage."""
    try:
        text = Path(f"/proc/{process}/io").read_text()
    except OSError:  # it has ended
        return 0
    return next(
        (int(entry[12:]) for entry in text.splitlines() if entry.startswith("read_bytes: ")), 0
    )


if __name__ == "__main__":
    print(json.dumps(steps_ahead(**json.loads(sys.argv[1]))))
