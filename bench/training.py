"""The benchmarks that train, in one place: settings, data, trainers, stacks."""

import numpy as np

from refimpl import Dataset, load_dataset
from refimpl.lab.apps.figures.training import epochs, settings
from refimpl.lab.data.communities import communities
from refimpl.lab.training.stack import Stack

__all__ = ["data_on", "data_set", "epochs", "layers_of", "settings"]


def data_set(name="communities", nodes=None):
    """Return a data set by name or folder, or `communities` of another size."""
    return communities(0, nodes=nodes) if nodes else load_dataset(name)


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


def layers_of(package, config, width, classes):
    """Return the layers that training would build over a package."""
    return Stack(package, config, width, classes, multilabel=False)
