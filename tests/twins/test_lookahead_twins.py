"""Reads of rows from a file, and training from them: the same bits, however late reads are."""

import os
import threading
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from interrupting import interrupted
from numpy.testing import assert_array_equal

import fastimpl
import refimpl
from fastimpl.loader import direct_reads
from refimpl.lab.data.convert import convert
from refimpl.lab.training.methods import Fresh, Neighbor
from refimpl.loader import window_of


@pytest.fixture(params=[("f2", 3), ("f4", 1), ("f2", 128), ("f4", 1500)], ids=str)
def features(request, tmp_path):
    dtype, d = request.param
    X = np.random.default_rng(3).normal(size=(700, d)).astype(dtype)
    refimpl.loader.write_features(tmp_path / "x.npy", X)
    return X, tmp_path / "x.npy"


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("depth", [1, 3, 64])
def test_rows_come_to_their_slots(gnn, features, direct, depth):
    X, path = features
    flags = os.O_RDONLY | (getattr(os, "O_DIRECT", 0) if direct else 0)
    file, rng = os.open(path, flags), np.random.default_rng(5)
    offset = path.stat().st_size - X.nbytes
    for k in (0, 1, 9, 300, 700):
        rows = np.sort(rng.choice(700, k, replace=False))
        slots = rng.permutation(800)[:k]
        cache = np.full((800, X.shape[1]), np.nan, X.dtype)
        want = cache.copy()
        want[slots] = X[rows]
        read = gnn.loader.read_rows(file, offset, rows, slots, cache, depth)
        assert cache.tobytes() == want.tobytes()
        assert read % 4096 == 0 and read >= k * X.shape[1] * X.itemsize
    os.close(file)


@pytest.mark.parametrize("queue", [0, 1])
def test_rows_are_read_without_a_queue_of_the_system(features, monkeypatch, queue):
    """There is none, or it takes no read."""
    X, path = features
    monkeypatch.setattr(direct_reads, "_queues", {})
    monkeypatch.setattr(direct_reads._direct_reads, "open_queue", lambda depth: queue)
    with fastimpl.loader.LookaheadFeatures(path, 10**7) as stored:
        assert_array_equal(stored.gather(None, np.arange(700)[::-3]), X[::-3])


@pytest.mark.parametrize("direct", [True, False])
def test_a_file_that_is_too_short_or_closed_is_named(gnn, tmp_path, direct):
    path, cache = tmp_path / "x", np.empty((9, 1024), np.float32)
    path.write_bytes(bytes(4096 * 3 + 7))
    file = os.open(path, os.O_RDONLY | (getattr(os, "O_DIRECT", 0) if direct else 0))
    gnn.loader.read_rows(file, 0, [0, 2], [4, 5], cache)
    for rows, needed in (([0, 3], 16384), ([0, 3, 900], 16384), ([900], 3690496)):
        with pytest.raises(OSError, match=f"ends at byte 12295, and {needed} are needed"):
            gnn.loader.read_rows(file, 0, rows, np.arange(len(rows)), cache)
    os.close(file)
    with pytest.raises(OSError, match="[Bb]ad file descriptor"):
        gnn.loader.read_rows(file, 0, [0], [4], cache)


@pytest.mark.parametrize(
    ("rows", "slots", "depth", "message"),
    [
        ([1, 0], [0, 1], 4, "rows must ascend"),
        ([0, 0], [0, 1], 4, "rows must ascend"),
        ([0, 1], [1, 1], 4, "slots must be distinct"),
        ([0, 1], [1], 4, "slots must be as many as rows"),
        ([0], [9], 4, "slots must"),
        ([0], [0], 0, "depth must be"),
    ],
)
def test_arguments_are_checked(gnn, rows, slots, depth, message):
    with pytest.raises(ValueError, match=message):
        gnn.loader.read_rows(0, 0, rows, slots, np.empty((9, 4), np.float32), depth)


def test_a_cache_that_cannot_be_written_is_refused(gnn):
    cache = np.empty((9, 4), np.float32)
    cache.flags.writeable = False
    with pytest.raises(ValueError, match="cache must be writeable"):
        gnn.loader.read_rows(0, 0, [0], [0], cache)
    with pytest.raises(TypeError, match="cache must be float32 or float16 or float64"):
        gnn.loader.read_rows(0, 0, [0], [0], np.empty((9, 4), np.int32))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("graph") / "communities"
    convert("communities", place, setting="transductive", feature_dtype="float16")
    return place


def opened(gnn, folder, capacity):
    """Return the features of a data set, in a cache of `capacity` rows."""
    n, d = np.load(folder / "features.npy", mmap_mode="r").shape
    path = folder / "features.npy"
    return gnn.loader.LookaheadFeatures(path, 4 * n + (2 * d + 24) * capacity, depth=4)


METHODS = {
    "cached": Fresh(batch_size=3300, fanouts=(5, 3), buffer=10**7, hotness="degree"),
    "large": Neighbor(batch_size=5000, fanouts=(5, 3)),
    "neighbor": Neighbor(batch_size=100, fanouts=(5, 3)),
    "workers": Neighbor(batch_size=80, fanouts=(5, 3), workers=2),
    "fresh": Fresh(batch_size=300, fanouts=(5, 3), buffer=40_000),
}


CASES = [
    ("neighbor", 4100),
    ("large", 20_000),
    ("workers", 7000),
    ("fresh", 7000),
    ("cached", 7000),
]


@pytest.mark.runs
@pytest.mark.parametrize(("method", "capacity"), CASES)
def test_training_has_the_bits_of_training_from_memory(gnn, folder, method, capacity):
    """With reads that end as late as they may, and unread memory that is no number."""
    data = gnn.load_dataset(folder)
    config = gnn.TrainConfig(method=METHODS[method], epochs=2, hidden=8)
    whole = gnn.train(data, config, progress=False)
    with opened(gnn, folder, capacity) as features:
        features.cache[:] = np.nan
        with late(features):
            parts = gnn.train(data, config, progress=False, features=features)
        counts, d = features.counts, data.features.shape[1]
    assert [one.loss for one in parts.history] == [one.loss for one in whole.history]
    read = counts.rows + counts.on_demand
    assert counts.bytes >= read * 2 * d and counts.asked >= counts.rows and read > 0
    if capacity >= data.graph.n:
        assert counts.rows <= data.graph.n


@contextmanager
def late(features):
    """Let each read begin only when training waits for it, and spoil the slots until then."""
    read, finish, wanted = features._read, features.finish, threading.Event()

    def reading(rows, slots):
        features.cache[slots] = np.nan
        wanted.wait()
        return read(rows, slots)

    def finishing():
        wanted.set()
        finish()
        wanted.clear()

    features._read, features.finish = reading, finishing
    try:
        yield
    finally:
        wanted.set()


def test_rows_that_are_being_read_are_waited_for(gnn, folder):
    """Evaluation may ask for rows that the next window has just asked for."""
    X = np.load(folder / "features.npy")
    with opened(gnn, folder, 200) as features, late(features):
        features.expect(window_of([[3, 5, 8]], 0))
        assert_array_equal(features.gather(None, np.array([8, 3])), X[[8, 3]])
        assert_array_equal(features.gather(None, np.array([8, 4])), X[[8, 4]])


class NoThread:
    def submit(self, *args):
        raise RuntimeError("no thread")


def test_no_rows_are_gathered(gnn, folder):
    with opened(gnn, folder, 200) as features:
        assert features.gather(None, np.arange(0)).shape == (0, features.shape[1])


def test_reads_that_end_early_go_on(tmp_path, monkeypatch):
    """As network file systems may; the rows at the end of the file end within a page."""
    X = np.random.default_rng(3).normal(size=(700, 70)).astype(np.float32)
    refimpl.loader.write_features(tmp_path / "x.npy", X)
    read = os.preadv

    def early(file, buffers, at):
        whole = read(file, buffers, at)
        buffers[0][5000:] = bytes(len(buffers[0][5000:]))
        return min(whole, 5000)

    with refimpl.loader.LookaheadFeatures(tmp_path / "x.npy", 10**6) as features:
        monkeypatch.setattr(os, "preadv", early)
        assert_array_equal(features.gather(None, np.arange(700)), X)


def test_rows_whose_read_failed_are_read_again(gnn, folder):
    X, rows = np.load(folder / "features.npy"), np.arange(100)
    with opened(gnn, folder, 200) as features:
        file, features._file = features._file, 10**6
        with pytest.raises(OSError, match=r"features\.npy: "):
            features.gather(None, rows)
        features._file = file
        thread, features._thread = features._thread, NoThread()
        with pytest.raises(RuntimeError, match="no thread"):
            features.expect(window_of([rows], 0))
        features._thread = thread
        assert_array_equal(features.gather(None, rows), X[rows])
    with pytest.raises(ValueError, match="must be open"):
        features.gather(None, rows + 100)


def test_a_cache_that_is_too_small_is_refused(gnn, folder):
    with pytest.raises(ValueError, match="memory must hold the place of each of 10000 rows"):
        gnn.loader.LookaheadFeatures(folder / "features.npy", 1000)
    config = gnn.TrainConfig(method=METHODS["neighbor"], epochs=1)
    with opened(gnn, folder, 500) as features, pytest.raises(ValueError, match="two minibatches"):
        gnn.train(gnn.load_dataset(folder), config, progress=False, features=features)


def test_features_of_another_data_set_are_refused(gnn, folder):
    karate = gnn.load_dataset("karate")
    with opened(gnn, folder, 9000) as features, pytest.raises(ValueError, match="features must be"):
        gnn.train(karate, gnn.TrainConfig(epochs=1), features=features, progress=False)


def test_features_of_another_file_are_refused(gnn, folder, tmp_path):
    data, path = gnn.load_dataset(folder), tmp_path / "features.npy"
    X = np.array(data.features)
    gnn.loader.write_features(path, X)
    here = replace(data, features=X)
    with gnn.loader.LookaheadFeatures(path, 10**6) as features:
        gnn.make_trainer(here, gnn.TrainConfig(), features=features).close()
        with pytest.raises(ValueError, match="features must be in the data set's own file"):
            gnn.make_trainer(data, gnn.TrainConfig(), features=features)
    X[-1] += 1
    here = replace(data, features=X)
    with (
        gnn.loader.LookaheadFeatures(path, 10**6) as features,
        pytest.raises(ValueError, match="features must be in the data set's own file"),
    ):
        gnn.make_trainer(here, gnn.TrainConfig(), features=features)


def test_methods_that_keep_all_rows_are_refused(gnn, folder):
    config = gnn.TrainConfig(method=gnn.methods.FullBatch(), epochs=1)
    with opened(gnn, folder, 9000) as features, pytest.raises(ValueError, match="method is full"):
        gnn.train(gnn.load_dataset(folder), config, features=features, progress=False)


@pytest.mark.runs
def test_windows_hold_the_rows_of_an_inductive_graph(gnn, tmp_path, monkeypatch):
    """Rows are numbered anew in the training graph; wrong windows would be read when needed."""
    convert("communities", tmp_path / "graph", setting="inductive", feature_dtype="float16")
    data = gnn.load_dataset(tmp_path / "graph")
    config = gnn.TrainConfig(method=METHODS["neighbor"], epochs=1)
    with opened(gnn, tmp_path / "graph", 6000) as features:
        expect, calls = features.expect, []
        monkeypatch.setattr(
            features, "expect", lambda *windows: (calls.append(len(windows)), expect(*windows))
        )
        gnn.train(data, config, features=features, progress=False)
    assert len(calls) > 5 and calls == [1] + [3] * (len(calls) - 1)


def test_a_file_that_shrinks_while_training_is_named(gnn, folder, tmp_path):
    path = tmp_path / "features.npy"
    path.write_bytes((folder / "features.npy").read_bytes())
    with gnn.loader.LookaheadFeatures(path, 10**6) as features:
        os.truncate(path, 5000)
        with pytest.raises(OSError, match=r"features\.npy: the file ends at byte 5000"):
            features.gather(None, np.arange(9000))


@pytest.mark.runs
@pytest.mark.parametrize(("evict", "step"), [("belady", 1), ("sieve", 7)])
def test_an_interrupted_window_leaves_no_wrong_row(gnn, tmp_path, evict, step):
    X, rng = np.arange(1600, dtype=np.float32).reshape(400, 4), np.random.default_rng(0)
    refimpl.loader.write_features(tmp_path / "x.npy", X)
    places = "loader/lookahead.py", "loader/lookahead_features.py", "loader/sieve.py"
    number, more = 0, True
    while more:
        with gnn.loader.LookaheadFeatures(tmp_path / "x.npy", 1600 + 60 * 49, evict=evict) as ahead:
            assert ahead.capacity == 60
            some = [rng.choice(400, 50, replace=False) for _ in range(3)]
            ahead.expect(window_of([some[0]], 0))
            ahead.finish()

            def second(ahead=ahead, rows=some[1]):
                ahead.expect(window_of([rows], 1))

            more = interrupted(second, number, *places)
            for rows in some:
                assert_array_equal(ahead.gather(None, rows), X[rows])
            ahead.expect(window_of([some[2]], 2))
            ahead.finish()
            for rows in some:
                assert_array_equal(ahead.gather(None, rows), X[rows])
        number += step
    assert number > 50
