"""What layer sampling is said to cost: against sums written out, and against what was sampled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import even_graph, power_law_graph

from refimpl.lab.backend import find

EVEN, HUBS = even_graph(3000, 150), power_law_graph(3000)
WHOLE = st.integers(1, 60)


def counted_work(mfg, widths):
    """Return the multiply-adds of a forward pass, one addition an operand of every product."""
    work = 0
    for block, inner, outer in zip(mfg.blocks, widths[:-1], widths[1:], strict=True):
        work += sum(inner for _ in range(int(block.degrees().sum())))
        work += sum(inner * outer for _ in range(block.n_dst))
    return work


def test_equation_1_is_what_a_sample_costs(gnn):
    """E-G1: layer l aggregates inputs of width f_(l-1), and there are layers 1 to L."""
    mfg = gnn.layer_sample(EVEN, np.arange(20), (6, 3), 1)
    widths = (50, 16, 7)
    nodes, edges = [b.n_dst for b in mfg.blocks], [b.e for b in mfg.blocks]
    work = gnn.cost_models.forward_work(nodes, edges, widths)
    assert isinstance(work, np.float64)
    assert work == counted_work(mfg, widths)
    # As printed, with the widths and edges of layers 0 and 1, it would be another number.
    assert work != sum(e * f for e, f in zip([0, *edges[:1]], widths[:2], strict=True)) + sum(
        n * a * b for n, a, b in zip(nodes, widths[:-1], widths[1:], strict=True)
    )


@given(layers=st.integers(1, 4), s=WHOLE, f=WHOLE, d=WHOLE)
def test_equation_8_is_equation_1_for_one_width(gnn, layers, s, f, d):
    want = gnn.cost_models.forward_work(s, s * d, [f] * (layers + 1))
    assert gnn.cost_models.graph_sampling_work(layers, s, f, d) == pytest.approx(want, rel=1e-12)


@given(layers=st.integers(1, 4), n=st.integers(1, 400), f=WHOLE, fanout=WHOLE, data=st.data())
def test_layer_sampling_work_is_the_sum_over_batches(gnn, layers, n, f, fanout, data):
    divisors = [b for b in range(1, n + 1) if n % b == 0]
    batch = data.draw(st.sampled_from(divisors))
    want = 0
    for _ in range(n // batch):
        nodes = [min(batch * fanout ** (layers - layer), n) for layer in range(1, layers + 1)]
        edges = [fanout * count for count in nodes]
        want += gnn.cost_models.forward_work(nodes, edges, [f] * (layers + 1))
    got = gnn.cost_models.layer_sampling_work(layers, n, f, fanout, batch)
    assert got == pytest.approx(want, rel=1e-12)


@given(layers=st.integers(1, 5), n=st.integers(1, 10**6), f=WHOLE, fanout=WHOLE)
def test_layer_sampling_falls_from_case_1_to_case_2(gnn, layers, n, f, fanout):
    """E-G2: case 1 is met exactly, at d'^(L-1) in its largest term; d'^L is more than enough."""
    cases = gnn.cost_models.layer_sampling_cases(layers, n, f, fanout)
    batches = np.unique(np.geomspace(1, n, 30).astype(int))
    work = gnn.cost_models.layer_sampling_work(layers, n, f, fanout, batches)
    assert work.shape == batches.shape
    tolerance = 1e-9 * cases.small
    assert (np.diff(work) <= tolerance).all()
    assert work[-1] == pytest.approx(cases.large, rel=1e-12)
    assert (work <= cases.small + tolerance).all()
    few = batches * fanout ** (layers - 1) <= n
    assert_allclose(work[few], cases.small, rtol=1e-12)
    terms = [fanout**k * n * f * (f + fanout) for k in range(layers)]
    assert cases.small == pytest.approx(sum(terms), rel=1e-12)
    assert cases.small_printed == pytest.approx(terms[-1] * fanout, rel=1e-12)
    assert cases.small < cases.small_printed or fanout == 1
    assert cases.large == pytest.approx(gnn.cost_models.graph_sampling_work(layers, n, f, fanout))


def test_unique_nodes_of_the_papers_graphs(gnn):
    """Worked out apart, for training graphs as large as Reddit's and PPI's."""
    reddit = gnn.cost_models.unique_nodes(153_431, 512, (25, 10, 10, 10))
    assert reddit.round().tolist() == [512, 12_752, 92_156, 153_280, 153_431]
    assert gnn.cost_models.unique_nodes(9716, 512, (25, 10, 10)).round().tolist() == [
        512,
        7251,
        9715,
        9716,
    ]


def mean_counts(gnn, graph, r, fanouts):
    counts = []
    for q in range(12):
        roots = gnn.streams.pick_without_replacement(q, 0, graph.n, r)
        mfg = gnn.layer_sample(graph, roots, fanouts, gnn.streams.key(q))
        counts.append([len(nodes) for nodes in mfg.nodes[::-1]])
    return np.mean(counts, axis=0)


def test_unique_nodes_are_what_is_met_on_an_even_graph(gnn):
    """E-G6: destinations are met too. Where they were not, the last number would be smaller."""
    fanouts = (5, 3, 2)
    met = mean_counts(gnn, EVEN, 60, fanouts)
    want = gnn.cost_models.unique_nodes(EVEN.n, 60, fanouts)
    assert want.shape == (4,) and want.dtype == np.float64
    assert_allclose(met, want, rtol=0.015)


def test_hubs_make_unique_nodes_fewer(gnn):
    assert (
        mean_counts(gnn, HUBS, 60, (5, 3))[2]
        < 0.8 * gnn.cost_models.unique_nodes(HUBS.n, 60, (5, 3))[2]
    )


def test_unique_nodes_at_the_ends(gnn):
    assert gnn.cost_models.unique_nodes(1, 1, (3,)).tolist() == [1, 1]
    assert gnn.cost_models.unique_nodes(1, 0, (3,)).tolist() == [0, 0]
    assert gnn.cost_models.unique_nodes(10, 10, (3, 2)).tolist() == [10, 10, 10]
    assert gnn.cost_models.unique_nodes(10, 4, ()).tolist() == [4]
    assert gnn.cost_models.unique_nodes(10, 4, (0, 0)).tolist() == [4, 4, 4]


BAD = {
    "widths-one": ("forward_work", (1, 1, [3]), ValueError, "widths must be 1-D"),
    "widths-2d": ("forward_work", (1, 1, [[3, 4]]), ValueError, "widths must be 1-D"),
    "nodes-shape": ("forward_work", ([1, 2, 3], 1, [3, 3, 3]), ValueError, "nodes must be"),
    "edges-negative": ("forward_work", (1, -1, [3, 3]), ValueError, "edges must be"),
    "edges-text": ("forward_work", (1, "a", [3, 3]), TypeError, "edges must be"),
    "layers-zero": ("graph_sampling_work", (0, 1, 1, 1), ValueError, "layers must be"),
    "s-negative": ("graph_sampling_work", (1, -1, 1, 1), ValueError, "s must be"),
    "layers-float": ("layer_sampling_work", (1.5, 9, 1, 2, 3), TypeError, "layers must be"),
    "batch-large": ("layer_sampling_work", (1, 9, 1, 2, 10), ValueError, "batch must be"),
    "fanout-zero": ("layer_sampling_cases", (1, 9, 1, 0), ValueError, "fanout must be"),
    "n-none": ("layer_sampling_cases", (1, None, 1, 1), TypeError, "n must be"),
    "unique-n": ("unique_nodes", (0, 0, (1,)), ValueError, "n must be"),
    "unique-r": ("unique_nodes", (5, 6, (1,)), ValueError, "r must be"),
    "unique-fanouts": ("unique_nodes", (5, 5, 1), TypeError, "fanouts must be a sequence"),
    "unique-all": ("unique_nodes", (5, 5, (-1,)), ValueError, "fanouts must be"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_of_the_formulas_are_refused(gnn, case):
    name, arguments, error, message = BAD[case]
    with pytest.raises(error, match=message):
        find(gnn, name)(*arguments)
