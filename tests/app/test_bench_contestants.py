"""`minibatch-gnn bench`: what programs are asked, and what packages may not do to their inputs."""

import copy
import io
import json
import shlex
import sys
from contextlib import ExitStack, suppress

import numpy as np
import pytest
from conformance_programs import answering

import refimpl
from refimpl.lab.apps.bench import command, measuring
from refimpl.lab.apps.bench.checks import restored
from refimpl.lab.apps.bench.work import Part
from refimpl.lab.apps.cli import main as cli
from refimpl.lab.apps.conformance.protocol import Server
from refimpl.lab.backend import own

pytestmark = pytest.mark.runs

PROGRAM = """
import json, os, refimpl
from refimpl.lab.apps.conformance.protocol import Server
server = Server(refimpl)
def reply(question):
    rounds = question.pop("time", 0)
    answer = server.answer(question)
    if rounds:
        told = os.environ["OMP_NUM_THREADS"], os.environ["OPENBLAS_NUM_THREADS"]
        print(json.dumps([rounds, question["args"].get("main"), *told]), file=open({log!r}, "a"))
        answer["nanoseconds"] = {took}
    return answer
"""


def bench_of(kernel):
    """Return the benchmark of a kernel, with its tiny inputs only."""
    (one,) = measuring.chosen_benches(lambda name, topic: name == kernel)
    return one._replace(tasks=lambda size: one.tasks(size) if size == "tiny" else iter(()))


def measured(names, kernel, quick=False, threads=1):
    """Return the cells of each row of a kernel by contestant."""
    with ExitStack() as stack:
        there = measuring.opened(stack, names, threads)
        setting = measuring.Setting(there, [threads], quick, measuring.limiting())
        return [{c.impl: c for c in r.cells} for r in measuring.rows(setting, [bench_of(kernel)])]


@pytest.fixture
def asked(tmp_path):
    """Measure a program that says `took`; return its first cell, and what it was asked."""

    def ask(kernel, took, **options):
        log = tmp_path / "asked"
        name = "cmd:" + shlex.join(answering(PROGRAM.format(log=str(log), took=took)))
        (cell,) = measured([name], kernel, **options)[0].values()
        lines = log.read_text().splitlines() if log.exists() else []
        return cell, [json.loads(line) for line in lines]

    return ask


def test_a_sampler_of_a_program_draws_another_sample_in_each_round(asked):
    cell, questions = asked("pin_tile", "[1000 + len(str(question))]")
    assert (cell.verdict, cell.rounds) == ("timed", 7)
    assert [rounds for rounds, *_ in questions] == [1] * 7
    assert len({str(main) for _, main, *_ in questions}) == 7


def test_a_program_is_told_the_threads_of_its_column(asked):
    cell, questions = asked("transpose_perm", "[1000] * rounds", threads=3)
    assert cell.threads == 3 and {(omp, blas) for _, _, omp, blas in questions} == {("3", "3")}


@pytest.mark.parametrize(
    ("seconds", "rounds", "questions"), [(4, 1, [1]), (2, 10, [1, 10]), (1e-6, 21, [1, 21])]
)
def test_a_slow_call_of_a_program_is_repeated_less(asked, seconds, rounds, questions):
    cell, found = asked("transpose_perm", f"[{int(seconds * 1e9)}] * rounds")
    assert (cell.verdict, cell.rounds, cell.median) == ("timed", rounds, pytest.approx(seconds))
    assert [one for one, *_ in found] == questions


@pytest.mark.parametrize("kernel", ["transpose_perm", "pin_tile"])
def test_a_clock_that_stands_still_gives_no_time(asked, kernel):
    cell, _ = asked(kernel, "[0] * rounds")
    assert cell.verdict == "not timed" and "too coarse" in cell.said and cell.median is None


def test_a_coarse_clock_is_asked_more_than_once(asked):
    cell, _ = asked("transpose_perm", "[0] if rounds == 1 else [1000] * rounds")
    assert (cell.verdict, cell.median) == ("timed", pytest.approx(1e-6))


def test_quick_asks_a_program_for_no_time(asked):
    cell, questions = asked("transpose_perm", "1 / 0", quick=True)
    assert cell.verdict == "right" and not questions


def sorts_its_rows(X, rows, scaling=None, dtype=None):
    found = np.asarray(X)[rows]
    rows.sort()
    return found


def fails_after(X, rows, scaling=None, dtype=None):
    X[...] = 0
    raise NotImplementedError


def test_a_kernel_that_changes_its_input_is_refused_and_spoils_nothing(module):
    module("sorts", gather_rows=sorts_its_rows)
    module("fails", gather_rows=fails_after)
    bench = bench_of("gather_rows")
    tasks = list(bench.tasks("tiny"))
    before = copy.deepcopy([task.args for task in tasks])
    setting = measuring.Setting(
        [measuring.Package(name) for name in ("sorts", "fails", "refimpl")],
        *([1], True, measuring.limiting()),
    )
    (row,) = measuring.rows(setting, [bench._replace(tasks=lambda size: iter(tasks))])
    sorting, failing, theirs = row.cells
    assert (sorting.verdict, sorting.said) == ("differs", "it changed its argument rows")
    assert (failing.verdict, theirs.verdict) == ("missing", "right")
    for task, want in zip(tasks, before, strict=True):
        np.testing.assert_array_equal(task.args["rows"], want["rows"])
        np.testing.assert_array_equal(task.args["X"], want["X"])


def test_what_is_restored():
    for value, spoil in (
        ([1, 2], lambda v: v.append(3)),
        ({"a": np.zeros(2)}, lambda v: v.pop("a")),
        ({"a": [np.array([np.nan, 1.0])]}, lambda v: v["a"][0].fill(0)),
        (Part(np.zeros(2)), lambda v: v.bytes.fill(1)),
    ):
        before = copy.deepcopy(value)
        assert not restored(value, before)
        spoil(value)
        assert restored(value, before) and not restored(value, before)


def test_the_files_are_written_before_the_report_is_read(tmp_path, monkeypatch):
    """As by `| head`, which ends after a few lines."""

    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    file = tmp_path / "run.json"
    options = ["bench", "--quick", "--impl", "refimpl", "--only", "floyd", "--json", str(file)]
    monkeypatch.setattr(sys, "stdout", Closed())
    with suppress(BrokenPipeError):
        cli(options)
    assert file.exists() and command.saved.read(file).rows


def test_both_commands_agree_on_what_a_module_has_of_its_own(module):
    made = module(
        "builds_on_it", transpose_perm=refimpl.transpose_perm, mix=lambda x: refimpl.streams.mix(x)
    )
    graph = {"indptr": [0, 0], "indices": []}
    answer = Server(made).answer({"call": "transpose_perm", "args": {"graph": graph}})
    assert answer == {"skip": "not implemented"}
    (cell,) = measured(["builds_on_it"], "transpose_perm", quick=True)[0].values()
    assert cell.verdict == "missing"
    (cell,) = measured(["builds_on_it"], "mix", quick=True)[0].values()
    assert cell.verdict == "right"


def test_whole_packages_have_all_of_their_names():
    import fastimpl

    for package in (refimpl, fastimpl, refimpl.backend(refimpl, spmm=print)):
        assert all(own(package, name) for name in ("key", "spmm", "BidirectionalCache"))
