"""Rows saved by each policy of FreshGNN's cache (its Figure 14): counts, no times.

All policies meet the same batches with the same sampled neighbours, and rank embeddings by
random numbers instead of gradients, so that no model is trained: what is counted, the rows that
are loaded, depends on sampling, cache and pruning alone. The share saved is a ratio of sums over
the last iterations. The buffer has a share of the size of all features, and an embedding is valid
for a sixth of an epoch.
"""

from itertools import islice

import numpy as np

import fastimpl as gnn
from bench.command import Common, UsageError, numbers
from bench.markdown import head, line
from bench.training import data_set
from refimpl.history.ring import OVERFLOWS
from refimpl.lab.data import power_law
from refimpl.streams import CONTROL, SHUFFLE, key

COMMON = Common(timed=False)
QUICK = {"nodes": 2000, "iterations": 12, "counted": 6}
SEED = 0


class Policy:
    """A cache and how it is filled; `loaded` counts the rows that were not in it."""

    def __init__(self, options, graph, hotness, d, h, *, cache=None, p=None, plan=None):
        self.plan = plan
        self.p = options.p_grad if p is None else p
        self.layers = range(len(options.fanouts) - 1, 0, -1) if self.p else ()
        sizes = graph.n, d, h, len(options.fanouts) - 1, options.floats(d, graph.n)
        make = cache or gnn.BidirectionalCache
        self.cache = make(*sizes, t_stale=options.age, overflow=options.overflow)
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
        live = gnn.history.live_layers(gnn.prune_mfg(mfg, [found >= 0 for found in slots]))
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
        gnn.policy_update(
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


def policies(options, graph, roots, d, h):
    """Return the policies of Figure 14 by name, in its order."""
    sampling = graph, roots, options.fanouts, options.batch
    met = gnn.history.count_visits(*sampling, seed=SEED)
    plan = gnn.history.plan_performance(
        *sampling,
        seed=SEED,
        floats=options.floats(d, graph.n),
        d=d,
        h=h,
        p=options.p_grad,
        t_stale=options.age,
    )
    degree = gnn.history.degree_hotness(graph)
    ranks = gnn.history.reverse_pagerank(graph, roots)
    common = options, graph
    return {
        "degree": Policy(*common, degree, d, h, p=0),
        "PageRank": Policy(*common, ranks, d, h, p=0),
        "profile": Policy(*common, met.rho[0], d, h, p=0),
        "embeddings": Policy(*common, None, d, h),
        "half and half": Policy(*common, met.rho[0], d, h, cache=gnn.history.StaticSplitCache),
        "bidirectional": Policy(*common, met.rho[0], d, h),
        "with performance": Policy(*common, plan.hotness, d, h, plan=plan),
    }


def graphs_of_batches(options, graph, roots):
    """Yield the message-flow graphs of one epoch after another."""
    epoch = 0
    while True:
        batches = gnn.samplers.epoch_batches(roots, options.batch, SEED, epoch)
        with gnn.Prefetcher(
            graph, batches, options.fanouts, seed=SEED, epoch=epoch, workers=1
        ) as found:
            for _, mfg in found:
                yield mfg
        epoch += 1


def shares_saved(options, graph, roots, d, h):
    """Return the share of rows saved by each policy."""
    contestants, inputs = policies(options, graph, roots, d, h), []
    for i, mfg in enumerate(islice(graphs_of_batches(options, graph, roots), options.iterations)):
        inputs.append(len(mfg.nodes[0]))
        for policy in contestants.values():
            policy.step(i, mfg)
    needed = sum(inputs[-options.counted :])
    return {
        name: 1 - sum(policy.loaded[-options.counted :]) / needed
        for name, policy in contestants.items()
    }


def widths(text):
    """Return pairs (d, h) of numbers from 1."""
    found = numbers(int)(text)
    if len(found) % 2 or min(found) < 1:
        raise ValueError(text)
    return list(zip(found[::2], found[1::2], strict=True))


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--data", help="a folder or a name; default: a power law with --nodes")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--roots", type=float, default=0.05, help="share of nodes without --data")
    parser.add_argument("--fanouts", type=numbers(int), default=[8, 6, 4])
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument(
        "--widths", type=widths, default=[(768, 256), (128, 256)], help="pairs d,h: 768,256,.."
    )
    parser.add_argument("--p-grad", type=float, default=0.9)
    parser.add_argument("--share", type=float, default=0.08, help="buffer over all features")
    parser.add_argument("--overflow", default="drop", choices=OVERFLOWS)
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--counted", type=int, default=200, help="of these, at the end")


def report(options):
    """Yield the table, a row for each pair of widths."""
    if not 1 <= options.counted <= options.iterations:
        raise UsageError("--counted must be at least 1 and at most --iterations")
    if options.data:
        dataset = data_set(options.data)
        graph, roots = dataset.graph, dataset.train
    else:
        graph = power_law(options.nodes, 38, exponent=2.3)
        count = int(options.roots * graph.n)
        roots = gnn.streams.pick_without_replacement(key(SEED, SHUFFLE, 0), 0, graph.n, count)
    options.age = max(1, -(-len(roots) // options.batch) // 6)
    options.floats = lambda d, n: int(options.share * n * d)
    yield f"{graph.n:,} nodes, {graph.e:,} entries, {len(roots):,} roots, age {options.age}"
    yield ""
    for number, (d, h) in enumerate(options.widths):
        saved = shares_saved(options, graph, roots, d, h)
        assert all(0 <= share <= 1 for share in saved.values())
        if not number:
            yield from head(["d, h", *saved])
        yield line([f"{d}, {h}", *(f"{share:.3f}" for share in saved.values())])
