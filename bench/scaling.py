"""What 1 to 256 ranks send one another in a step, counted, and a MODEL of their speed-up.

A rank has one worker, and holds the features of a part of the nodes: contiguous ids, as even as
can be. In step i of an epoch rank r has minibatch number i R + r, of the same minibatches for
every number of ranks R; minibatches that fill no step are left out. Counted are the steps of the
second epoch.

Neighbour sampling loads all input nodes. FreshGNN has a cache for each rank, filled in the first
epoch, with the policy for performance; embeddings are valid for a sixth of the steps of an epoch,
so the more ranks there are, the fewer are met again. As in `policies`, embeddings are ranked by
random numbers and no model is trained: rows depend on sampling, cache and pruning alone.

Features are read one-sidedly: a message is what one rank reads from another in a step, and all are
waited for together, or else in the rounds of `pairwise_exchange`. Gradients are averaged as
`gradient_exchange` says; training sends R - 1 messages more, with losses and counts.

The model is `parallel_step_seconds` with the bytes of the busiest rank, the larger of what it reads
and what is read from it, and the messages of the rank with the most. "One after another" adds the
computing, the reading and the exchange; "fetched ahead" reads while the step before computes, and
so takes the longer of the two. FreshGNN cannot: what it needs it knows when it has looked into its
cache, after the step before. Computing is measured here, on one thread, or given by --compute, and
taken to be the same for any number of ranks, although FreshGNN computes more the less it finds in
its cache.
"""

import statistics
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import fastimpl as gnn
from bench.command import Common, UsageError, numbers
from bench.demands import SEED, drawn_roots, even_parts, made_graph, minibatches
from bench.markdown import significant, table
from bench.plotting import Panel, draw
from bench.timing import elapsed
from bench.training import data_set, settings
from refimpl.cost_models import gradient_exchange, parallel_speedup, parallel_step_seconds
from refimpl.history.ring import OVERFLOWS
from refimpl.lab.apps.figures.counting import Policy, Rules, planned
from refimpl.lab.apps.figures.made import data_on
from refimpl.loader import pairwise_exchange
from refimpl.loader.features import one_sided_trace

COMMON = Common(plot=True)
QUICK = {"nodes": 800, "degree": 6, "batch": 4, "batches": 8, "features": 8, "hidden": 4}
QUICK |= {"ranks": [1, 2, 4], "timed_steps": 4}
BYTES = 4  # float32
MIB = 2**20
METHODS = "neighbour sampling", "FreshGNN"
IN_TURN, AHEAD = "one after another", "fetched ahead"
COUNTS = [
    "rows needed",
    "rows loaded",
    "from other ranks",
    "most of a rank",
    "busiest, MiB",
    "messages",
]
COUNTS += ["waits, at once", "waits, in rounds"]


class Load(NamedTuple):
    """What a rank loads in a step: means over steps, and over ranks where nothing else is said.

    needed, loaded, remote : input nodes, those not in its cache, and of these other ranks' rows
    most : of `remote`, of the rank that reads most
    busiest : bytes, of the rank and the direction with most
    messages, waits : of the rank with most
    rounds : of all ranks together
    """

    needed: float
    loaded: float
    remote: float
    most: float
    busiest: float
    messages: float
    waits: float
    rounds: float


def load(ids, needed, n, row_bytes):
    """Count what ranks load from one another.

    Parameters
    ----------
    ids : list of lists of arrays
        The nodes that rank r loads in step i at [i][r].
    needed : float
        Mean number of input nodes.
    n, row_bytes : int

    Returns
    -------
    Load
    """
    ranks = len(ids[0])
    ownership, found = even_parts(n, ranks), []
    for step in ids:
        demand, traces = np.zeros((ranks, ranks), np.int64), []
        for me, mine in enumerate(step):
            rows = ownership.split(mine)[0]
            traces.append(one_sided_trace(me, rows, row_bytes))
            for message in traces[-1].messages:
                demand[message.source, me] = message.bytes
        read, given = demand.sum(axis=0), demand.sum(axis=1)
        found.append(
            [
                sum(map(len, step)) / ranks,
                read.mean() / row_bytes,
                read.max() / row_bytes,
                max(read.max(), given.max()),
                max(len(trace.messages) for trace in traces),
                max(trace.rounds for trace in traces),
                len(pairwise_exchange(demand)),
            ]
        )
    return Load(needed, *map(float, np.mean(found, axis=0)))


def loaded_by_fresh(options, graph, roots, graphs, ranks):
    """Return the nodes that each rank loads in each step of the second epoch, for `load`."""
    d, h, steps = options.features, options.hidden, len(graphs[0]) // ranks
    rules = Rules(
        options.fanouts,
        options.batch,
        options.p_grad,
        max(1, steps // 6),
        options.share,
        options.overflow,
    )
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


def loads(options, graph, roots, graphs):
    """Return {method: a `Load` for each number of ranks}."""
    found, row_bytes = {method: [] for method in METHODS}, BYTES * options.features
    for ranks in options.ranks:
        steps = len(graphs[1]) // ranks
        inputs = [mfg.nodes[0] for mfg in graphs[1][: steps * ranks]]
        whole = [inputs[step * ranks : (step + 1) * ranks] for step in range(steps)]
        fresh = loaded_by_fresh(options, graph, roots, graphs, ranks)
        mean = sum(map(len, inputs)) / len(inputs)
        for method, ids in zip(METHODS, (whole, fresh), strict=True):
            found[method].append(load(ids, mean, graph.n, row_bytes))
    return found


def computing(options, dataset, method):
    """Return the number of parameters, and the median seconds of a step on one thread.

    The seconds are None where the options say what they are.
    """
    config = settings(
        method,
        rng=SEED,
        layers=len(options.fanouts),
        hidden=options.hidden,
        fanouts=tuple(options.fanouts),
        batch_size=options.batch,
        **fresh_options(options, dataset.graph.n) if method == "fresh" else {},
    )
    with threadpool_limits(1), gnn.make_trainer(dataset, config) as trainer:
        parameters = sum(W.size for W in trainer.state.weights.values())
        if options.compute:
            return parameters, None
        seconds = [elapsed(trainer.step) for _ in range(options.timed_steps)]
    return parameters, statistics.median(seconds[len(seconds) // 2 :])


def fresh_options(options, n):
    """Return the settings of FreshGNN in training that its counts have."""
    return {
        "p_grad": options.p_grad,
        "overflow": options.overflow,
        "buffer": BYTES * int(options.share * n * options.features),
        "hotness": "profile",
        "performance": True,
    }


def model(options, counts, parameters, compute, latency, bandwidth):
    """Return the speed-ups of both ways for each number of ranks, by `parallel_speedup`.

    Parameters
    ----------
    counts : list of Load
        For each of ``options.ranks``.
    parameters : int
    compute, latency, bandwidth : float

    Returns
    -------
    dict
        {way: list of float}
    """
    link, found = {"latency": latency, "bandwidth": bandwidth}, {}
    for ranks, one in zip(options.ranks, counts, strict=True):
        sent = gradient_exchange(parameters, ranks)
        exchange = parallel_step_seconds(0, sent.messages, BYTES * sent.numbers, **link)
        reading = parallel_step_seconds(0, one.messages, one.busiest, **link)
        together = {
            IN_TURN: compute + reading + exchange,
            AHEAD: max(compute, reading) + exchange,
        }
        for way, seconds in together.items():
            found.setdefault(way, []).append(float(parallel_speedup(ranks, compute, seconds)))
    return found


def networks(text):
    """Return pairs (latency, bandwidth)."""
    found = numbers(float)(text)
    if len(found) % 2 or min(found[::2]) < 0 or min(found[1::2], default=0) <= 0:
        raise ValueError(text)
    return list(zip(found[::2], found[1::2], strict=True))


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--data", help="a folder or a name; default: a power law with --nodes")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--degree", type=float, default=20, help="mean")
    parser.add_argument("--ranks", type=numbers(int), default=[2**k for k in range(9)])
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--batches", type=int, default=512, help="of an epoch, without --data")
    parser.add_argument("--fanouts", type=numbers(int), default=[8, 6, 4])
    parser.add_argument("--features", type=int, default=128, help="of a node, without --data")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--p-grad", type=float, default=0.9)
    parser.add_argument("--share", type=float, default=0.08, help="a rank's buffer over features")
    parser.add_argument("--overflow", default="wrap", choices=OVERFLOWS)
    parser.add_argument(
        "--compute",
        type=numbers(float),
        help="seconds of a step of neighbour sampling and of FreshGNN (default: measured)",
    )
    parser.add_argument("--timed-steps", type=int, default=200, help="to measure computing")
    parser.add_argument(
        "--networks",
        type=networks,
        default=[(2e-6, 12.5e9), (5e-5, 1.25e9)],
        help="seconds of latency, bytes a second, ..: 2e-6,12.5e9,5e-5,1.25e9",
    )


def data_of(options):
    """Return the data set, graph and roots that the options ask for; fill in what it says."""
    if options.data:
        dataset = data_set(options.data)
        options.features = dataset.features.shape[1]
    else:
        graph = made_graph(options.nodes, options.degree)
        count = options.batch * options.batches
        if count > graph.n:
            raise UsageError("--batch x --batches must be at most --nodes")
        dataset = data_on(graph, drawn_roots(graph.n, count), options.features)
    if options.compute and (len(options.compute) != len(METHODS) or min(options.compute) <= 0):
        raise UsageError("--compute must be two numbers above 0")
    batches = len(dataset.roots) // options.batch
    if not 1 <= min(options.ranks) <= max(options.ranks) <= batches:
        raise UsageError(f"--ranks must be from 1 to the {batches} whole minibatches of an epoch")
    return dataset, dataset.train_graph, dataset.roots


def report(options):
    """Yield what is loaded, what is exchanged, and the model; draw it if asked."""
    dataset, graph, roots = data_of(options)
    yield (
        f"{graph.n:,} nodes, {graph.e:,} entries, {len(roots):,} roots, "
        f"batches of {options.batch}, rows of {options.features} float32. Of a rank in a step:"
    )
    roots = roots[: len(roots) // options.batch * options.batch]
    graphs = [list(minibatches(graph, roots, options.batch, options.fanouts, e)) for e in (0, 1)]
    counts = loads(options, graph, roots, graphs)
    for method in METHODS:
        yield from ["", f"**{method}:** features.", ""]
        yield from table(["ranks", *COUNTS], map(cells, options.ranks, counts[method]))
    computed = [computing(options, dataset, name) for name in ("neighbor", "fresh")]
    parameters, seconds = computed[0][0], options.compute or [one[1] for one in computed]
    sent = [gradient_exchange(parameters, ranks) for ranks in options.ranks]
    yield from ["", f"**Gradients:** {parameters:,} parameters.", ""]
    yield from table(["ranks", "numbers", "MiB", "messages"], map(sent_cells, options.ranks, sent))
    of_each = ", ".join(f"{1e3 * s:.2f} ms ({m})" for m, s in zip(METHODS, seconds, strict=True))
    how = "given" if options.compute else "measured"
    yield from ["", f"**Model:** speed-up over one rank. Computing, {how}: {of_each}."]
    panels = []
    for network in options.networks:
        curves = speedups(options, counts, parameters, seconds, network)
        name = "{} us, {} GB/s".format(*map(significant, (1e6 * network[0], network[1] / 1e9)))
        rows = [map("{:.2f}".format, row) for row in zip(*curves.values(), strict=True)]
        rows = [[ranks, *row] for ranks, row in zip(options.ranks, rows, strict=True)]
        yield from ["", f"{name}:", "", *table(["ranks", *curves], rows)]
        log = {"xscale": "log", "yscale": "log", "yticks": options.ranks}
        log["yticklabels"] = options.ranks
        curves = {"as many as ranks": options.ranks, **curves}
        panels.append(Panel(name, "ranks", "speed-up, model", options.ranks, curves, log))
    if options.plot:
        read = {name: [one.busiest / MIB for one in counts[name]] for name in METHODS}
        read["gradients"] = [BYTES * one.numbers / MIB for one in sent]
        last = Panel(
            "counted", "ranks", "MiB of a rank and step", options.ranks, read, {"xscale": "log"}
        )
        draw(options.plot, [*panels, last])


def speedups(options, counts, parameters, seconds, network):
    """Return {method and way: what `model` gives} on a network (latency, bandwidth)."""
    found = {}
    for method, compute in zip(METHODS, seconds, strict=True):
        ways = model(options, counts[method], parameters, compute, *network)
        found |= {f"{method}, {way}": values for way, values in ways.items()}
    del found[f"FreshGNN, {AHEAD}"]
    return found


def sent_cells(ranks, one):
    """Return a row of a table of `ExchangeCounts`."""
    return [ranks, f"{one.numbers:,.0f}", f"{BYTES * one.numbers / MIB:.2f}", f"{one.messages:.0f}"]


def cells(ranks, one):
    """Return a row of a table of `Load`."""
    rows = [f"{x:,.0f}" for x in (one.needed, one.loaded, one.remote, one.most)]
    return [ranks, *rows, f"{one.busiest / MIB:.2f}", *(f"{x:.1f}" for x in one[5:])]
