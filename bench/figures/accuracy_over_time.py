"""Trainings beside one another: who is how accurate after how many seconds."""

from bench.figures.plotting import Curve
from bench.figures.result_rows import groups_of, pick, spread_of, values_of
from bench.figures.training import seconds_so_far, together
from refimpl.lab.apps.errors import UserError
from refimpl.lab.training.methods import SampledGraph
from refimpl.lab.training.methods.graph import MOST_NODES, scaled_sampler

SLACK = 0.0025  # below the best of the baselines: what counts as reached (I section VI-B)


def race(gnn, dataset, configs):
    """Train several models in turns, as `together` does; return a row for each scored epoch.

    A row has the name, the epoch, the seconds of training so far, without those of the evaluation,
    and F1-micro on the validation nodes.

    Raises
    ------
    UserError
        If there are no validation nodes.
    """
    if not dataset.val.size:
        raise UserError(f"the data set {dataset.name} has no validation nodes")
    with together(gnn, dataset, configs) as trainers:
        return [
            {"name": name, "epoch": one.epoch, "seconds": seconds, "val_f1": float(one.val_f1)}
            for name, trainer in trainers.items()
            for one, seconds in zip(trainer.state.history, seconds_so_far(trainer), strict=True)
            if one.val_f1 is not None
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
        some[0] | {key: spread_of(some, key).mean for key in ("seconds", "val_f1")}
        for some in groups_of(rows, "name", "epoch")
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
