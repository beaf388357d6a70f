"""I Fig 2: validation F1 against sequential training time.

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

from itertools import accumulate

from bench.figures.accuracy_over_time import (
    best_score,
    lengths,
    on_share,
    race,
    race_curves,
    sooner,
)
from bench.figures.experiment import Verdict, ranked
from bench.figures.plotting import Lines, level
from bench.figures.result_rows import groups_of, pick, spread
from refimpl.lab.apps.preparing import limited_threads
from refimpl.lab.training.config import TrainConfig
from refimpl.lab.training.methods import (
    FastGcn,
    FullBatch,
    LayerSampling,
    MethodSettings,
)
from refimpl.lab.training.models import Gcn, ModelSettings, Sage

SAMPLERS = {"frontier": "frontier", "random walk": "random_walk", "edge": "edge"}
OURS, SAGE, OURS_GCN, GCN = "frontier", "GraphSAGE", "frontier, GCN", "full batch, GCN"
BASELINES = {"GraphSAGE's layers": (SAGE, "full batch", "FastGCN"), "GCN's layers": (GCN,)}
LEAST = 1.9  # the smallest printed speed-up to the threshold; the largest is 7.8


def measure(lab, cell):
    """Return a row for each epoch of each contestant."""
    dataset = lab.dataset()
    with limited_threads(1):
        return race(lab.gnn, dataset, contestants(lab.sizes, dataset, cell["seed"]))


def contestants(sizes, dataset, seed):
    """Return {name: TrainConfig}."""
    graph, batch = dataset.train_graph, {"batch_size": sizes["batch"]}
    subgraphs = {name: on_share(graph, kernel, sizes["share"]) for name, kernel in SAMPLERS.items()}
    methods: dict[str, tuple[ModelSettings, MethodSettings]] = {
        **{name: (Sage(), method) for name, method in subgraphs.items()},
        SAGE: (Sage(), LayerSampling(**batch)),
        "full batch": (Sage(), FullBatch()),
        "FastGCN": (Sage(), FastGcn(**batch)),
        OURS_GCN: (Gcn(), subgraphs[OURS]),
        GCN: (Gcn(), FullBatch()),
    }
    shared = {key: sizes[key] for key in ("layers", "hidden", "lr", "dropout")} | {"rng": seed}
    return {
        name: TrainConfig(model, method, **lengths(sizes, name), **shared)
        for name, (model, method) in methods.items()
    }


def table(_lab, rows):
    """Return a line for each contestant: means over the seeds, with their ranges."""
    lines = []
    for some in groups_of(rows, "name"):
        name, ends = some[0]["name"], [one[-1]["seconds"] for one in groups_of(some, "seed")]
        words = sooner(rows, name, baselines_of(name))[1]
        best = spread(best_scores(rows, name)).text(".4f")
        lines.append([name, best, spread(ends).text(".2f"), words])
    titles = ["method", "best validation F1", "seconds in all"]
    return [*titles, "times as fast as the best baseline"], lines


def baselines_of(name):
    """Return the baselines that have the layers of a contestant."""
    return BASELINES["GCN's layers" if name in (OURS_GCN, GCN) else "GraphSAGE's layers"]


def verdicts(lab, rows):
    """Compare frontier sampling with the best baseline in time.

    The claim holds where with either kind of layer the threshold is reached, in the mean of the
    seeds, as much sooner as the smallest that is printed; more weakly where with one kind sooner
    than the baseline. The accuracy of real graphs is in `real_graphs`.
    """
    found, ratios = [], []
    for name, (layers, baselines) in zip((OURS, OURS_GCN), BASELINES.items(), strict=True):
        ratio, words = sooner(rows, name, baselines)
        ratios.append(ratio or 0)
        found.append(f"{words} with {layers}")
    said = f"on {lab.data} graph sampling is faster than the best baseline by these factors: "
    said += "; ".join(found)
    outcome = ranked(min(ratios) >= LEAST, max(ratios) > 1)
    return [Verdict("I-threshold-7.8x", said, outcome)]


def plot(_lab, rows):
    """Return the curves of the first seed, and the best scores so far."""
    first = pick(rows, seed=rows[0]["seed"])
    curves = race_curves(first)
    best = {name: level(one.x, list(accumulate(one.y, max))) for name, one in curves.items()}
    labels = "sequential training time, s", "validation F1-micro"
    top = max(row["val_f1"] for row in first)
    near = {"ylim": (top - 0.05, top + 0.003), "xscale": "log"}
    return [
        Lines(f"seed {first[0]['seed']}", *labels, curves, {"xscale": "log"}),
        Lines("the best so far", *labels, best, near),
    ]


def best_scores(rows, name):
    """Return the best score of a contestant with each seed."""
    return [best_score(some, name) for some in groups_of(rows, "seed")]
