"""How `pytest bench` measures: rounds in turns, untimed calls, limits of the machine."""

import math
from itertools import count
from time import perf_counter

import numpy as np
import pytest

from bench import limits, measuring
from bench.answers import Differs, same
from bench.case import Bench, Task
from bench.conftest import Replay
from bench.measuring import ROUNDS, SECONDS, Calls, LeftOut, Outcome
from bench.work import Part, dense, spmm
from refimpl import as_graph


class Fake:
    """Rounds of a made length, written down in a list that all share."""

    calls, enough = 1, Calls.enough

    def __init__(self, name, took, log, fails_at=None):
        self.name, self.took, self.log, self.fails_at = name, took, log, fails_at

    def round(self):
        self.log.append(self.name)
        if self.log.count(self.name) == self.fails_at:
            raise RuntimeError("no more")
        return [self.took]


def test_implementations_take_turns_and_each_turn_begins_with_another():
    log: list = []
    found = measuring.in_turns({name: Fake(name, 1.0, log) for name in "abc"})
    turns = [log[at : at + 3] for at in range(0, len(log), 3)]
    assert turns[:4] == [list("abc"), list("bca"), list("cab"), list("abc")]
    assert [len(found[name].seconds) for name in "abc"] == [ROUNDS] * 3


def test_rounds_go_on_until_there_is_enough_time():
    log: list = []
    short, long = SECONDS / 20, SECONDS
    found = measuring.in_turns({"a": Fake("a", short, log), "b": Fake("b", long, log)})
    assert 20 <= len(found["a"].seconds) <= 21 and len(found["b"].seconds) == ROUNDS


def test_one_that_fails_leaves_and_the_others_go_on():
    log: list = []
    fakes = {"a": Fake("a", 1.0, log, fails_at=3), "b": Fake("b", 1.0, log)}
    found = measuring.in_turns(fakes)
    assert str(found["a"].error) == "no more" and found["a"].seconds == []
    assert len(found["b"].seconds) == ROUNDS and log.count("a") == 3


class Made:
    """A package of one kernel, whose calls are written down."""

    def __init__(self, name="made"):
        self.name, self.log = name, []

    def callable(self, bench, task):
        def kernel(x, key=None):
            self.log.append((x.copy(), key))
            return np.arange(3)

        return kernel


def task_of(turn):
    def check(got, args, other):
        same("result", got, np.arange(3))

    return Task("three", {"x": np.zeros(3)}, check, turn=turn)


BENCH = Bench("mix", lambda size: iter(()))


def test_keys_advance_within_a_round_after_one_untimed_call():
    package = Made()
    calls = Calls(package, BENCH, task_of(lambda turn: {"key": turn}))
    calls.calls, begin = 3, perf_counter()
    (took,) = calls.round()
    assert 0 < 3 * took < perf_counter() - begin  # the time of one call
    assert [key for _, key in package.log] == [0, 1, 2, 3]
    calls.round()
    assert [key for _, key in package.log[4:]] == [4, 5, 6, 0]


def test_a_call_that_changes_its_arguments_gets_new_ones_each_time():
    package = Made()
    calls = Calls(package, BENCH, task_of(lambda turn: {"x": np.full(3, float(turn))}))
    calls.prepare(1e-6)
    assert calls.calls == 1  # not repeated in a round
    calls.round()
    assert [int(x[0]) for x, _ in package.log] == [0, 1]


def test_a_short_call_is_repeated_in_a_round(monkeypatch):
    monkeypatch.setattr(measuring, "perf_counter", count(0.0, 1e-6).__next__)
    calls = Calls(Made(), BENCH, task_of(None))
    calls.prepare(1e-6)
    assert calls.calls == math.ceil(measuring.ROUND / 1e-6)


def test_refimpl_is_left_out_only_of_large_inputs_that_take_it_over_a_second():
    for name, large, refused in (
        ("refimpl", True, True),
        ("refimpl", False, False),
        ("other", True, False),
    ):
        calls = Calls(Made(name), BENCH, task_of(None), large)
        if refused:
            with pytest.raises(LeftOut, match=r"one call of refimpl takes 1\.5 seconds"):
                calls.prepare(1.5)
        else:
            calls.prepare(1.5)


def test_a_wrong_answer_is_not_timed():
    class Wrong(Made):
        def callable(self, bench, task):
            return lambda **args: np.zeros(3, np.int64)

    packages = {"wrong": Wrong("wrong"), "made": Made()}
    task = task_of(None)
    found = measuring.measured(packages, lambda name: Calls(packages[name], BENCH, task))
    assert isinstance(found["wrong"].error, Differs) and found["wrong"].seconds == []
    assert "result[1]: want 1, got 0" in str(found["wrong"].error)
    assert len(found["made"].seconds) >= ROUNDS


def test_without_timing_answers_are_only_checked():
    package = Made()
    found = measuring.measured(
        ["made"], lambda name: Calls(package, BENCH, task_of(None)), timed=False
    )
    assert found == {"made": Outcome([])} and len(package.log) == 1


class Program:
    """A program that says how long its rounds took; `asked` are the rounds of each question."""

    name = "program"

    def __init__(self, took):
        self.took, self.asked, self.inputs = took, [], []

    def check(self, bench, task, given):
        return ""

    def input(self, bench, task, turn):
        self.inputs.append(turn)
        return turn

    def rounds(self, bench, task, given, count):
        self.asked.append((given, count))
        return self.took(count), ""


def answered(took, turn=None):
    program = Program(took)
    found = measuring.measured(
        ["program"], lambda name: measuring.Answers(program, BENCH, task_of(turn))
    )
    return found["program"], program


@pytest.mark.parametrize(("seconds", "together"), [(4.0, 1), (SECONDS / ROUNDS / 3.5, 3)])
def test_a_slow_call_of_a_program_is_repeated_less_in_a_question(seconds, together):
    found, program = answered(lambda count: [seconds] * count)
    assert found.seconds == [seconds] * ROUNDS * together
    assert [count for _, count in program.asked] == [1, *[together] * ROUNDS]


def test_a_program_gets_another_sample_in_each_question():
    _, program = answered(lambda count: [1e-3] * count, lambda turn: {"key": turn})
    assert [given for given, _ in program.asked[:ROUNDS]] == list(range(ROUNDS))
    assert sorted(program.inputs) == list(range(ROUNDS))  # each is made once


def test_a_coarse_clock_is_asked_for_more_rounds():
    found, program = answered(lambda count: [0.0] if count == 1 else [1e-6] * count)
    assert found.error is None and set(found.seconds) == {1e-6}
    assert program.asked[1] == (0, measuring.MOST)


@pytest.mark.parametrize("took", [0.0, SECONDS])
def test_a_clock_that_mostly_stands_still_gives_no_time(took):
    turns = iter(range(1000))
    found, _ = answered(lambda count: [took if next(turns) % 4 == 0 else 0.0] * count)
    assert found.seconds == [] and "clock is too coarse" in str(found.error)


def test_the_replayed_timer_gives_each_round():
    seconds, timer, got = [0.5, 0.25, 2.0], Replay(), []

    class Benchmark:
        def pedantic(self, call, rounds):
            for _ in range(rounds):
                begin = timer()
                call()
                got.append(timer() - begin)

    timer.play(Benchmark(), seconds)
    assert got == seconds


def test_the_limit_that_takes_longest_binds(monkeypatch):
    rates = {"triad": 10.0, "random reads": 100.0, "GEMM float32": 50.0, "GEMM float64": 25.0}
    monkeypatch.setattr(limits, "measured", lambda name, threads, footprint: rates[name])
    bound = limits.bound([Part(bytes=1e9, random=50e6)], 1)
    assert (bound.name, bound.rate, bound.unit) == ("random reads", 100.0, "M/s")
    assert bound.seconds == pytest.approx(0.5)
    assert limits.bound(dense(100, 100, 100, "float64"), 1).name == "GEMM float64"
    assert limits.bound([], 1) is None


def test_a_kernel_is_compared_with_memory_of_its_own_size(monkeypatch):
    asked = []
    monkeypatch.setattr(limits, "measured", lambda *words: asked.append(words) or 1.0)
    limits.bound([Part(bytes=1, footprint=100_000, random=1, table=5)], 2)
    assert asked == [("triad", 2, 64 * 1024), ("random reads", 2, 16 * 1024)]


def test_without_a_compiler_memory_is_not_measured(monkeypatch):
    monkeypatch.setattr(limits, "why_no_probes", lambda: "no C compiler")
    monkeypatch.setattr(limits, "measured", limits.measured.__wrapped__)  # keeps nothing
    assert limits.rate("triad", 1, 10**6) is None
    assert limits.bound([Part(bytes=1e9)], 1) is None


def test_rates_are_measured():
    for name, footprint in (("triad", 2**14), ("random reads", 2**14)):
        assert limits.measured(name, 1, footprint) > 0
    assert limits.product((32, 32, 32), "float64") > 0


def test_the_bytes_of_a_product_are_those_counted_by_hand():
    """Of 3 nodes and 4 entries: offsets, indices and data; a row of 8 bytes each; 3 rows out."""
    path = as_graph([(0, 1), (1, 2)], symmetrize=True)
    (part,) = spmm(path, 2, "float32")
    assert (part.bytes, part.footprint) == (3 * 8 + 4 * 8 + 4 * 8 + 3 * 8, 3 * 8)
