"""Fast against reference for pruning, in all layouts, and for fair shares."""

import numpy as np
import pytest
from comparison import assert_bits, assert_same_error, assert_twins, read_only, threads
from hypothesis import given
from hypothesis import strategies as st
from mfgs import hits, mfg_from_rows, mfg_of, mfgs, no_hits, weighted
from strategies import even_graph, graph_from_edges, power_law_graph

import fastimpl
import refimpl
from refimpl import MFG, Block

THREADS = st.sampled_from([1, 2, 5])
LAYOUTS = ("csr2", "csr", "csr_batched", "coo", "coo_compact")
MFGS = mfgs() | mfgs().map(weighted)
PATH = graph_from_edges(3, {(0, 1), (1, 2)})
TREE = mfg_from_rows(5, [[4], [1, 4], []], [[1, 2]])
CUT = MFG(TREE.nodes[1:], TREE.blocks)


@given(mfg=MFGS, data=st.data(), layout=st.sampled_from(LAYOUTS), count=THREADS)
def test_prune_mfg(mfg, data, layout, count):
    hit = [read_only(mask) for mask in data.draw(hits(mfg))]
    uses_self = data.draw(st.booleans(), label="uses_self")
    if layout != "csr2" and mfg.blocks[0].weights is not None:
        assert_same_error("prune_mfg", mfg, hit, layout=layout)
        return
    result = assert_twins("prune_mfg", mfg, hit, uses_self=uses_self, layout=layout, count=count)
    assert isinstance(result, refimpl.history.PruneResult)
    again = assert_twins(
        "prune_mfg", result.mfg, hit, uses_self=uses_self, layout=layout, count=count
    )
    assert isinstance(again, refimpl.history.PruneResult)


@given(mfg=MFGS, data=st.data(), count=THREADS)
def test_live_layers(mfg, data, count):
    pruned = refimpl.prune_mfg(mfg, data.draw(hits(mfg)))
    masks = [[read_only(mask) for mask in layers] for layers in (pruned.live, pruned.comp)]
    pruned = pruned._replace(live=tuple(masks[0]), comp=tuple(masks[1]))
    assert isinstance(assert_twins("live_layers", pruned, count=count), refimpl.history.LiveRows)


@given(mfg=MFGS, data=st.data(), count=THREADS)
def test_prune_layers(mfg, data, count):
    hit = [read_only(mask) for mask in data.draw(hits(mfg))]
    live = assert_twins("prune_layers", mfg, hit, count=count)
    assert isinstance(live, refimpl.history.LiveRows)
    with threads(count):
        assert_bits(fastimpl.history.live_layers(fastimpl.prune_mfg(mfg, hit)), live)


def test_prune_layers_of_many_rows():
    """Rows are fetched ahead, and without the ids of entries, too."""
    for mfg in (EVEN, HUBS, NO_IDS):
        assert_twins("prune_layers", mfg, some_hits(mfg, 0.3))


@given(mfg=mfgs(), data=st.data(), count=THREADS)
def test_fair_share(mfg, data, count):
    size = len(mfg.nodes[0])
    needed = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    shares = assert_twins("fair_share", mfg, read_only(np.array(needed, np.bool_)), count=count)
    assert len(shares) == len(mfg.nodes)


def large_mfg(graph, fanouts=(19, 9)):
    return fastimpl.layer_sample(graph, np.arange(0, graph.n, 2), fanouts, 3)


def some_hits(mfg, share, seed=0):
    """Return that each embedding is cached with this probability, but no root's."""
    rng = np.random.default_rng(seed)
    return [
        *(rng.random(len(nodes)) < share for nodes in mfg.nodes[1:-1]),
        np.zeros(len(mfg.nodes[-1]), np.bool_),
    ]


EVEN, HUBS = large_mfg(even_graph(3000, 20)), large_mfg(power_law_graph(5000), (-1, 25))
MANY = large_mfg(even_graph(16_000, 20), (18,))  # entries for more than one thread
NO_IDS = MFG(EVEN.nodes, tuple(Block(b.start, b.end, b.indices, b.n_src) for b in EVEN.blocks))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("share", [0, 0.03, 0.5, 1])
def test_more_rows_than_a_thread_takes_at_a_time(share, layout):
    for mfg in (EVEN, HUBS, NO_IDS):
        assert min(block.e for block in mfg.blocks) > 8_000
        hit = some_hits(mfg, share)
        want = assert_twins("prune_mfg", mfg, hit, layout=layout, count=1)
        assert isinstance(want, refimpl.history.PruneResult)
        for count in (2, 5):
            with threads(count):
                assert_bits(fastimpl.prune_mfg(mfg, hit, layout=layout), want)


def test_shares_of_thousands_of_nodes():
    for mfg in (EVEN, HUBS):
        needed = np.random.default_rng(1).random(len(mfg.nodes[0])) < 0.8
        for count in (1, 2, 5):
            shares = assert_twins("fair_share", mfg, needed, count=count)
            assert shares[-1].sum() == pytest.approx(np.count_nonzero(needed), rel=1e-9)


def test_orchestration_gives_the_same_bits():
    """PageRank, on a graph and on a directed one, is written once on products with one answer."""
    graph = even_graph(60, 5)
    arrow = refimpl.as_graph(np.random.default_rng(0).integers(0, 60, (300, 2)), n=60)
    assert graph.symmetric and not arrow.symmetric
    for pattern in (graph, arrow):
        x = assert_twins("reverse_pagerank", pattern, np.array([4, 7, 50]), iterations=5)
        assert 0.9 < x.sum() < 1 + 1e-12


def test_copies_of_masks_need_not_be_contiguous():
    wide = np.zeros((3, 2), np.bool_)
    wide[1, 0] = True
    result = assert_twins("prune_mfg", TREE, [wide[:, 0], np.zeros(1, np.bool_)])
    assert result.comp[0].tolist() == [True, False, True]
    shares = assert_twins("fair_share", TREE, np.ones((5, 2), np.bool_)[:, 1])
    assert shares[-1].tolist() == [4.0]


def pruned_tree(**changes):
    """Return what is left of TREE, with other masks."""
    pruned = refimpl.prune_mfg(TREE, [np.array([False, True, False]), np.array([False])])
    return pruned._replace(**changes)


LIVE = pruned_tree().live
TWINS = {
    "fair_share": test_fair_share,
    "live_layers": test_live_layers,
    "prune_layers": test_prune_layers,
    "prune_mfg": test_prune_mfg,
}

ERRORS = [
    ("fair_share", PATH, np.ones(3, np.bool_)),
    ("fair_share", TREE, np.ones(4, np.bool_)),
    ("fair_share", TREE, np.ones(5)),
    ("fair_share", CUT, np.ones(3, np.bool_)),
    ("live_layers", TREE),
    ("live_layers", pruned_tree(mfg=PATH)),
    ("live_layers", pruned_tree(live=LIVE[1:])),
    ("live_layers", pruned_tree(live=(LIVE[0][1:], *LIVE[1:]))),
    ("live_layers", pruned_tree(live=(LIVE[0].astype(np.int8), *LIVE[1:]))),
    ("live_layers", pruned_tree(live=(np.zeros(5, np.bool_), *LIVE[1:]))),
    ("live_layers", pruned_tree(live=(np.arange(5) < 3, *LIVE[1:]))),
    ("live_layers", refimpl.prune_mfg(TREE, no_hits(TREE), uses_self=False)),
    ("prune_layers", PATH, []),
    ("prune_layers", CUT, no_hits(TREE)),
    ("prune_layers", TREE, no_hits(TREE)[1:]),
    ("prune_layers", TREE, [np.ones(3, np.bool_), np.ones(1, np.bool_)]),
    ("prune_mfg", PATH, []),
    ("prune_mfg", CUT, no_hits(TREE)),
    ("prune_mfg", TREE, no_hits(TREE)[1:]),
    ("prune_mfg", TREE, None),
    ("prune_mfg", TREE, [np.ones(3, np.bool_), np.ones(1, np.bool_)]),
    ("prune_mfg", TREE, [np.ones(3, np.int8), np.zeros(1, np.bool_)]),
    ("prune_mfg", TREE, [np.ones((3, 1), np.bool_), np.zeros(1, np.bool_)]),
    ("prune_mfg", TREE, no_hits(TREE), {"layout": "csc"}),
    ("prune_mfg", TREE, no_hits(TREE), {"uses_self": None}),
    ("prune_mfg", mfg_of([Block([0, 0], [0, 0], [], 1)]), [np.zeros(2, np.bool_)]),
]

LARGE = {
    "live_layers": lambda: [
        fastimpl.history.live_layers(fastimpl.prune_mfg(mfg, some_hits(mfg, 0.3)))
        for mfg in (EVEN, HUBS)
    ],
    "fair_share": lambda: fastimpl.history.fair_share(EVEN, np.ones(len(EVEN.nodes[0]), np.bool_)),
    "prune_layers": lambda: [
        fastimpl.history.prune_layers(mfg, some_hits(mfg, 0.3)) for mfg in (EVEN, HUBS)
    ],
    "prune_mfg": lambda: [
        *(
            fastimpl.prune_mfg(mfg, some_hits(mfg, 0.3), layout=layout)
            for mfg in (EVEN, HUBS)
            for layout in LAYOUTS
        ),
        fastimpl.prune_mfg(MANY, some_hits(MANY, 0.3)),
    ],
}
