"""Sampled neighbours: of layer sampling, of FreshGNN, and the batches that they start from."""

import numpy as np

from bench import inputs
from bench.answers import as_other
from bench.case import Bench, Task, timed
from refimpl.samplers import build_entry_table
from refimpl.streams import LAYER, key, uniform

FANOUTS = [10, 5]
EPOCH = {"seed": inputs.SEED, "epoch": 0}


def roots_of(size):
    """Return the roots, and how the report names them with the graph."""
    m = inputs.SIZES[size].m
    text = f"{m:,} roots, fan-outs 10 5, of {inputs.graph_text(inputs.parent(size))}"
    return np.arange(m), text


def layer_tasks(size):
    """Yield layer sampling."""
    roots, text = roots_of(size)
    args = {"graph": inputs.parent(size), "roots": roots, "fanouts": FANOUTS}
    yield Task(text, {**args, "key": key(inputs.SEED, LAYER, 0, 0)}, as_other("layer_sample"))


def mfg_tasks(size):
    """Yield a message-flow graph."""
    roots, text = roots_of(size)
    args = {"graph": inputs.parent(size), "roots": roots, "fanouts": FANOUTS, **EPOCH}
    yield Task(text, {**args, "batch": 0}, as_other("sample_mfg"))


def many_tasks(size):
    """Yield message-flow graphs of four batches."""
    roots, text = roots_of(size)
    batches = np.array_split(roots, 4)
    args = {"graph": inputs.parent(size), "batches": batches, "fanouts": FANOUTS, **EPOCH}
    yield Task(f"4 batches of {text}", args, as_other("sample_mfg_many"))


def batch_tasks(size):
    """Yield the batches of an epoch."""
    n = inputs.parent(size).n
    args = {"ids": np.arange(n), "batch_size": inputs.SIZES[size].m, **EPOCH}
    yield Task(f"{n:,} nodes by {inputs.SIZES[size].m:,}", args, as_other("epoch_batches"))


def entries_of(size):
    """Return a graph with a weight and a time of each entry, as arguments of a table."""
    graph = inputs.parent(size)
    weights = uniform(key(inputs.SEED, LAYER, 0, 1), np.arange(graph.e, dtype=np.uint64))
    return graph, {"weights": weights, "times": np.arange(graph.e)}


def table_tasks(size):
    """Yield the table of all entries."""
    graph, given = entries_of(size)
    yield Task(inputs.graph_text(graph), {"graph": graph, **given}, as_other("build_entry_table"))


def row_tasks(size):
    """Yield draws of 10 entries a row: uniform, weighted, and up to a time."""
    rows, _ = roots_of(size)
    graph, given = entries_of(size)
    keys = key(inputs.SEED, LAYER, 0, rows.astype(np.uint64))
    args = {"graph": graph, "rows": rows, "fanout": 10, "keys": keys}
    until = graph.start[rows] + graph.degrees()[rows] // 2
    weighted = build_entry_table(graph, weights=given["weights"])
    timed = build_entry_table(graph, times=given["times"])
    for text, how in (
        ("uniform", {}),
        ("by weight", {"table": weighted}),
        ("by weight, with replacement", {"table": weighted, "replace": True}),
        ("up to a time", {"table": timed, "until": until}),
        ("the last up to a time", {"table": timed, "until": until, "last": True}),
    ):
        yield Task(f"{len(rows):,} rows, {text}", {**args, **how}, as_other("draw_rows"))


def place_tasks(size):
    """Yield the places of the neighbours that all rows have."""
    rows, text = roots_of(size)
    graph = inputs.parent(size)
    yield Task(text, {"known": rows, "met": graph.indices}, as_other("relabel"))


test_neighbors = timed(
    Bench("layer_sample", layer_tasks),
    Bench("sample_mfg", mfg_tasks),
    Bench("sample_mfg_many", many_tasks),
    Bench("epoch_batches", batch_tasks),
    Bench("build_entry_table", table_tasks),
    Bench("draw_rows", row_tasks),
    Bench("relabel", place_tasks),
)
