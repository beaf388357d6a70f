"""`pytest bench`: a test for each kernel, input and implementation, under pytest-benchmark.

The implementations of a kernel on an input are one group. The first test of a group measures the
whole group, in turns (`measuring.py`); each test then gives its rounds to the plugin, through a
timer that replays them.
"""

import itertools
import statistics
from contextlib import ExitStack

import numpy as np
import pytest
import scipy
from threadpoolctl import threadpool_limits

from bench import limits, measuring
from bench.implementations import Command, Package
from bench.inputs import SIZES, fastest
from bench.markdown import aligned, ratio, significant
from pytest_minibatch_gnn import PROGRAM, implementations
from refimpl._support.processor import processor
from refimpl._version import __version__
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.machine import MAX_LOAD, Watch, blas

STATE = pytest.StashKey["State"]()
NOTE = (
    "Medians. Speed-ups are over {first}. The limit is the memory bandwidth, the random reads or "
    "the dense products of this machine, measured in this run: the one that takes longest for the "
    "work that no version of the kernel can avoid. The share is that time over the fastest "
    "median. A share above 1 means that other programs disturbed the measurement of the limit."
)


class Replay:
    """The plugin's timer: it stands at the times of rounds that are measured already."""

    __name__ = "replayed"  # in the JSON file

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def play(self, benchmark, seconds):
        """Let the plugin count each round."""
        rounds = iter(seconds)

        def advance():
            self.now += next(rounds)

        benchmark.pedantic(advance, rounds=len(seconds))


class Group:
    """The implementations of a kernel on an input: what they took, and what limits them."""

    def __init__(self, bench, task, size, threads):
        self.kernel, self.task, self.size, self.threads = bench.kernel, task, size, threads
        self.outcomes, self.bound = {}, None

    def medians(self):
        """Return {implementation: median seconds} of those that were timed."""
        timed = {name: one.seconds for name, one in self.outcomes.items() if one.seconds}
        return {name: statistics.median(seconds) for name, seconds in timed.items()}

    def info(self, name):
        """Return what the JSON file says of one implementation."""
        work = self.task.work
        found = {"kernel": self.kernel, "input": self.task.text, "size": self.size}
        found["threads"] = self.threads
        if work:
            found["bytes"] = sum(part.bytes for part in work)
            found["random_accesses"] = sum(part.random for part in work)
            found["operations"] = sum(part.flops for part in work)
        median = self.medians().get(name)
        if self.bound is not None and median is not None:
            found["limit"] = f"{significant(self.bound.rate)} {self.bound.unit} {self.bound.name}"
            found["limit_seconds"] = self.bound.seconds
            found["share_of_limit"] = self.bound.seconds / median
        return found


class State:
    """The implementations and the groups of a run."""

    def __init__(self, config):
        self.config, self.watch, self.closing = config, Watch(), ExitStack()
        self.threads, self.timed = config.getoption("--threads"), True
        default = ["refimpl", fastest().__name__]
        self.names = implementations(config) or list(dict.fromkeys(default))
        self.made, self.groups = {}, {}

    def implementation(self, name):
        """Return the Package or the Command of a name, which is opened once."""
        if name not in self.made:
            try:
                if name.startswith(PROGRAM):
                    self.made[name] = Command(name, self.threads)
                    self.closing.callback(self.made[name].close)
                else:
                    self.made[name] = Package(name, self.threads)
            except UserError as error:
                raise pytest.UsageError(str(error)) from error
        return self.made[name]

    def group(self, bench, given, names):
        """Return the Group of a kernel and an input, which is measured once."""
        key = bench.kernel, given
        if key not in self.groups:
            size, _, form = given.partition("-")
            at = bench.forms.index(form) if form else 0
            task = next(itertools.islice(bench.tasks(size), at, None))
            made = self.groups[key] = Group(bench, task, size, 1 if bench.serial else self.threads)

            def runner(name):
                one = self.implementation(name)
                if isinstance(one, Command):
                    return measuring.Answers(one, bench, task)
                return measuring.Calls(one, bench, task, large=size == "large")

            with threadpool_limits(limits=self.threads):
                made.outcomes = measuring.measured(names, runner, self.timed)
            if self.timed:
                made.bound = limits.bound(task.work, made.threads)
        return self.groups[key]


def pytest_addoption(parser):
    """Add the options of the benchmarks, beside those of pytest-benchmark."""
    group = parser.getgroup("minibatch-gnn benchmarks")
    group.addoption(
        "--large",
        action="store_true",
        help="also time large inputs, refimpl only where one call takes at most a second",
    )
    group.addoption(
        "--threads",
        type=int,
        default=1,
        metavar="N",
        help="number of threads of OpenMP and BLAS, for all implementations (default: 1)",
    )


def pytest_configure(config):
    """Refuse bad usage; the plugin's own warnings do not end the run."""
    category = "pytest_benchmark.logger.PytestBenchmarkWarning"
    config.addinivalue_line("filterwarnings", f"default::{category}")
    threads = config.getoption("--threads")
    if threads < 1:
        raise pytest.UsageError(f"--threads must be at least 1, got {threads}")
    state = config.stash[STATE] = State(config)
    if config.getoption("strict") and state.watch.busy:  # pytest's own --strict is wider here
        raise pytest.UsageError(
            f"--strict: the load is {state.watch.load:.2f} a core, above {MAX_LOAD}: wait until "
            "other programs have ended"
        )
    for name in state.names:
        state.implementation(name)


def pytest_unconfigure(config):
    """End the programs."""
    if STATE in config.stash:
        config.stash[STATE].closing.close()


def pytest_generate_tests(metafunc):
    """Make a test for each kernel, input and implementation of a topic."""
    if "replay" not in metafunc.fixturenames:
        return
    state = metafunc.config.stash[STATE]
    sizes = list(SIZES) if metafunc.config.getoption("--large") else list(SIZES)[:2]
    cases = []
    for bench in metafunc.function.benches:
        kernel = bench.kernel.replace(" ", "_")
        for size, form in itertools.product(sizes, bench.forms or [""]):
            given = f"{size}-{form}" if form else size
            for name in state.names:
                if state.implementation(name).has(bench):
                    mark = pytest.mark.benchmark(group=f"{kernel} {given}", timer=Replay())
                    marks = mark, pytest.mark.filterwarnings("default")
                    case = f"{kernel}-{given}-{name}"
                    cases.append(pytest.param(kernel, given, name, marks=marks, id=case))
    metafunc.parametrize(("kernel", "size", "impl"), cases)


def pytest_collection_modifyitems(items):
    """Leave out the topics of which no implementation has a kernel."""
    items[:] = [item for item in items if not _is_empty(item)]


def _is_empty(item):
    if "replay" not in getattr(item, "fixturenames", ()):
        return False
    return not isinstance(item.callspec.params["kernel"], str)  # pytest's mark of an empty set


@pytest.fixture
def replay(request, benchmark, kernel, size, impl):
    """A function that gives the plugin the rounds of this test, after its group was measured."""
    state, module = request.config.stash[STATE], request.module
    state.timed = benchmark.enabled
    (bench,) = [one for one in request.function.benches if one.kernel.replace(" ", "_") == kernel]
    chosen = [item.callspec.params for item in request.session.items if item.module is module]
    names = [one["impl"] for one in chosen if (one["kernel"], one["size"]) == (kernel, size)]

    def play():
        group = state.group(bench, size, names)
        outcome = group.outcomes[impl]
        benchmark.extra_info.update(group.info(impl))
        if isinstance(outcome.error, measuring.Missing | measuring.LeftOut):
            pytest.skip(str(outcome.error))
        if outcome.error is not None:
            raise outcome.error
        timer = request.node.get_closest_marker("benchmark").kwargs["timer"]
        timer.play(benchmark, outcome.seconds or [0.0])

    return play


def pytest_benchmark_update_machine_info(config, machine_info):
    """Add what the times depend on; nothing that changes from run to run."""
    state = config.stash[STATE]
    for name in [name for name in machine_info["cpu"] if name.startswith("hz_actual")]:
        del machine_info["cpu"][name]
    builds = {name: one.build for name, one in state.made.items() if one.build}
    packages = {name: one for name, one in state.made.items() if isinstance(one, Package)}
    machine_info["processor"] = processor()
    machine_info["minibatch_gnn"] = {
        "version": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "blas": blas(),
        "threads": state.threads,
        "builds": builds,
        "peers": {name: one.versions for name, one in packages.items() if one.versions},
    }


def pytest_benchmark_update_json(config, benchmarks, output_json):
    """Add the load, which tells how far the times can be trusted."""
    watch = config.stash[STATE].watch
    output_json["load"] = {"before": watch.load, "share_of_others": watch.share_of_others()}


def pytest_report_header(config):
    """Say what is timed, and how busy the machine is."""
    state = config.stash[STATE]
    load = "unknown" if state.watch.load is None else f"{state.watch.load:.2f} a core"
    return f"kernels of {', '.join(state.names)}; threads: {state.threads}; load: {load}"


@pytest.hookimpl(trylast=True)  # below the tables of pytest-benchmark
def pytest_terminal_summary(terminalreporter, config):
    """Print the closing table and the load."""
    state = config.stash[STATE]
    groups = [group for group in state.groups.values() if group.medians()]
    if groups:
        terminalreporter.section("speed-up and share of this machine's limits")
        for line in [*closing_table(groups, state.names), *state.watch.verdict()]:
            terminalreporter.write_line(line)


def closing_table(groups, names):
    """Return the lines of the table: a row for each kernel and input."""
    first, *others = names
    titles = ["kernel", "input", *(f"{name} ms" for name in names)]
    titles += [f"speed-up {name}" for name in others] + ["limit", "share"]
    rows = []
    for group in groups:
        found = group.medians()
        cells = [significant(1e3 * found[name]) if name in found else "-" for name in names]
        for name in others:
            both = name in found and first in found
            cells.append(ratio(found[first] / found[name]) if both else "-")
        limit, share = "-", "-"
        if group.bound is not None:
            limit = f"{significant(group.bound.rate)} {group.bound.unit} {group.bound.name}"
            share = f"{group.bound.seconds / min(found.values()):.2f}"
        rows.append([group.kernel, group.task.text, *cells, limit, share])
    why = limits.why_no_probes()
    missing = [f"Memory bandwidth and random reads were not measured: {why}."] if why else []
    return [*aligned(titles, rows, left=2), "", NOTE.format(first=first), *missing]
