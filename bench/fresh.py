"""A training step of FreshGNN beside one of neighbour sampling, and the parts of both.

The graph is a Kronecker graph, features and classes are random. Embeddings alone are cached, with
room for all. Contestants take turns, on the same minibatches: neighbour sampling; FreshGNN with its
default age of embeddings, and with an age of an epoch, at which about half of the live rows are
read from the cache; each with lazy draws, and with all draws, which are pruned. Speed-ups are of
rounds; parts are in milliseconds a step, of all rounds together.

With `--grid` there are 12 settings instead: 2 and 3 layers, 64 and 256 hidden, batches of 100 and
1000, each of them with three ages of embeddings, so that almost none to most rows are hits.
"""

import statistics
from dataclasses import replace
from functools import partial
from itertools import groupby

import numpy as np
from threadpoolctl import threadpool_limits

import fastimpl
from bench.command import Common, UsageError, numbers
from bench.figures.training import ALL_CACHED, settings
from bench.growth import kronecker
from bench.markdown import median_and_range, table
from bench.timing import elapsed, in_turns
from refimpl import Dataset, TypedGraph

COMMON = Common(threads=True, rounds=9)
QUICK = {"scale": 7, "features": 8, "classes": 3, "hidden": 4, "batch": 5, "fanouts": [3, 2]}
PARTS = "sampling", "cache", "aggregation", "weights", "other"
NEIGHBOR = "neighbour sampling"
# layers, hidden, batch, and how many times an epoch is as long as the highest age (0: age 1)
SHAPES = (2, 64, 100), (2, 256, 1000), (3, 64, 1000), (3, 256, 100)
GRID = tuple((*shape, part) for shape in SHAPES for part in (0, 6, 1))


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--scale", type=int, default=18, help="2 to the .. nodes (21: 4 GiB)")
    parser.add_argument("--degree", type=int, default=16, help="mean, about")
    parser.add_argument("--features", type=int, default=128, help="columns, of float32")
    parser.add_argument("--classes", type=int, default=32)
    parser.add_argument("--model", default="sage", choices=("sage", "gcn", "gat", "rgcn"))
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--epoch", type=int, default=24, help="minibatches of an epoch")
    parser.add_argument("--fanouts", type=numbers(int), default=[15, 10, 5])
    parser.add_argument("--steps", type=int, default=4, help="of a round")
    which = f"these of the {len(GRID)} settings instead, from 0; default: all"
    parser.add_argument("--grid", type=numbers(int), nargs="?", const=range(len(GRID)), help=which)


def dataset_of(options):
    """Return a data set whose epoch has the minibatches that are asked for, or one less."""
    graph, rng = kronecker(options.scale, options.degree), np.random.default_rng(0)
    if options.model == "rgcn":
        graph = TypedGraph(graph, rng.integers(0, 2, graph.e), 2)
    X = rng.standard_normal((graph.n, options.features), np.float32)
    labels = rng.integers(0, options.classes, graph.n)
    train = rng.choice(graph.n, min(options.epoch * options.batch, graph.n), replace=False)
    none = np.arange(0)
    data = Dataset("kronecker", graph, X, labels, train, none, none)
    return data.with_setting("transductive")


def configs_of(options, epoch):
    """Return the configuration of each contestant, by the number of minibatches in an epoch."""
    shared = {"model": options.model, "hidden": options.hidden, "layers": len(options.fanouts)}
    shared |= {"batch_size": options.batch, "fanouts": tuple(options.fanouts)}
    configs = {NEIGHBOR: settings("neighbor", **shared)}
    for age, t_stale in {"default age": None, f"age {epoch}": epoch}.items():
        for draws, draw_all in {"lazy": False, "all": True}.items():
            own = {**ALL_CACHED, "t_stale": t_stale, "draw_all": draw_all}
            configs[f"FreshGNN, {age}, {draws} draws"] = settings("fresh", **shared, **own)
    return configs


def report(options):
    """Measure in turns; yield a table for each number of threads, or that of the grid."""
    data = dataset_of(options)
    if options.grid is not None:
        yield from grid(data, options)
        return
    epoch = -(-len(data.roots) // options.batch)
    yield (
        f"{data.graph}, model {options.model}, {options.features} features, {options.hidden} "
        f"hidden, fan-outs {options.fanouts}, {epoch} batches of {options.batch} an epoch; "
        f"median (range) of {options.rounds} rounds of {options.steps} steps, after two epochs."
    )
    for threads in options.threads:
        yield ""
        yield f"{threads} threads:"
        yield ""
        with threadpool_limits(threads):
            yield from table(
                ["", "hits", "ms a step", "speed-up", *PARTS], rows_of(data, epoch, options)
            )


def grid(data, options):
    """Yield a table with a row for each setting: its hits, its speed-ups by number of threads."""
    if not all(0 <= number < len(GRID) for number in options.grid):
        raise UsageError(f"--grid must have numbers below {len(GRID)}")
    if len(options.fanouts) < 3:
        raise UsageError("--fanouts must have 3 numbers with --grid")
    yield (
        f"{data.graph}, model {options.model}, {options.features} features, fan-outs "
        f"{options.fanouts} (2 layers: the first two), {options.epoch} batches an epoch, lazy "
        f"draws; median (range) of {options.rounds} rounds of {options.steps} steps, after two "
        "epochs."
    )
    yield ""
    heads = [f"speed-up, {threads} threads" for threads in options.threads]
    settings_by_shape = groupby((GRID[number] for number in options.grid), lambda row: row[:3])
    rows = [
        row
        for shape, asked in settings_by_shape
        for row in rows_of_shape(data, shape, [part for *_, part in asked], options)
    ]
    yield from table(["layers", "hidden", "batch", "highest age", "hits", *heads], rows)


def rows_of_shape(data, shape, parts, options):
    """Measure settings that differ in the highest age alone; return their rows of the table."""
    layers, hidden, batch = shape
    roots = data.roots[: options.epoch * batch]
    smaller = replace(data, train=roots) if len(roots) < len(data.roots) else data
    shared = {"model": options.model, "hidden": hidden, "layers": layers}
    shared |= {"batch_size": batch, "fanouts": tuple(options.fanouts[:layers])}
    ages = [max(options.epoch // part, 1) if part else 1 for part in parts]
    configs = {NEIGHBOR: settings("neighbor", **shared)}
    configs |= {age: settings("fresh", **shared, **ALL_CACHED, t_stale=age) for age in ages}
    trainers = {name: fastimpl.make_trainer(smaller, config) for name, config in configs.items()}
    speed_ups = {age: [] for age in ages}
    try:
        for trainer in trainers.values():
            round_of(trainer, 2 * options.epoch, 0)
        tasks = {name: partial(round_of, one, options.steps) for name, one in trainers.items()}
        for threads in options.threads:
            with threadpool_limits(threads):
                seconds = in_turns(tasks, options.rounds)
            for age in ages:
                pairs = zip(seconds[NEIGHBOR], seconds[age], strict=True)
                speed_ups[age].append(median_and_range([a / b for a, b in pairs], 2))
        hits = {age: hits_of(trainers[age], options.epoch) for age in ages}
    finally:
        for trainer in trainers.values():
            trainer.close()
    return [[layers, hidden, batch, age, hits[age], *speed_ups[age]] for age in ages]


def hits_of(trainer, steps):
    """Return the share of looked-up rows that are read from the cache, in some steps."""
    counts = [trainer.step().counts for _ in range(steps)]
    return f"{sum(c.hits for c in counts) / sum(c.lookups for c in counts):.0%}"


def rows_of(data, epoch, options):
    """Train with all contestants; return the rows of the table."""
    configs = configs_of(options, epoch)
    trainers = {name: fastimpl.make_trainer(data, config) for name, config in configs.items()}
    try:
        for trainer in trainers.values():
            round_of(trainer, 2 * epoch, 0)
            trainer.meter.seconds.update(dict.fromkeys(PARTS, 0.0))
        tasks = {name: partial(round_of, one, options.steps) for name, one in trainers.items()}
        seconds = in_turns(tasks, options.rounds)
        return [row(name, trainers[name], seconds, options) for name in trainers]
    finally:
        for trainer in trainers.values():
            trainer.close()


def round_of(trainer, steps, number):
    """Return the mean seconds of some steps."""
    return elapsed(lambda: [trainer.step() for _ in range(steps)]) / steps


def row(name, trainer, seconds, options):
    """Return the cells of a contestant."""
    steps, counts = options.rounds * options.steps, trainer.step().counts
    pairs = zip(seconds[NEIGHBOR], seconds[name], strict=True)
    parts = [f"{1000 * trainer.meter.seconds[part] / steps:.1f}" for part in PARTS]
    hits = f"{counts.embedding_hit_rate:.0%}" if counts.lookups else "-"
    milliseconds = f"{1000 * statistics.median(seconds[name]):.1f}"
    return [name, hits, milliseconds, median_and_range([a / b for a, b in pairs], 2), *parts]
