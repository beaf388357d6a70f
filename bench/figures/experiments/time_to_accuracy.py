"""I Fig 2: validation F1 against sequential training time."""

from itertools import accumulate

from bench.figures.experiment import ABOUT, ranked, verdict
from bench.figures.plotting import Lines, level
from bench.figures.result_rows import groups_of, pick, spread
from bench.figures.training import best_score, lengths, on_share, race, race_curves, sooner
from refimpl.lab.apps.preparing import limited_threads
from refimpl.lab.training.config import TrainConfig
from refimpl.lab.training.methods import FastGcn, FullBatch, LayerSampling, MethodSettings
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
        name = some[0]["name"]
        layers = "GCN's layers" if name in (OURS_GCN, GCN) else "GraphSAGE's layers"
        ends = spread(one[-1]["seconds"] for one in groups_of(some, "seed"))
        best = spread(best_score(one, name) for one in groups_of(some, "seed"))
        words = sooner(rows, name, BASELINES[layers]).cell()
        lines.append([name, f"{best:.4f}", f"{ends:.2f}", words])
    return ABOUT["I-fig2"]["titles"], lines


def verdicts(lab, rows):
    """Compare frontier sampling with the best baseline in time; `real_graphs` has its accuracy."""
    each, ratios = [], []
    for name, (layers, baselines) in zip((OURS, OURS_GCN), BASELINES.items(), strict=True):
        found = sooner(rows, name, baselines)
        ratios.append(found.mean or 0)
        each.append(f"With {layers} {found.sentence('graph sampling', 'this baseline')}")
    faster = ranked(min(ratios) >= LEAST, max(ratios) > 1)
    return [verdict("I-threshold-7.8x", faster, data=lab.data, each=". ".join(each))]


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
