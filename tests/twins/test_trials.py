"""Ways that are tried: the quicker one is found, and none changes a result."""

import numpy as np
import pytest
from strategies import even_graph

import fastimpl
from fastimpl import _trials, propagation
from fastimpl._trials import ROUNDS, quicker
from refimpl.scheduling import ProductOrders


@pytest.fixture
def clock(monkeypatch):
    """Return a list with the time, and forget what was found."""
    now = [0.0]
    monkeypatch.setattr(_trials, "perf_counter", lambda: now[0])
    monkeypatch.setattr(_trials, "_times", {})
    return now


@pytest.mark.parametrize("slow", [0, 1])
def test_the_quicker_way_is_taken_after_some_calls_of_each(clock, slow):
    calls = []

    def way(number):
        def call():
            calls.append(number)
            clock[0] += 2 if number == slow else 1
            return number

        return call

    for _ in range(2 * ROUNDS + 3):
        assert quicker(("job",), way(0), way(1)) == calls[-1]
    assert calls == [0, 1] * ROUNDS + [1 - slow] * 3


def test_jobs_are_told_apart_and_a_call_that_fails_is_no_time(clock):
    def failing():
        clock[0] += 1
        raise MemoryError

    for _ in range(3):
        with pytest.raises(MemoryError):
            quicker(("one",), failing, failing)
    assert _trials._times[("one",)] == ([], [])
    assert quicker(("other",), lambda: 1, lambda: 2) == 1
    assert quicker(("other",), lambda: 1, lambda: 2) == 2
    assert quicker(("one",), lambda: 1, lambda: 2) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_have_the_same_bits_in_each_call(dtype):
    """Those of the trial, in both ways, and those after it; the last columns fill no part."""
    graph, f = even_graph(500, 12), 200
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, f)).astype(dtype)
    W = rng.normal(size=(f, 40)).astype(dtype)
    assert propagation.may_pack(graph, X)
    A = fastimpl.adjacency.row_norm(graph, dtype=dtype)
    order = ProductOrders(1, 1, 0)
    want = fastimpl.spmm(graph, A.data, X), fastimpl.gcn_forward(A, X, W, order).X_out
    for _ in range(2 * ROUNDS + 2):
        np.testing.assert_array_equal(fastimpl.spmm(graph, A.data, X), want[0])
        np.testing.assert_array_equal(fastimpl.gcn_forward(A, X, W, order).X_out, want[1])
