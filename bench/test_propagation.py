"""Sparse x dense products."""

from bench import inputs, work
from bench.answers import within
from bench.case import Bench, Task, timed
from refimpl.partition import partition_plan

FORMS = (128, "float32"), (512, "float32"), (128, "float64")
CLOSE = {"float32": 1e-5, "float64": 1e-13}


def product(A, X):
    """Return what SciPy says, in float64."""
    return A.graph.to_scipy(A.data.astype("float64")) @ X.astype("float64")


def spmm_tasks(size):
    """Yield A X in three forms."""
    for f, dtype in FORMS:
        A, X = inputs.adjacency(size, dtype), inputs.normal((inputs.SIZES[size].s, f), 1, dtype)
        check = within(product(A, X), atol=CLOSE[dtype])
        text = f"{inputs.graph_text(A.graph)} f={f} {dtype}"
        args = {"graph": A.graph, "data": A.data, "X": X}
        yield Task(text, args, check, work.spmm(A.graph, f, dtype))


def spmm_t_tasks(size):
    """Yield A^T G."""
    A, G = inputs.adjacency(size), inputs.normal((inputs.SIZES[size].s, 128), 1)
    want = A.graph.to_scipy(A.data.astype("float64")).T @ G.astype("float64")
    perm = inputs.transpose_of(size)
    args = {"graph": A.graph, "data": A.data, "transpose_perm": perm, "G": G}
    text = f"{inputs.graph_text(A.graph)} f=128 float32"
    yield Task(text, args, within(want, atol=1e-4), work.spmm(A.graph, 128, "float32"))


def propagate_tasks(size):
    """Yield A X in parts of the columns, on one lane."""
    A, X = inputs.adjacency(size), inputs.normal((inputs.SIZES[size].s, 128), 1)
    plan = partition_plan(n=A.graph.n, f=128, p=1, s_cache=2**20, word=4)
    args = {"graph": A.graph, "data": A.data, "X": X, "plan": plan, "p": 1}
    text = f"{inputs.graph_text(A.graph)} f=128 in {len(plan.starts) - 1} parts float32"
    check = within(product(A, X), atol=CLOSE["float32"])
    yield Task(text, args, check, work.spmm(A.graph, 128, "float32"))


test_propagation = timed(
    Bench("spmm", spmm_tasks, forms=tuple(f"{f}_{dtype}" for f, dtype in FORMS)),
    Bench("spmm_t", spmm_t_tasks),
    Bench("feature_propagate", propagate_tasks, serial=True),
)
