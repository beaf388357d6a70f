"""Dashboards that really probe in lanes, against the reference, which only counts them."""

import pytest
from comparison import assert_bits, assert_twins
from hypothesis import given
from hypothesis import strategies as st
from strategies import KEYS, graphs, power_law_graph, sampler_options

import fastimpl
import refimpl

NAMES = st.sampled_from(["dashboard", "pin_tile"])
LANES = [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 33]
HUBS = power_law_graph(600)  # isolated nodes too
LOOPS = refimpl.as_graph([(v, v // 3) for v in range(90)], n=95, symmetrize=True)


@given(
    graph=graphs(min_nodes=1, max_nodes=14),
    name=NAMES,
    lanes=st.sampled_from(LANES),
    main=KEYS,
    probe=KEYS,
    data=st.data(),
)
def test_lanes_on_small_graphs(graph, name, lanes, main, probe, data):
    options = data.draw(sampler_options(graph, "pin_tile"), label="options")
    options |= {"lanes": lanes, "probing": "lanes"}
    assert_twins(name, graph, main, probe, **options)


@given(
    graph=st.sampled_from([HUBS, LOOPS]),
    name=NAMES,
    lanes=st.sampled_from(LANES),
    eta=st.sampled_from([1.01, 1.5, 2, 4, 40]),  # 40: most rounds miss, and draws ahead run out
    probe_range=st.sampled_from(["capacity", "used"]),
    overflow=st.sampled_from(["truncate", "grow"]),
    main=KEYS,
    probe=KEYS,
)
def test_lanes_among_hubs(graph, name, lanes, eta, probe_range, overflow, main, probe):
    options = {"m": 7, "n": 90, "eta": eta, "probe_range": probe_range, "overflow": overflow}
    assert_twins(name, graph, main, probe, lanes=lanes, probing="lanes", **options)


@pytest.mark.parametrize("name", ["dashboard", "pin_tile"])
@pytest.mark.parametrize("lanes", LANES)
def test_lanes_of_samples_drawn_in_step(name, lanes):
    """Each of the samples that a thread draws in turn has draws ahead of its own."""
    sampler = refimpl.Sampler(name, m=30, n=200, eta=3, lanes=lanes, probing="lanes")
    one_by_one = refimpl.Sampler(name, m=30, n=200, eta=3, lanes=lanes)
    got = fastimpl.sample_many(HUBS, sampler, 5, 0, 7)
    assert_bits(got, fastimpl.sample_many(HUBS, one_by_one, 5, 0, 7))
    assert_bits(got, refimpl.sample_many(HUBS, sampler, 5, 0, 7))
