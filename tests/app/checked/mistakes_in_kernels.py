"""A script with mistakes in how graphs, samplers, layers, caches and cost models are used."""

import numpy as np

import fastimpl as gnn

rng = np.random.default_rng(0)
graph = gnn.as_graph([(0, 1), (1, 2), (2, 3)], symmetrize=True)
X, W = rng.random((4, 3)), rng.random((3, 2))
square = np.ones((2, 2))
k = gnn.streams.key(7, 0, 0, 0)

gnn.as_graph([(0, 1)], symmetrise=True)  # mistake
gnn.as_graph([(0, 1)], n=4.0)  # mistake
gnn.graph.from_edges([0, 1], symmetrize=True)  # mistake
gnn.Graph(np.zeros(5), np.zeros(4, np.int32))  # mistake
print(graph.degree)  # mistake
print(graph.indptr + "1")  # mistake
gnn.induced_subgraph(graph, X)  # mistake
gnn.induced_subgraph([1, 2], graph)  # mistake
print(gnn.induced_subgraph(graph, [1, 2]).edges)  # mistake
gnn.transpose_perm(X)  # mistake

gnn.streams.uniform("7", 0)  # mistake
gnn.streams.below(k, 0, 2.5)  # mistake
gnn.streams.floyd(k, 10)  # mistake

gnn.frontier(graph, k, m=2, n=4)  # mistake
gnn.frontier(graph, k, k, m=2, n=4, include="push")  # mistake
gnn.frontier(graph, k, k, 2, 4)  # mistake
gnn.pin_tile(graph, k, k, m=2, n=4, lanes=2.0)  # mistake
gnn.edge(graph, k, b=2, method="aliased")  # mistake
gnn.Sampler(3, m=2)  # mistake
gnn.Sampler("pin_tile", q=3)  # mistake
gnn.Sampler("edge", b=2, clip=2.5)  # mistake
gnn.sample_many(graph, "edge", 0, 0, 4)  # mistake
gnn.sample_many(gnn, graph, gnn.Sampler("edge", b=2), 0, 0, 4)  # mistake
gnn.estimate_counts(gnn, graph, gnn.Sampler("edge", b=2), 0)  # mistake
print(gnn.sample_many(graph, gnn.Sampler("edge", b=2), 0, 0, 4).nodes)  # mistake
gnn.sample_mfg(graph, [0], 5, seed=0, epoch=0, batch=0)  # mistake
gnn.sample_mfg(graph, [0], (5, 5), seed=0, epoch=0, batch=0, mode="layer")  # mistake
mfg = gnn.sample_mfg(graph, [0], (5, 5), seed=0, epoch=0, batch=0)
print(mfg.layers)  # mistake

A = gnn.adjacency.row_norm(graph, gnn.transpose_perm(graph))
gnn.adjacency.row_norm(graph, dtype=np.int64)  # mistake
gnn.adjacency.block_norm("mean", mfg.blocks[0])  # mistake
gnn.spmm(A, A.data, X)  # mistake
gnn.spmm(graph, np.ones(graph.e), np.ones((4, 3), np.float32))  # mistake
gnn.spmm(graph, np.ones(graph.e), np.ones(4))  # mistake
gnn.spmm(graph, np.ones(graph.e), np.ones((4, 3), np.int64))  # mistake

gnn.dense_forward(X, W)  # mistake
gnn.dense_forward(X, W, relu="yes")  # mistake
gnn.dense_forward(X, W, relu=True, b=square)  # mistake
gnn.gcn_forward(A, X, W, "(AX)W")  # mistake
gnn.gat_forward(A, X, W, W, W, norm="soft")  # mistake
gnn.mixhop_forward(A, X, [W, W], 1)  # mistake
gnn.dropout(X, "half", k)  # mistake
gnn.softmax_cross_entropy(X)  # mistake
print(gnn.softmax_cross_entropy(X, X).loss)  # mistake
gnn.adam_step(W, W, W, W)  # mistake
gnn.scheduling.chain_order(3, 2)  # mistake

gnn.partition.partition_plan(10, 4, 2, 1024, mode="row")  # mistake
gnn.cost_models.theorem1_pmax(0.5, 2, 10, "jpdc2021")  # mistake
gnn.cost_models.theorem1_pmax(0.5, 2, "10", "jpdc")  # mistake
gnn.cost_models.calibrate(gnn)  # mistake

cache = gnn.BidirectionalCache(4, 3, 2, 1, 64, t_stale=5)
gnn.BidirectionalCache(4, 3, 2, 1, 64)  # mistake
gnn.BidirectionalCache(4, 3, 2, 1, 64, t_stale=5, header="ring")  # mistake
cache.lookup(1, ["a"], 0)  # mistake
cache.admit(1, [0], X)  # mistake
gnn.prune_mfg(mfg, [np.zeros(3)])  # mistake
gnn.prune_mfg(mfg, [np.zeros(3, bool)], layout="csr3")  # mistake
gnn.policy_update(cache, 1, [0], square, np.ones(1, bool), X, 0, p=0.5)  # mistake

gnn.loader.gather_rows(X, [0, 1], scaling="row")  # mistake
gnn.loader.open_features(3)  # mistake
gnn.loader.simulate(gnn.loader.Topology.crossbar(2), [[0, 1], [1, 0]], "all at once")  # mistake
gnn.loader.FeatureStore.of(X, 2, owners="modulus")  # mistake
gnn.softmax_cross_entropy(np.ones((4, 2)), np.arange(4))  # mistake
gnn.softmax_cross_entropy(np.ones((4, 2)), np.ones((4, 2), np.float32))  # mistake
