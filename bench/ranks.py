"""Training steps on several ranks beside one, and what PyTorch's DistributedDataParallel adds.

Each rank has one thread and one worker: the counterpart of FreshGNN's Figure 11. Beside them the
step of all workers on one rank, with one thread and with as many as there are ranks. What two ranks
add to the step of one stands next to what DistributedDataParallel (gloo) adds to the like step of
torch_geometric on one process; the peer's step has its subgraph at hand, ours draws one. mpi4py and
an MPI are needed, torch for the peer, with --python, and matplotlib for --plot.
"""

import statistics
import tempfile
from pathlib import Path

import numpy as np

import fastimpl
from bench.command import Common, UsageError, numbers
from bench.figures.panels import Curve, Lines, draw
from bench.inputs import power_law
from bench.launching import answer, no_mpi, on_ranks
from bench.markdown import median_and_range, table
from bench.on_ranks import data_of, ranks_of
from refimpl import Sampler
from refimpl.lab.distributed.launch import available_cores

COMMON = Common(plot=True, rounds=9)
QUICK = {"nodes": 300, "degree": 6, "features": 12, "hidden": 8, "classes": 3, "steps": 1}
QUICK |= {"n": 60, "m": 6, "batch": 20, "ranks": 2}
TITLES = {"graph": "GraphSAGE, subgraphs", "fresh": "GraphSAGE, FreshGNN"}
LAUNCHES = 3  # of each program, in turns
PEER_ALONE = "1 process"  # its name in bench.peers.data_parallel
OPTIONS = (
    "nodes",
    "degree",
    "features",
    "classes",
    "hidden",
    "n",
    "m",
    "batch",
    "fanouts",
    "steps",
)


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--mpiexec", help="default: the one beside this Python, or on the path")
    parser.add_argument("--python", help="interpreter with torch and torch_geometric")
    parser.add_argument("--ranks", type=int, default=available_cores(), help="default: the cores")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--degree", type=int, default=20, help="mean")
    parser.add_argument("--features", type=int, default=602)
    parser.add_argument("--classes", type=int, default=41)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--n", type=int, default=8000, help="nodes of a subgraph")
    parser.add_argument("--m", type=int, default=1000, help="of its frontier")
    parser.add_argument("--batch", type=int, default=1000, help="roots of a batch")
    parser.add_argument("--fanouts", type=numbers(int), default=[15, 10])
    parser.add_argument("--steps", type=int, default=4, help="of a round")
    methods = list(TITLES)
    parser.add_argument("--methods", type=lambda text: text.split(","), default=methods)


def report(options):
    """Measure both programs in turns; yield the tables."""
    if options.ranks < 2:
        raise UsageError("--ranks must be at least 2")
    if options.mpiexec is None and no_mpi():
        raise UsageError(no_mpi())
    asked = {name: getattr(options, name) for name in OPTIONS}
    launches = 1 if options.quick else LAUNCHES
    asked |= {"methods": options.methods, "rounds": -(-options.rounds // launches)}
    ours: dict = {method: {} for method in options.methods}
    theirs: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        asked["held"] = str(Path(folder, "subgraph.npz"))
        if options.python:
            export(asked)
        for _ in range(launches):
            found = on_ranks(options.ranks, "bench.on_ranks", asked, options.mpiexec)
            for method, one in found["methods"].items():
                gather(ours[method], one)
            if options.python:
                peer = answer([options.python, "-m", "bench.peers.data_parallel"], asked)
                gather(theirs, peer["found"])
    graph = power_law(options.nodes, options.degree)
    yield (
        f"{found['mpi']}. {graph}, {options.features} features, {options.hidden} hidden, "
        f"{options.classes} classes, float32; subgraphs of a budget of {options.n} nodes, batches "
        f"of {options.batch} with fan-outs {options.fanouts}. Median (range) of "
        f"{launches * asked['rounds']} rounds of {options.steps} steps, of {launches} launches."
    )
    yield ""
    head = ["step", "ranks", "threads", "workers", "ms", "minibatches a second", "speed-up"]
    rows = [row for method, one in ours.items() for row in speeds(TITLES[method], one)]
    yield from table([*head, "waiting", "exchanging"], rows)
    yield ""
    rows = []
    for method, found in ours.items():
        one, two = (seconds(found, f"{ranks} 1 {ranks}") for ranks in ranks_of(options.ranks)[:2])
        rows.append(overhead(TITLES[method], one, two))
    for name in (name for name in theirs if name != PEER_ALONE):
        title = f"torch {peer['torch']}, {name}"
        rows.append(overhead(title, theirs[PEER_ALONE], theirs[name]))
    yield from table(["step of 1 worker each", "ms, alone", "ms, two", "added", "ms added"], rows)
    if options.plot:
        draw(options.plot, [throughput(method, one) for method, one in ours.items()])


def seconds(found, name):
    """Return the seconds of a contestant's steps in each round."""
    return [one for one, *_ in found[name]]


def speeds(title, found):
    """Yield a row for each contestant, beside one rank of one thread with as many workers."""
    every = max(int(name.split()[2]) for name in found)
    base = seconds(found, f"1 1 {every}")
    for name in sorted(found, key=lambda name: [int(word) for word in name.split()]):
        ranks, threads, workers = map(int, name.split())
        mine = seconds(found, name)
        ratios = [a * workers / every / b for a, b in zip(base, mine, strict=True)]
        shares = [statistics.median(x[k] / x[0] for x in found[name]) for k in (1, 2)]
        yield [
            title,
            *map(str, (ranks, threads, workers)),
            f"{1000 * statistics.median(mine):.1f}",
            f"{workers / statistics.median(mine):.1f}",
            median_and_range(ratios, 2),
            *(f"{share:.1%}" for share in shares),
        ]


def throughput(method, found):
    """Return the panel of minibatches a second against ranks of one thread and one worker."""
    ranks = sorted(int(name.split()[0]) for name in found if name.split()[0] == name.split()[2])
    rates = [r / statistics.median(seconds(found, f"{r} 1 {r}")) for r in ranks]
    curves = {
        "measured": Curve(ranks, rates),
        "in proportion": Curve(ranks, [rates[0] * r for r in ranks], marked=False),
    }
    axes = {"xscale": "log", "ylim": (0, None)}
    return Lines(TITLES[method], "ranks of one thread", "minibatches a second", curves, axes, ranks)


def gather(known, found):
    """Add the rounds of a launch to those of the launches before."""
    for name, rounds in found.items():
        known.setdefault(name, []).extend(rounds)


def overhead(title, alone, two):
    """Return the row of what a second process adds to a step."""
    added = [b / a - 1 for a, b in zip(alone, two, strict=True)]
    more = statistics.median(1000 * (b - a) for a, b in zip(alone, two, strict=True))
    low, high = min(added), max(added)
    return [
        title,
        f"{1000 * statistics.median(alone):.1f}",
        f"{1000 * statistics.median(two):.1f}",
        f"{statistics.median(added):.1%} ({low:.1%} to {high:.1%})",
        f"{more:.1f}",
    ]


def export(asked):
    """Write a subgraph for the peer: what a step of ours draws."""
    data = data_of(asked)
    sampler = Sampler("pin_tile", m=asked["m"], n=asked["n"])
    (sub,) = fastimpl.sample_many(data.graph, sampler, 0, 0, 1)
    np.savez(
        asked["held"],
        indptr=sub.graph.indptr,
        indices=sub.graph.indices,
        data=np.ones(sub.graph.e, np.float32),
        X=data.features[sub.nodes],
        labels=data.labels[sub.nodes].astype(np.int64),
    )
