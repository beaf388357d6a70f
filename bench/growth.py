"""A training step on a graph beside one on a graph many times as large.

The larger graph is a lift of the smaller one: node v becomes nodes (c, v) for c below `--copies`,
and each edge (u, v) becomes edges between (c, u) and (c + s, v), the sum taken modulo the copies,
with a number s of the edge's own. So every node keeps its degree and the degrees of its neighbours,
and what grows is the size alone. Both data sets are saved to a folder and mapped; the steps are
taken in turns. Ratios are of rounds, each of several steps.
"""

import statistics
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

import fastimpl
from bench.command import Common, numbers
from bench.figures.training import settings
from bench.kronecker import DRAWN, Scramble, ends
from bench.markdown import median_and_range, table
from bench.timing import elapsed, in_turns
from refimpl import Dataset, Graph, load_dataset
from refimpl.graph import from_edges

COMMON = Common(rounds=9)
QUICK = {"scale": 7, "copies": 4, "features": 8, "classes": 3, "hidden": 4, "steps": 1, "batch": 5}
METHODS = {
    "graph": "sampled subgraphs",
    "neighbor": "neighbour sampling",
    "fresh": "FreshGNN",
}
BATCHES = 10  # an epoch, of the same size on either graph


def kronecker(scale, degree, seed=0):
    """Return a Kronecker graph of 2**scale nodes whose ids say nothing."""
    drawn = ends(int(2**scale * degree / 2 * DRAWN), scale, np.random.default_rng(seed))
    u, v = map(Scramble(scale, seed).forth, drawn)
    return from_edges(u, v, 2**scale, symmetrize=True, self_loops=False)


def lifted(graph, copies, seed=0):
    """Return a graph of `copies` times as many nodes, as the module says.

    O(copies e log d) time, and the memory of one copy beside the result.
    """
    n, rows = graph.n, np.repeat(np.arange(graph.n), graph.degrees())
    low, high = np.sort(np.stack([rows, graph.indices]), axis=0).astype(np.uint64)
    s = fastimpl.streams.mix(low * np.uint64(n) + high + np.uint64(seed)) % np.uint64(copies)
    shift = np.where(rows < graph.indices, s.astype(np.int64), -s.astype(np.int64))
    indices = np.empty(copies * graph.e, np.int32)
    for c in range(copies):
        ids = (c + shift) % copies * n + graph.indices
        order = np.argsort(rows * (copies * n) + ids, kind="stable")
        indices[c * graph.e : (c + 1) * graph.e] = ids[order]
    starts = graph.start + graph.e * np.arange(copies)[:, None]
    indptr = np.append(starts.reshape(-1), copies * graph.e)
    return Graph._trusted(indptr, indices, True, self_loops=False, max_degree=graph.max_degree)


def write_data(folder, graph, options):
    """Save a data set on a graph, with features and classes at random; return it mapped."""
    rng = np.random.default_rng(0)
    features = np.empty((graph.n, options.features), np.float16)
    for first in range(0, graph.n, 2**16):
        block = features[first : first + 2**16]
        block[:] = rng.standard_normal(block.shape, np.float32)
    train = rng.choice(graph.n, min(BATCHES * options.batch, graph.n), replace=False)
    none = np.arange(0)
    labels = rng.integers(0, options.classes, graph.n, np.int16)
    Dataset(folder.name, graph, features, labels, train, none, none).save(folder)
    return load_dataset(folder)


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--scale", type=int, default=18, help="2 to the .. nodes of the smaller")
    parser.add_argument("--degree", type=int, default=16, help="mean, about")
    parser.add_argument("--copies", type=int, default=64)
    parser.add_argument("--features", type=int, default=128, help="columns, of float16")
    parser.add_argument("--classes", type=int, default=172)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch", type=int, default=250)
    parser.add_argument("--fanouts", type=numbers(int), default=[15, 10])
    parser.add_argument("--steps", type=int, default=8, help="of a round")


def report(options):
    """Measure in turns; yield the table."""
    of_batches = {"batch_size": options.batch, "fanouts": tuple(options.fanouts)}
    shared = {"hidden": options.hidden, "layers": len(options.fanouts)}
    with tempfile.TemporaryDirectory() as name:
        small = kronecker(options.scale, options.degree)
        data = {
            "small": write_data(Path(name, "small"), small, options),
            "large": write_data(Path(name, "large"), lifted(small, options.copies), options),
        }
        yield (
            f"{data['small'].graph} and {data['large'].graph}; {options.features} features of "
            f"float16, {options.hidden} hidden, {options.classes} classes, mapped from files; "
            f"median (range) of {options.rounds} rounds of {options.steps} steps."
        )
        yield ""
        rows = []
        for method, title in METHODS.items():
            config = settings(method, **shared, **({} if method == "graph" else of_batches))
            found = measured(data, config, options)
            ratios = [b / a for a, b in zip(found["small"], found["large"], strict=True)]
            times = [f"{1000 * statistics.median(found[size]):.1f}" for size in data]
            rows.append([title, *times, median_and_range(ratios, 2)])
        yield from table(["method", "ms a step, smaller", "larger", "larger over smaller"], rows)


def measured(data, config, options):
    """Return the seconds of a step in each round, for each data set."""
    trainers = {size: fastimpl.make_trainer(one, config) for size, one in data.items()}
    try:
        tasks = {size: partial(round_of, trainers[size], options.steps) for size in data}
        return in_turns(tasks, options.rounds, warm_up=1)
    finally:
        for trainer in trainers.values():
            trainer.close()


def round_of(trainer, steps, number):
    """Return the mean seconds of some steps."""
    return elapsed(lambda: [trainer.step() for _ in range(steps)]) / steps
