"""Which rows the ranks of a training run need of one another: counts, from real minibatches.

Rank p holds the nodes of part p of the graph, contiguous ids, parts as even as they can be.
"""

import numpy as np

from bench.figures.synthetic_data import SEED
from refimpl.loader.store import Ownership


def even_parts(n, parts):
    """Return who owns which of n nodes."""
    bounds = [n * p // parts for p in range(parts + 1)]
    return Ownership([end - begin for begin, end in zip(bounds, bounds[1:], strict=False)])


def rows_wanted(ownership, ids):
    """Return how many different nodes of `ids` each part holds: (parts,) int64."""
    return np.array([len(rows) for rows in ownership.split(ids)[0]])


def minibatches(gnn, graph, roots, batch, fanouts, epoch=0):
    """Yield the message-flow graphs of an epoch, in its order, as training draws them."""
    batches = gnn.samplers.epoch_batches(roots, batch, SEED, epoch)
    for number, chosen in enumerate(batches):
        yield gnn.sample_mfg(graph, chosen, fanouts, seed=SEED, epoch=epoch, batch=number)


def rows_between(graphs, n, ranks, steps):
    """Return, for each step, the rows that rank d needs of rank s at [s, d]; 0 where they are one.

    In step i rank r has minibatch number i * ranks + r.

    Parameters
    ----------
    graphs : iterable of MFG
        At least ``steps * ranks``.
    n, ranks, steps : int

    Returns
    -------
    (steps, ranks, ranks) int64 array
    """
    ownership, found = even_parts(n, ranks), np.zeros((steps, ranks, ranks), np.int64)
    for number, mfg in zip(range(steps * ranks), graphs, strict=False):
        step, rank = divmod(number, ranks)
        found[step, :, rank] = rows_wanted(ownership, mfg.nodes[0])
        found[step, rank, rank] = 0
    return found
