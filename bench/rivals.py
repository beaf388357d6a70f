"""Nodes that neighbour sampling, LABOR and dependent minibatches load, and rows read past a cache.

Counts, not times: they are the same on any machine, busy or not. The graph is a Kronecker graph.
Every sampler draws for the same roots. A row is the mean of the batches after the first quarter,
which fill the cache. The cache keeps the rows that were used latest (LRU, by batches); other rows
are read. Neither LABOR nor dependent minibatches are in the three papers. `python -m bench scores`
trains with them.
"""

import numpy as np

import fastimpl
from bench.command import Common, UsageError, numbers
from bench.growth import kronecker
from bench.markdown import table
from refimpl.samplers.labor import ROUNDS

COMMON = Common(timed=False)
QUICK = {"scale": 9, "batch": 10, "batches": 8, "fanouts": [3, 2], "kappas": [1, 4]}
NEIGHBOR = "neighbour sampling"
LABOR = {"labor": "LABOR-0", "labor_exact": "LABOR, exactly k"}
LABOR |= {mode: f"LABOR-{rounds}" for mode, rounds in ROUNDS.items()}


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--scale", type=int, default=20, help="2 to the .. nodes")
    parser.add_argument("--degree", type=int, default=16, help="mean, about")
    parser.add_argument("--batch", type=int, default=1000, help="roots of a minibatch")
    parser.add_argument("--batches", type=int, default=64, help="of an epoch")
    parser.add_argument("--fanouts", type=numbers(int), default=[15, 10, 5])
    parser.add_argument("--kappas", type=numbers(int), default=[1, 16, 64, 256])
    parser.add_argument("--cache", type=float, default=0.1, help="share of all rows that it holds")


def report(options):
    """Draw with every sampler; yield the table."""
    if options.batches < 4 or not 0 <= options.cache <= 1:
        raise UsageError("--batches must be at least 4, and --cache in [0, 1]")
    graph = kronecker(options.scale, options.degree)
    linked = np.flatnonzero(graph.degrees()).astype(np.int32)
    roots = fastimpl.samplers.epoch_batches(linked, options.batch, 0, 0)[: options.batches]
    yield (
        f"{graph}, {len(roots)} batches of {options.batch}, fan-outs {options.fanouts}, a cache of "
        f"{options.cache:.0%} of the rows."
    )
    yield ""
    rows = {name: counts(graph, roots, how, options) for name, how in samplers(options).items()}
    yield from table(
        ["sampler", "distinct nodes", "fewer", "entries a row", "rows read", "fewer than kappa 1"],
        [cells(name, rows) for name in rows],
    )


def samplers(options):
    """Return the arguments of each sampler, by its name."""
    found = {NEIGHBOR: {"mode": "layered"}}
    for mode, name in LABOR.items():
        for kappa in options.kappas:
            found[f"{name}, kappa {kappa}"] = {"mode": mode, "batch_dependency": kappa}
    return found


def counts(graph, roots, how, options):
    """Return (distinct nodes, entries of a row below its degree, rows read) of a batch, means."""
    cache, found = Cache(graph.n, round(options.cache * graph.n)), []
    for b, nodes in enumerate(roots):
        mfg = fastimpl.sample_mfg(graph, nodes, options.fanouts, seed=0, epoch=0, batch=b, **how)
        entries, rows = sum(one.e for one in mfg.blocks), sum(one.n_dst for one in mfg.blocks)
        found.append((len(mfg.nodes[0]), entries / rows, cache.read(mfg.nodes[0])))
    return np.mean(found[len(found) // 4 :], axis=0)


class Cache:
    """The rows that were used latest, of `n`; of those of one batch the lower ones go first."""

    def __init__(self, n, room):
        self.used, self.room, self.time = np.full(n, -1), room, 0
        self.held = np.empty(0, np.int64)

    def read(self, nodes):
        """Use the rows of these nodes; return how many were not there."""
        missing = len(np.setdiff1d(nodes, self.held, assume_unique=True))
        self.used[nodes] = self.time
        self.time += 1
        known = np.union1d(self.held, nodes)
        order = np.argsort(self.used[known], kind="stable")
        self.held = known[order[max(len(known) - self.room, 0) :]]
        return missing


def cells(name, rows):
    """Return the cells of a sampler."""
    distinct, entries, read = rows[name]
    independent = rows.get(f"{name.rpartition(' kappa ')[0]} kappa 1")
    less = f"{independent[2] / read:.2f}" if independent is not None and read else "-"
    ratio = f"{rows[NEIGHBOR][0] / distinct:.2f}"
    return [name, f"{distinct:,.0f}", ratio, f"{entries:.2f}", f"{read:,.0f}", less]
