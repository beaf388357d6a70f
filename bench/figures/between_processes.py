"""What each process of V Figs 11 and 18 does: take training steps, or fetch rows in every way.

mpiexec -n 2 python -m mpi4py -m bench.figures.between_processes '{"task": "fetches", ..}'

What is compared takes turns.
"""

import importlib
import json
import sys
import time
from itertools import islice
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from bench.figures.row_counts import even_parts, minibatches, rows_between
from bench.figures.synthetic_data import SEED, drawn_roots, made_graph
from bench.launching import on_ranks
from bench.timing import elapsed, in_turns
from refimpl.loader import DistributedFeatures, MPIComm, Topology, plan_rounds

PROCESSES, ROUNDS = 2, 9
NAP = 0.001  # seconds between looks for a message


def measured(lab, task):
    """Return what processes of this machine measure with the sizes of a figure."""
    rounds = 3 if lab.quick else ROUNDS
    about = {"task": task, "impl": lab.gnn.__name__, "sizes": lab.sizes, "rounds": rounds}
    return on_ranks(PROCESSES, "bench.figures.between_processes", about)


def fetches(comm, gnn, sizes, rounds):
    """Return {"seconds": {way: those of each round}, "bytes": of a round, of all ranks}.

    Fetched are the rows of real minibatches of neighbour sampling.
    """
    steps, features = sizes["steps"], sizes["features"]
    graph = made_graph(sizes["nodes"], sizes["degree"])
    roots = drawn_roots(graph.n, sizes["batch"] * comm.size * steps)
    sampled = minibatches(gnn, graph, roots, sizes["batch"], sizes["fanouts"])
    graphs = list(islice(sampled, steps * comm.size))
    mine = [mfg.nodes[0] for mfg in graphs[comm.rank :: comm.size]]
    between = rows_between(graphs, graph.n, comm.size, steps) * features * 4
    X = np.random.default_rng(SEED).standard_normal((graph.n, features), np.float32)
    held = even_parts(graph.n, comm.size).sizes
    first = sum(held[: comm.rank])
    part = X[first : first + held[comm.rank]].copy()
    with DistributedFeatures(comm, part) as store:
        plans = [plan_rounds(Topology.crossbar(comm.size), demand) for demand in between]
        ways = {
            "two-sided": lambda step: store.fetch_two_sided(mine[step]),
            "one-sided": lambda step: store.fetch_one_sided(mine[step]),
            "rounds": lambda step: store.fetch_one_sided(mine[step], rounds=plans[step]),
        }
        moved = dict.fromkeys(ways, 0)
        for way, fetch in ways.items():
            for step, ids in enumerate(mine):
                found = fetch(step)
                np.testing.assert_array_equal(found.rows, X[ids])
                moved[way] += found.trace.bytes("data")
        of_all = sum(comm.exchange([np.array([list(moved.values())])] * comm.size))
        assert (of_all == between.sum()).all()
        tasks = {way: _together(comm, fetch, steps) for way, fetch in ways.items()}
        seconds = in_turns(tasks, rounds, warm_up=1)
    return {"seconds": seconds, "bytes": int(between.sum())}


def _together(comm, fetch, steps):
    """Return a task of `in_turns`: the seconds from when all begin until all have ended."""

    def task(_):
        comm.barrier()
        begin = perf_counter()
        for step in range(steps):
            fetch(step)
        comm.barrier()
        return perf_counter() - begin

    return task


def steps(comm, gnn, sizes, rounds):
    """Return {method: {ranks: seconds of a step in each round}} on rank 0, None on the others.

    A step has a worker for each of all ranks, whether they share it or one rank does all of it. A
    rank that has nothing to do sleeps: one that waited in MPI would keep its core busy.

    Raises
    ------
    AssertionError
        If weights differ between one rank and several.
    """
    from mpi4py import MPI

    from bench.figures.experiments.devices import configs, made_data

    data, mpi, found = made_data(sizes), MPI.COMM_WORLD, {}
    count = sizes["timed_steps"] // (2 * rounds) or 1  # of a round
    for method, config in configs(sizes, data.graph.n, workers_a_step=comm.size).items():
        with threadpool_limits(1), gnn.make_trainer(data, config, comm=comm) as shared:
            if comm.rank:
                _follow(mpi, shared, count)
                continue
            with gnn.make_trainer(data, config) as alone:
                tasks = {
                    1: lambda _, alone=alone: _seconds(alone, count),
                    comm.size: lambda _, shared=shared: _lead(mpi, shared, count),
                }
                seconds = in_turns(tasks, rounds, warm_up=1)
                for rank in range(1, comm.size):
                    mpi.send(False, rank)
                for name, W in shared.state.weights.items():
                    np.testing.assert_array_equal(W, alone.state.weights[name])
        found[method] = {ranks: [s / count for s in each] for ranks, each in seconds.items()}
    return found or None


def _seconds(trainer, count):
    """Return the seconds of some steps."""
    return elapsed(lambda: [trainer.step() for _ in range(count)])


def _lead(mpi, trainer, count):
    """Return the seconds of some steps of all ranks."""
    for rank in range(1, mpi.size):
        mpi.send(True, rank)
    return _seconds(trainer, count)


def _follow(mpi, trainer, count):
    """Take the steps that rank 0 asks for, until it asks for none."""
    while True:
        while not mpi.iprobe(source=0):
            time.sleep(NAP)
        if not mpi.recv(source=0):
            return
        _seconds(trainer, count)


def main():
    """Measure over MPI; rank 0 prints what was found."""
    about, comm = json.loads(sys.argv[1]), MPIComm()
    task = {"fetches": fetches, "steps": steps}[about.pop("task")]
    found = task(comm, importlib.import_module(about.pop("impl")), **about)
    if comm.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
