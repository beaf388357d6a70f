"""What each process of V Fig 18 does: fetch the rows of real minibatches in every way.

mpiexec -n 2 python -m mpi4py -m bench.figures.exchange_ranks '{"nodes": .., ..}'
"""

import importlib
import json
import sys
from itertools import islice
from time import perf_counter

import numpy as np

from bench.figures.cache_counts import SEED
from bench.figures.remote_row_counts import even_parts, minibatches, rows_between
from bench.figures.synthetic_data import drawn_roots, made_graph
from bench.timing import in_turns
from refimpl.loader import DistributedFeatures, MPIComm, Topology, plan_rounds


def measured(comm, impl, nodes, degree, batch, fanouts, features, steps, rounds):
    """Return {"seconds": {way: those of each round}, "bytes": of a round, of all ranks}.

    Parameters
    ----------
    comm : Communicator
    impl : str
        The package that samples.
    nodes, degree, batch, fanouts, features, steps
        The sizes of the figure.
    rounds : int
    """
    gnn = importlib.import_module(impl)
    graph = made_graph(nodes, degree)
    roots = drawn_roots(graph.n, batch * comm.size * steps)
    graphs = list(islice(minibatches(gnn, graph, roots, batch, fanouts), steps * comm.size))
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
        print(json.dumps(found))


if __name__ == "__main__":
    main()
