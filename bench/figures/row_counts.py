"""Rows counted without training a model: what FreshGNN's caches load, and what ranks exchange.

All policies of a cache meet the same batches with the same sampled neighbours, and rank embeddings
by random numbers instead of gradients: the rows that are loaded depend on sampling, cache and
pruning alone. Rank p holds the nodes of part p of the graph: contiguous ids, parts as even as they
can be.
"""

from itertools import chain, count, islice
from typing import NamedTuple

import numpy as np

from bench.figures.synthetic_data import SEED
from refimpl.loader.store import Ownership
from refimpl.streams import CONTROL, key


class Rules(NamedTuple):
    """What all policies share; `share` is that of all features that the buffer has room for."""

    fanouts: tuple[int, ...]  # the roots' first
    batch: int
    p_grad: float
    t_stale: int
    share: float
    overflow: str  # see `BidirectionalCache`

    def floats(self, n, d):
        """Return the numbers that the buffer holds, beside n nodes with d features."""
        return int(self.share * n * d)


def rules_of(sizes, *, t_stale, overflow):
    """Return the rules that the sizes of a figure give."""
    shared = {key: sizes[key] for key in ("batch", "p_grad", "share")}
    return Rules(fanouts=tuple(sizes["fanouts"]), t_stale=t_stale, overflow=overflow, **shared)


class Policy:
    """A cache and how it is filled; `loaded` counts the rows that were not in it."""

    def __init__(self, gnn, rules, graph, hotness, d, h, *, cache=None, p=None, plan=None):
        self.gnn, self.plan = gnn, plan
        self.p = rules.p_grad if p is None else p
        self.layers = range(len(rules.fanouts) - 1, 0, -1) if self.p else ()
        sizes = graph.n, d, h, len(rules.fanouts) - 1, rules.floats(graph.n, d)
        make = cache or gnn.BidirectionalCache
        self.cache = make(*sizes, t_stale=rules.t_stale, overflow=rules.overflow)
        self.width = h
        if hotness is not None:
            self.cache.fill(np.zeros((graph.n, d), np.float32), hotness)
        self.loaded = []

    def step(self, i, mfg):
        """Look up, prune, load and update as training does; return the nodes that are loaded.

        See `fresh_iteration`.
        """
        slots = [np.full(len(ids), -1, np.int32) for ids in mfg.nodes[1:]]
        for layer in self.layers:
            slots[layer - 1] = self.cache.lookup(layer, mfg.nodes[layer], i)
        pruned = self.gnn.prune_mfg(mfg, [found >= 0 for found in slots])
        live = self.gnn.history.live_layers(pruned)
        needed = mfg.nodes[0][live.order[0]]
        loaded = needed[~self.cache.fetch_features(needed)[1]]
        self.loaded.append(len(loaded))
        if not self.layers:
            return loaded
        self.cache.begin_update(i)
        for layer in self.layers:
            ids, computed = mfg.nodes[layer][live.order[layer]], live.computed[layer - 1]
            own = {"p": self.p, "control": "random", "key": key(SEED, CONTROL, i, layer)}
            if self.plan is not None:
                order = np.lexsort((ids, -self.plan.density[layer - 1, ids]))
                ids, computed = ids[order], computed[order]
                own["allow"] = self.plan.ok[layer - 1, ids]
            rows = np.zeros(len(ids)), computed, np.zeros((len(ids), self.width), np.float32)
            self.gnn.policy_update(self.cache, layer, ids, *rows, i, **own)
        return loaded


def policies(gnn, rules, graph, roots, d, h):
    """Return the policies of Figure 14 by name, in its order; FreshGNN's without features first."""
    sampling = graph, roots, rules.fanouts, rules.batch
    met = gnn.history.count_visits(*sampling, seed=SEED)
    plan = planned(gnn, rules, graph, roots, d, h)
    degree = gnn.history.degree_hotness(graph)
    ranks = gnn.history.reverse_pagerank(graph, roots)
    common = gnn, rules, graph
    return {
        "degree": Policy(*common, degree, d, h, p=0),
        "PageRank": Policy(*common, ranks, d, h, p=0),
        "profile": Policy(*common, met.rho[0], d, h, p=0),
        "embeddings": Policy(*common, None, d, h),
        "half and half": Policy(*common, met.rho[0], d, h, cache=gnn.history.StaticSplitCache),
        "bidirectional": Policy(*common, met.rho[0], d, h),
        "with performance": Policy(*common, plan.hotness, d, h, plan=plan),
    }


def planned(gnn, rules, graph, roots, d, h):
    """Return what `plan_performance` chooses under the rules."""
    sampling = graph, roots, rules.fanouts, rules.batch
    own = {"floats": rules.floats(graph.n, d), "p": rules.p_grad, "t_stale": rules.t_stale}
    return gnn.history.plan_performance(*sampling, seed=SEED, d=d, h=h, **own)


def minibatches(gnn, graph, roots, batch, fanouts, epoch=0):
    """Yield the message-flow graphs of an epoch, in its order, as training draws them."""
    batches = gnn.samplers.epoch_batches(roots, batch, SEED, epoch)
    for number, chosen in enumerate(batches):
        yield gnn.sample_mfg(graph, chosen, fanouts, seed=SEED, epoch=epoch, batch=number)


def shares_saved(gnn, rules, graph, roots, d, h, *, iterations, counted):
    """Return the share of rows saved by each policy, over the last `counted` iterations."""
    contestants, inputs = policies(gnn, rules, graph, roots, d, h), []
    about = gnn, graph, roots, rules.batch, rules.fanouts
    graphs = chain.from_iterable(minibatches(*about, epoch) for epoch in count())
    for i, mfg in enumerate(islice(graphs, iterations)):
        inputs.append(len(mfg.nodes[0]))
        for policy in contestants.values():
            policy.step(i, mfg)
    needed = sum(inputs[-counted:])
    return {
        name: 1 - sum(policy.loaded[-counted:]) / needed for name, policy in contestants.items()
    }


def even_parts(n, parts):
    """Return who owns which of n nodes."""
    return Ownership(np.diff(n * np.arange(parts + 1) // parts).tolist())


def rows_of_others(ids, n):
    """Return the rows of rank s, at [s, d], that rank d loads with ``ids[d]``; 0 where s is d."""
    ownership = even_parts(n, len(ids))
    found = np.array([[len(rows) for rows in ownership.split(mine)[0]] for mine in ids]).T
    np.fill_diagonal(found, 0)
    return found


def rows_between(graphs, n, ranks, steps):
    """Return `rows_of_others` of each step: in step i, rank r has minibatch i * ranks + r."""
    needed = (mfg.nodes[0] for mfg in graphs)
    return np.array([rows_of_others(list(islice(needed, ranks)), n) for _ in range(steps)])
