"""What the calls in ``starts.toml`` are made of."""

from dataclasses import fields
from pathlib import Path

import numpy as np

import refimpl

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
EDGE = refimpl.Sampler("edge", b=2)
LAW = np.linspace(0.1, 1, PAW.e)
KINDS = np.arange(PAW.e) % 2
FEATURES = np.arange(20, dtype=np.float32).reshape(10, 2)
DEMAND = np.arange(16).reshape(4, 4)
LANES = {"lanes": 8, "probing": "lanes", "probe_range": "used", "overflow": "grow"}
VISITS = {"graph": RING, "train": np.arange(6), "fanouts": (2, 2), "batch_size": 4, "seed": 5}
DRAW = [("__next__", {}), ("__next__", {}), ("close", {})]
ADMIT = {"layer": 1, "ids": np.array([3, 1]), "values": np.ones((2, 3), np.float32), "i": 0}
CACHE = [
    ("begin_update", {"i": 0}),
    ("admit", ADMIT),
    ("lookup", {"layer": 1, "ids": np.array([1, 2, 3]), "i": 1}),
    ("evict", {"layer": 1, "ids": np.array([3]), "i": 1}),
    ("fill", {"X": np.ones((12, 2), np.float32), "hotness": np.arange(12)}),
    ("fetch_features", {"ids": np.array([0, 5])}),
    ("state_dict", {}),
]


def fields_of(value):
    """Return the fields with which a dataclass was made."""
    return {f.name: getattr(value, f.name) for f in fields(value) if f.init}


def dataset():
    """Return a data set of 34 nodes."""
    return refimpl.load_dataset("karate", dtype="float64")


def config(gnn, method, **more):
    """Return a TrainConfig that is done soon."""
    return gnn.TrainConfig(
        method=method, **{"layers": 2, "hidden": 4, "epochs": 1, "rng": 3} | more
    )


def model(gnn):
    """Return the fields of a TrainedModel."""
    weights = {"layer1.W_neigh": np.ones((2, 2)), "layer1.W_self": np.full((2, 2), 0.5)}
    weights["classifier.W"] = np.arange(12.0).reshape(4, 3)
    architecture = {"model": "sage", "layers": 1, "hidden": 4, "concat": "neigh_first"}
    scaling = (np.zeros(2), np.ones(2))
    made = {"weights": weights, "architecture": architecture, "features": 2, "classes": 3}
    return {**made, "multilabel": False, "scaling": scaling, "dataset": "none"}


def saved(gnn, name):
    """Return the path of a file of this name, which is there."""
    path = FOLDER / name
    if not path.exists():
        if name == "model.npz":
            gnn.save_model(path, gnn.TrainedModel(**model(gnn)))
        elif name == "features.npy":
            gnn.loader.write_features(path, FEATURES)
        else:
            state = gnn.train(dataset(), config(gnn, gnn.methods.FullBatch())).state
            gnn.lab.training.save_checkpoint(path, state, {"epochs": 1})
    return path


def update(gnn):
    """Return the arguments of `policy_update`, with some embeddings in the cache."""
    cache = gnn.history.BidirectionalCache(n=12, d=2, h=3, layers=2, floats=80, t_stale=4)
    cache.begin_update(0)
    cache.admit(1, np.array([3, 1, 7]), np.arange(9, dtype=np.float32).reshape(3, 3), 0)
    rows = {"ids": np.array([1, 4, 7, 9]), "score": np.array([0.4, 0.1, 0.3, 0.2])}
    comp = np.array([False, True, False, True])
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    return {"cache": cache, "layer": 1, **rows, "comp": comp, "values": values, "i": 1}


def counts(gnn):
    """Return the arguments of `aggregator`."""
    found = gnn.estimate_counts(PAW, EDGE, 1, coverage=3)
    return {"counts": found, "graph": PAW, "sub": gnn.induced_subgraph(PAW, [0, 2, 3])}


def moves(gnn):
    """Return arguments of `simulate`."""
    topology = gnn.loader.Topology.tree((2, 2))
    return {"topology": topology, "demand": DEMAND, "gamma": 0.1, "latency": 0.5, "barrier": 0.25}


def mfg(gnn, *fanouts):
    """Return sampled neighbours, in two layers if no fanouts are given."""
    return gnn.sample_mfg(RING, np.array([3, 8]), fanouts or (2, 2), seed=1, epoch=0, batch=0)


class Sums:
    """The model that iterations train here: sums, and nothing to learn."""

    depth = 1

    def __init__(self):
        self.gradients = {}

    def forward(self, layer, A, *rest):
        graph = getattr(A, "graph", A)  # FreshGNN gives a block, and the nodes before the rows
        return np.ascontiguousarray(rest[-1][: graph.n_dst] * layer)

    def classify(self, X):
        return X

    def loss(self, logits, *labels):
        return float(logits.sum()), np.ones_like(logits)

    def backward(self, layer, G):
        return G


def load_ones(nodes):
    """Return features of some nodes."""
    return np.ones((len(nodes), 3), np.float32)


def STEP():
    """Return what an iteration takes beside its mini-batches."""
    labels = {"load_labels": lambda nodes: (load_ones(nodes), None)}
    return {"model": Sums(), "load_features": load_ones, **labels, "adam": None}


FRESH = {"cache": None, "model": Sums(), "load_feature": load_ones, "i": 0}
FRESH |= {"cached_layers": (), "p": 0.5}
