"""refimpl/partition.py on kernels: the lanes run at the same time.

`spmm` computes the same faster, in a way of its own (see _aggregate.h); this is the papers' way.
"""

import numpy as np

from fastimpl import _partition
from fastimpl._buffers import empty
from fastimpl._twin import twin
from refimpl.partition import partition_arguments, partition_order
from refimpl.profiling import count, timed


@twin
@timed("aggregation")
def feature_propagate(graph, data, X, plan, p, *, version="jpdc", layout="C"):
    _, data, X, plan, p, *_ = partition_arguments(graph, data, X, plan, p, version, layout)
    count(sparse=graph.e * X.shape[1])
    starts = plan.starts
    order = partition_order(len(starts) - 1, p, version=version)
    pattern = graph.start, graph.end, graph.indices
    shape = graph.n_dst, X.shape[1]
    if layout == "C":
        Y = empty(shape, X.dtype)
        _partition.propagate_rows(*pattern, data, X, Y, starts, order)
        return Y
    Y_t = empty(shape[::-1], X.dtype)
    _partition.propagate_runs(*pattern, data, np.ascontiguousarray(X.T), Y_t, starts, order)
    return np.ascontiguousarray(Y_t.T)
