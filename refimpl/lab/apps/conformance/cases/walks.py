"""The static samplers: random edges, random walks and fires."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    PAW,
    STAR,
)
from refimpl.lab.apps.conformance.worked import worked

if TYPE_CHECKING:
    from refimpl.graph import Graph

HAND = worked("walks")

ALIAS = {"ALIAS": "Edges come from an alias table: its order of operations is part of the result."}
STAYS = {"STAYS": "A walk stands on a node without neighbours: it makes no step and draws nothing."}
UNEVEN = {"UNEVEN": "The first walks are one step longer."}
WHOLE = {"WHOLE": "The budget is at least the number of nodes: all of them are in the sample."}

ON_P_F = {"TIE": "A draw equal to p_f: the fire ends. Only a draw below p_f burns on."}


def options(graph: Graph | None, main: float, **others: Any) -> dict[str, Any]:
    """Return the arguments of a static sampler."""
    return {"graph": graph, "main": main, **others}


def errors(**others: Any) -> tuple[Case, ...]:
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
    *HAND["edge"],
    Case("no_edges_alias", options(NO_EDGES, 3, b=5, method="alias"), ("NO_EDGES", "ALIAS")),
    Case("no_nodes", options(NOTHING, 3, b=1), ("NO_NODES", "EMPTY")),
    Case("loop", options(LOOP, 2**64 - 1, b=2), ("ONE_NODE", "LARGE_WORD")),
    Case("loops", options(LOOPS, 4, b=6), ("ISOLATED",)),
    Case("loops_alias", options(LOOPS, 4, b=6, method="alias"), ("ISOLATED", "ALIAS")),
    Case("hub_alias", options(STAR, 6, b=4, method="alias"), ("HUB", "ALIAS")),
    Case("mixed_alias", options(MIXED, 7, b=9, method="alias"), ("ISOLATED", "ALIAS")),
    Case("karate", options(KARATE, 8, b=12)),
    Case("karate_alias", options(KARATE, 8, b=12, method="alias"), ("ALIAS",)),
    *errors(b=2),
    Case("none", options(PAW, 1, b=0), error="value"),
    Case("unknown_method", options(PAW, 1, b=2, method="table"), error="value"),
)

RANDOM_WALK = (
    *HAND["random_walk"],
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
    *HAND["multiple_walks"],
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
    *HAND["forest_fire"],
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
    Kernel("forest_fire", "jpdc21", "section 3.3", FOREST_FIRE, flags={**WHOLE, **ON_P_F}),
)
