"""An epoch of loading and of training a model of PyG, by our NeighborLoader and by PyG's own.

Both in this process, in turns, on one `Data`: a Kronecker graph with features and classes at
random. PyG's loader runs on the backend that is installed, which the report names; without one it
cannot run, and only ours is measured. Before that the batches are compared: with all neighbours
they must have the same nodes and edges, with the fan-outs as many edges to two per cent and chance.
"""

import gc
import importlib.util
import warnings
from functools import partial
from importlib import metadata
from statistics import median

import numpy as np

import fastimpl
from bench.command import Common, UsageError, numbers
from bench.growth import kronecker
from bench.peers.protocol import ContestantError
from bench.timing import elapsed, in_turns, summary
from refimpl.lab.apps.bench.markdown import milliseconds, ratio, table

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
    parser.add_argument("--workers", type=numbers(int), default=[0, 2], help="each is measured")


def report(options):
    """Compare the batches, measure in turns, yield the tables."""
    if importlib.util.find_spec("torch_geometric") is None:
        raise UsageError("needs PyTorch and PyG: pip install 'minibatch-gnn[pyg]'")
    for name in ("scale", "degree", "roots", "batch", "features", "hidden"):
        if getattr(options, name) < 1:
            raise UsageError(f"--{name} must be at least 1, got {getattr(options, name)}")
    data, roots = made(options)
    loaders = contestants(options, data, roots)
    backend = backend_of_pyg()
    options.peer = f"{versions('torch', 'torch_geometric')}; its backend: {backend or 'none'}"
    yield f"{data}; {options.roots} roots an epoch, {options.batch} a batch; fan-outs " + ", ".join(
        map(str, options.fanouts)
    )
    yield ""
    yield compare(options, data, roots) if backend else NO_BACKEND
    yield ""
    tasks = {
        (what, name): partial(timed, task, loader, data, options)
        for what, task in TASKS.items()
        for name, loader in loaders.items()
    }
    found = in_turns(tasks, options.rounds, warm_up=0 if options.quick else 1)
    titles = ["an epoch", *(f"{who}, {n} workers, ms" for who, n in loaders)]
    rows = [
        [what, *(milliseconds(summary(found[what, name])) for name in loaders), best(found, what)]
        for what in TASKS
    ]
    yield from table([*titles, "PyG's best over our best"], rows)


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


def ours(data, roots, fanouts, batch, workers, shuffle=True):
    """Return our loader."""
    options = {"batch_size": batch, "num_workers": workers, "shuffle": shuffle, "seed": 0}
    return fastimpl.lab.pyg.NeighborLoader(data, fanouts, roots, **options)


def theirs(data, roots, fanouts, batch, workers, shuffle=True):
    """Return PyG's loader; its processes stay from epoch to epoch."""
    from torch_geometric.loader import NeighborLoader

    options = {"batch_size": batch, "num_workers": workers, "shuffle": shuffle, "is_sorted": True}
    options |= {"persistent_workers": True} if workers else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that torch-sparse will not be enough some day
        return NeighborLoader(data, fanouts, roots, **options)


def contestants(options, data, roots):
    """Return the loaders by (who, workers)."""
    kinds = {"ours": ours, "PyG": theirs} if backend_of_pyg() else {"ours": ours}
    return {
        (who, workers): make(data, roots, options.fanouts, options.batch, workers)
        for who, make in kinds.items()
        for workers in options.workers
    }


def compare(options, data, roots):
    """Return a line that says that both do the same work, or raise ContestantError."""
    few = roots[: min(10, options.batch)]
    (one,), (other,) = (
        make(data, few, [-1] * len(options.fanouts), len(few), 0) for make in (ours, theirs)
    )
    for name in ("n_id", "e_id"):
        if sorted(one[name].tolist()) != sorted(other[name].tolist()):
            raise ContestantError(f"with all neighbours {name} of PyG's batch is not ours")
    same = data, roots, options.fanouts, options.batch, 0, False  # of the same roots
    edges = [sum(batch.num_edges for batch in make(*same)) for make in (ours, theirs)]
    if abs(edges[0] - edges[1]) > CLOSE * edges[0] + CHANCE * edges[0] ** 0.5:
        raise ContestantError(f"an epoch of ours draws {edges[0]} edges, one of PyG {edges[1]}")
    return (
        f"Compared: the same nodes and edges with all neighbours; {edges[0]:,} edges drawn in an "
        f"epoch of ours, {edges[1]:,} in one of PyG's."
    )


def timed(task, loader, data, options, number):
    """Return the seconds of an epoch."""
    gc.collect()
    return elapsed(task, loader, data, options)


def load(loader, data, options):
    """Go through an epoch."""
    for batch in loader:
        batch.x[0, 0] += 1


def train(loader, data, options):
    """Train PyG's GraphSAGE for an epoch."""
    import torch
    from torch_geometric.nn import GraphSAGE

    torch.manual_seed(0)
    model = GraphSAGE(options.features, options.hidden, len(options.fanouts), CLASSES)
    optimizer = torch.optim.Adam(model.parameters())
    for batch in loader:
        roots = slice(batch.batch_size)
        logits = model(batch.x, batch.edge_index)[roots]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits, batch.y[roots]).backward()
        optimizer.step()


def best(found, what):
    """Return how many times our best median goes into PyG's."""
    medians = {name: median(seconds) for (task, name), seconds in found.items() if task == what}
    fastest = {who: min(s for (w, _), s in medians.items() if w == who) for who, _ in medians}
    return ratio(fastest["PyG"] / fastest["ours"]) if "PyG" in fastest else "-"


TASKS = {"loading": load, "loading and training": train}
