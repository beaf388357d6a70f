"""Pruning in five layouts (FreshGNN, Figure 15b), on one thread and on two, as Markdown."""

import os
import statistics
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

import fastimpl
import refimpl
from fastimpl.history.pruning import LAYOUTS
from refimpl.lab.data import kronecker
from refimpl.streams import LAYER

SCALE, DEGREE, FANOUTS = 20, 16, (20, 15, 10)
BATCHES = (100, 300, 1000)
SHARE = 0.3  # of the embeddings of the layers 1 .. L - 1 that are cached, each independently
ROUNDS, PATIENCE = 7, 1.0  # one round is enough of what takes more seconds


def report():
    """Measure; return the Markdown."""
    graph = kronecker(SCALE, DEGREE)
    lines = [
        f"Kronecker graph, 2^{SCALE} nodes, mean degree {DEGREE}; fan-outs {FANOUTS}, roots "
        f"first; {SHARE:.0%} of the embeddings below the roots are cached. Medians of {ROUNDS} "
        f"rounds, or one round where it takes more than {PATIENCE:g} s; load before: "
        f"{os.getloadavg()[0]:.2f}.",
        "",
        "Removing the entries alone, in microseconds an iteration, all layers; each layout is "
        "ready beforehand. *All of csr2* is `prune_mfg`: what is live as well, the checks and "
        "the new blocks; finding out what is live costs as much in any layout.",
        "",
        "| batch | nodes | entries | rows emptied | threads | csr2 | csr, batched | coo | "
        "coo, compacted | csr, row by row | all of csr2 |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for batch in BATCHES:
        mfg, hit = inputs(graph, batch)
        check(mfg, hit, against_reference=batch == BATCHES[0])
        lines += [row(mfg, hit, batch, threads) for threads in (1, 2)]
    return "\n".join(lines) + "\n"


def inputs(graph, batch):
    """Return a message-flow graph, and which of its embeddings are cached."""
    rng = np.random.default_rng(batch)
    roots = rng.choice(np.flatnonzero(graph.degrees()), batch, replace=False)
    mfg = fastimpl.layer_sample(graph, roots, FANOUTS, refimpl.streams.key(0, LAYER, 0, batch))
    hit = [rng.random(len(nodes)) < SHARE for nodes in mfg.nodes[1:]]
    hit[-1][:] = False
    return mfg, hit


def row(mfg, hit, batch, threads):
    """Return the line of one batch size on some threads."""
    emptied = emptied_rows(mfg, hit)
    with threadpool_limits(threads):
        us = {layout: 1e6 * median_seconds(edits(layout, mfg, emptied)) for layout in LAYOUTS}
        whole = 1e6 * median_seconds(lambda: lambda: fastimpl.prune_mfg(mfg, hit))
    columns = [us[name] for name in ("csr2", "csr_batched", "coo", "coo_compact", "csr")]
    return (
        f"| {batch:,} | {len(mfg.nodes[0]):,} | {sum(b.e for b in mfg.blocks):,} "
        f"| {sum(map(len, emptied)):,} | {threads} | "
        + " | ".join(f"{value:,.0f}" for value in [*columns, whole])
        + " |"
    )


def emptied_rows(mfg, hit):
    """Return the rows of each block that pruning empties."""
    pruned = fastimpl.prune_mfg(mfg, hit).mfg
    return [
        np.flatnonzero(after.end < before.end)
        for after, before in zip(pruned.blocks, mfg.blocks, strict=True)
    ]


def edits(layout, mfg, emptied):
    """Return what makes the blocks ready in a layout, and returns what removes the entries."""

    def ready():
        edges = [LAYOUTS[layout](block) for block in mfg.blocks]

        def remove():
            for block, rows in zip(edges, emptied, strict=True):
                block.empty(rows)

        return remove

    return ready


def median_seconds(ready):
    """Return the median seconds of what `ready` returns, which may be called only once."""
    seconds: list[float] = []
    while len(seconds) <= ROUNDS:
        call = ready()
        begin = perf_counter()
        call()
        seconds.append(perf_counter() - begin)
        if seconds[0] > PATIENCE:
            return seconds[0]
    return statistics.median(seconds[1:])


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


if __name__ == "__main__":
    print(report(), end="")
