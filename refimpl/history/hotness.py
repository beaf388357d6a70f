"""How often a node is needed: which features to keep, and what an embedding would save."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.block import MFG, Block
from refimpl.graph import Graph
from refimpl.graph.csr import checked
from refimpl.hints import (
    Fanouts,
    Float,
    Floats,
    Int,
    Integers,
    Mask,
    Positions,
    SampleMode,
    bound,
)
from refimpl.history.pruning import checked_mfg
from refimpl.samplers.neighbor import neighbor_arguments
from refimpl.streams import PROFILE_EPOCH


class SamplingProfile(NamedTuple):
    """What one epoch of sampling met: `count_visits` returns it.

    Attributes
    ----------
    rho : tuple of L (n,) float64 arrays
        ``rho[l][v]``: share of the batches that have node v at layer l.
    sigma : tuple of L (n,) float64 arrays
        ``sigma[l][v]``: the node's `fair_share` at layer l, mean over the batches that have it
        there; 0 where none has.
    batches : int
        In the epoch.
    """

    rho: tuple[Floats[np.float64], ...]
    sigma: tuple[Floats[np.float64], ...]
    batches: int


def degree_hotness(graph: Graph) -> Positions:
    """Return the in-degree of every node as its hotness: how many neighbours it has.

    The degree-based policy of FreshGNN, Figure 14. Row v of `graph` lists whom v aggregates; on
    an undirected graph that is also how many nodes aggregate v.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    (n,) int64 array

    Raises
    ------
    TypeError
        If `graph` is no Graph.
    """
    return checked(graph).degrees()


def pagerank_arguments(gnn, graph, train, alpha, iterations):
    """Check the arguments of `reverse_pagerank`; return them."""
    train = require.ids("train", train, 0, checked(graph).n, np.int64)
    if not train.size or len(np.unique(train)) < train.size:
        raise ValueError("train must hold at least one node, and each only once")
    alpha = require.real("alpha", alpha, 0, high=1)
    return gnn, graph, train, alpha, require.integer("iterations", iterations, 0, 2**31 - 1)


@bound
@checked_by(pagerank_arguments)
def reverse_pagerank(
    gnn, graph: Graph, train: Integers, *, alpha: Float = 0.95, iterations: Int = 20
) -> Floats[np.float64]:
    """Return the weighted reverse PageRank of every node, seen from the training nodes.

    How often a walk is at a node that starts at a random training node, and in each step stops
    with probability 1 - alpha or goes on to a random node that the present one aggregates:
    ``x <- (1 - alpha) w + alpha A^T D^-1 x``, with w uniform on `train`. The PageRank-based
    policy of FreshGNN, Figure 14, after Min et al. (KDD 2022); no alpha is printed, 0.95 is that
    of the public code. A walk ends at a node without neighbours. O(iterations e) time.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    graph : Graph
        Row v lists whom v aggregates.
    train : (t,) integer array, t > 0
        Distinct nodes.
    alpha : float in [0, 1]
    iterations : int
        How often the step is taken, from x = w.

    Returns
    -------
    (n,) float64 array
        At least 0, with a sum of at most 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range, or `train` is empty or repeats a
        node.
    """
    w = np.zeros((graph.n, 1))
    w[np.asarray(train)] = 1 / len(train)
    degrees = np.maximum(graph.degrees(), 1)[:, None]
    backwards = graph
    if not graph.symmetric:
        block = Block._trusted(graph.start, graph.end, graph.indices, graph.n)
        backwards, _ = gnn.block.transpose_block(block)
    ones, x = np.ones(graph.e), w
    for _ in range(iterations):
        x = (1 - alpha) * w + alpha * gnn.spmm(backwards, ones, x / degrees)
    return x[:, 0]


def visits_arguments(gnn, graph, train, fanouts, batch_size, seed, needed, mode):
    """Check the arguments of `count_visits` that no kernel checks; return all."""
    _, fanouts = neighbor_arguments(graph, np.empty(0, np.int32), fanouts, mode)
    train = require.ids("train", train, 0, graph.n, np.int32)
    if len(np.unique(train)) < train.size:
        raise ValueError("train must hold each node only once")
    needed = None if needed is None else require.mask("needed", needed, graph.n)
    return gnn, graph, train, fanouts, batch_size, seed, needed, mode


@bound
@checked_by(visits_arguments)
def count_visits(
    gnn,
    graph: Graph,
    train: Integers,
    fanouts: Fanouts,
    batch_size: Int,
    *,
    seed: Int,
    needed: Mask | None = None,
    mode: SampleMode = "layered",
) -> SamplingProfile:
    """Sample one epoch without training; return how often each node was met, and its share.

    The pre-processing of FreshGNN, Figure 16(b), after GNNLab (Yang et al. 2022); the shares are
    this project's own estimator. The epoch's number in the keys is 2**31, so that it draws other
    neighbours than training. Time of sampling an epoch; O(L n) memory besides one batch.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    graph : Graph
        With n nodes; row v lists whom v aggregates.
    train : (t,) integer array
        Distinct nodes.
    fanouts : sequence of L ints
        See `sample_mfg`.
    batch_size : int
    seed : int in [0, 2**64)
    needed : (n,) bool array, optional
        Which features would have to be loaded, see `fair_share` (default: all).
    mode : str
        See `sample_mfg`.

    Returns
    -------
    SamplingProfile

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.
    """
    n, depth = graph.n, len(fanouts)
    needed = np.ones(n, np.bool_) if needed is None else needed
    visits = [np.zeros(n, np.int64) for _ in range(depth)]
    shares = [np.zeros(n) for _ in range(depth)]
    batches = gnn.samplers.epoch_batches(train, batch_size, seed, PROFILE_EPOCH)
    for number, batch in enumerate(batches):
        mfg = gnn.sample_mfg(
            graph, batch, fanouts, seed=seed, epoch=PROFILE_EPOCH, batch=number, mode=mode
        )
        share = gnn.history.fair_share(mfg, needed[mfg.nodes[0]])
        for layer in range(depth):
            visits[layer][mfg.nodes[layer]] += 1
            shares[layer][mfg.nodes[layer]] += share[layer]
    return SamplingProfile(
        tuple(count / max(len(batches), 1) for count in visits),
        tuple(share / np.maximum(count, 1) for share, count in zip(shares, visits, strict=True)),
        len(batches),
    )


def share_arguments(mfg, needed):
    """Check the arguments of `fair_share`; return them."""
    mfg = checked_mfg(mfg)
    return mfg, require.mask("needed", needed, len(mfg.nodes[0]))


@checked_by(share_arguments)
def fair_share(mfg: MFG, needed: Mask) -> tuple[Floats[np.float64], ...]:
    """Charge every feature row that has to be loaded to those that need it, layer by layer.

    This project's estimator of the memory access that a cached embedding saves (E-V17); no paper
    has one. A node's charge is split evenly among its consumers: the nodes that aggregate it, and
    its own next layer. So the charges of each layer add up to the number of rows. O(nodes +
    entries) time.

    Parameters
    ----------
    mfg : MFG
        With L blocks; as sampled, so that every source has a consumer.
    needed : (n_0,) bool array
        Which of ``mfg.nodes[0]`` have to be loaded: those not in the feature cache.

    Returns
    -------
    tuple of L + 1 (n_l,) float64 arrays
        Entry l is the charge of each of ``mfg.nodes[l]``. A row is summed from the node's own
        share on, in the order of its entries: there is one right answer to the last bit.

    Raises
    ------
    TypeError, ValueError
        If `mfg` is no message-flow graph, or `needed` does not fit it.
    """
    charges = [needed.astype(np.float64)]
    for block in mfg.blocks:
        row = np.repeat(np.arange(block.n_dst), block.degrees())
        before = np.cumsum(block.degrees()) - block.degrees()
        source = block.indices[np.arange(row.size) + (block.start - before)[row]]
        consumers = np.bincount(source, minlength=block.n_src)
        consumers[: block.n_dst] += 1
        portion = charges[-1] / np.maximum(consumers, 1)
        charge = portion[: block.n_dst].copy()
        np.add.at(charge, row, portion[source])
        charges.append(charge)
    return tuple(charges)
