"""I and J Fig 2: validation F1 against sequential training time.

One thread, two layers; all contestants of a seed take turns, so that their seconds compare. The
papers' are graph sampling (frontier; J has random walks and edges too), GraphSAGE's layer
sampling with fan-outs 25 and 10 in batches of 512, and GCN, here on the full graph. FastGCN is
here besides. Seconds are of training alone, sampling and what comes before the first epoch
included, evaluation left out. The papers run TensorFlow on four real graphs.

What a layer computes decides scores as well as how it is sampled. So all have GraphSAGE's layers,
the full batch too, and GCN is here twice more: on the full graph and on sampled subgraphs. The
threshold, 0.0025 below the best baseline, is one for either kind of layer.

All have the same width, learning rate and dropout, which were chosen once for all, by few trials:
without dropout all of them overfit, graph sampling most. A subgraph is half the training graph, at
most the papers' 8000 nodes. How many epochs each method has was chosen so that its score levels
off; all are scored equally often, as the best of more scores is higher by luck alone.
"""

import statistics
from itertools import accumulate

from bench.figures.accuracy_over_time import SLACK, best_score, lengths, race, sooner
from bench.figures.experiment import Verdict, ranked
from bench.figures.plotting import Curve, Lines
from bench.figures.result_rows import pick, spread, values_of
from refimpl.lab.apps.preparing import limited_threads
from refimpl.lab.training.config import TrainConfig
from refimpl.lab.training.methods import (
    FastGcn,
    FullBatch,
    LayerSampling,
    MethodSettings,
    SampledGraph,
)
from refimpl.lab.training.methods.graph import MOST_NODES, scaled_sampler
from refimpl.lab.training.models import Gcn, ModelSettings, Sage

SAMPLERS = {"frontier": "frontier", "random walk": "random_walk", "edge": "edge"}
OURS, SAGE, OURS_GCN, GCN = "frontier", "GraphSAGE", "frontier, GCN", "full batch, GCN"
BASELINES = {"GraphSAGE's layers": (SAGE, "full batch", "FastGCN"), "GCN's layers": (GCN,)}
LEAST = 1.9  # the smallest printed speed-up to the threshold; the largest is 7.8


def cells(lab):
    """Return a run for each seed."""
    return [{"seed": seed} for seed in range(lab.seeds)]


def measure(lab, cell):
    """Return a row for each epoch of each contestant."""
    dataset = lab.dataset()
    with limited_threads(1):
        return race(lab.gnn, dataset, contestants(lab.sizes, dataset, cell["seed"]))


def contestants(sizes, dataset, seed):
    """Return {name: TrainConfig}."""
    graph = dataset.train_graph
    n = max(1, min(int(sizes["share"] * graph.n), MOST_NODES))
    methods: dict[str, tuple[ModelSettings, MethodSettings]] = {
        name: (Sage(), SampledGraph(sampler=scaled_sampler(graph, kernel, n=n)))
        for name, kernel in SAMPLERS.items()
    }
    methods |= {
        SAGE: (Sage(), LayerSampling(batch_size=sizes["batch"])),
        "full batch": (Sage(), FullBatch()),
        "FastGCN": (Sage(), FastGcn(batch_size=sizes["batch"])),
        OURS_GCN: (Gcn(), methods[OURS][1]),
        GCN: (Gcn(), FullBatch()),
    }
    shared = {key: sizes[key] for key in ("layers", "hidden", "lr", "dropout")}
    return {
        name: TrainConfig(
            model,
            method,
            rng=seed,
            **lengths(sizes["epochs"][name], sizes["scored"]),
            **shared,
        )
        for name, (model, method) in methods.items()
    }


def table(_lab, rows):
    """Return a line for each contestant: means over the seeds, with their ranges."""
    lines = []
    for name in values_of(rows, "name"):
        best = [best_score(some, name) for some in _by_seed(rows)]
        ends = [pick(some, name=name)[-1]["seconds"] for some in _by_seed(rows)]
        words = sooner(rows, name, baselines_of(name))[1]
        lines.append([name, spread(best).text(".4f"), spread(ends).text(".2f"), words])
    titles = ["method", "best validation F1", "seconds in all"]
    return [*titles, "times as fast as the best baseline"], lines


def baselines_of(name):
    """Return the baselines that have the layers of a contestant."""
    return BASELINES["GCN's layers" if name in (OURS_GCN, GCN) else "GraphSAGE's layers"]


def verdicts(lab, rows):
    """Compare frontier sampling with GraphSAGE in score, and with the best baseline in time.

    I's score holds where the mean over seeds is not lower, more weakly where it is less than 0.0025
    lower; J's where it is higher with every seed, more weakly where in the mean. The time holds
    where with either kind of layer the threshold is reached, in the mean of the seeds, as much
    sooner as the smallest that is printed; more weakly where with one kind sooner than the
    baseline.
    """
    score = {name: [best_score(some, name) for some in _by_seed(rows)] for name in (OURS, SAGE)}
    gains = [a - b for a, b in zip(score[OURS], score[SAGE], strict=True)]
    gain = statistics.fmean(gains)
    said = (
        f"on {lab.data}: {spread(score[OURS]).text('.4f')} against GraphSAGE's "
        f"{spread(score[SAGE]).text('.4f')}, {gain:+.4f}"
    )
    return [
        Verdict("I-accuracy", said, ranked(gain >= 0, gain > -SLACK)),
        Verdict("J-accuracy-all", said, ranked(min(gains) > 0, gain > 0)),
        _time_verdict(lab, rows),
    ]


def _time_verdict(lab, rows):
    found, ratios = [], []
    for name, (layers, baselines) in zip((OURS, OURS_GCN), BASELINES.items(), strict=True):
        ratio, words = sooner(rows, name, baselines)
        ratios.append(ratio or 0)
        found.append(f"with {layers} {words}")
    return Verdict(
        "I-threshold-7.8x",
        f"on {lab.data}, times sooner: {'; '.join(found)}",
        ranked(min(ratios) >= LEAST, max(ratios) > 1),
    )


def plot(_lab, rows):
    """Return the curves of the first seed, and the best scores so far."""
    first, curves, best = pick(rows, seed=rows[0]["seed"]), {}, {}
    for name in values_of(first, "name"):
        some = pick(first, name=name)
        seconds, scores = [row["seconds"] for row in some], [row["val_f1"] for row in some]
        curves[name] = Curve(seconds, scores)
        best[name] = Curve(seconds, list(accumulate(scores, max)), marked=False)
    labels = "sequential training time, s", "validation F1-micro"
    top = max(row["val_f1"] for row in first)
    near = {"ylim": (top - 0.05, top + 0.003), "xscale": "log"}
    return [
        Lines(f"seed {first[0]['seed']}", *labels, curves, {"xscale": "log"}),
        Lines("the best so far", *labels, best, near),
    ]


def _by_seed(rows):
    return [pick(rows, seed=seed) for seed in values_of(rows, "seed")]
