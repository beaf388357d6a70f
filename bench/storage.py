"""An epoch with features in a file larger than memory: mapped, or read ahead into a cache.

Features lie in a file larger than the memory that the process may use, page cache included: a
memory cgroup holds it down, so Linux as root is needed. Neighbour sampling and FreshGNN train in
turns, with the file mapped and with the look-ahead cache, each in a process of its own. The same
neighbours are sampled. What was read from storage is counted by the operating system
(``read_bytes`` of /proc/self/io). The second epoch is shown: in the first the cache is empty. With
--quick the memory is not held down.

With ``--counts SCALE`` nothing is timed: rows and pages that an epoch reads are counted on a
Kronecker graph of 2**SCALE nodes, from a packed folder and one that is not, by both rules of
eviction (`bench.reads`).
"""

import json
import os
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

import fastimpl
from bench import reads
from bench.command import Common, UsageError, numbers
from bench.figures.training import epochs, settings
from bench.launching import answer
from bench.markdown import median_and_range, table
from bench.timing import in_turns
from refimpl import Dataset
from refimpl.lab.data.communities import communities
from refimpl.loader import io_counters, open_features, write_features

COMMON = Common(rounds=7)
QUICK = {"nodes": 500, "width": 64, "batch": 20, "t_stale": 50, "hidden": 4, "memory": 0}
GROUPS = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")  # version 1, version 2
LIMIT_FILES = "memory.limit_in_bytes", "memory.max"
MAPPED = "neighbor, mapped"
WAYS = {
    MAPPED: ("neighbor", False),
    "neighbor, look-ahead": ("neighbor", True),
    "fresh, mapped": ("fresh", False),
    "fresh, look-ahead": ("fresh", True),
}
EPOCHS = 2
FILES = "features.npy", "rest.npz"


def write_data(folder, nodes, width):
    """Write a data set whose nodes all train, its features blown up to `width`; return bytes."""
    data = communities(0, nodes=nodes)
    blow_up = np.random.default_rng(0).normal(size=(data.features.shape[1], width))
    features = (data.inputs() @ blow_up).astype(np.float32)
    write_features(folder / FILES[0], features)
    graph = data.graph
    np.savez(folder / FILES[1], indptr=graph.indptr, indices=graph.indices, labels=data.labels)
    return features.nbytes


def read_data(folder):
    """Return the data set; its features stay in the file."""
    features = open_features(folder / FILES[0])
    with np.load(folder / FILES[1]) as rest:
        graph = fastimpl.as_graph((rest["indptr"], rest["indices"]))
        labels = rest["labels"]
    every, none = np.arange(graph.n), np.arange(0)
    return Dataset("storage", graph, features, labels, every, none, none)


def trained(folder, method, cache, options):
    """Train, and return what `epochs` does. `cache` is the look-ahead cache's bytes; 0: none."""
    dataset = read_data(folder)
    config = settings(method, **options)
    with ExitStack() as opened:
        ahead = fastimpl.loader.LookaheadFeatures
        features = opened.enter_context(ahead(folder / FILES[0], cache)) if cache else None
        trainer = opened.enter_context(fastimpl.make_trainer(dataset, config, features=features))
        return epochs(trainer, EPOCHS, lambda: io_counters().storage)


def forget(path):
    """Take a file out of the page cache."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def limited_group(mib):
    """Make a memory cgroup that holds its processes down; None with 0 MiB.

    Raises
    ------
    UsageError
        If there is none that this user may write to.
    """
    if not mib:
        yield None
        return
    try:
        group = made_group(mib * 2**20)
    except OSError as error:
        raise UsageError(f"{error} (--memory 0 does without)") from error
    try:
        yield group
    finally:
        group.rmdir()


def made_group(limit):
    """Return a new memory cgroup that holds its processes down to `limit` bytes."""
    for root, name in zip(GROUPS, LIMIT_FILES, strict=True):
        group = root / f"minibatch-gnn-{os.getpid()}"
        if (root / "cgroup.procs").exists():
            group.mkdir()
            if (group / name).exists():
                (group / name).write_text(str(limit))
                return group
            group.rmdir()
    raise OSError("there is no memory cgroup to write to")


def measure(folder, group, method, cache, options):
    """Return the epochs of one run in a process of its own."""
    if group:
        forget(folder / FILES[0])  # the pages of other processes would not count for the group
    asked = {"folder": str(folder), "group": group and str(group), "method": method}
    asked |= {"cache": cache, "options": options}
    return answer([sys.executable, "-m", "bench.storage"], asked)


def child(folder, group, method, cache, options):
    """Train in this process, in its group; print the epochs."""
    if group:
        Path(group, "cgroup.procs").write_text(str(os.getpid()))
    print(json.dumps(trained(Path(folder), method, cache, options)))


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--nodes", type=int, default=30_000)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--memory", type=int, default=112, help="MiB of a process; 0: any")
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--fanouts", type=numbers(int), default=[3, 2])
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--p-grad", type=float, default=0.9)
    parser.add_argument("--t-stale", type=int, default=300)
    parser.add_argument("--buffer", type=int, default=8_000_000, help="bytes of FreshGNN's cache")
    parser.add_argument("--ahead", type=int, default=24, help="MiB of the look-ahead cache")
    parser.add_argument("--counts", type=int, help="count reads on 2**COUNTS nodes, and time none")


def report(options):
    """Measure in turns; yield the table and the ratios."""
    if options.counts is not None:
        yield from reads.report(
            options.counts, options.fanouts, options.batch, options.ahead * 2**20
        )
        return
    shared = {
        "fanouts": options.fanouts,
        "layers": len(options.fanouts),
        "batch_size": options.batch,
    }
    shared |= {"hidden": options.hidden, "epochs": EPOCHS}
    fresh = {"p_grad": options.p_grad, "t_stale": options.t_stale, "buffer": options.buffer}
    of_method = {"neighbor": shared, "fresh": {"hotness": "none", **fresh, **shared}}
    with limited_group(options.memory) as group, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = write_data(folder, options.nodes, options.width)

        def turn(method, ahead):
            cache = ahead * options.ahead * 2**20
            return lambda _: measure(folder, group, method, cache, of_method[method])[-1]

        runs = in_turns({name: turn(*way) for name, way in WAYS.items()}, options.rounds)
    check(runs)
    memory = f"memory {options.memory} MiB" if options.memory else "any memory"
    yield f"Features {size / 2**20:.0f} MiB, {memory}; median (range) of {options.rounds} rounds."
    yield ""
    titles = ["method", "rows loaded, share of those needed", "MiB from storage", "seconds"]
    yield from table(
        [*titles, "times as fast as the first row"], [row(name, runs) for name in runs]
    )


def check(runs):
    """Check that all runs of a method load the same rows, neighbour sampling all it needs."""
    for found in runs.values():
        assert len({(run["rows"], run["needed"]) for run in found}) == 1
        assert found[0]["rows"] <= runs[MAPPED][0]["rows"] == runs[MAPPED][0]["needed"]


def row(name, runs):
    """Return the cells of a way; a speed-up is a median over rounds."""
    found, mapped = runs[name], runs[MAPPED]
    share = found[0]["rows"] / mapped[0]["needed"]
    mib = median_and_range([run["spent"] / 2**20 for run in found])
    seconds = median_and_range([run["seconds"] for run in found])
    ratios = [a["seconds"] / b["seconds"] for a, b in zip(mapped, found, strict=True)]
    return [name, f"{share:.1%}", mib, seconds, median_and_range(ratios, 2)]


if __name__ == "__main__":
    child(**json.loads(sys.argv[1]))
