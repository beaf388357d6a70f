"""Sizes that nothing needs are refused, by a limit in the text; overflow warns in no package."""

import itertools
import warnings

import numpy as np
import pytest
from strategies import graph_from_edges

import refimpl
from refimpl._support import require
from refimpl.lab.backend import find
from refimpl.lab.training.divergence import Diverged
from refimpl.scheduling import ProductOrders

PATH = graph_from_edges(3, {(0, 1), (1, 2)})
EDGE = refimpl.Sampler("edge", b=1)
BUFFER = {"n": 3, "d": 1, "h": 1, "layers": 1, "floats": 8, "t_stale": 1}
VISITS = {"graph": PATH, "train": [0], "fanouts": (1,), "batch_size": 1, "seed": 0}
PLAN = {**VISITS, "floats": 8, "d": 1, "h": 1, "p": 0.5, "t_stale": 1}
BATCHES = {"graph": PATH, "batches": [], "fanouts": (1,), "seed": 0, "epoch": 0}
HUGE = 2**63

TOO_LARGE = [
    ("Topology", {"devices": HUGE, "links": ()}, r"devices must be in \[1, 1024\]"),
    ("estimate_counts", {"coverage": 1e30}, "coverage must be finite and above 0 and at most 1"),
    ("estimate_counts", {"pool": HUGE}, r"pool must be in \[1, 2147483647\]"),
    ("partition_plan", {"n": 1, "f": HUGE, "p": 1, "s_cache": 1}, "f must be in"),
    ("partition_plan", {"n": 1, "f": 1, "p": HUGE, "s_cache": 1}, r"p must be in \[1, 65536\]"),
    ("partition_order", {"Q": HUGE, "p": 1}, "Q must be in"),
    ("partition_order", {"Q": 1, "p": HUGE}, r"p must be in \[1, 65536\]"),
    ("BidirectionalCache", {**BUFFER, "floats": HUGE}, "floats must be in"),
    ("BidirectionalCache", {**BUFFER, "layers": HUGE}, r"layers must be in \[0, 1024\]"),
    ("StaticSplitCache", {**BUFFER, "d": HUGE}, "d must be in"),
    ("Prefetcher", {**BATCHES, "workers": HUGE}, r"workers must be in \[0, 1024\]"),
    ("SubgraphPool", {"graph": PATH, "sampler": EDGE, "rng": 0, "size": HUGE}, "size must be in"),
    ("reverse_pagerank", {"graph": PATH, "train": [0], "iterations": HUGE}, "iterations must be"),
    ("plan_performance", {**PLAN, "rounds": HUGE}, "rounds must be in"),
    ("plan_performance", {**PLAN, "fanouts": ()}, "fanouts must have at least one layer"),
    ("layer_sampling_cases", {"layers": HUGE, "n": 1, "f": 1, "fanout": 1}, "layers must be in"),
    ("unique_nodes", {"n": 10**400, "r": 0, "fanouts": ()}, "n must be in"),
    ("one_sided_seconds", {"n": 10**400, "row_bytes": 1}, "n must be in"),
    ("two_sided_seconds", {"n": 1, "row_bytes": 10**400}, "row_bytes must be in"),
    ("calibrate", {"repeats": HUGE}, "repeats must be in"),
    ("mix", {"x": 10**5000}, "x must be in .* got int$"),
]


@pytest.mark.parametrize(("name", "args", "message"), TOO_LARGE)
def test_a_size_that_nothing_needs_is_refused(name, args, message, gnn):
    if name == "estimate_counts":
        args = {"graph": PATH, "sampler": EDGE, "rng": 0, **args}
    with pytest.raises(ValueError, match=message):
        find(gnn, name)(**args)


@pytest.mark.parametrize("shape", [(2**40, 2**40), (1,) * 65, (64, 64)])
def test_a_tree_has_few_devices(shape, gnn):
    with pytest.raises(ValueError, match="shape must"):
        gnn.loader.Topology.tree(shape)


def test_features_are_in_few_parts(gnn):
    with pytest.raises(ValueError, match=r"parts must be in \[1, 65536\]"):
        gnn.loader.FeatureStore.of(np.ones((2, 1), np.float32), HUGE)


def test_a_pool_draws_no_more_subgraphs_than_can_be_needed(gnn):
    """As many as the nodes that are to be met, and not all of the pool at once."""
    drawn = []

    def counted(graph, sampler, rng, first, count, *, domain=0):
        drawn.append(count)
        return gnn.sample_many(graph, sampler, rng, first, count, domain=domain)

    watched = gnn.backend(gnn, sample_many=counted)
    few = watched.estimate_counts(PATH, EDGE, 0, coverage=4, pool=2**31 - 1)
    assert sum(drawn) <= 4 * PATH.n
    usual = gnn.estimate_counts(PATH, EDGE, 0, coverage=4)
    assert few.subgraphs == usual.subgraphs
    assert few.edges.tolist() == usual.edges.tolist()


A = refimpl.adjacency.row_norm(PATH, refimpl.transpose_perm(PATH))
LOOPS = refimpl.adjacency.loop_norm(PATH)
X, W, G = np.full((3, 2), 1e300), np.full((2, 2), 1e300), np.full((3, 2), -1e300)
NANS = np.array([[np.nan, np.inf], [-np.inf, np.inf], [1e300, -1e300]])
ORDER = ProductOrders(1, 1, 2)
ROWS = refimpl.layers.RowL2Output(X, np.full(3, 1e-300))
OUT_OF_RANGE = [
    ("spmm", (PATH, np.full(4, 1e300), X), {}),
    ("spmm_t", (PATH, np.full(4, 1e300), refimpl.transpose_perm(PATH), X), {}),
    (
        "feature_propagate",
        (PATH, np.full(4, 1e300), X, refimpl.partition.Partition([0, 2], 1, True), 1),
        {},
    ),
    ("dense_forward", (X, W), {"relu": True}),
    ("dense_backward", (X, W, X, G), {"relu": True, "need_dx": True}),
    ("sage_forward", (A, NANS, W, W, ORDER), {}),
    ("gcn_forward", (A, NANS, W, ORDER), {}),
    ("mixhop_forward", ((A,), NANS, (W, W), 1), {}),
    ("gat_forward", (LOOPS, NANS, W, W[:1], W[:1]), {}),
    ("rgcn_forward", ((A,), NANS, (W,), W), {}),
    ("row_l2_forward", (NANS,), {}),
    ("row_l2_backward", (ROWS, G), {}),
    ("dropout", (np.full((3, 2), 1.5e308), 0.5, 7), {}),
    ("softmax_cross_entropy", (NANS, X), {}),
    ("sigmoid_cross_entropy", (NANS, X), {}),
    ("gradient_norms", (X,), {}),
    ("g_comp", (1e200, 1e200, 1e200), {}),
    ("expected_rounds", (1e9, 1 + 2**-52), {}),
]


def flat(value):
    """Yield the arrays of a result."""
    if isinstance(value, tuple):
        for part in value:
            yield from flat(part)
    elif value is not None:
        yield np.asarray(value)


@pytest.mark.parametrize(("name", "args", "more"), OUT_OF_RANGE, ids=lambda v: str(v)[:20])
def test_numbers_out_of_range_give_infinities_and_no_warning(name, args, more, gnn):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = find(gnn, name)(*args, **more)
    if name != "expected_rounds":
        assert not all(np.isfinite(array).all() for array in flat(result))


def test_a_step_out_of_range_gives_no_warning(gnn):
    theta, m, v = np.zeros(2), np.zeros(2), np.zeros(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gnn.adam_step(theta, np.array([1e300, np.inf]), m, v, 1)
    assert np.isinf(v).all() and np.isnan(theta[1])


@pytest.mark.parametrize("model", ["sage", "gat"])
def test_a_run_that_diverges_gives_no_warning(model, gnn):
    config = gnn.TrainConfig(model=model, method="full", hidden=4, epochs=2, lr=1e30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Diverged):
            gnn.train(gnn.load_dataset("karate"), config)


def test_misaligned_arrays_are_copied_for_kernels():
    data = np.zeros(8 * A.data.size + 1, np.uint8)[1:].view(np.float64)
    assert not data.flags.aligned
    made = refimpl.Adjacency(A.graph, data, data, perm=data.view(np.int64))
    for array in (made.data, made.data_t, made.perm, require.floats("data", data, (None,))):
        assert array.flags.aligned


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4", ">i8"])
def test_ids_are_those_in_the_range(dtype):
    """A number below 0 is read as a large one without a sign: too large only below 2^31 or 2^63."""
    info = np.iinfo(np.dtype(dtype).newbyteorder("="))
    ends = (-(2**63), -(2**31), -2, -1, 0, 1, 127, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**64 - 1)
    for value in (end for end in ends if info.min <= end <= info.max):
        for low, high in itertools.product((-1, 0, 1), (0, 1, 128, 2**31 - 1, 2**31, 2**33, 2**63)):
            values = np.array([value, value], dtype)
            if low <= value < high:
                assert require.ids("x", values, low, high, np.int64).tolist() == [value] * 2
            else:
                with pytest.raises(ValueError, match="x must be in"):
                    require.ids("x", values, low, high, np.int64)


def test_a_graph_without_nodes_has_no_node_below_0(gnn):
    graph = gnn.Graph(np.zeros(1, np.int64), np.empty(0, np.int32))
    with pytest.raises(ValueError, match="nodes must be in"):
        gnn.induced_subgraph(graph, np.array([-5], np.int8))
