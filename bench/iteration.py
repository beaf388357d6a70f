"""What FreshGNN's cache takes of an iteration, and the iteration beside torch_geometric's.

Each contestant is a process of its own, and they train an epoch each in turns. The cache is
looking up, pruning and updating; shares are of the wall time of training, sampling ahead
included where it is waited for. With --python, an interpreter that has torch_geometric and a
sampler of it, the same sizes are trained there too: NeighborLoader's batches, Adam, and, with
pyg-lib, layers trimmed to the rows that are needed: torch-sparse does not say which these are.
Its batches are of the mode "shared" (a node draws once).
"""

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import numpy as np

from bench.command import Common, UsageError, numbers
from bench.markdown import span, table, threads_title
from bench.peers.protocol import Contestant
from bench.timing import in_turns
from bench.training import data_set

COMMON = Common(threads=True, rounds=9)
QUICK = {"data": "karate", "hidden": [8], "fanouts": [3, 2], "batch": 10}
MODULE = "bench.iteration_sides"
PARTS = ("cache", "sampling", "aggregation", "weights", "other")
WARM_UP = 1  # epochs: the first fills the cache


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--python", help="interpreter with torch_geometric and a sampler of it")
    parser.add_argument("--data", default="computers", help="a name or a folder")
    parser.add_argument("--models", type=numbers(str), default=["sage", "gcn"])
    parser.add_argument("--hidden", type=numbers(int), default=[256, 512])
    parser.add_argument("--fanouts", type=numbers(int), default=[20, 15, 10], help="roots first")
    parser.add_argument("--batch", type=int, default=1000, help="roots a batch (default: 1000)")
    parser.add_argument("--age", type=int, default=5, help="t_stale (default: 5)")
    parser.add_argument("--share", type=float, default=0.9, help="p_grad (default: 0.9)")


def report(options):
    """Yield two tables for each number of threads: shares, and iterations side by side."""
    unknown = set(options.models) - {"sage", "gcn"} if options.python else ()
    if unknown:
        raise UsageError(f"--models must be of sage, gcn with --python, got {min(unknown)}")
    dataset = data_set(options.data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.npz")
        export(path, dataset)
        for number, threads in enumerate(options.threads):
            found = {
                (model, hidden): measured(path, model, hidden, threads, options)
                for model in options.models
                for hidden in options.hidden
            }
            if not number:
                yield (
                    f"{dataset.name}, {options.batch:,} roots, fan-outs {options.fanouts}, "
                    f"p_grad {options.share}, t_stale {options.age}, no features cached; medians "
                    f"(ranges) of {options.rounds} epochs in turns."
                )
            yield ""
            yield from shares(found, threads)
            yield ""
            yield from side_by_side(found, threads)


def export(path, dataset):
    """Write what a peer trains on: graph, inputs, labels and roots."""
    graph = dataset.train_graph
    nodes = dataset.in_graph(np.arange(graph.n))
    np.savez(
        path,
        indptr=graph.indptr,
        indices=graph.indices,
        X=dataset.inputs(nodes).astype(np.float32),
        labels=dataset.labels[nodes].astype(np.int64),
        roots=dataset.roots,
    )


def measured(path, model, hidden, threads, options):
    """Return, by contestant, the seconds of an iteration and of its parts in each round."""
    rest = model, hidden, options.fanouts, options.batch
    with ExitStack() as stack:
        ours = stack.enter_context(Contestant(sys.executable, MODULE, threads))
        who = {"fresh": ours, "neighbor": ours}
        for method in who:
            more = {"p_grad": options.share, "t_stale": options.age} if method == "fresh" else {}
            ours("prepare", method, "ours", options.data, method, *rest, more)
        if options.python:
            who["PyG"] = stack.enter_context(Contestant(options.python, MODULE, threads))
            versions = who["PyG"]("versions").items()
            options.peer = ", ".join(f"{name} {version}" for name, version in versions)
            who["PyG"]("prepare", "PyG", "PyG", str(path), *rest)
        tasks = {name: turn(who[name], name, path.with_name("answer.npz")) for name in who}
        return in_turns(tasks, options.rounds, WARM_UP)


def turn(contestant, name, file):
    """Return a task that trains an epoch, and returns what an iteration took, with its parts."""
    before = answered(contestant, name, file)

    def epoch(_):
        nonlocal before
        (seconds, _), last = contestant("run", name), before
        before = answered(contestant, name, file)
        spent = {part: before[part] - last[part] for part in before}
        steps = spent.pop("steps")
        return {"whole": seconds / steps, **{part: s / steps for part, s in spent.items()}}

    return epoch


def answered(contestant, name, file):
    """Return what a contestant has counted so far."""
    contestant("check", name, str(file))
    with np.load(file) as found:
        return {key: float(found[key]) for key in found.files}


def shares(found, threads):
    """Return the table of what FreshGNN's parts take."""
    titles = [f"FreshGNN, {threads_title(threads)}", "cache", "range", *PARTS[1:], "hit rate"]
    rows = []
    for (model, hidden), sides in found.items():
        rounds = sides["fresh"]
        of = {p: [r[p] / sum(r[q] for q in PARTS) for r in rounds] for p in PARTS}
        hits = sum(r["hits"] for r in rounds) / max(sum(r["lookups"] for r in rounds), 1)
        cells = [f"{median(of[part]):.1%}" for part in PARTS[1:]]
        cache = [100 * share for share in of["cache"]]
        rows.append(
            [f"`{model}`, {hidden}", f"{median(cache):.1f}%", span(cache, 1), *cells, f"{hits:.1%}"]
        )
    return table(titles, rows)


def side_by_side(found, threads):
    """Return the table of whole iterations, ours and the peer's."""
    names = list(next(iter(found.values())))
    others = names[1:]
    titles = [f"iteration, ms, {threads_title(threads)}", *names, *(f"{n} / fresh" for n in others)]
    rows = []
    for (model, hidden), sides in found.items():
        spent = {name: [r["whole"] for r in sides[name]] for name in names}
        each = [f"{1e3 * median(spent[name]):.1f}" for name in names]
        ratios = [
            median(a / b for a, b in zip(spent[name], spent["fresh"], strict=True))
            for name in others
        ]
        rows.append([f"`{model}`, {hidden}", *each, *(f"{ratio:.2f}" for ratio in ratios)])
    return table(titles, rows)
