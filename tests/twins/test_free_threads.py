"""Threads that use the same objects at once: each gets what one thread alone gets.

Kernels run without Python's lock, so this means something on any Python; on one built without that
lock the Python code between them runs at once, too.
"""

import gc
import os
import subprocess
import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from comparison import assert_bits, controller, threads
from strategies import distinct, power_law_graph
from test_every_twin import LARGE
from threadpoolctl import threadpool_info
from tiny_data import tiny_dataset

import fastimpl
import refimpl
from fastimpl import Sampler, _buffers, _memory
from refimpl import TrainConfig, TrainedModel, TypedGraph
from refimpl._support.thread_limits import one_blas_thread

pytestmark = pytest.mark.runs

MANY = 6  # threads
ROUNDS = 20
TYPES = distinct(power_law_graph(500).e, np.float64).argsort() % 3


def at_once(work):
    """Call ``work(t)`` in MANY threads, from one moment on; return the results."""
    start = threading.Barrier(MANY)

    def begin(t):
        start.wait()
        return work(t)

    with ThreadPoolExecutor(MANY) as pool:
        return list(pool.map(begin, range(MANY)))


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python always has its lock"
)
def test_importing_the_kernels_leaves_python_without_its_lock():
    code = "import sys, fastimpl; assert fastimpl.compiled; print(sys._is_gil_enabled())"
    env = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_every_kernel_on_shared_arguments():
    """Each thread begins elsewhere, so that the same and other kernels run beside each one."""
    calls = [LARGE[name] for name in sorted(LARGE)]
    openmp = controller().select(user_api="openmp")  # a limit restores what it controls
    with threads(1):
        want = [call() for call in calls]

    def work(t):
        first = t * len(calls) // MANY
        for i in range(first, first + len(calls)):
            with openmp.limit(limits=1 + t % 3):
                assert_bits(calls[i % len(calls)](), want[i % len(calls)])

    at_once(work)


def facts(gnn, graph, typed):
    """Return what graphs, and the samplers on them, compute once and keep."""
    return [
        *(graph.weight_sum(cap) for cap in (None, 3, 30)),
        graph.max_degree,
        graph.start[7],
        [where.tobytes() for _, where in typed.relation_graphs],
        *(
            gnn.sample_many(graph, Sampler("edge", b=9, method=method), 1, 0, 3)[2].nodes.tobytes()
            for method in ("direct", "alias")
        ),
        gnn.sample_many(graph, Sampler("pin_tile", m=9, n=40, deg_cap=30), 1, 0, 3)[2].nodes,
        gnn.layer_sample(graph, np.arange(9), (4, 4), 1).nodes[0],
        gnn.sample_mfg(graph, np.arange(9), (4, 4), seed=1, epoch=0, batch=0).nodes[0],
    ]


def test_what_a_graph_keeps_is_made_by_many_threads_at_first(gnn):
    for _ in range(3):
        new, other = (
            (graph, TypedGraph(graph, TYPES, 3))
            for graph in (power_law_graph(500), power_law_graph(500))
        )
        want = facts(gnn, *other)
        for got in at_once(lambda t, new=new: facts(gnn, *new)):
            assert_bits(got, want)


def test_no_memory_is_handed_out_twice():
    shapes = [(90, 100), (95, 100), (200, 300)]

    def work(t):
        for i in range(100 * ROUNDS):
            arrays = [_buffers.empty(shapes[(t + i + k) % 3], np.float64) for k in range(3)]
            for k, array in enumerate(arrays):
                array[::9] = 3 * t + k
            assert all((array[::9] == 3 * t + k).all() for k, array in enumerate(arrays))

    gc.collect()
    _buffers.release_waiting()
    before, pieces = _buffers.allocated(), _memory.living()
    at_once(work)
    asked = _buffers.allocated() - before
    assert 0 < asked <= 6 * MANY  # as many as there are at once; then they are used again
    assert _memory.living() == pieces + asked
    _buffers.release_waiting()
    assert _memory.living() == pieces


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_has_one_thread_until_the_last_thread_needs_no_more():
    X, W = distinct((300, 40), np.float64), distinct((40, 30), np.float64, 1)
    with threads(2):
        before, want = blas_threads(), refimpl.dense_forward(X, W, relu=True)

        def work(t):
            for _ in range(ROUNDS):
                with one_blas_thread():
                    assert set(blas_threads()) == {1}
                    assert_bits(refimpl.dense_forward(X, W, relu=True), want)

        at_once(work)
        assert blas_threads() == before


def taken_in_turns(items, count):
    """Take `count` items by many threads, one at a time under a lock; return them in order."""
    turn, taken = threading.Lock(), []

    def work(t):
        while True:
            with turn:
                if len(taken) == count:
                    return
                taken.append(next(items))

    at_once(work)
    return taken


@pytest.mark.parametrize("background", [False, True])
def test_threads_take_turns_at_one_pool(gnn, background):
    graph, walks = power_law_graph(500), Sampler("random_walk", r=10, h=5)
    want = gnn.sample_many(graph, walks, 1, 0, 40)
    with gnn.SubgraphPool(graph, walks, 1, size=3, background=background) as pool:
        assert_bits(taken_in_turns(pool, 40), want)


def test_threads_take_turns_at_one_prefetcher(gnn):
    graph, name = power_law_graph(500), {"seed": 1, "epoch": 0}
    batches = [np.arange(i, 500, 50, dtype=np.int32) for i in range(40)]
    want = [
        (b, gnn.sample_mfg(graph, roots, (3, 3), **name, batch=b))
        for b, roots in enumerate(batches)
    ]
    with gnn.Prefetcher(graph, batches, (3, 3), **name, workers=2) as prefetcher:
        assert_bits(taken_in_turns(prefetcher, 40), want)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return tiny_dataset(tmp_path_factory.mktemp("tiny"))


METHODS = {
    "graph": fastimpl.methods.SampledGraph(background=True, pool=2),
    "fresh": fastimpl.methods.Fresh(t_stale=3, batch_size=64, workers=2),
}


@pytest.mark.parametrize("method", METHODS)
def test_runs_at_the_same_time_on_one_data_set(method, tiny):
    config = TrainConfig(method=METHODS[method], epochs=2, hidden=8)

    def learnt(t):
        """Return the weights, and what the model predicts."""
        weights = fastimpl.train(tiny, config).weights
        model = TrainedModel.trained(tiny, config, weights)
        predicted = fastimpl.predict(model, tiny.graph, tiny.features, what="probabilities")
        return [W.tobytes() for W in weights.values()], predicted

    want = learnt(0)
    for got in at_once(learnt):
        assert_bits(got, want)
