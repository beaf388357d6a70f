"""Processes that fork after kernels have run: the child has its own threads, locks and pools."""

import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest
from comparison import threads
from strategies import distinct, power_law_graph
from threadpoolctl import threadpool_info

import fastimpl
import refimpl
from fastimpl._blas_choice import Choice, in_use, use
from refimpl import Sampler
from refimpl._support import thread_limits
from refimpl.loader import window_of
from refimpl.samplers import Minibatch

pytestmark = pytest.mark.runs

if not hasattr(os, "fork"):
    pytest.skip("there is no fork here", allow_module_level=True)

LONG = 120  # seconds, for what takes one
GRAPH = power_law_graph(3000)
DATA, X = distinct(GRAPH.e, np.float32), distinct((3000, 64), np.float32, 1)
W = distinct((64, 32), np.float32, 2)
WALKS = Sampler("random_walk", r=100, h=5)


def work(gnn):
    """Return the results of parallel kernels and of dense products, as bytes."""
    subgraphs = gnn.sample_many(GRAPH, WALKS, 1, 0, 8)
    return [
        gnn.spmm(GRAPH, DATA, X).tobytes(),
        gnn.dense_forward(X, W, relu=True).tobytes(),
        *(subgraph.nodes.tobytes() for subgraph in subgraphs),
    ]


def answer(function, args, end):
    end.send(function(*args))


def in_child(function, *args, method="fork"):
    """Return what the function returns in a child process."""
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=answer, args=(function, args, theirs))
    child.start()
    theirs.close()
    try:
        assert ours.poll(LONG), "the child hangs"
        return ours.recv()
    finally:
        child.kill()
        child.join()


def worked(name):
    return work({"refimpl": refimpl, "fastimpl": fastimpl}[name])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_runs_kernels_after_its_parent(gnn, method):
    with threads(3):
        want = work(gnn)
        for _ in range(2):
            assert in_child(worked, gnn.__name__, method=method) == want
            assert work(gnn) == want  # the parent goes on as well


def grandchild(name):
    return worked(name), in_child(worked, name)


def test_a_child_of_a_child_runs_kernels(gnn):
    with threads(2):
        want = work(gnn)
        assert in_child(grandchild, gnn.__name__) == (want, want)


def team():
    return fastimpl._build.max_threads()


def test_a_child_keeps_its_parents_number_of_threads():
    with threads(3):
        work(fastimpl)
        assert in_child(team) == 3


def test_a_child_keeps_its_parents_blas():
    before = in_use()
    use(Choice("mkl", "in a test", (0, 0)))
    try:
        assert in_child(in_use) == ("mkl", "in a test", (0, 0))
    finally:
        use(before)


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_a_fork_while_another_thread_limits_blas_leaves_no_limit(gnn):
    with threads(2):
        inside, done = threading.Event(), threading.Event()

        def block():
            with thread_limits.one_blas_thread():
                inside.set()
                done.wait(LONG)

        before = blas_threads()
        other = threading.Thread(target=block)
        other.start()
        try:
            assert inside.wait(LONG)
            assert set(blas_threads()) == {1}
            assert in_child(blas_threads) == before
            assert in_child(worked, gnn.__name__) == work(gnn)
        finally:
            done.set()
            other.join()
        assert blas_threads() == before


def test_a_fork_never_inherits_a_held_lock(gnn):
    with threads(2):
        held, wanted = threading.Event(), work(gnn)

        def hold():
            with thread_limits._lock:
                held.set()
                time.sleep(0.5)

        other = threading.Thread(target=hold)
        other.start()
        assert held.wait(LONG)
        assert in_child(worked, gnn.__name__) == wanted
        other.join()


def taken(items, count):
    return [next(items).nodes.tobytes() for _ in range(count)]


def test_a_child_goes_on_with_a_pool_of_its_own(gnn):
    want = [s.nodes.tobytes() for s in gnn.sample_many(GRAPH, WALKS, 1, 0, 9)]
    with gnn.SubgraphPool(GRAPH, WALKS, 1, size=2, background=True) as pool:
        assert taken(pool, 3) == want[:3]
        assert in_child(taken, pool, 6) == want[3:]
        assert taken(pool, 6) == want[3:]


def gathered(features, rows):
    with features:  # the child's own thread ends here, and its copy of the descriptor
        return features.gather(None, rows)


def test_a_child_reads_features_that_its_parent_was_reading(gnn, tmp_path):
    gnn.loader.write_features(tmp_path / "x.npy", X)
    rows, wait = np.arange(0, 3000, 7), threading.Event()
    with gnn.loader.LookaheadFeatures(tmp_path / "x.npy", 10**6) as features:
        read, features.cache[:] = features._read, np.nan
        features._read = lambda *reads: (wait.wait(LONG), read(*reads))
        features.expect(window_of([rows[:50]], 0))  # under way while the process forks
        del features._read
        try:
            assert np.array_equal(in_child(gathered, features, rows), X[rows])
        finally:
            wait.set()
        assert np.array_equal(features.gather(None, rows), X[rows])  # the parent goes on as well


def drawn(stored, window):
    return [mfg.nodes[0].tobytes() for mfg in stored.draw(window)]


def test_a_child_draws_from_a_graph_that_its_parent_was_reading(gnn, tmp_path):
    refimpl.Dataset.from_arrays(GRAPH, X, np.arange(len(X)) % 2).save(tmp_path / "graph")
    graph = gnn.load_dataset(tmp_path / "graph").graph
    batches = [np.arange(b, 3000, 40, dtype=np.int32) for b in range(4)]
    window = [Minibatch(graph, roots, (3, 3), 1, 0, b) for b, roots in enumerate(batches)]
    how = {"fanouts": (3, 3), "seed": 1, "epoch": 0}
    want = [
        gnn.sample_mfg(GRAPH, roots, batch=b, **how).nodes[0].tobytes()
        for b, roots in enumerate(batches)
    ]
    with gnn.loader.LookaheadGraph(graph, 10**6) as stored:
        read, begun, wait = stored.file.read_rows, threading.Event(), threading.Event()
        stored.file.read_rows = lambda *how: begun.set() or wait.wait(LONG) and read(*how)
        under_way = threading.Thread(target=stored.draw, args=(window,))
        under_way.start()  # has the lock while the process forks
        assert begun.wait(LONG)
        stored.file.read_rows = read
        try:
            assert in_child(drawn, stored, window) == want
        finally:
            wait.set()
            under_way.join()
        assert drawn(stored, window) == want  # the parent goes on as well


def fetched(prefetcher, count):
    return [next(prefetcher)[1].nodes[0].tobytes() for _ in range(count)]


def test_a_child_goes_on_with_a_prefetcher_of_its_own(gnn):
    batches = [np.arange(i, 3000, 40, dtype=np.int32) for i in range(9)]
    want = [
        gnn.sample_mfg(GRAPH, roots, (3, 3), seed=1, epoch=0, batch=b).nodes[0].tobytes()
        for b, roots in enumerate(batches)
    ]
    with gnn.Prefetcher(GRAPH, batches, (3, 3), seed=1, epoch=0, workers=2) as prefetcher:
        assert fetched(prefetcher, 3) == want[:3]
        assert in_child(fetched, prefetcher, 6) == want[3:]
        assert fetched(prefetcher, 6) == want[3:]


def refused(comm):
    try:
        comm.barrier()
    except RuntimeError as error:
        return str(error)


def test_a_child_of_a_simulated_rank_has_no_other_ranks(gnn):
    said = gnn.loader.SimComm.run(2, lambda comm: in_child(refused, comm))
    assert said == ["the other ranks are threads of the process that forked this one"] * 2


def test_a_fork_waits_for_the_lock_of_memory_that_is_used_again():
    """Kernels take memory without Python's lock, so that another thread may fork meanwhile."""
    done = threading.Event()

    def sample():  # small subgraphs: most of the time goes by in taking memory
        while not done.is_set():
            fastimpl.sample_many(GRAPH, Sampler("random_walk", r=1, h=1), 1, 0, 5000)

    other = threading.Thread(target=sample)
    other.start()
    try:
        for _ in range(400):
            child = os.fork()
            if child == 0:
                fastimpl._buffers.empty((10_000,), np.float64)
                os._exit(0)
            ended, limit = 0, time.monotonic() + 20
            while not ended and time.monotonic() < limit:
                ended, status = os.waitpid(child, os.WNOHANG)
            if not ended:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            assert ended and status == 0, "the child hangs"
    finally:
        done.set()
        other.join()
