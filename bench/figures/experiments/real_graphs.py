"""I and J section on accuracy: graph sampling and layer sampling on real graphs, F1 alone."""

import os
import statistics
from dataclasses import replace
from pathlib import Path

from bench.figures.experiment import ranked, verdict
from bench.figures.plotting import bars_of
from bench.figures.result_rows import groups_of, pick, spread_of, spreads, tabled
from bench.figures.training import SLACK, on_share
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
        scores = [record.val_f1 for record in lab.gnn.train(dataset, config).history]
        last = scores[-max(1, epochs // sizes["last"]) :]
        rows.append({"name": name, "val_f1": float(statistics.fmean(last))})
    return rows


def table(_lab, rows):
    """Return a line for each graph and way to train: the mean over the seeds, with the range."""
    score = {"validation F1, mean of the last epochs": spreads("val_f1", ".4f")}
    return tabled(groups_of(rows, "graphs", "name"), {"graph": "graphs", "method": "name", **score})


def verdicts(_lab, rows):
    """Judge each graph by the better of both kinds of graph sampling, in the mean over seeds."""
    best, each = [], []
    for some in groups_of(rows, "graphs"):
        base = spread_of(some, "val_f1", name=LAYERS).mean
        gains = [spread_of(some, "val_f1", name=x).mean - base for x in (PLAIN, WEIGHTED)]
        plain, weighted = map(_beside, gains)
        where = f"on the data set {some[0]['graphs']}"
        each.append(f"{plain} {where} and {weighted} with normalisation")
        best.append(max(gains))
    close, higher = (ranked(min(best) > x, max(best) > x) for x in (-SLACK, 0))
    outcomes = {"I-accuracy": close, "J-accuracy-all": higher}
    return [verdict(claim, one, each="; ".join(each)) for claim, one in outcomes.items()]


def _beside(gain):
    return f"{100 * abs(gain):.2f} points {'higher' if gain >= 0 else 'lower'}"


def plot(_lab, rows):
    """Return bars for each graph."""
    shown = []
    for some in groups_of(rows, "graphs"):
        found = {n: spread_of(pick(some, name=n), "val_f1") for n in (LAYERS, PLAIN, WEIGHTED)}
        axes = {"ylim": (max(0, min(one.low for one in found.values()) - 0.05), None)}
        shown.append(bars_of(some[0]["graphs"], "validation F1-micro", found, axes=axes))
    return shown
