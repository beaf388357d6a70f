"""What outlives a call: frozen graphs, the limit on BLAS, the arrays that a caller gave."""

import copy
import pickle

import numpy as np
import pytest
from strategies import graph_from_edges
from threadpoolctl import ThreadpoolController

from refimpl import (
    Dataset,
    Graph,
    Sampler,
    Subgraph,
    TrainConfig,
    as_graph,
    methods,
    scaled_sampler,
)
from refimpl._support.thread_limits import one_blas_thread

TRIANGLE = graph_from_edges(3, {(0, 1), (1, 2), (0, 2)})


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_a_copy_of_a_graph_is_frozen_too(copied):
    graph = copied(TRIANGLE)
    assert graph.symmetric and graph.weight_sum(1) == 3
    for array in (graph.indptr, graph.indices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("kind", [Graph, Subgraph])
def test_a_pickle_names_a_class_by_its_topic_too(kind):
    """So do those that earlier versions wrote, in which a topic was one file."""
    assert pickle.loads(f"crefimpl.graph\n{kind.__name__}\n.".encode()) is kind


def blas_threads():
    return [pool["num_threads"] for pool in ThreadpoolController().select(user_api="blas").info()]


def test_overlapping_limits_on_blas_last_until_the_last_block_ends():
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        before = blas_threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(blas_threads()) == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before


def test_products_do_not_depend_on_the_threads_of_blas(gnn):
    """OpenBLAS for Haswell rounds otherwise where it has more threads."""
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((3000, 64), np.float32), rng.standard_normal((64, 32), np.float32)
    found = set()
    for count in (1, 2, 3):
        with ThreadpoolController().limit(limits=count, user_api="blas"):
            found.add(gnn.dense_forward(X, W, relu=True).tobytes())
    assert len(found) == 1


def test_a_limit_on_blas_leaves_the_threads_of_openmp_alone(gnn):
    openmp = ThreadpoolController().select(user_api="openmp")
    with openmp.limit(limits=2):
        block = one_blas_thread()
        block.__enter__()
        with openmp.limit(limits=1):
            block.__exit__(None, None, None)
            assert {pool["num_threads"] for pool in openmp.info()} <= {1}


def test_induced_nodes_are_not_the_callers_array(gnn):
    nodes = np.array([0, 2], np.int32)
    assert not np.shares_memory(gnn.induced_subgraph(TRIANGLE, nodes).nodes, nodes)


def test_adam_refuses_overlapping_arrays(gnn):
    both = np.zeros(6)
    with pytest.raises(ValueError, match="share"):
        gnn.adam_step(np.ones(5), np.ones(5), both[:5], both[1:], 1)


def test_adam_takes_numpy_numbers_as_python_numbers(gnn):
    theta = [np.ones(3, np.float32) for _ in range(2)]
    for array, lr in zip(theta, (0.013, np.float64(0.013)), strict=True):
        gnn.adam_step(array, array.copy(), np.zeros_like(array), np.zeros_like(array), 1, lr=lr)
    np.testing.assert_array_equal(*theta)


def test_relu_hides_gradients_that_are_not_finite(gnn):
    X, Y = np.ones((1, 1)), np.array([[0.0, 1.0]])
    G = np.array([[np.inf, 1.0]])
    gradients = gnn.dense_backward(X, np.ones((1, 2)), Y, G, relu=True, need_dx=True)
    np.testing.assert_array_equal(gradients.W, [[0, 1]])


def test_training_on_empty_samples_is_refused(gnn):
    graph = as_graph([], n=4)
    nodes = np.arange(4)
    data = Dataset("none", graph, np.ones((4, 1)), nodes % 2, nodes, nodes[:0], nodes[:0])
    with pytest.raises(ValueError, match="must draw nodes"):
        method = methods.SampledGraph(sampler=Sampler("edge", b=3))
        gnn.train(data, TrainConfig(method=method, epochs=1))


def test_a_training_graph_has_no_self_loops():
    """Degrees would count them, and the normalisations add their own."""
    nodes, loop = np.arange(3), as_graph([(0, 0), (0, 1)], n=3, symmetrize=True)
    data = Dataset("loop", loop, np.eye(3), nodes, nodes, nodes[:0], nodes[:0])
    for setting in ("transductive", "inductive"):
        with pytest.raises(ValueError, match="the training graph must have no self-loops"):
            _ = data.with_setting(setting).train_graph


def test_a_state_must_be_a_state(gnn):
    nodes = np.arange(3)
    data = Dataset("k3", TRIANGLE, np.eye(3), nodes, nodes, nodes[:0], nodes[:0])
    with pytest.raises(TypeError, match="TrainState"):
        gnn.make_trainer(data, TrainConfig(hidden=4), state=5)


def test_a_budget_sizes_every_sampler():
    for name in ("edge", "random_walk", "bucket"):
        assert scaled_sampler(TRIANGLE, name, n=3).name == name
    with pytest.raises(TypeError, match="graph"):
        scaled_sampler(None)


def test_the_number_of_nodes_belongs_to_lists_of_edges():
    for source in (TRIANGLE, TRIANGLE.to_scipy(), (TRIANGLE.indptr, TRIANGLE.indices)):
        with pytest.raises(ValueError, match="n must be None"):
            as_graph(source, n=5)
    with pytest.raises(ValueError, match="shape"):
        as_graph(np.zeros((0, 3), int))
