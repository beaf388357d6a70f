"""`minibatch-gnn bench`: its report, what it says of wrong and partial packages, its files."""

import csv
import os
import sys
from contextlib import contextmanager

import numpy as np
import pytest

import fastimpl
import refimpl
from refimpl.lab.apps.bench import (
    apart,
    command,
    contestants,
    measuring,
    probes,
    report,
    saved,
    yardsticks,
)
from refimpl.lab.apps.bench.checks import Differs, alike, near, same
from refimpl.lab.apps.bench.limits import Limits
from refimpl.lab.apps.bench.timing import MIN_ROUNDS, Stopwatch, in_turns, summary
from refimpl.lab.apps.bench.work import Part, dense
from refimpl.lab.apps.bench.yardsticks import Limit
from refimpl.lab.apps.cli import main as cli

pytestmark = pytest.mark.runs


STARTED = apart.started


@contextmanager
def here(request):
    """Answer a request at once: what `apart.started` does in another process."""
    told: list = []
    apart.answer(request, lambda *message: told.append(message))
    messages = iter(told)
    yield lambda timeout: next(messages)


@pytest.fixture
def bench(monkeypatch, capsys):
    """Run the command on a machine that says it is idle; return its status and what it printed.

    It measures in this process, which has the modules that a test made.
    """
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
    monkeypatch.setattr(apart, "started", here)

    def run(*words):
        status = cli(["bench", *map(str, words)])
        return status, *capsys.readouterr()

    return run


def test_quick_checks_all_answers_of_both_packages(bench):
    status, out, _ = bench("--quick", "--threads", "1")
    benches = measuring.chosen_benches(lambda kernel, topic: True)
    tasks = sum(len(list(one.tasks("tiny"))) for one in benches)
    assert status == 0
    assert f"refimpl, 1 thread: {tasks} right" in out
    assert f"fastimpl, 1 thread: {tasks} right" in out


def test_a_partial_module_is_timed_where_it_has_a_kernel_of_its_own(bench, module):
    def wrong(graph, data, X):
        return 2 * refimpl.spmm(graph, data, X)

    def not_done(k, c):
        raise NotImplementedError

    def crash(X, *, eps=1e-6):
        raise ZeroDivisionError("by a | b")

    module(
        "part_of_it",
        transpose_perm=lambda graph: np.argsort(graph.indices, kind="stable").astype(np.int32),
        induced_subgraph=refimpl.induced_subgraph,  # to build on
        adam_step=lambda *args, **options: refimpl.adam_step(*args, **options),
        spmm=wrong,
        uniform=not_done,
        row_l2_forward=crash,
    )
    only = ("transpose_perm", "induced_subgraph", "spmm", "uniform", "row_l2_forward", "training*")
    words = [word for name in only for word in ("--only", name)]
    status, out, _ = bench("--quick", "--impl", "refimpl,part_of_it", *words)
    assert status == 1
    assert "part_of_it, 1 thread: 2 right, 4 differs, 2 missing" in out
    assert "- spmm, n=16 e=64 f=128 float32: part_of_it on 1 thread, differs: result[0, 0]" in out
    assert "row_l2_forward, s=16 f=16 float32: part_of_it on 1 thread, differs: Zero" in out


def test_a_report_has_a_column_each_and_files_that_say_the_same(
    bench, module, tmp_path, monkeypatch
):
    monkeypatch.setattr(yardsticks, "FOOTPRINTS", yardsticks.QUICK)
    monkeypatch.setattr(yardsticks, "PRODUCTS", [(32, 32, 32)])
    module("only_one", transpose_perm=fastimpl.transpose_perm)
    files = {name: tmp_path / f"run.{name}" for name in ("json", "csv", "md", "svg")}
    words = ["--impl", "refimpl,fastimpl", "--impl", "only_one", "--threads", "1"]
    words += ["--only", "transpose_perm", "--only", "floyd", "--force-noisy"]
    words += ["--out", files["md"], "--json", files["json"], "--csv", files["csv"]]
    status, out, _ = bench(*words, "--histogram", files["svg"])
    assert status == 0 and files["md"].read_text() == out
    head, rule, *lines = [line for line in out.splitlines() if line.startswith("|")][:7]
    assert [cell.strip() for cell in head.strip("|").split("|")] == [
        *("kernel", "input", "refimpl ms", "fastimpl ms", "only_one ms"),
        *("speed-up, fastimpl", "speed-up, only_one", "achieved", "limit", "fraction of limit"),
    ]
    assert len({len(line) for line in (head, rule, *lines)}) == 1
    assert lines[0].startswith("| floyd") and "missing" in lines[0]
    run = saved.read(files["json"])
    assert run.impls == ["refimpl", "fastimpl", "only_one"] and run.threads == [1]
    cells = {(row.kernel, row.size, c.impl): c for row in run.rows for c in row.cells}
    for name in ("refimpl", "fastimpl", "only_one"):
        cell = cells["transpose_perm", "small", name]
        assert cell.verdict == "timed" and cell.rounds >= MIN_ROUNDS
        assert 0 < cell.least <= cell.median < 60
    assert cells["transpose_perm", "large", "refimpl"].verdict == "left out"
    assert cells["floyd", "tiny", "only_one"].verdict == "missing"
    assert report.lines(run)[2] in out.splitlines()  # what is read again gives the same table
    with files["csv"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(cells) == 18
    assert float(rows[0]["median"]) == cells["floyd", "tiny", "refimpl"].median
    assert "transpose_perm" in files["svg"].read_text()
    status, out, err = bench(*words)
    assert status == 2 and "is there already: give --overwrite" in err


def test_a_program_of_the_protocol_has_a_column(bench):
    server = f"{sys.executable} -m refimpl.lab.apps.conformance.protocol fastimpl"
    words = ("--impl", f"refimpl,cmd:{server}", "--only", "transpose_perm", "--only", "adam_step")
    status, out, _ = bench("--quick", *words, "--only", "training*", "--only", "cache_admit")
    assert status == 0
    assert f"- Program cmd:{server}: fastimpl" in out
    assert f"cmd:{server}, 1 thread: 3 right, 1 missing" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--only", "spm"], "--only 'spm' fits no kernel and no topic; did you mean spmm?"),
        (["--impl", "no_such_package"], "--impl no_such_package cannot be imported"),
        (["--impl", "refimpl,refimpl"], "--impl names 'refimpl' twice"),
        (["--impl", "json"], "json is no implementation: it has no kernel"),
        (["--impl", "cmd:"], "--impl cmd: must be followed by a program"),
        (["--impl", "cmd:/no/such/program"], "--impl cmd:/no/such/program"),
        (["--impl", "cmd:'"], "--impl cmd:': No closing quotation"),
        (["--timeout", "0"], "--timeout must be above 0 and at most"),
        (["--timeout", "nan"], "--timeout must be above 0 and at most"),
        (["--threads", "0"], "--threads must be numbers in [1, 1024], got [0]"),
        (["--threads", "one"], "must be an integer, got 'one'"),
        (["--out", "no/folder/a.md"], "there is no folder"),
        (["--json", "."], "is no ordinary file"),
        (["--histogram", "a.svg", "--quick"], "--histogram draws times: --quick takes none"),
        (["--histogram", "a.pdf"], "--histogram must end in .svg or .png, got a.pdf"),
        (["--compare", "a.json"], "--compare needs at least two saved runs"),
        (["--compare", "a.json", "b.json"], "a.json: No such file"),
        (["--compare", "a", "b", "--impl", "refimpl"], "--impl does not apply with --compare"),
        (["--compare", "a", "b", "--timeout", "9"], "--timeout does not apply with --compare"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(bench, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, err = bench(*words)
    assert (status, out) == (2, "") and message in err


def test_a_busy_machine_is_refused_unless_forced(bench, monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (1e3, 0.0, 0.0), raising=False)
    monkeypatch.setattr(apart, "started", STARTED)  # which stops before it measures limits
    status, out, err = bench("--only", "floyd")
    assert (status, out) == (2, "") and "--force-noisy" in err
    for words in (["--only", "flyod"], ["--impl", "refimlp"]):  # no use to wait with these
        assert words[1] in bench(*words)[2]
    assert bench("--only", "floyd", "--quick")[0] == 0


def test_commas_in_quotes_are_the_programs():
    given = ["refimpl,cmd:python -c 'print(1,2)',mine", 'cmd:a "b,c"', "cmd:a,cmd:b"]
    assert command.implementations(given) == [
        *("refimpl", "cmd:python -c 'print(1,2)'", "mine", 'cmd:a "b,c"', "cmd:a", "cmd:b")
    ]


def test_a_build_that_is_no_dict_is_said(module):
    build = {"openmp": 1}
    module("named", build_info=build, transpose_perm=refimpl.transpose_perm)
    assert contestants.Package("named").threads([1, 2]) == [1, 2]
    module("odd", build_info=lambda: 7, transpose_perm=refimpl.transpose_perm)
    with pytest.raises(saved.UserError, match="odd.build_info must return a dict, got 7"):
        contestants.Package("odd").threads([1])


def test_the_limit_that_takes_longest_binds():
    """100 GB at 10 GB/s take 10 s, 4 TFLOP at 1,000 GFLOP/s 4 s, 1,000 M reads at 50 M/s 20 s."""
    measured = [
        Limit("triad", "GB/s", 1, 10.0, 1 << 10),
        Limit("triad", "GB/s", 1, 2.0, 1 << 40),  # only for what is so large
        Limit("GEMM float32", "GFLOP/s", 1, 1000.0, 0, "2x2x2"),
        Limit("GEMM float32", "GFLOP/s", 1, 900.0, 0, "3x3x3"),
    ]
    work = [Part(100e9, 1 << 20, 1e9, 4096, 4e12)]
    assert Limits(measured).bound(work, 2, 20.0) == (5.0, 10.0, "GB/s", "triad")
    reads = Limit("random reads", "M/s", 1, 50.0, 1 << 10)
    assert Limits([*measured, reads]).bound(work, 1, 40.0) == (25.0, 50.0, "M/s", "random reads")
    alone = dense(1000, 1000, 2000, "float32")
    assert Limits(measured[2:]).bound(alone, 1, 1.0) == (4.0, 1000.0, "GFLOP/s", "GEMM float32")
    assert Limits([]).bound(work, 1, 1.0) is None
    assert Limits([]).tables([1]) == ["No limits were measured in this run."]


def test_without_a_compiler_memory_is_not_measured_and_the_rest_is(bench, monkeypatch):
    monkeypatch.setenv("CC", "/no/such/compiler")
    probes.library.cache_clear()
    try:
        found = list(yardsticks.measure([1], measuring.limiting(), quick=True))
    finally:
        probes.library.cache_clear()
    note, *limits = found
    assert note.startswith("Bandwidth and random reads were not measured: no C compiler (/no/such")
    assert {one.name for one in limits} == {"GEMM float32", "GEMM float64"}


def test_probes_do_what_they_are_timed_for():
    found = list(yardsticks.measure([1], measuring.limiting(), quick=True))
    assert {one.name for one in found} == {"triad", "random reads", "GEMM float32", "GEMM float64"}
    assert all(one.rate > 0 for one in found)


def test_contestants_take_turns_and_one_that_fails_leaves():
    order = []

    def fail(turn):
        order.append("bad")
        if len(order) > 4:
            raise ArithmeticError("stop")

    def right(turn):
        order.append("good")

    watches = {
        name: Stopwatch(call, lambda turn: {"turn": turn}, True)
        for name, call in (("bad", fail), ("good", right))
    }
    limit = measuring.limiting()
    failed = in_turns({name: (watch, lambda: limit(1)) for name, watch in watches.items()})
    assert order[:5] == ["bad", "good", "good", "bad", "bad"] and set(order[5:]) == {"good"}
    assert list(failed) == ["bad"] and len(watches["good"].seconds) == MIN_ROUNDS


def test_short_calls_are_repeated_within_a_round_unless_they_need_fresh_arguments():
    for fresh, seconds, calls, together in (
        (False, 1e-5, 10, 30 * 1),
        (True, 1e-5, 1, 30),
        (False, 0.01, 1, 7),
        (False, 10.0, 1, 1),
    ):
        watch = Stopwatch(lambda **args: None, lambda turn: {}, fresh)
        watch.estimate(seconds)
        assert (watch.calls, watch.together) == (calls, together)
    assert summary([1.0, 2.0, 3.0, 4.0, 5.0]) == (3.0, 1.0, 2.0, 5)


@pytest.mark.parametrize(
    ("got", "want", "message"),
    [
        (np.arange(3), np.arange(4), r"x: want shape \[4\], got \[3\]"),
        (np.array([1, 2]), np.array([1, 3]), r"x\[1\]: want 3, got 2"),
        (np.array([1.0]), np.array([1]), "x: want dtype int64, got float64"),
        (np.array([1], np.int32), np.array([1]), "x: want dtype int64, got int32"),
        (np.array([[1.0, np.nan]]), np.array([[1.0, 2.0]]), r"x\[0, 1\]: want 2.0, got nan"),
    ],
)
def test_a_difference_says_where(got, want, message):
    with pytest.raises(Differs, match=message):
        same("x", got, want)
    same("x", want, want)


def test_near_numbers_pass_and_far_ones_do_not():
    near("x", 1.0 + 1e-7, 1.0, rtol=1e-6)
    with pytest.raises(Differs, match="want 1.0"):
        near("x", 1.0 + 1e-5, 1.0, rtol=1e-6)
    with pytest.raises(Differs, match="has no nodes"):
        alike((1, 2), refimpl.induced_subgraph(refimpl.as_graph([(0, 1)], symmetrize=True), [0]))


def test_threads_are_those_of_packages_that_say_so():
    assert contestants.Package("fastimpl").threads([1, 2]) == [1, 2]
    assert contestants.Package("refimpl").threads([1, 2]) == [1]
