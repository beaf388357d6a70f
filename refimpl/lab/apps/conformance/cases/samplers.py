"""Frontier sampling, plain and in weight classes; and from a seed to numbered subgraphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refimpl.lab.apps.conformance.case import Case, Kernel, flagged
from refimpl.lab.apps.conformance.graphs import (
    KARATE,
    LOOPS,
    MIXED,
    NO_EDGES,
    NOTHING,
    ONE_WAY,
    PAW,
    STAR,
    directed,
)
from refimpl.lab.apps.conformance.inputs import changed
from refimpl.lab.apps.conformance.worked import worked
from refimpl.lab.apps.stepper.recorder import Stack, record
from refimpl.samplers.frontier import frontier
from refimpl.samplers.sampling import Sampler

if TYPE_CHECKING:
    from refimpl.graph import Graph

HAND = worked("samplers")

FLAGS = {
    "DEG_CAP": "A node competes with min(degree, deg_cap); it still draws among all neighbours.",
    "MEET": "Two frontier slots hold the same node: the frontier is a list, not a set (E-B3).",
    "POPPED": "The node that is left joins the sample, not the one that is reached (E-B1).",
    "STOPS_EARLY": "Only isolated nodes are left in the frontier: fewer than n - m steps (E-B26).",
}
FRONTIER_FLAGS = {
    **FLAGS,
    "ON_SUM": "A draw equal to a running sum of weights: the next slot is chosen. Only a sum above "
    "the draw counts (sum > draw, not sum >= draw).",
}
BUCKET_FLAGS = {
    **FLAGS,
    "ON_SUM": "A draw equal to the sum of a class: the next class is chosen. Only a sum above the "
    "draw counts (sum > draw, not sum >= draw).",
    "ON_WEIGHT": "A height equal to the slot's weight: the slot is refused. Only a weight above "
    "the height counts (weight > height, not weight >= height).",
}


def options(graph: Graph, main: int, probe: int, m: int, n: int, **others: Any) -> dict[str, Any]:
    """Return the arguments of a frontier sampler."""
    return {"graph": graph, "main": main, "probe": probe, "m": m, "n": n, **others}


SMALL = options(PAW, 1, 2, 1, 2)
ERRORS = (
    *(
        Case(name, {**SMALL, "graph": graph}, ("DIRECTED",), error="value")
        for name, graph in ONE_WAY.items()
    ),
    *changed(
        {
            "no_roots": {"m": 0},
            "too_many_roots": {"m": 5, "n": 9},
            "small_budget": {"m": 3},
            # Without edges, so that a port that takes this n has no step to make.
            "wide_budget": {"graph": NO_EDGES, "n": 2**31},
            "cap_0": {"deg_cap": 0},
            "wide_cap": {"deg_cap": 2**31},
            "unknown_include": {"include": "both"},
            "include_number": {"include": 1},
            "negative_key": {"main": -1},
            "wide_key": {"probe": 2**64},
        },
        SMALL,
        "value",
    ),
    *changed(
        {
            "no_graph": {"graph": None},
            "real_key": {"main": 1.0},
            "real_probe": {"probe": 2.0},
            "real_m": {"m": 1.0},
            "real_n": {"n": 2.0},
            "real_cap": {"deg_cap": 2.0},
            "true_m": {"m": True},
            "true_cap": {"deg_cap": True},
        },
        SMALL,
        "type",
    ),
)


def generated() -> tuple[Case, ...]:
    """Return what every frontier sampler is tried on: the results come from the reference."""
    return (
        Case("all_are_roots", options(PAW, 8, 9, 4, 4)),
        Case("loops_and_isolated", options(LOOPS, 4, 7, 6, 16), ("ISOLATED", "MEET")),
        Case("hub", options(STAR, 5, 3, 3, 12), ("HUB", "MEET")),
        Case("hub_capped", options(STAR, 5, 3, 3, 12, deg_cap=2), ("HUB", "MEET", "DEG_CAP")),
        Case("mixed_capped", options(MIXED, 6, 2, 3, 10, deg_cap=1), ("DEG_CAP", "ISOLATED")),
        Case("popped", options(MIXED, 2, 8, 2, 8, include="popped"), ("POPPED", "ISOLATED")),
        Case("keys_at_the_end", options(PAW, 2**64 - 1, 2**64 - 2, 2, 7), ("LARGE_WORD",)),
        Case("karate", options(KARATE, 11, 12, 4, 12)),
    )


def frontier_states(**arguments: Any) -> list[dict[str, Any]]:
    """Return the frontier, slot by slot, and the sample: before the first step and after each."""
    states: list[dict[str, Any]] = []

    def view(stack: Stack) -> dict[str, Any]:
        seen = stack[0].variables
        if "Vs" in seen and len(seen["pushed"]) == len(states):
            states.append({"frontier": seen["FS"].tolist(), "sample": sorted(seen["Vs"])})
        return {}

    record(lambda: frontier(**arguments), ["refimpl.samplers.frontier:frontier"], view)
    return states


FRONTIER = flagged(
    (*HAND["frontier"], *generated(), *ERRORS),
    ON_SUM="paw loops_and_isolated hub hub_capped mixed_capped popped karate",
)
BUCKET = flagged(
    (*HAND["bucket"], *generated(), *ERRORS),
    ON_SUM="loops_and_isolated hub hub_capped popped keys_at_the_end",
    ON_WEIGHT="paw loops_and_isolated hub hub_capped popped keys_at_the_end karate",
)


def many(
    graph: Graph, sampler: Any, rng: Any, first: int, count: int, **others: Any
) -> dict[str, Any]:
    """Return the arguments of `sample_many`."""
    arguments = {"graph": graph, "sampler": sampler, "rng": rng, "first": first, "count": count}
    return {**arguments, **others}


SAMPLE_MANY = (
    *HAND["sample_many"],
    Case("none", many(PAW, Sampler("edge", b=2), 5, 7, 0), ("EMPTY",)),
    Case("frontier", many(LOOPS, Sampler("frontier", m=3, n=6), 1, 0, 3)),
    Case("dashboard", many(STAR, Sampler("dashboard", m=3, n=6), 2, 5, 2), ("HUB",)),
    Case("pin_tile", many(MIXED, Sampler("pin_tile", m=3, n=6, clip=4), 3, 1, 2), ("ISOLATED",)),
    Case("bucket", many(MIXED, Sampler("bucket", m=2, n=5), 4, 2**40, 2), ("ISOLATED",)),
    Case("edge", many(PAW, Sampler("edge", b=2, method="alias"), 5, 0, 2)),
    Case("multiple_walks", many(PAW, Sampler("multiple_walks", m=2, n=4), 6, 0, 2)),
    Case("forest_fire", many(MIXED, Sampler("forest_fire", n=4), 7, 0, 2), ("ISOLATED",)),
    Case("domain", many(PAW, Sampler("random_walk", r=1, h=2), 8, 0, 2, domain=1)),
    Case("seed_at_the_end", many(PAW, Sampler("edge", b=2), 2**64 - 1, 0, 1), ("LARGE_WORD",)),
    Case("no_edges", many(NO_EDGES, Sampler("edge", b=2), 1, 0, 1), ("NO_EDGES", "EMPTY")),
    Case("karate", many(KARATE, Sampler("pin_tile", m=4, n=12), 42, 0, 2)),
    Case("directed", many(directed(2, (0, 1)), Sampler("edge", b=1), 1, 0, 1), error="value"),
    Case("no_nodes", many(NOTHING, Sampler("frontier", m=1, n=2), 1, 0, 1), error="value"),
    Case("negative_count", many(PAW, Sampler("edge", b=1), 1, 0, -1), error="value"),
    Case("sampler_by_name", many(PAW, "edge", 1, 0, 1), error="type"),
)

KERNELS = (
    Kernel(
        "frontier",
        "jpdc21",
        "Algorithm 2",
        FRONTIER,
        "1-10",
        flags=FRONTIER_FLAGS,
        states=frontier_states,
    ),
    Kernel("bucket", "common", "the law of JPDC'21 Algorithm 2", BUCKET, flags=BUCKET_FLAGS),
    Kernel("sample_many", "jpdc21", "Algorithm 8", SAMPLE_MANY, "4-8"),
)
