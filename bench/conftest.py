"""Who is timed on how many threads, what the file records, and when to refuse to measure."""

import importlib
import os
from itertools import count
from pathlib import Path
from time import monotonic, perf_counter

import numpy as np
import pytest
import scipy
from threadpoolctl import threadpool_info, threadpool_limits

import fastimpl
from bench.inputs import SIZES

MIN_ROUNDS = 7
MAX_SECONDS = 0.5  # a benchmark goes on until then, but not under MIN_ROUNDS
MAX_LOAD = 0.5  # a core; above it other programs decide the times
MAX_OTHERS = 0.1  # share of the machine that others may use during the run
LOAD, BEGIN = pytest.StashKey(), pytest.StashKey()
THREADS = [1, 2] if fastimpl.build_info()["openmp"] and (os.cpu_count() or 1) > 1 else [1]


def pytest_addoption(parser):
    group = parser.getgroup("minibatch-gnn")
    group.addoption("--quick", action="store_true", help="smallest inputs only, as a test")
    group.addoption(
        "--force-noisy", action="store_true", help="measure on a busy machine, and say so"
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "serial: one thread; the kernel has no parallel loop")
    config.addinivalue_line("markers", "sizes(*names): inputs, smallest first")


def pytest_sessionstart(session):
    config = session.config
    load = os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else None
    config.stash[LOAD], config.stash[BEGIN] = load, busy_seconds()
    measuring = not (config.option.benchmark_disable or config.option.collectonly)
    if measuring and load is not None and load > MAX_LOAD and not config.option.force_noisy:
        pytest.exit(
            f"the load is {load:.2f} a core, above {MAX_LOAD}: times would mean nothing. "
            "Wait, or measure anyway with --force-noisy, which marks the file.",
            returncode=2,
        )


def busy_seconds():
    """Return the seconds that all cores, and this process, have been busy; None if unknown."""
    try:
        ticks = [int(word) for word in Path("/proc/stat").read_text().split(maxsplit=9)[1:9]]
    except OSError:  # not Linux
        return None
    user, nice, system, _idle, _wait, irq, softirq, steal = ticks
    everyone = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return monotonic(), everyone, sum(os.times()[:4])


def share_of_others(begin):
    """Return the share of the machine that other programs used since `begin`; None if unknown."""
    if begin is None:
        return None
    elapsed, everyone, own = (b - a for a, b in zip(begin, busy_seconds(), strict=True))
    return max(0.0, everyone - own) / max(elapsed, 1e-9) / (os.cpu_count() or 1)


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker
    threads = [1] if marker("serial") else THREADS
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


def pytest_benchmark_update_machine_info(config, machine_info):
    load, others = config.stash[LOAD], share_of_others(config.stash[BEGIN])
    machine_info.pop("node", None)
    machine_info["cores"] = os.cpu_count()
    machine_info["numpy"] = np.__version__
    machine_info["scipy"] = scipy.__version__
    machine_info["build"] = fastimpl.build_info()
    machine_info["threads"] = THREADS
    machine_info["load_per_core"] = load
    machine_info["share_of_others"] = others
    machine_info["noisy"] = (load or 0) > MAX_LOAD or (others or 0) > MAX_OTHERS
    machine_info["pools"] = [
        {key: value for key, value in pool.items() if key != "filepath"}
        for pool in threadpool_info()
    ]


def pytest_benchmark_update_json(output_json):
    for one in output_json["benchmarks"]:
        one["stats"].pop("data", None)  # every single time: megabytes, and nothing reads them
