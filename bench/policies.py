"""Rows saved by each policy of FreshGNN's cache (its Figure 14): counts, no times.

All policies meet the same batches with the same sampled neighbours, and rank embeddings by
random numbers instead of gradients, so that no model is trained: what is counted, the rows that
are loaded, depends on sampling, cache and pruning alone. The share saved is a ratio of sums over
the last iterations. The buffer has a share of the size of all features, and an embedding is valid
for a sixth of an epoch.
"""

import fastimpl as gnn
from bench.command import Common, UsageError, numbers
from bench.figures.counting import SEED, Rules, shares_saved
from bench.markdown import head, line
from bench.training import data_set
from refimpl.history.ring import OVERFLOWS
from refimpl.lab.data import power_law
from refimpl.streams import SHUFFLE, key

COMMON = Common(timed=False)
QUICK = {"nodes": 2000, "iterations": 12, "counted": 6}


def widths(text):
    """Return pairs (d, h) of numbers from 1."""
    found = numbers(int)(text)
    if len(found) % 2 or min(found) < 1:
        raise ValueError(text)
    return list(zip(found[::2], found[1::2], strict=True))


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--data", help="a folder or a name; default: a power law with --nodes")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--roots", type=float, default=0.05, help="share of nodes without --data")
    parser.add_argument("--fanouts", type=numbers(int), default=[8, 6, 4])
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument(
        "--widths", type=widths, default=[(768, 256), (128, 256)], help="pairs d,h: 768,256,.."
    )
    parser.add_argument("--p-grad", type=float, default=0.9)
    parser.add_argument("--share", type=float, default=0.08, help="buffer over all features")
    parser.add_argument("--overflow", default="drop", choices=OVERFLOWS)
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--counted", type=int, default=200, help="of these, at the end")


def report(options):
    """Yield the table, a row for each pair of widths."""
    if not 1 <= options.counted <= options.iterations:
        raise UsageError("--counted must be at least 1 and at most --iterations")
    if options.data:
        dataset = data_set(options.data)
        graph, roots = dataset.graph, dataset.train
    else:
        graph = power_law(options.nodes, 38, exponent=2.3)
        count = int(options.roots * graph.n)
        roots = gnn.streams.pick_without_replacement(key(SEED, SHUFFLE, 0), 0, graph.n, count)
    rules = Rules(
        options.fanouts,
        options.batch,
        options.p_grad,
        max(1, -(-len(roots) // options.batch) // 6),
        options.share,
        options.overflow,
    )
    yield f"{graph.n:,} nodes, {graph.e:,} entries, {len(roots):,} roots, age {rules.t_stale}"
    yield ""
    for number, (d, h) in enumerate(options.widths):
        last = {"iterations": options.iterations, "counted": options.counted}
        saved = shares_saved(gnn, rules, graph, roots, d, h, **last)
        assert all(0 <= share <= 1 for share in saved.values())
        if not number:
            yield from head(["d, h", *saved])
        yield line([f"{d}, {h}", *(f"{share:.3f}" for share in saved.values())])
