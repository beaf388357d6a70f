"""The measurement of probing in lanes: what it counts and predicts; seconds are only sane."""

import math

import pytest

from bench.figures.probe_parallelism import measure
from refimpl.lab.data import power_law
from refimpl.streams import SAMPLE

pytestmark = pytest.mark.runs
GRAPH = power_law(400, 9)
SIZES = {"m": 20, "n": 120, "eta": 3.0}


@pytest.mark.parametrize("sampler", ["dashboard", "pin_tile"])
def test_rows(gnn, sampler):
    rows = measure(gnn, GRAPH, **SIZES, lanes=[8, 2], rounds=3, sampler=sampler)
    assert [row["lanes"] for row in rows] == [1, 2, 8]  # one lane in any case
    assert rows[0]["speedup"] == rows[0]["theorem1"] == rows[0]["probes_only"] == 1
    for row in rows:
        keys = [[gnn.streams.key(0, SAMPLE, turn, which) for which in (0, 1)] for turn in (1, 2, 3)]
        drawn = [getattr(gnn, sampler)(GRAPH, *pair, lanes=row["lanes"], **SIZES) for pair in keys]
        pops = sum(one.counters.pops for one in drawn)
        assert row["tries"] == sum(one.counters.probes for one in drawn) / pops
        assert row["rounds"] == sum(one.counters.rounds for one in drawn) / pops
        assert row["seconds"] > 0
        assert row["speedup"] == rows[0]["seconds"] / row["seconds"]
    assert rows[0]["theorem1"] < rows[1]["theorem1"] < rows[2]["theorem1"] <= 8
    assert rows[0]["probes_only"] < rows[1]["probes_only"] < rows[2]["probes_only"]
    assert rows[2]["probes_only"] < rows[2]["theorem1"]


def test_a_frontier_without_neighbours_pops_nothing(gnn):
    graph = gnn.as_graph([(0, 1)], n=4000, symmetrize=True)
    (row,) = measure(gnn, graph, m=1, n=3, eta=2, lanes=[1], rounds=1)
    assert math.isnan(row["tries"]) and math.isnan(row["rounds"])
