"""Batches sampled ahead: the same bits in order, a bound, errors, and the threads' end."""

import gc
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from random import Random

import numpy as np
import pytest
from comparison import assert_bits
from strategies import even_graph
from tiny_data import tiny_dataset

from refimpl.lab.backend import bind
from refimpl.lab.training.config import config_from
from refimpl.lab.training.prefetch import Prefetcher
from refimpl.profiling import Meter, record

pytestmark = pytest.mark.runs

LONG = 30  # seconds: what should happen at once
GRAPH = even_graph(300, 8)
SEEDS = [np.arange(b, 300, 40) for b in range(9)]
NAME = {"seed": 5, "epoch": 6}
EVERY = pytest.mark.parametrize("workers", [0, 1, 2, 4, 8])
ASYNCHRONOUS = pytest.mark.parametrize("workers", [1, 2, 8])


def prefetch_threads():
    return [t for t in threading.enumerate() if t.name.startswith("minibatch-gnn-prefetch")]


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    gc.collect()
    wait_for_the_end()


def wait_for_the_end():
    for thread in prefetch_threads():
        thread.join(LONG)
    assert not prefetch_threads()


class Sampler:
    """A package whose `sample_mfg` is instrumented; it returns the batch's number."""

    def __init__(self, before=lambda batch: None):
        self.before, self.lock = before, threading.Lock()
        self.begun, self.threads = [], set()

    def sample_mfg(self, graph, roots, *, batch, **options):
        with self.lock:
            self.begun.append(batch)
            self.threads.add(threading.get_ident())
        self.before(batch)
        return batch


def prefetcher(gnn, count=9, **options):
    return bind(Prefetcher, gnn, __name__)(GRAPH, SEEDS[:count], (4, 3), **NAME, **options)


def sleep_at_random(seed):
    random = Random(seed)
    return lambda batch: time.sleep(random.random() * 0.01)


@EVERY
@pytest.mark.parametrize("window", [1, 2, 5, 20])
@pytest.mark.parametrize(
    ("mode", "kappa"), [("layered", 1), ("shared", 1), ("labor", 4), ("labor_1", 4)]
)
def test_the_same_graphs_for_any_workers_and_window(gnn, workers, window, mode, kappa):
    """Bit for bit what `sample_mfg` draws, in order."""
    how = {"mode": mode, "batch_dependency": kappa}
    want = gnn.samplers.sample_mfg_many(GRAPH, SEEDS, (4, 3), **NAME, **how)
    with gnn.Prefetcher(
        GRAPH, SEEDS, (4, 3), **NAME, workers=workers, window=window, **how
    ) as batches:
        assert iter(batches) is batches
        got = list(batches)
    assert [b for b, _ in got] == list(range(len(SEEDS)))
    assert_bits([mfg for _, mfg in got], want)
    assert not prefetch_threads()


@EVERY
@pytest.mark.parametrize("numbers", [[4, 1, 4], [], range(2, 9, 3)])
def test_some_of_the_batches(gnn, workers, numbers):
    """With the bits that they have among all."""
    want = gnn.samplers.sample_mfg_many(GRAPH, SEEDS, (4, 3), **NAME)
    options = {"workers": workers, "window": 2, "numbers": numbers}
    with gnn.Prefetcher(GRAPH, SEEDS, (4, 3), **NAME, **options) as batches:
        got = list(batches)
    assert [b for b, _ in got] == list(numbers)
    assert_bits([mfg for _, mfg in got], [want[b] for b in numbers])


@pytest.mark.parametrize("numbers", [[-1], [len(SEEDS)], [0.5], 3])
def test_numbers_of_no_batch(gnn, numbers):
    with pytest.raises((TypeError, ValueError), match="numbers must"):
        gnn.Prefetcher(GRAPH, SEEDS, (4, 3), **NAME, numbers=numbers)


@ASYNCHRONOUS
@pytest.mark.parametrize("window", [1, 3, 20])
def test_order_does_not_depend_on_who_is_fast(workers, window):
    """With random sleeps: what comes out stays in order."""
    for seed in range(4):
        sampler = Sampler(sleep_at_random(seed))
        assert list(prefetcher(sampler, workers=workers, window=window)) == [
            (b, b) for b in range(9)
        ]
        assert sorted(sampler.begun) == list(range(9))
        assert len(sampler.threads) <= workers
        assert threading.get_ident() not in sampler.threads


@ASYNCHRONOUS
@pytest.mark.parametrize("window", [1, 2, 4])
def test_no_more_is_begun_than_the_window_holds(workers, window):
    """A batch that is begun is fewer than `window` behind the next that will come out."""
    taken, overshot = 0, []

    def before(batch):
        if batch > taken + window:  # `taken` counts a moment after a batch is out
            overshot.append((batch, taken))

    sampler = Sampler(before)
    with prefetcher(sampler, workers=workers, window=window) as batches:
        for _ in range(9):
            next(batches)
            taken += 1
            wait_for(sampler, min(taken + window, 9))
            time.sleep(0.002)
            assert len(sampler.begun) == min(taken + window, 9)
    assert not overshot


def wait_for(sampler, count):
    """Wait until so many batches are begun."""
    end = time.monotonic() + LONG
    while len(sampler.begun) < count:
        assert time.monotonic() < end
        time.sleep(0.0005)


def test_a_slow_first_batch_is_no_deadlock():
    """Later batches fill the window while the head still runs; the head comes out first."""
    head = threading.Event()

    def before(batch):
        if batch == 0:
            assert head.wait(LONG)

    sampler = Sampler(before)
    with prefetcher(sampler, workers=4, window=3) as batches:
        threading.Timer(0.05, head.set).start()
        assert next(batches) == (0, 0)
        assert [b for b, _ in batches] == list(range(1, 9))


def test_workers_sample_at_the_same_time():
    barrier = threading.Barrier(3, timeout=LONG)
    sampler = Sampler(lambda batch: barrier.wait())  # nobody goes on alone
    with prefetcher(sampler, workers=3, window=3) as batches:
        assert [b for b, _ in batches] == list(range(9))
    assert len(sampler.threads) == 3


def test_without_workers_nothing_is_drawn_ahead():
    sampler = Sampler()
    with prefetcher(sampler) as batches:
        assert sampler.begun == []
        assert next(batches) == (0, 0)
    assert sampler.begun == [0]
    assert sampler.threads == {threading.get_ident()}


@EVERY
@pytest.mark.parametrize("wrong", [0, 4, 8])
def test_an_error_comes_at_its_batch_and_ends_the_threads(workers, wrong):
    """No thread is left over."""

    def before(batch):
        if batch == wrong:
            raise KeyError(f"no {batch}")

    batches = prefetcher(Sampler(before), workers=workers, window=3)
    assert [next(batches)[0] for _ in range(wrong)] == list(range(wrong))
    with pytest.raises(KeyError, match=f"no {wrong}"):
        next(batches)
    assert not prefetch_threads()
    with pytest.raises(ValueError, match="the prefetcher is closed"):
        next(batches)


@EVERY
def test_the_consumer_may_stop_early(workers):
    with prefetcher(Sampler(sleep_at_random(1)), workers=workers) as batches:
        for b, _ in batches:
            if b == 2:
                break
    assert not prefetch_threads()
    batches.close()
    with pytest.raises(ValueError, match="the prefetcher is closed"):
        next(batches)


@ASYNCHRONOUS
def test_the_threads_end_with_the_prefetcher(workers):
    batches = prefetcher(Sampler(), workers=workers)
    next(batches)
    assert prefetch_threads()
    del batches
    gc.collect()
    wait_for_the_end()


@pytest.mark.parametrize("method", ["fresh", "neighbor", "vrgcn"])
def test_the_threads_end_with_the_trainer(gnn, tmp_path, method):
    """At once, not when Python next looks for objects that hold each other."""
    options = {"method": method, "batch_size": 9, "hidden": 8, "epochs": 1, "workers": 2}
    options |= {"model": "gcn"} if method == "vrgcn" else {}
    trainer = gnn.make_trainer(tiny_dataset(tmp_path), config_from(options))
    gc.disable()
    try:
        trainer.step()
        assert len(prefetch_threads()) == 2
        del trainer
        wait_for_the_end()
    finally:
        gc.enable()


@ASYNCHRONOUS
def test_the_threads_end_with_the_last_batch(workers):
    batches = prefetcher(Sampler(), workers=workers)
    assert len(list(batches)) == 9
    assert not prefetch_threads()
    assert list(batches) == []


@EVERY
@pytest.mark.parametrize("count", [0, 1, 3])
def test_few_batches(workers, count):
    """None at all, and fewer than workers."""
    sampler = Sampler()
    got = list(prefetcher(sampler, count, workers=workers, window=2))
    assert got == [(b, b) for b in range(count)]
    assert (len(sampler.threads) > 0) == (count > 0)


def test_an_interrupted_wait_loses_nothing(monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    sampler = Sampler()
    with prefetcher(sampler, workers=2) as batches:
        assert next(batches) == (0, 0)
        with monkeypatch.context() as patch:
            patch.setattr(Future, "result", interrupt)
            with pytest.raises(KeyboardInterrupt):
                next(batches)
        assert [b for b, _ in batches] == list(range(1, 9))
    assert sorted(sampler.begun) == list(range(9))


def test_the_interpreter_ends_with_batches_under_way():
    code = (
        "import time, numpy as np, refimpl\n"
        "from refimpl.lab.backend import bind\n"
        "from refimpl.lab.training.prefetch import Prefetcher\n"
        "class Slow:\n"
        "    def sample_mfg(graph, roots, *, batch, **options):\n"
        "        time.sleep(0.1)\n"
        "        return batch\n"
        "graph = refimpl.as_graph([(0, 1)], n=2)\n"
        "OPTIONS = dict(seed=0, epoch=0, workers=2)\n"
        "batches = bind(Prefetcher, Slow, 'here')(graph, [[0]] * 9, (1,), **OPTIONS)\n"
        "print(next(batches))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "(0, 0)\n", "")


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_a_worker_has_one_openmp_thread_and_the_caller_keeps_its_own(workers):
    """In a process where a new thread would have 3."""
    code = (
        "import fastimpl\n"
        "from threadpoolctl import ThreadpoolController\n"
        "libraries = ThreadpoolController().select(user_api='openmp').lib_controllers\n"
        "counts = lambda: {lib.num_threads for lib in libraries}\n"
        "seen = set()\n"
        "class Sampler:\n"
        "    def sample_mfg(graph, roots, **options):\n"
        "        seen.update(counts())\n"
        "from refimpl.lab.backend import bind\n"
        "from refimpl.lab.training.prefetch import Prefetcher\n"
        "graph = fastimpl.as_graph([(0, 1)], n=2)\n"
        f"options = dict(seed=0, epoch=0, workers={workers})\n"
        "list(bind(Prefetcher, Sampler, __name__)(graph, [[0]] * 9, (1,), **options))\n"
        "print(seen, counts())"
    )
    env = {**os.environ, "OMP_NUM_THREADS": "3"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG, env=env
    )
    if done.stdout == "set() set()\n":
        pytest.skip("no OpenMP in this process")
    assert (done.stdout, done.stderr) == (f"{{{1 if workers else 3}}} {{3}}\n", "")


@EVERY
def test_waiting_is_sampling_and_what_the_sampler_records_itself_is_not_added(workers):
    """It is part of the wait, or it ran in a worker beside the training."""
    sampler = Sampler(lambda batch: record("sampling", 1e6))
    with Meter() as profile:
        list(prefetcher(sampler, workers=workers))
    assert 0 < profile.seconds["sampling"] < 1e6


BAD = {
    "workers": ({"workers": -1}, ValueError, r"workers must be in \[0, 1024\]"),
    "workers-float": ({"workers": 1.0}, TypeError, "workers must be an integer"),
    "window": ({"window": 0}, ValueError, r"window must be in \[1, "),
    "mode": ({"mode": "both"}, ValueError, "mode must be one of"),
    "fanouts": ({"fanouts": 3}, TypeError, "fanouts must be a sequence"),
    "roots": ({"batches": [[1], [2, 2]]}, ValueError, "roots must be distinct"),
    "batches": ({"batches": 3}, TypeError, "batches must be a sequence"),
    "seed": ({"seed": -1}, ValueError, "seed must be"),
    "epoch": ({"epoch": None}, TypeError, "epoch must be an integer"),
    "graph": ({"graph": None}, TypeError, "graph must be a Graph"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_refused_at_once(gnn, case):
    changed, error, message = BAD[case]
    good = {"graph": GRAPH, "batches": SEEDS, "fanouts": (2,), **NAME}
    with pytest.raises(error, match=message):
        gnn.Prefetcher(**{**good, **changed})
