"""refimpl/samplers/row_draws.py on kernels."""

import numpy as np

from fastimpl._buffers import empty
from fastimpl._twin import twin
from fastimpl.samplers import _entry_table, _row_draws
from refimpl.samplers.normal_quantiles import TABLE
from refimpl.samplers.row_draws import (
    RowDraws,
    draw_arguments,
    finished,
    table_arguments,
)


@twin
def build_entry_table(graph, *, weights=None, times=None):
    graph, weights, times = table_arguments(graph, weights, times)
    if weights is None:
        return finished(None, None, None, times)
    prob, alias = np.empty(graph.e), np.empty(graph.e, np.int32)
    _entry_table.alias_rows(graph.indptr, weights, prob, alias, graph.max_degree)
    return finished(weights, prob, alias, times)


@twin
def draw_rows(graph, rows, fanout, keys, *, replace=False, table=None, until=None, last=False):
    graph, rows, fanout, keys, replace, table, until, last = draw_arguments(
        graph, rows, fanout, keys, replace, table, until, last
    )
    most = graph.max_degree if fanout < 0 else min(fanout, graph.max_degree)
    bounds, spans = np.empty(len(rows) + 1, np.int64), empty((len(rows), 2), np.int64)
    job = _row_draws.RowJob(
        graph.indptr, rows, keys, *table, until, fanout, most, replace, last, bounds, spans
    )
    job.count()
    entries = empty((int(bounds[-1]),), np.int64)
    job.draw(entries, graph.max_degree, TABLE)
    return RowDraws(bounds, entries)
