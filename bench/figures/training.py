"""What figures and benchmarks train: settings, data with few labels, epochs and what they load."""

from contextlib import ExitStack, contextmanager
from time import perf_counter

import numpy as np

from bench.figures.result_rows import pick
from refimpl.lab.apps.errors import UserError, user_errors
from refimpl.lab.apps.report import TRAINING
from refimpl.lab.data.communities import communities
from refimpl.lab.data.splits import few_of_each_class
from refimpl.lab.training.config import config_from

SEED = 0
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
    how many nodes `communities` has; other data sets are as large as they are.

    Raises
    ------
    UserError
        If there are no nodes for validation or test.
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


def sized(sizes, *names):
    """Return the settings of these names among the sizes of a figure; always that of layers."""
    return {name: sizes[name] for name in names} | {"layers": len(sizes["fanouts"])}


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


def seconds_of(rows, method):
    """Return the seconds of a method's epochs but the first."""
    return [row["seconds"] for row in pick(rows, method=method) if row["epoch"] > 1]


def trained(lab, method, seed, *, model="sage", **own):
    """Return what trains a model on few labels with the sizes of a figure; `own` go first."""
    dataset, sizes = few_labels(lab), lab.sizes
    options = sized(sizes, "hidden", "lr", "epochs") | method_options(method, dataset, sizes)
    return dataset, settings(method, model=model, rng=seed, **{**options, **own})
