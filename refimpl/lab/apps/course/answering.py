"""The process in which a student's file runs: it answers questions with the function that is there.

It speaks the protocol of `refimpl.lab.apps.conformance.protocol`, and says more: which line raised
what, what was printed, which arguments were changed, and which line still ran when time was over.
"""

import contextlib
import inspect
import io
import json
import os
import sys
import threading
from pathlib import Path

import numpy as np

from refimpl.lab.apps.conformance.encode import decode, dumps, encode
from refimpl.lab.apps.conformance.vectors import apply
from refimpl.lab.apps.course import look
from refimpl.lab.apps.course.exercises import find

MEMORY = 8 * 2**30  # bytes of addresses that a student's process may have
PRINTED = 4000  # characters of what a call prints that are kept
SHOWN = 300  # characters of an error's text
TOO_DEEP = 100  # frames of a traceback that are looked through


class Printed(io.TextIOBase):
    """A text file that keeps the beginning of what is written to it."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        """Keep what there is room for."""
        self.text += str(text)[: max(PRINTED - len(self.text), 0)]
        return len(text)


class Code:
    """A student's file, or the solution with a mistake, loaded: the functions in it.

    Attributes
    ----------
    place : str
        What tracebacks call it.
    functions : dict
    trouble : dict or None
        Why it cannot be loaded, as `what_went_wrong` says it.
    """

    def __init__(self, text, place):
        self.place, self.functions, self.trouble = place, {"__name__": "exercise"}, None
        try:
            code = compile(text, place, "exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.trouble = {**what_went_wrong(error, place), "no_python": True}
            return
        try:
            exec(code, self.functions)
        except BaseException as error:
            self.trouble = what_went_wrong(error, place)


def what_went_wrong(error, place):
    """Return an exception as an answer: its kind, its text, and its line of `place`."""
    line, function, traceback, deep = None, None, error.__traceback__, 0
    while traceback is not None and deep < TOO_DEEP:
        if traceback.tb_frame.f_code.co_filename == place:
            line, function = traceback.tb_lineno, traceback.tb_frame.f_code.co_name
        traceback, deep = traceback.tb_next, deep + 1
    if isinstance(error, SyntaxError) and error.filename == place:
        line = error.lineno
    try:
        text = " ".join(str(error).split())[:SHOWN]
    except Exception:  # its own __str__ fails
        text = ""
    found = {"raised": type(error).__name__, "text": text, "line": line, "function": function}
    if isinstance(error, NotImplementedError):
        return {**found, "empty": True, "skip": "nothing is written yet"}
    if isinstance(error, ValueError) and not isinstance(error, UnicodeError):
        return {**found, "error": "value"}
    if isinstance(error, TypeError):
        return {**found, "error": "type"}
    return {**found, "fault": f"{type(error).__name__}: {text}"}


class Answering:
    """Answers questions: with a student's file, or with a mistake that the question numbers.

    The question {"load": true} asks whether the file can be used; the answer {} is yes.

    Parameters
    ----------
    exercise : Exercise
    text : str or bytes
        Of the student's file.
    place : str
        What it is called.
    """

    def __init__(self, exercise, text, place):
        self.exercise = exercise
        self.own = Code(text, place)
        self._mistakes: dict[int, Code] = {}

    def ask(self, question, longest=0):
        """Return the answer to a question, both dicts."""
        if "load" in question:
            missing = not callable(self.own.functions.get(self.exercise.function))
            return self.own.trouble or ({"missing": True} if missing else {})
        number = question.get("mistake")
        code = self.own if number is None else self._mistake(number)
        return called(code.functions[self.exercise.function], question, code.place)

    def _mistake(self, number):
        if number not in self._mistakes:
            text = self.exercise.with_mistake(number)
            self._mistakes[number] = Code(text, f"<mistake {number}>")
        return self._mistakes[number]


def called(function, question, place):
    """Return what a function answers to a question."""
    args = {name: decode(value) for name, value in question["args"].items()}
    kept = [name for name in args if name not in question.get("writes", ())]
    before = {name: encode(args[name]) for name in kept}
    states = look.watch()
    try:
        result = apply(_by_name(function, args), args)
    except BaseException as error:
        return what_went_wrong(error, place)
    found: dict = {"touched": [name for name in kept if _encoded(args[name]) != before[name]]}
    answer = _encoded(result)
    if answer is UNKNOWN:
        kind = _kind(result)
        return {**found, "fault": f"returned {kind}", "returned": kind}
    found["result"] = answer
    if question.get("writes"):
        found["changed"] = {name: encode(args[name]) for name in question["writes"]}
    return {**found, "states": states} if states else found


def _by_name(function, args):
    """Return a function that takes all of `args` by name, where it is a "*" that catches others."""
    parameters = inspect.signature(function).parameters.values()
    if all(one.name in args for one in parameters if one.kind is one.VAR_POSITIONAL):
        return function
    return lambda **named: function(**named)


UNKNOWN = object()


def _kind(value):
    """Return in words what an answer is that has no JSON form."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, which cannot be compared"
    name = type(value).__name__
    named = f"a{'n' if name[:1].lower() in tuple('aeiou') else ''} {name}"
    if isinstance(value, int):
        return f"{named} of too many digits"
    if isinstance(value, list | tuple | dict):
        return f"{named} with something in it that cannot be compared"
    return f"{named}, which cannot be compared"


def _encoded(value):
    """Return the JSON value, or `UNKNOWN` of what has none."""
    try:
        return encode(value)
    except Exception:  # attributes of a student's object may raise anything
        return UNKNOWN


def serve(name, path, seconds):
    """Answer the questions on standard input about the exercise `name` with the file at `path`.

    A call that takes longer than `seconds` is answered with the line that it is in; the process
    then ends.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    questions, sys.stdin = sys.stdin, io.StringIO()
    _limit_memory()
    sys.stdout = sys.stderr = printed = Printed()  # type: ignore[assignment]
    text, place = Path(path).read_bytes(), os.fspath(path)
    writing = threading.Lock()

    def write(question, answer):
        number = {"id": question["id"]} if "id" in question else {}
        said = {"printed": printed.text} if printed.text else {}
        print(dumps({**number, **answer, **said}), file=answers, flush=True)
        printed.text = ""

    def late(question):
        with writing:
            try:
                write(question, {"fault": "late", "late": line_now(place)})
            finally:  # where nobody listens any more, too
                os._exit(3)

    answering = None
    for line in questions:
        question = json.loads(line)
        if "hello" in question:
            write(question, {"name": "exercise"})
            continue
        timer = threading.Timer(seconds, late, [question])
        timer.daemon = True
        timer.start()
        if answering is None:
            answering = Answering(find(name), text, place)
        answer = answering.ask(question)
        with writing:
            timer.cancel()
            write(question, answer)


def line_now(place):
    """Return the line of the file `place` that the main thread runs, or None."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and frame.f_code.co_filename != place:
        frame = frame.f_back
    return frame.f_lineno if frame is not None else None


def _limit_memory():
    try:
        import resource
    except ImportError:  # not Unix
        return
    with contextlib.suppress(OSError, ValueError):  # it has less already, or the system knows none
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
