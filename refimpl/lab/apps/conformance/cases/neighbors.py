"""Layer sampling: message-flow graphs of GraphSAGE and of FreshGNN.

Most of it is on the paw: rows 0: 1 2, 1: 0 2, 2: 0 1 3, 3: 2 are entries 0 1, 2 3, 4 5 6 and 7.
"""

import numpy as np

from refimpl.block import MFG, Block
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
    ids,
    undirected,
)
from refimpl.typed import TypedGraph

FLAGS = {
    "ALL": "A fan-out of -1, or not below the degree: the row takes all, and draws nothing.",
    "NO_LAYERS": "No fan-out: the roots are the inputs, and there is no block.",
    "UNSORTED": "The roots stand in no order: they keep it, only new nodes ascend.",
    "ZERO": "A fan-out of 0: empty rows, no new nodes, nothing drawn.",
}
SHARED = {
    "RELATIONS": "A list in the list of fan-outs: a number for each relation of a typed graph.",
    "SHARED": "A node draws once, in the hop behind the one that met it; its row is in all blocks.",
}


def block(start, end, indices, n_src, edge_ids):
    """Return the Block of these lists."""
    start, end, indices, edge_ids = (
        np.array(values, np.int64) for values in (start, end, indices, edge_ids)
    )
    return Block(start, end, indices, n_src, edge_ids)


def draw(graph, roots, fanouts, key):
    """Return the arguments of `layer_sample`."""
    return {"graph": graph, "roots": np.array(roots, np.int64), "fanouts": fanouts, "key": key}


ALL_OF_TWO_HOPS = MFG(
    (ids(3, 2, 0, 1), ids(3, 2), ids(3)),
    (
        block([0, 1], [1, 4], [1, 2, 3, 0], 4, [7, 4, 5, 6]),
        block([0], [1], [1], 2, [7]),
    ),
)
ALL_WORKING = (
    "Nothing is drawn. Node 3 has entry 7, node 2: sources 3 2, and the entry is local node 1. "
    "Then 3 has entry 7 again, and 2 has entries 4 5 6, nodes 0 1 3; new are 0 1: sources 3 2 0 "
    "1, entries 1 | 2 3 0."
)
LAYER_SAMPLE = (
    Case(
        "all",
        draw(PAW, [3], [-1, 3], 1),
        ("WORKED", "ALL"),
        ALL_OF_TWO_HOPS,
        ALL_WORKING,
    ),
    Case(
        "two_hops",
        draw(PAW, [2], [2, 1], 3),
        ("WORKED",),
        MFG(
            (ids(2, 0, 3, 1), ids(2, 0, 3), ids(2)),
            (
                block([0, 1, 2], [1, 2, 3], [3, 3, 0], 4, [5, 0, 7]),
                block([0], [2], [1, 2], 3, [4, 6]),
            ),
        ),
        "Draws .1135 .7003 .6130 .0729. Node 2 takes 2 of its 3: floor(.1135 x 3) = 0 takes the "
        "first, 1 + floor(.7003 x 2) = 2 the third: entries 4 6, nodes 0 3, both new: sources 2 0 "
        "3, entries 1 2. Then each takes 1: node 2 floor(.6130 x 3) = 1, entry 5, node 1; node 0 "
        "floor(.0729 x 2) = 0, entry 0, node 1; node 3 has but 1, entry 7, node 2, and draws "
        "nothing. New is 1: sources 2 0 3 1, entries 3 | 3 | 0.",
    ),
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


def batch(graph, roots, fanouts, seed=358, epoch=1, batch=2, **others):
    """Return the arguments of `sample_mfg`."""
    names = {"seed": seed, "epoch": epoch, "batch": batch}
    return {
        "graph": graph,
        "roots": np.array(roots, np.int64),
        "fanouts": fanouts,
        **names,
        **others,
    }


TWO_HOPS = MFG(
    (ids(2, 0, 1, 3), ids(2, 0), ids(2)),
    (
        block([0, 2], [2, 4], [1, 3, 2, 0], 4, [4, 6, 0, 1]),
        block([0], [1], [1], 2, [4]),
    ),
)
TWO_HOPS_WORKING = (
    "The domain NEIGHBOR is 10. The roots' hop is layer 2 of 2. key(358, 10, 1, 2, 2, 2), the last "
    "for node 2, draws .1631: Floyd takes 1 of 3, floor(.1631 x 3) = 0: entry 4, node 0; sources 2 "
    "0. In layer 1, node 2 takes 2 of 3 with key(358, 10, 1, 2, 1, 2), draws .0467 .2972: "
    "floor(.0467 x 2) = 0; floor(.2972 x 3) = 0 is taken, so the last, 2: entries 4 6, nodes 0 3. "
    "Node 0 has but 2: entries 0 1, nodes 1 2. New are 1 3: sources 2 0 1 3, entries 1 3 | 2 0."
)
# The nodes 1 to 4 round node 0: row 0 is entries 0 to 3, and row v is entry 3 + v.
HUB = undirected(5, *[(0, v) for v in range(1, 5)])
TYPED = TypedGraph(HUB, np.array([0, 1, 1, 0, 0, 0, 1, 1]), 2)
THREE = TypedGraph(MIXED, np.arange(MIXED.e) % 3, 3, np.arange(MIXED.n) % 2)
BY_RELATION = MFG(
    (ids(0, 2, 4, 1, 3), ids(0, 2, 4), ids(0)),
    (
        block([0, 4, 5], [4, 5, 6], [3, 1, 4, 2, 0, 0], 5, [0, 1, 2, 3, 5, 7]),
        block([0], [2], [1, 2], 3, [1, 3]),
    ),
)
BY_RELATION_WORKING = (
    "The domain RELATION is 12. In layer 2 node 0 draws 1 in each relation. In relation 0 it has "
    "entries 0 3: key(358, 12, 1, 5, 2, 0, 0), of epoch 1, batch 5, layer 2, relation 0, node 0, "
    "draws .5412: Floyd takes floor(.5412 x 2) = 1, entry 3, node 4. In relation 1 it has entries "
    "1 2: key(358, 12, 1, 5, 2, 1, 0) draws .2523: floor(.2523 x 2) = 0, entry 1, node 2. In the "
    "order of the graph that is 1 3, nodes 2 4, both new: sources 0 2 4. Layer 1 takes all of all "
    "relations: node 0 has entries 0 1 2 3, nodes 1 2 3 4, node 2 entry 5 and node 4 entry 7, "
    "both node 0. New are 1 3: sources 0 2 4 1 3, entries 3 1 4 2 | 0 | 0."
)
SAMPLE_MFG = (
    Case("two_hops", batch(PAW, [2], [1, 2]), ("WORKED",), TWO_HOPS, TWO_HOPS_WORKING),
    Case(
        "shared",
        batch(PAW, [2], [1, 2], mode="shared"),
        ("WORKED", "SHARED"),
        MFG(
            (ids(2, 1, 0), ids(2, 1), ids(2)),
            (
                block([0, 1], [1, 3], [1, 2, 0], 3, [5, 2, 3]),
                block([0], [1], [1], 2, [5]),
            ),
        ),
        "The domain SHARED is 11. key(358, 11, 1, 2, 2), without a layer, draws .4546: Floyd takes "
        "1 of node 2's 3, floor(.4546 x 3) = 1: entry 5, node 1; sources 2 1. Then only node 1 is "
        "new: it has but 2, entries 2 3, nodes 0 2; sources 2 1 0. The block of layer 1 has the "
        "row of node 2 as it was, then that of node 1: entries 1 | 2 0.",
    ),
    Case(
        "all",
        batch(PAW, [3], [-1, 3]),
        ("WORKED", "ALL"),
        ALL_OF_TWO_HOPS,
        ALL_WORKING,
    ),
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
    Case(
        "by_relation",
        batch(TYPED, [0], [(1, 1), -1], batch=5),
        ("WORKED", "ALL", "RELATIONS"),
        BY_RELATION,
        BY_RELATION_WORKING,
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


def batches(graph, roots, fanouts, first_batch=0, **others):
    """Return the arguments of `sample_mfg_many`."""
    names = {"seed": 358, "epoch": 1, "first_batch": first_batch}
    batches = [np.array(one, np.int64) for one in roots]
    return {"graph": graph, "batches": batches, "fanouts": fanouts, **names, **others}


NO_SEEDS = MFG((ids(), ids(), ids()), (block([], [], [], 0, []), block([], [], [], 0, [])))
SAMPLE_MFG_MANY = (
    Case(
        "second_of_two",
        batches(PAW, [[], [2]], [1, 2], 1),
        ("WORKED", "EMPTY"),
        [NO_SEEDS, TWO_HOPS],
        "Batch 1 has no roots, so nothing else. Batch 2 is drawn like alone: " + TWO_HOPS_WORKING,
    ),
    Case("no_batches", batches(PAW, [], [2]), ("EMPTY",)),
    Case("no_layers", batches(PAW, [[1], [0, 2]], []), ("NO_LAYERS",)),
    Case(
        "shared",
        batches(MIXED, [[1, 0], [4], [7, 5]], [2, 2], mode="shared"),
        ("ISOLATED", "SHARED", "UNSORTED"),
    ),
    Case(
        "by_relation",
        batches(TYPED, [[], [0]], [(1, 1), -1], 4),
        ("WORKED", "ALL", "EMPTY", "RELATIONS"),
        [NO_SEEDS, BY_RELATION],
        "Batch 4 has no roots, so nothing else. Batch 5 is drawn like alone: "
        + BY_RELATION_WORKING,
    ),
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
