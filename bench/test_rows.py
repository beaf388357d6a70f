"""What is done with rows of features: dropout, normalising, gathering."""

import numpy as np

from bench import inputs
from bench.answers import as_other, exactly, within
from bench.case import Bench, Task, timed
from bench.work import Part, stream
from refimpl.layers import row_l2_forward
from refimpl.streams import CALIBRATION, key

KEY = key(inputs.SEED, CALIBRATION)


def rows_of(size, seed=1):
    """Return features, and how the report names them."""
    scale = inputs.SIZES[size]
    return inputs.normal((scale.s, scale.f), seed), f"s={scale.s:,} f={scale.f} float32"


def dropout_tasks(size):
    """Yield dropout of half of the numbers."""
    X, text = rows_of(size)
    args = {"X": X, "rate": 0.5, "key": KEY}
    yield Task(text, args, as_other("dropout"), stream(2 * X.nbytes))


def l2_forward_tasks(size):
    """Yield rows over their lengths."""
    X, text = rows_of(size)
    yield Task(text, {"X": X}, as_other("row_l2_forward"), stream(2 * X.nbytes))


def l2_backward_tasks(size):
    """Yield the gradient of it."""
    X, text = rows_of(size)
    args = {"out": row_l2_forward(X), "G": rows_of(size, 2)[0]}
    yield Task(text, args, as_other("row_l2_backward"), stream(3 * X.nbytes))


def gather_tasks(size):
    """Yield rows in random order."""
    X, text = rows_of(size)
    rows = np.random.default_rng(inputs.SEED).permutation(len(X))
    done = [Part(2 * X.nbytes, X.nbytes)]
    yield Task(f"all of {text}", {"X": X, "rows": rows}, exactly(X[rows]), done)


def norms_tasks(size):
    """Yield the lengths of gradients' rows."""
    G, text = rows_of(size)
    want = np.linalg.norm(G.astype(np.float64), axis=1)
    yield Task(text, {"G": G}, within(want, rtol=1e-5), stream(G.nbytes))


test_rows = timed(
    Bench("dropout", dropout_tasks),
    Bench("row_l2_forward", l2_forward_tasks),
    Bench("row_l2_backward", l2_backward_tasks),
    Bench("gather_rows", gather_tasks),
    Bench("gradient_norms", norms_tasks),
)
