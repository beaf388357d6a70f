"""What each process of `bench.exchange` does: fetch the rows of real minibatches in every way.

mpiexec -n 2 python -m mpi4py -m bench.exchange_ranks '{"nodes": .., ..}'
"""

import json
import sys
from itertools import islice
from time import perf_counter

import numpy as np

import fastimpl
from bench.figures.demands import (
    SEED,
    drawn_roots,
    even_parts,
    made_graph,
    minibatches,
    rows_between,
)
from bench.timing import in_turns
from refimpl.loader import DistributedFeatures, MPIComm, Topology, plan_rounds


def measured(comm, nodes, degree, batch, fanouts, features, steps, rounds):
    """Return {"seconds": {way: those of each round}, "bytes": of a round, of all ranks}.

    Parameters
    ----------
    comm : Communicator
    nodes, degree, batch, fanouts, features, steps, rounds
        As the options of `bench.exchange`.
    """
    graph = made_graph(nodes, degree)
    roots = drawn_roots(graph.n, batch * comm.size * steps)
    graphs = list(islice(minibatches(fastimpl, graph, roots, batch, fanouts), steps * comm.size))
    mine = [mfg.nodes[0] for mfg in graphs[comm.rank :: comm.size]]
    between = rows_between(graphs, graph.n, comm.size, steps) * features * 4
    X = np.random.default_rng(SEED).standard_normal((graph.n, features), np.float32)
    sizes = even_parts(graph.n, comm.size).sizes
    first = sum(sizes[: comm.rank])
    part = X[first : first + sizes[comm.rank]].copy()
    with DistributedFeatures(comm, part) as store:
        plans = [plan_rounds(Topology.crossbar(comm.size), demand) for demand in between]
        fetches = {
            "two-sided": lambda step: store.fetch_two_sided(mine[step]),
            "one-sided": lambda step: store.fetch_one_sided(mine[step]),
            "rounds": lambda step: store.fetch_one_sided(mine[step], rounds=plans[step]),
        }
        moved = dict.fromkeys(fetches, 0)
        for way, fetch in fetches.items():
            for step, ids in enumerate(mine):
                found = fetch(step)
                np.testing.assert_array_equal(found.rows, X[ids])
                moved[way] += found.trace.bytes("data")
        of_all = sum(comm.exchange([np.array([list(moved.values())])] * comm.size))
        assert (of_all == between.sum()).all()
        tasks = {way: timed(comm, fetch, steps) for way, fetch in fetches.items()}
        seconds = in_turns(tasks, rounds, warm_up=1)
    return {"seconds": seconds, "bytes": int(between.sum())}


def timed(comm, fetch, steps):
    """Return a task of `in_turns`: the seconds from when all begin until all have ended."""

    def task(_):
        comm.barrier()
        begin = perf_counter()
        for step in range(steps):
            fetch(step)
        comm.barrier()
        return perf_counter() - begin

    return task


def main():
    """Measure over MPI; rank 0 prints what was found."""
    comm = MPIComm()
    found = measured(comm, **json.loads(sys.argv[1]))
    if comm.rank == 0:
        from mpi4py import MPI

        name = MPI.Get_library_version().splitlines()[0].strip("\0 ")
        print(json.dumps({**found, "mpi": " ".join(name.split())}))


if __name__ == "__main__":
    main()
