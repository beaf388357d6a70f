"""Layer sampling: message-flow graphs of GraphSAGE and of FreshGNN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl.hints import Integers
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.graphs import (
    ARROWS,
    KARATE,
    LOOPS,
    MIXED,
    NO_EDGES,
    NOTHING,
    PAW,
    STAR,
    undirected,
)
from refimpl.lab.apps.conformance.worked import worked
from refimpl.typed import TypedGraph

if TYPE_CHECKING:
    from refimpl.graph import Graph

HAND = worked("neighbors")

FLAGS = {
    "ALL": "A fan-out of -1, or not below the degree: the row takes all, and draws nothing.",
    "NO_LAYERS": "No fan-out: the roots are the inputs, and there is no block.",
    "UNSORTED": "The roots stand in no order: they keep it, only new nodes ascend.",
    "ZERO": "A fan-out of 0: empty rows, no new nodes, nothing drawn.",
}
SHARED = {
    "DEPENDENT": "The batch is not the first of its group: variates of two groups are combined.",
    "LABOR": "A variate of each source node in a layer, not draws of the row, chooses neighbours.",
    "RELATIONS": "A list in the list of fan-outs: a number for each relation of a typed graph.",
    "WEIGHTS": "LABOR-i: neighbours in a row have different chances, and blocks have weights.",
    "SHARED": "A node draws once, in the hop behind the one that met it; its row is in all blocks.",
}


def draw(graph: Graph, roots: Integers, fanouts: Any, key: int) -> dict[str, Any]:
    """Return the arguments of `layer_sample`."""
    return {"graph": graph, "roots": np.array(roots, np.int64), "fanouts": fanouts, "key": key}


LAYER_SAMPLE = (
    *HAND["layer_sample"],
    Case("no_layers", draw(PAW, [1, 3], [], 4), ("NO_LAYERS",)),
    Case("no_roots", draw(PAW, [], [2, 2], 4), ("EMPTY",)),
    Case("no_nodes", draw(NOTHING, [], [2], 4), ("NO_NODES", "EMPTY")),
    Case("no_edges", draw(NO_EDGES, [2, 0], [3, -1], 4), ("NO_EDGES", "ALL", "UNSORTED")),
    Case("zero", draw(PAW, [2, 0], [1, 0], 5), ("ZERO", "UNSORTED")),
    Case("loops", draw(LOOPS, [4, 1, 5], [2, 2], 6), ("ISOLATED", "UNSORTED")),
    Case("hub", draw(STAR, [3, 0], [2, 3], 2**64 - 1), ("HUB", "UNSORTED", "LARGE_WORD")),
    Case("arrows", draw(ARROWS, [0, 2], [1, 2, 1], 7), ("DIRECTED", "ISOLATED")),
    Case("karate", draw(KARATE, [33, 0, 16], [4, 2], 8), ("UNSORTED",)),
    Case("root_twice", draw(PAW, [2, 2], [1], 1), ("DUPLICATE",), error="value"),
    Case("root_beyond", draw(PAW, [4], [1], 1), error="value"),
    Case("fanout_below", draw(PAW, [2], [-2], 1), error="value"),
    Case("one_number", draw(PAW, [2], 2, 1), error="type"),
    Case("real_roots", {**draw(PAW, [2], [1], 1), "roots": np.array([2.0])}, error="type"),
    Case("negative_key", draw(PAW, [2], [1], -1), error="value"),
)


def batch(
    graph: Graph,
    roots: Integers,
    fanouts: Any,
    seed: int = 358,
    epoch: float = 1,
    batch: int = 2,
    **others: Any,
) -> dict[str, Any]:
    """Return the arguments of `sample_mfg`."""
    names = {"seed": seed, "epoch": epoch, "batch": batch}
    return {
        "graph": graph,
        "roots": np.array(roots, np.int64),
        "fanouts": fanouts,
        **names,
        **others,
    }


# The nodes 1 to 4 round node 0: row 0 is entries 0 to 3, and row v is entry 3 + v.
HUB = undirected(5, *[(0, v) for v in range(1, 5)])
TYPED = HAND["sample_mfg"][3].args["graph"]
THREE = TypedGraph(MIXED, np.arange(MIXED.e) % 3, 3, np.arange(MIXED.n) % 2)
SAMPLE_MFG = (
    *HAND["sample_mfg"][:3],
    Case("no_layers", batch(PAW, [1, 3], []), ("NO_LAYERS",)),
    Case("no_layers_shared", batch(PAW, [1, 3], [], mode="shared"), ("NO_LAYERS", "SHARED")),
    Case("no_seeds", batch(PAW, [], [2, 2]), ("EMPTY",)),
    Case("no_edges", batch(NO_EDGES, [2, 0], [3, -1]), ("NO_EDGES", "ALL", "UNSORTED")),
    Case("zero", batch(PAW, [2, 0], [1, 0]), ("ZERO", "UNSORTED")),
    Case(
        "loops_shared",
        batch(LOOPS, [4, 1, 5], [2, 2], mode="shared"),
        ("ISOLATED", "SHARED", "UNSORTED"),
    ),
    Case("hub", batch(STAR, [3, 0], [3, 2], 2**64 - 1), ("HUB", "LARGE_WORD", "UNSORTED")),
    Case("arrows", batch(ARROWS, [0, 2], [1, 2, 1]), ("DIRECTED", "ISOLATED")),
    Case("mixed_shared", batch(MIXED, [3, 6], [1, 2, 3], mode="shared"), ("SHARED",)),
    Case("karate", batch(KARATE, [33, 0, 16], [4, 2]), ("UNSORTED",)),
    *HAND["sample_mfg"][3:],
    Case("labor_karate", batch(KARATE, [33, 0, 16], [4, 2], mode="labor"), ("LABOR", "UNSORTED")),
    Case(
        "labor_exact", batch(KARATE, [33, 0, 16], [4, 2], mode="labor_exact"), ("LABOR", "UNSORTED")
    ),
    Case(
        "labor_zero",
        batch(MIXED, [3, 6], [-1, 1, 0], 2**64 - 1, mode="labor"),
        ("ALL", "LABOR", "LARGE_WORD", "ZERO"),
    ),
    Case(
        "labor_second_group",
        batch(KARATE, [33, 0, 16], [4, 2], batch=4, mode="labor", batch_dependency=4),
        ("LABOR", "UNSORTED"),
    ),
    Case(
        "labor_between",
        batch(KARATE, [33, 0, 16], [4, 2], batch=6, mode="labor", batch_dependency=5),
        ("DEPENDENT", "LABOR", "UNSORTED"),
    ),
    Case(
        "labor_many_tails",  # variates far out, of many neighbours
        batch(STAR, [0], [1], batch=2**64 - 1, mode="labor_exact", batch_dependency=2**31 - 1),
        ("DEPENDENT", "HUB", "LABOR", "LARGE_WORD"),
    ),
    Case(
        "labor_1_karate",
        batch(KARATE, [33, 0, 16], [4, 2], mode="labor_1"),
        ("LABOR", "UNSORTED", "WEIGHTS"),
    ),
    Case(
        "labor_2_zero",
        batch(MIXED, [3, 6], [-1, 1, 0], 2**64 - 1, mode="labor_2"),
        ("ALL", "LABOR", "LARGE_WORD", "WEIGHTS", "ZERO"),
    ),
    Case(
        "labor_3_between",
        batch(KARATE, [33, 0, 16], [4, 2], batch=6, mode="labor_3", batch_dependency=5),
        ("DEPENDENT", "LABOR", "UNSORTED", "WEIGHTS"),
    ),
    Case("dependency_layered", batch(PAW, [2], [1], batch_dependency=2), error="value"),
    Case(
        "dependency_below",
        batch(PAW, [2], [1], mode="labor", batch_dependency=0),
        ("LABOR",),
        error="value",
    ),
    Case(
        "dependency_real",
        batch(PAW, [2], [1], mode="labor", batch_dependency=1.5),
        ("LABOR",),
        error="type",
    ),
    Case(
        "relations_labor",
        batch(TYPED, [0], [(1, 1)], mode="labor"),
        ("LABOR", "RELATIONS"),
        error="value",
    ),
    Case("typed", batch(TYPED, [0], [2, 1])),
    Case("by_relation_inputs", batch(TYPED, [0, 3], [2, (0, 1)]), ("RELATIONS", "ZERO")),
    Case(
        "by_three_relations",
        batch(THREE, [7, 1, 4], [(1, -1, 1), (2, 0, 1), 1]),
        ("ALL", "ISOLATED", "RELATIONS", "UNSORTED", "ZERO"),
    ),
    Case("relation_missing", batch(TYPED, [0], [(1,), -1]), ("RELATIONS",), error="value"),
    Case("relation_too_many", batch(TYPED, [0], [1, (1, 1, 1)]), ("RELATIONS",), error="value"),
    Case("relation_below", batch(TYPED, [0], [(1, -2)]), ("RELATIONS",), error="value"),
    Case("relation_real", batch(TYPED, [0], [(1, 0.5)]), ("RELATIONS",), error="type"),
    Case(
        "relations_shared",
        batch(TYPED, [0], [(1, 1)], mode="shared"),
        ("RELATIONS", "SHARED"),
        error="value",
    ),
    Case("no_relations", batch(HUB, [0], [(1, 1)]), ("RELATIONS",), error="value"),
    Case("seed_twice", batch(PAW, [2, 2], [1]), ("DUPLICATE",), error="value"),
    Case("seed_beyond", batch(PAW, [4], [1]), error="value"),
    Case("fanout_below", batch(PAW, [2], [-2]), error="value"),
    Case("one_number", batch(PAW, [2], 2), error="type"),
    Case("unknown_mode", batch(PAW, [2], [1], mode="whole"), error="value"),
    Case("negative_batch", batch(PAW, [2], [1], batch=-1), error="value"),
    Case("real_epoch", batch(PAW, [2], [1], epoch=0.5), error="type"),
)


def batches(
    graph: Graph, roots: Sequence[Integers], fanouts: Any, first_batch: int = 0, **others: Any
) -> dict[str, Any]:
    """Return the arguments of `sample_mfg_many`."""
    names = {"seed": 358, "epoch": 1, "first_batch": first_batch}
    batches = [np.array(one, np.int64) for one in roots]
    return {"graph": graph, "batches": batches, "fanouts": fanouts, **names, **others}


SAMPLE_MFG_MANY = (
    *HAND["sample_mfg_many"][:1],
    Case("no_batches", batches(PAW, [], [2]), ("EMPTY",)),
    Case("no_layers", batches(PAW, [[1], [0, 2]], []), ("NO_LAYERS",)),
    Case(
        "shared",
        batches(MIXED, [[1, 0], [4], [7, 5]], [2, 2], mode="shared"),
        ("ISOLATED", "SHARED", "UNSORTED"),
    ),
    Case(
        "labor",
        batches(KARATE, [[33, 0], [5, 16]], [3, 2], 4, mode="labor_exact", batch_dependency=5),
        ("DEPENDENT", "LABOR", "UNSORTED"),
    ),
    Case(
        "labor_1",
        batches(KARATE, [[33, 0], [5, 16]], [3, 2], 4, mode="labor_1"),
        ("LABOR", "UNSORTED", "WEIGHTS"),
    ),
    *HAND["sample_mfg_many"][1:],
    Case(
        "by_three_relations",
        batches(THREE, [[1, 0], [4, 7]], [(1, 1, 0), 2], 2**64 - 2),
        ("ISOLATED", "LARGE_WORD", "RELATIONS", "UNSORTED", "ZERO"),
    ),
    Case("relation_missing", batches(TYPED, [[0]], [-1, (1,)]), ("RELATIONS",), error="value"),
    Case(
        "relations_shared",
        batches(TYPED, [[0]], [(1, 1)], mode="shared"),
        ("RELATIONS", "SHARED"),
        error="value",
    ),
    Case("no_relations", batches(HUB, [], [(1, 1)]), ("EMPTY", "RELATIONS"), error="value"),
    Case("last_number", batches(PAW, [[2]], [1], 2**64 - 1), ("LARGE_WORD",)),
    Case("karate", batches(KARATE, [[33, 0], [5, 16]], [3, 2], 4), ("UNSORTED",)),
    Case("number_too_large", batches(PAW, [[2], [1]], [1], 2**64 - 1), error="value"),
    Case("seed_twice", batches(PAW, [[1], [2, 2]], [1]), ("DUPLICATE",), error="value"),
    Case("one_number", batches(PAW, [[1]], 2), error="type"),
    Case("no_sequence", {**batches(PAW, [], [1]), "batches": 3}, error="type"),
)

KERNELS = (
    Kernel("layer_sample", "jpdc21", "section 7.7", LAYER_SAMPLE, flags=FLAGS),
    Kernel("sample_mfg", "vldb24", "section 2", SAMPLE_MFG, flags={**FLAGS, **SHARED}),
    Kernel("sample_mfg_many", "vldb24", "section 2", SAMPLE_MFG_MANY, flags={**FLAGS, **SHARED}),
)
