"""The frontier samplers for the nodes of one sample, and for eight whole subgraphs."""

from functools import cache

import pytest
from numpy.testing import assert_array_equal

import fastimpl
import refimpl
from bench import inputs, work
from bench.checks import check_induced
from bench.checks import keys as keys_of
from bench.timing import MIN_ROUNDS

SIZES = pytest.mark.sizes("tiny", "small", "large")
COUNT = 8


def keys(q):
    """Return the two keys of subgraph q."""
    return keys_of(inputs.SEED, q)


@pytest.mark.serial
@SIZES
@pytest.mark.parametrize("name", ["frontier", "dashboard", "pin_tile", "bucket"])
def test_frontier_sampler(case, name):
    graph, m, n = inputs.parent(case.size), case.scale.m, case.scale.n
    sample = getattr(case.gnn, name)
    counters = [
        getattr(fastimpl, name)(graph, *keys(q), m=m, n=n).counters for q in range(MIN_ROUNDS)
    ]
    done = work.mean([work.sampling(graph, c) for c in counters])
    case.describe(name, f"m={m:,} n={n:,} of {inputs.graph_text(graph)}", done)

    def draw(q):
        return sample(graph, *keys(q), m=m, n=n)

    (q,), got = case.run_turns(draw, lambda turn: [turn])
    expected = getattr(case.other, name)(graph, *keys(q), m=m, n=n)
    assert got.counters == expected.counters
    for part in ("nodes", "popped", "pushed"):
        assert_array_equal(getattr(got, part), getattr(expected, part))


@SIZES
def test_sample_many(case):
    graph = inputs.parent(case.size)
    sampler = refimpl.Sampler("pin_tile", m=case.scale.m, n=case.scale.n)
    text = f"{COUNT} of m={case.scale.m:,} n={case.scale.n:,} of {inputs.graph_text(graph)}"
    case.describe("sample_many", text, work_of_many(case.size))

    def draw(first):
        return case.gnn.sample_many(graph, sampler, inputs.SEED, first, COUNT)

    (first,), got = case.run_turns(draw, lambda turn: [COUNT * turn])
    assert len(got) == COUNT
    for q, subgraph in enumerate(got, first):
        assert_array_equal(subgraph.nodes, nodes_of(case.size, case.other.__name__, q))
        check_induced(graph, subgraph)


@cache
def work_of_many(size):
    """Return the mean work of a call, from the counters of the subgraphs."""
    graph, scale = inputs.parent(size), inputs.SIZES[size]
    sampler = refimpl.Sampler("pin_tile", m=scale.m, n=scale.n)
    drawn = fastimpl.sample_many(graph, sampler, inputs.SEED, 0, COUNT * MIN_ROUNDS)
    one = work.mean([work.sampling(graph, s.counters) + work.induced(graph, s) for s in drawn])
    return work.times(COUNT, one)


@cache
def nodes_of(size, package, q):
    """Return the nodes of subgraph q as the other package draws them."""
    gnn = {"refimpl": refimpl, "fastimpl": fastimpl}[package]
    scale = inputs.SIZES[size]
    return gnn.pin_tile(inputs.parent(size), *keys(q), m=scale.m, n=scale.n).nodes
