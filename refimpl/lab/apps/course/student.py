"""The process in which a student's file runs: a conformance server that says more.

It says in which line of the file an exception was raised, what was printed, and which states the
file handed to `look`. A question with "mistake" is answered by the solution with that mistake.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import sys
import types
import warnings
from typing import TYPE_CHECKING, Any

from refimpl.lab.apps import worker
from refimpl.lab.apps.conformance.protocol import Server
from refimpl.lab.apps.course import look
from refimpl.lab.apps.course.exercises import find
from refimpl.lab.backend import find as find_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

    from refimpl.hints import Absent
    from refimpl.lab.apps.course.exercise import Exercise

PACKAGES = ("refimpl", "fastimpl")
PLACE = "<yours>"  # what tracebacks call the student's file
MEMORY = 8 * 2**30  # bytes of addresses
PRINTED = 4000  # characters of what a call prints that are kept
SHOWN = 300  # characters of an error's text
TOO_DEEP = 100  # frames of a traceback that are looked through


class Printed(io.TextIOBase):
    """A text file that keeps the beginning of what is written to it."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        """Keep what there is room for."""
        self.text += str(text)[: max(PRINTED - len(self.text), 0)]
        return len(text)


class Student:
    """Answers questions with a student's file, or with the solution with a known mistake.

    Attributes
    ----------
    trouble : dict or None
        Why the file cannot be used, as `raised` says it; {"missing": True} if it lacks the
        function, {"twin": names} if its function is one of the packages.
    """

    def __init__(self, exercise: Exercise, text: bytes) -> None:
        self.exercise = exercise
        self._mistakes: dict[int, Server] = {}
        self._server, self.trouble = loaded(text, PLACE)
        own = getattr(self._server.package, exercise.function, None)
        if self.trouble is None and not callable(own):
            self.trouble = {"missing": True}
        elif self.trouble is None and (name := self._codes().get(_code(own))):
            self.trouble = {"twin": [name]}

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a question, both dicts."""
        printed = Printed()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            found = self._answer(question)
        return {**found, "printed": printed.text} if printed.text else found

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        number = question.get("mistake")
        if number is None:
            server = self._server
        else:
            if number not in self._mistakes:
                text = self.exercise.with_mistake(number)
                self._mistakes[number], _ = loaded(text, "<mistake>")
            server = self._mistakes[number]
        states, server.raised = look.watch(), None
        codes: Any = self._codes() if question.get("watch") else set()
        called: set[str] = set()
        try:
            with watching(codes, called):
                found = server.answer(question)
        except BaseException as error:  # SystemExit too; or there is no JSON form of the result
            return _not_answered(error, server.raised)
        if server.raised is not None:
            found["raised"] = raised(server.raised)
        if states:
            found["states"] = states
        return {**found, "twin": sorted(called)} if called else found

    def _codes(self) -> dict[CodeType | None, str]:
        """Return {code: module} of the function that the exercise is about, in each package."""
        found = {}
        for package in (name for name in PACKAGES if name in sys.modules):
            for name in (self.exercise.function, self.exercise.reference_function.__name__):
                with contextlib.suppress(AttributeError, KeyError):
                    function = find_name(sys.modules[package], name)
                    found[_code(function)] = f"{package}.{name}"
        return found


def _code(function: Any) -> CodeType | None:
    """Return the code of a function without what is wrapped around it, or None."""
    return getattr(inspect.unwrap(function), "__code__", None)


def _not_answered(error: BaseException, own: BaseException | None) -> dict[str, Any]:
    """Return the answer where the server has none; `own` is what the student's code raised."""
    about = raised(own or error)
    if own is None and about["line"] is None:  # the student's code returned
        return {"fault": f"what was returned cannot be compared: {about['text']}"}
    return {"fault": f"{about['type']}: {about['text']}", "raised": about}


def loaded(text: str | bytes, place: str) -> tuple[Server, dict[str, Any] | None]:
    """Return (Server, trouble) of the text of a file."""
    module = types.ModuleType("exercise")
    try:
        code = compile(text, place, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Server(module), {**raised(error), "no_python": True}
    try:
        exec(code, vars(module))
    except BaseException as error:
        return Server(module), raised(error)
    return Server(module), None


def raised(error: BaseException) -> dict[str, Any]:
    """Return the type of an exception, its text, and its last line in the student's file."""
    line, traceback, deep = None, error.__traceback__, 0
    while traceback is not None and deep < TOO_DEEP:
        if traceback.tb_frame.f_code.co_filename == PLACE:
            line = traceback.tb_lineno
        traceback, deep = traceback.tb_next, deep + 1
    if isinstance(error, SyntaxError) and error.filename == PLACE:
        line = error.lineno
    try:
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        text = " ".join(said.split())[:SHOWN]
    except Exception:  # its own __str__ fails
        text = ""
    return {"type": type(error).__name__, "text": text, "line": line}


@contextlib.contextmanager
def watching(codes: Any, called: set[str]) -> Iterator[None]:
    """Add to the set `called` the names of those of `codes` that run meanwhile."""
    if not codes:
        yield
        return

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code in codes:
            called.add(codes[frame.f_code])

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def serve(name: str, path: str, seconds: float) -> None:
    """Answer questions about the exercise `name` with the file at `path`.

    A call that takes longer than `seconds` ends the process; see `worker.serve`.
    """
    warnings.simplefilter("ignore")
    with contextlib.suppress(ImportError):  # the second is there where it is compiled
        for package in PACKAGES:
            importlib.import_module(package)
    with open(path, "rb") as file:  # noqa: PTH123
        text = file.read()
    student: Student | Absent = None

    def answer(question: dict[str, Any]) -> dict[str, Any] | Any:
        nonlocal student
        if "hello" not in question:
            return student.answer(question)
        with contextlib.redirect_stdout(Printed()), contextlib.redirect_stderr(Printed()):
            student = Student(find(name), text)
        return {"trouble": student.trouble} if student.trouble else {}

    worker.serve(answer, memory=MEMORY, clock=seconds)
