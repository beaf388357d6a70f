"""FreshGNN's cache where features do not fit in memory: ``python -m bench.storage``.

Features lie in a file larger than the memory that the process may use, page cache included: a
memory cgroup holds it down, so Linux as root is needed. Neighbour sampling and FreshGNN train in
turns, each in a process of its own, and the same neighbours are sampled. What was read from
storage is counted by the operating system (``read_bytes`` of /proc/self/io). The second epoch is
shown: in the first the cache is empty.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

import fastimpl
from bench.conftest import busy_seconds, share_of_others
from bench.fresh import numbers
from refimpl import Dataset, TrainConfig
from refimpl.lab.data.communities import communities
from refimpl.loader import io_counters, open_features, write_features

GROUPS = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")  # version 1, version 2
LIMIT_FILES = "memory.limit_in_bytes", "memory.max"
METHODS = "neighbor", "fresh"
EPOCHS = 2
FILES = "features.npy", "rest.npz"


def write_data(folder, nodes, width):
    """Write a data set whose nodes all train, its features blown up to `width`; return bytes."""
    data = communities(0, nodes=nodes)
    blow_up = np.random.default_rng(0).normal(size=(data.features.shape[1], width))
    features = (data.features @ blow_up).astype(np.float32)
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
    return Dataset("storage", graph, graph, features, labels, False, every, none, none)


def trained(folder, settings):
    """Train; return seconds, bytes from storage and rows of each epoch."""
    dataset, epochs = read_data(folder), []
    config = TrainConfig(**settings)
    with fastimpl.make_trainer(dataset, config, features=dataset.features) as trainer:
        for _ in range(EPOCHS):
            read, begin = io_counters().storage, perf_counter()
            trainer.epoch()
            seconds = perf_counter() - begin
            load = trainer.state.loads[-1]
            epochs.append(
                {
                    "seconds": seconds,
                    "storage": io_counters().storage - read,
                    "rows": load["loaded"],
                    "needed": load["inputs"],
                }
            )
    return epochs


def forget(path):
    """Take a file out of the page cache."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def limited_group(limit):
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


def measure(folder, group, settings):
    """Return the epochs of one run in a process of its own."""
    forget(folder / FILES[0])  # the pages of other processes would not count for the group
    command = [sys.executable, "-m", "bench.storage", "--child", str(folder), str(group)]
    done = subprocess.run(
        [*command, json.dumps(settings)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise OSError(f"the run failed (status {done.returncode}): {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def main(arguments=None):
    """Run a command line; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.storage", description=__doc__)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--nodes", type=int, default=30_000)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--memory", type=int, default=112, help="MiB that a process may use")
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--fanouts", type=numbers(int), default=[3, 2])
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--p-grad", type=float, default=0.9)
    parser.add_argument("--t-stale", type=int, default=300)
    parser.add_argument("--buffer", type=int, default=8_000_000, help="bytes of the cache")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(arguments)
    if options.child:
        folder, group, settings = options.child
        Path(group, "cgroup.procs").write_text(str(os.getpid()))
        print(json.dumps(trained(Path(folder), json.loads(settings))))
        return 0
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    try:
        print_table(options, arguments or sys.argv[1:])
    except OSError as error:
        print(f"python -m bench.storage: {error}", file=sys.stderr)
        return 2
    return 0


def print_table(options, words):
    """Measure in turns and print Markdown."""
    shared = {"fanouts": options.fanouts, "layers": len(options.fanouts), "batch": options.batch}
    shared |= {"hidden": options.hidden, "epochs": EPOCHS}
    fresh = {"p_grad": options.p_grad, "t_stale": options.t_stale, "buffer": options.buffer}
    settings = {
        "neighbor": {"method": "neighbor", **shared},
        "fresh": {"method": "fresh", "hotness": "none", **fresh, **shared},
    }
    begin = busy_seconds()
    runs: dict[str, list] = {method: [] for method in METHODS}
    group = limited_group(options.memory * 2**20)
    try:
        with tempfile.TemporaryDirectory() as folder:
            size = write_data(Path(folder), options.nodes, options.width)
            for _ in range(options.rounds):
                for method in METHODS:
                    runs[method].append(measure(Path(folder), group, settings[method])[-1])
    finally:
        group.rmdir()
    print(f"`python -m bench.storage {' '.join(words)}`: features {size / 2**20:.0f} MiB,")
    print(f"memory {options.memory} MiB, median (range) of {options.rounds} runs in turns.\n")
    print("| method | rows loaded, share of those needed | MiB from storage | seconds |")
    print("| --- | ---: | ---: | ---: |")
    for method, found in runs.items():
        share = found[0]["rows"] / found[0]["needed"]
        mib = shown([run["storage"] / 2**20 for run in found])
        print(f"| {method} | {share:.1%} | {mib} | {shown([run['seconds'] for run in found])} |")
    for name, key in (("bytes from storage", "storage"), ("seconds", "seconds")):
        pairs = zip(runs["neighbor"], runs["fresh"], strict=True)
        ratios = [a[key] / max(b[key], 1e-9) for a, b in pairs]
        print(f"\nNeighbour sampling over FreshGNN, {name}: {shown(ratios, 2)}.")
    print(f"\nShare of the cores that other programs used: {share_of_others(begin) or 0:.2f}.")


def shown(values, digits=1):
    """Return the median and the range of some values."""
    low, high = min(values), max(values)
    return f"{statistics.median(values):.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


if __name__ == "__main__":
    sys.exit(main())
