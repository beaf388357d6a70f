"""The timing question: what a program answers to it, and what `Timer` makes of the answer."""

import pytest
from conformance_programs import answering

import refimpl
from refimpl.lab.apps import worker as asking
from refimpl.lab.apps.conformance import protocol
from refimpl.lab.apps.conformance.protocol import Server, server_command
from refimpl.lab.apps.conformance.timing import Input, Timer, Timing

pytestmark = pytest.mark.runs

SLOW = 600
ASKED = Input("mine", {"key": 9, "n": 1000, "f": 7}, refimpl.streams.floyd(9, 1000, 7))
RIGHT = """
import os, refimpl
from refimpl.lab.apps.conformance.protocol import Server
server = Server(refimpl)
def reply(question):
    answer = server.answer(question)
    if "time" in question:
        {then}
    return answer
"""


def timed(then, *given, kernel="floyd", rounds=3):
    """Return the Timings of a program that is right in the vectors, and does `then` when timed."""
    with Timer(answering(RIGHT.format(then=then)), timeout=SLOW) as timer:
        return [timer.time(kernel, one, rounds) for one in given or (ASKED,)]


@pytest.mark.parametrize("package", ["refimpl", "fastimpl"])
def test_a_package_is_timed_round_by_round(package):
    with Timer(server_command(package), timeout=SLOW) as timer:
        assert (timer.name, timer.version) == (package, refimpl.__version__)
        found = [timer.time("floyd", one, 5) for one in (ASKED, "ten_of_thirty")]
    for timing in found:
        assert timing.said == "" and len(timing.nanoseconds) == 5
        assert all(type(one) is int and one > 0 for one in timing.nanoseconds)


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ('del answer["nanoseconds"]', "not timed: the program answers without times"),
        ('answer["nanoseconds"] = [1, 2]', "differs: nanoseconds: want 3 integers from 0 on, got"),
        ('answer["nanoseconds"] = [1, 2, 3.5]', "differs: nanoseconds: want 3 integers"),
        ('answer["nanoseconds"] = [1, 2, -3]', "differs: nanoseconds: want 3 integers"),
        ('answer["nanoseconds"] = [1, 2, True]', "differs: nanoseconds: want 3 integers"),
        ('answer["nanoseconds"] = 7', "differs: nanoseconds: want 3 integers from 0 on, got 7"),
        ('answer["result"]["data"][6] += 1', "differs: result[6]: want "),
        ('return {"skip": "too many"}', "missing: too many"),
        ('return {"error": "value"}', "differs: want a result, got error 'value'"),
        ("os._exit(3)", "lost: the program ended with status 3"),
    ],
)
def test_what_is_no_time_is_said(then, said):
    (timing,) = timed(then)
    assert timing.nanoseconds == () and timing.said.startswith(said)


def test_large_numbers_may_be_text():
    assert timed('answer["nanoseconds"] = ["9007199254740993", 2, 0]') == [
        Timing((9007199254740993, 2, 0))
    ]


def test_a_case_that_loses_the_program_costs_no_other():
    first, second = timed('question["args"]["n"] == 1000 and os._exit(3)', ASKED, "ten_of_thirty")
    assert first.said == "lost: the program ended with status 3"
    assert second.said == "" and len(second.nanoseconds) == 3


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("{'skip': 'no'}", "missing"),
        ("{'result': [1]}", "differs: "),
        ("os._exit(3)", "lost: "),
    ],
)
def test_what_does_not_conform_is_not_timed(reply, said, tmp_path):
    """The vectors are asked first, once, and then nothing."""
    log = tmp_path / "asked"
    source = f"""
import json, os
def reply(question):
    print("time" in question, file=open({str(log)!r}, "a"))
    return {reply}
"""
    with Timer(answering(source), timeout=SLOW) as timer:
        found = [timer.time("floyd", ASKED, 3) for _ in range(2)]
    assert found[0] == found[1] and found[0].said.startswith(said)
    asked = log.read_text().splitlines()
    assert 1 <= len(asked) <= 8 and set(asked) == {"False"}


def test_a_program_that_is_lost_for_good(monkeypatch):
    monkeypatch.setattr(asking, "MOST_STARTS", 0)
    first, second = timed("os._exit(3)", ASKED, ASKED)
    assert first.said.startswith("lost: ")
    assert second.said == "not run: not started again: it was lost 1 times"


def test_what_cannot_be_asked():
    with Timer(server_command("refimpl"), timeout=SLOW) as timer:
        odd = timer.time("floyd", ASKED._replace(want=object()), 3)
        assert odd.said == "not timed: there is no JSON form of object"
        with pytest.raises(ValueError, match="no vectors of a kernel 'flyod'"):
            timer.time("flyod", ASKED, 3)
        with pytest.raises(ValueError, match="rounds must be 1 or more, got 0"):
            timer.time("floyd", ASKED, 0)
        with pytest.raises(ValueError, match="floyd: no case 'nothing' returns something"):
            timer.time("floyd", "nothing", 3)


class Counting:
    """A package whose `adam_step` notes what it is given."""

    __name__, __version__ = "counting", "1"

    def __init__(self):
        self.given = []

    def adam_step(self, theta, grad, m, v, t, lr, beta1, beta2, eps):
        self.given.append(float(theta[0]))
        theta += 1


def test_each_round_is_given_what_the_question_says():
    """A kernel that changes its arguments must not begin a round where another ended."""
    one = {"dtype": "float64", "shape": [1], "data": [5.0]}
    args = dict.fromkeys(("theta", "grad", "m", "v"), one)
    args |= {"t": 1, "lr": 0.5, "beta1": 0.5, "beta2": 0.5, "eps": 1.0}
    question = {"call": "adam_step", "args": args, "writes": ["theta"], "time": 4}
    package = Counting()
    answer = Server(package).answer(question)
    assert package.given == [5.0] * 5
    assert answer["changed"] == {"theta": {"dtype": "float64", "shape": [1], "data": [6.0]}}
    assert len(answer["nanoseconds"]) == 4


@pytest.mark.parametrize("rounds", [0, -1, 1.0, True, "3", None])
def test_rounds_are_a_number(rounds):
    question = {"call": "floyd", "args": {"key": 1, "n": 3, "f": 2}, "time": rounds}
    with pytest.raises(ValueError, match="time must be a number of rounds"):
        Server(refimpl).answer(question)


def test_a_time_is_that_of_the_call(monkeypatch):
    """By a clock that moves only while the kernel runs."""
    now = [0]

    class Package:
        __name__ = "slow"

        @staticmethod
        def floyd(key, n, f):
            now[0] += 1000 + now[0]
            return [0, 1]

    monkeypatch.setattr(protocol.time, "perf_counter_ns", lambda: now[0])
    question = {"call": "floyd", "args": {"key": 1, "n": 3, "f": 2}, "time": 3}
    assert Server(Package()).answer(question)["nanoseconds"] == [2000, 4000, 8000]


def test_objects_are_timed_with_their_calls():
    with Timer(server_command("fastimpl"), timeout=SLOW) as timer:
        timing = timer.time("BidirectionalCache", "by_hand", 2)
    assert timing.said == "" and len(timing.nanoseconds) == 2
