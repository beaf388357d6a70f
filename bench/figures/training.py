"""What figures and benchmarks train: settings, made data sets, epochs with what they load."""

from time import perf_counter

import numpy as np

from refimpl.lab.data.dataset import Dataset
from refimpl.lab.training.config import config_from


def settings(method, *, model="sage", model_options=None, **options):
    """Return a `TrainConfig`."""
    return config_from({"method": method, "model": model, **(model_options or {}), **options})


def data_on(graph, roots, features, classes=10, seed=0):
    """Return a data set to train on some roots of a whole graph.

    Classes are drawn, and features are the mean of a node's class plus noise.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, graph.n, np.int16)
    X = rng.standard_normal((graph.n, features), np.float32)
    X += rng.standard_normal((classes, features), np.float32)[labels]
    none = np.arange(0)
    return Dataset("made", graph, X, labels, roots, none, none, setting="transductive")


def epochs(trainer, count, spent=lambda: 0):
    """Train on; return for each epoch its rows, its seconds and what it spent.

    Parameters
    ----------
    trainer : from `make_trainer`, of a method that loads rows
    count : int
    spent : callable
        Returns a number that rises, such as bytes read.
    """
    found = []
    for _ in range(count):
        before, begin = spent(), perf_counter()
        trainer.epoch()
        seconds, load = perf_counter() - begin, trainer.state.loads[-1]
        found.append(
            {
                "seconds": seconds,
                "spent": spent() - before,
                "rows": load["loaded"],
                "needed": load["inputs"],
            }
        )
    return found
