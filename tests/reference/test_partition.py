"""Plans by search, the order of the parts, and a product in parts bit by bit."""

from fractions import Fraction

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import FLOATS, blocks, directed_graphs, graph_from_edges, graphs

VERSIONS = st.sampled_from(["jpdc", "ipdps"])
LAYOUTS = st.sampled_from(["C", "F"])
LANES = st.integers(1, 12)


# Plans.


def widest_columns(n, f, p, s_cache, word, line):
    """Return the widest part by search: there are p of it, it fits; whole lines if one does."""
    fitting = [w for w in range(1, f + 1) if w * p <= f and w * word * n <= s_cache] or [1]
    return max([w for w in fitting if w % (line // word) == 0] or fitting)


@given(
    n=st.integers(0, 40),
    f=st.integers(0, 50),
    p=LANES,
    s_cache=st.integers(1, 9000),
    word=st.sampled_from([4, 8]),
    line=st.sampled_from([8, 64, 128]),
    mode=st.sampled_from(["columns", "paper"]),
)
def test_plan(gnn, n, f, p, s_cache, word, line, mode):
    plan = gnn.partition.partition_plan(n, f, p, s_cache, word=word, line=line, mode=mode)
    assert plan.starts.dtype == np.int64
    starts = plan.starts.tolist()
    widths = np.diff(starts).tolist()
    assert (starts[0], starts[-1]) == (0, f)
    assert (plan.rounds - 1) * p < len(widths) <= plan.rounds * p
    assert plan.fits is (word * n * max(widths) <= s_cache)
    if f == 0:
        assert starts == [0, 0]
        return
    assert min(widths) > 0
    if mode == "paper":
        need = Fraction(word * n * f, s_cache)
        least = next(q for q in range(10**6) if q >= need)
        assert len(widths) == min(f, max(p, least))
        assert sorted(widths, reverse=True) == widths
        assert max(widths) - min(widths) <= 1
    else:
        want = widest_columns(n, f, p, s_cache, word, line)
        assert set(widths[:-1]) <= {want}
        assert widths[-1] <= want
        assert len(widths) >= min(p, f)
        assert plan.fits or (want == 1 and word * n > s_cache)


def test_plan_of_the_papers_example(gnn):
    """E-D1: 8000 nodes, 512 columns, 256 KiB: Q_f = 125 is whole, but 512 / 125 columns are not."""
    paper = gnn.partition.partition_plan(8000, 512, 40, 2**18, mode="paper")
    assert len(paper.starts) - 1 == 125
    assert np.diff(paper.starts).tolist() == [5] * 12 + [4] * 113
    assert not paper.fits
    assert paper.rounds == 4
    plan = gnn.partition.partition_plan(8000, 512, 40, 2**18)
    assert plan.starts.tolist() == list(range(0, 513, 4))
    assert plan.fits


@pytest.mark.parametrize(("line", "word", "values"), [(64, 8, 8), (128, 8, 16), (64, 4, 16)])
def test_parts_are_whole_cache_lines(gnn, line, word, values):
    """E-D5: a line of x86 holds 8 doubles, not 16."""
    for width in range(1, 3 * values):
        plan = gnn.partition.partition_plan(1, 4 * width, 4, 2**20, line=line, word=word)
        assert plan.starts[1] == (width if width < values else width - width % values)
        assert (
            gnn.partition.partition_plan(1, 4 * width, 4, 2**20, line=word, word=word).starts[1]
            == width
        )


def test_more_lanes_than_columns(gnn):
    for mode in ("columns", "paper"):
        plan = gnn.partition.partition_plan(3, 5, 9, 2**20, mode=mode)
        assert plan.starts.tolist() == [0, 1, 2, 3, 4, 5]
        assert plan.rounds == 1


def test_clipping_aligns_parts_of_column_major_features_only(gnn):
    """E-D4: n a multiple of 8 doubles is one way to whole cache lines, and only in one layout."""

    def aligned(n, f, width, order):
        X, plan = (
            np.zeros((n, f), order=order),
            gnn.partition.partition_plan(1, f, 1, 8 * width, line=8),
        )
        assert plan.starts[1] == width
        return all((X[:, s:].ctypes.data - X.ctypes.data) % 64 == 0 for s in plan.starts[:-1])

    assert aligned(16, 30, 3, "F")
    assert not aligned(16, 30, 3, "C")
    assert not aligned(15, 30, 3, "F")
    assert aligned(15, 32, 8, "F")  # not clipped: the parts are wide enough
    assert aligned(15, 32, 8, "C")


# The order of the parts.


@pytest.mark.parametrize("version", ["jpdc", "ipdps"])
def test_order_visits_each_part_once(gnn, version):
    for Q in range(1, 41):
        for p in range(1, 20):
            order = gnn.partition.partition_order(Q, p, version=version)
            assert order.dtype == np.int64
            assert order.shape == ((Q - 1) // p + 1, p)
            assert sorted(order[order >= 0]) == list(range(Q))
            assert set(order[order < 0]) <= {-1}
            if version == "ipdps":
                assert_array_equal(order.ravel()[:Q], np.arange(Q))
            else:  # every lane takes the parts of a run, one a round
                assert_array_equal(order.T.ravel()[:Q], np.arange(Q))


def neighbours_in_a_round(order):
    """Return whether two adjacent parts are worked on at the same time."""
    rounds = [set(parts[parts >= 0].tolist()) for parts in order]
    return any(i + 1 in parts for parts in rounds for i in parts)


def test_no_two_neighbours_in_one_round(gnn):
    """E-D2: JPDC'21 keeps them apart as soon as there are two rounds, IPDPS'19 never does."""
    for Q in range(2, 41):
        for p in range(2, 20):
            assert neighbours_in_a_round(gnn.partition.partition_order(Q, p, version="ipdps"))
            order = gnn.partition.partition_order(Q, p)
            assert neighbours_in_a_round(order) == (len(order) == 1)


@pytest.mark.parametrize("version", ["jpdc", "ipdps"])
def test_lanes_are_balanced_only_where_they_divide_the_parts(gnn, version):
    """E-D6: the columns of each lane; the paper calls the balance optimal."""

    def columns(f, p):
        plan = gnn.partition.partition_plan(1, f, p, 8, mode="paper")  # one column a part
        widths = np.append(np.diff(plan.starts), 0)  # none for a lane that idles
        return widths[gnn.partition.partition_order(f, p, version=version)].sum(axis=0).tolist()

    assert columns(12, 4) == [3, 3, 3, 3]
    assert sorted(columns(9, 4)) == ([0, 3, 3, 3] if version == "jpdc" else [2, 2, 2, 3])


# The product.


@st.composite
def cuts(draw, gnn, f):
    """Draw a Partition for f columns, of any widths."""
    inner = draw(st.sets(st.integers(1, max(f - 1, 1)), max_size=f), label="starts")
    starts = np.array([0, *sorted(i for i in inner if i < f), f])
    return gnn.partition.Partition(starts, 1, True)


@given(
    pattern=graphs() | directed_graphs() | blocks(),
    f=st.integers(0, 9),
    dtype=FLOATS,
    p=LANES,
    version=VERSIONS,
    layout=LAYOUTS,
    data=st.data(),
)
def test_parts_change_no_bit(gnn, pattern, f, dtype, p, version, layout, data):
    rng = np.random.default_rng(data.draw(st.integers(0), label="seed"))
    values = rng.normal(size=pattern.e).astype(dtype)
    X = rng.normal(size=(pattern.n_src, f)).astype(dtype)
    values.flags.writeable = X.flags.writeable = False
    s_cache = data.draw(st.integers(1, 200), label="s_cache")
    plans = [
        data.draw(cuts(gnn, f), label="cuts"),
        gnn.partition.partition_plan(pattern.n_src, f, p, s_cache),
        gnn.partition.partition_plan(pattern.n_src, f, p, s_cache, mode="paper"),
    ]
    for plan in plans:
        got = gnn.feature_propagate(pattern, values, X, plan, p, version=version, layout=layout)
        assert got.dtype == dtype
        assert got.flags.c_contiguous
        assert not np.shares_memory(got, X)
        assert_array_equal(got, gnn.spmm(pattern, values, X))
        atol = 1e-12 if dtype == np.float64 else 50 * np.finfo(dtype).eps * max(pattern.n_src, 1)
        assert_allclose(got, oracles.matrix(pattern, values) @ X, rtol=0, atol=atol)


@pytest.mark.parametrize("layout", ["C", "F"])
def test_the_result_is_a_new_array(gnn, layout):
    """E-D3: on a path, adding in place would let row 1 read row 0 after it was written."""
    path = graph_from_edges(3, {(0, 1), (1, 2)})
    X = np.array([[1.0, 10], [2, 20], [4, 40]], order=layout)
    plan = gnn.partition.partition_plan(3, 2, 2, 1000)
    got = gnn.feature_propagate(path, np.ones(4), X, plan, 2, layout=layout)
    assert got.tolist() == [[2, 20], [5, 50], [2, 20]]
    assert X.tolist() == [[1, 10], [2, 20], [4, 40]]


def test_an_isolated_node_gets_zeros(gnn):
    graph = graph_from_edges(4, {(0, 2)})
    got = gnn.feature_propagate(
        graph, np.ones(2), np.full((4, 3), -1.0), gnn.partition.partition_plan(4, 3, 2, 64), 2
    )
    assert got.tolist() == [[-1.0] * 3, [0.0] * 3, [-1.0] * 3, [0.0] * 3]
    assert not np.signbit(got[[1, 3]]).any()


@pytest.mark.parametrize("f", [0, 1, 7])
def test_parts_are_counted_as_one_product(gnn, f):
    graph = graph_from_edges(4, {(0, 1), (1, 2), (2, 2)})
    plan = gnn.partition.partition_plan(4, f, 3, 64)
    with gnn.profiling.Meter() as profile:
        gnn.feature_propagate(graph, np.ones(5), np.ones((4, f)), plan, 3)
    assert profile.macs == {"sparse": 5 * f, "dense": 0}
    assert profile.seconds["aggregation"] > 0


# The transpose.


@given(graph=graphs(), f=st.integers(0, 4), dtype=FLOATS, seed=st.integers(0))
def test_spmm_t_is_spmm_on_the_transpose(gnn, graph, f, dtype, seed):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=graph.e).astype(dtype)
    G = rng.normal(size=(graph.n, f)).astype(dtype)
    got = gnn.propagation.spmm_t(graph, data, gnn.transpose_perm(graph), G)
    matrix = oracles.dense(graph, data).T
    assert got.dtype == dtype
    transposed = matrix[oracles.rows(graph), graph.indices]
    assert_array_equal(got, oracles.sequential_product(graph, transposed, G))
    assert_allclose(got, matrix @ G, rtol=0, atol=50 * np.finfo(dtype).eps * max(graph.n, 1))


# Bad arguments.

BAD_PLANS = [
    ((-1, 2, 1, 9), {}, ValueError, r"n must be in \[0, "),
    ((2, 2.0, 1, 9), {}, TypeError, "f must be an integer"),
    ((2, 2, 0, 9), {}, ValueError, r"p must be in \[1, "),
    ((2, 2, 1, 0), {}, ValueError, "s_cache must be at least 1"),
    ((2, 2, 1, 9), {"word": 0}, ValueError, "word must be at least 1"),
    ((2, 2, 1, 9), {"line": 12}, ValueError, "line must be a multiple of word, 8, got 12"),
    ((2, 2, 1, 9), {"mode": "rows"}, ValueError, "mode must be one of 'columns', 'paper'"),
]


@pytest.mark.parametrize(("args", "kwargs", "error", "message"), BAD_PLANS)
def test_partition_plan_rejects(gnn, args, kwargs, error, message):
    with pytest.raises(error, match=message):
        gnn.partition.partition_plan(*args, **kwargs)


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        ((0, 2), {}, ValueError, r"Q must be in \[1, "),
        ((2, True), {}, TypeError, "p must be an integer"),
        ((2, 2), {"version": "kdd"}, ValueError, "version must be one of 'jpdc', 'ipdps'"),
    ],
)
def test_partition_order_rejects(gnn, args, kwargs, error, message):
    with pytest.raises(error, match=message):
        gnn.partition.partition_order(*args, **kwargs)


PATH = graph_from_edges(3, {(0, 1), (1, 2)})


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"graph": "A"}, TypeError, "graph must be"),
        ({"data": np.ones(3)}, ValueError, "data must have shape"),
        ({"data": np.ones(4, np.float32)}, TypeError, "X must be float32"),
        ({"X": np.ones((2, 4))}, ValueError, "X must have shape"),
        ({"X": np.ones((3, 5))}, ValueError, "plan.starts must rise from 0 to the 5 columns"),
        ({"plan": (np.array([0, 4]), 1, True)}, TypeError, "plan must be a Partition"),
        ({"starts": [0, 3, 2, 4]}, ValueError, "plan.starts must rise"),
        ({"starts": [1, 4]}, ValueError, "plan.starts must rise"),
        ({"starts": [0, 9]}, ValueError, "plan.starts must be in"),
        ({"starts": [0]}, ValueError, "plan.starts must rise"),
        ({"starts": [0, 0.5, 4]}, TypeError, "plan.starts must hold integers"),
        ({"p": 0}, ValueError, r"p must be in \[1, "),
        ({"version": "J"}, ValueError, "version must be one of"),
        ({"layout": "A"}, ValueError, "layout must be one of 'C', 'F', got 'A'"),
    ],
)
def test_feature_propagate_rejects(gnn, change, error, message):
    change = dict(change)
    plan = gnn.partition.Partition(np.array(change.pop("starts", [0, 2, 4])), 1, True)
    arguments = {"graph": PATH, "data": np.ones(4), "X": np.ones((3, 4)), "plan": plan, "p": 2}
    with pytest.raises(error, match=message):
        gnn.feature_propagate(**{**arguments, **change})
