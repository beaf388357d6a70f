"""Recording a run line by line, on functions that each have one thing to get wrong."""

import json
import sys

import numpy as np
import pytest

from refimpl.lab.apps.papers import Gist
from refimpl.lab.apps.stepper import recorder
from refimpl.lab.apps.stepper.functions import functions_of
from refimpl.lab.apps.stepper.recorder import record

pytestmark = pytest.mark.runs

HERE = __name__


# What is traced


def total(numbers):
    """Add `up`.

    In the order given.
    """
    s = 0  # 1
    for x in numbers:  # 2-3 E-B1: pushed or popped
        s += doubled(x)  # 4
    return s  # J3:5


def doubled(x):
    return 2 * x  # twice: no mark


def spread(a, b):
    """One statement on four lines."""
    return [
        a,  # 7
        doubled(b),
    ]


def listed(n):
    numbers = [doubled(i) for i in range(n)]
    return sum(numbers)


def countdown(n):
    while n:
        yield n
        n -= 1


def consume(n):
    return sum(countdown(n))


def factorial(n):
    return n * factorial(n - 1) if n > 1 else 1


def failing():
    x = 1
    raise KeyError(x)


class Box:
    kind = "box"

    def __init__(self, value):
        self.value = value

    @property
    def half(self):
        return self.value // 2

    @staticmethod
    def make(value):
        return Box(value)

    @classmethod
    def empty(cls):
        return cls(0)


def places(*names):
    return [f"{HERE}:{name}" for name in names]


def told(recording):
    """Return (function, event, text of the line, depth) of each step."""
    for step in recording.steps:
        function = recording.functions[step.function]
        (line,) = [line for line in function.lines if line.number == step.line]
        yield function.name, step.event, line.text.strip(), step.depth


def numbers_seen(stack):
    """A view: the plain numbers of the innermost call."""
    return {name: value for name, value in stack[-1].variables.items() if isinstance(value, int)}


def test_each_line_is_recorded_with_what_it_left():
    recording = record(lambda: total([3, 4]), places("total"), numbers_seen)
    assert recording.result == 14
    steps = [(text, recording.state(i)) for i, (*_, text, _) in enumerate(told(recording))]
    assert steps == [
        ("def total(numbers):", {}),
        ("s = 0", {"s": 0}),
        ("for x in numbers:", {"s": 0, "x": 3}),
        ("s += doubled(x)", {"s": 6, "x": 3}),
        ("for x in numbers:", {"s": 6, "x": 4}),
        ("s += doubled(x)", {"s": 14, "x": 4}),
        ("for x in numbers:", {"s": 14, "x": 4}),
        ("return s", {"s": 14, "x": 4}),
    ]
    assert recording.states == {"s": [0, 6, 14], "x": [3, 4]}  # each state is stored once


def test_calls_of_traced_functions_are_entered_and_left():
    recording = record(lambda: total([3]), places("total", "doubled"), lambda stack: {})
    assert list(told(recording)) == [
        ("total", "call", "def total(numbers):", 0),
        ("total", "line", "s = 0", 0),
        ("total", "line", "for x in numbers:", 0),
        ("total", "line", "s += doubled(x)", 0),
        ("doubled", "call", "def doubled(x):", 1),
        ("doubled", "line", "return 2 * x  # twice: no mark", 1),
        ("total", "return", "s += doubled(x)", 0),
        ("total", "line", "for x in numbers:", 0),
        ("total", "line", "return s", 0),
    ]


def test_a_line_that_calls_shows_what_was_there_before():
    recording = record(lambda: total([3]), places("total", "doubled"), numbers_seen)
    s = [recording.state(i).get("s") for i in range(len(recording.steps))]
    assert s == [None, 0, 0, 0, 0, 0, 6, 6, 6]


def test_a_statement_of_several_lines_is_one_step():
    recording = record(lambda: spread(1, 2), places("spread"), lambda stack: {})
    assert [text for *_, text, _ in told(recording)] == ["def spread(a, b):", "return ["]
    recording = record(lambda: spread(1, 2), places("spread", "doubled"), lambda stack: {})
    assert [(event, text) for _, event, text, _ in told(recording)][1::3] == [
        ("line", "return ["),
        ("return", "return ["),
    ]


def test_a_comprehension_is_one_step_on_every_python():
    """Since Python 3.12 each of its turns is a line of the function."""
    recording = record(lambda: listed(3), places("listed"), lambda stack: {})
    assert [text.split()[0] for *_, text, _ in told(recording)] == ["def", "numbers", "return"]
    recording = record(lambda: listed(2), places("listed", "doubled"), lambda stack: {})
    assert [(event, depth) for _, event, _, depth in told(recording)] == [
        ("call", 0),
        ("line", 0),
        *[("call", 1), ("line", 1), ("return", 0)] * 2,
        ("line", 0),
    ]


def test_generators_and_recursion_keep_the_stack():
    recording = record(lambda: consume(2), places("consume", "countdown"), numbers_seen)
    assert recording.result == 3
    depths = {(name, depth) for name, _, _, depth in told(recording)}
    assert depths == {("consume", 0), ("countdown", 1)}
    recording = record(lambda: factorial(4), places("factorial"), lambda stack: {"n": len(stack)})
    assert recording.result == 24
    assert [depth for *_, depth in told(recording)] == [0, 0, 1, 1, 2, 2, 3, 3, 2, 1, 0]
    assert recording.states["n"] == [1, 2, 3, 4]


def test_a_class_is_all_its_methods():
    def call():
        return Box.make(6).half, Box.empty().value

    recording = record(call, places("Box"), lambda stack: {})
    assert recording.result == (3, 0)
    assert [f.name for f in recording.functions] == [
        "Box.__init__",
        "Box.half",
        "Box.make",
        "Box.empty",
    ]
    assert {step.function for step in recording.steps} == {0, 1, 2, 3}
    assert [f.name for f in functions_of(places("Box.half"))] == ["Box.half"]


def test_only_the_functions_named_are_followed():
    recording = record(lambda: total([1, 2]), places("doubled"), numbers_seen)
    assert {name for name, *_ in told(recording)} == {"doubled"}
    assert len(recording.steps) == 4
    assert record(lambda: doubled(1), places("total"), numbers_seen).steps == []


def test_only_the_calls_of_one_function_are_followed():
    def both():
        return doubled(1), total([0])

    names = places("total", "doubled")
    seen = [x["x"] for x in states_of(record(both, names, numbers_seen), "doubled")]
    assert seen == [1, 1, 0, 0]  # each call is entered, and runs one line
    calls = record(both, names, numbers_seen, {"doubled": "total"})
    assert [x["x"] for x in states_of(calls, "doubled")] == [0, 0]
    nobody = record(both, names, numbers_seen, {"doubled": "total", "total": "doubled"})
    assert nobody.steps == []


def states_of(recording, name):
    """Return the state of each step of the function called `name`."""
    numbers = [i for i, (function, *_) in enumerate(told(recording)) if function == name]
    return [recording.state(i) for i in numbers]


def test_a_step_tells_a_new_picture_or_a_line_of_a_paper():
    """A line that calls a function tells when the call is back; `def` and other lines do not."""
    followed = dict.fromkeys(places("total", "doubled"), "jpdc21:2")
    recording = record(lambda: total([3]), followed, lambda stack: {"depth": len(stack)})
    told_of = [recording.tells(i) for i in range(len(recording.steps))]
    assert list(zip(told_of, (step[1:3] for step in told(recording)), strict=True)) == [
        (True, ("call", "def total(numbers):")),  # the first picture
        (True, ("line", "s = 0")),
        (True, ("line", "for x in numbers:")),
        (False, ("line", "s += doubled(x)")),
        (True, ("call", "def doubled(x):")),  # another picture
        (False, ("line", "return 2 * x  # twice: no mark")),
        (True, ("return", "s += doubled(x)")),
        (True, ("line", "for x in numbers:")),
        (True, ("line", "return s")),
    ]


def test_a_picture_of_a_variable_with_another_name_is_left_out():
    """A variable that is not set yet is another matter; an error of the view stays an error."""

    def view(stack):
        run = stack.within("total")
        return {
            "s": lambda: run.get("s"),
            "wrong": lambda: run["no_such"],
            "asked": lambda: run.get("no_such", 0),
            "there": lambda: int("no_such" in run),
            "x": run.get("x"),
        }

    recording = record(lambda: total([3]), places("total"), view)
    assert recording.states == {"s": [0, 6], "x": [3]}
    nothing = record(lambda: total([3]), places("total"), lambda stack: stack[0].variables["y"])
    assert nothing.states == {} and len(nothing.steps) == len(recording.steps)
    with pytest.raises(KeyError):
        record(lambda: total([3]), places("total"), lambda stack: stack[0].variables["s"])


def test_the_tracer_is_taken_away_again(monkeypatch):
    def other(frame, event, argument):
        return None

    before = sys.gettrace()
    sys.settrace(other)
    try:
        record(lambda: total([1]), places("total"), numbers_seen)
        assert sys.gettrace() is other
        with pytest.raises(KeyError):
            record(failing, places("failing"), numbers_seen)
        assert sys.gettrace() is other
    finally:
        sys.settrace(before)


def test_states_are_copies_and_plain():
    """A view may hand out the run's own arrays: what was stored does not change with them."""
    kept = np.zeros(2, np.int32)

    def view(stack):
        kept[0] += 1
        return {"a": kept, "b": {np.int64(2), np.int64(1)}, "c": np.float32(0.5), "d": (1, None)}

    recording = record(lambda: doubled(1), places("doubled"), view)
    assert recording.states["a"] == [[1, 0], [2, 0]]
    assert recording.states["b"] == [[1, 2]]
    assert recording.states["c"] == [0.5] and recording.states["d"] == [[1, None]]
    assert json.loads(json.dumps(recording.states)) == recording.states


@pytest.mark.parametrize(
    ("state", "error"),
    [(float("nan"), ValueError), (np.inf, ValueError), (object(), TypeError), (1j, TypeError)],
)
def test_a_state_that_is_not_json_is_refused(state, error):
    with pytest.raises(error):
        record(lambda: doubled(1), places("doubled"), lambda stack: {"x": state})


def test_a_run_that_no_page_could_show_is_refused(monkeypatch):
    monkeypatch.setattr(recorder, "MOST_STEPS", 50)
    assert len(record(lambda: total(range(20)), places("total"), numbers_seen).steps) == 44
    with pytest.raises(ValueError, match="at most 50 steps"):
        record(lambda: total(range(30)), places("total"), numbers_seen)


@pytest.mark.parametrize(
    "place", ["no.such.module:f", "refimpl:no_such", "refimpl.graph:Graph.no_such", "refimpl", ""]
)
def test_a_function_that_is_not_there_is_refused(place):
    with pytest.raises(ValueError, match="no function"):
        functions_of([place])


def annotated(
    numbers: list[int],
    *,
    most: int | None = None,
) -> int:
    return sum(numbers[:most])


def test_a_head_is_shown_in_one_line_without_annotations():
    (function,) = functions_of(places("annotated"))
    assert [line.text for line in function.lines] == [
        "def annotated(numbers, *, most=None):",
        "    return sum(numbers[:most])",
    ]
    seen = record(lambda: annotated([1, 2]), places("annotated"), dict)
    assert [seen.functions[0].statement(step.line)[0].text[:3] for step in seen.steps] == [
        "def",
        "   ",
    ]


def test_lines_are_shown_without_docstring_and_marks():
    (function,) = functions_of({f"{HERE}:total": "jpdc21:2"})
    assert function.summary == "Add up."
    assert [(line.text, line.marks, line.errata) for line in function.lines] == [
        ("def total(numbers):", (), ()),
        ("    s = 0", (("jpdc21:2", "1"),), ()),
        ("    for x in numbers:", (("jpdc21:2", "2-3"),), (Gist("E-B1", "pushed or popped"),)),
        ("        s += doubled(x)", (("jpdc21:2", "4"),), ()),
        ("    return s", (("jpdc21:3", "5"),), ()),
    ]
    (method,) = functions_of(places("Box.half"))
    assert method.summary == ""
    assert [line.text for line in method.lines] == [
        "def half(self):",
        "    return self.value // 2",
    ]
    (made,) = functions_of(places("Box.__init__"))
    assert made.summary == ""  # not what `object` says of its own
