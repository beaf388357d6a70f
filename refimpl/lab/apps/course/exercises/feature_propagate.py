"""Multiply a sparse and a dense matrix in parts, so that each part fits in a cache."""

import numpy as np

from refimpl.partition import partition_order


def feature_propagate(graph, data, X, plan, p, *, version="jpdc", layout="C"):
    """Return A X like `spmm`, to the last bit, one part of the columns after another.

    JPDC'21 Algorithm 7. The columns of X are cut into parts; part i is the columns plan.starts[i]
    to plan.starts[i + 1], the end exclusive. In each round p lanes take a part each; here they take
    turns. `partition_order(number of parts, p, version=version)` has a row for each round: which
    part each lane takes, -1 where there is none left. A part is multiplied as `spmm` does it, for
    its own columns alone.

    Parameters
    ----------
    graph, data, X
        As for `spmm`: row v of the graph is the entries graph.start[v] to graph.end[v].
    plan : Partition
        A part may be empty.
    p : int
        Lanes; there may be more than parts.
    version : {"jpdc", "ipdps"}
        Whose order of the parts.
    layout : {"C", "F"}
        Whether the parts are cut out of X as it is, or out of a copy whose columns each lie in one
        run of memory: `np.asarray(X, order=layout)`.

    Returns
    -------
    (n_dst, f) array of the dtype of X
        A new one, whose rows lie in runs of memory.
    """
    X = np.asarray(X, order=layout)
    Y = np.zeros((graph.n_dst, X.shape[1]), X.dtype)
    for lanes in partition_order(len(plan.starts) - 1, p, version=version):
        for i in lanes[lanes >= 0]:
            part = slice(plan.starts[i], plan.starts[i + 1])
            for v in range(graph.n_dst):
                for j in range(graph.start[v], graph.end[v]):
                    Y[v, part] += data[j] * X[graph.indices[j], part]
    return Y


# ---- what follows is the course's ----

PAGE = "learn/partition"
REFERENCE = "refimpl.partition:feature_propagate"
BESIDE = "The reference is the same loop, each line marked with both papers'."
STEPPER = ("partition", "7", "7")
HINTS = (
    "Four loops: rounds, lanes, rows, entries. The innermost statement is that of `spmm`, for the "
    "columns of a part.",
    "`Y[v, part] += data[j] * X[u, part]` with `part = slice(first, last)`.",
    "There is one part fewer than there are numbers in `plan.starts`. Lanes "
    "that are -1 have nothing to do.",
)
MISTAKES = (
    (
        "partition_order(len(plan.starts) - 1, p",
        "partition_order(len(plan.starts), p",
        "counts one part too many, as many as there are numbers in `plan.starts`",
        "raised IndexError",
    ),
    (
        "slice(plan.starts[i], plan.starts[i + 1])",
        "slice(plan.starts[i], plan.starts[i + 1] - 1)",
        "leaves out the last column of each part",
        "",
    ),
    (
        "for lanes in partition_order(len(plan.starts) - 1, p, version=version):",
        "for lanes in partition_order(len(plan.starts) - 1, p, version=version)[:1]:",
        "does the first round only",
        "",
    ),
    (
        "Y = np.zeros((graph.n_dst, X.shape[1]), X.dtype)",
        "Y = X",
        "writes the result over X, of which rows are still to be read",
        "changed its arguments",
    ),
)
