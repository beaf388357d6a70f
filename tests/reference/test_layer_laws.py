"""What every layer owes: its equation, its gradients, and one result by every way to compute it.

Each kind of layer runs on a graph, on blocks, and on pruned blocks, which have an empty row and
dead entries between their rows, with values that say which way an edge points.
"""

from functools import cache

import numpy as np
import pytest
from layer_cases import (
    GRAPH,
    ISOLATED,
    LAYERS,
    PATTERNS,
    WITH_LOOPS,
    make_parameters,
    problem,
)
from numpy.testing import assert_allclose, assert_array_equal
from oracles import differences, matrix, rows
from strategies import graph_from_edges, with_values

import refimpl
from refimpl import Adjacency, as_graph

EACH_LAYER = pytest.mark.parametrize("layer", LAYERS, ids=repr)
ON_EACH_PATTERN = pytest.mark.parametrize("pattern", PATTERNS)
BIAS_AND_RELU = pytest.mark.parametrize(
    ("bias", "relu"), [(False, True), (True, True), (True, False)], ids=["plain", "bias", "linear"]
)


def frozen(hops, P, G):
    """Make every array read-only: no pass may write to what it is given."""
    for array in (*(x for A in hops for x in (A.data, A.data_t)), *P.values(), G):
        array.flags.writeable = False


@cache
def finite_differences(layer, pattern, bias, relu):
    """Return the gradients of sum(G_out * X_out) by name: of the reference, for both packages."""
    hops, P, G = problem(layer, pattern, bias=bias, relu=relu)

    def total():
        return np.sum(G * layer.output(layer.forward(refimpl, hops, P, layer.ways[0], relu)))

    return {name: differences(total, array) for name, array in P.items()}


def both(gnn, layer, hops, P, G, way, relu=True, need_dx=True):
    """Return the output and the gradients by the names of P."""
    out = layer.forward(gnn, hops, P, way, relu)
    return layer.output(out), layer.backward(gnn, hops, P, out, G, way, relu, need_dx)


@EACH_LAYER
@ON_EACH_PATTERN
@BIAS_AND_RELU
def test_forward_is_the_equation(gnn, layer, pattern, bias, relu):
    hops, P, G = problem(layer, pattern, bias=bias, relu=relu)
    frozen(hops, P, G)
    Z, _ = layer.definition(hops, P)
    want = Z + P.get("b", 0)
    assert (want < 0).any()
    want = np.maximum(want, 0) if relu else want
    for way in layer.ways:
        got = layer.output(layer.forward(gnn, hops, P, way, relu))
        assert got.flags.c_contiguous
        assert_allclose(got, want, rtol=1e-12, atol=1e-13 * np.abs(Z).max(), err_msg=str(way))


@EACH_LAYER
@ON_EACH_PATTERN
@BIAS_AND_RELU
def test_gradients_are_the_finite_differences(gnn, layer, pattern, bias, relu):
    """Of sum(G_out * X_out), in each weight, the bias and the input, by every way.

    Errors are measured against the largest gradient of the layer.
    """
    hops, P, G = problem(layer, pattern, bias=bias, relu=relu)
    want = finite_differences(layer, pattern, bias, relu)
    scale = max(np.abs(gradient).max(initial=0) for gradient in want.values())
    frozen(hops, P, G)
    for way in layer.ways:
        _, got = both(gnn, layer, hops, P, G, way, relu)
        assert {name for name, gradient in got.items() if gradient is not None} == set(P)
        for name in P:
            assert got[name].flags.c_contiguous
            assert_allclose(got[name], want[name], rtol=0, atol=1e-6 * scale, err_msg=name)


@EACH_LAYER
@ON_EACH_PATTERN
def test_every_way_gives_the_same(gnn, layer, pattern):
    """All orders agree; without the gradient of the input the others are what they were."""
    hops, P, G = problem(layer, pattern, bias=True)
    results = []
    for way in layer.ways:
        for need_dx in (True, False):
            out, got = both(gnn, layer, hops, P, G, way, need_dx=need_dx)
            assert (got["X"] is None) != need_dx
            results.append({**got, "out": out})
    for result in results:
        for name, want in results[0].items():
            if result[name] is not None:
                atol = 1e-10 * np.abs(want).max(initial=0)
                assert_allclose(result[name], want, rtol=1e-10, atol=atol, err_msg=name)


@pytest.mark.parametrize("layer", [layer for layer in LAYERS if not layer.draws], ids=repr)
def test_relabelling_the_nodes_permutes_the_rows(gnn, layer):
    """Rows of the output and of the input's gradient move, other gradients do not."""
    hops, P, G = problem(layer, bias=True)
    old = np.random.default_rng(2).permutation(GRAPH.n)  # new node i was old[i]
    renamed = []
    for A in hops:
        M = matrix(A.graph, A.data)[old][:, old]
        graph = as_graph(A.graph.to_scipy()[old][:, old])
        renamed.append(with_values(graph, M[rows(graph), graph.indices]))
    for way in layer.ways:
        out, want = both(gnn, layer, hops, P, G, way)
        moved = {**P, "X": P["X"][old]}
        out_2, got = both(gnn, layer, tuple(renamed), moved, G[old], way)
        assert_allclose(out_2, out[old], rtol=1e-12, atol=1e-12)
        assert_allclose(got.pop("X"), want.pop("X")[old], rtol=1e-10, atol=1e-12)
        for name in want:
            assert_allclose(got[name], want[name], rtol=1e-10, atol=1e-12, err_msg=name)


@EACH_LAYER
def test_nothing_flows_between_an_isolated_node_and_the_others(gnn, layer):
    """Seen from the input: its gradient has no other row than that of G_out."""
    hops, P, G = problem(layer)
    assert not np.delete(matrix(WITH_LOOPS if layer.loops else GRAPH)[ISOLATED], ISOLATED).any()
    alone = np.zeros_like(G)
    alone[ISOLATED] = G[ISOLATED]
    for way in layer.ways:
        _, got = both(gnn, layer, hops, P, alone, way)
        assert_array_equal(np.delete(got["X"], ISOLATED, axis=0), 0)
        _, got = both(gnn, layer, hops, P, G - alone, way)
        assert_array_equal(got["X"][ISOLATED], 0)
        assert got["X"].any()


@EACH_LAYER
@ON_EACH_PATTERN
def test_float32_is_float64_rounded(gnn, layer, pattern):
    hops, P, G = problem(layer, pattern, bias=True)
    narrow = {name: array.astype(np.float32) for name, array in P.items()}
    single = tuple(with_values(A.graph, A.data.astype(np.float32)) for A in hops)
    frozen(single, narrow, G)
    for way in layer.ways:
        out, want = both(gnn, layer, hops, P, G, way)
        out_2, got = both(gnn, layer, single, narrow, G.astype(np.float32), way)
        scale = max(np.abs(gradient).max(initial=0) for gradient in want.values())
        assert out_2.dtype == np.float32
        assert_allclose(out_2, out, rtol=1e-5, atol=1e-5 * np.abs(out).max())
        for name in want:
            assert got[name].dtype == np.float32
            assert_allclose(got[name], want[name], rtol=0, atol=1e-5 * scale, err_msg=name)


@EACH_LAYER
def test_any_layout_is_taken(gnn, layer):
    """Columns of Fortran order, and every second row of a longer array."""
    hops, P, G = problem(layer, bias=True)
    strange = {name: np.asfortranarray(array) for name, array in P.items()}
    strange["X"] = np.repeat(P["X"], 2, axis=0)[::2]
    for way in layer.ways:
        out, want = both(gnn, layer, hops, P, G, way)
        out_2, got = both(gnn, layer, hops, strange, np.asfortranarray(G), way)
        assert_array_equal(out_2, out)
        for name in want:
            assert_array_equal(got[name], want[name], err_msg=name)


@EACH_LAYER
@pytest.mark.parametrize("s", [0, 1])
@pytest.mark.parametrize("f", [0, 2])
def test_smallest_layers(gnn, layer, s, f):
    """No node, one node, no column: by hand, every shape is there and nothing divides by 0."""
    graph = graph_from_edges(s, {(0, 0)} if s and layer.loops else set())
    empty = np.ones(graph.e)
    A = Adjacency(graph, empty, empty, None, np.arange(graph.e))
    hops, P = (A,) * layer.hop_count, make_parameters(layer, s, f, bias=True)
    G = np.ones((s, layer.width))
    Z, _ = layer.definition(hops, P)
    for way in layer.ways:
        out, got = both(gnn, layer, hops, P, G, way)
        assert_allclose(out, np.maximum(Z + P["b"], 0), rtol=1e-12, atol=1e-15)
        assert {name: x.shape for name, x in got.items()} == {n: x.shape for n, x in P.items()}
        assert_array_equal(got["b"], (out > 0).sum(axis=0))
        for name in (*layer.shapes(f), "X"):
            assert s or not got[name].any()


@EACH_LAYER
def test_the_mask_is_that_of_the_output(gnn, layer):
    """Where the output is 0, what flows back goes nowhere, however loud."""
    hops, P, G = problem(layer, bias=True)
    for way in layer.ways:
        out, want = both(gnn, layer, hops, P, G, way)
        assert (out == 0).any()
        louder = np.where(out > 0, G, 1e9)
        _, got = both(gnn, layer, hops, P, louder, way)
        for name in want:
            assert_array_equal(got[name], want[name], err_msg=name)


def test_an_output_of_exactly_zero_is_masked(gnn):
    """The slope of the ReLU at 0 is 0 (E-E3), for an isolated node with a bias of 0 as well."""
    for layer in LAYERS:
        hops, P, _ = problem(layer, bias=True)
        P = {name: np.zeros_like(array) for name, array in P.items()}
        _, got = both(gnn, layer, hops, P, np.ones((GRAPH.n, layer.width)), layer.ways[0])
        for name, gradient in got.items():
            assert_array_equal(gradient, 0, err_msg=f"{layer} {name}")
