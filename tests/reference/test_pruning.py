"""Pruning against a search from the roots, and the count of what was not loaded."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mfgs import edges, hits, mfg_from_rows, mfg_of, mfgs, no_hits, weighted
from strategies import even_graph

from refimpl import MFG, Block

LAYOUTS = ("csr2", "csr", "csr_batched", "coo", "coo_compact")
# Two layers; node 0 of layer 1 is the root itself. Layer 1 has 4 nodes, the inputs are 7.
TREE = mfg_from_rows(7, [[4], [5, 6], [1, 4, 6], []], [[1, 2, 3]])
EVEN = even_graph(300, 8)


def search(mfg, hit, uses_self):
    """Return what a search from the roots meets that stops where an embedding is cached."""
    live = [np.zeros(len(nodes), np.bool_) for nodes in mfg.nodes]
    depth = len(mfg.blocks)
    waiting = [(depth, i) for i in range(len(mfg.nodes[-1]))]
    while waiting:
        layer, i = waiting.pop()
        if live[layer][i]:
            continue
        live[layer][i] = True
        if layer > 0 and not hit[layer - 1][i]:
            block = mfg.blocks[layer - 1]
            sources = block.indices[block.start[i] : block.end[i]].tolist()
            waiting += [(layer - 1, u) for u in sources + [i] * uses_self]
    return live


def mask(size, *chosen):
    """Return which of `size` nodes are chosen."""
    return np.isin(np.arange(size), chosen)


def assert_same(got, want):
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


@st.composite
def cases(draw):
    mfg = draw(mfgs())
    return mfg, draw(hits(mfg)), draw(st.booleans(), label="uses_self")


OF_LAYOUT = st.sampled_from(LAYOUTS)


@given(case=cases(), layout=OF_LAYOUT)
def test_live_is_what_a_search_meets(gnn, case, layout):
    """And the pruned blocks have the rows of what is computed, and no others."""
    mfg, hit, uses_self = case
    mfg = weighted(mfg) if layout == "csr2" else mfg
    result = gnn.prune_mfg(mfg, hit, uses_self=uses_self, layout=layout)
    assert_same(result.live, search(mfg, hit, uses_self))
    assert_same(result.comp, [live & ~h for live, h in zip(result.live[1:], hit, strict=True)])
    for block, before, comp in zip(result.mfg.blocks, mfg.blocks, result.comp, strict=True):
        rows = [row if c else [] for row, c in zip(edges(before), comp, strict=True)]
        assert edges(block) == rows
        assert (block.n_dst, block.n_src) == (before.n_dst, before.n_src)
        assert (block.edge_ids is None) == (before.edge_ids is None)
    assert_same(result.mfg.nodes, mfg.nodes)
    for array in (*result.live, *result.comp):
        assert array.dtype == np.bool_


@given(case=cases())
def test_layouts_agree(gnn, case):
    """On what is live, on what is computed and on its edges."""
    mfg, hit, uses_self = case
    want = gnn.prune_mfg(mfg, hit, uses_self=uses_self)
    for layout in LAYOUTS[1:]:
        got = gnn.prune_mfg(mfg, hit, uses_self=uses_self, layout=layout)
        assert_same(got.live, want.live)
        assert_same(got.comp, want.comp)
        assert [edges(b) for b in got.mfg.blocks] == [edges(b) for b in want.mfg.blocks]
        assert all(block.e == block.degrees().sum() for block in got.mfg.blocks)


@given(case=cases())
def test_a_source_behind_the_destinations_is_live_for_someone(gnn, case):
    """And no source is live for nobody, but in its own row."""
    mfg, hit, uses_self = case
    result = gnn.prune_mfg(mfg, hit, uses_self=uses_self)
    for block, live, comp in zip(result.mfg.blocks, result.live, result.comp, strict=False):
        needed = {u for row in edges(block) for u, _ in row}
        assert set(np.flatnonzero(live[block.n_dst :]) + block.n_dst) == {
            u for u in needed if u >= block.n_dst
        }
        own = set(np.flatnonzero(comp)) if uses_self else set()
        assert set(np.flatnonzero(live)) == needed | own


@given(case=cases(), layout=OF_LAYOUT)
def test_pruning_twice_is_pruning_once(gnn, case, layout):
    """The second time, there is nothing to do."""
    mfg, hit, uses_self = case
    once = gnn.prune_mfg(mfg, hit, uses_self=uses_self, layout=layout)
    twice = gnn.prune_mfg(once.mfg, hit, uses_self=uses_self)
    assert_same(twice.live, once.live)
    assert_same(twice.comp, once.comp)
    assert [edges(b) for b in twice.mfg.blocks] == [edges(b) for b in once.mfg.blocks]
    assert (twice.ops, twice.touched_bytes) == (0, 0)


@given(case=cases(), data=st.data())
def test_more_cached_is_less_live(gnn, case, data):
    """Nothing becomes live that was not; a live node is computed or cached, not both."""
    mfg, hit, uses_self = case
    more = [a | b for a, b in zip(hit, data.draw(hits(mfg)), strict=True)]
    less = gnn.prune_mfg(mfg, more, uses_self=uses_self)
    result = gnn.prune_mfg(mfg, hit, uses_self=uses_self)
    assert all(np.all(a <= b) for a, b in zip(less.live, result.live, strict=True))
    assert np.all(less.live[-1]) and np.all(result.live[-1])
    for live, h, comp in zip(result.live[1:], hit, result.comp, strict=True):
        np.testing.assert_array_equal(comp.astype(int) + (live & h) + ~live, 1)


def test_nothing_cached_changes_nothing(gnn):
    """Where every source has a consumer, as in whatever a sampler makes."""
    mfg = gnn.layer_sample(EVEN, np.arange(20), (4, 3, 2), 1)
    for layout in LAYOUTS:
        result = gnn.prune_mfg(mfg, no_hits(mfg), layout=layout)
        assert all(live.all() for live in result.live) and all(c.all() for c in result.comp)
        assert [edges(b) for b in result.mfg.blocks] == [edges(b) for b in mfg.blocks]
        if layout != "csr_batched":  # which writes everything anew
            assert result.ops == (sum(b.e for b in mfg.blocks) * 2 if "compact" in layout else 0)


@given(case=cases())
def test_only_end_is_new(gnn, case):
    """Blocks share all else; the blocks given stay as they were, and so does `hit`."""
    mfg, hit, uses_self = case
    ends, hit_before = [b.end.copy() for b in mfg.blocks], [h.copy() for h in hit]
    result = gnn.prune_mfg(mfg, hit, uses_self=uses_self)
    for block, before in zip(result.mfg.blocks, mfg.blocks, strict=True):
        assert block.start is before.start
        assert block.indices is before.indices
        assert block.edge_ids is before.edge_ids
        assert not np.shares_memory(block.end, before.end)
        assert not block.end.flags.writeable
    for layout in LAYOUTS:
        gnn.prune_mfg(mfg, hit, uses_self=uses_self, layout=layout)
        assert_same([b.end for b in mfg.blocks], ends)
        assert_same(hit, hit_before)


def test_a_cached_node_keeps_what_others_need(gnn):
    """Node 2 is cached at layer 2, but is an input of node 1 there: live at layer 1."""
    mfg = mfg_from_rows(4, [[3], [3], [3]], [[], [2], [0]], [[1, 2]])
    result = gnn.prune_mfg(mfg, [mask(3), mask(3, 2), mask(1)])
    assert_same(result.live, [mask(4, 0, 1, 2, 3), mask(3, 0, 1, 2), mask(3, 0, 1, 2), mask(1, 0)])
    assert_same(result.comp, [mask(3, 0, 1, 2), mask(3, 0, 1), mask(1, 0)])
    without = gnn.prune_mfg(mfg, [mask(3), mask(3, 1, 2), mask(1)])
    assert_same(without.live[:2], [mask(4, 0, 3), mask(3, 0)])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_diamond(gnn, layout):
    """Nodes 1 and 2 both use input 3; it goes when both are cached, no sooner."""
    mfg = mfg_from_rows(4, [[], [3], [3]], [[1, 2]])
    for cached, live in (((), (0, 1, 2, 3)), ((1,), (0, 2, 3)), ((2,), (0, 1, 3)), ((1, 2), (0,))):
        result = gnn.prune_mfg(mfg, [mask(3, *cached), mask(1)], layout=layout)
        assert_same(result.live, [mask(4, *live), mask(3, 0, 1, 2), mask(1, 0)])
        without = gnn.prune_mfg(mfg, [mask(3, *cached), mask(1)], uses_self=False, layout=layout)
        assert_same(without.live[:1], [mask(4, *([] if len(cached) == 2 else [3]))])


def test_everything_cached(gnn):
    """All of layer L - 1 is cached: nothing below it is left, and no input is loaded."""
    mfg = gnn.layer_sample(EVEN, np.arange(10), (3, 3, 3), 2)
    hit = [np.ones(len(nodes), np.bool_) for nodes in mfg.nodes[1:]]
    hit[-1][:] = False
    result = gnn.prune_mfg(mfg, hit)
    assert not any(live.any() for live in result.live[:2]) and result.live[2].all()
    assert [int(b.degrees().sum()) for b in result.mfg.blocks] == [0, 0, mfg.blocks[2].e]
    assert [c.any() for c in result.comp] == [False, False, True]


def test_nothing_to_prune(gnn):
    """No layers, no roots, no inputs."""
    nodes = (np.arange(3, dtype=np.int32),)
    assert_same(gnn.prune_mfg(MFG(nodes, ()), []).live, [np.ones(3, np.bool_)])
    empty = mfg_from_rows(0, [], [])
    for layout in LAYOUTS:
        result = gnn.prune_mfg(empty, no_hits(empty), layout=layout)
        assert [live.size for live in result.live] == [0, 0, 0]
        assert (result.ops, result.touched_bytes) == (0, 0)


def test_operations_counted_by_hand(gnn):
    """TREE without node 1 (2 of 6 entries) and node 2 (3 entries) of layer 1.

    csr: node 1 moves the 3 entries behind it and corrects 3 pointers, node 2 moves none and
    corrects 2. csr_batched: 4 pointers, 1 entry. coo: rows are 0 1 1 2 2 2; searching looks for
    1, 2, 2 and 3 in 3, 3, 3 and 2 comparisons, and marks 5. Layer 2 is left alone: only the
    batched layouts rewrite it, 1 pointer and 3 entries, or 3 marks and 3 entries.
    """
    hit = [mask(4, 1, 2), mask(1)]
    want = {
        "csr2": (2, 16),
        "csr": (5 + 3, 8 * 5 + 4 * 3),
        "csr_batched": (5 + 4, 8 * 5 + 4 * 4),
        "coo": (11 + 5, 4 * 11 + 5),
        "coo_compact": (16 + 9 + 4, 49 + 9 + 8 * 4),
    }
    for layout, (ops, touched) in want.items():
        result = gnn.prune_mfg(TREE, hit, layout=layout)
        assert (result.ops, result.touched_bytes) == (ops, touched), layout
    with_ids = mfg_of(TREE.blocks, edge_ids=True)
    more = {"csr2": 0, "csr": 8 * 3, "csr_batched": 8 * 4, "coo": 0, "coo_compact": 8 * 4}
    for layout, (ops, touched) in want.items():
        result = gnn.prune_mfg(with_ids, hit, layout=layout)
        assert (result.ops, result.touched_bytes) == (ops, touched + more[layout]), layout


@given(case=cases())
def test_csr2_stores_once_for_each_row_that_becomes_empty(gnn, case):
    mfg, hit, uses_self = case
    result = gnn.prune_mfg(mfg, hit, uses_self=uses_self)
    rows = sum(
        np.count_nonzero(a.degrees() < b.degrees())
        for a, b in zip(result.mfg.blocks, mfg.blocks, strict=True)
    )
    assert (result.ops, result.touched_bytes) == (rows, 8 * rows)


def test_loaded_rows_stay_between_none_and_all(gnn):
    """At most what neighbour sampling loads, with features cached as well."""
    rng = np.random.default_rng(0)
    mfg = gnn.layer_sample(EVEN, np.arange(30), (4, 3), 1)
    live = gnn.prune_mfg(mfg, [rng.random(len(mfg.nodes[1])) < 0.5, mask(30)]).live[0]
    loaded = np.count_nonzero(live & (rng.random(live.size) < 0.5))
    assert 0 < loaded < np.count_nonzero(live) < len(mfg.nodes[0])
    saved = gnn.history.io_saving([loaded], [len(mfg.nodes[0])])
    assert saved == pytest.approx(1 - loaded / len(mfg.nodes[0]), rel=1e-15)


def test_io_saving_is_a_ratio_of_sums(gnn):
    assert gnn.history.io_saving(np.array([0, 90]), np.array([10, 90])) == 1 - 90 / 100
    assert gnn.history.io_saving([0, 0], [4, 0]) == 1
    assert gnn.history.io_saving([4], [4]) == 0
    assert gnn.history.io_saving([2**62, 2**62], [2**62, 2**62]) == 0
    assert math.isnan(gnn.history.io_saving([0, 0], [0, 0])) and math.isnan(
        gnn.history.io_saving([], [])
    )


@pytest.mark.parametrize(
    "loaded, needed, error, text",
    [
        ([1], [1, 2], ValueError, "loaded must be as long as needed, got 1 and 2"),
        ([3], [2], ValueError, "loaded must not be above needed"),
        ([-1], [2], ValueError, r"loaded must be in \[0"),
        ([0.5], [2], TypeError, "loaded must hold integers"),
    ],
)
def test_counts_that_cannot_be(gnn, loaded, needed, error, text):
    with pytest.raises(error, match=text):
        gnn.history.io_saving(loaded, needed)


SHORT = MFG(TREE.nodes[:2], TREE.blocks)
WRONG = MFG((TREE.nodes[0][:6], *TREE.nodes[1:]), TREE.blocks)
WIDE = mfg_of([Block([0, 0, 0], [0, 0, 0], [], 2)])


@pytest.mark.parametrize(
    "mfg, hit, options, error, text",
    [
        (TREE, [mask(4), mask(1, 0)], {}, ValueError, "hit must be all False for the last"),
        (TREE, [mask(4)], {}, ValueError, "hit must have an array for each of the 2 layers"),
        (TREE, [mask(3), mask(1)], {}, ValueError, r"hit of layer 1 must have shape \(4,\)"),
        (TREE, [np.zeros(4), mask(1)], {}, TypeError, "hit of layer 1 must hold bools"),
        (TREE, None, {}, TypeError, "hit must be a sequence"),
        (TREE, no_hits(TREE), {"layout": "ell"}, ValueError, "layout must be one of 'csr2'"),
        (weighted(TREE), no_hits(TREE), {"layout": "coo"}, ValueError, 'must be "csr2" where'),
        (TREE, no_hits(TREE), {"layout": []}, ValueError, "layout must be one of"),
        (TREE, no_hits(TREE), {"uses_self": 1}, TypeError, "uses_self must be True or False"),
        (TREE.blocks, no_hits(TREE), {}, TypeError, "mfg must be an MFG, got tuple"),
        (SHORT, no_hits(TREE), {}, ValueError, "mfg must have one array of nodes more"),
        (WRONG, no_hits(TREE), {}, ValueError, "mfg must have 4 destinations and 6 sources"),
        (WIDE, no_hits(WIDE), {}, ValueError, "mfg must have 3 destinations and 2 sources"),
    ],
)
def test_refused(gnn, mfg, hit, options, error, text):
    with pytest.raises(error, match=text):
        gnn.prune_mfg(mfg, hit, **options)
