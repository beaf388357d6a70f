"""J Fig 6: the miss rate of a core's own cache against its size, in feature propagation."""

import numpy as np

from bench.figures.experiment import FAILS, HOLDS, verdict
from bench.figures.plotting import lines_of
from bench.figures.result_rows import groups_of, medians, pick, tabled
from bench.figures.synthetic_data import drawn_subgraph
from refimpl.partition import partition_plan

FIRST = np.iinfo(np.int64).max  # of a line that was not met before
LINE, WORD, INDEX = 64, 8, 4  # bytes
GRAPH = "{nodes:,} nodes, mean degree {degree:g}"
PARTS, ROWS = "in parts, column-major", "in one part, row-major"
BOUND, AT = 0.05, 512  # J section 7.4: below 5% from so many KiB on


def measure(lab, cell):
    """Return a row for each size of the cache."""
    sizes = lab.sizes
    sub = drawn_subgraph(lab.gnn, cell["nodes"], cell["degree"], m=sizes["m"], n=sizes["n"])
    rate = _rate_in_parts if cell["layout"] == PARTS else _rate_in_rows
    about = {"subgraph_nodes": sub.graph.n, "subgraph_degree": sub.graph.e / sub.graph.n}
    rates = zip(sizes["kibibytes"], rate(sub.graph, sizes), strict=True)
    return [{**about, "kibibytes": size, "miss_rate": found} for size, found in rates]


def _rate_in_parts(graph, sizes):
    """Return the miss rate for each size of the cache, of two parts one after the other.

    For each entry the index is met, then its row in each column of the part; after the entries of
    a row, the row of the result in each column. Accesses of the second part count.
    """
    n, e, f = graph.n, graph.e, sizes["f"]
    plan = partition_plan(n, f, 1, 1024 * sizes["planned_for"], word=WORD, mode="paper")
    column = -(-n * WORD // LINE)  # lines
    features, result = 0, f * column
    indices = 2 * f * column
    traces = []
    for part in range(min(2, len(plan.starts) - 1)):
        columns = np.arange(plan.starts[part], plan.starts[part + 1])
        index = indices + np.arange(e) * INDEX // LINE
        row = features + columns * column + (graph.indices * WORD // LINE)[:, None]
        of_entry = np.concatenate([index[:, None], row], axis=1).ravel()
        of_row = (result + columns * column + (np.arange(n) * WORD // LINE)[:, None]).ravel()
        after = np.repeat(graph.indptr[1:] * (1 + len(columns)), len(columns))
        traces.append(np.insert(of_entry, after, of_row))
    distances, counted = stack_distances(np.concatenate(traces)), slice(-len(traces[-1]), None)
    rooms = [1024 * size // LINE for size in sizes["kibibytes"]]
    return [misses(distances, counted, room) / len(traces[-1]) for room in rooms]


def _rate_in_rows(graph, sizes):
    """Return the miss rate for each size, of whole rows: their lines are met one after another.

    Of a row that is not in the cache each line misses once, and so does each line of the indices.
    """
    f, e, n = sizes["f"], graph.e, graph.n
    width = -(-f * WORD // LINE)
    rows = np.insert(graph.indices.astype(np.int64), graph.indptr[1:], np.arange(n, 2 * n))
    distances, total = stack_distances(rows), e + (e + n) * f
    rooms = [1024 * s // (LINE * width) for s in sizes["kibibytes"]]
    missed = (misses(distances, slice(None), room) * width for room in rooms)
    return [(lines + e * INDEX // LINE) / total for lines in missed]


def stack_distances(lines):
    """Return how many different lines were met since each access's line was met before.

    In a fully associative cache that throws out what was not used for longest, an access hits if
    and only if the cache has room for more lines than this (Mattson et al. 1970): one pass over the
    accesses gives the misses of every size. It is `FIRST` where a line was not met before.

    The accesses between two to one line that meet another line for the first time in between are
    those whose own last access is before both: all accesses so far with an earlier last access,
    less those up to the first of the two. O(n log n) time.
    """
    count = len(lines)
    order = np.argsort(lines, kind="stable")
    last = np.full(count, -1, np.int64)
    again = lines[order[1:]] == lines[order[:-1]]
    last[order[1:][again]] = order[:-1][again]
    rank = np.empty(count, np.int64)
    rank[np.argsort(last, kind="stable")] = np.arange(count)
    return np.where(last < 0, FIRST, earlier_and_smaller(rank) - last - 1)


def earlier_and_smaller(rank):
    """Return, for each number of a permutation of 0 .. n - 1, how many before it are smaller.

    From the highest bit down, numbers that agree in all higher bits stand together, in their
    order; one with a 1 then has before it, and smaller, those of them with a 0. O(n log n) time.
    """
    count, found = len(rank), np.zeros(len(rank), np.int64)
    place, numbers = np.arange(count), rank
    for bit in reversed(range(max(count - 1, 0).bit_length())):
        ones = (numbers >> bit & 1).astype(bool)
        group = numbers >> (bit + 1)
        zeros = np.concatenate([[0], np.cumsum(~ones)])
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        start_of = np.repeat(starts, np.diff(starts, append=count))
        found[place[ones]] += (zeros[:-1] - zeros[start_of])[ones]
        inside = np.lexsort((ones, start_of))  # stable: zeros first in each group
        place, numbers = place[inside], numbers[inside]
    return found


def misses(distances, counted, room):
    """Return how many of the counted accesses miss in a cache of `room` lines."""
    return int(np.count_nonzero(distances[counted] >= room))


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
    reached = "On no graph do fewer than 5% miss, in a cache of any size"
    if least is not None:
        reached = f"With {least} KiB, fewer than 5% miss on at least one graph"
    outcome = HOLDS if most < BOUND else FAILS
    return [verdict("J-misses-5", outcome, most=most, at=AT, reached=reached, beside=beside)]


def plot(_lab, rows):
    """Return a panel for each way."""
    form = {"name": GRAPH, "scale": 100, "axes": {"xscale": "log", "ylim": (0, None)}}
    to = "kibibytes", "miss_rate", "nodes", "degree"
    return [
        lines_of(pick(rows, layout=layout), (layout, "cache, KiB", "misses, %"), *to, **form)
        for layout in (PARTS, ROWS)
    ]
