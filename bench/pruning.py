"""Pruning in five layouts (FreshGNN, Figure 15b)."""

import numpy as np
from threadpoolctl import threadpool_limits

import fastimpl
import refimpl
from bench.command import Common, numbers
from bench.markdown import table
from bench.timing import median_seconds
from fastimpl.history.pruning import LAYOUTS
from refimpl.lab.data import kronecker
from refimpl.streams import LAYER

COMMON = Common(threads=True, rounds=7)
QUICK = {"scale": 9, "fanouts": [3, 2], "batches": [20]}
DEGREE = 16
SHARE = 0.3  # of the embeddings of the layers 1 .. L - 1 that are cached, each independently
PATIENCE = 1.0  # one round is enough of what takes more seconds
COLUMNS = {
    "csr2": "csr2",
    "csr_batched": "csr, batched",
    "coo": "coo",
    "coo_compact": "coo, compacted",
    "csr": "csr, row by row",
}


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--scale", type=int, default=20, help="2^scale nodes (default: 20)")
    parser.add_argument("--fanouts", type=numbers(int), default=[20, 15, 10], help="roots first")
    parser.add_argument("--batches", type=numbers(int), default=[100, 300, 1000], help="roots")


def report(options):
    """Measure; yield the table."""
    graph = kronecker(options.scale, DEGREE)
    yield (
        f"Kronecker graph, 2^{options.scale} nodes, mean degree {DEGREE}; fan-outs "
        f"{options.fanouts}, roots first; {SHARE:.0%} of the embeddings below the roots are "
        f"cached. Medians of {options.rounds} rounds, or one round where it takes more than "
        f"{PATIENCE:g} s."
    )
    yield ""
    yield (
        "Removing the entries alone, in microseconds an iteration, all layers; each layout is "
        "ready beforehand. *All of csr2* is `prune_mfg`: what is live as well, the checks and "
        "the new blocks; finding out what is live costs as much in any layout."
    )
    yield ""
    rows = []
    for batch in options.batches:
        mfg, hit = inputs(graph, batch, options.fanouts)
        check(mfg, hit, against_reference=batch == options.batches[0])
        rows += [row(mfg, hit, batch, threads, options.rounds) for threads in options.threads]
    titles = ["batch", "nodes", "entries", "rows emptied", "threads"]
    yield from table([*titles, *COLUMNS.values(), "all of csr2"], rows, left=0)


def inputs(graph, batch, fanouts):
    """Return a message-flow graph, and which of its embeddings are cached."""
    rng = np.random.default_rng(batch)
    roots = rng.choice(np.flatnonzero(graph.degrees()), batch, replace=False)
    mfg = fastimpl.layer_sample(graph, roots, fanouts, refimpl.streams.key(0, LAYER, 0, batch))
    hit = [rng.random(len(nodes)) < SHARE for nodes in mfg.nodes[1:]]
    hit[-1][:] = False
    return mfg, hit


def row(mfg, hit, batch, threads, rounds):
    """Return the cells of one batch size on some threads."""
    emptied = emptied_rows(mfg, hit)
    with threadpool_limits(threads):
        seconds = [layout_seconds(layout, mfg, emptied, rounds) for layout in COLUMNS]
        seconds.append(median_seconds(lambda: fastimpl.prune_mfg(mfg, hit), rounds))
    counts = [batch, len(mfg.nodes[0]), sum(b.e for b in mfg.blocks), sum(map(len, emptied))]
    us = [f"{1e6 * value:,.0f}" for value in seconds]
    return [*(f"{count:,}" for count in counts), threads, *us]


def layout_seconds(layout, mfg, emptied, rounds):
    """Return the median seconds in which the entries are removed from blocks in a layout."""

    def ready():
        return [[LAYOUTS[layout](block) for block in mfg.blocks]]

    def remove(edges):
        for block, rows in zip(edges, emptied, strict=True):
            block.empty(rows)

    return median_seconds(remove, rounds, setup=ready, patience=PATIENCE)


def emptied_rows(mfg, hit):
    """Return the rows of each block that pruning empties."""
    pruned = fastimpl.prune_mfg(mfg, hit).mfg
    return [
        np.flatnonzero(after.end < before.end)
        for after, before in zip(pruned.blocks, mfg.blocks, strict=True)
    ]


def check(mfg, hit, *, against_reference):
    """Check that all layouts keep the same entries, and the reference too."""
    want = fastimpl.prune_mfg(mfg, hit)
    results = [fastimpl.prune_mfg(mfg, hit, layout=layout) for layout in LAYOUTS]
    if against_reference:
        results.append(refimpl.prune_mfg(mfg, hit))
    for got in results:
        for a, b in zip(got.live, want.live, strict=True):
            np.testing.assert_array_equal(a, b)
        for a, b in zip(got.mfg.blocks, want.mfg.blocks, strict=True):
            np.testing.assert_array_equal(a.edge_ids[positions(a)], b.edge_ids[positions(b)])
            np.testing.assert_array_equal(a.degrees(), b.degrees())


def positions(block):
    """Return where the live entries of a block stand."""
    lengths = block.degrees()
    skipped = block.start - (np.cumsum(lengths) - lengths)
    return np.arange(lengths.sum()) + np.repeat(skipped, lengths)
