"""J Fig 6: the miss rate of a core's own cache against its size, in feature propagation."""

import numpy as np

from bench.figures.experiment import FAILS, HOLDS, verdict
from bench.figures.lru import misses, stack_distances
from bench.figures.plotting import Lines, curves_of
from bench.figures.result_rows import groups_of, medians, pick, tabled
from bench.figures.synthetic_data import drawn_subgraph
from refimpl.partition import partition_plan

LINE, WORD, INDEX = 64, 8, 4  # bytes
GRAPH = "{nodes:,} nodes, mean degree {degree:g}"
PARTS, ROWS = "in parts, column-major", "in one part, row-major"
BOUND, AT = 0.05, 512  # J section 7.4: below 5% from so many KiB on


def cells(lab):
    """Return a run for each graph and layout."""
    graphs = [{"nodes": nodes, "degree": degree} for nodes, degree in lab.sizes["graphs"]]
    return [{**graph, "layout": layout} for graph in graphs for layout in (PARTS, ROWS)]


def measure(lab, cell):
    """Return a row for each size of the cache."""
    sizes = lab.sizes
    sub = drawn_subgraph(lab.gnn, cell["nodes"], cell["degree"], m=sizes["m"], n=sizes["n"])
    rate = _rate_in_parts if cell["layout"] == PARTS else _rate_in_rows
    about = {"subgraph_nodes": sub.graph.n, "subgraph_degree": sub.graph.e / sub.graph.n}
    rates = zip(sizes["kibibytes"], rate(sub.graph, sizes), strict=True)
    return [{**about, "kibibytes": size, "miss_rate": found} for size, found in rates]


def _rate_in_parts(graph, sizes):
    """Return the miss rate for each size of the cache."""
    lines, counted = accesses_in_parts(graph, sizes["f"], 1024 * sizes["planned_for"])
    distances = stack_distances(lines)
    total = np.count_nonzero(counted)
    return [misses(distances, counted, 1024 * s // LINE) / total for s in sizes["kibibytes"]]


def _rate_in_rows(graph, sizes):
    """Return the miss rate for each size, of whole rows: their lines are met one after another.

    Of a row that is not in the cache each line misses once, and so does each line of the indices.
    """
    f, e, n = sizes["f"], graph.e, graph.n
    width = -(-f * WORD // LINE)
    result = np.arange(n, 2 * n)
    rows = np.insert(graph.indices.astype(np.int64), graph.indptr[1:], result)
    distances = stack_distances(rows)
    total, indices = e + (e + n) * f, e * INDEX // LINE
    rooms = [1024 * s // (LINE * width) for s in sizes["kibibytes"]]
    return [(misses(distances, slice(None), room) * width + indices) / total for room in rooms]


def accesses_in_parts(graph, f, s_cache):
    """Return the accesses of two parts of the columns, one after the other.

    For each entry the index, then its row in each column of the part; after the entries of a
    row, the row of the result in each column.

    Returns
    -------
    lines : (a,) int64 array
    counted : (a,) bool array
        Those of the second part.
    """
    n, e = graph.n, graph.e
    plan = partition_plan(n, f, 1, s_cache, word=WORD, mode="paper")
    column = -(-n * WORD // LINE)  # lines
    features, result = 0, f * column
    indices = 2 * f * column
    traces = []
    for part in range(min(2, len(plan.starts) - 1)):
        columns = np.arange(plan.starts[part], plan.starts[part + 1])
        of_entry = np.concatenate(
            [
                (indices + np.arange(e) * INDEX // LINE)[:, None],
                features + columns * column + (graph.indices * WORD // LINE)[:, None],
            ],
            axis=1,
        ).ravel()
        rows = np.arange(n)
        of_row = (result + columns * column + (rows * WORD // LINE)[:, None]).ravel()
        after = np.repeat(graph.indptr[1:] * (1 + len(columns)), len(columns))
        traces.append(np.insert(of_entry, after, of_row))
    lines = np.concatenate(traces)
    return lines, np.arange(len(lines)) >= len(lines) - len(traces[-1])


def table(lab, rows):
    """Return a line for each graph and layout."""
    sizes = {f"{x} KiB": medians("miss_rate", ".1%", kibibytes=x) for x in lab.sizes["kibibytes"]}
    about = {"graph": GRAPH, "propagation": "layout"}
    about |= {"degree in the subgraph": "{subgraph_degree:.1f}"}
    return tabled(groups_of(rows, "nodes", "degree", "layout"), about | sizes)


def verdicts(_lab, rows):
    """Judge by the sizes from the paper's on, in parts."""
    parts, whole = (pick(rows, layout=layout) for layout in (PARTS, ROWS))
    most, beside = (
        max((row["miss_rate"] for row in some if row["kibibytes"] >= AT), default=1.0)
        for some in (parts, whole)
    )
    least = min((row["kibibytes"] for row in parts if row["miss_rate"] < BOUND), default=None)
    reached = "no graph has fewer than 5% in any cache"
    if least is not None:
        reached = f"one graph or more has fewer than 5% from {least} KiB on"
    outcome = HOLDS if most < BOUND else FAILS
    return [verdict("J-misses-5", outcome, most=most, at=AT, reached=reached, beside=beside)]


def plot(lab, rows):
    """Return a panel for each way."""
    axes, sizes = {"xscale": "log", "ylim": (0, None)}, lab.sizes["kibibytes"]
    to = "kibibytes", "miss_rate", "nodes", "degree"
    return [
        Lines(
            layout,
            "cache, KiB",
            "misses, %",
            curves_of(pick(rows, layout=layout), *to, name=GRAPH, scale=100),
            axes,
            sizes,
        )
        for layout in (PARTS, ROWS)
    ]
