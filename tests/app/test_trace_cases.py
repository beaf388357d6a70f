"""Steppers of one call of a kernel: on every case of the conformance checks."""

import copy

import pytest
from comparison import parts

import refimpl
from refimpl.lab.apps.conformance.cases import kernels
from refimpl.lab.apps.conformance.vectors import apply
from refimpl.lab.apps.stepper.cases import KERNELS, MOST_ENTRIES, MOST_NODES, entries_of, recipe_for
from refimpl.lab.apps.stepper.page import page_data
from refimpl.lab.backend import find

pytestmark = pytest.mark.runs

CASES = {
    f"{kernel.name}-{case.id}": (kernel.name, case)
    for kernel in kernels().values()
    if kernel.name in KERNELS
    for case in kernel.cases
}


def test_each_kernel_has_cases():
    assert {name for name, _ in CASES.values()} == set(KERNELS)


def is_small(case):
    return max(map(entries_of, case.args.values())) <= MOST_ENTRIES


RUNS = [id for id, (_, case) in CASES.items() if case.error is None and is_small(case)]


@pytest.mark.parametrize("id", RUNS)
def test_a_case_that_runs_can_be_stepped_through(id):
    """What it returns is what the kernel does, and the page can be made."""
    name, case = CASES[id]
    recipe = recipe_for(name, **copy.deepcopy(case.args))
    recording = recipe.record()
    want = apply(find(refimpl, name), copy.deepcopy(case.args))
    for (where, a), (_, b) in zip(parts(recording.result), parts(want), strict=True):
        assert a.tobytes() == b.tobytes() if hasattr(b, "tobytes") else a == b, where
    drawn = [panel for panel in recipe.panels if panel.id == "graph"]
    if "graph" in case.args:
        assert bool(drawn) == (case.args["graph"].n <= MOST_NODES)
    assert len(page_data(recipe, recording)["steps"]) == len(recording.steps) > 0


@pytest.mark.parametrize("id", [id for id, (_, case) in CASES.items() if case.error is not None])
def test_a_case_that_must_be_refused_is(id):
    name, case = CASES[id]
    with pytest.raises((ValueError, TypeError)):
        recipe_for(name, **copy.deepcopy(case.args)).record()


def test_a_kernel_without_a_stepper_is_named():
    with pytest.raises(ValueError, match="kernel must be one of frontier, .*, got 'uniform'"):
        recipe_for("uniform", k=1, counter=2)


def test_a_graph_that_nobody_could_look_at_is_refused():
    graph = refimpl.as_graph([(v, v + 1) for v in range(501)], symmetrize=True)
    with pytest.raises(ValueError, match="graph must have at most 1000 entries, got 1002"):
        recipe_for("transpose_perm", graph=graph)
