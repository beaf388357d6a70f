"""Data sets to measure on: graphs like the papers', with features and classes at random."""

from typing import NamedTuple

import numpy as np

from bench.figures.training import data_on
from refimpl.lab.data.generators import power_law

SEED = 0


class Like(NamedTuple):
    """The training graph of one of the papers' data sets, by its numbers (J Table 2)."""

    nodes: int
    degree: float  # mean
    features: int
    classes: int


LIKE = {
    "PPI": Like(9_700, 28, 50, 121),
    "Reddit": Like(153_000, 70, 602, 41),
    "Yelp": Like(537_635, 15, 300, 100),
    "Amazon": Like(1_279_168, 16, 200, 107),  # a tenth of its degree, for its size alone
}


def graph_like(name, shrink=1):
    """Return a power-law graph with the nodes and the mean degree of a name in `LIKE`.

    `shrink` makes it so many times smaller, at the same degree where that is a tenth of its nodes
    at most.
    """
    like = LIKE[name]
    return power_law(max(like.nodes // shrink, round(10 * like.degree)), like.degree, SEED)


def data_like(name, shrink=1):
    """Return the data set of `graph_like`, all of whose nodes are trained on."""
    like, graph = LIKE[name], graph_like(name, shrink)
    return data_on(graph, np.arange(graph.n), like.features, like.classes, SEED)
