"""The supervised worker: how the serving side is limited, and what the asking side says of an end.

What programs may do to the asking side is tested in test_conformance_limits and .._strange.
"""

import pytest

from refimpl.lab.apps.worker import Clock, Lost, NotAsked, Worker, this_python

pytestmark = pytest.mark.runs

ANSWER = """
import os, sys
from refimpl.lab.apps.worker import serve
def answer(question):
    return {"value": eval(question["do"])}
def endless():
    while True:
        pass
print("begun", file=sys.stderr)
"""
CLOCK = Clock(60)


def worker(limits="", **more):
    """Return a worker that evaluates what it is asked to do."""
    code = f"exec({ANSWER!r}); serve(answer, {limits})"
    return Worker(this_python(code), CLOCK, show_errors=False, **more)


def lost(asked, do):
    """Return why a question loses the worker."""
    with pytest.raises(Lost) as found:
        asked.ask({"do": do})
    return found.value


def test_it_answers_and_is_started_again():
    with worker() as asked:
        first = asked.ask({"do": "os.getpid()"})["value"]
        assert asked.ask({"do": "os.getpid()"})["value"] == first
        loss = lost(asked, "os._exit(5)")
        assert (loss.status, str(loss)) == (5, "the program ended with status 5")
        assert loss.last_words == "begun"
        assert asked.ask({"do": "os.getpid()"})["value"] != first


def test_what_it_reads_and_prints_is_no_part_of_the_talk(capfd):
    with worker() as asked:
        assert asked.ask({"do": "print('loud') or sys.stdin.read() or os.read(0, 1).hex()"}) == {
            "id": 0,
            "value": "",
        }
    assert "loud" in asked.last_words
    assert capfd.readouterr() == ("", "")


def test_a_limit_of_the_clock_says_which_line_ran():
    with worker("clock=0.5") as asked:
        assert asked.ask({"do": "3"})["value"] == 3
        loss = lost(asked, "endless()")
        assert loss.status == 1 and "in endless" in loss.last_words


def test_a_limit_of_processor_time_is_told_by_its_signal():
    with worker("processor=0.5") as asked:
        assert asked.ask({"do": "__import__('time').sleep(0.8)"})["value"] is None
        assert str(lost(asked, "endless()")) == "the program ended by SIGPROF"


def test_a_limit_of_memory_is_an_error_in_the_worker():
    more = "memory=2**28"
    do = "(lambda: bytes(2**27) and 'fits')()"
    with worker(more) as asked:
        assert asked.ask({"do": do})["value"] == "fits"
        loss = lost(asked, "bytes(2**29)")
        assert "MemoryError" in loss.last_words


def test_one_that_is_killed_is_told_by_its_signal():
    with worker() as asked:
        assert lost(asked, "os.kill(os.getpid(), 9)").status == -9


def test_when_the_time_is_over_nothing_is_started():
    clock = Clock(60, 60)
    code = f"exec({ANSWER!r}); serve(answer)"
    with Worker(this_python(code), clock, show_errors=False) as asked:
        lost(asked, "os._exit(0)")
        clock._end = 0
        with pytest.raises(NotAsked, match="the 60 seconds of the run were over"):
            asked.ask({"do": "1"})
