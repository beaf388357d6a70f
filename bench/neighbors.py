"""``python -m bench.neighbors``: neighbour sampling beside torch_geometric's NeighborLoader.

Each contestant is a process of its own, on one thread or on several, and they sample in turns.
NeighborLoader lets a node draw once, in the hop behind the one that met it: our mode "shared".
It needs pyg-lib or torch-sparse; without either, or without an interpreter that has it, only
this project is measured. Times are printed as Markdown: wall, and CPU time of the process.
"""

import argparse
import os
import platform
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np

import fastimpl
from bench.conftest import MAX_LOAD, busy_seconds, share_of_others
from bench.peers.protocol import Contestant, ContestantError
from refimpl.lab.data import kronecker

MODULE = "bench.peers.loaders"
FANOUTS, BATCH, BATCHES = (20, 15, 10), 1000, 40
ROUNDS, TOGETHER = 15, 8
OURS = {
    "ours, shared": ("shared", 1),
    "ours, layered": ("layered", 1),
    f"ours, shared, {TOGETHER} batches in a call": ("shared", TOGETHER),
}
PEER = "NeighborLoader"


def main(argv=None):
    """Run a command line; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.neighbors", description=__doc__)
    parser.add_argument("--python", help="interpreter with torch_geometric and a sampler of it")
    parser.add_argument("--quick", action="store_true", help="a tiny graph, one round, as a test")
    parser.add_argument("--force-noisy", action="store_true", help="measure on a busy machine")
    options = parser.parse_args(argv)
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    if load > MAX_LOAD and not (options.quick or options.force_noisy):
        print(f"the load is {load:.2f} a core, above {MAX_LOAD}: wait", file=sys.stderr)
        return 2
    scale, batch, rounds = (10, 20, 1) if options.quick else (20, BATCH, ROUNDS)
    begin = busy_seconds()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph.npz")
        graph = export(path, scale, batch)
        print(f"Kronecker, 2^{scale} nodes, {graph.e:,} entries; {batch:,} roots, {FANOUTS}\n")
        try:
            for threads in (1, 2):
                report(path, graph, threads, options.python, rounds)
        except ContestantError as error:
            print(f"python -m bench.neighbors: {error}", file=sys.stderr)
            return 2
    others = share_of_others(begin)
    print(f"Load before: {load:.2f} a core; share of other programs: {others or 0:.2f}")
    return 0


def export(path, scale, batch):
    """Write the graph and its batches, nodes that have neighbours; return the graph."""
    graph = kronecker(scale, 16)
    nodes = np.flatnonzero(graph.degrees()).astype(np.int32)
    nodes = nodes[: len(nodes) // batch * batch]
    batches = np.array(fastimpl.samplers.epoch_batches(nodes, batch, 1, 0)[:BATCHES])
    np.savez(path, indptr=graph.indptr, indices=graph.indices, batches=batches)
    return graph


def report(path, graph, threads, python, rounds):
    """Measure on a number of threads; print a table."""
    with ExitStack() as stack:
        ours = stack.enter_context(Contestant(sys.executable, MODULE, threads))
        tasks = dict.fromkeys(OURS, ours)
        for name, (mode, together) in OURS.items():
            ours("prepare", name, "ours", str(path), FANOUTS, mode, together)
        versions = {"Python": platform.python_version()}
        if python:
            peer = stack.enter_context(Contestant(python, MODULE, threads))
            versions = peer("versions")
            peer("prepare", PEER, "PyG", str(path), list(FANOUTS))
            tasks[PEER] = peer
        edges = {name: check(graph, who, name, path) for name, who in tasks.items()}
        times = in_turns(tasks, rounds)
    print(", ".join(f"{name} {version}" for name, version in versions.items()), end="\n\n")
    print(f"| {threads} thread(s) | distinct edges a batch | ms a batch | CPU ms a batch |")
    print("| --- | --- | --- | --- |")
    for name, (wall, cpu) in times.items():
        batches = OURS.get(name, ("", 1))[1]
        each = [1e3 * statistics.median(seconds) / batches for seconds in (wall, cpu)]
        print(f"| {name} | {edges[name]:,} | {each[0]:.1f} | {each[1]:.1f} |")
    print()


def check(graph, contestant, name, path):
    """Check that a batch's edges are the graph's, and enough; return how many it has."""
    file = path.with_name("answer.npz")
    contestant("check", name, str(file))
    with np.load(file) as answer:
        got = {key: answer[key].astype(np.int64) for key in answer.files}
    row = np.repeat(np.arange(graph.n), graph.degrees())
    drawn = np.unique(got["receivers"] * graph.n + got["senders"])
    assert np.isin(drawn, row * graph.n + graph.indices, assume_unique=True).all(), name
    degree = np.bincount(drawn // graph.n, minlength=graph.n)[got["roots"]]
    assert (degree >= np.minimum(graph.degrees()[got["roots"]], FANOUTS[0])).all(), name
    assert set(got["senders"].tolist()) <= set(got["nodes"].tolist()), name
    return len(drawn)


def in_turns(tasks, rounds):
    """Run the tasks one after another, again and again; return {name: (seconds, CPU seconds)}."""
    taken = {name: ([], []) for name in tasks}
    for number in range(3 + rounds):  # the first ones warm up
        for name, contestant in tasks.items():
            spent = contestant("spent")
            wall = contestant("run", name)
            if number >= 3:
                taken[name][0].append(wall)
                taken[name][1].append(contestant("spent") - spent)
    return taken


if __name__ == "__main__":
    sys.exit(main())
