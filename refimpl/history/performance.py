"""Which features and embeddings are worth their place in the buffer: the policy for performance.

FreshGNN (text on Figure 14) has a policy that "prioritizes embeddings with high memory access
savings", and no estimator of them. The one here is this project's own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.graph import Graph
from refimpl.hints import (
    Fanouts,
    Float,
    Floats,
    Int,
    Integers,
    Mask,
    Matrix,
    SampleMode,
    bound,
)
from refimpl.history.policy import MOST


class PerformancePolicy(NamedTuple):
    """What the buffer should hold: `plan_performance` returns it.

    Attributes
    ----------
    theta : float
        Feature rows saved an iteration by a float of the buffer, at the margin.
    ok : (L - 1, n) bool array
        ``ok[l - 1, v]``: the embedding of node v at layer l may be admitted, if the policy for
        accuracy admits it as well. Nodes that were not met in the profile are never admitted.
    kept : (n,) bool array
        Features for which the buffer has room.
    density : (L - 1, n) float64 array
        What `theta` is compared with.
    hotness : (n,) float64 array
        Share of the batches that load each node: the order in which features fill the buffer.
    """

    theta: float
    ok: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
    kept: Mask
    density: Matrix[np.float64]
    hotness: Floats[np.float64]


def planning_arguments(
    gnn,
    graph,
    train,
    fanouts,
    batch_size,
    seed,
    floats,
    d,
    h,
    p,
    t_stale,
    cache_layers,
    rounds,
    mode,
):
    """Check the arguments of `plan_performance` that `count_visits` does not check; return all."""
    rounds = require.integer("rounds", rounds, 1, MOST)
    fanouts = require.sequence("fanouts", fanouts)
    if not fanouts:
        raise ValueError("fanouts must have at least one layer")
    train, seed = require.array("train", train), require.word("seed", seed)
    batch_size = require.integer("batch_size", batch_size, 1)
    floats = require.integer("floats", floats, 0, 2**63 - 1)
    d, h = require.integer("d", d, 1, MOST), require.integer("h", h, 1, MOST)
    p = require.real("p", p, 0, strict=True, high=1)
    t_stale = None if t_stale is None else require.integer("t_stale", t_stale, 1)
    if cache_layers is not None:
        cache_layers = _layers(cache_layers, len(fanouts))
    sampling = gnn, graph, train, fanouts, batch_size, seed
    return *sampling, floats, d, h, p, t_stale, cache_layers, rounds, mode


@bound
@checked_by(planning_arguments)
def plan_performance(
    gnn,
    graph: Graph,
    train: Integers,
    fanouts: Fanouts,
    batch_size: Int,
    *,
    seed: Int,
    floats: Int,
    d: Int,
    h: Int,
    p: Float,
    t_stale: Int | None,
    cache_layers: Integers | None = None,
    rounds: Int = 3,
    mode: SampleMode = "layered",
) -> PerformancePolicy:
    """Return which features and embeddings save most memory access for the room they take.

    A greedy knapsack over both, by feature rows saved an iteration and float. An embedding saves
    its `fair_share` of the rows that are not in the buffer as features, so the plan is made
    again with the features that the last one keeps. Takes `rounds` epochs of sampling, and
    O(L n log(L n)) time to sort. This project's reading of FreshGNN's Figure 14 (E-V17).

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    graph, train, fanouts, batch_size, seed, mode
        See `count_visits`.
    floats : int
        Size of the buffer.
    d, h : ints
        Width of a feature row, and of an embedding.
    p : float in (0, 1]
        Share of the embeddings that the policy for accuracy admits.
    t_stale : int or None
        Iterations that an embedding is valid; None is for ever.
    cache_layers : sequence of ints in [1, L - 1], optional
        Layers whose embeddings are cached (default: all).
    rounds : int
        Plans made, the first as if no feature were kept.

    Returns
    -------
    PerformancePolicy

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.
    """
    needed = None
    for _ in range(rounds):
        met = gnn.history.count_visits(
            graph, train, fanouts, batch_size, seed=seed, needed=needed, mode=mode
        )
        plan = knapsack(
            met, floats=floats, d=d, h=h, p=p, t_stale=t_stale, cache_layers=cache_layers
        )
        needed = ~plan.kept
    return plan


def knapsack(met, *, floats, d, h, p, t_stale, cache_layers=None):
    """Return the plan for one profile: whatever is densest, until the buffer is full.

    An embedding visited with probability rho an iteration, and admitted with probability p, is
    hit ``(1 - p^(rho T)) / (1 - p)`` times for each admission in a cycle of T iterations, and
    takes ``rho T p / (1 + x)`` slots of it, where x is that number times p: as if a hole were
    filled only when a cycle ends. So it is with header "cycle" of `BidirectionalCache`; "continue"
    fills holes at once and needs fewer slots. T is `t_stale`, but at most an epoch.

    Parameters
    ----------
    met : SamplingProfile
    floats, d, h, p, t_stale, cache_layers
        See `plan_performance`.

    Returns
    -------
    PerformancePolicy

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.
    """
    floats = require.integer("floats", floats, 0, 2**63 - 1)
    d, h = require.integer("d", d, 1, MOST), require.integer("h", h, 1, MOST)
    p = require.real("p", p, 0, strict=True, high=1)
    depth, n = len(met.rho), len(met.rho[0]) if met.rho else 0
    layers = _layers(cache_layers, depth)
    horizon = max(met.batches, 1)
    if t_stale is not None:
        horizon = min(require.integer("t_stale", t_stale, 1), horizon)
    density, slots = np.zeros((max(depth - 1, 0), n)), np.zeros((max(depth - 1, 0), n))
    for layer in layers:
        visits = met.rho[layer] * horizon
        hits = hits_per_admission(visits, p)
        density[layer - 1] = met.sigma[layer] * hits / (horizon * h)
        slots[layer - 1] = visits * p / (1 + hits * p)
    hotness = met.rho[0] if met.rho else np.zeros(0)
    values = np.concatenate([hotness / d, density.ravel()])
    sizes = np.concatenate([np.full(n, float(d)), slots.ravel() * h])
    order = np.argsort(-values, kind="stable")  # of equal ones, features first, then by layer
    order = order[values[order] > 0]
    fits = np.cumsum(sizes[order]) <= floats  # sizes are positive: True up to the cut
    theta = 0.0 if fits.all() else float(values[order[np.argmin(fits)]])
    kept = np.zeros(values.size, np.bool_)
    kept[order[fits]] = True
    return PerformancePolicy(theta, density > theta, kept[:n], density, hotness)


def hits_per_admission(visits, p):
    """Return the expected hits of an embedding while it is valid, for each time it is admitted.

    Parameters
    ----------
    visits : float64 array
        Expected visits in that time.
    p : float in (0, 1]
        Probability that a visit does not evict it.

    Returns
    -------
    float64 array
    """
    if p == 1:
        return visits.copy()
    return -np.expm1(visits * np.log(p)) / (1 - p)


def _layers(cache_layers, depth):
    """Return `cache_layers` as a sorted list, or raise."""
    if cache_layers is None:
        return list(range(1, depth))
    layers = require.sequence("cache_layers", cache_layers)
    return sorted({require.integer("cache_layers", k, 1, depth - 1) for k in layers})
