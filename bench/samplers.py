"""All samplers on large graphs: time per subgraph, per step and per scanned entry."""

import statistics

import numpy as np
from threadpoolctl import threadpool_limits

import fastimpl
from bench import probes
from bench.checks import check_subgraph, keys
from bench.command import Common
from bench.figures.experiments import sampler_scaling
from bench.markdown import table, threads_title
from bench.timing import median_seconds
from refimpl import Sampler
from refimpl.lab.data import kronecker, power_law

COMMON = Common(threads=True, rounds=7)
QUICK = {"shrink": 100, "together": 2}


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument(
        "--shrink", type=int, default=1, help="graphs and subgraphs so many times smaller"
    )
    parser.add_argument(
        "--together", type=int, default=8, help="subgraphs drawn in a call (default: 8)"
    )


def samplers(shrink):
    """Return the samplers, as training on large graphs would set them."""
    m, n = 1000 // shrink, 8000 // shrink
    frontier = [
        Sampler(name, m=m, n=n, deg_cap=30)
        for name in ("frontier", "dashboard", "pin_tile", "bucket")
    ]
    return [
        *frontier,
        Sampler("edge", b=4000 // shrink),
        Sampler("random_walk", r=2000 // shrink, h=3),
        Sampler("multiple_walks", m=m, n=n),
        Sampler("forest_fire", n=n),
    ]


def graphs(shrink):
    """Yield (name, graph)."""
    scale = 20 - (shrink - 1).bit_length()
    yield f"Kronecker, 2^{scale} nodes, mean degree 16", kronecker(scale, 16)
    for nodes, degree in ((153_000, 70), (9_700, 28)):
        n = max(nodes // shrink, 10 * degree)
        yield f"power law, {n:,} nodes, mean degree {degree}", power_law(n, degree)


def report(options):
    """Yield a table for each graph, and one of time against the size of the graph."""
    if not options.quick:  # over 1 GiB
        with threadpool_limits(1):
            reads, triad = probes.read_rate(options.rounds), probes.triad_rate(options.rounds)
        yield (
            f"One thread at most: random 4-byte reads over 1 GiB: {1e9 / reads:.1f} ns each; "
            f"triad: {triad / 1e9:.1f} GB/s."
        )
    yield f"Medians of {options.rounds} rounds of {options.together} subgraphs."
    first, *more = options.threads
    titles = ["sampler", f"ms a subgraph, {threads_title(first)}"]
    for t in more:
        titles += [threads_title(t), "ratio"]
    titles += ["nodes", "entries", "ns a step, alone", "ns a scanned entry"]
    for name, graph in graphs(options.shrink):
        degrees = graph.degrees()
        yield ""
        yield (
            f"**{name}**: {graph.e:,} entries, largest degree {degrees.max():,}, "
            f"{np.count_nonzero(degrees == 0):,} isolated nodes"
        )
        yield ""
        chosen = samplers(options.shrink)
        drawn = [checked(graph, one, options.together) for one in chosen]
        found = subgraph_seconds(graph, chosen, options.threads, options)
        rows = [row(graph, *each, found, options) for each in zip(chosen, drawn, strict=True)]
        yield from table(titles, rows)
    yield ""
    yield from sizes(options)


def checked(graph, sampler, count):
    """Return `count` subgraphs; check the first."""
    drawn = fastimpl.sample_many(graph, sampler, 0, 0, count)
    check_subgraph(graph, sampler, drawn[0])
    return drawn


def row(graph, sampler, drawn, found, options):
    """Return the cells of one sampler on one graph."""
    first, *more = (found[sampler.name, threads] for threads in options.threads)
    alone = nodes_seconds(graph, sampler, options.rounds)
    induction = induction_seconds(graph, [sub.nodes for sub in drawn], options.rounds)
    scanned = statistics.mean(int(graph.degrees()[sub.nodes].sum()) for sub in drawn)
    steps = statistics.mean(sub.counters.pops for sub in drawn)
    cells = [f"`{sampler.name}`", f"{1e3 * statistics.median(first):.2f}"]
    for seconds in more:
        ratio = statistics.median(a / b for a, b in zip(first, seconds, strict=True))
        cells += [f"{1e3 * statistics.median(seconds):.2f}", f"{ratio:.2f}"]
    return [
        *cells,
        f"{statistics.mean(len(sub.nodes) for sub in drawn):,.0f}",
        f"{statistics.mean(sub.graph.e for sub in drawn):,.0f}",
        f"{1e9 * alone / max(steps, 1):.0f}",
        f"{1e9 * induction / scanned:.2f}",
    ]


def subgraph_seconds(graph, chosen, threads, options):
    """Return the seconds of a subgraph of each sampler, by its name and the threads, in turns."""
    named = {sampler.name: sampler for sampler in chosen}
    about = named, threads, options.together, options.rounds
    return sampler_scaling.subgraph_seconds(fastimpl, graph, *about)


def nodes_seconds(graph, sampler, rounds):
    """Return the median seconds to draw the nodes of one sample, on one thread."""
    kernel, turns = getattr(fastimpl, sampler.name), iter(range(rounds + 1))

    def draw(*stream_keys):
        kernel(graph, *stream_keys, **sampler.options)

    with threadpool_limits(1):
        return median_seconds(draw, rounds, setup=lambda: keys(0, next(turns), sampler.streams))


def induction_seconds(graph, samples, rounds):
    """Return the median seconds of an induced subgraph and its transpose, on one thread."""

    def induce():
        for nodes in samples:
            fastimpl.induced_subgraph(graph, nodes)

    with threadpool_limits(1):
        return median_seconds(induce, rounds) / len(samples)


def sizes(options):
    """Yield the table of time against the number of nodes, at one mean degree."""
    first = options.threads[0]
    yield f"Time against the size of the graph: Kronecker, mean degree 16, {threads_title(first)}."
    yield ""
    rows, largest = [], 22 - (options.shrink - 1).bit_length()
    chosen = [s for s in samplers(options.shrink) if s.name in ("pin_tile", "bucket")]
    for scale in (largest - 4, largest - 2, largest):
        graph = kronecker(scale, 16)
        found = subgraph_seconds(graph, chosen, [first], options)
        ms = [1e3 * statistics.median(found[one.name, first]) for one in chosen]
        drawn = fastimpl.sample_many(graph, chosen[0], 0, 0, options.together)
        e = statistics.mean(sub.graph.e for sub in drawn)
        rows.append([f"2^{scale}", *(f"{x:.2f}" for x in ms), f"{e:,.0f}"])
    names = [f"`{one.name}`, ms a subgraph" for one in chosen]
    yield from table(["nodes", *names, "entries"], rows)
