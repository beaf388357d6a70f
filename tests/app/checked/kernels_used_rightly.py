"""A script without mistakes: a checker has nothing to say of it."""

import numpy as np
from numpy.typing import NDArray

import fastimpl
import fastimpl as gnn
import refimpl
from fastimpl.samplers import frontier
from refimpl.hints import F, Ids, Matrix

rng = np.random.default_rng(0)
u, v = rng.integers(0, 30, 90), rng.integers(0, 30, 90)
graph = gnn.as_graph(np.stack([u, v]), n=30, symmetrize=True, self_loops=False)
by_hand = gnn.Graph(np.array([0, 1, 2]), [1, 0])
same = gnn.graph.from_edges(u.tolist(), v, n=int(u.max()) + 1)
degrees: NDArray[np.int64] = graph.degrees()
some = graph.degrees(np.flatnonzero(degrees > 2)).sum() + by_hand.n + same.e
dense: NDArray[np.float64] = graph.to_scipy().toarray()


def draws(seed: int, count: int) -> list[float]:
    k = gnn.streams.key(seed, 0)
    keys = gnn.streams.key(seed, np.arange(count, dtype=np.uint64))
    first: float = gnn.streams.uniform(k, np.int64(0))
    below: int = gnn.streams.below(k, 1, np.int64(10))
    many = gnn.streams.uniform(k, np.arange(count, dtype=np.uint64))
    return [first, below / 10, *many.tolist(), float(keys.max())]


def nodes_of(package_seed: int | np.random.Generator | None) -> Ids:
    seed = gnn.streams.as_seed(package_seed)
    k = gnn.streams.key(seed, 1)
    return frontier(graph, k, k, m=np.int64(4), n=len(degrees) // 2, deg_cap=None).nodes


def mine(graph: gnn.Graph, main: int, *, count: int) -> gnn.samplers.NodeSample:
    k = np.uint64(main)
    return gnn.edge(graph, k, b=count, method="alias")


sub = gnn.sample_many(graph, gnn.Sampler(mine, count=4, clip=2), 3, 0, 2)[0]
inside = gnn.induced_subgraph(graph, sub.nodes[::2])
inside = gnn.induced_subgraph(graph, range(5))
print(sub.counters.pops, sub.edge_ids[sub.transpose_perm], inside, some, dense.sum(), draws(7, 3))

features = rng.standard_normal((graph.n, 6))
features -= features.mean(axis=0)
features /= np.maximum(features.std(axis=0), 1e-9)


def two_layers(X: Matrix[F], W: Matrix[F], b: NDArray[F]) -> Matrix[F]:
    A = gnn.adjacency.row_norm(graph, gnn.transpose_perm(graph), dtype=X.dtype)
    H = gnn.dense_forward(gnn.spmm(graph, A.data, X), W, relu=True, b=b)
    return gnn.dropout(H, 0.5, gnn.streams.key(1))


W = rng.random((6, 3)) * 0.1
out32 = two_layers(features.astype(np.float32), W.astype(np.float32), np.zeros(3, np.float32))
out: NDArray[np.float64] = two_layers(features, W, np.zeros(3))
labels = np.eye(3)[rng.integers(0, 3, graph.n)]
loss = gnn.softmax_cross_entropy(out, labels, np.ones(graph.n))
value: float = loss.value * 2 + gnn.f1_micro(out > 0.5, labels)

A = gnn.adjacency.sym_norm(graph)
order = gnn.scheduling.chain_order(6, 3, first=True)
forward = gnn.gcn_forward(A, features, W, order, b=np.zeros(3), relu=False)
backward = gnn.gcn_backward(A, features, W, forward, loss.gradient, order, b=np.zeros(3))
back = gnn.spmm(A.graph_t, A.data_t, forward.X_out)
m, v_ = np.zeros_like(W), np.zeros_like(W)
gnn.adam_step(W, backward.W, m, v_, 1, lr=1e-2)
for gradient in (backward.W, backward.b):
    print(np.abs(gradient).max())

mfgs = gnn.samplers.sample_mfg_many(graph, [[0, 1], np.arange(3)], [5, -1], seed=1, epoch=0)
cache = refimpl.BidirectionalCache(graph.n, 6, 3, 1, 4096, t_stale=None, refill=True)
cache.fill(features.astype(np.float16), degrees)
cache.fill(lambda ids: features[ids], degrees.astype(float))
slots = cache.lookup(1, mfgs[0].nodes[1], 0)
print(cache.read(slots[slots >= 0]).sum(), cache.fetch_features([0, 1])[1].all(), back.shape)
hit = [np.zeros(len(nodes), bool) for nodes in mfgs[0].nodes[1:]]
live = fastimpl.history.live_layers(fastimpl.prune_mfg(mfgs[0], hit))
print(live.blocks[0].e, mfgs[1].blocks[-1].degrees().max())
counts = fastimpl.estimate_counts(graph, fastimpl.Sampler("edge", b=9), rng, coverage=5, pool=2)
weights = fastimpl.samplers.loss_weights(counts, nodes_of(None), dtype=np.float32)

pmax = refimpl.cost_models.theorem1_pmax(0.5, np.array([2.0, 3.0]), 10, "jpdc")
bound = refimpl.cost_models.theorem2(1000, 8.5, 64, 4, 2**18)
print(pmax[1], bound.g / bound.lower_bound, weights.sum(), value, out32.dtype)
