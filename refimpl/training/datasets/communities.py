"""A graph with communities, made on the spot from a seed: the default data set."""

import numpy as np
import scipy.sparse as sp

from refimpl import _check, streams
from refimpl.graph import as_graph
from refimpl.training.datasets.dataset import Dataset
from refimpl.training.datasets.preparation import induced, standardise

NODES = 10_000
FEATURES = 50
SHARES = (18, 15, 13, 11, 10, 9, 8, 6, 6, 4)  # of 100: how likely a node is in each community
SPLIT = (66, 12, 22)  # of 100: training, validation, test

# Expected degrees follow a power law with exponent 1 + 4/3, cut off at MAX_WEIGHT times the least.
MAX_WEIGHT = 60
EDGES = 90_000  # drawn; about a tenth are lost as repetitions and self-loops
# Calibrated together over seeds 0 to 2
WITHIN = 0.62  # share of edges drawn inside a community; the others ignore communities
SPREAD = 0.4  # half-width of the class means, each entry uniform; the noise has variance 1/3

LABELS = 20
COMMUNITIES_A_LABEL = 3
FLIPPED = 0.02  # share of (node, label) pairs flipped at random, in the multi-label variant

# One stream for each use: the last part of its key.
COMMUNITY, WEIGHT, EDGE, MEAN, NOISE, ROLE, LABEL, FLIP = range(8)


def communities(rng=0, *, multilabel=False, dtype="float32"):
    """Return a degree-corrected planted partition of 10,000 nodes in 10 communities.
    """
    dtype = _check.float_dtype("dtype", dtype)
    seed = streams.as_seed(rng)
    member = np.searchsorted(np.cumsum(SHARES), 100 * _draws(seed, COMMUNITY, NODES), side="right")
    graph = _graph(seed, member)
    roles = _split(seed)
    labels = _label_sets(seed, member) if multilabel else member[:, None] == np.arange(len(SHARES))
    return Dataset(
        name="communities-multilabel" if multilabel else "communities",
        graph=graph,
        train_graph=induced(graph, roles[0]),
        features=standardise(_features(seed, member), roles[0], dtype),
        labels=labels.astype(dtype),
        multilabel=multilabel,
        train=roles[0],
        val=roles[1],
        test=roles[2],
    )


def _draws(seed, use, *shape):
    """Return uniform numbers of the stream for `use`, in an array of the given shape."""
    count = np.arange(np.prod(shape), dtype=np.uint64)
    return streams.uniform(streams.key(seed, streams.DATA, use), count).reshape(shape)


def _graph(seed, member):
    """Draw edges one end after the other, each end in proportion to its node's weight."""
    # sqrt is exactly rounded and the weights become integers, so every machine makes one graph.
    u = 1 - _draws(seed, WEIGHT, NODES)
    weight = np.minimum(1 / (np.sqrt(u) * np.sqrt(np.sqrt(u))), MAX_WEIGHT)
    order = np.argsort(member, kind="stable")
    ends = np.cumsum((1000 * weight[order]).astype(np.int64))  # node order[i] has [ends[i-1], ends[i])
    first_of = np.searchsorted(member[order], np.arange(len(SHARES) + 1))
    bounds = np.concatenate([[0], ends])[first_of]
    pick, inside, other = _draws(seed, EDGE, 3, EDGES)
    u = order[np.searchsorted(ends, (pick * ends[-1]).astype(np.int64), side="right")]
    low = np.where(inside < WITHIN, bounds[member[u]], 0)
    high = np.where(inside < WITHIN, bounds[member[u] + 1], ends[-1])
    v = order[np.searchsorted(ends, low + (other * (high - low)).astype(np.int64), side="right")]
    return as_graph(np.stack([u, v], 1), n=NODES, symmetrize=True, self_loops=False)


def _features(seed, member):
    mean = SPREAD * (2 * _draws(seed, MEAN, len(SHARES), FEATURES) - 1)
    noise = _draws(seed, NOISE, 4, NODES, FEATURES).sum(axis=0) - 2  # near normal, variance 1/3
    return mean[member] + noise


def _split(seed):
    shuffled = np.argsort(_draws(seed, ROLE, NODES), kind="stable")
    cuts = np.cumsum(SPLIT)[:2] * NODES // 100
    return [np.sort(part) for part in np.split(shuffled, cuts)]


def _label_sets(seed, member):
    rank = np.argsort(np.argsort(_draws(seed, LABEL, LABELS, len(SHARES)), axis=1), axis=1)
    holds = rank < COMMUNITIES_A_LABEL
    return holds.T[member] ^ (_draws(seed, FLIP, NODES, LABELS) < FLIPPED)
