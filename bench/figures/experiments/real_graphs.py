"""I and J section on accuracy: graph sampling and layer sampling on real graphs, F1 alone.

GraphSAGE is trained by frontier sampling, without and with the weights of JPDC'21 section 4.4, and
by layer sampling, with the same width, learning rate and dropout. A score is the mean over the last
scored epochs, because the best of many epochs is higher by luck on few validation nodes.

The graphs are folders or files in the folder that MINIBATCH_GNN_DATA names; no seconds are taken.
"""

import os
import statistics
from dataclasses import replace
from pathlib import Path

from bench.figures.accuracy_over_time import SLACK, on_share
from bench.figures.experiment import Verdict, ranked
from bench.figures.plotting import bars_of
from bench.figures.result_rows import groups_of, pick, spread_of, values_of
from refimpl.lab.apps.errors import user_errors
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.training.config import TrainConfig
from refimpl.lab.training.methods import LayerSampling

LAYERS, PLAIN, WEIGHTED = "layer sampling", "graph sampling", "graph sampling, normalised"


def measure(lab, cell):
    """Return a row for each way to train."""
    name, sizes = cell["graphs"], lab.sizes
    path = Path(os.environ.get("MINIBATCH_GNN_DATA", "")) / name
    with user_errors():
        dataset = lab.once(name, lambda: load_dataset(str(path) if path.exists() else name))
    method = on_share(dataset.train_graph, "frontier", sizes["share"])
    methods = {LAYERS: LayerSampling(batch_size=sizes["batch"]), PLAIN: method}
    methods[WEIGHTED] = replace(method, normalize="both")
    shared = {key: sizes[key] for key in ("layers", "hidden", "lr", "dropout")}
    rows = []
    for name, method in methods.items():
        epochs = sizes["epochs"][0 if name == LAYERS else 1]
        config = TrainConfig("sage", method, epochs=epochs, rng=cell["seed"], **shared)
        with lab.gnn.make_trainer(dataset, config) as trainer:
            while not trainer.done:
                trainer.epoch()
            scores = [record.val_f1 for record in trainer.state.history]
        last = scores[-max(1, epochs // sizes["last"]) :]
        rows.append({"name": name, "val_f1": float(statistics.fmean(last))})
    return rows


def table(_lab, rows):
    """Return a line for each graph and way to train: the mean over the seeds, with the range."""
    lines = []
    for some in groups_of(rows, "graphs", "name"):
        lines.append([some[0]["graphs"], some[0]["name"], spread_of(some, "val_f1").text(".4f")])
    return ["graph", "method", "validation F1, mean of the last epochs"], lines


def gains(rows, name):
    """Return how far above layer sampling a way is on each graph, in the mean over the seeds."""
    return {
        some[0]["graphs"]: spread_of(some, "val_f1", name=name).mean
        - spread_of(some, "val_f1", name=LAYERS).mean
        for some in groups_of(rows, "graphs")
    }


def verdicts(_lab, rows):
    """Judge each graph by the better of both kinds of graph sampling, in the mean over the seeds.

    A claim holds where this is so on all graphs, more weakly where on some. "As accurate" is less
    than 0.0025 lower, the slack of the papers' threshold.
    """
    found = {name: gains(rows, name) for name in (PLAIN, WEIGHTED)}
    best = [max(each) for each in zip(*(of.values() for of in found.values()), strict=True)]
    words = "; ".join(
        f"{graph}: {100 * found[PLAIN][graph]:+.2f} points, and "
        f"{100 * found[WEIGHTED][graph]:+.2f} with normalisation"
        for graph in values_of(rows, "graphs")
    )
    ours = f"difference of graph sampling from layer sampling in validation F1, {words}"
    return [
        Verdict("I-accuracy", ours, ranked(min(best) > -SLACK, max(best) > -SLACK)),
        Verdict("J-accuracy-all", ours, ranked(min(best) > 0, max(best) > 0)),
    ]


def plot(_lab, rows):
    """Return bars for each graph."""
    shown = []
    for some in groups_of(rows, "graphs"):
        found = {n: spread_of(pick(some, name=n), "val_f1") for n in (LAYERS, PLAIN, WEIGHTED)}
        low = min(one.low for one in found.values())
        axes = {"ylim": (max(0, low - 0.05), None)}
        shown.append(bars_of(some[0]["graphs"], "validation F1-micro", found, axes=axes))
    return shown
