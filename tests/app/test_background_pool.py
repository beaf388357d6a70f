"""The pool, refilled at once or by a thread: order, bound, errors, and the thread's end."""

import gc
import subprocess
import sys
import threading
import time
from concurrent.futures import Future

import numpy as np
import pytest
from strategies import even_graph
from threadpoolctl import ThreadpoolController, threadpool_limits
from tiny_data import tiny_dataset

import fastimpl  # noqa: F401 -- loads OpenMP
from refimpl.lab.training.config import config_from
from refimpl.profiling import Meter, record
from refimpl.training.subgraph_pool import Pool

pytestmark = pytest.mark.runs

BOTH = pytest.mark.parametrize("background", [False, True])
LONG = 30  # seconds: what should happen at once


def pool_threads():
    return [t for t in threading.enumerate() if t.name.startswith("minibatch-gnn-pool")]


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    gc.collect()
    wait_for_the_end()


def wait_for_the_end():
    for thread in pool_threads():
        thread.join(LONG)
    assert not pool_threads()


class Draws:
    """Draw integers, and remember who asked for what."""

    def __init__(self):
        self.asked, self.threads = [], set()

    def __call__(self, first, count):
        self.asked.append((first, count))
        self.threads.add(threading.get_ident())
        return list(range(first, first + count))


@BOTH
@pytest.mark.parametrize(("size", "first"), [(1, 0), (3, 0), (4, 7)])
def test_items_come_in_order(background, size, first):
    draw = Draws()
    with Pool(draw, size=size, first=first, background=background) as pool:
        assert [next(pool) for _ in range(10)] == list(range(first, first + 10))
    assert draw.asked == [(first + i * size, size) for i in range(len(draw.asked))]
    assert (draw.threads == {threading.get_ident()}) == (not background)
    assert len(draw.threads) == 1


@pytest.mark.parametrize("taken", range(1, 8))
def test_at_most_one_refill_is_drawn_ahead(taken):
    draw = Draws()
    pool = Pool(draw, size=3, background=True)
    for _ in range(taken):
        next(pool)
    pool._under_way.result(LONG)  # all that was asked for is drawn now
    assert len(draw.asked) == -(-taken // 3) + 1
    pool.close()
    assert len(draw.asked) == -(-taken // 3) + 1


def test_nothing_is_drawn_before_it_is_wanted():
    draw = Draws()
    Pool(draw, size=3, background=True).close()
    assert draw.asked == []
    assert not pool_threads()


def test_the_next_refill_is_drawn_while_this_one_is_used():
    used = threading.Event()

    def draw(first, count):
        assert first == 0 or used.wait(LONG)
        return range(first, first + count)

    with Pool(draw, size=2, background=True) as pool:
        assert next(pool) == 0
        assert pool._under_way.running() or not pool._under_way.done()
        used.set()  # only now can the second refill end
        assert [next(pool) for _ in range(3)] == [1, 2, 3]


@BOTH
def test_an_error_is_raised_where_its_items_are_asked_for(background):
    broken = True

    def draw(first, count):
        if first >= 4 and broken:
            raise KeyError(f"no {first}")
        return range(first, first + count)

    with Pool(draw, size=2, background=background) as pool:
        assert [next(pool) for _ in range(4)] == [0, 1, 2, 3]
        for _ in range(2):
            with pytest.raises(KeyError, match="no 4"):
                next(pool)
        broken = False
        assert [next(pool) for _ in range(3)] == [4, 5, 6]


def test_an_interrupted_wait_loses_nothing(monkeypatch):
    draw = Draws()

    def interrupt(*args):
        raise KeyboardInterrupt

    with Pool(draw, size=2, background=True) as pool:
        assert [next(pool) for _ in range(2)] == [0, 1]
        with monkeypatch.context() as patch:
            patch.setattr(Future, "result", interrupt)
            with pytest.raises(KeyboardInterrupt):
                next(pool)
        assert [next(pool) for _ in range(3)] == [2, 3, 4]
    assert draw.asked[:3] == [(0, 2), (2, 2), (4, 2)]


@BOTH
def test_a_closed_pool_gives_nothing(background):
    pool = Pool(Draws(), size=3, background=background)
    next(pool)
    pool.close()
    pool.close()
    with pytest.raises(ValueError, match="the pool is closed"):
        next(pool)


def test_close_waits_for_the_thread():
    entered, finished = threading.Event(), []

    def draw(first, count):
        if first:
            entered.set()
            time.sleep(0.05)
            finished.append(first)
        return range(first, first + count)

    with Pool(draw, background=True) as pool:
        next(pool)
        assert entered.wait(LONG)
    assert finished == [1]
    assert not pool_threads()


def test_the_thread_ends_with_the_pool():
    pool = Pool(Draws(), background=True)
    next(pool)
    assert len(pool_threads()) == 1
    del pool
    gc.collect()
    wait_for_the_end()


@pytest.mark.parametrize("method", ["graph", "layer", "cluster", "fastgcn", "ladies"])
def test_the_thread_ends_with_the_trainer(gnn, tmp_path, method):
    config = config_from({"method": method, "hidden": 8, "epochs": 1, "background": True})
    dataset = tiny_dataset(tmp_path)
    gnn.train(dataset, config)
    assert not pool_threads()
    with gnn.make_trainer(dataset, config) as trainer:
        trainer.step()
        assert len(pool_threads()) == 1
    assert not pool_threads()
    with pytest.raises(ValueError, match="the trainer is closed"):
        trainer.step()
    trainer = gnn.make_trainer(dataset, config)
    trainer.step()
    del trainer
    gc.collect()
    wait_for_the_end()


def test_the_thread_ends_when_training_fails(gnn, tmp_path):
    def fail(state):
        raise RuntimeError("enough")

    config = config_from({"hidden": 8, "epochs": 3, "background": True})
    with pytest.raises(RuntimeError, match="enough"):
        gnn.train(tiny_dataset(tmp_path), config, after_epoch=fail)
    assert not pool_threads()


def test_the_interpreter_ends_with_a_refill_under_way():
    code = (
        "import time\n"
        "from refimpl.training.subgraph_pool import Pool\n"
        "def draw(first, count):\n"
        "    time.sleep(0.2 if first else 0)\n"
        "    return [first]\n"
        "pool = Pool(draw, background=True)\n"
        "print(next(pool))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


@BOTH
def test_it_draws_under_the_callers_limit_on_openmp(background):
    libraries = ThreadpoolController().select(user_api="openmp").lib_controllers
    if not libraries:
        pytest.skip("no OpenMP in this process")

    def draw(first, count):
        return [[library.num_threads for library in libraries]] * count

    with Pool(draw, size=1, background=background) as pool:
        for limit in (1, 3, 2):
            with threadpool_limits(limit, user_api="openmp"):
                next(pool)  # drawn before the limit was set, if in the background
                assert next(pool) == [limit] * len(libraries)


def test_waiting_is_sampling_and_the_threads_own_time_is_not():
    def draw(first, count):
        record("sampling", 1e6)
        return range(first, first + count)

    with Meter() as profile, Pool(draw, background=True) as pool:
        for _ in range(3):
            next(pool)
    assert 0 < profile.seconds["sampling"] < 1e6


@pytest.mark.parametrize("size", [1, 3])
def test_subgraphs_do_not_depend_on_the_thread(gnn, size):
    graph = even_graph(60, 4)
    sampler = gnn.Sampler("pin_tile", m=3, n=12)
    drawn = {}
    for background in (False, True):
        with gnn.SubgraphPool(graph, sampler, 5, size=size, first=2, background=background) as pool:
            drawn[background] = [next(pool) for _ in range(7)]
    want = gnn.sample_many(graph, sampler, 5, 2, 7)
    for subs in drawn.values():
        for sub, other in zip(subs, want, strict=True):
            np.testing.assert_array_equal(sub.nodes, other.nodes)
            np.testing.assert_array_equal(sub.edge_ids, other.edge_ids)


@BOTH
def test_a_samplers_error_is_that_of_the_first_subgraph(gnn, background):
    pool = gnn.SubgraphPool(
        even_graph(10, 2), gnn.Sampler("pin_tile", m=11, n=12), 0, background=background
    )
    with pool, pytest.raises(ValueError, match="m must be at most"):
        next(pool)


def test_background_is_true_or_false(gnn):
    with pytest.raises(TypeError, match="background must be True or False"):
        gnn.SubgraphPool(even_graph(10, 2), gnn.Sampler("edge", b=3), 0, background=1)
