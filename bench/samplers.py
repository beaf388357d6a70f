"""All samplers on large graphs: time per subgraph, per step and per scanned entry, as Markdown."""

import os
import statistics
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

import fastimpl
import refimpl
from bench import probes
from refimpl import Sampler
from refimpl.lab.backend import find
from refimpl.lab.data import kronecker, power_law
from refimpl.streams import SAMPLE

ROUNDS, COUNT = 7, 8
SAMPLERS = [
    Sampler("frontier", m=1000, n=8000, deg_cap=30),
    Sampler("dashboard", m=1000, n=8000, deg_cap=30),
    Sampler("pin_tile", m=1000, n=8000, deg_cap=30),
    Sampler("bucket", m=1000, n=8000, deg_cap=30),
    Sampler("edge", b=4000),
    Sampler("random_walk", r=2000, h=3),
    Sampler("multiple_walks", m=1000, n=8000),
    Sampler("forest_fire", n=8000),
]
GRAPHS = {
    "Kronecker, 2^20 nodes, mean degree 16": lambda: kronecker(20, 16),
    "power law, 153,000 nodes, mean degree 70": lambda: power_law(153_000, 70),
    "power law, 9,700 nodes, mean degree 28": lambda: power_law(9_700, 28),
}


def report():
    """Measure; return the Markdown."""
    lines = [
        f"Medians of {ROUNDS} rounds of {COUNT} subgraphs. One thread: {machine()}.",
        "",
    ]
    for name, make in GRAPHS.items():
        graph = make()
        degrees = graph.degrees()
        lines += [
            f"**{name}**: {graph.e:,} entries, largest degree {degrees.max():,}, "
            f"{np.count_nonzero(degrees == 0):,} isolated nodes",
            "",
            "| sampler | ms a subgraph, 1 thread | 2 threads | ratio | nodes | entries "
            "| ns a step | ns a scanned entry |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        lines += [row(graph, sampler) for sampler in SAMPLERS]
        lines.append("")
    lines += sizes()
    return "\n".join(lines) + "\n"


def machine():
    """Return the limits that bind samplers, measured now on one thread."""
    table = np.arange(2**28, dtype=np.int32)  # 1 GiB
    at = np.random.default_rng(0).integers(0, table.size, 2**22, dtype=np.int32)
    a, b, c = (np.ones(2**24) for _ in range(3))
    with threadpool_limits(1):
        reads = at.size / median_seconds(lambda: probes.gather(table, at))
        triad = 24 * a.size / median_seconds(lambda: probes.triad(a, b, c, 1))
    return (
        f"random 4-byte reads over 1 GiB: {1e9 / reads:.1f} ns each; "
        f"triad: {triad / 1e9:.1f} GB/s; load before: {os.getloadavg()[0]:.2f}"
    )


def row(graph, sampler):
    """Return the line of one sampler on one graph, its answer checked."""
    first = fastimpl.sample_many(graph, sampler, 0, 0, COUNT)
    check(graph, sampler, first[0])
    whole = {threads: subgraph_seconds(graph, sampler, threads) for threads in (1, 2)}
    counters = [sub.counters for sub in first]
    nodes_alone = nodes_seconds(graph, sampler)
    scanned = statistics.mean(int(graph.degrees()[sub.nodes].sum()) for sub in first)
    steps = statistics.mean(c.pops for c in counters)
    return (
        f"| `{sampler.name}` | {1e3 * whole[1]:.2f} | {1e3 * whole[2]:.2f} "
        f"| {whole[1] / whole[2]:.2f} "
        f"| {statistics.mean(len(sub.nodes) for sub in first):,.0f} "
        f"| {statistics.mean(sub.graph.e for sub in first):,.0f} "
        f"| {1e9 * nodes_alone / steps:.0f} "
        f"| {1e9 * max(whole[1] - nodes_alone, 0) / scanned:.2f} |"
    )


def subgraph_seconds(graph, sampler, threads):
    """Return the median seconds of a whole subgraph: nodes, induction and transpose."""
    turns = iter(range(1, ROUNDS + 2))
    with threadpool_limits(threads):
        return (
            median_seconds(
                lambda: fastimpl.sample_many(graph, sampler, 0, COUNT * next(turns), COUNT)
            )
            / COUNT
        )


def nodes_seconds(graph, sampler):
    """Return the median seconds to draw the nodes of one sample, alone on one thread."""
    kernel, turns = find(fastimpl, sampler.name), iter(range(1000))

    def draw():
        q = next(turns)
        keys = [refimpl.streams.key(0, SAMPLE, q, s) for s in range(sampler.streams)]
        kernel(graph, *keys, **sampler.options)

    with threadpool_limits(1):
        return median_seconds(draw)


def median_seconds(call):
    """Call once to warm up and ROUNDS times; return the median seconds."""
    call()
    seconds = []
    for _ in range(ROUNDS):
        begin = perf_counter()
        call()
        seconds.append(perf_counter() - begin)
    return statistics.median(seconds)


def check(graph, sampler, sub):
    """Check a subgraph against SciPy's slices, and its nodes against the reference."""
    want = graph.to_scipy()[sub.nodes][:, sub.nodes]
    want.sort_indices()
    np.testing.assert_array_equal(sub.graph.indptr, want.indptr)
    np.testing.assert_array_equal(sub.graph.indices, want.indices)
    if graph.n < 20_000:
        keys = [refimpl.streams.key(0, SAMPLE, 0, s) for s in range(sampler.streams)]
        sample = find(refimpl, sampler.name)(graph, *keys, **sampler.options)
        np.testing.assert_array_equal(sub.nodes, sample.nodes)
        assert sub.counters == sample.counters


def sizes():
    """Return the table of time against the number of nodes, at one mean degree."""
    lines = [
        "Time against the size of the graph: Kronecker, mean degree 16, one thread.",
        "",
        "| nodes | `pin_tile`, ms a subgraph | `bucket`, ms a subgraph | entries |",
        "| --- | --- | --- | --- |",
    ]
    samplers = [s for s in SAMPLERS if s.name in ("pin_tile", "bucket")]
    for scale in (18, 20, 22):
        graph = kronecker(scale, 16)
        ms = [1e3 * subgraph_seconds(graph, sampler, 1) for sampler in samplers]
        e = statistics.mean(
            s.graph.e for s in fastimpl.sample_many(graph, samplers[0], 0, 0, COUNT)
        )
        lines.append(f"| 2^{scale} | {ms[0]:.2f} | {ms[1]:.2f} | {e:,.0f} |")
    return lines
