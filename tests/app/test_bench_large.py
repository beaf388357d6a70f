"""What the benchmarks of large graphs are made of."""

import importlib
import os
import subprocess
import sys

import numpy as np
import pytest
from test_convert import converted

pytestmark = pytest.mark.runs


@pytest.fixture
def kronecker():
    return importlib.import_module("bench.kronecker")


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_a_lift_has_the_neighbours_of_the_smaller_graph(copies):
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


def test_memory_of_its_own_is_counted():
    large = importlib.import_module("bench.large")
    code = "import time; block = bytearray(b'x') * 2**26; print(1, flush=True); time.sleep(0.5)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as run:
        run.stdout.readline()
        with large.peaks(run.pid) as found:
            run.wait()
    assert 2**26 < found["own"] < 2**26 + 2**25
    assert found["all"] > found["own"]


def test_the_first_epoch_with_a_score_counts_without_evaluation():
    large = importlib.import_module("bench.large")
    times = dict.fromkeys(large.PARTS, "0")
    history = [
        {**times, "epoch": epoch, "val_f1": score, "sampling": seconds, "evaluation": "100"}
        for epoch, score, seconds in [("1", "", "2.0"), ("2", "0.5", "4.5"), ("3", "0.6", "7.0")]
    ]
    assert large.reached(history, None) == []
    assert large.reached(history, 0.5) == ["2", "4.5"]
    assert large.reached(history, 0.61) == ["not reached", "-"]


def test_bytes_read_from_storage_are_counted(tmp_path):
    large, storage = map(importlib.import_module, ("bench.large", "bench.storage"))
    file = tmp_path / "block"
    file.write_bytes(bytes(2**24))
    os.sync()
    storage.forget(file)
    code = f"import time; open({str(file)!r}, 'rb').read(); time.sleep(0.5)"
    assert large.watched([sys.executable, "-c", code], None, tmp_path)["read"] >= 2**24


def test_scrambled_ids_are_a_permutation(kronecker):
    for scale in (1, 2, 7, 12):
        scramble = kronecker.Scramble(scale, 3)
        ids = np.arange(2**scale)
        assert sorted(scramble.forth(ids).tolist()) == ids.tolist()
        np.testing.assert_array_equal(scramble.back(scramble.forth(ids)), ids)


def test_ends_descend_with_the_chances_of_the_quadrants(kronecker):
    u, v = kronecker.ends(200_000, 5, np.random.default_rng(0))
    for level in range(5):
        for (row, col), chance in kronecker.QUADRANTS.items():
            found = np.mean((u >> level & 1 == row) & (v >> level & 1 == col))
            assert abs(found - chance) < 0.005
    top, low = u >> 4, u & 1
    assert abs(np.mean(top & low) - 0.24**2) < 0.005  # levels are independent


def test_kronecker_folder(kronecker, tmp_path):
    for name in ("one", "two"):
        kronecker.write_kronecker(tmp_path / name, scale=12, features=16, classes=5, seed=1)
    names = ("raw/data.npz", "raw/node-label.npz")
    assert all(
        np.array_equal(*(np.load(tmp_path / place / name)[key] for place in ("one", "two")))
        for name in names[:1]
        for key in ("edge_index", "node_feat")
    )
    with pytest.warns(UserWarning, match=r"ignored \d+ self-loops of .*data.npz"):
        data = converted(tmp_path / "one", tmp_path / "graph")
    n = 2**12
    assert data.graph.n == n and 0.7 * 16 * n < data.graph.e < 1.1 * 16 * n
    assert data.features.dtype == np.float16 and data.classes == 5
    assert [part.size for part in (data.train, data.val, data.test)] == [n // 100, 4, 4]
    assert np.count_nonzero(data.labels >= 0) == n // 100 + 8
    raw = np.load(tmp_path / "one" / "raw/data.npz")
    kinds = kronecker.class_of(np.arange(n), kronecker.Scramble(12, 1), 5)
    means = np.stack([raw["node_feat"][kinds == c].mean(axis=0) for c in range(5)])
    nearest = np.argmin(((raw["node_feat"][:, None] - means) ** 2).sum(axis=2), axis=1)
    assert np.mean(nearest == kinds) > 0.4  # of 5 classes, by their features alone
    u, v = raw["edge_index"]
    assert np.mean(kinds[u] == kinds[v]) > 0.3
