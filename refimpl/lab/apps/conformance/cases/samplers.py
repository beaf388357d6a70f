"""Frontier sampling, plain and in weight classes; and from a seed to numbered subgraphs.

The working of a sampler's case lists the draws ``uniform(key, 0)``, ``uniform(key, 1)``, .. to four
places, which is enough for every floor taken here. Neighbours stand in ascending order.
"""

import numpy as np

from refimpl.graph import Counters, Graph, Subgraph
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.graphs import (
    KARATE,
    LOOP,
    LOOPS,
    MIXED,
    NO_EDGES,
    NOTHING,
    ONE_WAY,
    PAIR,
    PAW,
    STAR,
    directed,
    ids,
)
from refimpl.lab.apps.conformance.inputs import changed
from refimpl.lab.apps.stepper.recorder import record
from refimpl.samplers.frontier import frontier
from refimpl.samplers.nodes import NodeSample
from refimpl.samplers.sampling import Sampler

FLAGS = {
    "DEG_CAP": "A node competes with min(degree, deg_cap); it still draws among all neighbours.",
    "MEET": "Two frontier slots hold the same node: the frontier is a list, not a set (E-B3).",
    "POPPED": "The node that is left joins the sample, not the one that is reached (E-B1).",
    "STOPS_EARLY": "Only isolated nodes are left in the frontier: fewer than n - m steps (E-B26).",
}


def options(graph, main, probe, m, n, **others):
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
ISOLATED_ROOTS = Case(
    "isolated_roots",
    {"graph": NO_EDGES, "main": 5, "probe": 6, "m": 3, "n": 9},
    ("WORKED", "NO_EDGES", "STOPS_EARLY"),
    NodeSample(ids(0, 1, 2), ids(), ids(), Counters(draws=3)),
    "m is all three nodes, so they are the roots whatever the 3 draws. Their weights add up to "
    "0: no step is made.",
)


def generated():
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


def frontier_states(**arguments):
    """Return the frontier, slot by slot, and the sample: before the first step and after each."""
    states: list[dict] = []

    def view(stack):
        seen = stack[0].variables
        if "Vs" in seen and len(seen["pushed"]) == len(states):
            states.append({"frontier": seen["FS"].tolist(), "sample": sorted(seen["Vs"])})
        return {}

    record(lambda: frontier(**arguments), ["refimpl.samplers.frontier:frontier"], view)
    return states


FRONTIER = (
    Case(
        "paw",
        options(PAW, 3, 1, 2, 5),
        ("WORKED",),
        NodeSample(
            ids(0, 2, 3),
            ids(0, 2, 3),
            ids(2, 0, 2),
            Counters(pops=3, probes=3, rounds=3, popped_degree_sum=6, added_degree_sum=8, draws=5),
        ),
        "Degrees 2 2 3 1. Draws of main: .1135 .7003 .6130 .0729 .2164; of probe: .5666 .7458 "
        ".9710. Roots: floor(.1135 x 4) = 0 takes 0 from 0 1 2 3, then 1 + floor(.7003 x 3) = 3 "
        "takes the last: frontier 0 3, weights 2 1. Step 1: floor(.5666 x 3) = 1 is below 2, so "
        "slot 0 leaves node 0; floor(.6130 x 2) = 1 is its neighbour 2: frontier 2 3, weights "
        "3 1. Step 2: floor(.7458 x 4) = 2 is below 3, slot 0 leaves 2; floor(.0729 x 3) = 0 is "
        "its neighbour 0: frontier 0 3. Step 3: floor(.9710 x 3) = 2 is not below 2, slot 1 "
        "leaves 3; floor(.2164 x 1) = 0 is its neighbour 2: frontier 0 2. The sample is 0 3 and "
        "2 0 2. Degrees left: 2 + 3 + 1; reached: 3 + 2 + 3. Draws of main: 2 + 3.",
    ),
    Case(
        "loop",
        options(LOOP, 9, 9, 1, 4),
        ("WORKED", "ONE_NODE"),
        NodeSample(
            ids(0),
            ids(0, 0, 0),
            ids(0, 0, 0),
            Counters(pops=3, probes=3, rounds=3, popped_degree_sum=3, added_degree_sum=3, draws=4),
        ),
        "One node of degree 1, its own neighbour: it leaves itself for itself three times, "
        "whatever the draws. 1 draw for the root and 1 a step.",
    ),
    ISOLATED_ROOTS,
    *generated(),
    *ERRORS,
)

BUCKET = (
    Case(
        "paw",
        options(PAW, 3, 1, 2, 5),
        ("WORKED",),
        NodeSample(
            ids(0, 1, 2, 3),
            ids(0, 2, 0),
            ids(2, 0, 1),
            Counters(pops=3, probes=8, rounds=3, popped_degree_sum=7, added_degree_sum=7, draws=5),
        ),
        "Degrees 2 2 3 1. Draws of main: .1135 .7003 .6130 .0729 .2164; of probe: .5666 .7458 "
        ".9710 .4444 .4443 .7629 .8773 .5231 .2855 .7940 .4041. Roots as for `frontier`: slot 0 "
        "holds node 0 (weight 2, class 1), slot 1 node 3 (weight 1, class 0). Classes are looked "
        "through from the heaviest. Step 1: floor(.5666 x 3) = 1 is below class 1's 2. Its one "
        "slot has bound 4: floor(.7458 x 4) = 2 and floor(.9710 x 4) = 3 are not below 2, "
        "floor(.4444 x 4) = 1 is: slot 0, 3 tries. Node 0 is left for its neighbour "
        "floor(.6130 x 2) = 1, which is 2, weight 3, class 1 again. Step 2: floor(.4443 x 4) = 1 "
        "is below 3: class 1. floor(.7629 x 4) = 3 and floor(.8773 x 4) = 3 are not below 3, "
        "floor(.5231 x 4) = 2 is: 3 tries more. Node 2 is left for neighbour floor(.0729 x 3) = "
        "0, node 0. Step 3: floor(.2855 x 3) = 0: class 1. floor(.7940 x 4) = 3 is not below 2, "
        "floor(.4041 x 4) = 1 is: 2 tries more, 8 in all. Node 0 is left for neighbour "
        "floor(.2164 x 2) = 0, node 1.",
    ),
    ISOLATED_ROOTS,
    *generated(),
    *ERRORS,
)


def many(graph, sampler, rng, first, count, **others):
    """Return the arguments of `sample_many`."""
    arguments = {"graph": graph, "sampler": sampler, "rng": rng, "first": first, "count": count}
    return {**arguments, **others}


def edge_between(u, v, *edge_ids, draws):
    """Return the Subgraph of two joined nodes."""
    graph = Graph(np.array([0, 1, 2]), ids(1, 0))
    return Subgraph(ids(u, v), graph, np.array(edge_ids), ids(1, 0), Counters(draws=draws))


SAMPLE_MANY = (
    Case(
        "both_nodes",
        many(PAIR, Sampler("random_walk", r=2, h=0), 9, 3, 2),
        ("WORKED",),
        [edge_between(0, 1, 0, 1, draws=2), edge_between(0, 1, 0, 1, draws=2)],
        "Two roots of two nodes, in whatever order, and no step: the subgraph is the graph, and "
        "each of its entries stands where it stood. To transpose it, swap the two. 2 draws.",
    ),
    Case(
        "clip",
        many(PAW, Sampler("random_walk", r=3, h=0, clip=2), 5, 0, 2),
        ("WORKED",),
        [edge_between(0, 2, 1, 4, draws=3), edge_between(2, 3, 6, 7, draws=3)],
        "Main of subgraph 0 is key(5, 0, 0, 0), draws .0769 .3513 .0761 .5620. Roots out of "
        "0 1 2 3: floor(.0769 x 4) = 0 takes 0; 1 + floor(.3513 x 3) = 2 takes 2, and 1 moves to "
        "its place; 2 + floor(.0761 x 2) = 2 takes that 1. Of 0 1 2 one is over a multiple of 2: "
        "floor(.5620 x 3) = 1 drops the one in the middle. 0 2 are joined by entry 1 (row 0: 1 2) "
        "and entry 4 (row 2 begins at 4 with 0). Main of subgraph 1 is key(5, 0, 1, 0), draws "
        ".9234 .2014 .0166 .2178: 3 is taken, and 0 moves to its place; then 1 + floor(.2014 x "
        "3) = 1 takes 1, 2 + floor(.0166 x 2) = 2 takes 2. Of 1 2 3, floor(.2178 x 3) = 0 drops "
        "1. 2 3 are joined by entries 6 and 7. The draw of the clipping is not in `draws`.",
    ),
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
        "frontier", "jpdc21", "Algorithm 2", FRONTIER, "1-10", flags=FLAGS, states=frontier_states
    ),
    Kernel("bucket", "common", "the law of JPDC'21 Algorithm 2", BUCKET, flags=FLAGS),
    Kernel("sample_many", "jpdc21", "Algorithm 8", SAMPLE_MANY, "4-8"),
)
