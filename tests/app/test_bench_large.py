"""What the benchmarks of large graphs are made of."""

import importlib
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.runs


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_a_lift_has_the_neighbours_of_the_smaller_graph(bench_folder, copies):
    """Each node's neighbours are copies of its own node's neighbours, each once."""
    growth = importlib.import_module("bench.growth")
    small = growth.kronecker(6, 8)
    large = growth.lifted(small, copies)
    n, matrix = small.n, large.to_scipy()
    assert large.n == copies * n and (matrix != matrix.T).nnz == 0
    for v in range(large.n):
        row = matrix.indices[matrix.indptr[v] : matrix.indptr[v + 1]]
        assert np.all(np.diff(row) > 0)
        own = small.indices[small.indptr[v % n] : small.indptr[v % n + 1]]
        assert sorted(row % n) == own.tolist()
    crossing = np.repeat(np.arange(large.n), large.degrees()) // n != large.indices // n
    assert crossing.any() == (copies > 1)


def test_memory_of_its_own_is_counted(bench_folder):
    large = importlib.import_module("bench.large")
    code = "import time; block = bytearray(b'x') * 2**26; print(1, flush=True); time.sleep(0.5)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as run:
        run.stdout.readline()
        with large.peaks(run.pid) as found:
            run.wait()
    assert 2**26 < found["own"] < 2**26 + 2**25
    assert found["all"] > found["own"]
