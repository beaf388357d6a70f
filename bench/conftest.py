"""Who is timed on how many threads, and how a benchmark is told what it measures."""

import importlib
from itertools import count
from time import perf_counter

import pytest
from threadpoolctl import threadpool_limits

from bench.inputs import SIZES
from bench.machine import THREADS
from bench.timing import MIN_ROUNDS

MAX_SECONDS = 0.5  # a benchmark goes on until then, but not under MIN_ROUNDS


def pytest_addoption(parser):
    group = parser.getgroup("minibatch-gnn")
    group.addoption("--quick", action="store_true", help="smallest inputs only, as a test")
    group.addoption("--bench-threads", help="numbers of threads, parted by commas")


def pytest_configure(config):
    config.addinivalue_line("markers", "serial: one thread; the kernel has no parallel loop")
    config.addinivalue_line("markers", "sizes(*names): inputs, smallest first")


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker
    chosen = metafunc.config.option.bench_threads
    threads = [int(word) for word in chosen.split(",")] if chosen else THREADS
    threads = threads[:1] if marker("serial") else threads
    if "gnn" in metafunc.fixturenames:
        sizes = marker("sizes").args if marker("sizes") else ("small", "large")
        sizes = sizes[:1] if metafunc.config.option.quick else sizes
        cases = [
            pytest.param(gnn, t, size, id=f"{size}-{gnn}-{t}")
            for size in sizes
            for gnn, t in [("refimpl", 1)] + [("fastimpl", t) for t in threads]
            if gnn == "fastimpl" or size != "large"  # refimpl would take minutes
        ]
        metafunc.parametrize("gnn, threads, size", cases, indirect=True)
    elif "threads" in metafunc.fixturenames:
        metafunc.parametrize("threads", threads, indirect=True)


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.benchmark(min_rounds=MIN_ROUNDS, max_time=MAX_SECONDS))


@pytest.fixture
def gnn(request):
    """Return the package that is timed."""
    return importlib.import_module(request.param)


@pytest.fixture
def threads(request):
    """Limit OpenMP and BLAS to a number of threads, and return it."""
    with threadpool_limits(request.param):
        yield request.param


@pytest.fixture
def size(request):
    """Return the name of the input, a key of `SIZES`."""
    return request.param


@pytest.fixture
def quick(request):
    """Whether each benchmark runs once, as a test."""
    return request.config.option.quick


class Case:
    """One benchmark: a package, a number of threads and an input."""

    def __init__(self, benchmark, gnn, threads, size):
        self.benchmark, self.gnn, self.threads = benchmark, gnn, threads
        self.size, self.scale = size, SIZES[size]
        self.other = importlib.import_module(
            "refimpl" if gnn.__name__ == "fastimpl" else "fastimpl"
        )

    def describe(self, kernel, text, work):
        """Say what is timed; `work` is a list of Parts."""
        self.benchmark.group = f"{kernel} | {text}"
        self.benchmark.extra_info.update(
            kernel=kernel,
            input=text,
            size=self.size,
            package=self.gnn.__name__,
            threads=self.threads,
            work=[part._asdict() for part in work],
        )

    def run(self, function, *args, **kwargs):
        """Time the same call again and again; return its result."""
        return self.benchmark(function, *args, **kwargs)

    def run_turns(self, function, arguments):
        """Time calls on changing or consumed arguments; return (args, result) of the last.

        ``arguments(i)`` gives the arguments of turn i, untimed; i stays below MIN_ROUNDS and is 0
        in the last turn. A branch predictor learns a short random walk that is only repeated.
        """
        begin = perf_counter()
        if self.benchmark.enabled:
            function(*arguments(0))
        seconds = perf_counter() - begin
        rounds = MIN_ROUNDS * max(1, min(30, int(MAX_SECONDS / seconds / MIN_ROUNDS)))
        turns, last = count(), []

        def setup():
            last[:] = arguments(next(turns) % MIN_ROUNDS)
            return last, {}

        result = self.benchmark.pedantic(function, setup=setup, rounds=rounds, warmup_rounds=1)
        return last, result


@pytest.fixture
def case(benchmark, gnn, threads, size):
    return Case(benchmark, gnn, threads, size)


def pytest_benchmark_update_json(output_json):
    for one in output_json["benchmarks"]:
        one["stats"].pop("data", None)  # every single time: megabytes, and nothing reads them
