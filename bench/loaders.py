"""An epoch of loading and of training a model of PyG, by our NeighborLoader and by PyG's own.

All in this process, in turns, on one `Data`: a Kronecker graph with features and classes at
random. What the model is given is a row each (`bench/pyg_ways.py`): edges, edges trimmed, matrices.
PyG's loader runs on the backend that is installed, which the report names; without one it cannot
run, and only ours is measured. Before that the ways are compared: with all neighbours they must
have the same logits, with the fan-outs both loaders as many edges to two per cent and chance.
"""

import gc
import importlib.util
from functools import partial
from importlib import metadata
from statistics import median

import numpy as np

from bench.command import Common, UsageError, numbers
from bench.growth import kronecker
from bench.markdown import milliseconds, ratio, table
from bench.peers.protocol import ContestantError
from bench.pyg_ways import ways
from bench.timing import elapsed, in_turns, summary

COMMON = Common(rounds=7)
QUICK = {"scale": 9, "roots": 90, "batch": 20, "features": 8, "hidden": 8, "workers": [0, 2]}
CLASSES = 40
NO_BACKEND = "PyG's NeighborLoader is not measured: it needs pyg-lib or torch-sparse."
CLOSE = 0.02  # share by which numbers of drawn edges may differ, and standard deviations beside
CHANCE = 6


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--scale", type=int, default=18, help="2^scale nodes (default: 18)")
    parser.add_argument("--degree", type=int, default=16, help="mean, about (default: 16)")
    parser.add_argument("--roots", type=int, default=20_000, help="of an epoch (default: 20000)")
    parser.add_argument("--batch", type=int, default=1000, help="roots a batch (default: 1000)")
    parser.add_argument("--fanouts", type=numbers(int), default=[15, 10, 5], help="roots first")
    parser.add_argument("--features", type=int, default=128, help="columns (default: 128)")
    parser.add_argument("--hidden", type=int, default=128, help="of GraphSAGE (default: 128)")
    parser.add_argument("--workers", type=numbers(int), default=[0, 2, 4], help="each is measured")


def report(options):
    """Compare the ways, measure in turns, yield the table."""
    if importlib.util.find_spec("torch_geometric") is None:
        raise UsageError("needs PyTorch and PyG: pip install 'minibatch-gnn[pyg]'")
    for name in ("scale", "degree", "roots", "batch", "features", "hidden"):
        if getattr(options, name) < 1:
            raise UsageError(f"--{name} must be at least 1, got {getattr(options, name)}")
    data, roots = made(options)
    found = ways()
    backend = backend_of_pyg()
    options.peer = f"{versions('torch', 'torch_geometric')}; its backend: {backend or 'none'}"
    yield f"{data}; {options.roots} roots an epoch, {options.batch} a batch; fan-outs " + ", ".join(
        map(str, options.fanouts)
    )
    yield ""
    yield from compare(options, data, roots, found)
    if backend is None:
        yield NO_BACKEND
    yield ""
    seconds = in_turns(
        tasks_of(options, data, roots, found), options.rounds, warm_up=0 if options.quick else 1
    )
    gc.collect()  # of loaders, whose processes end: else their time is taken for other programs'
    titles = ["an epoch", "loader", "the model is given"]
    rows = {}
    for name, of_rounds in seconds.items():
        rows.setdefault(name[:-1], []).append(milliseconds(summary(of_rounds)))
    yield from table(
        [*titles, *(f"{n} workers, ms" for n in options.workers)],
        ([*row, *times] for row, times in rows.items()),
        left=len(titles),
    )
    if backend is not None:
        yield ""
        yield "PyG's best over our best: " + ", ".join(f"{best(seconds, t)} {t}" for t in TASKS)


def backend_of_pyg():
    """Return what PyG's NeighborLoader samples with, and its version; None if there is nothing."""
    from torch_geometric import typing

    for there, name in (
        (typing.WITH_PYG_LIB, "pyg-lib"),
        (typing.WITH_TORCH_SPARSE, "torch-sparse"),
    ):
        if there:
            return versions(name)
    return None


def versions(*names):
    """Return packages with their versions."""
    return ", ".join(f"{name} {metadata.version(name)}" for name in names)


def made(options):
    """Return a `Data` and its roots."""
    import torch
    from torch_geometric.data import Data

    graph, rng = kronecker(options.scale, options.degree), np.random.default_rng(0)
    target = np.repeat(np.arange(graph.n), graph.degrees())
    edge_index = np.stack([graph.indices, target]).astype(np.int64)
    data = Data(
        x=torch.from_numpy(rng.standard_normal((graph.n, options.features), np.float32)),
        y=torch.from_numpy(rng.integers(0, CLASSES, graph.n)),
        edge_index=torch.from_numpy(edge_index),
    )
    with_edges = np.flatnonzero(graph.degrees())
    if options.roots > len(with_edges):
        raise UsageError(f"--roots must be at most {len(with_edges)}, got {options.roots}")
    return data, torch.from_numpy(rng.choice(with_edges, options.roots, replace=False))


def compare(options, data, roots, found):
    """Yield lines that say that all ways do the same work, or raise ContestantError."""
    few, logits = roots[: min(10, options.batch)], {}
    for name, way in found.items():
        (batch,) = way.loader(data, few, [-1] * len(options.fanouts), len(few), 0, False)
        logits[name] = way.logits(model_of(options), batch)[: len(few)]
    want = logits["ours", "edge_index"]
    for (who, given), got in logits.items():
        if not got.isclose(want, rtol=1e-3, atol=1e-4).all():
            raise ContestantError(f"with all neighbours the logits of {who} by {given} differ")
    yield f"Compared: the same logits with all neighbours, {len(found)} ways."
    same = data, roots, options.fanouts, options.batch, 0, False  # of the same roots
    edges = {
        who: sum(batch.num_edges for batch in found[who, "edge_index"].loader(*same))
        for who in dict.fromkeys(who for who, _ in found)
    }
    if "PyG" in edges:
        mine, other = edges["ours"], edges["PyG"]
        if abs(mine - other) > CLOSE * mine + CHANCE * mine**0.5:
            raise ContestantError(f"an epoch of ours draws {mine} edges, one of PyG {other}")
        yield f"Edges drawn in an epoch: {mine:,} by ours, {other:,} by PyG's NeighborLoader."


def tasks_of(options, data, roots, found):
    """Return what is timed, by (task, whose loader, what the model is given, workers)."""
    loaders = {
        (*name, workers): way.loader(data, roots, options.fanouts, options.batch, workers)
        for name, way in found.items()
        for workers in options.workers
    }
    return {
        (what, who, given, workers): partial(timed, task, loader, found[who, given], options)
        for what, task in TASKS.items()
        for (who, given, workers), loader in loaders.items()
        if not (task is load and given.endswith("trimmed"))  # which are the batches of another way
    }


def timed(task, loader, way, options, number):
    """Return the seconds of an epoch."""
    gc.collect()
    return elapsed(task, loader, way.logits, options)


def load(loader, logits, options):
    """Go through an epoch."""
    for batch in loader:
        batch.x[0, 0] += 1


def train(loader, logits, options):
    """Train PyG's GraphSAGE for an epoch."""
    import torch

    model = model_of(options)
    optimizer = torch.optim.Adam(model.parameters())
    for batch in loader:
        roots = slice(batch.batch_size)
        loss = torch.nn.functional.cross_entropy(logits(model, batch)[roots], batch.y[roots])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def model_of(options):
    """Return a GraphSAGE of PyG, always of the same weights."""
    import torch
    from torch_geometric.nn import GraphSAGE

    torch.manual_seed(0)
    return GraphSAGE(options.features, options.hidden, len(options.fanouts), CLASSES)


def best(seconds, task):
    """Return how many times our best median goes into PyG's."""
    fastest = {
        who: min(median(s) for (what, w, *_), s in seconds.items() if (what, w) == (task, who))
        for who in ("PyG", "ours")
    }
    return ratio(fastest["PyG"] / fastest["ours"])


TASKS = {"loading": load, "loading and training": train}
