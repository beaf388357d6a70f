"""The samplers for the nodes of one sample, and for eight whole subgraphs."""

import inspect
from functools import cache, partial

import numpy as np

import refimpl
from bench import inputs, work
from bench.answers import Differs, alike, same
from bench.case import Bench, Task, timed
from bench.checks import check_induced
from bench.timing import MIN_ROUNDS
from refimpl.lab.backend import find
from refimpl.samplers.nodes import KERNELS
from refimpl.streams import SAMPLE, key

COUNT = 8
PARAMETERS = {name: inspect.signature(kernel).parameters for name, kernel in KERNELS.items()}
FRONTIER = tuple(name for name, parameters in PARAMETERS.items() if "probe" in parameters)
SHORT = "edge", "random_walk", "multiple_walks"


def keys(q, streams=2):
    """Return the keys of subgraph q by the names of the samplers' arguments."""
    names = ("main", "probe")[:streams]
    return {name: key(inputs.SEED, SAMPLE, q, which) for which, name in enumerate(names)}


def tasks_of(name, size):
    """Yield the inputs of a sampler: another sample in each round, as a branch predictor learns
    a random walk that is only repeated.
    """
    streams = 2 if name in FRONTIER else 1

    graph = inputs.parent(size)
    options, text = options_of(name, inputs.SIZES[size])

    def check(got, args, other):
        check_nodes(got.nodes, graph.n)
        if other is not None:
            alike(got, find(other, name)(**args))

    done = []
    if name in FRONTIER:
        drawn = [
            find(inputs.fastest(), name)(graph, **keys(q), **options) for q in range(MIN_ROUNDS)
        ]
        done = work.mean([work.sampling(graph, sample.counters) for sample in drawn])
    yield Task(
        f"{text} of {inputs.graph_text(graph)}",
        {"graph": graph, **options},
        check,
        done,
        turn=lambda q: keys(q, streams),
    )


def options_of(name, scale):
    """Return the options of a sampler at a scale, and how the report names them."""
    m, n = scale.m, scale.n
    if name in SHORT and m >= 1_000:  # their work is a few random reads a node
        m, n = 10 * m, 10 * n
    sizes = {"m": m, "n": n, "b": n // 2, "r": n // 4, "h": 2}
    options = {key: value for key, value in sizes.items() if key in PARAMETERS[name]}
    return options, " ".join(f"{key}={value:,}" for key, value in options.items())


def check_nodes(nodes, n):
    """Refuse nodes that are no ascending set of a graph's."""
    if len(nodes) and not (nodes[0] >= 0 and nodes[-1] < n and (np.diff(nodes) > 0).all()):
        raise Differs("result.nodes: want ascending nodes of the graph, each once")


def many_tasks(size):
    """Yield eight whole subgraphs, cut out and with their transposes."""
    graph, scale = inputs.parent(size), inputs.SIZES[size]
    sampler = refimpl.Sampler("pin_tile", m=scale.m, n=scale.n)

    def check(got, args, other):
        if len(got) != COUNT:
            raise Differs(f"result: want {COUNT} subgraphs, got {len(got)}")
        for subgraph in got:
            check_induced(graph, subgraph)
        if other is not None:
            many = find(other, "sample_many")(**args)
            for at, (one, want) in enumerate(zip(got, many, strict=True)):
                same(f"result[{at}].nodes", one.nodes, want.nodes)

    yield Task(
        f"{COUNT} of m={scale.m:,} n={scale.n:,} of {inputs.graph_text(graph)}",
        {"graph": graph, "sampler": sampler, "rng": inputs.SEED, "count": COUNT},
        check,
        work_of_many(size),
        turn=lambda turn: {"first": COUNT * turn},
    )


@cache
def work_of_many(size):
    """Return the mean work of a call, from the counters of the subgraphs."""
    graph, scale = inputs.parent(size), inputs.SIZES[size]
    sampler = refimpl.Sampler("pin_tile", m=scale.m, n=scale.n)
    drawn = inputs.fastest().sample_many(graph, sampler, inputs.SEED, 0, COUNT * MIN_ROUNDS)
    works = [
        work.sampling(graph, one.counters) + work.induced(graph, one.nodes, one.graph.e)
        for one in drawn
    ]
    return work.times(COUNT, work.mean(works))


test_samplers = timed(
    *(Bench(name, partial(tasks_of, name), serial=True) for name in KERNELS),
    Bench("sample_many", many_tasks),
)
