"""Trainings beside one another: who is how accurate after how many seconds."""

from contextlib import ExitStack

from bench.figures.plotting import Curve
from bench.figures.result_rows import groups_of, pick, spread_of, values_of
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.report import TRAINING
from refimpl.lab.training.methods import SampledGraph
from refimpl.lab.training.methods.graph import MOST_NODES, scaled_sampler

SLACK = 0.0025  # below the best of the baselines: what counts as reached (I section VI-B)


def race(gnn, dataset, configs):
    """Train several models, each its epochs; they take turns, so that all end together.

    Whoever has done the least share of its epochs is next. Before, each takes a step that does not
    count, with weights of its own. `configs` is {name: TrainConfig}.

    Returns
    -------
    list of dict
        One for each epoch that was scored: name, epoch, seconds of training so far, without those
        of the evaluation, and F1-micro on the validation nodes.

    Raises
    ------
    UserError
        If there are no validation nodes.
    """
    if not dataset.val.size:
        raise UserError(f"the data set {dataset.name} has no validation nodes")
    for config in configs.values():
        with gnn.make_trainer(dataset, config) as trainer:
            trainer.step()
    with ExitStack() as stack:
        trainers = {
            name: stack.enter_context(gnn.make_trainer(dataset, config))
            for name, config in configs.items()
        }
        while running := {name: one for name, one in trainers.items() if not one.done}:
            min(running.values(), key=_share_done).epoch()
    return [row for name, trainer in trainers.items() for row in _scored(name, trainer)]


def _share_done(trainer):
    return len(trainer.state.history) / trainer.config.epochs


def _scored(name, trainer):
    return [
        {
            "name": name,
            "epoch": record.epoch,
            "seconds": sum(getattr(record, part) for part in TRAINING),
            "val_f1": float(record.val_f1),
        }
        for record in trainer.state.history
        if record.val_f1 is not None
    ]


def lengths(sizes, name):
    """Return how many epochs a contestant trains, and how often it is scored at most."""
    epochs = sizes["epochs"][name]
    return {"epochs": epochs, "eval_every": max(1, epochs // sizes["scored"])}


def best_score(rows, name):
    """Return the highest score of one in a race."""
    return max(row["val_f1"] for row in pick(rows, name=name))


def seconds_to(rows, name, score):
    """Return after how many seconds one in a race has a score; None if it never has."""
    return next((r["seconds"] for r in pick(rows, name=name) if r["val_f1"] >= score), None)


def time_ratio(rows, name, over):
    """Return how many times longer the baselines `over` take than `name` to reach the threshold.

    It is the highest score of the baselines, less `SLACK`; the time is that of the baseline with
    this score, as in I section VI-B. None where `name` never reaches it.
    """
    best = max(over, key=lambda baseline: best_score(rows, baseline))
    threshold = best_score(rows, best) - SLACK
    ours = seconds_to(rows, name, threshold)
    return None if ours is None else seconds_to(rows, best, threshold) / ours


def averaged(rows):
    """Return the races of several seeds as one: means of seconds and of scores, epoch by epoch.

    What one seed has by luck, a high score early on, counts less in it.
    """
    return [
        {
            **{key: some[0][key] for key in ("name", "epoch")},
            **{key: spread_of(some, key).mean for key in ("seconds", "val_f1")},
        }
        for one in groups_of(rows, "name")
        for some in groups_of(one, "epoch")
    ]


def sooner(rows, name, over):
    """Return `time_ratio` of the mean of all seeds, and what it is with each in words."""
    mean = time_ratio(averaged(rows), name, over)
    each = [time_ratio(pick(rows, seed=seed), name, over) for seed in values_of(rows, "seed")]
    reached = [ratio for ratio in each if ratio is not None]
    words = "not reached on average" if mean is None else f"{mean:.2f}"
    if len(each) == 1:
        return mean, words
    span = f", at {min(reached):.2f} to {max(reached):.2f}" if reached else ""
    return mean, f"{words} ({len(reached)} of {len(each)} seeds reach it{span})"


def race_curves(rows):
    """Return {name: Curve} of validation scores over seconds, of one race."""
    return {
        some[0]["name"]: Curve([row["seconds"] for row in some], [row["val_f1"] for row in some])
        for some in groups_of(rows, "name")
    }


def on_share(graph, kernel, share):
    """Return the method that trains on subgraphs of a share of a graph, 8000 nodes at most."""
    n = max(1, min(int(share * graph.n), MOST_NODES))
    return SampledGraph(sampler=scaled_sampler(graph, kernel, n=n))
