"""I/O saved on graphs of other degrees and other diameters (FreshGNN, Figure 17); counts, no times.

FreshGNN beside a cache of features alone, of nodes with the most neighbours, in a buffer of the
same size, and beside FreshGNN with its policy for performance. All train on the same sampled
neighbours. I/O saved is `LoadCounts.io_saving` over all epochs but the first: one less the rows
loaded over those that neighbour sampling loads.

The paper does not say how its graphs were made, nor what the bandwidth of its Figure 17b limits.
Here it is that of the adjacency matrix: an edge (u, v) needs |u - v| <= band, so that the diameter
is at least (nodes - 1) / band. Within the band both ends are drawn in proportion to weights from a
power law, and the mean degree is the same for every band, as long as the band has room for it.
"""

import numpy as np
from scipy.sparse.csgraph import connected_components, dijkstra

import fastimpl
from bench.command import Common, UsageError, numbers
from bench.demands import SEED, drawn_roots
from bench.markdown import head, line
from bench.plotting import Panel, draw
from bench.training import epochs, settings
from refimpl.graph import from_edges
from refimpl.lab.apps.figures.made import data_on

COMMON = Common(timed=False, plot=True)
QUICK = {"nodes": 600, "degrees": [4, 8], "bands": [20, 200], "features": 8, "hidden": 4}
PATIENCE = 60  # rounds of drawing, before a band counts as too narrow for so many edges
METHODS = {
    "degree": {"p_grad": 0.0, "hotness": "degree"},
    "FreshGNN": {"hotness": "degree"},
    "with performance": {"hotness": "profile", "performance": True},
}
TITLES = ["largest degree", "diameter, at least", "rows an iteration", *METHODS]
TITLES += ["FreshGNN over degree", "with performance over degree"]


def banded(n, mean_degree, band, exponent, seed=SEED):
    """Return an undirected graph with ``mean_degree * n / 2`` edges |u - v| <= band.

    The first end of an edge is drawn in proportion to the weights of all nodes, the second to
    those of the nodes within the band; weights are a power law in random order.

    Raises
    ------
    UsageError
        If so many different edges are not found.
    """
    rng, count = np.random.default_rng(seed), round(mean_degree * n / 2)
    weights = rng.permutation(((np.arange(n) + 0.5) / n) ** (-1 / (exponent - 1)))
    bounds = np.concatenate([[0.0], np.cumsum(weights)])
    codes = np.empty(0, np.int64)
    for _ in range(PATIENCE):
        u = at(bounds, bounds[-1] * rng.random(count))
        low, high = bounds[np.maximum(u - band, 0)], bounds[np.minimum(u + band + 1, n)]
        v = at(bounds, low + (high - low) * rng.random(count))
        new = np.minimum(u, v) * n + np.maximum(u, v)
        codes = np.concatenate([codes, new[(u != v) & (np.abs(u - v) <= band)]])
        _, first = np.unique(codes, return_index=True)
        codes = codes[np.sort(first)[:count]]
        if len(codes) == count:
            return from_edges(*np.divmod(codes, n), n, symmetrize=True)
    raise UsageError(f"a band of {band} has no room for a mean degree of {mean_degree}")


def at(bounds, draws):
    """Return between which bounds draws fall."""
    return np.minimum(np.searchsorted(bounds, draws, side="right") - 1, len(bounds) - 2)


def diameter_at_least(graph):
    """Return a lower bound of the diameter of the largest component: how far a far node sees."""
    matrix = graph.to_scipy()
    parts = connected_components(matrix, directed=False)[1]
    begin = np.flatnonzero(parts == np.bincount(parts).argmax())[0]
    for _ in range(2):
        far = dijkstra(matrix, indices=begin, unweighted=True)
        far[np.isinf(far)] = -1
        begin = far.argmax()
    return int(far.max())


def saved_on(graph, options):
    """Return the rows that an iteration needs, and the share of them that each method saves."""
    roots = drawn_roots(graph.n, max(1, int(options.roots * graph.n)))
    data, saved, needed = data_on(graph, roots, options.features), {}, set()
    shared = {"layers": len(options.fanouts), "hidden": options.hidden, "rng": SEED}
    shared |= {"fanouts": tuple(options.fanouts), "batch_size": options.batch}
    buffer = int(options.share * 4 * graph.n * options.features)
    for name, method in METHODS.items():
        grad = {"p_grad": options.p_grad, **method}
        config = settings("fresh", buffer=buffer, **grad, **shared)
        with fastimpl.make_trainer(data, config) as trainer:
            warm = epochs(trainer, options.epochs)[1:]
        rows = sum(one["needed"] for one in warm)
        saved[name] = 1 - sum(one["rows"] for one in warm) / rows
        needed.add(rows)
    assert len(needed) == 1  # all met the same samples
    iterations = -(-len(roots) // options.batch) * (options.epochs - 1)
    return needed.pop() / iterations, saved


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--nodes", type=int, default=30_000)
    parser.add_argument("--degrees", type=numbers(float), default=[4, 8, 16, 32], help="mean")
    parser.add_argument("--bands", type=numbers(int), default=[100, 300, 1000, 3000, 30_000])
    parser.add_argument("--degree", type=float, default=16, help="mean, for every band")
    parser.add_argument("--exponent", type=float, default=2.5, help="of the power law")
    parser.add_argument("--roots", type=float, default=0.025, help="share of nodes to train on")
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--fanouts", type=numbers(int), default=[8, 6, 4])
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--share", type=float, default=0.08, help="buffer over all features")
    parser.add_argument("--p-grad", type=float, default=0.9)
    parser.add_argument("--epochs", type=int, default=2)


def report(options):
    """Yield a table over mean degrees and one over bands; draw both if asked."""
    if options.epochs < 2:
        raise UsageError(f"--epochs must be at least 2, got {options.epochs}: the first fills")
    if min(options.bands) < 1 or min(options.degrees) <= 0:
        raise UsageError("--bands and --degrees must be above 0")
    if options.exponent <= 2:
        raise UsageError(f"--exponent must be above 2, got {options.exponent}")
    n = options.nodes
    yield f"{n:,} nodes, a buffer for {options.share:.0%} of the features."
    panels, axes = [], {"xscale": "log", "ylim": (0, None)}
    for name, label, cases in (
        ("mean degree", "mean degree", [(k, n - 1, k) for k in options.degrees]),
        ("band", "largest |u - v| of an edge", [(min(b, n - 1),) for b in options.bands]),
    ):
        yield ""
        yield from head([name, *TITLES])
        points, curves = [], {method: [] for method in METHODS}
        for point, *rest in cases:
            band, degree = rest or (point, options.degree)
            graph = banded(n, degree, band, options.exponent)
            rows, saved = saved_on(graph, options)
            points.append(point)
            for method, share in saved.items():
                curves[method].append(100 * share)
            yield line(cells(point, graph, rows, saved))
        panels.append(Panel("", label, "I/O saved, %", points, curves, axes))
    if options.plot:
        draw(options.plot, panels)


def cells(point, graph, rows, saved):
    """Return a row of a table."""
    found = [f"{point:,g}", graph.max_degree, diameter_at_least(graph), f"{rows:,.0f}"]
    over = [saved[name] / saved["degree"] for name in list(saved)[1:]]
    return [*found, *(f"{share:.1%}" for share in saved.values()), *(f"{x:.2f}" for x in over)]
