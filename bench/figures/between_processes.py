"""What each process of V Figs 11 and 18 does: take training steps, or fetch rows in every way.

mpiexec -n 2 python -m mpi4py -m bench.figures.between_processes '{"task": "fetches", ..}'

What is compared takes turns.
"""

import importlib
import json
import sys
import time
from contextlib import ExitStack
from functools import partial
from itertools import islice

import numpy as np
from threadpoolctl import threadpool_limits

from bench.figures.interleaved_timing import seconds_in_turns
from bench.figures.row_counts import even_parts, minibatches, rows_between
from bench.figures.synthetic_data import SEED, drawn_roots, made_graph
from bench.launching import on_ranks
from refimpl.loader import DistributedFeatures, MPIComm, Topology, plan_rounds

PROCESSES, ROUNDS = 2, 9
NAP = 0.001  # seconds between looks whether all are there


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
    part = np.split(X, np.cumsum(held)[:-1])[comm.rank].copy()
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

        def fetch_all(fetch, _number):
            for step in range(steps):
                fetch(step)
            comm.barrier()  # until all have ended

        acts = {way: partial(fetch_all, fetch) for way, fetch in ways.items()}
        seconds = seconds_in_turns(acts, rounds, meet=comm.barrier)
    return {"seconds": seconds, "bytes": int(between.sum())}


def steps(comm, gnn, sizes, rounds):
    """Return {method: {ranks: seconds of a step in each round}}.

    A step has a worker for each of all ranks, whether they share it or rank 0 does all of it. A
    rank that has nothing to do sleeps: one that waited in MPI would keep its core busy. Weights
    must not differ between one rank and several.
    """
    from mpi4py import MPI

    from bench.figures.experiments.devices import configs, made_data

    def meet():
        there = MPI.COMM_WORLD.Ibarrier()
        while not there.Test():
            time.sleep(NAP)

    data, found = made_data(sizes), {}
    count = sizes["timed_steps"] // (2 * rounds) or 1  # of a round
    for method, config in configs(sizes, data.graph.n, workers_a_step=comm.size).items():
        with threadpool_limits(1), ExitStack() as stack:
            shared = stack.enter_context(gnn.make_trainer(data, config, comm=comm))
            acts = {1: int, comm.size: partial(_train, shared, count)}  # `int` does nothing
            if comm.rank == 0:
                alone = stack.enter_context(gnn.make_trainer(data, config))
                acts[1] = partial(_train, alone, count)
            seconds = seconds_in_turns(acts, rounds, meet=meet)
            for name, W in shared.state.weights.items() if comm.rank == 0 else ():
                np.testing.assert_array_equal(W, alone.state.weights[name])
        found[method] = {ranks: [s / count for s in each] for ranks, each in seconds.items()}
    return found


def _train(trainer, count, _number):
    for _ in range(count):
        trainer.step()


def main():
    """Measure over MPI; rank 0 prints what was found."""
    about, comm = json.loads(sys.argv[1]), MPIComm()
    task = {"fetches": fetches, "steps": steps}[about.pop("task")]
    found = task(comm, importlib.import_module(about.pop("impl")), **about)
    if comm.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
