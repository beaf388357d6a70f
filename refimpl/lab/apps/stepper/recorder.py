"""Recording what a reference function does, line by line, without a change to the function."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from refimpl.lab.apps.stepper.functions import Function, functions_of

MOST_STEPS = 20_000  # a page with more could not be read, nor loaded


class NoSuchVariable(LookupError):
    """A function has no variable of this name: a picture of the variable is left out."""


class Variables(dict[str, Any]):
    """The local variables of a call as they are now.

    A name that the function never uses for a variable raises `NoSuchVariable`. A variable that the
    function has, but has not set yet, is missing as from any dict.
    """

    def __init__(self, frame: FrameType) -> None:
        super().__init__(frame.f_locals)
        code = frame.f_code
        self._names = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}

    def _named(self, name: Any) -> Any:
        if name not in self._names:
            raise NoSuchVariable(name)
        return name

    def __contains__(self, name: object) -> bool:
        return super().__contains__(self._named(name))

    def __getitem__(self, name: str) -> Any:
        return super().__getitem__(self._named(name))

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(self._named(name), default)


class Frame(NamedTuple):
    """A call under way: the function, and its local variables as they are now."""

    name: str
    variables: dict[str, Any]


class Stack(tuple[Frame, ...]):
    """The calls of traced functions under way, the outermost first: what a view looks at."""

    def local(self, name: str, default: Any = None) -> Any:
        """Return the innermost local variable called `name`, or `default`."""
        for frame in reversed(self):
            if dict.__contains__(frame.variables, name):
                return frame.variables[name]
        return default

    def within(self, function: str) -> dict[str, Any]:
        """Return the `Variables` of the innermost call of `function`; {} if there is none.

        `function` is a name with its class, such as "Dashboard.cleanup".
        """
        for frame in reversed(self):
            if frame.name == function:
                return frame.variables
        return {}


View: TypeAlias = Callable[[Stack], dict[str, Any]]
Tracer: TypeAlias = Callable[[FrameType, str, Any], Any]


class Step(NamedTuple):
    """One line that ran.

    Attributes
    ----------
    function : int
        Which of `Recording.functions`.
    line : int
        First line of the statement, in its file.
    event : {"call", "line", "return"}
        The function was entered; the line ran; a traced function came back to the line.
    depth : int
        Traced calls around it.
    panels : dict of str to int
        Which of the states of each panel: the state once the line has run. Of a line that calls
        a traced function, the state just before.
    """

    function: int
    line: int
    event: str
    depth: int
    panels: dict[str, int]


class Recording(NamedTuple):
    """A run.

    Attributes
    ----------
    functions : list of Function
    steps : list of Step
    states : dict of str to list
        The distinct states of each panel in the order they were first seen, as JSON values.
    result : object
        What the call returned.
    """

    functions: list[Function]
    steps: list[Step]
    states: dict[str, list[Any]]
    result: object

    def state(self, step: int) -> dict[str, Any]:
        """Return panel -> state at step number `step`."""
        return {name: self.states[name][i] for name, i in self.steps[step].panels.items()}

    def tells(self, step: int) -> bool:
        """Return whether step number `step` tells something.

        A picture is new, or a line of a paper, or of an erratum, has run to its end.
        """
        now, before = self.steps[step], self.steps[step - 1].panels if step else {}
        return now.panels != before or self._runs_a_papers_line(step)

    def _runs_a_papers_line(self, step: int) -> bool:
        now, after = self.steps[step], self.steps[step + 1 : step + 2]
        calls = any(then.event == "call" and then.depth > now.depth for then in after)
        if now.event == "call" or calls:
            return False
        function = self.functions[now.function]
        marks = [id for row in function.statement(now.line) for id, _ in row.marks]
        return any(marks) or bool(function.errata(now.line))


def record(
    call: Callable[[], object],
    functions: Mapping[str, str | None] | Iterable[str],
    view: View,
    callers: Mapping[str, str] | None = None,
) -> Recording:
    """Run ``call()`` and record each line that the given functions run.

    The functions are watched through ``sys.settrace`` in this thread and run unchanged. The lines
    of one statement are one step, as are the turns of a comprehension.

    Parameters
    ----------
    call : callable
        Without arguments.
    functions : mapping of str to (str or None), or iterable of str
        See `functions_of`.
    view : callable
        ``view(stack)`` gets a `Stack` after each line and returns the state of each panel that
        it can see, a dict of name -> JSON value (NumPy's numbers and arrays will do), or -> a
        function that returns the value. A panel that is left out, or None, keeps its last state.
        So does a panel whose function asks for a variable that the reference does not have: see
        `Variables`.
    callers : mapping of str to str, optional
        The name of a function -> that of another: the calls of the first are followed only where
        the innermost call under way that is followed is one of the other.

    Returns
    -------
    Recording

    Raises
    ------
    ValueError
        If there is no such function, or more than `MOST_STEPS` lines are run.
    """
    recorder = _Recorder(functions_of(functions), view, callers or {})
    before = sys.gettrace()
    sys.settrace(recorder.enter)
    try:
        result = call()
    finally:
        sys.settrace(before)
    return Recording(recorder.functions, recorder.steps, recorder.states, result)


class _Recorder:
    """Steps wait without a state until the next event: then their line has run."""

    def __init__(self, functions: list[Function], view: View, callers: Mapping[str, str]) -> None:
        self.functions, self.view, self.callers = functions, view, callers
        self.number = {function.code: i for i, function in enumerate(functions)}
        self.steps: list[Step] = []
        self.states: dict[str, list[Any]] = {}
        self._known: dict[tuple[str, str], int] = {}
        self._panels: dict[str, int] = {}
        self._frames: list[Any] = []
        self._waiting: tuple[int, int, str, int] | None = None

    def enter(self, frame: FrameType, event: str, argument: Any) -> Tracer | None:
        """Be called by Python for each call of any function; follow those that are traced."""
        if frame.f_code not in self.number:
            return None
        if not self._is_followed(frame):
            return None
        self._finish()
        self._frames.append(frame)
        self._start(frame, "call")
        return self.inside

    def _is_followed(self, frame: FrameType) -> bool:
        """Whether the call is one of those of its function that are to be followed."""
        caller = self.callers.get(self._name(frame))
        return caller is None or bool(self._frames and self._name(self._frames[-1]) == caller)

    def _name(self, frame: FrameType) -> str:
        return self.functions[self.number[frame.f_code]].name

    def inside(self, frame: FrameType, event: str, argument: Any) -> Tracer:
        """Be called by Python before each line of a traced function, and when it ends."""
        if not self._frames or self._frames[-1] is not frame:
            return self.inside  # a generator that was followed before, in a call that is not
        if event == "line":
            if self._goes_on(frame):
                return self.inside
            self._finish()
            self._start(frame, "line")
        elif event == "return":
            self._finish()
            self._frames.pop()
            if self._frames:
                self._start(self._frames[-1], "return")
        return self.inside

    def _goes_on(self, frame: FrameType) -> bool:
        """Whether the line is one more of a statement, or a comprehension's next turn."""
        if self._waiting is None or self._frames[-1] is not frame or self._waiting[2] == "call":
            return False
        statements = self.functions[self.number[frame.f_code]].statements
        return statements[frame.f_lineno] == statements[self._waiting[1]]

    def _start(self, frame: FrameType, event: str) -> None:
        if len(self.steps) >= MOST_STEPS:
            raise ValueError(f"a trace has at most {MOST_STEPS} steps; take a smaller input")
        number = self.number[frame.f_code]
        line = frame.f_lineno
        if event == "call":
            line = self.functions[number].lines[0].number
        first, _ = self.functions[number].statements[line]
        self._waiting = number, first, event, len(self._frames) - 1

    def _finish(self) -> None:
        """Store the step that waits: its line has run, or has just called a traced function."""
        if self._waiting is None:
            return
        waiting, self._waiting = self._waiting, None
        for panel, state in self._seen():
            text = json.dumps(state, default=_plain, allow_nan=False)
            states = self.states.setdefault(panel, [])
            if (panel, text) not in self._known:
                self._known[panel, text] = len(states)
                states.append(json.loads(text))
            self._panels[panel] = self._known[panel, text]
        self.steps.append(Step(*waiting, dict(self._panels)))

    def _seen(self) -> Iterator[tuple[str, Any]]:
        """Yield each panel that the view sees now, and its state."""
        stack = Stack(Frame(self._name(frame), Variables(frame)) for frame in self._frames)
        with suppress(NoSuchVariable):
            for panel, state in self.view(stack).items():
                with suppress(NoSuchVariable):
                    state = state() if callable(state) else state
                    if state is not None:
                        yield panel, state


def _plain(value: Any) -> Any:
    """Return a number or an array of NumPy as what JSON has."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"a view returned {type(value).__name__}, which JSON has not")
