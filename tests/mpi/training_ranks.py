"""Training on the ranks that MPI connects, beside training alone: the same bits.

mpiexec -n 2 python -m mpi4py tests/mpi/training_ranks.py
"""

import fastimpl
import refimpl
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.distributed.collectives import everyones
from refimpl.lab.training.config import config_from
from refimpl.lab.training.methods import METHODS
from refimpl.lab.training.models import MODELS
from refimpl.loader import MPIComm

WORKERS = 4
BATCHES = {"batch_size": 4}
OWN = {
    "neighbor": {**BATCHES, "fanouts": (3, 2)},
    "fresh": {**BATCHES, "fanouts": (3, 2), "buffer": 6000, "t_stale": 3},
    "layer": {**BATCHES},
    "fastgcn": {**BATCHES, "layer_sizes": (10, 10)},
    "ladies": {**BATCHES, "layer_sizes": (10, 10)},
    "cluster": {"clusters": 8, "clusters_per_batch": 2},
}
SOME_MODELS = ("fresh", "neighbor", "fastgcn", "ladies", "prepropagation")
LOCAL = {"partition": "local", "shuffle": 0.3}


def cases():
    """Yield the settings of every method, with every model that it takes, in parts too."""
    for method in (name for name, kind in METHODS.items() if kind.several_workers):
        for model in (name for name, kind in MODELS.items() if kind.trained_by in (None, method)):
            for local in ({}, LOCAL) if METHODS[method].in_parts else ({},):
                asked = {"method": method, "model": model, "workers_a_step": WORKERS, **local}
                asked |= {"hidden": 12, "epochs": 2, "rng": 5, **OWN.get(method, {})}
                if model == "rgcn" and "batch_size" in asked:
                    asked["batch_size"] = 300  # its data set is larger
                try:
                    yield config_from(asked)
                except ValueError:  # the method does not take the model
                    assert method in SOME_MODELS, asked


def data_of(config, dtype):
    """Return a data set that the model can learn."""
    name = "typed" if config.model.name == "rgcn" else "karate"
    return load_dataset(name, dtype=dtype)


def runs():
    """Yield (package, settings, dtype) of every run; the reference with one model only."""
    for config in cases():
        packages = (refimpl, fastimpl) if config.model.name == "sage" else (fastimpl,)
        for gnn in packages:
            for dtype in ("float32", "float64"):
                yield gnn, config, dtype


def check(world):
    """Train in every way, with the others and alone; return how many ways."""
    comm, count = MPIComm(world), 0
    for gnn, config, dtype in runs():
        data = data_of(config, dtype)
        got = bits_of(gnn.train(data, config, comm=world))
        first = bits_of(gnn.train(data, config)) if comm.rank == count % comm.size else None
        (want,) = filter(None, everyones(comm, first))
        assert got == want, f"{gnn.__name__} {config.method.name} {config.model.name} {dtype}"
        count += 1
    return count


def bits_of(result):
    """Return all that a run ended in, but for the times."""
    state = result.state
    arrays = {
        f"{group} {name}": W.tobytes()
        for group in ("weights", "m", "v", "best_weights")
        for name, W in getattr(state, group).items()
    }
    history = [(one.loss, one.val_f1, one.iterations) for one in result.history]
    return arrays, history, state.loads, result.val_f1, result.test_f1


if __name__ == "__main__":
    from mpi4py import MPI

    done = check(MPI.COMM_WORLD)
    if MPI.COMM_WORLD.rank == 0:
        print(f"{MPI.COMM_WORLD.size} ranks, {done} ways of training checked")
