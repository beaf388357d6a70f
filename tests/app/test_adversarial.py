"""MINIBATCH_GNN_ADVERSARIAL=1: memory without values is NaN, threads work early and late."""

import os
import subprocess
import sys

import numpy as np
import pytest

from refimpl._support import adversarial

pytestmark = pytest.mark.runs

# 51 MB come from the system as zeros, so the kernel's answer is right by chance. Its rows without
# neighbours are never written.
FORGETFUL = """
import numpy as np, refimpl, {package}
from {module} import empty

def spmm(graph, data, X):
    C = empty((graph.n, X.shape[1]), X.dtype)
    for i in np.flatnonzero(graph.degrees()):
        row = slice(graph.indptr[i], graph.indptr[i + 1])
        C[i] = data[row] @ X[graph.indices[row]]
    return C

graph = refimpl.as_graph([(0, 1), (1, 0), (4, 5), (5, 4)], n=100_000)
data, X = np.ones(graph.e), np.ones((graph.n, 64))
print(np.array_equal(spmm(graph, data, X), refimpl.spmm(graph, data, X)))
"""

# The items are right, but each also tells how many were made before.
COUNTED = """
from refimpl.lab.training.prefetch import Ahead

made = []
def make(number):
    made.append(number)
    return number
with Ahead(make, range(8), workers=2, window=4) as items:
    found = [item for _, item in items]
print(found == list(range(8)), sorted(made) == found, made == found)
"""

# A task may read what its caller changes meanwhile.
CARELESS = """
from refimpl._support.thread_limits import Threads

rows, found = [0], []
with Threads(1) as threads:
    for i in range(4):
        found.append(threads.submit(rows.copy))
        rows[0] += 1
print([task.result()[0] for task in found], [task.done() for task in found])
"""

UNUSED = """
import concurrent.futures, numpy, refimpl
from refimpl._support import adversarial, thread_limits
print(numpy.empty is adversarial.real_empty, numpy.empty_like is adversarial.real_empty_like,
      thread_limits.Threads is concurrent.futures.ThreadPoolExecutor)
"""


def run(program, value):
    """Run a program with a value of the variable."""
    env = {**os.environ, adversarial.VARIABLE: value}
    return subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)


def printed(program, value):
    done = run(program, value)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("package", "module"), [("refimpl", "numpy"), ("fastimpl", "fastimpl._buffers")]
)
def test_a_kernel_that_reads_unset_memory_is_caught(package, module):
    program = FORGETFUL.format(package=package, module=module)
    assert [printed(program, value) for value in ("0", "1")] == ["True", "False"]


def test_memory_that_is_used_again_holds_nothing_of_what_it_held():
    program = """
import numpy as np
from fastimpl._buffers import empty
for _ in range(2):
    a = empty((9, 1 << 12), np.float32)
    print(np.isnan(a).all(), empty(1 << 20, np.int32).min())
    a[:] = 1
    del a
"""
    assert printed(program.replace("1 << 20", "(1 << 20,)"), "1") == "\n".join(
        2 * [f"True {adversarial.WORD}"]
    )


def test_items_are_made_in_the_worst_order():
    assert printed(COUNTED, "1") == "True True False"


def test_a_task_runs_early_or_late():
    assert printed(CARELESS, "1").startswith("[0, 4, 2, 4]")


def test_without_the_variable_nothing_is_replaced():
    assert {printed(UNUSED, value) for value in ("0", "")} == {"True True True"}


def test_other_values_are_refused():
    done = run("import refimpl", "yes")
    assert done.returncode and done.stderr.strip().endswith(
        "ValueError: MINIBATCH_GNN_ADVERSARIAL must be 0 or 1, got 'yes'"
    )


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16", "i2", "i4", "i8", "u4", "u8"])
@pytest.mark.parametrize("shape", [7, (3, 5), (2, 3, 4)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_without_values_holds_the_worst(dtype, shape, order):
    made = adversarial.empty(shape, dtype, order)
    plain = np.empty(shape, dtype, order)
    assert made.shape == plain.shape and made.strides == plain.strides
    assert made.dtype == plain.dtype and made.flags.writeable and made.flags.aligned
    assert made.ctypes.data % 16 == made.dtype.alignment % 16
    if made.dtype.kind in "fc":
        assert np.isnan(made).all()
    else:
        assert made.max() >= 2 ** (8 * min(made.itemsize, 4) - 1) - 1
        assert made.itemsize == 2 or made.min() > 0
    around = made.base
    assert around.size * 4 >= made.nbytes + 2 * adversarial.AROUND
    made[...] = 0
    words = np.flatnonzero(around != adversarial.WORD) * 4
    assert words[0] >= adversarial.AROUND and words[-1] < around.nbytes - adversarial.AROUND + 4
    like = adversarial.empty_like(made)
    assert like.strides == made.strides and like.ctypes.data % 16 == made.ctypes.data % 16


@pytest.mark.parametrize("shape", [0, (3, 0), ()])
def test_empty_and_single_arrays(shape):
    made = adversarial.empty(shape, np.float32)
    assert made.shape == np.empty(shape).shape and np.isnan(made).all()


def test_types_without_numbers_are_left_alone():
    assert adversarial.empty(3, object).tolist() == [None] * 3
    assert adversarial.empty(3, "U4").dtype == np.dtype("U4")
    assert type(adversarial.empty_like(np.ma.zeros(3))) is np.ma.MaskedArray
