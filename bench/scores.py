"""Scores of neighbour sampling and of its rivals: test score, rows of features, time to a score.

Neighbour sampling, LABOR-0 and LABOR-1, dependent minibatches, FreshGNN and GNNAutoScale with and
without REST, SGC and SIGN. Of these, only neighbour sampling and FreshGNN are in the three papers.
In a round, every method trains with the same seed, one after the other; a round is a seed. Methods
differ in steps an epoch and in what a step costs: compare scores and rows of a whole run.
"""

import statistics
from dataclasses import replace

import fastimpl
from bench.command import Common, numbers
from bench.markdown import span, table
from refimpl.lab.data.communities import communities
from refimpl.lab.data.dataset import PARTS as PARTS_OF_DATA
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.training.config import config_from
from refimpl.lab.training.presets import PRESETS
from refimpl.profiling import PARTS

COMMON = Common(seeds=10)
QUICK = {"data": ["karate"], "epochs": 2, "hidden": 4, "fanouts": [3, 2], "kappa": 4}
GENERATED = "generated"
TITLES = (
    "method",
    "test F1-micro, mean",
    "range",
    "distinct nodes, thousands",
    "rows gathered, thousands",
)


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument(
        "--data",
        type=numbers(str),
        default=["communities"],
        help=f"names or folders; {GENERATED}: communities of 2 to the --scale nodes, a hundredth "
        "of them for training",
    )
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--batch", type=int, default=1000, help="roots of a minibatch")
    parser.add_argument("--fanouts", type=numbers(int), default=[10, 5])
    parser.add_argument("--kappa", type=int, default=64, help="of dependent minibatches")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--target", type=float, default=0.8, help="validation score, for the time")


def contestants(options):
    """Return the settings of each row, by its name."""
    layers = {"layers": len(options.fanouts)}
    sampled = {"fanouts": tuple(options.fanouts), **layers}
    neighbor, fresh = {"method": "neighbor", **sampled}, {"method": "fresh", **sampled}
    labor, gas = {**neighbor, "sample_mode": "labor"}, {"method": "gas", **layers}
    return {
        "neighbour sampling": neighbor,
        "LABOR-0": labor,
        "LABOR-1": {**neighbor, "sample_mode": "labor_1"},
        f"LABOR-0, kappa {options.kappa}": {**labor, "batch_dependency": options.kappa},
        "FreshGNN": fresh,
        "FreshGNN, REST (F = 1)": {**fresh, "refresh": 1},
        "GNNAutoScale": gas,
        "GNNAutoScale, REST (F = 1)": {**gas, "refresh": 1},
        "SGC": PRESETS["sgc"],
        "SIGN": PRESETS["sign"],
    }


def report(options):
    """Train every contestant with every seed; yield a table for each data set."""
    for name in options.data:
        data = data_set(name, options.scale)
        runs = {one: [] for one in contestants(options)}
        for seed in range(options.seeds):
            for one, how in contestants(options).items():
                runs[one].append(trained(data, how, seed, options))
        yield (
            f"{data.name}: {data.graph}, {len(data.train)} training nodes, batches of "
            f"{options.batch}, {options.epochs} epochs, hidden {options.hidden}, "
            f"{options.seeds} seeds."
        )
        yield ""
        titles = [*TITLES, f"seconds to validation F1 {options.target}, median"]
        yield from table(titles, [[one, *cells(found)] for one, found in runs.items()])
        yield ""


def data_set(name, scale):
    """Return a data set by its name, transductive."""
    if name != GENERATED:
        return load_dataset(name, setting="transductive")
    whole = communities(0, nodes=2**scale)
    few = {part: getattr(whole, part)[: whole.graph.n // 100] for part in PARTS_OF_DATA}
    return replace(whole, setting="transductive", **few)


def trained(data, how, seed, options):
    """Train once; return the test score, two counts of a run and the seconds to the target."""
    shared = {"hidden": options.hidden, "batch_size": options.batch, "epochs": options.epochs}
    result = fastimpl.train(data, config_from({**shared, **how, "rng": seed}), progress=False)
    counts = [sum(epoch[what] for epoch in result.state.loads) for what in ("inputs", "live")]
    return result.test_f1, *counts, time_to(options.target, result.history)


def cells(runs):
    """Return the cells of a method: of its runs with seeds 0, 1, .."""
    scores, nodes, rows, seconds = zip(*runs, strict=True)
    reached = [one for one in seconds if one is not None]
    time = f"{statistics.median(reached):.2f}" if reached else "-"
    if len(reached) < len(runs):
        time += f" ({len(reached)} of {len(runs)} seeds reach it)"
    thousands = [f"{statistics.mean(one) / 1000:,.0f}" for one in (nodes, rows)]
    return [f"{statistics.mean(scores):.3f}", span(scores, 3), *thousands, time]


def time_to(target, history):
    """Return the seconds of training until a validation score; None if it is never reached."""
    for one in history:
        if one.val_f1 is not None and one.val_f1 >= target:
            return sum(getattr(one, part) for part in PARTS if part != "evaluation")
    return None
