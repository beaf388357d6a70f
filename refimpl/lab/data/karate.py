"""Zachary's karate club: the smallest graph that everyone knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refimpl._support import require
from refimpl.graph import Graph, as_graph
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.preparation import chosen_scaling

if TYPE_CHECKING:
    from refimpl.hints import FloatDtype, Rng
    from refimpl.lab.hints import SomeScaling

# For each member the friends with a higher number. Members are numbered from 0.
FRIENDS = {
    0: (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31),
    1: (2, 3, 7, 13, 17, 19, 21, 30),
    2: (3, 7, 8, 9, 13, 27, 28, 32),
    3: (7, 12, 13),
    4: (6, 10),
    5: (6, 10, 16),
    6: (16,),
    8: (30, 32, 33),
    9: (33,),
    13: (33,),
    14: (32, 33),
    15: (32, 33),
    18: (32, 33),
    19: (33,),
    20: (32, 33),
    22: (32, 33),
    23: (25, 27, 29, 32, 33),
    24: (25, 27, 31),
    25: (31,),
    26: (29, 33),
    27: (33,),
    28: (31, 33),
    29: (32, 33),
    30: (32, 33),
    31: (32, 33),
    32: (33,),
}
MEMBERS = 34
# The club split in two: these went with its officers (around 33), the others with the instructor.
OFFICERS = (9, 14, 15, 18, 20, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33)
VAL = (3, 10, 17, 24, 27, 30)
TEST = (2, 6, 8, 12, 15, 19, 21, 22, 26, 28)


def karate() -> Graph:
    """Return the friendships in a karate club: 34 nodes, 78 undirected edges.

    Returns
    -------
    Graph

    References
    ----------
    Zachary 1977, "An information flow model for conflict and fission in small groups".
    """
    pairs = [(u, v) for u, friends in FRIENDS.items() for v in friends]
    return as_graph(pairs, n=MEMBERS, symmetrize=True)


def karate_dataset(
    rng: Rng = 0, *, dtype: FloatDtype = "float32", scaling: SomeScaling = "standard"
) -> Dataset:
    """Return the karate club with the side that each member took, and a fixed split.

    A node's features say which node it is, so all else has to come from the graph. Nothing is
    random: `rng` is there as in the other built-in data sets.

    Returns
    -------
    Dataset

    Raises
    ------
    TypeError, ValueError
        If `dtype` is another one than float32 or float64, or `scaling` does not fit.
    """
    dtype = require.float_dtype("dtype", dtype)
    graph = karate()
    train = np.setdiff1d(np.arange(MEMBERS), VAL + TEST)
    features = np.eye(MEMBERS)
    return Dataset(
        name="karate",
        graph=graph,
        features=features,
        scaling=chosen_scaling(scaling, features, train),
        labels=np.isin(np.arange(MEMBERS), OFFICERS).astype(np.int8),
        train=train,
        val=np.array(VAL),
        test=np.array(TEST),
        setting="inductive",
        dtype=dtype,
    )
