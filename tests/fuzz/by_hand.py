"""Small valid calls of the public callables that have no conformance vectors."""

import copy
from dataclasses import fields
from pathlib import Path

import numpy as np

import refimpl
from refimpl.lab.data import Dataset, load_dataset
from refimpl.samplers import Sampler

# Public, and not called; each with its reason.
LEFT_OUT = {
    "MPIComm": "needs MPI and its processes",
    "SimComm": "is made by threads that wait for each other",
    "DistributedFeatures": "is collective: ranks wait for each other",
    "FeatureParts": "is collective: ranks wait for each other",
    "gathered_state": "is collective: ranks wait for each other",
    "register_layer": "changes the package for all calls after it",
    "LookaheadFeatures": "has the number of an open file, which differs from call to call",
    "read_rows": "takes the number of any open file",
    "make_trainer": "`train` calls it",
    "NodeClassifier": "`train` and `predict` do its work",
    "SubgraphLoader": "needs PyTorch and PyG",
    "enable": "changes PyG for all calls after it",
    "disable": "changes PyG for all calls after it",
    "backend": "takes modules; the calls through it are the same functions",
}
WRITES = {
    "cache_update": ("cache",),
    "policy_update": ("cache",),
    "fresh_iteration": ("cache",),
    "lazy_fresh_iteration": ("cache",),
    "train": ("state",),
}

FOLDER = Path()  # whoever makes the calls stands in a folder for their files
PAW = refimpl.as_graph([(0, 1), (0, 2), (1, 2), (2, 3)], symmetrize=True)
ARROWS = refimpl.as_graph([(0, 1), (0, 3), (1, 2), (3, 0)])
RING = refimpl.as_graph([(v, (v + 1) % 12) for v in range(12)], n=13, symmetrize=True)
EDGE = Sampler("edge", b=2)
LAW = np.linspace(0.1, 1, PAW.e)
KINDS = np.arange(PAW.e) % 2
FEATURES = np.arange(20, dtype=np.float32).reshape(10, 2)
DEMAND = np.arange(16).reshape(4, 4)


def dataset():
    """Return a data set of 34 nodes."""
    return load_dataset("karate", dtype="float64")


def dataset_fields():
    """Return the fields of one."""
    return {field.name: getattr(dataset(), field.name) for field in fields(Dataset) if field.init}


def config(gnn, method, **more):
    """Return a TrainConfig that is done soon."""
    usual = {"layers": 2, "hidden": 4, "epochs": 1, "rng": 3}
    return gnn.TrainConfig(method=method, **{**usual, **more})


def model(gnn):
    """Return the fields of a TrainedModel."""
    weights = {"layer1.W_neigh": np.ones((2, 2)), "layer1.W_self": np.full((2, 2), 0.5)}
    weights["classifier.W"] = np.arange(12.0).reshape(4, 3)
    architecture = {"model": "sage", "layers": 1, "hidden": 4, "concat": "neigh_first"}
    scaling = (np.zeros(2), np.ones(2))
    fields = {"weights": weights, "architecture": architecture, "features": 2, "classes": 3}
    return {**fields, "multilabel": False, "scaling": scaling, "dataset": "none"}


def saved(gnn, name):
    """Return the path of a file of this name, which is there."""
    path = FOLDER / name
    if not path.exists():
        if name == "model.npz":
            gnn.save_model(path, gnn.TrainedModel(**model(gnn)))
        elif name == "features.npy":
            gnn.loader.write_features(path, FEATURES)
        else:
            method = gnn.methods.FullBatch()
            state = gnn.train(dataset(), config(gnn, method)).state
            gnn.lab.training.save_checkpoint(path, state, {"epochs": 1})
    return path


def cache(gnn, kind="BidirectionalCache"):
    """Return a small cache with some embeddings in it."""
    made = getattr(gnn.history, kind)(n=12, d=2, h=3, layers=2, floats=80, t_stale=4)
    made.begin_update(0)
    made.admit(1, np.array([3, 1, 7]), np.arange(9, dtype=np.float32).reshape(3, 3), 0)
    return made


def update(gnn):
    """Return the arguments of `policy_update`."""
    rows = {"ids": np.array([1, 4, 7, 9]), "score": np.array([0.4, 0.1, 0.3, 0.2])}
    comp = np.array([False, True, False, True])
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    return {"cache": cache(gnn), "layer": 1, **rows, "comp": comp, "values": values, "i": 1}


def counts(gnn):
    """Return the arguments of `aggregator`."""
    found = gnn.estimate_counts(PAW, EDGE, 1, coverage=3)
    return {"counts": found, "graph": PAW, "sub": gnn.induced_subgraph(PAW, [0, 2, 3])}


def mfg(gnn):
    """Return sampled neighbours in two layers."""
    return gnn.sample_mfg(RING, np.array([3, 8]), (2, 2), seed=1, epoch=0, batch=0)


class OneLayer:
    """The model that `fresh_iteration` trains here: sums, and nothing to learn."""

    def forward(self, layer, block, nodes, H):
        return np.ascontiguousarray(H[: block.n_dst] * layer)

    def loss(self, H, nodes):
        return float(H.sum()), np.ones_like(H)

    def backward(self, layer, G):
        return None if layer == 1 else np.ones((self.rows, 3), np.float32)


def load_ones(nodes):
    """Return features of some nodes."""
    return np.ones((len(nodes), 3), np.float32)


def fresh(gnn):
    """Return the arguments of `fresh_iteration`, without a cache."""
    graph = gnn.sample_mfg(RING, np.array([3, 8]), (2,), seed=1, epoch=0, batch=0)
    args = {"mfgs": iter([graph]), "cache": None, "model": OneLayer(), "load_feature": load_ones}
    return {**args, "i": 0, "cached_layers": (), "p": 0.5}


def lazy_fresh(gnn):
    """Return the arguments of `lazy_fresh_iteration`, without a cache."""
    minibatch = refimpl.samplers.Minibatch(RING, np.array([3, 8]), (2,), 1, 0, 0)
    args = {name: value for name, value in fresh(gnn).items() if name != "mfgs"}
    return {"minibatches": iter([minibatch]), **args}


class Sums:
    """The model that `graph_iteration` and `sampled_iteration` train here: nothing to learn."""

    depth = 1

    def __init__(self):
        self.gradients = {}

    def forward(self, layer, A, X):
        return np.ascontiguousarray(X[: A.graph.n_dst])

    def classify(self, X):
        return X

    def loss(self, logits, Y, node_weights):
        return float(logits.sum()), np.ones_like(logits)

    def backward(self, layer, G):
        return G


def labels(nodes):
    """Return labels of some nodes, of equal weights."""
    return load_ones(nodes), None


def on_subgraph(gnn):
    """Return the arguments of `graph_iteration`."""
    drawn = iter([gnn.induced_subgraph(PAW, [0, 2, 3])])
    args = {"subgraphs": drawn, "model": Sums(), "load_features": load_ones, "load_labels": labels}
    return {**args, "normalize": lambda sub: gnn.adjacency.row_norm(sub.graph), "adam": None}


def on_neighbors(gnn):
    """Return the arguments of `sampled_iteration`."""
    graph = gnn.sample_mfg(RING, np.array([3, 8]), (2,), seed=1, epoch=0, batch=0)
    A = gnn.adjacency.block_norm("row", graph.blocks[0])
    args = {"minibatches": iter([(graph, [A])]), "model": Sums(), "adam": None}
    return {**args, "load_features": load_ones, "load_labels": labels}


def train_with(method, **more):
    """Return the arguments of `train`, made for a package."""
    return lambda gnn: {"dataset": dataset(), "config": config(gnn, method(gnn.methods), **more)}


def fixed(**args):
    """Return a function that returns these arguments, which nobody else has."""
    return lambda gnn: copy.deepcopy(args)


def one(make):
    """Return the calls of a callable with one."""
    return {"by hand": make}


CHAIN = {"s": 5, "e": 9, "f1": 4}
THEOREM1 = {"eta": 2.0, "d": 9.0, "version": "jpdc"}
THEOREM2 = {"n": 100, "f": 8, "p": 2, "s_cache": 4096}
LAYERS = {"layers": 2, "n": 100, "f": 8, "fanout": 5}
VISITS = {"graph": RING, "train": np.arange(6), "fanouts": (2, 2), "batch_size": 4, "seed": 5}
PLAN = {**VISITS, "floats": 40, "d": 2, "h": 3, "p": 0.5, "t_stale": 4}
BATCHES = [np.array([1, 2]), np.array([3])]
PREFETCH = {"graph": RING, "batches": BATCHES, "fanouts": (2,), "seed": 1, "epoch": 0}
DRAW_ALL = [("__next__", {}), ("__next__", {}), ("close", {})]
BUFFER = {"n": 12, "d": 2, "h": 3, "layers": 2, "floats": 80, "t_stale": 4}
ADMIT = {"layer": 1, "ids": np.array([3, 1]), "values": np.ones((2, 3), np.float32), "i": 0}
USE = [
    ("begin_update", {"i": 0}),
    ("admit", ADMIT),
    ("lookup", {"layer": 1, "ids": np.array([1, 2, 3]), "i": 1}),
    ("evict", {"layer": 1, "ids": np.array([3]), "i": 1}),
    ("fill", {"X": np.ones((12, 2), np.float32), "hotness": np.arange(12)}),
    ("fetch_features", {"ids": np.array([0, 5])}),
    ("state_dict", {}),
]

DASHBOARD = {"graph": RING, "main": 1, "probe": 2, "m": 3, "n": 20, "eta": 3.0}
IN_LANES = {**DASHBOARD, "lanes": 8, "probing": "lanes", "probe_range": "used", "overflow": "grow"}

CALLS = {
    name: one(make)
    for name, make in {
        "as_seed": fixed(rng=7),
        "dashboard": fixed(**IN_LANES),
        "pin_tile": fixed(**IN_LANES),
        "Graph": fixed(indptr=PAW.indptr, indices=PAW.indices),
        "Block": fixed(
            start=[0, 2],
            end=[2, 3],
            indices=[0, 1, 2],
            n_src=3,
            edge_ids=[4, 5, 6],
            weights=[1, 2.5, 2],
        ),
        "Adjacency": fixed(graph=PAW, data=LAW, data_t=LAW, graph_t=None, perm=None),
        "relation_blocks": fixed(pattern=PAW, edge_types=KINDS, relations=2),
        "relation_norms": fixed(pattern=PAW, edge_types=KINDS, relations=2),
        "aggregator": counts,
        "loss_weights": lambda gnn: {"counts": counts(gnn)["counts"], "nodes": np.array([0, 3])},
        "estimate_counts": fixed(graph=PAW, sampler=EDGE, rng=3, coverage=4, pool=2),
        "alias_draw": lambda gnn: {
            "table": gnn.samplers.alias_build(np.array([1.0, 2.0, 3.0])),
            "k": 1,
            "c": 2,
        },
        "build_entry_table": fixed(graph=PAW, weights=LAW, times=np.zeros(PAW.e, np.int64)),
        "draw_rows": lambda gnn: {
            "graph": PAW,
            "rows": np.array([2, 0, 2]),
            "fanout": 2,
            "keys": np.array([1, 2, 3], np.uint64),
            "replace": False,
            "table": gnn.samplers.build_entry_table(PAW, times=np.zeros(PAW.e, np.int64)),
            "until": np.array([0, 1, -1]),
            "last": True,
        },
        "relabel": fixed(known=np.array([4, 2]), met=np.array([2, 7, 4, 7])),
        "clip_nodes": fixed(nodes=np.array([1, 3, 4, 6, 9]), unit=2, k=3, c=1),
        "importance_law": fixed(graph=PAW, data=LAW),
        "ladies_sample": fixed(graph=PAW, data=LAW, roots=np.array([0, 3]), sizes=(3, 2), key=5),
        "partition_order": fixed(Q=5, p=2),
        "partition_plan": fixed(n=10, f=9, p=2, s_cache=256, word=8, line=64, mode="columns"),
        "f1_micro": fixed(predicted=np.eye(3, dtype=bool), labels=np.eye(3)),
        "chain_macs": lambda gnn: {
            "order": gnn.scheduling.ProductOrders(1, 1, 2),
            **CHAIN,
            "h_neigh": 3,
            "h_self": 2,
        },
        "chain_order": fixed(f1=5, f3=3, first=False),
        "dense_macs": fixed(s=5, f1=4, f2=3, first=False),
        "gat_macs": fixed(**CHAIN, f_out=6, heads=2, first=False),
        "mixhop_depth": fixed(f1=4, widths=(3, 2, 1)),
        "mixhop_macs": fixed(depth=1, **CHAIN, widths=(3, 2, 1), first=True),
        "calibrate": fixed(entries=50, repeats=1),
        "cleanups_from_graph": fixed(graph=PAW, eta=2.0, n=8, m=2),
        "expected_rounds": fixed(p=8, eta=2.0),
        "forward_work": fixed(nodes=[5, 3], edges=[9, 4], widths=[4, 3, 2]),
        "g_comm": fixed(Qv=1, Qf=2, n=100, d=9.0, f=8, gamma=0.5),
        "g_comp": fixed(n=100, d=9.0, f=8),
        "graph_sampling_work": fixed(layers=2, s=50, f=8, d=9.0),
        "layer_sampling_cases": fixed(**LAYERS),
        "layer_sampling_work": fixed(**LAYERS, batch=10),
        "memory_factor": fixed(eta=2.0, version="ipdps"),
        "predicted_cleanups": fixed(eta=2.0, d=9.0, n=80, m=10),
        "predicted_moves": fixed(eta=2.0, d=9.0),
        "gradient_exchange": fixed(parameters=1000, ranks=4),
        "parallel_speedup": fixed(ranks=4, alone=2.0, together=2.5),
        "parallel_step_seconds": fixed(
            compute=0.1, messages=6, sent=8e6, latency=2e-6, bandwidth=1e10
        ),
        "sample_cost": fixed(p=8, eta=2.0, d=9.0, n=80, m=10, version="jpdc"),
        "sample_cost_from_graph": fixed(graph=PAW, p=8, eta=2.0, n=8, m=2, version="jpdc"),
        "size_biased_degree": fixed(graph=PAW, deg_cap=2),
        "theorem1_pmax": fixed(eps=0.5, **THEOREM1),
        "theorem1_pmax_lanes": fixed(eps=0.5, **THEOREM1),
        "theorem1_speedup": fixed(p=4, **THEOREM1),
        "theorem1_steps": fixed(p=4, eps=0.5, **THEOREM1),
        "theorem2": fixed(**THEOREM2, d=9.0),
        "theorem2_Qf": fixed(**THEOREM2),
        "unique_nodes": fixed(n=100, r=5, fanouts=(3, 2)),
        "degree_hotness": fixed(graph=ARROWS),
        "io_saving": fixed(loaded=[60, 20], needed=[100, 100]),
        "fresh_iteration": fresh,
        "lazy_fresh_iteration": lazy_fresh,
        "graph_iteration": on_subgraph,
        "sampled_iteration": on_neighbors,
        "plan_performance": fixed(**PLAN, rounds=2),
        "cache_update": lambda gnn: {**update(gnn), "p": 0.5},
        "policy_update": lambda gnn: {**update(gnn), "p": 0.5},
        "prune_layers": lambda gnn: {
            "mfg": mfg(gnn),
            "hit": [np.arange(len(nodes)) == 1 for nodes in mfg(gnn).nodes[1:2]]
            + [np.zeros(2, np.bool_)],
        },
        "count_visits": fixed(**VISITS),
        "reverse_pagerank": fixed(graph=ARROWS, train=np.array([0, 2]), iterations=3),
        "StaticSplitCache": fixed(**BUFFER, calls=USE),
        "FeatureStore": fixed(parts=(FEATURES[:4], FEATURES[4:]), owners="contiguous"),
        "plan_fetch": lambda gnn: {
            "store": gnn.loader.FeatureStore((FEATURES[:4], FEATURES[4:])),
            "ids": np.array([7, 0, 7, 3]),
        },
        "Topology": fixed(devices=2, links=((0, 2, 1.0), (2, 0, 1.0), (1, 2, 2.0), (2, 1, 2.0))),
        "io_counters": fixed(),
        "one_sided_seconds": fixed(n=10, row_bytes=8),
        "two_sided_seconds": fixed(n=10, row_bytes=8),
        "open_features": lambda gnn: {"path": saved(gnn, "features.npy")},
        "RowCache": fixed(n=9, capacity=4),
        "window_of": fixed(minibatches=[np.array([3, 1]), np.array([1, 7])], begin=2),
        "write_features": fixed(path=FOLDER / "written.npy", array=FEATURES),
        "pairwise_exchange": fixed(demand=DEMAND),
        "round_bound": lambda gnn: {
            "topology": gnn.loader.Topology.tree((2, 2)),
            "demand": DEMAND,
        },
        "Meter": fixed(),
        "Dataset": lambda gnn: dataset_fields(),
        "karate": fixed(),
        "kronecker": fixed(scale=4, mean_degree=2.0, rng=1),
        "power_law": fixed(n=20, mean_degree=3.0, rng=1),
        "TrainedModel": model,
        "Prefetcher": fixed(**PREFETCH, calls=DRAW_ALL),
        "SubgraphPool": fixed(graph=PAW, sampler=EDGE, rng=1, size=2, calls=DRAW_ALL),
        "TrainConfig": lambda gnn: vars(config(gnn, gnn.methods.FullBatch())),
        "as_printed": lambda gnn: {
            "config": config(gnn, gnn.methods.Fresh(t_stale=5)),
            "dataset": dataset(),
        },
        "preset": lambda gnn: {"name": "graphsaint", "dataset": dataset(), "hidden": 8},
        "grow_clusters": fixed(graph=PAW, parts=2, key=3),
        "load_checkpoint": lambda gnn: {"path": saved(gnn, "checkpoint.npz")},
        "load_model": lambda gnn: {"path": saved(gnn, "model.npz")},
        "predict": lambda gnn: {
            "model": gnn.TrainedModel(**model(gnn)),
            "graph": PAW,
            "features": np.ones((4, 2)),
            "nodes": np.array([0, 3]),
        },
        "save_checkpoint": lambda gnn: {
            "path": FOLDER / "saved.npz",
            "state": gnn.lab.training.load_checkpoint(saved(gnn, "checkpoint.npz"))[0],
            "settings": {"epochs": 1},
        },
        "save_model": lambda gnn: {
            "path": FOLDER / "written.npz",
            "model": gnn.TrainedModel(**model(gnn)),
        },
        "scaled_sampler": fixed(graph=PAW, name="edge"),
    }.items()
}
CALLS |= {
    "as_graph": {
        "edges": fixed(source=[(0, 1), (1, 2)], n=4, symmetrize=True, self_loops=False),
        "csr": fixed(source=(PAW.indptr, PAW.indices)),
        "scipy": fixed(source=PAW.to_scipy()),
        "dense": fixed(source=np.eye(3), dense=True),
    },
    "from_edges": {"three": fixed(u=[0, 1, 3], v=np.array([1, 2, 0]), n=4, symmetrize=True)},
    "graph_and_names": {
        "edges": fixed(source=np.array([(0, 1), (1, 2), (2, 0)]), n=4),
        "networkx": lambda gnn: {"source": PAW.to_networkx(), "self_loops": False},
    },
    "WeightedGraph": {"ones": fixed(graph=PAW, weights=np.full(PAW.e, 2.0))},
    "TypedGraph": {
        "edges": fixed(graph=PAW, edge_types=KINDS, relations=2, node_types=None),
        "nodes": fixed(graph=PAW, edge_types=KINDS, relations=2, node_types=np.array([0, 1, 0, 0])),
    },
    "fastgcn_sample": {
        "by itself": fixed(graph=PAW, data=LAW, roots=np.array([0, 3]), sizes=(3, 2), key=5),
        "with a law": lambda gnn: {
            "graph": PAW,
            "data": LAW,
            "roots": np.array([0]),
            "sizes": [4],
            "key": 5,
            "law": gnn.samplers.importance_law(PAW, LAW),
        },
    },
    "Sampler": {
        "edge": fixed(kernel="edge", clip=2, options={"b": 2, "method": "alias"}),
        "pin_tile": fixed(kernel="pin-tile", options={"m": 2, "n": 6, "eta": 1.5}),
    },
    "plan_rounds": {
        "tree": lambda gnn: {"topology": gnn.loader.Topology.tree((2, 2)), "demand": DEMAND},
        "crossbar": lambda gnn: {
            "topology": gnn.loader.Topology.crossbar(4),
            "demand": DEMAND,
            "chunk": True,
        },
    },
    "simulate": {
        policy: lambda gnn, policy=policy: {
            "topology": gnn.loader.Topology.tree((2, 2)),
            "demand": DEMAND,
            "policy": policy,
            "gamma": 0.1,
            "latency": 0.5,
            "barrier": 0.25,
        }
        for policy in ("rounds", "all_at_once", "shifted", "fifo_per_destination")
    },
    "load_dataset": {
        "karate": fixed(source="karate", rng=1, dtype="float64"),
        "typed": fixed(source="typed", rng=1),
    },
    "train": {
        "full": train_with(lambda methods: methods.FullBatch()),
        "sampled": train_with(
            lambda methods: methods.SampledGraph(
                sampler=Sampler("edge", b=8), normalize="both", coverage=2
            )
        ),
        "fresh": train_with(lambda methods: methods.Fresh(batch_size=8, buffer=2**12)),
        "layer": train_with(lambda methods: methods.LayerSampling(batch_size=8), dropout=0.5),
    },
}
SETTINGS = ("Gat", "Gcn", "MixHop", "Mlp", "ModelSettings", "Rgcn", "Sage", "Sign")
SETTINGS += ("ClusterGcn", "FastGcn", "Fresh", "FullBatch", "Gas", "GraphFm", "Ladies")
SETTINGS += ("LayerSampling", "MethodSettings", "Neighbor", "Prepropagation", "SampledGraph")
SETTINGS += ("VrGcn",)


def defaults(name):
    """Return a function that returns the settings of a model or a method."""
    place = refimpl.models if hasattr(refimpl.models, name) else refimpl.methods
    return one(lambda gnn: dict(vars(getattr(place, name)())))


CALLS |= {name: defaults(name) for name in SETTINGS}
