"""What each process of V Fig 11 does: take training steps, on one rank and on all of them.

mpiexec -n 2 python -m mpi4py -m bench.figures.steps_on_ranks '{"impl": .., "sizes": .., ..}'

All contestants take turns. A rank that has nothing to do sleeps: one that waited in MPI would keep
its core busy.
"""

import importlib
import json
import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from bench.figures.experiments.devices import configs, made_data
from bench.timing import elapsed, in_turns
from refimpl.loader import MPIComm

NAP = 0.001  # seconds between looks for a message


def measured(comm, impl, sizes, rounds):
    """Return {method: {ranks: seconds of a step in each round}} on rank 0, None on the others.

    A step has a worker for each of all ranks, whether they share it or one rank does all of it.

    Raises
    ------
    AssertionError
        If weights differ between one rank and several.
    """
    gnn, data, found = importlib.import_module(impl), made_data(sizes), {}
    count = sizes["timed_steps"] // (2 * rounds) or 1  # of a round
    for method, config in configs(sizes, data.graph.n, workers_a_step=comm.size).items():
        with gnn.make_trainer(data, config, comm=MPIComm(comm)) as shared:
            if comm.rank:
                _follow(comm, shared, count)
                continue
            with gnn.make_trainer(data, config) as alone:
                tasks = {
                    1: lambda _, alone=alone: _steps(alone, count),
                    comm.size: lambda _, shared=shared: _lead(comm, shared, count),
                }
                seconds = in_turns(tasks, rounds, warm_up=1)
                for rank in range(1, comm.size):
                    comm.send(False, rank)
                for name, W in shared.state.weights.items():
                    np.testing.assert_array_equal(W, alone.state.weights[name])
        found[method] = {ranks: [s / count for s in each] for ranks, each in seconds.items()}
    return found or None


def _steps(trainer, count):
    """Return the seconds of some steps."""
    return elapsed(lambda: [trainer.step() for _ in range(count)])


def _lead(comm, trainer, count):
    """Return the seconds of some steps of all ranks."""
    for rank in range(1, comm.size):
        comm.send(True, rank)
    return _steps(trainer, count)


def _follow(comm, trainer, count):
    """Take the steps that rank 0 asks for, until it asks for none."""
    while True:
        while not comm.iprobe(source=0):
            time.sleep(NAP)
        if not comm.recv(source=0):
            return
        _steps(trainer, count)


def main():
    """Measure over MPI; rank 0 prints what was found."""
    from mpi4py import MPI

    with threadpool_limits(1):
        found = measured(MPI.COMM_WORLD, **json.loads(sys.argv[1]))
    if found:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
