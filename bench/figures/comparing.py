"""Ways to train compared: data with few labels, epochs of equal length, in turns, outcomes."""

import numpy as np

from bench.figures.training import epochs
from bench.figures.turns import seconds_in_turns
from refimpl.lab.apps.errors import UserError, user_errors
from refimpl.lab.data.communities import communities
from refimpl.lab.data.loading import few_of_each_class


def few_labels(lab):
    """Return the data set in FreshGNN's setting: a few labels of each class in a whole graph.

    ``lab.sizes`` says how many, of the smallest class half at most, and how many nodes
    `communities` has; other data sets are as large as they are.

    Raises
    ------
    UserError
        If there are no nodes for validation or test.
    """
    nodes, count = lab.sizes.get("nodes"), lab.sizes["labels"]

    def make():
        whole = communities(0, nodes=nodes) if lab.data == "communities" else lab.dataset()
        if not whole.multilabel:
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
        "fresh": sampled,
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


def epochs_in_turns(trainers, count):
    """Train several models on by turns, epoch by epoch; return the seconds of each epoch.

    Evaluation takes its turn too, but is not counted.

    Parameters
    ----------
    trainers : dict
        {name: trainer}
    count : int

    Returns
    -------
    dict
        {name: list of `count` floats}
    """
    judging: dict[str, list] = {name: [] for name in trainers}

    def task(name, trainer):
        def epoch(_):
            before = trainer.meter.seconds["evaluation"]
            trainer.epoch()
            judging[name].append(trainer.meter.seconds["evaluation"] - before)

        return epoch

    tasks = {name: task(name, trainer) for name, trainer in trainers.items()}
    found = seconds_in_turns(tasks, count, warm_up=0)
    return {
        name: [a - b for a, b in zip(found[name], judging[name], strict=True)] for name in trainers
    }
