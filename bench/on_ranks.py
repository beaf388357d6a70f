"""What `bench.ranks` measures, on each of its ranks: mpiexec -n R python -m bench.on_ranks JSON.

The contestants take turns. A rank that has nothing to do sleeps: one that waited in MPI would keep
its core busy. Rank 0 prints what it measured as JSON.
"""

import json
import sys
import time
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

import fastimpl as gnn
from bench.figures.training import settings
from bench.inputs import normal, power_law
from bench.timing import elapsed, in_turns
from refimpl import Dataset, Sampler
from refimpl.loader import MPIComm

NAP = 0.001  # seconds between looks for a message


def data_of(options):
    """Return a data set all of whose nodes train."""
    graph = power_law(options["nodes"], options["degree"])
    X = normal((graph.n, options["features"]), 1)
    labels = np.random.default_rng(2).integers(0, options["classes"], graph.n)
    every, none = np.arange(graph.n), np.arange(0)
    return Dataset("ranks", graph, X, labels, every, none, none)


def config_of(options, method, workers):
    """Return the settings of a contestant."""
    own = {"batch_size": options["batch"], "fanouts": options["fanouts"]}
    if method == "graph":
        own = {"sampler": Sampler("pin_tile", m=options["m"], n=options["n"]), "pool": 1}
    hidden = options["hidden"]
    return settings(method, hidden=hidden, layers=2, workers_a_step=workers, rng=0, **own)


def steps(trainer, count, threads):
    """Take some steps on so many threads."""
    with threadpool_limits(threads, user_api="openmp"):
        for _ in range(count):
            trainer.step()


def ranks_of(size):
    """Return the numbers of ranks that are measured: powers of two, and all of them."""
    return sorted({1 << k for k in range(size.bit_length())} | {size})


def shared_trainers(comm, data, options, method):
    """Return this rank's trainers by how many ranks share each, with a worker on each of them."""
    trainers = {}
    for count in ranks_of(comm.size):
        part = comm.Split(comm.rank < count, comm.rank)
        if comm.rank < count:
            config = config_of(options, method, count)
            trainers[count] = gnn.make_trainer(data, config, comm=MPIComm(part))
    return trainers


def follow(comm, trainers, count):
    """Take the steps that rank 0 asks for, until it asks for none."""
    while True:
        while not comm.iprobe(source=0):
            time.sleep(NAP)
        wanted = comm.recv(source=0)
        if not wanted:
            return
        steps(trainers[wanted], count, 1)


def measured(comm, options, method):
    """Return seconds a step, waiting and exchanging of each contestant in each round.

    A contestant is (ranks, threads, workers).
    """
    data, count = data_of(options), options["steps"]
    shared = shared_trainers(comm, data, options, method)
    if comm.rank:
        follow(comm, shared, count)
        return None
    every = comm.size
    config = config_of(options, method, every)
    alone = {threads: gnn.make_trainer(data, config) for threads in {1, every}}

    def timed(trainer, threads):
        traffic = trainer.team.traffic
        before = traffic.waiting, traffic.exchanging
        seconds = elapsed(steps, trainer, count, threads)
        waits = traffic.waiting - before[0], traffic.exchanging - before[1]
        return [x / count for x in (seconds, *waits)]

    def by_ranks(ranks, _):
        for rank in range(1, ranks):
            comm.send(ranks, rank)
        return timed(shared[ranks], 1)

    def by_threads(threads, _):
        return timed(alone[threads], threads)

    tasks = {f"{ranks} 1 {ranks}": partial(by_ranks, ranks) for ranks in shared}
    tasks |= {f"1 {threads} {every}": partial(by_threads, threads) for threads in alone}
    found = in_turns(tasks, options["rounds"], warm_up=1)
    for rank in range(1, every):
        comm.send(0, rank)
    same_bits(shared[every].state, alone[1].state)
    return found


def same_bits(state, other):
    """Raise unless both have come to the same weights."""
    for name, W in state.weights.items():
        if not np.array_equal(W, other.weights[name]):
            raise AssertionError(f"{name} differs between one rank and several")


def main():
    """Measure what the argument says."""
    from mpi4py import MPI

    options, comm = json.loads(sys.argv[1]), MPI.COMM_WORLD
    found = {method: measured(comm, options, method) for method in options["methods"]}
    if comm.rank == 0:
        library = MPI.Get_library_version().splitlines()[0].strip()
        print(json.dumps({"mpi": library, "methods": found}))


if __name__ == "__main__":
    main()
