"""GCN, MixHop, GAT and R-GCN, forward and backward, beside another implementation's answers."""

from functools import cache, partial

import numpy as np

import refimpl
from bench import inputs, work
from bench.answers import as_other
from bench.case import Bench, Task, timed
from refimpl.lab.backend import find

ORDER = refimpl.scheduling.ProductOrders(2, 2, 1)
HEADS, RELATIONS = 4, 3
WIDEST = 128  # attention at twice the width takes a quarter of a second a call


@cache
def sizes(size):
    """Return the scale, no wider than `WIDEST`, and the features of the layer's graph."""
    scale = inputs.SIZES[size]
    scale = scale._replace(f=min(scale.f, WIDEST), hidden=min(scale.hidden, WIDEST))
    return scale, inputs.normal((scale.s, scale.f), 1)


@cache
def gcn(size):
    """Return the arguments of `gcn_forward`."""
    scale, X = sizes(size)
    A = refimpl.adjacency.sym_norm(inputs.layer_graph(size), dtype=np.float32)
    return {"A": A, "X": X, "W": inputs.weights(scale.f, scale.hidden, 2), "order": ORDER}


@cache
def mixhop(size):
    """Return the arguments of `mixhop_forward`: two hops, three branches."""
    scale, X = sizes(size)
    A = inputs.adjacency(size)
    W = tuple(inputs.weights(scale.f, scale.hidden // 2, seed) for seed in (2, 3, 4))
    return {"hops": (A, A), "X": X, "W": W, "depth": 0}


@cache
def gat(size):
    """Return the arguments of `gat_forward`."""
    scale, X = sizes(size)
    A = refimpl.adjacency.loop_norm(inputs.layer_graph(size), dtype=np.float32)
    heads = HEADS, scale.hidden // HEADS
    sides = {"a_recv": inputs.normal(heads, 3), "a_send": inputs.normal(heads, 4)}
    return {"A": A, "X": X, "W": inputs.weights(scale.f, scale.hidden, 2), **sides}


@cache
def rgcn(size):
    """Return the arguments of `rgcn_forward`: sampled neighbours of three relations."""
    (scale, _), block = sizes(size), inputs.neighbours(size).blocks[0]
    types = np.random.default_rng(inputs.SEED).integers(0, RELATIONS, inputs.parent(size).e)
    parts = refimpl.typed.relation_blocks(block, types, RELATIONS)
    f, h = scale.f, scale.hidden
    return {
        "A": tuple(refimpl.adjacency.block_norm("row", part, dtype=np.float32) for part in parts),
        "X": inputs.normal((block.n_src, f), 1),
        "W": tuple(inputs.weights(f, h, 2 + i) for i in range(RELATIONS)),
        "W_self": inputs.weights(f, h, 9),
    }


LAYERS = {"gcn": gcn, "mixhop": mixhop, "gat": gat, "rgcn": rgcn}
NEED_DX = ("mixhop", "gat", "rgcn")  # say whether the gradient of X is wanted


@cache
def forward_output(layer, size):
    """Return what a forward pass keeps."""
    return find(inputs.fastest(), f"{layer}_forward")(**LAYERS[layer](size))


def tasks_of(layer, way, size):
    """Yield the input of a layer, `way` being "forward" or "backward"."""

    (scale, _), args = sizes(size), LAYERS[layer](size)
    A = args.get("hops", args.get("A"))
    graph = (A[0] if isinstance(A, tuple) else A).graph
    form = {"gat": f" heads={HEADS}", "mixhop": " hops=2", "rgcn": f" relations={RELATIONS}"}
    entries = sum(part.graph.e for part in A) if layer == "rgcn" else graph.e
    text = f"n={graph.n_dst:,} e={entries:,} f={scale.f} h={scale.hidden}"
    if way == "backward":
        out = forward_output(layer, size)
        args = {**args, "out": out, "G_out": inputs.normal(out.X_out.shape, 6)}
        args |= {"need_dx": True} if layer in NEED_DX else {}
    done = []
    if layer == "gcn":
        products = 1 if way == "forward" else 2
        done = work.spmm(graph, scale.hidden, "float32")
        done += work.times(products, work.dense(scale.s, scale.f, scale.hidden, "float32"))
    yield Task(f"{text}{form.get(layer, '')} float32", args, as_other(f"{layer}_{way}"), done)


test_other_layers = timed(
    *(
        Bench(f"{layer}_{way}", partial(tasks_of, layer, way))
        for layer in LAYERS
        for way in ("forward", "backward")
    )
)
