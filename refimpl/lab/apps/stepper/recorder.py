"""Recording what a reference function does, line by line, without a change to the function."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from refimpl.lab.apps.stepper.functions import Function, functions_of
from refimpl.lab.apps.stepper.whys import Whys

MOST_STEPS = 20_000  # a page with more could not be read, nor loaded


class Frame(NamedTuple):
    """A call under way: the function, and its local variables as they are now."""

    name: str
    variables: dict[str, Any]


class Stack(tuple):
    """The calls of traced functions under way, the outermost first: what a view looks at."""

    def local(self, name: str, default: Any = None) -> Any:
        """Return the innermost local variable called `name`, or `default`."""
        for frame in reversed(self):
            if name in frame.variables:
                return frame.variables[name]
        return default

    def within(self, function: str) -> dict[str, Any]:
        """Return the local variables of the innermost call of `function`; {} if there is none.

        `function` is a name with its class, such as "Dashboard.cleanup".
        """
        for frame in reversed(self):
            if frame.name == function:
                return frame.variables
        return {}


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
    why : str
        Why the line did what it did, with its numbers; "" where nobody says so.
    """

    function: int
    line: int
    event: str
    depth: int
    panels: dict[str, int]
    why: str = ""


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
    states: dict[str, list]
    result: object

    def state(self, step: int) -> dict[str, Any]:
        """Return panel -> state at step number `step`."""
        return {name: self.states[name][i] for name, i in self.steps[step].panels.items()}

    def tells(self, step: int) -> bool:
        """Return whether step number `step` tells something: a picture is new, or it says why."""
        now, before = self.steps[step], self.steps[step - 1].panels if step else {}
        return bool(now.why) or now.panels != before


def record(
    call: Callable[[], object],
    functions: Mapping[str, str | None] | Iterable[str],
    view: Callable[[Stack], dict[str, Any]],
    why: Mapping[str, Mapping[str, Callable[..., Any]]] | None = None,
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
        it can see, a dict of name -> JSON value (NumPy's numbers and arrays will do). A panel
        that it leaves out keeps its last state.
    why : mapping of str to (mapping of str to callable), optional
        The name of a function -> how a line of it begins -> what says why: see `whys.Whys`.
    callers : mapping of str to str, optional
        The name of a function -> that of another: the calls of the first are followed only where
        the innermost call under way that is followed is one of the other.

    Returns
    -------
    Recording

    Raises
    ------
    ValueError
        If there is no such function or line, or more than `MOST_STEPS` lines are run.
    """
    followed = functions_of(functions)
    recorder = _Recorder(followed, view, Whys(followed, why or {}), callers or {})
    before = sys.gettrace()
    sys.settrace(recorder.enter)
    try:
        result = call()
    finally:
        sys.settrace(before)
    return Recording(recorder.functions, recorder.steps, recorder.states, result)


class _Recorder:
    """Steps wait without a state until the next event: then their line has run."""

    def __init__(self, functions, view, whys, callers):
        self.functions, self.view, self.whys, self.callers = functions, view, whys, callers
        self.number = {function.code: i for i, function in enumerate(functions)}
        self.steps: list[Step] = []
        self.states: dict[str, list] = {}
        self._known: dict[tuple[str, str], int] = {}
        self._panels: dict[str, int] = {}
        self._frames: list[Any] = []
        self._waiting: tuple[int, int, str, int] | None = None
        self._raised = False  # an exception since the waiting line began

    def enter(self, frame, event, argument):
        """Be called by Python for each call of any function; follow those that are traced."""
        if frame.f_code not in self.number:
            return None
        if not self._is_followed(frame):
            return None
        self._finish(done=False)
        self._frames.append(frame)
        self._start(frame, "call")
        return self.inside

    def _is_followed(self, frame):
        """Whether the call is one of those of its function that are to be followed."""
        caller = self.callers.get(self._name(frame))
        return caller is None or bool(self._frames and self._name(self._frames[-1]) == caller)

    def _name(self, frame):
        return self.functions[self.number[frame.f_code]].name

    def inside(self, frame, event, argument):
        """Be called by Python before each line of a traced function, and when it ends."""
        if not self._frames or self._frames[-1] is not frame:
            return self.inside  # a generator that was followed before, in a call that is not
        if event == "exception":
            self._raised = True
        elif event == "line":
            if self._goes_on(frame):
                return self.inside
            self._finish()
            self._start(frame, "line")
        elif event == "return":
            self._finish(done=not self._raised)
            self._frames.pop()
            if self._frames:
                self._start(self._frames[-1], "return")
        return self.inside

    def _goes_on(self, frame):
        """Whether the line is one more of a statement, or a comprehension's next turn."""
        if self._waiting is None or self._frames[-1] is not frame or self._waiting[2] == "call":
            return False
        statements = self.functions[self.number[frame.f_code]].statements
        return statements[frame.f_lineno] == statements[self._waiting[1]]

    def _start(self, frame, event):
        if len(self.steps) >= MOST_STEPS:
            raise ValueError(f"a trace has at most {MOST_STEPS} steps; take a smaller input")
        number = self.number[frame.f_code]
        line = frame.f_lineno
        if event == "call":
            line = self.functions[number].lines[0].number
        first, _ = self.functions[number].statements[line]
        self._waiting = number, first, event, len(self._frames) - 1

    def _finish(self, done=True):
        """Store the step that waits; its line is `done`, or has just called a traced function."""
        if self._waiting is None:
            return
        waiting, self._waiting, self._raised = self._waiting, None, False
        stack = Stack(Frame(self._name(frame), frame.f_locals) for frame in self._frames)
        for panel, state in self.view(stack).items():
            text = json.dumps(state, default=_plain, allow_nan=False)
            states = self.states.setdefault(panel, [])
            if (panel, text) not in self._known:
                self._known[panel, text] = len(states)
                states.append(json.loads(text))
            self._panels[panel] = self._known[panel, text]
        number, line, event, _ = waiting
        said = ""
        if done or event == "call":
            said = self.whys.say(number, line, self._frames[-1].f_lineno, stack)
        self.steps.append(Step(*waiting, dict(self._panels), said))


def _plain(value):
    """Return a number or an array of NumPy as what JSON has."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"a view returned {type(value).__name__}, which JSON has not")
