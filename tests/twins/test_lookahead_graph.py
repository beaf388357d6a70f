"""Neighbours read from a file, a window of minibatches at a time: the same bits as from memory."""

import errno
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupting import interrupted
from numpy.testing import assert_array_equal

import refimpl
from refimpl.lab.data.convert import convert
from refimpl.lab.training.methods import Fresh, LayerSampling, Neighbor
from refimpl.loader.lookahead_features import ReadFailed
from refimpl.loader.lookahead_graph import file_of
from refimpl.loader.paged_file import OF_A_PAGE, TooManyPages, reserved
from refimpl.samplers import Minibatch
from refimpl.samplers.neighbor import MODES

N, PAGE = 3000, 4096


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A graph whose neighbours are 27 whole pages and a part of one; node 7 has most of a page."""
    rng = np.random.default_rng(1)
    edges = np.concatenate([rng.integers(0, N, (13_000, 2)), [(7, v) for v in range(8, 900)]])
    graph = refimpl.as_graph(refimpl.as_graph(edges, symmetrize=True, n=N), self_loops=False)
    X = rng.normal(size=(N, 5)).astype(np.float32)
    place = tmp_path_factory.mktemp("graph") / "random"
    data = refimpl.Dataset.from_arrays(graph, X, X[:, 0] > 0, dtype=np.float32)
    replace(data, train=data.train[:400]).save(place)
    assert (place / "indices.npy").stat().st_size // PAGE == 27
    return place


def opened(gnn, graph, pages, window=8):
    """Return a graph on storage with a cache of some pages; what is not read is garbage."""
    whole = file_of(graph.indices)[0].stat().st_size // PAGE
    stored = gnn.loader.LookaheadGraph(graph, 4 * whole + pages * OF_A_PAGE, window=window)
    assert stored.capacity == min(pages, whole)
    spoil(stored.file, np.arange(whole))
    return stored


def spoil(file, pages):
    """Put numbers of nodes that are wrong in some pages, which is all that a kernel can bear."""
    file.bytes.view(np.int32)[: file.whole * 1024].reshape(-1, 1024)[pages] = N - 1


@contextmanager
def worst(file):
    """Read the last page first and one at a time, and spoil each page before and after its stay."""
    read, give_back = file.read_rows, file._give_back

    def reading(descriptor, offset, pages, slots, cache, depth):
        spoil(file, pages)
        return sum(
            read(descriptor, offset, pages[i : i + 1], slots[i : i + 1], cache, depth)
            for i in reversed(range(len(pages)))
        )

    def giving(pages):
        give_back(pages)
        spoil(file, pages)

    file.read_rows, file._give_back = reading, giving
    yield
    file.read_rows, file._give_back = read, give_back


def same(one, other):
    for mine, its in zip(one.nodes, other.nodes, strict=True):
        assert_array_equal(mine, its)
        assert mine.dtype == its.dtype
    for mine, its in zip(one.blocks, other.blocks, strict=True):
        assert mine.n_src == its.n_src
        for name in ("start", "end", "indices", "edge_ids"):
            assert_array_equal(getattr(mine, name), getattr(its, name))
        assert (mine.weights is None) == (its.weights is None)
        if its.weights is not None:
            assert_array_equal(mine.weights, its.weights)


@given(
    mode=st.sampled_from(MODES),
    sizes=st.lists(st.integers(0, 7), max_size=5),
    fanouts=st.lists(st.sampled_from([-1, 0, 1, 3]), max_size=3),
    pages=st.integers(22, 30),
    seed=st.integers(0, 9),
)
@settings(max_examples=60)
def test_a_window_is_drawn_as_each_minibatch_is(gnn, folder, mode, sizes, fanouts, pages, seed):
    graph, rng = gnn.load_dataset(folder).graph, np.random.default_rng(seed)
    roots = [rng.choice(N, size, replace=False).astype(np.int32) for size in sizes]
    window = [Minibatch(graph, of, fanouts, seed, 2, b) for b, of in enumerate(roots)]
    how = {"seed": seed, "epoch": 2, "mode": mode}
    with opened(gnn, graph, pages) as stored, worst(stored.file):
        for _ in range(2):
            try:
                drawn = stored.draw(window, mode)
            except TooManyPages:
                assert pages < 27  # all neighbours of a few nodes may be everywhere
                return
            assert len(drawn) == len(window)
            for b, mfg in enumerate(drawn):
                same(mfg, gnn.sample_mfg(graph, roots[b], fanouts, batch=b, **how))


METHODS = st.builds(
    Neighbor,
    batch_size=st.sampled_from([5, 8]),
    fanouts=st.just((3, 2)),
    sample_mode=st.sampled_from(["layered", "shared", "labor"]),
    batch_dependency=st.just(1),
    workers=st.sampled_from([0, 2]),
) | st.builds(
    Fresh,
    batch_size=st.sampled_from([5, 8]),
    fanouts=st.just((3, 2)),
    workers=st.sampled_from([0, 2]),
    draw_all=st.booleans(),
    t_stale=st.sampled_from([0, 3]),
    buffer=st.just(9000),
    hotness=st.sampled_from(["none", "degree"]),
    refresh=st.just(0),
)


@pytest.mark.runs
@given(
    METHODS,
    st.sampled_from([25, 26, 40]),
    st.integers(1, 5),
    st.sampled_from([1, 2]),
    st.booleans(),
)
@settings(max_examples=12)
def test_nothing_that_may_be_chosen_changes_a_bit(
    gnn, folder, method, pages, window, workers, features_too
):
    data = gnn.load_dataset(folder)
    config = gnn.TrainConfig(method=method, epochs=2, hidden=4, workers_a_step=workers)
    whole = gnn.train(data, config, progress=False)
    ahead = gnn.loader.LookaheadFeatures(folder / "features.npy", 10**6) if features_too else None
    with opened(gnn, data.train_graph, pages, window) as stored, worst(stored.file):
        parts = gnn.train(data, config, progress=False, graph=stored, features=ahead)
        counts = stored.counts
    assert [one.loss for one in parts.history] == [one.loss for one in whole.history]
    for name, weights in whole.weights.items():
        assert_array_equal(parts.weights[name], weights)
    assert counts.bytes == PAGE * counts.rows and 0 < counts.rows <= counts.asked


@pytest.mark.runs
@pytest.mark.parametrize("refresh", [1, 2])
def test_forward_only_passes_are_drawn_too(gnn, folder, refresh):
    data = gnn.load_dataset(folder)
    method = Fresh(batch_size=8, fanouts=(3, 2), t_stale=3, refresh=refresh, warmup=2)
    config = gnn.TrainConfig(method=method, epochs=2, hidden=4)
    whole = gnn.train(data, config, progress=False)
    with opened(gnn, data.train_graph, 26, 3) as stored, worst(stored.file):
        parts = gnn.train(data, config, progress=False, graph=stored)
    assert [one.loss for one in parts.history] == [one.loss for one in whole.history]


@pytest.mark.runs
def test_the_graph_between_training_nodes_is_drawn_from_its_own_file(gnn, tmp_path):
    convert("communities", tmp_path / "graph", setting="inductive")
    data = gnn.load_dataset(tmp_path / "graph")
    config = gnn.TrainConfig(method=Neighbor(batch_size=900, fanouts=(3, 2)), epochs=1)
    whole = gnn.train(data, config, progress=False)
    with gnn.loader.LookaheadGraph(data.train_graph, 10**6) as stored:
        assert stored.path.name == "induced_indices.npy"
        parts = gnn.train(data, config, progress=False, graph=stored)
    assert parts.history[0].loss == whole.history[0].loss
    with (
        gnn.loader.LookaheadGraph(data.graph, 10**6) as other,
        pytest.raises(ValueError, match=r"must be in the data set's own file, got .*/indices\.npy"),
    ):
        gnn.make_trainer(data, config, graph=other)


def test_a_hop_reads_the_rows_of_all_minibatches_once_and_in_order(gnn, folder):
    graph = gnn.load_dataset(folder).graph
    roots = [np.arange(b, N, 50, dtype=np.int32) for b in range(4)]
    window = [Minibatch(graph, of, (2, 2), 0, 0, b) for b, of in enumerate(roots)]
    asked = []
    with opened(gnn, graph, 27) as stored:
        read = stored.file.read_rows
        stored.file.read_rows = lambda *how: asked.append(how) or read(*how)
        stored.draw(window)
        pages = stored.pages_of(np.unique(np.concatenate(roots)))
        assert_array_equal(asked[0][2], pages)
        assert len(asked) == 2 and asked[0][5] == 64
        together = np.concatenate([how[2] for how in asked])
        assert len(np.unique(together)) == len(together) == stored.counts.rows
        assert stored.counts.bytes == PAGE * len(together)
        stored.draw(window)
        assert stored.counts.rows == len(together) and stored.counts.asked > 2 * len(pages)


def test_pages_that_were_used_longest_ago_make_room(gnn, folder):
    graph = gnn.load_dataset(folder).graph
    with opened(gnn, graph, 3) as stored:
        for pages, read in (([0, 1], 2), ([1, 2], 3), ([1, 5], 4), ([2], 4), ([0, 1, 5], 5)):
            with stored._holding(np.array(pages)) as held:
                want = np.fromfile(stored.path, np.uint8)
                for page in pages:
                    part = slice(page * PAGE, (page + 1) * PAGE)
                    assert_array_equal(stored.file.bytes[part], want[part])
            assert stored.counts.rows == read
        assert held.n == N and not held.indices.flags.writeable


SMAPS = Path("/proc/self/smaps")


@pytest.mark.skipif(not SMAPS.exists(), reason="counts memory by Linux")
def test_memory_is_kept_to(gnn, tmp_path):
    """Pages that made room have no memory any more, and no huge page has that of 512."""
    path = tmp_path / "indices.npy"
    indices = np.zeros(2**22, np.int32)
    np.save(path, indices)
    graph = refimpl.Graph._trusted(np.arange(2**22 + 1), np.load(path, mmap_mode="r"))
    pages = 4097
    with gnn.loader.LookaheadGraph(graph, 4 * pages + 50 * OF_A_PAGE) as stored:
        address = stored.file.bytes.ctypes.data
        for first in range(0, 1000, 100):
            with stored._holding(np.arange(first, first + 100, 2)):
                assert resident(address) <= 4 * (50 + 1) + 4
        assert stored.capacity == 50 and stored.counts.rows == 500


def resident(address):
    """Return the KiB in memory of the mapping that begins at an address."""
    whole = SMAPS.read_text()
    found = re.search(rf"^{address:x}-.*?^Rss: +(\d+) kB", whole, re.DOTALL | re.MULTILINE)
    return int(found[1])


def minibatch(graph, roots=100):
    return [Minibatch(graph, np.arange(roots, dtype=np.int32), (2,), 0, 0, 0)]


def test_a_cache_that_is_too_small_says_what_it_must_hold(gnn, folder):
    graph = gnn.load_dataset(folder).graph
    with pytest.raises(ValueError, match="memory must hold the place of each of 27 pages and one"):
        gnn.loader.LookaheadGraph(graph, 4000)
    with (
        opened(gnn, graph, 3) as stored,
        pytest.raises(TooManyPages, match=r"hold the 27 pages .* and holds 3 pages"),
    ):
        stored.draw(minibatch(graph, N))


def test_reads_that_fail_name_the_file_and_are_done_again(gnn, folder, tmp_path):
    (tmp_path / "own").mkdir()
    for path in folder.iterdir():
        (tmp_path / "own" / path.name).write_bytes(path.read_bytes())
    graph = gnn.load_dataset(tmp_path / "own").graph
    want = gnn.sample_mfg(graph, np.arange(N), (2,), seed=0, epoch=0, batch=0)
    with opened(gnn, graph, 27) as stored:
        read, data = stored.file.read_rows, stored.path.read_bytes()

        def failing(*how):
            read(how[0], how[1], how[2][:1], how[3][:1], *how[4:])
            raise OSError(errno.EIO, "Input/output error at byte 4096")

        stored.file.read_rows = failing
        with pytest.raises(ReadFailed, match=r"indices\.npy: Input/output error at byte 4096"):
            stored.draw(minibatch(graph, N))
        stored.file.read_rows = read
        os.truncate(stored.path, 50_000)
        with pytest.raises(ReadFailed, match=r"indices\.npy: the file ends at byte 50000, and"):
            stored.draw(minibatch(graph, N))
        stored.path.write_bytes(data)
        same(stored.draw(minibatch(graph, N))[0], want)
    with pytest.raises(ValueError, match="must be open"):
        stored.draw(minibatch(graph, 2))


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        ({"roots": [N]}, ValueError, r"roots must be in \[0, 3000\)"),
        ({"roots": [-1]}, ValueError, r"roots must be in \[0, 3000\)"),
        ({"roots": [1, 1]}, ValueError, "roots must be distinct"),
        ({"roots": [0.5]}, TypeError, "roots must hold integers, got dtype float64"),
        ({"fanouts": (2, 2)}, ValueError, "minibatches must have equally many fan-outs"),
        ({"fanouts": ((2, 2),)}, ValueError, "fanouts must have a number for each of no relations"),
        ({"epoch": -1}, ValueError, "epoch must be in"),
    ],
)
def test_a_bad_minibatch_is_refused(gnn, folder, change, kind, says):
    graph = gnn.load_dataset(folder).graph
    (good,) = minibatch(graph, 3)
    with opened(gnn, graph, 27) as stored:
        with pytest.raises(kind, match=says):
            stored.draw([good, good._replace(**change)])
        assert stored.counts.asked == 0


def test_other_bad_arguments_of_draw_are_refused(gnn, folder):
    graph = gnn.load_dataset(folder).graph
    with opened(gnn, graph, 27) as stored:
        with pytest.raises(TypeError, match="minibatches must be a tuple or list of Minibatches"):
            stored.draw(7)
        with pytest.raises(TypeError, match="minibatches must hold Minibatches, got int"):
            stored.draw([7])
        with pytest.raises(ValueError, match="mode must be one of"):
            stored.draw([], "other")
        with pytest.raises(ValueError, match="batch_dependency must be 1 where"):
            stored.draw(minibatch(graph), batch_dependency=2)


@pytest.mark.runs
def test_a_draw_that_ctrl_c_ends_leaves_no_wrong_neighbour(gnn, folder):
    graph, number, more = gnn.load_dataset(folder).graph, 0, True
    (first,), second = minibatch(graph, 60), np.arange(N - 60, N, dtype=np.int32)
    wanted = first._replace(roots=second)
    name = {"seed": 0, "epoch": 0, "batch": 0}
    right = gnn.sample_mfg(graph, second, wanted.fanouts, **name)
    while more:
        with opened(gnn, graph, 23) as stored, worst(stored.file):
            stored.draw([first])

            def drawn(stored=stored):
                return stored.draw([wanted])

            more = interrupted(drawn, number, "loader/lookahead.py", "loader/paged_file.py")
            same(drawn()[0], right)
        number += 1
    assert number > 30


def test_a_file_that_a_thread_reads_is_closed_afterwards(gnn, folder):
    graph, begun, may_end = gnn.load_dataset(folder).graph, threading.Event(), threading.Event()
    stored = opened(gnn, graph, 27)
    read, (one,) = stored.file.read_rows, minibatch(graph)

    def slow(*how):
        begun.set()
        may_end.wait()
        return read(*how)

    stored.file.read_rows = slow
    with ThreadPoolExecutor(2) as threads:
        drawn = threads.submit(stored.draw, [one])
        begun.wait()
        closed = threads.submit(stored.close)
        early = wait([closed], 0.1).done
        may_end.set()
        assert not early
        same(drawn.result()[0], one.drawn_whole(gnn))
        closed.result()


def test_address_space_that_cannot_be_had_is_memory_that_is_lacking():
    with pytest.raises(MemoryError, match="no address space for 1152921504606846976 bytes"):
        reserved(2**60)


def test_a_file_that_has_become_shorter_is_not_opened(gnn, folder, tmp_path):
    path = tmp_path / "indices.npy"
    path.write_bytes((folder / "indices.npy").read_bytes())
    known = gnn.load_dataset(folder).graph
    graph = refimpl.Graph._trusted(known.indptr, np.load(path, mmap_mode="r"))
    os.truncate(path, 50_000)
    with pytest.raises(ValueError, match=r"indices\.npy must have \d+ bytes, got 50000"):
        gnn.loader.LookaheadGraph(graph, 10**6)


def test_what_cannot_be_drawn_from_storage_is_refused(gnn, folder):
    data = gnn.load_dataset(folder)
    with pytest.raises(ValueError, match="indices that are mapped from a file"):
        gnn.loader.LookaheadGraph(refimpl.as_graph([(0, 1)]), 10**6)
    with pytest.raises(TypeError, match="graph must be a LookaheadGraph, got Graph"):
        gnn.make_trainer(data, gnn.TrainConfig(), graph=data.graph)
    with gnn.loader.LookaheadGraph(data.graph, 10**6) as stored:
        for config in (
            gnn.TrainConfig(method=LayerSampling()),
            gnn.TrainConfig(method=Neighbor(), partition="local", workers_a_step=2),
        ):
            with pytest.raises(ValueError, match="graph must be None where method is"):
                gnn.make_trainer(data, config, graph=stored)
        with pytest.raises(ValueError, match="own file, got"):
            config = gnn.TrainConfig(method=Neighbor())
            gnn.make_trainer(gnn.load_dataset("karate"), config, graph=stored)
