"""Rows that policies of FreshGNN's cache load, counted without training a model.

All policies meet the same batches with the same sampled neighbours, and rank embeddings by
random numbers instead of gradients: what is counted, the rows that are loaded, depends on
sampling, cache and pruning alone.
"""

from dataclasses import dataclass
from itertools import islice

import numpy as np

from refimpl.streams import CONTROL, key

SEED = 0


@dataclass(frozen=True)
class Rules:
    """What all policies share.

    Attributes
    ----------
    fanouts : sequence of int
        The roots' first.
    batch : int
    p_grad : float
    t_stale : int
    share : float
        Of all features, which the buffer has room for.
    overflow : str
        See `BidirectionalCache`.
    """

    fanouts: tuple[int, ...]
    batch: int
    p_grad: float
    t_stale: int
    share: float
    overflow: str

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
            ids = mfg.nodes[layer][live.order[layer]]
            self._update(layer, ids, live.computed[layer - 1], i)
        return loaded

    def _update(self, layer, ids, computed, i):
        allow = None
        if self.plan is not None:
            order = np.lexsort((ids, -self.plan.density[layer - 1, ids]))
            ids, computed = ids[order], computed[order]
            allow = self.plan.ok[layer - 1, ids]
        self.gnn.policy_update(
            self.cache,
            layer,
            ids,
            np.zeros(len(ids)),
            computed,
            np.zeros((len(ids), self.width), np.float32),
            i,
            p=self.p,
            control="random",
            key=key(SEED, CONTROL, i, layer),
            allow=allow,
        )


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
    return gnn.history.plan_performance(
        graph,
        roots,
        rules.fanouts,
        rules.batch,
        seed=SEED,
        floats=rules.floats(graph.n, d),
        d=d,
        h=h,
        p=rules.p_grad,
        t_stale=rules.t_stale,
    )


def graphs_of_batches(gnn, rules, graph, roots):
    """Yield the message-flow graphs of one epoch after another."""
    epoch = 0
    while True:
        batches = gnn.samplers.epoch_batches(roots, rules.batch, SEED, epoch)
        with gnn.Prefetcher(
            graph, batches, rules.fanouts, seed=SEED, epoch=epoch, workers=1
        ) as found:
            for _, mfg in found:
                yield mfg
        epoch += 1


def shares_saved(gnn, rules, graph, roots, d, h, *, iterations, counted):
    """Return the share of rows saved by each policy, over the last `counted` iterations."""
    contestants, inputs = policies(gnn, rules, graph, roots, d, h), []
    graphs = graphs_of_batches(gnn, rules, graph, roots)
    for i, mfg in enumerate(islice(graphs, iterations)):
        inputs.append(len(mfg.nodes[0]))
        for policy in contestants.values():
            policy.step(i, mfg)
    needed = sum(inputs[-counted:])
    return {
        name: 1 - sum(policy.loaded[-counted:]) / needed for name, policy in contestants.items()
    }
