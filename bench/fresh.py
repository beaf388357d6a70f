"""A training step of FreshGNN beside one of neighbour sampling, and the parts of both.

The graph is a Kronecker graph, features and classes are random. Embeddings alone are cached, with
room for all. Contestants take turns, on the same minibatches: neighbour sampling; FreshGNN with its
default age of embeddings, and with an age of an epoch, at which about half of the live rows are
read from the cache; each with lazy draws, and with all draws, which are pruned. Speed-ups are of
rounds; parts are in milliseconds a step, of all rounds together.
"""

import statistics
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

import fastimpl
from bench.command import Common, numbers
from bench.figures.training import ALL_CACHED, settings
from bench.growth import kronecker
from bench.markdown import median_and_range, table
from bench.timing import elapsed, in_turns
from refimpl import Dataset

COMMON = Common(threads=True, rounds=9)
QUICK = {"scale": 7, "features": 8, "classes": 3, "hidden": 4, "batch": 5, "fanouts": [3, 2]}
PARTS = "sampling", "cache", "aggregation", "weights", "other"
NEIGHBOR = "neighbour sampling"


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--scale", type=int, default=18, help="2 to the .. nodes (21: 4 GiB)")
    parser.add_argument("--degree", type=int, default=16, help="mean, about")
    parser.add_argument("--features", type=int, default=128, help="columns, of float32")
    parser.add_argument("--classes", type=int, default=32)
    parser.add_argument("--model", default="sage", choices=("sage", "gcn", "gat"))
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--epoch", type=int, default=24, help="minibatches of an epoch")
    parser.add_argument("--fanouts", type=numbers(int), default=[15, 10, 5])
    parser.add_argument("--steps", type=int, default=4, help="of a round")


def dataset_of(options):
    """Return a data set whose epoch has the minibatches that are asked for, or one less."""
    graph, rng = kronecker(options.scale, options.degree), np.random.default_rng(0)
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
    """Measure in turns; yield a table for each number of threads."""
    data = dataset_of(options)
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
