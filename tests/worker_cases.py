"""Runs of several workers: small settings, ranks that are threads, the bits of a run."""

import numpy as np

from refimpl.lab.data.dataset import Dataset
from refimpl.lab.distributed.parts import FeatureParts
from refimpl.lab.training.config import config_from
from refimpl.lab.training.methods import METHODS
from refimpl.loader import SimComm

BATCHES = {"batch_size": 14}  # 130 training nodes make 10 of them
OWN = {
    "neighbor": BATCHES | {"fanouts": (3, 2)},
    "fresh": BATCHES | {"fanouts": (4, 3), "t_stale": 2, "buffer": 3000, "p_grad": 0.8},
    "layer": BATCHES | {"fanouts": (3, 2)},
    "prepropagation": {"batch_size": 14, "model": "sign"},
    "cluster": {"clusters": 12, "clusters_per_batch": 2},
    "fastgcn": BATCHES | {"layer_sizes": (20, 20), "model": "gcn"},
    "ladies": BATCHES | {"layer_sizes": (20, 20), "model": "gcn"},
}
OPTIONS = {name: OWN.get(name, {}) for name, kind in METHODS.items() if kind.several_workers}


def config_of(method, a_step=4, /, **options):
    """Return a small TrainConfig with dropout, so that numbers of minibatches matter everywhere."""
    usual = {"hidden": 8, "epochs": 2, "dropout": 0.2, "rng": 3, "method": method}
    return config_from({**usual, **OPTIONS[method], "workers_a_step": a_step, **options})


def on_ranks(gnn, size, data, config, *, rounds=None, parts=False):
    """Return what each rank gives: features in parts, read in these rounds, if asked for."""

    def work(comm):
        if not parts:
            return gnn.train(data, config, comm=comm)
        with FeatureParts(comm, part_of(data, comm), rounds) as features:
            return gnn.train(data, config, comm=comm, features=features)

    return SimComm.run(size, work)


def part_of(data, comm):
    """Return the training features of a rank's share of the nodes, as a model reads them."""
    n = data.train_graph.n
    first, last = (n * k // comm.size for k in (comm.rank, comm.rank + 1))
    return data.inputs(data.in_graph(np.arange(first, last)))


def bits(result):
    """Return all that a run gives and leaves but its times, its caches and bytes read.

    These last are in the dtype of the file that features are in, which parts are not.
    """
    state = result.state
    arrays = {
        f"{group}/{name}": (A.dtype.str, A.shape, A.tobytes())
        for group in ("weights", "m", "v", "best_weights")
        for name, A in getattr(state, group).items()
    }
    records = [(r.epoch, r.iterations, r.loss, r.val_f1, r.val_loss) for r in result.history]
    scores = (result.val_f1, result.test_f1, result.best_epoch, result.iterations)
    best = {name: A.tobytes() for name, A in result.weights.items()}
    loads = [{**counts, "bytes": None} for counts in state.loads]
    return arrays, records, scores, loads, best


def small_dataset(graph, dtype=np.float32, seed=0):
    """Return a Dataset on a graph: about half of its nodes, one at least, are for training."""
    rng, n = np.random.default_rng(seed), graph.n
    X = rng.standard_normal((n, 3)).astype(dtype)
    train, val, test = np.split(rng.permutation(n), [n // 2 + 1, n - n // 4])
    return Dataset("small", graph, X, rng.integers(0, 3, n), train, val, test, classes=3)


def tree_sum(items):
    """Return the sum of a list: of its first largest power of two, plus of the rest."""
    if len(items) == 1:
        return items[0]
    power = 1
    while 2 * power < len(items):
        power *= 2
    return tree_sum(items[:power]) + tree_sum(items[power:])


def divisors(number):
    return [k for k in range(1, number + 1) if number % k == 0]
