"""J Fig 5: the time of an iteration against the nodes of a graph, and against its mean degree."""

import statistics

import numpy as np

from bench.figures.experiment import ABOUT, FAILS, ranked, verdict
from bench.figures.experiments.scaling import training
from bench.figures.interleaved_timing import rows_of_rounds, steps_in_turns
from bench.figures.plotting import Curve, Lines
from bench.figures.result_rows import (
    bands,
    groups_of,
    median_of,
    medians,
    pick,
    quartiles_of,
    ratios,
    tabled,
    values_of,
)
from bench.figures.synthetic_data import data_on
from refimpl.lab.data.generators import kronecker

FEATURES, CLASSES = 50, 2
COUNTED = 4  # subgraphs, for the means of their sizes
STEADY, NEAR = 1.1, 1.25  # the largest over the smallest of times that are called the same
CLOSE, FAIR = 0.15, 0.3  # how far times may be from a line
RISE = 1.25  # times from the least degree to the largest, to be called growth
CURVES = ABOUT["J-fig5"]["names"]


def measure(lab, cell):
    """Return a row for each graph and round: milliseconds of an iteration."""
    sizes = lab.sizes
    shapes = {
        "nodes": [(scale, sizes["degree"]) for scale in sizes["scales"]],
        "degree": [(sizes["scale"], degree) for degree in sizes["degrees"]],
    }
    config = training(sizes, sizes["hidden"], pool=1)
    trainers, about = {}, {}
    for shape in shapes[cell["varied"]]:
        graph = kronecker(*shape)
        dataset = data_on(graph, np.arange(graph.n), FEATURES, CLASSES)
        trainers[shape] = lab.gnn.make_trainer(dataset, config)
        drawn = lab.gnn.sample_many(graph, config.method.sampler, config.rng, 0, COUNTED)
        about[shape] = {
            "nodes": graph.n,
            "degree": shape[1],
            "sub_nodes": statistics.fmean(len(sub.nodes) for sub in drawn),
            "sub_entries": statistics.fmean(sub.graph.e for sub in drawn),
        }
    found = steps_in_turns(trainers, sizes["rounds"])
    return [
        {
            **about[row["scale"], row["degree"]],
            "round": row["round"],
            "iteration": 1000 * (row["whole"] - row["sampling"]),
            "aggregation": 1000 * row["aggregation"],
            "with_sampling": 1000 * row["whole"],
        }
        for row in rows_of_rounds(found, "scale", "degree")
    ]


def table(_lab, rows):
    """Return a line for each graph."""
    columns = {
        "nodes": "{nodes:,}",
        "mean degree": "degree",
        "subgraph's nodes": "{sub_nodes:,.0f}",
        "its entries": "{sub_entries:,.0f}",
        "propagation, ms": medians("aggregation", ".1f"),
        "iteration, ms": medians("iteration", ".1f"),
        "with sampling, ms": medians("with_sampling", ".1f"),
    }
    return tabled(groups_of(rows, "varied", "nodes", "degree"), columns)


def verdicts(_lab, rows):
    """Judge whether times level off with nodes, and lie on a line with degree."""
    return [_constant(pick(rows, varied="nodes")), _linear(pick(rows, varied="degree"))]


def _constant(rows):
    sizes, times = _times(rows, "nodes")
    late = times[-3:]
    grown, steady = times[-1] / times[0], max(late) / min(late)
    found = {"first": sizes[0], "last": sizes[-1], "low": times[0], "high": times[-1]}
    found |= {"grown": grown, "late": len(late), "off": steady - 1}
    return verdict("J-constant-in-nodes", ranked(steady <= STEADY, steady <= NEAR), **found)


def _linear(rows):
    degrees, times = _times(rows, "degree")
    a, b, off = line_through(degrees, times)
    grown = (a + b * degrees[-1]) / (a + b * degrees[0])
    outcome = FAILS if b <= 0 or off > FAIR else ranked(off <= CLOSE and grown >= RISE, True)
    found = {"first": degrees[0], "last": degrees[-1], "low": times[0], "high": times[-1]}
    return verdict("J-linear-in-degree", outcome, **found, off=off, a=a, b=b)


def line_through(x, y):
    """Return (a, b) of the line a + b x with the least squares of relative errors, and the most."""
    x, y = np.array(x, float), np.array(y, float)
    (a, b), *_ = np.linalg.lstsq(np.stack([1 / y, x / y], axis=1), np.ones(len(y)), rcond=None)
    return float(a), float(b), float(np.max(np.abs(a + b * x - y) / y))


def _times(rows, x):
    """Return the values of x, and the times: the first one's, times ratios taken in each round."""
    values = sorted(values_of(rows, x))
    first, *others = (pick(rows, **{x: value}) for value in values)
    grown = [ratios(other, first, "iteration").mean for other in others]
    return values, [median_of(first, "iteration") * ratio for ratio in (1, *grown)]


def plot(_lab, rows):
    """Return both plots of the paper: medians, and the middle halves of the rounds."""
    shown = []
    for varied, label in (("nodes", "nodes"), ("degree", "mean degree")):
        chosen = pick(rows, varied=varied)
        xs, curves = sorted(values_of(chosen, varied)), {}
        for name, column in CURVES.items():
            middles = [quartiles_of(chosen, column, **{varied: x}) for x in xs]
            curves[name] = Curve(xs, *bands(middles))
        log = {"xscale": "log"} if varied == "nodes" else {}
        fixed = f"mean degree {chosen[0]['degree']}" if log else f"{chosen[0]['nodes']:,} nodes"
        axes, ticks = {"ylim": (0, None), **log}, None if log else xs
        shown.append(Lines(fixed, label, "ms an iteration", curves, axes, ticks))
    return shown
