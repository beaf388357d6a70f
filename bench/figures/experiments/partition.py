"""Theorem 2 measured: feature propagation in Q_f parts, against one part and against `spmm`."""

from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from bench.figures.experiment import ranked, verdict
from bench.figures.interleaved_timing import rows_of_rounds, seconds_in_turns
from bench.figures.plotting import Curve, Lines, level
from bench.figures.result_rows import curve_of, groups_of, median_of, pick, values_of
from bench.figures.synthetic_data import drawn_subgraph
from refimpl.partition import Partition, partition_plan

SPMM = "spmm"
LAYOUTS = {"C": "row-major", "F": "column-major"}
S_CACHE = 2**18  # bytes, of the papers' machine
TRANSPOSES = "two transposes"
CASE, OVER = ("threads", "nodes", "degree"), "over_spmm"


def measure(lab, cell):
    """Return a row for each contestant and round."""
    sizes, gnn, threads = lab.sizes, lab.gnn, cell["threads"]
    graph = drawn_subgraph(gnn, cell["nodes"], cell["degree"], m=sizes["m"], n=sizes["n"]).graph
    X = np.random.default_rng(0).standard_normal((graph.n, sizes["f"]))
    ones = np.ones(graph.e)
    want = gnn.spmm(graph, ones, X)
    tasks: dict = {
        (SPMM, 0, False): lambda _: gnn.spmm(graph, ones, X),
        (TRANSPOSES, 0, False): lambda _: np.ascontiguousarray(np.ascontiguousarray(X.T).T),
    }
    for parts, (plan, printed) in plans_of(graph.n, sizes["f"], threads, X.itemsize).items():
        for layout, name in LAYOUTS.items():
            call = partial(gnn.feature_propagate, graph, ones, X, plan, threads, layout=layout)
            assert np.array_equal(call(), want)
            tasks[name, parts, printed] = lambda _, call=call: call()
    with threadpool_limits(threads):
        found = seconds_in_turns(tasks, sizes["rounds"])
    base, moved = found[SPMM, 0, False], found.pop((TRANSPOSES, 0, False))
    for (name, *_), each in found.items():
        if name == LAYOUTS["F"]:
            each[:] = [whole - transposing for whole, transposing in zip(each, moved, strict=True)]
    rows = rows_of_rounds(found, "contestant", "parts", "printed", key="seconds")
    return [{**row, OVER: row["seconds"] / base[row["round"]]} for row in rows]


def plans_of(n, f, p, word):
    """Return {number of parts: (plan, whether it is the papers')}: powers of 2 and their Q_f."""
    plans = {}
    for parts in [2**k for k in range(f.bit_length()) if 2**k <= f]:
        starts = np.arange(parts + 1) * f // parts
        fits = bool(word * n * np.diff(starts).max() <= S_CACHE)
        plans[parts] = Partition(starts.astype(np.int64), -(-parts // p), fits), False
    theirs = partition_plan(n, f, p, S_CACHE, word=word, mode="paper")
    return {**plans, len(theirs.starts) - 1: (theirs, True)}


def table(_lab, rows):
    """Return a line for each number of threads, graph and number of parts."""
    lines = []
    for some in groups_of(rows, *CASE):
        for parts in filter(None, sorted(values_of(some, "parts"))):
            of_parts = pick(some, parts=parts)
            mark = " (the papers')" if of_parts[0]["printed"] else ""
            over = [f"{median_of(of_parts, OVER, contestant=x):.2f}" for x in LAYOUTS.values()]
            lines.append([_case(some), f"{parts}{mark}", *over])
    return ["case", "parts Q_f", *(f"{name}, over spmm" for name in LAYOUTS.values())], lines


def verdicts(_lab, rows):
    """Judge the papers' Q_f beside a part for each thread, in J's layout: column-major."""
    gains: dict[str, list[float]] = {name: [] for name in LAYOUTS.values()}
    beside = []
    for some in groups_of(rows, *CASE):
        fewest = min(x for x in values_of(some, "parts") if x >= some[0]["threads"])
        took = {name: median_of(some, OVER, contestant=name, printed=True) for name in gains}
        beside.append(min(took.values()))
        for name, printed in took.items():
            gains[name].append(median_of(some, OVER, contestant=name, parts=fewest) / printed)
    theirs = gains[LAYOUTS["F"]]
    outcome = ranked(min(theirs) > 1.1, max(theirs) > 1.1)
    column, row = (f"{min(gain):.2f} to {max(gain):.2f}" for gain in (theirs, gains[LAYOUTS["C"]]))
    found = {"column": column, "row": row, "low": min(beside), "high": max(beside)}
    return [verdict("I-partition-pays", outcome, **found)]


def plot(_lab, rows):
    """Return a panel for each case."""
    shown, log = [], {"xscale": "log", "yscale": "log"}
    for some in groups_of(rows, *CASE):
        curves = {
            name: Curve(*curve_of(some, "parts", OVER, contestant=name))
            for name in LAYOUTS.values()
        }
        (printed,) = {row["parts"] for row in pick(some, printed=True)}
        heights = [median_of(some, OVER, contestant=n, parts=printed) for n in LAYOUTS.values()]
        curves["Q_f for 256 KiB"] = Curve([printed] * len(heights), heights, printed=True)
        parts = [x for x in sorted(values_of(some, "parts")) if x]
        curves["spmm"] = level(parts, 1)
        ticks = [x for x in parts if x & (x - 1) == 0][::2]
        labels = _case(some), "parts of the columns, Q_f", "time over that of spmm"
        shown.append(Lines(*labels, curves, log, ticks))
    return shown


def _case(rows):
    words = "{nodes:,} nodes of degree {degree:g}, {threads} thread".format(**rows[0])
    return words + "s" * (rows[0]["threads"] > 1)
