"""Fast against reference for every sampler."""

from functools import partial

import numpy as np
import pytest
from comparison import assert_bits, assert_same_error, assert_twins, read_only, threads
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    KEYS,
    graph_from_edges,
    graphs,
    power_law_graph,
    sampler_keys,
    sampler_options,
    sampler_takes,
)

import fastimpl
import refimpl
from refimpl.graph import from_edges
from refimpl.lab.apps.conformance.cases import kernels
from refimpl.lab.backend import find
from refimpl.samplers.sampling import KERNELS

THREADS = st.sampled_from([1, 2, 5])
BIG = power_law_graph(700)
HUBS = power_law_graph(3000)
PATH = graph_from_edges(3, {(0, 1), (1, 2)})


NAMES = sorted(KERNELS)


@pytest.mark.parametrize("name", NAMES)
@given(graph=graphs(min_nodes=1), main=KEYS, probe=KEYS, data=st.data(), count=THREADS)
def test_every_sampler(name, graph, main, probe, data, count):
    options = data.draw(sampler_options(graph, name), label="options")
    assert_twins(name, graph, *sampler_keys(name, main, probe), **options, count=count)


@given(
    weights=st.lists(st.floats(0, 1e6) | st.sampled_from([0.0, 1.0, 1 / 3, np.inf]), max_size=30),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_alias_build(weights, dtype):
    weights = read_only(np.array(weights, dtype))
    if weights.any() and np.isfinite(weights).all():
        assert_twins("alias_build", weights)
    else:
        assert_same_error("alias_build", weights)


@given(
    graph=graphs(min_nodes=1, max_nodes=14),
    name=st.sampled_from(NAMES),
    clip=st.sampled_from([None, 1, 2, 3, 8]),
    seed=KEYS,
    drawn=st.integers(0, 9),
    data=st.data(),
    count=THREADS,
)
def test_sample_many_of_every_sampler(graph, name, clip, seed, drawn, data, count):
    options = data.draw(sampler_options(graph, name), label="options")
    sampler = refimpl.Sampler(name, clip=clip, **options)
    subgraphs = assert_twins("sample_many", graph, sampler, seed, 3, drawn, count=count)
    assert isinstance(subgraphs, list)


LARGE_OPTIONS = {"m": 40, "n": 313, "b": 150, "r": 101, "h": 3, "deg_cap": 30}
LARGE_OPTIONS |= {"eta": 1.1, "overflow": "grow", "method": "alias"}


@pytest.mark.parametrize("name", NAMES)
def test_samplers_on_hundreds_of_nodes(name):
    sampler = refimpl.Sampler(name, **sampler_takes(name, LARGE_OPTIONS), clip=8)
    want = assert_twins("sample_many", BIG, sampler, 9, 0, 7, count=1)
    assert all(len(sub.nodes) % 8 == 0 for sub in want)
    for count, first, drawn in ((2, 0, 1), (5, 2, 5), (2, 5, 2)):
        with threads(count):
            assert_bits(
                fastimpl.sample_many(BIG, sampler, 9, first, drawn), want[first : first + drawn]
            )


@pytest.mark.parametrize("roots", [80, 3000])
def test_nodes_are_sorted_by_digits_or_in_a_bitmap(roots):
    """Whichever is faster: on a path of 100,000 nodes digits up to about 98 walks of 3 steps."""
    n = 100_000
    path = from_edges(np.arange(n - 1), np.arange(1, n), n=n, symmetrize=True)
    sampler = refimpl.Sampler("random_walk", r=roots, h=3)
    for sub in assert_twins("sample_many", path, sampler, 5, 0, 2, count=1):
        assert roots <= len(sub.nodes) < 4 * roots  # walks turn round: a node is found twice
        assert np.all(np.diff(sub.nodes) > 0)


def test_ids_of_three_digits_are_sorted():
    """A digit has 11 bits."""
    n = 2**22 + 2**20
    sampler = refimpl.Sampler("random_walk", r=1000, h=0)
    empty = refimpl.Graph(np.zeros(n + 1, np.int64), [])
    (sub,) = assert_twins("sample_many", empty, sampler, 5, 0, 1)
    assert len(sub.nodes) == 1000 and sub.nodes[-1] >= 2**22
    assert np.all(np.diff(sub.nodes) > 0)


def test_one_graph_after_another():
    """Tables and scratch memory belong to a graph: the next graph does not see them."""
    sampler = refimpl.Sampler("edge", b=30, method="alias")
    for graph in (HUBS, PATH, BIG, PATH):
        assert_twins("sample_many", graph, sampler, 1, 0, 3)


def refused(name):
    """Yield the arguments of a sampler that the test vectors say are refused."""
    for case in kernels()[name].cases:
        if case.error is not None:
            yield name, case.args


def draw_large(name):
    """Return a sample of many nodes."""
    sizes = {"m": 60, "n": 500, "b": 500, "r": 100, "h": 4}
    options = sampler_takes(name, sizes)
    return find(fastimpl, name)(HUBS, *sampler_keys(name, 1, 2), **options)


TWINS = {"alias_build": test_alias_build, **dict.fromkeys(NAMES, test_every_sampler)}

ERRORS = [
    ("alias_build", np.zeros(3)),
    ("alias_build", np.zeros(0)),
    ("alias_build", np.array([1.0, -1.0])),
    ("alias_build", np.array([1.0, np.nan])),
    ("alias_build", [1, 2]),
    *(case for name in NAMES for case in refused(name)),
    ("bucket", PATH, 0, -1, {"m": 2, "n": 3}),
    ("edge", PATH, 2**64, {"b": 1}),
    ("pin_tile", PATH, 0, 0, {"m": 1, "n": 2, "probing": "all"}),
    ("random_walk", PATH, 0, {"r": 0, "h": 2}),
]

LARGE = {
    "alias_build": lambda: fastimpl.samplers.alias_build(1 / (1.0 + np.arange(5000))),
    **{name: partial(draw_large, name) for name in NAMES},
}


@pytest.mark.parametrize("eta", [2.0**62, 1e30, 1e308, 10**400])
@pytest.mark.parametrize("name", ["pin_tile", "dashboard"])
def test_a_dashboard_that_no_memory_holds_is_refused(name, eta):
    """Its size in bytes would wrap around, and the kernel write past a small buffer."""
    message = assert_same_error(name, PATH, 0, 0, m=1, n=2, eta=eta, error=ValueError)
    assert message.startswith("eta must")


def test_walks_from_isolated_nodes_end_at_once():
    graph = refimpl.as_graph([], n=4)
    assert_twins("bucket", graph, 0, 0, m=2, n=2**20)
    assert_twins("random_walk", graph, 0, r=1, h=2**20)
