"""What figures and benchmarks train: settings, data with few labels, epochs, time to a score."""

from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import NamedTuple

import numpy as np

from bench.figures.plotting import Curve
from bench.figures.result_rows import groups_of, middle, pick, ratios, spread_of, values_of
from refimpl.lab.apps.errors import UserError, user_errors
from refimpl.lab.apps.report import TRAINING
from refimpl.lab.data.communities import communities
from refimpl.lab.data.splits import few_of_each_class
from refimpl.lab.training.config import config_from
from refimpl.lab.training.methods import SampledGraph
from refimpl.lab.training.methods.graph import MOST_NODES, scaled_sampler

SEED = 0
SLACK = 0.0025  # below the best of the baselines: what counts as reached (I section VI-B)
ALL_CACHED = {"hotness": "none", "buffer": 2**30}  # embeddings alone, with room for all


def settings(method, *, model="sage", model_options=None, **options):
    """Return a `TrainConfig`."""
    return config_from({"method": method, "model": model, **(model_options or {}), **options})


def sampled(method, sizes, **options):
    """Return a `TrainConfig` of a method on sampled neighbours, of the sizes of a figure."""
    shared = {"rng": SEED, "layers": len(sizes["fanouts"]), "fanouts": tuple(sizes["fanouts"])}
    shared |= {"hidden": sizes["hidden"], "batch_size": sizes["batch"]}
    return settings(method, **{**shared, **options})


def buffer_of(sizes, nodes, features):
    """Return the bytes of a cache with room for a share of all features, of float32."""
    return 4 * int(sizes["share"] * nodes * features)


def epochs(trainer, count, spent=lambda: 0):
    """Train on, with a method that loads rows; return each epoch's rows, seconds and what it spent.

    `spent` returns a number that rises, such as bytes read.
    """
    found = []
    for _ in range(count):
        before, begin = spent(), perf_counter()
        trainer.epoch()
        seconds, load = perf_counter() - begin, trainer.state.loads[-1]
        about = {"seconds": seconds, "spent": spent() - before}
        found.append({**about, "rows": load["loaded"], "needed": load["inputs"]})
    return found


def few_labels(lab):
    """Return the data set in FreshGNN's setting: a few labels of each class in a whole graph.

    ``lab.sizes`` says how many, 0 for all training nodes, of the smallest class half at most, and
    how many nodes `communities` has; other data sets are as large as they are. Data without nodes
    for validation or test are refused.
    """
    nodes, count = lab.sizes.get("nodes"), lab.sizes["labels"]

    def make():
        whole = communities(0, nodes=nodes) if lab.data == "communities" else lab.dataset()
        if count and not whole.multilabel:
            counts = np.bincount(whole.labels[whole.labels >= 0])
            smallest = counts[counts > 0].min(initial=len(whole.labels))
            with user_errors():
                whole = few_of_each_class(whole, max(min(count, smallest // 2), 1), 0)
        if not (whole.val.size and whole.test.size):
            raise UserError(f"the data set {whole.name} has no nodes for validation or test")
        return whole.with_setting("transductive")

    return lab.once(("few labels", lab.data, nodes, count), make)


def steps_of(dataset, sizes):
    """Return the batches of training nodes in an epoch: ``sizes["steps"]``, or somewhat fewer."""
    batch = -(-len(dataset.roots) // sizes["steps"])
    return -(-len(dataset.roots) // batch)


def method_options(name, dataset, sizes):
    """Return what a method needs so that an epoch has ``sizes["steps"]`` iterations, if it can.

    Batches of training nodes then have as many as there are training nodes in a batch that is
    cut out of all nodes, on average. "full" has one iteration an epoch.
    """
    steps = sizes["steps"]
    roots = {"batch_size": -(-len(dataset.roots) // steps)}
    part = {"batch_size": -(-dataset.train_graph.n // steps)}
    sampled = {**roots, "fanouts": tuple(sizes["fanouts"])}
    return {
        "neighbor": sampled,
        "fresh": {**sampled, "draw_all": True},  # what is saved is counted, not estimated
        "gas": part,
        "graphfm": part,
        "vrgcn": roots,
        "cluster": {"clusters": min(5 * steps, dataset.train_graph.n), "clusters_per_batch": 5},
        "fastgcn": roots,
        "ladies": roots,
        "full": {"epochs": sizes["epochs"] * steps // 3, "eval_every": 3},
    }[name]


def outcome(gnn, dataset, config):
    """Train; return (test F1-micro, rows loaded over rows that neighbour sampling loads).

    The rows are those of all epochs but the first, which fills the cache.
    """
    with gnn.make_trainer(dataset, config) as trainer:
        warm = epochs(trainer, config.epochs)[1:]
        share = sum(one["rows"] for one in warm) / sum(one["needed"] for one in warm)
        assert config.method.name == "fresh" or share == 1
        return trainer.result().test_f1, share


@contextmanager
def together(gnn, dataset, configs):
    """Train several models, each its epochs, in turns; yield {name: Trainer}, until they close.

    Whoever has done the least share of its epochs is next, so that all end together. Before, each
    takes a step that does not count, with weights of its own. `configs` is {name: TrainConfig}.
    """
    for config in configs.values():
        with user_errors():  # such as a graph without relations
            trainer = gnn.make_trainer(dataset, config)
        with trainer:
            trainer.step()
    with ExitStack() as stack:
        trainers = {
            name: stack.enter_context(gnn.make_trainer(dataset, config))
            for name, config in configs.items()
        }
        while running := [one for one in trainers.values() if not one.done]:
            min(running, key=lambda one: len(one.state.history) / one.config.epochs).epoch()
        yield trainers


def seconds_so_far(trainer):
    """Return the seconds of training until the end of each epoch, without those of evaluation."""
    return [sum(getattr(record, part) for part in TRAINING) for record in trainer.state.history]


def trained_in_turns(lab, methods, seed, *, model="sage"):
    """Train with several methods in turns, epoch by epoch; return a row for each method and epoch.

    FreshGNN caches embeddings alone; its inputs are those of neighbour sampling, where that takes a
    turn. Evaluation takes its turn but is not in the seconds.
    """
    cached = {**ALL_CACHED, "p_grad": lab.sizes["p_grad"], "draw_all": False}
    configs, rows = {}, []
    for method in methods:
        own = cached if method == "fresh" else {}
        dataset, configs[method] = trained(lab, method, seed, model=model, **own)
    with together(lab.gnn, dataset, configs) as trainers:
        for method, trainer in trainers.items():
            score = trainer.result().test_f1  # of the best epoch
            each = np.diff(seconds_so_far(trainer), prepend=0.0).tolist()
            for record, seconds in zip(trainer.state.history, each, strict=True):
                row = {"method": method, "epoch": record.epoch, "seconds": seconds}
                if method in ("neighbor", "fresh"):  # others load no sampled neighbours
                    load = trainer.state.loads[record.epoch - 1]
                    counting = trainers.get("neighbor", trainer).state.loads[record.epoch - 1]
                    row |= {"loaded": load["loaded"], "inputs": counting["inputs"]}
                rows.append(row | {"val_f1": record.val_f1, "test_f1": score})
    return rows


def seconds_an_epoch(rows, method):
    """Return the median, least and most seconds of a method's epochs but the first."""
    return middle(row["seconds"] for row in pick(rows, method=method) if row["epoch"] > 1)


def speed_up(rows, method):
    """Return how many times as fast as a method FreshGNN is, by its epochs but the first."""
    warm = [row for row in rows if row["epoch"] > 1]
    return ratios(pick(warm, method=method), pick(warm, method="fresh"), "seconds")


def trained(lab, method, seed, *, model="sage", **own):
    """Return what trains a model on few labels with the sizes of a figure; `own` go first."""
    dataset, sizes = few_labels(lab), lab.sizes
    options = {name: sizes[name] for name in ("hidden", "lr", "epochs")}
    options |= {"layers": len(sizes["fanouts"]), **method_options(method, dataset, sizes), **own}
    return dataset, settings(method, model=model, rng=seed, **options)


def race(gnn, dataset, configs):
    """Train several models in turns, as `together` does; return a row for each scored epoch.

    A row has the name, the epoch, the seconds of training so far, without those of the evaluation,
    and F1-micro on the validation nodes, without which the data set is refused.
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


class Sooner(NamedTuple):
    """How many times as fast as the baselines one in a race reaches the threshold."""

    mean: float | None  # of the mean of all seeds; None where this mean does not reach it
    reached: list[float]  # of each seed that reaches it
    seeds: int

    def cell(self):
        """Return it as a cell of a table."""
        words = "not reached on average" if self.mean is None else f"{self.mean:.2f}"
        some = f"{len(self.reached)} of {self.seeds} seeds reach it: "
        return words + self._of_seeds("{}", some + "{}")

    def sentence(self, ours, theirs):
        """Return it as a sentence about two methods, which begins in small letters."""
        words = f"the mean score of {ours} stays below this score"
        if self.mean is not None:
            words = f"{ours} is {self.mean:.2f} times as fast as {theirs}"
        all_seeds, some = f"{self.seeds} seeds", f"{len(self.reached)} of {self.seeds} seeds"
        times = "{} times for the "
        return words + self._of_seeds(times + all_seeds, f"{times}{some} that reach it")

    def _of_seeds(self, of_all, of_some):
        """Return the range over several seeds in brackets, in one of two forms."""
        if self.seeds == 1 or not self.reached:
            return "" if self.seeds == 1 else " (no seed reaches it)"
        form = of_all if len(self.reached) == self.seeds else of_some
        return f" ({form.format(f'{min(self.reached):.2f} to {max(self.reached):.2f}')})"


def sooner(rows, name, over):
    """Return the `Sooner` of a method: its `time_ratio` for the mean of all seeds and each seed."""
    seeds = values_of(rows, "seed")
    each = [time_ratio(pick(rows, seed=seed), name, over) for seed in seeds]
    reached = [ratio for ratio in each if ratio is not None]
    return Sooner(time_ratio(averaged(rows), name, over), reached, len(seeds))


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
