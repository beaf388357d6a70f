"""Multiply a sparse and a dense matrix in parts, so that each part fits in a cache."""

import numpy as np

from refimpl.partition import partition_order


def feature_propagate(graph, data, X, plan, p, *, version="jpdc", layout="C"):
    """Return A X like `spmm`, to the last bit, one part of the columns after another."""
    X = np.asarray(X, order=layout)
    Y = np.zeros((graph.n_dst, X.shape[1]), X.dtype)
    for lanes in partition_order(len(plan.starts) - 1, p, version=version):
        for i in lanes[lanes >= 0]:
            part = slice(plan.starts[i], plan.starts[i + 1])
            for v in range(graph.n_dst):
                for j in range(graph.start[v], graph.end[v]):
                    Y[v, part] += data[j] * X[graph.indices[j], part]
    return Y
