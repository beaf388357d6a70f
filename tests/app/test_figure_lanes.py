"""The measurement of probing in lanes: what it counts and predicts; seconds are only sane."""

import pytest
from figure_labs import experiment_of, lab_of, outcomes

import refimpl
from bench.figures.experiment import FAILS, HOLDS, UNTESTED, WEAKER
from bench.figures.experiments import sampler_scaling
from refimpl.lab.data import power_law
from refimpl.streams import SAMPLE

pytestmark = pytest.mark.runs
GRAPH = power_law(400, 9)
SIZES = {"m": 20, "n": 120, "eta": 3.0, "lanes": [8, 2], "rounds": 3}


@pytest.mark.parametrize("name", list(sampler_scaling.DASHBOARDS))
def test_rows(gnn, name):
    rows = sampler_scaling.lanes_of(gnn, GRAPH, name, SIZES)
    assert [row["lanes"] for row in rows] == [1, 2, 8]  # one lane in any case
    assert rows[0]["speedup"] == rows[0]["theorem1"] == 1
    for row in rows:
        assert row["seconds"] > 0
        assert row["speedup"] == rows[0]["seconds"] / row["seconds"]
    assert rows[0]["theorem1"] < rows[1]["theorem1"] < rows[2]["theorem1"] <= 8


@pytest.mark.parametrize("name", list(sampler_scaling.DASHBOARDS))
def test_all_lanes_draw_the_samples_of_a_round(gnn, name, monkeypatch):
    kernel, _ = sampler_scaling.DASHBOARDS[name]
    draw, drawn = getattr(gnn, kernel), {}

    def noted(graph, *keys, **options):
        drawn.setdefault(options["lanes"], []).append(keys)
        return draw(graph, *keys, **options)

    monkeypatch.setattr(gnn, kernel, noted)
    sampler_scaling.lanes_of(gnn, GRAPH, name, SIZES)
    assert set(drawn) == {1, 2, 8}
    wanted = [tuple(gnn.streams.key(0, SAMPLE, turn, k) for k in (0, 1)) for turn in range(4)]
    assert all(keys == wanted for keys in drawn.values())


@pytest.mark.parametrize(("three", "wanted"), [(3.7, HOLDS), (2.0, WEAKER), (1.0, FAILS)])
def test_eight_lanes_are_judged_on_the_dashboard_of_slots(three, wanted):
    rows = [
        {"what": "p_intra", "lanes": lanes, "sampler": sampler, "speedup": x, "theorem1": 6.0}
        for lanes in (1, 8)
        for sampler, x in ((sampler_scaling.SLOTS, three), (sampler_scaling.FRONTIER, 1.5))
    ]
    rows += [
        {"what": "p_inter", "threads": 2, "sampler": name, "speedup": 1.5}
        for name in (sampler_scaling.FRONTIER, "random walk", "edge")
    ]
    lab = lab_of(experiment_of(sampler_scaling))
    found = sampler_scaling.verdicts(lab, rows)
    assert outcomes(found)["I-lanes-4x"] == wanted
    assert f"{three:.2f} times" in found[-1].ours and "1.50 times" in found[-1].ours
    lab.gnn = refimpl
    assert outcomes(sampler_scaling.verdicts(lab, rows))["I-lanes-4x"] == UNTESTED
