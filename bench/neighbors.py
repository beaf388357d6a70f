"""Neighbour sampling, beside torch_geometric's NeighborLoader where --python has it.

Each contestant is a process of its own, on one thread or on several, and they sample in turns.
NeighborLoader lets a node draw once, in the hop behind the one that met it: our mode "shared".
It needs pyg-lib or torch-sparse; without either, or without an interpreter that has it, only
this project is measured. Times are wall, and CPU time of the process.
"""

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import numpy as np

import fastimpl
from bench.command import Common, numbers
from bench.markdown import table, threads_title
from bench.peers.protocol import Contestant
from bench.timing import in_turns
from refimpl.lab.data import kronecker

COMMON = Common(threads=True, rounds=15)
QUICK = {"scale": 10, "batch": 20}
MODULE = "bench.peers.loaders"
BATCHES, TOGETHER, WARM_UP = 40, 8, 3
OURS = {
    "ours, shared": ("shared", 1),
    "ours, layered": ("layered", 1),
    f"ours, shared, {TOGETHER} batches in a call": ("shared", TOGETHER),
}
PEER = "NeighborLoader"


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--python", help="interpreter with torch_geometric and a sampler of it")
    parser.add_argument("--scale", type=int, default=20, help="2^scale nodes (default: 20)")
    parser.add_argument("--batch", type=int, default=1000, help="roots a batch (default: 1000)")
    parser.add_argument("--fanouts", type=numbers(int), default=[20, 15, 10], help="roots first")


def report(options):
    """Yield a table for each number of threads."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph.npz")
        graph = export(path, options.scale, options.batch)
        for number, threads in enumerate(options.threads):
            lines = measured(path, graph, threads, options)
            if not number:
                yield (
                    f"Kronecker, 2^{options.scale} nodes, {graph.e:,} entries; "
                    f"{options.batch:,} roots, fan-outs {options.fanouts}; "
                    f"medians of {options.rounds} rounds in turns."
                )
            yield ""
            yield from lines


def export(path, scale, batch):
    """Write the graph and its batches, nodes that have neighbours; return the graph."""
    graph = kronecker(scale, 16)
    nodes = np.flatnonzero(graph.degrees()).astype(np.int32)
    nodes = nodes[: len(nodes) // batch * batch]
    batches = np.array(fastimpl.samplers.epoch_batches(nodes, batch, 1, 0)[:BATCHES])
    np.savez(path, indptr=graph.indptr, indices=graph.indices, batches=batches)
    return graph


def measured(path, graph, threads, options):
    """Measure on a number of threads; return a table, and say who the peer is."""
    with ExitStack() as stack:
        ours = stack.enter_context(Contestant(sys.executable, MODULE, threads))
        who = dict.fromkeys(OURS, ours)
        for name, (mode, together) in OURS.items():
            ours("prepare", name, "ours", str(path), options.fanouts, mode, together)
        if options.python:
            who[PEER] = stack.enter_context(Contestant(options.python, MODULE, threads))
            versions = who[PEER]("versions").items()
            options.peer = ", ".join(f"{name} {version or 'none'}" for name, version in versions)
            who[PEER]("prepare", PEER, "PyG", str(path), options.fanouts)
        edges = {name: check(graph, who[name], name, path, options.fanouts[0]) for name in who}
        tasks = {name: turn(who[name], name) for name in who}
        found = in_turns(tasks, options.rounds, WARM_UP)
    rows = []
    for name, spent in found.items():
        batches = OURS.get(name, ("", 1))[1]
        each = [f"{1e3 * median(seconds) / batches:.1f}" for seconds in zip(*spent, strict=True)]
        rows.append([name, f"{edges[name]:,}", *each])
    titles = [threads_title(threads), "distinct edges a batch", "ms a batch", "CPU ms a batch"]
    return table(titles, rows)


def turn(contestant, name):
    """Return a task that returns the seconds and the CPU seconds of a call."""

    def once(_):
        before = contestant("spent")
        return contestant("run", name), contestant("spent") - before

    return once


def check(graph, contestant, name, path, fanout):
    """Check that a batch's edges are the graph's, and enough; return how many it has."""
    file = path.with_name("answer.npz")
    contestant("check", name, str(file))
    with np.load(file) as answer:
        got = {key: answer[key].astype(np.int64) for key in answer.files}
    row = np.repeat(np.arange(graph.n), graph.degrees())
    drawn = np.unique(got["receivers"] * graph.n + got["senders"])
    assert np.isin(drawn, row * graph.n + graph.indices, assume_unique=True).all(), name
    degree = np.bincount(drawn // graph.n, minlength=graph.n)[got["roots"]]
    assert (degree >= np.minimum(graph.degrees()[got["roots"]], fanout)).all(), name
    assert set(got["senders"].tolist()) <= set(got["nodes"].tolist()), name
    return len(drawn)
