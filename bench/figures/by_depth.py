"""Networks of some depths, with sampled graphs and with sampled layers: times, scores, ratios."""

import statistics

from bench.figures import races
from bench.figures.made import data_like
from bench.figures.rows import pick
from bench.figures.steps import steps_in_turns
from refimpl.lab.training.config import TrainConfig
from refimpl.lab.training.methods import LayerSampling, SampledGraph
from refimpl.lab.training.methods.graph import MOST_NODES, scaled_sampler
from refimpl.samplers.sampling import Sampler

GRAPHS, LAYERS = "graph sampling", "layer sampling"
DEEP = 3  # layers of I Table II


def times(lab, threads):
    """Return a row for each method, depth and round: seconds of an iteration and of a node."""
    sizes = lab.sizes
    data = lab.once("graph", lambda: data_like("Reddit", sizes["shrink"]))
    sampler = Sampler("frontier", m=sizes["m"], n=sizes["n"], deg_cap=30)
    methods = {
        GRAPHS: SampledGraph(sampler=sampler, pool=threads),
        LAYERS: LayerSampling(batch_size=sizes["batch"], pool=1),
    }
    subs = lab.gnn.sample_many(data.graph, sampler, 0, 0, 4)
    nodes = {GRAPHS: statistics.fmean(len(sub.nodes) for sub in subs), LAYERS: sizes["batch"]}
    most = sizes["depth"] if threads == lab.threads else min(DEEP, sizes["depth"])
    trainers, steps = {}, {}
    for layers in range(1, most + 1):
        for name, method in methods.items():
            config = TrainConfig(method=method, layers=layers, hidden=sizes["hidden"])
            trainers[name, layers] = lab.gnn.make_trainer(data, config)
            steps[name, layers] = getattr(method, "pool", 1)
    limits = dict.fromkeys(trainers, threads)
    found = steps_in_turns(trainers, sizes["rounds"], steps=steps, threads=limits)
    return [
        {
            "name": name,
            "layers": layers,
            "round": number,
            "iteration": spent["whole"],
            "node": spent["whole"] / nodes[name],
        }
        for (name, layers), rounds in found.items()
        for number, spent in enumerate(rounds)
    ]


def scores(lab, seed):
    """Return a row for each epoch of each method, depth by depth."""
    dataset, sizes, rows = lab.dataset(), lab.sizes, []
    n = max(1, min(int(sizes["share"] * dataset.train_graph.n), MOST_NODES))
    methods = {
        GRAPHS: SampledGraph(sampler=scaled_sampler(dataset.train_graph, "frontier", n=n)),
        LAYERS: LayerSampling(batch_size=sizes["batch"]),
    }
    shared = {key: sizes[key] for key in ("lr", "dropout", "hidden")}
    for layers in sizes["trained"]:
        configs = {
            name: TrainConfig(
                method=method,
                layers=layers,
                rng=seed,
                **races.lengths(sizes["epochs"][name], sizes["scored"]),
                **shared,
            )
            for name, method in methods.items()
        }
        rows += [{"layers": layers, **row} for row in races.race(lab.gnn, dataset, configs)]
    return rows


def over_one_layer(rows, threads, name, layers):
    """Return how many times as long as with one layer: median, least and largest of rounds."""
    a, b = (pick(rows, threads=threads, name=name, layers=x) for x in (layers, 1))
    return _ratios(a, b, "iteration")


def epoch_ratio(rows, threads, layers):
    """Return layer sampling's seconds a node over those of graph sampling, in the same way."""
    a, b = (pick(rows, threads=threads, name=x, layers=layers) for x in (LAYERS, GRAPHS))
    return _ratios(a, b, "node")


def _ratios(rows, others, column):
    found = [a[column] / b[column] for a, b in zip(rows, others, strict=True)]
    return statistics.median(found), min(found), max(found)


def sooner(rows, layers):
    """Return how many times sooner graph sampling has the score; see `races.sooner`."""
    return races.sooner(pick(rows, part="score", layers=layers), GRAPHS, (LAYERS,))
