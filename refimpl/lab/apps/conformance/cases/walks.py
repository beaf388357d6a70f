"""The static samplers: random edges, random walks and fires.

The working of a case lists the draws ``uniform(main, 0)``, ``uniform(main, 1)``, .. to four
places.
"""

from refimpl.graph import Counters
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.graphs import (
    KARATE,
    LONELY,
    LOOP,
    LOOPS,
    MIXED,
    NO_EDGES,
    NOTHING,
    ONE_WAY,
    PAIR,
    PATH3,
    PAW,
    STAR,
    ids,
)
from refimpl.samplers.nodes import NodeSample

ALIAS = {
    "ALIAS": "Edges come from an alias table: its order of operations is part of the result.",
}
STAYS = {
    "STAYS": "A walk stands on a node without neighbours: it makes no step and draws nothing.",
}
UNEVEN = {"UNEVEN": "The first walks are one step longer."}
WHOLE = {"WHOLE": "The budget is at least the number of nodes: all of them are in the sample."}


def options(graph, main, **others):
    """Return the arguments of a static sampler."""
    return {"graph": graph, "main": main, **others}


def errors(**others):
    """Return the calls that every static sampler refuses; `others` are legal options."""
    return (
        *(
            Case(name, options(graph, 1, **others), ("DIRECTED",), error="value")
            for name, graph in ONE_WAY.items()
        ),
        Case("no_graph", options(None, 1, **others), error="type"),
        Case("negative_key", options(PAW, -1, **others), error="value"),
        Case("real_key", options(PAW, 0.5, **others), error="type"),
    )


EDGE = (
    Case(
        "paw",
        options(PAW, 3, b=3),
        ("WORKED",),
        NodeSample(
            ids(0, 2),
            ids(0, 2, 0),
            ids(2, 0, 2),
            Counters(pops=3, popped_degree_sum=7, added_degree_sum=8, draws=6),
        ),
        "Rows 0: 1 2, 1: 0 2, 2: 0 1 3, 3: 2. Draws: .1135 .7003 .6130 .0729 .2164 .6362. "
        "floor(.1135 x 4) = 0 and its neighbour floor(.7003 x 2) = 1 make (0, 2); floor(.6130 x "
        "4) = 2 and its neighbour floor(.0729 x 3) = 0 make (2, 0); floor(.2164 x 4) = 0 and "
        "floor(.6362 x 2) = 1 make (0, 2) again. Degrees: 2 + 3 + 2 and 3 + 2 + 3.",
    ),
    Case(
        "alias_of_two",
        options(PATH3, 3, b=3, method="alias"),
        ("WORKED", "ALIAS"),
        NodeSample(
            ids(0, 1, 2),
            ids(0, 1, 0),
            ids(1, 2, 1),
            Counters(pops=3, popped_degree_sum=4, added_degree_sum=5, draws=6),
        ),
        "Edges (0, 1) and (1, 2) weigh 1 + 1/2 and 1/2 + 1, so half of the table is each, and the "
        "second draw of an edge decides nothing. Draws 0, 2 and 4: floor(.1135 x 2) = 0, "
        "floor(.6130 x 2) = 1, floor(.2164 x 2) = 0. Degrees: 1 + 2 + 1 and 2 + 1 + 2.",
    ),
    Case(
        "no_edges",
        options(NO_EDGES, 3, b=5),
        ("WORKED", "NO_EDGES", "EMPTY"),
        NodeSample(ids(), ids(), ids(), Counters()),
        "There is no edge to draw.",
    ),
    Case("no_edges_alias", options(NO_EDGES, 3, b=5, method="alias"), ("NO_EDGES", "ALIAS")),
    Case("no_nodes", options(NOTHING, 3, b=1), ("NO_NODES", "EMPTY")),
    Case("loop", options(LOOP, 2**64 - 1, b=2), ("ONE_NODE", "LARGE_WORD")),
    Case("loops", options(LOOPS, 4, b=6), ("ISOLATED",)),
    Case(
        "loops_alias",
        options(LOOPS, 4, b=6, method="alias"),
        ("ISOLATED", "ALIAS"),
    ),
    Case("hub_alias", options(STAR, 6, b=4, method="alias"), ("HUB", "ALIAS")),
    Case("mixed_alias", options(MIXED, 7, b=9, method="alias"), ("ISOLATED", "ALIAS")),
    Case("karate", options(KARATE, 8, b=12)),
    Case("karate_alias", options(KARATE, 8, b=12, method="alias"), ("ALIAS",)),
    *errors(b=2),
    Case("none", options(PAW, 1, b=0), error="value"),
    Case("unknown_method", options(PAW, 1, b=2, method="table"), error="value"),
)

RANDOM_WALK = (
    Case(
        "paw",
        options(PAW, 3, r=2, h=2),
        ("WORKED",),
        NodeSample(
            ids(0, 1, 2, 3),
            ids(0, 2, 3, 2),
            ids(2, 0, 2, 1),
            Counters(pops=4, popped_degree_sum=9, added_degree_sum=10, draws=6),
        ),
        "Rows 0: 1 2, 1: 0 2, 2: 0 1 3, 3: 2. Draws: .1135 .7003 .6130 .0729 .2164 .6362. Roots: "
        "floor(.1135 x 4) = 0 takes 0 from 0 1 2 3, 1 + floor(.7003 x 3) = 3 takes 3. From 0: "
        "floor(.6130 x 2) = 1 is 2, floor(.0729 x 3) = 0 is 0. From 3: floor(.2164 x 1) = 0 is "
        "2, floor(.6362 x 3) = 1 is 1. Degrees left: 2 + 3 + 1 + 3; reached: 3 + 2 + 3 + 2.",
    ),
    Case(
        "pair",
        options(PAIR, 5, r=2, h=0),
        ("WORKED",),
        NodeSample(ids(0, 1), ids(), ids(), Counters(draws=2)),
        "Both nodes are roots, in whatever order, and take no step.",
    ),
    Case("isolated", options(NO_EDGES, 4, r=2, h=3), ("NO_EDGES", "STAYS")),
    Case("one_node", options(LONELY, 4, r=1, h=3), ("ONE_NODE", "STAYS")),
    Case("loop", options(LOOP, 4, r=1, h=3), ("ONE_NODE",)),
    Case("loops", options(LOOPS, 5, r=6, h=2), ("ISOLATED", "STAYS")),
    Case("hub", options(STAR, 2**64 - 1, r=2, h=5), ("HUB", "LARGE_WORD")),
    Case("mixed", options(MIXED, 6, r=3, h=4), ("ISOLATED",)),
    Case("karate", options(KARATE, 7, r=4, h=5)),
    *errors(r=1, h=2),
    Case("no_nodes", options(NOTHING, 1, r=1, h=2), ("NO_NODES",), error="value"),
    Case("too_many_roots", options(PAW, 1, r=5, h=2), error="value"),
    Case("negative_length", options(PAW, 1, r=1, h=-1), error="value"),
    Case("too_long", options(PAW, 1, r=4, h=2**29), error="value"),
)

MULTIPLE_WALKS = (
    Case(
        "paw",
        options(PAW, 3, m=2, n=7),
        ("WORKED", "UNEVEN"),
        NodeSample(
            ids(0, 1, 2, 3),
            ids(0, 2, 0, 3, 2),
            ids(2, 0, 1, 2, 0),
            Counters(pops=5, popped_degree_sum=11, added_degree_sum=12, draws=7),
        ),
        "Rows 0: 1 2, 1: 0 2, 2: 0 1 3, 3: 2. Draws: .1135 .7003 .6130 .0729 .2164 .6362 .1351. "
        "Roots as for `random_walk`: 0, then 3. 5 steps for 2 walks: 3 and 2. From 0: "
        "floor(.6130 x 2) = 1 is 2, floor(.0729 x 3) = 0 is 0, floor(.2164 x 2) = 0 is 1. From "
        "3: floor(.6362 x 1) = 0 is 2, floor(.1351 x 3) = 0 is 0. Degrees left: 2 + 3 + 2 + 1 + "
        "3; reached: 3 + 2 + 2 + 3 + 2.",
    ),
    Case(
        "isolated",
        options(NO_EDGES, 4, m=3, n=8),
        ("WORKED", "NO_EDGES", "STAYS"),
        NodeSample(ids(0, 1, 2), ids(), ids(), Counters(draws=3)),
        "All three nodes are roots, in whatever order, and none can take a step.",
    ),
    Case("roots_only", options(STAR, 4, m=3, n=3), ("HUB",)),
    Case("loop", options(LOOP, 4, m=1, n=4), ("ONE_NODE",)),
    Case("loops", options(LOOPS, 5, m=4, n=15), ("ISOLATED", "STAYS", "UNEVEN")),
    Case("fewer_steps_than_walks", options(MIXED, 9, m=5, n=8), ("ISOLATED", "UNEVEN")),
    Case("key_at_the_end", options(PAW, 2**64 - 1, m=2, n=6), ("LARGE_WORD",)),
    Case("karate", options(KARATE, 7, m=4, n=22), ("UNEVEN",)),
    *errors(m=1, n=2),
    Case("no_nodes", options(NOTHING, 1, m=1, n=2), ("NO_NODES",), error="value"),
    Case("small_budget", options(PAW, 1, m=3, n=2), error="value"),
    Case("no_roots", options(PAW, 1, m=0, n=2), error="value"),
)

FOREST_FIRE = (
    Case(
        "paw",
        options(PAW, 3, n=3),
        ("WORKED",),
        NodeSample(
            ids(0, 1, 2),
            ids(1),
            ids(2),
            Counters(pops=1, popped_degree_sum=2, added_degree_sum=3, draws=5),
        ),
        "p_f is .7. Draws: .1135 .7003 .6130 .0729 .2164. floor(.1135 x 4) = 0 of the unburned "
        "0 1 2 3 begins; 3 takes its place: 3 1 2. Its unburned neighbours are 1 2, but .7003 is "
        "not below .7: none burns, the fire is out. floor(.6130 x 3) = 1 of 3 1 2 is 1; 2 takes "
        "its place. Its only unburned neighbour is 2: .0729 is below .7, one is to burn, as many "
        "as there are, so no draw follows. floor(.2164 x 1) = 0 picks it. Three have burned. "
        "Only 1 -> 2 is a step.",
    ),
    Case(
        "draw_is_p_f",
        options(PAW, 3, n=3, p_f=0.7002935135929024),
        ("WORKED", "TIE"),
        NodeSample(
            ids(0, 1, 2),
            ids(1),
            ids(2),
            Counters(pops=1, popped_degree_sum=2, added_degree_sum=3, draws=5),
        ),
        "As above. p_f is draw 1 itself, and what is not below p_f ends the fire.",
    ),
    Case(
        "everything",
        options(PATH3, 8, n=9, p_f=0.0),
        ("WORKED", "WHOLE"),
        NodeSample(ids(0, 1, 2), ids(), ids(), Counters(draws=4)),
        "Draws: .6185 .6119 .6890 .5361. p_f is 0: no fire spreads, and three begin, until all "
        "have burned. floor(.6185 x 3) = 1 begins; 2 takes its place among the unburned: 0 2. "
        "They are its neighbours, and .6119 is not below 0. floor(.6890 x 2) = 1 of 0 2 is 2; no "
        "neighbour of it is unburned, so nothing is drawn. floor(.5361 x 1) = 0 of 0 is 0. Its "
        "fire has nothing left to do: all have burned.",
    ),
    Case("certain", options(MIXED, 5, n=5, p_f=1.0), ("ISOLATED",)),
    Case("isolated", options(NO_EDGES, 4, n=2), ("NO_EDGES",)),
    Case("loop", options(LOOP, 4, n=1), ("ONE_NODE", "WHOLE")),
    Case("loops", options(LOOPS, 6, n=6), ("ISOLATED", "WHOLE")),
    Case("hub", options(STAR, 2**64 - 1, n=5, p_f=0.9), ("HUB", "LARGE_WORD")),
    Case("no_nodes", options(NOTHING, 1, n=3), ("NO_NODES", "EMPTY")),
    Case("karate", options(KARATE, 7, n=14)),
    *errors(n=2),
    Case("none", options(PAW, 1, n=0), error="value"),
    Case("p_f_above_1", options(PAW, 1, n=2, p_f=1.5), error="value"),
    Case("p_f_nan", options(PAW, 1, n=2, p_f=float("nan")), error="value"),
)

KERNELS = (
    Kernel("edge", "jpdc21", "Algorithm 5", EDGE, "1-6", flags=ALIAS),
    Kernel("random_walk", "jpdc21", "Algorithm 5", RANDOM_WALK, "7-18", flags=STAYS),
    Kernel("multiple_walks", "jpdc21", "section 3.3", MULTIPLE_WALKS, flags={**STAYS, **UNEVEN}),
    Kernel("forest_fire", "jpdc21", "section 3.3", FOREST_FIRE, flags=WHOLE),
)
