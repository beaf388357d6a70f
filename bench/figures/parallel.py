"""What 1 to 256 ranks send one another in a step, counted, and a MODEL of their speed-up.

A rank has one worker, and holds the features of a part of the nodes: contiguous ids, as even as
can be. In step i of an epoch rank r has minibatch number i R + r, of the same minibatches for
every number of ranks R; minibatches that fill no step are left out. Counted are the steps of the
second epoch.

Neighbour sampling loads all input nodes. FreshGNN has a cache for each rank, filled in the first
epoch, with the policy for performance; embeddings are valid for a sixth of the steps of an epoch,
so the more ranks there are, the fewer are met again. As in `counting`, embeddings are ranked by
random numbers and no model is trained: rows depend on sampling, cache and pruning alone.

Features are read one-sidedly: a message is what one rank reads from another in a step, and all are
waited for together. Gradients are averaged as
`gradient_exchange` says; training sends R - 1 messages more, with losses and counts.

The model is `parallel_step_seconds` with the bytes of the busiest rank, the larger of what it reads
and what is read from it, and the messages of the rank with the most. "One after another" adds the
computing, the reading and the exchange; "fetched ahead" reads while the step before computes, and
so takes the longer of the two. FreshGNN cannot: what it needs it knows when it has looked into its
cache, after the step before. Computing is measured on one thread, and taken to be the same for any
number of ranks, although FreshGNN computes more the less it finds in its cache.
"""

from typing import NamedTuple

import numpy as np

from bench.figures.cache_counts import Policy, planned, rules_of
from bench.figures.remote_row_counts import even_parts
from refimpl.cost_models import gradient_exchange, parallel_speedup, parallel_step_seconds
from refimpl.loader.features import one_sided_trace

BYTES = 4  # float32
NEIGHBOR, FRESH = "neighbour sampling", "FreshGNN"
METHODS = NEIGHBOR, FRESH
IN_TURN, AHEAD = "one after another", "fetched ahead"


class Load(NamedTuple):
    """What ranks load in a step: means over steps, and over ranks where nothing else is said.

    loaded, remote : rows that are not in a rank's cache, and of these other ranks' rows
    busiest : bytes, of the rank and the direction with most
    messages : of the rank with most
    """

    loaded: float
    remote: float
    busiest: float
    messages: float


def load(ids, n, row_bytes):
    """Count what ranks load from one another: rank r loads the nodes ``ids[i][r]`` in step i."""
    ranks = len(ids[0])
    ownership, found = even_parts(n, ranks), []
    for step in ids:
        demand, messages = np.zeros((ranks, ranks), np.int64), 0
        for me, mine in enumerate(step):
            trace = one_sided_trace(me, ownership.split(mine)[0], row_bytes)
            messages = max(messages, len(trace.messages))
            for message in trace.messages:
                demand[message.source, me] = message.bytes
        read, given = demand.sum(axis=0), demand.sum(axis=1)
        loaded, remote = sum(map(len, step)) / ranks, read.mean() / row_bytes
        found.append([loaded, remote, max(read.max(), given.max()), messages])
    return Load(*map(float, np.mean(found, axis=0)))


def loaded_by_fresh(gnn, sizes, graph, roots, graphs, ranks):
    """Return the nodes that each rank loads in each step of the second epoch, for `load`."""
    d, h, steps = sizes["features"], sizes["hidden"], len(graphs[0]) // ranks
    rules = rules_of(sizes, t_stale=max(1, steps // 6), overflow=sizes["overflow"])
    plan = planned(gnn, rules, graph, roots, d, h)
    found = [[None] * ranks for _ in range(steps)]
    for rank in range(ranks):
        policy = Policy(gnn, rules, graph, plan.hotness, d, h, plan=plan)
        for epoch, of_epoch in enumerate(graphs):
            for step in range(steps):
                ids = policy.step(epoch * steps + step, of_epoch[step * ranks + rank])
                if epoch:
                    found[step][rank] = ids
    return found


def loads(gnn, sizes, graph, roots, graphs, ranks):
    """Return {method: its `Load` on so many ranks}; `graphs` are those of two epochs."""
    steps, row_bytes = len(graphs[1]) // ranks, BYTES * sizes["features"]
    inputs = [mfg.nodes[0] for mfg in graphs[1][: steps * ranks]]
    whole = [inputs[step * ranks : (step + 1) * ranks] for step in range(steps)]
    fresh = loaded_by_fresh(gnn, sizes, graph, roots, graphs, ranks)
    return {
        NEIGHBOR: load(whole, graph.n, row_bytes),
        FRESH: load(fresh, graph.n, row_bytes),
    }


def speedups(ranks, messages, busiest, parameters, compute, latency, bandwidth):
    """Return {way: the speed-up of so many ranks, by the model}.

    `messages` and `busiest` are those of a `Load`; `compute` are the seconds of a step, and the
    gradients of so many parameters are averaged.
    """
    link = {"latency": latency, "bandwidth": bandwidth}
    sent = gradient_exchange(parameters, ranks)
    exchange = parallel_step_seconds(0, sent.messages, BYTES * sent.numbers, **link)
    reading = parallel_step_seconds(0, messages, busiest, **link)
    together = {
        IN_TURN: compute + reading + exchange,
        AHEAD: max(compute, reading) + exchange,
    }
    return {
        way: float(parallel_speedup(ranks, compute, seconds)) for way, seconds in together.items()
    }
