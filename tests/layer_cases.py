"""Every layer in one form: its parameters, both passes, and its definition on dense matrices.

What a layer is made with (widths, heads, ..) changes its result. A `way`, an order of products or
a depth, changes its rounding only. `hops` are the Adjacencies that a layer applies, first to last.
"""

from itertools import product

import numpy as np
from oracles import Draws, matrix
from strategies import asymmetric, graph_from_edges, random_block

from refimpl.lab.backend import find
from refimpl.scheduling import ProductOrders
from refimpl.streams import mix

ORDERS = [ProductOrders(*order) for order in product((1, 2), repeat=3)]
# Two components, a loop, a pendant node, and the isolated node 6; the same with all loops.
EDGES = {(0, 1), (0, 2), (1, 2), (2, 3), (4, 5), (5, 5)}
GRAPH = graph_from_edges(7, EDGES)
WITH_LOOPS = graph_from_edges(7, EDGES | {(v, v) for v in range(7)})
ISOLATED = 6


class Layer:
    """One kind of layer; `hop_count` Adjacencies take it from its input's rows to its output's."""

    hop_count = 1
    loops = False
    ways = ORDERS
    draws = False

    def __init__(self, name, **made_with):
        self.name, self.made_with = name, made_with

    def __repr__(self):
        options = ", ".join(f"{key}={value}" for key, value in self.made_with.items())
        return f"{self.name}({options})"

    def call(self, gnn, direction, hops, P, *more, relu=True, **options):
        """Call a pass with X and the weights of P, then `more`."""
        function = find(gnn, f"{self.name}_{direction}")
        options = {"relu": relu, "b": P.get("b"), **self.options(), **options}
        return function(*self.first(hops), P["X"], *self.weights(P), *more, **options)

    def options(self):
        return {}

    def first(self, hops):
        return hops

    def weights(self, P):
        return [P["W"]]

    def forward(self, gnn, hops, P, way, relu=True):
        return self.call(gnn, "forward", hops, P, *self.extra(way), relu=relu)

    def backward(self, gnn, hops, P, out, G, way, relu=True, need_dx=True, **options):
        """Return the gradients by the names of P; None for what is not asked for."""
        options = {"relu": relu, **options}
        if not isinstance(way, ProductOrders):
            options["need_dx"] = need_dx
        elif not need_dx:
            way = way._replace(dx=0)
        extra = self.extra(way)
        return self.named(self.call(gnn, "backward", hops, P, out, G, *extra, **options))

    def extra(self, way):
        return [] if way is None else [way]

    def named(self, grads):
        return grads._asdict()

    def output(self, out):
        return out.X_out

    def definition(self, hops, P):
        """Return the layer's output before the ReLU, and every number that meets a kink in it."""
        return self.product([matrix(A.graph, A.data) for A in hops], P), []


class Sage(Layer):
    def __init__(self, neigh, own, concat="neigh_first"):
        super().__init__("sage", neigh=neigh, own=own, concat=concat)
        self.neigh, self.own, self.concat = neigh, own, concat
        self.width = neigh if concat == "sum" else neigh + own

    def shapes(self, f):
        return {"W_neigh": (f, self.neigh), "W_self": (f, self.own)}

    def weights(self, P):
        return [P["W_neigh"], P["W_self"]]

    def options(self):
        return {"concat": self.concat}

    def product(self, matrices, P):
        halves = matrices[0] @ P["X"] @ P["W_neigh"], P["X"][: len(matrices[0])] @ P["W_self"]
        if self.concat == "sum":
            return halves[0] + halves[1]
        return np.hstack(halves if self.concat == "neigh_first" else halves[::-1])

    def macs(self, gnn, way, s, e, f, first):
        way = way._replace(dx=0) if first else way
        return gnn.scheduling.chain_macs(way, s, e, f, self.neigh, self.own)


class Gcn(Layer):
    def __init__(self, width):
        super().__init__("gcn", width=width)
        self.width = width

    def shapes(self, f):
        return {"W": (f, self.width)}

    def product(self, matrices, P):
        return matrices[0] @ P["X"] @ P["W"]

    def macs(self, gnn, way, s, e, f, first):
        return gnn.scheduling.chain_macs(
            way._replace(dx=0) if first else way, s, e, f, self.width, 0
        )


class MixHop(Layer):
    def __init__(self, *widths):
        super().__init__("mixhop", widths=widths)
        self.widths, self.width, self.hop_count = widths, sum(widths), len(widths) - 1
        self.ways = range(len(widths))

    def shapes(self, f):
        return {f"W{k}": (f, width) for k, width in enumerate(self.widths)}

    def weights(self, P):
        return [[P[f"W{k}"] for k in range(len(self.widths))]]

    def first(self, hops):
        return [hops]

    def named(self, grads):
        assert isinstance(grads.W, tuple)
        return {**{f"W{k}": W for k, W in enumerate(grads.W)}, "X": grads.X, "b": grads.b}

    def product(self, matrices, P):
        power, n_dst = P["X"], len((P["X"], *matrices)[-1])
        blocks = [power[:n_dst] @ P["W0"]]
        for k, hop in enumerate(matrices, start=1):
            power = hop @ power
            blocks.append(power[:n_dst] @ P[f"W{k}"])
        return np.hstack(blocks)

    def macs(self, gnn, way, s, e, f, first):
        return gnn.scheduling.mixhop_macs(way, s, e, f, self.widths, first=first)


class Gat(Layer):
    loops = True
    ways = [None]

    def __init__(self, width, heads=1, norm="softmax", form="joint", slope=0.2, dropout=0.0):
        made_with = {"dropout": dropout} if dropout else {}
        super().__init__(
            "gat", width=width, heads=heads, norm=norm, form=form, slope=slope, **made_with
        )
        self.width, self.heads, self.norm, self.form = width, heads, norm, form
        self.slope, self.dropout, self.draws = slope, dropout, dropout > 0

    def call(self, gnn, direction, hops, P, *more, **options):
        if self.draws:
            options |= {"dropout": self.dropout, "keys": row_keys(hops[0].graph.n_dst)}
        return super().call(gnn, direction, hops, P, *more, **options)

    def shapes(self, f):
        vectors = self.heads, self.width // self.heads
        return {"W": (f, self.width), "a_recv": vectors, "a_send": vectors}

    def weights(self, P):
        return [P["W"], P["a_recv"], P["a_send"]]

    def options(self):
        return {"norm": self.norm, "form": self.form, "slope": self.slope}

    def attention(self, A, P):
        """Return for each head its H, sigma, tau, matrix P, and what meets the LeakyReLU."""
        values = np.where(np.isnan(A.data), 0, A.data)
        on, size = matrix(A.graph) > 0, self.width // self.heads
        for k in range(self.heads):
            H = P["X"] @ P["W"][:, k * size : (k + 1) * size]
            sigma, tau = (H @ P["a_recv"][k])[: len(on)], H @ P["a_send"][k]
            scores = sigma[:, None] + tau
            beta, met = self.leaky(scores), [scores[on]]
            if self.form == "split":
                beta, met = self.leaky(sigma)[:, None] + self.leaky(tau), [sigma, tau]
            if self.norm == "softmax":
                weight = np.where(on, np.exp(beta), 0)
                total = weight.sum(axis=1, keepdims=True)
                weight = weight / np.where(total == 0, 1, total)
            else:
                weight = beta * (matrix(A.graph, values) if self.norm == "row" else on)
            yield H, sigma, tau, weight, met

    def leaky(self, x):
        return np.where(x > 0, x, self.slope * x)

    def definition(self, hops, P):
        heads = list(self.attention(*hops, P))
        left = left_by_dropout(hops[0].graph, self.heads, self.dropout)
        Z = [(w * left_k) @ H for (H, _, _, w, _), left_k in zip(heads, left, strict=True)]
        return np.hstack(Z), [x for *_, met in heads for x in met]

    def macs(self, gnn, way, s, e, f, first):
        return gnn.scheduling.gat_macs(s, e, f, self.width, heads=self.heads, first=first)


def row_keys(n):
    """Return a key for each row."""
    return mix(np.arange(n, dtype=np.uint64))


def left_by_dropout(graph, heads, rate):
    """Return a dense matrix a head: 0 where an entry is dropped, else what multiplies it."""
    left = np.zeros((heads, graph.n_dst, graph.n_src))
    rows = zip(row_keys(graph.n_dst).tolist(), graph.start, graph.end, strict=True)
    for u, (key, start, end) in enumerate(rows):
        draws = Draws(key)
        for v in graph.indices[start:end]:
            for k in range(heads):
                left[k, u, v] = (draws.uniform() >= rate) / (1 - rate)
    return left


class Dense(Layer):
    hop_count = 0
    ways = [None]

    def __init__(self, width):
        super().__init__("dense", width=width)
        self.width = width

    def shapes(self, f):
        return {"W": (f, self.width)}

    def output(self, out):
        return out

    def product(self, matrices, P):
        return P["X"] @ P["W"]

    def macs(self, gnn, way, s, e, f, first):
        return gnn.scheduling.dense_macs(s, f, self.width, first=first)


GATS = [
    Gat(4, heads, norm, form)
    for heads, norm, form in product((1, 2), ("softmax", "row", "none"), ("joint", "split"))
]
LAYERS = [
    Sage(3, 2),
    Sage(3, 2, "self_first"),
    Sage(4, 4, "sum"),
    Gcn(4),
    MixHop(2, 3, 1),
    MixHop(0, 2, 0, 2),
    MixHop(3),
    *GATS,
    Gat(6, 3, "row", slope=0.0),
    Gat(4, 2, dropout=0.4),
    Gat(4, 1, "row", "split", dropout=0.5),
    Dense(4),
]
PATTERNS = ["graph", "block", "pruned"]


def make_hops(layer, pattern, seed=0):
    """Return the layer's hops, each with other values: on one Graph, or on Blocks that shrink."""
    rng, graph = np.random.default_rng(seed), WITH_LOOPS if layer.loops else GRAPH
    sizes = [12, 9, 6, 4][-layer.hop_count - 1 :]
    if pattern == "graph":
        patterns = [graph] * layer.hop_count
    else:
        options = {"loops": layer.loops, "pruned": pattern == "pruned"}
        patterns = [
            random_block(rng, n_dst, n_src, **options)
            for n_src, n_dst in zip(sizes[:-1], sizes[1:], strict=True)
        ]
    return tuple(asymmetric(pattern, seed=seed + i) for i, pattern in enumerate(patterns))


def make_parameters(layer, n_src, f=3, *, bias=False, seed=0):
    """Return X, the weights and perhaps a bias, drawn from the normal law."""
    rng = np.random.default_rng(seed)
    shapes = {"X": (n_src, f), **layer.shapes(f)}
    if bias:
        shapes["b"] = (layer.width,)
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def rows_in(layer, hops):
    """Return how many rows the layer's input has on `hops`."""
    return hops[0].graph.n_src if hops else GRAPH.n


def distance_to_a_kink(layer, hops, P, relu):
    """Return the smallest number in size that meets a ReLU; exact zeros stay zero and are fine."""
    Z, met = layer.definition(hops, P)
    Z = Z + P.get("b", 0.0)
    values = np.abs(np.concatenate([x.ravel() for x in (*met, *([Z] if relu else []))] or [[1.0]]))
    return values[values > 0].min(initial=1.0)


def problem(layer, pattern="graph", *, bias=False, relu=True, kinks=2e-3):
    """Return hops, parameters and G_out, no ReLU within `kinks` of where it bends."""
    for seed in range(1000):
        hops = make_hops(layer, pattern, seed)
        P = make_parameters(layer, rows_in(layer, hops), bias=bias, seed=seed)
        if distance_to_a_kink(layer, hops, P, relu) > kinks:
            Z, _ = layer.definition(hops, P)
            return hops, P, np.random.default_rng(seed + 1).normal(size=Z.shape)
    raise AssertionError("no seed keeps its distance")
