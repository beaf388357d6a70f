"""A supervised worker process: asked one JSON object a line, in a limited time, started again.

`Worker` is the side that asks. It ends a process that dies, hangs or writes something else than an
answer, together with all that the process started, and starts a new one for the next question.
Nothing that the process writes is kept without a limit. `serve` is the side that answers, in
Python; a program of any other language reads lines and writes lines.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import Self

    from refimpl.hints import Absent, FilePath

CHUNK, LONGEST = 2**16, 2**20  # bytes read at a time, and of an answer at most
ERRORS = 2**20  # bytes of standard error that are shown
LAST_WORDS = 8000  # bytes of standard error that are kept
MARK = "MINIBATCH_GNN_WORKER"  # in the environment of whatever a worker starts
KILLS = 10  # times that what a worker started is looked for: it may be starting more
MOST_STARTS = 30  # times that a worker is started again
SHOWN = 80  # characters of a line in a message
UNASKED = "a line that nobody asked for"


class Lost(Exception):
    """The process died, was too slow, or wrote something that is no answer.

    Attributes
    ----------
    status : int or None
        Its exit status, minus a signal's number as of `subprocess`; None if it had not ended.
    last_words : str
        The end of what it wrote to standard error.
    """

    status: int | None = None
    last_words = ""


class Unable(Lost):
    """The process greeted with a fault: it has nothing to answer with."""


class NotAsked(Exception):
    """The process was lost before and is not started again: there is nobody to ask."""


class Clock:
    """How long a worker may take: `timeout` seconds for an answer, `total` for all answers."""

    def __init__(self, timeout: float, total: float = threading.TIMEOUT_MAX) -> None:
        self.timeout, self.over = timeout, f"the {total:g} seconds of the run were over"
        self._end = time.monotonic() + total

    def left(self) -> float:
        """Return the seconds that are left of the run; 0 or less when it is over."""
        return self._end - time.monotonic()


class Worker:
    """A process that answers questions, started at once and again after each loss.

    Use it in a ``with`` block, or `close` it.

    Parameters
    ----------
    command : list of str
    clock : Clock
    hello : dict, optional
        The first question to each new process. A "fault" in the answer makes it `Unable`.
    env : dict, optional
        Environment variables to set; a variable whose value is None is removed.
    cwd : path, optional
    show_errors : bool
        Whether its standard error is passed on, up to `ERRORS` bytes.

    Attributes
    ----------
    greeting : dict
        The answer to `hello`, of the last process.
    last_words : str
        The end of what the last process wrote to standard error; all of it is known when the
        process has ended.

    Raises
    ------
    OSError
        If the process cannot be started.
    Lost
        If it does not answer `hello`.
    """

    def __init__(
        self,
        command: list[str],
        clock: Clock,
        *,
        hello: dict[str, Any] | None = None,
        env: Mapping[str, str | None] | None = None,
        cwd: FilePath | None = None,
        show_errors: bool = True,
    ) -> None:
        self._command, self.clock, self._hello = command, clock, hello
        variables: dict[str, str | None] = {**os.environ, **(env or {})}
        kept = {name: value for name, value in variables.items() if value is not None}
        self._place: dict[str, Any] = {"env": kept, "cwd": cwd}
        self._show_errors, self._lost, self._why = show_errors, 0, ""
        self._process: Any = None  # a _Process, while there is one
        self.greeting: dict[str, Any] = {}
        self.last_words = ""
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def greeted(self, answer: dict[str, Any]) -> None:
        """Look at the answer to `hello`; raise `Lost` if it will not do."""
        if "fault" in answer:
            raise Unable(_shown(str(answer["fault"]).encode(), 4 * SHOWN))

    def ask(self, question: dict[str, Any], longest: int = LONGEST) -> dict[str, Any]:
        """Send one object; return the object that comes back, from a line of `longest` bytes.

        Raises
        ------
        Lost
            The next question is asked of a new process.
        NotAsked
            If there is none: the time is over, or it failed, or there were `MOST_STARTS`.
        """
        if self._process is None:
            self._start_again()
        try:
            return self._answer(question, longest)
        except Lost as loss:
            self._lost += 1
            self.close()
            loss.last_words = self.last_words
            raise

    def close(self) -> str | Absent:
        """End the process; return what it wrote that nobody asked for, or None."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.close()
        self.last_words = process.last_words.decode("utf-8", "replace").strip()
        return process.unasked

    def _start(self) -> None:
        self._asked, self._gives_ids = 0, False
        self._process = _Process(self._command, self._place, self._show_errors)
        try:
            if self._hello is not None:
                self.greeting = self._answer(self._hello, LONGEST)
                self._gives_ids = "id" in self.greeting
                self.greeted(self.greeting)
        except BaseException as error:
            self.close()
            if isinstance(error, Lost):
                error.last_words = self.last_words
            raise

    def _start_again(self) -> None:
        if self.clock.left() <= 0:
            raise NotAsked(self.clock.over)
        if self._lost > MOST_STARTS:
            self._why = f"not started again: it was lost {self._lost} times"
        if self._why:
            raise NotAsked(self._why)
        try:
            self._start()
        except (Lost, OSError) as error:
            self._why = f"not started again: {error}"
            raise NotAsked(self._why) from error

    def _answer(self, question: dict[str, Any], longest: int) -> dict[str, Any]:
        number, self._asked = self._asked, self._asked + 1
        left = self.clock.left()
        line = self._process.ask({"id": number, **question}, longest, self.clock.timeout, left)
        if line is None:
            slow = f"no answer in {self.clock.timeout:g} seconds"
            raise Lost(slow if left > self.clock.timeout else self.clock.over)
        if len(line) > longest:
            raise Lost(f"the answer is longer than {longest} bytes: {_shown(line)!r}")
        answer = _parsed(line)
        found = answer.get("id", None if self._gives_ids else number)
        if found != number:
            raise Lost(f"{UNASKED}, of id {found!s:.20} and not {number}: {_shown(line)!r}")
        return answer


class _Process:
    """One start of a worker: its pipes, and a thread for each.

    Whoever holds the other end of a pipe may be out of reach of `kill_all`, so no thread is waited
    for without a limit.
    """

    def __init__(self, command: list[str], place: dict[str, Any], show_errors: bool) -> None:
        self.unasked: str | None = None
        self.last_words, self._mark = b"", uuid.uuid4().hex
        self._unseen = ERRORS if show_errors else 0
        self._process: Any = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            cwd=place["cwd"],
            env={**place["env"], MARK: self._mark},
        )
        # bytes of the answer that is due, as the first one is from the start; 0: none is
        self._lock, self._longest, self._begun = threading.Lock(), LONGEST, False
        self._questions: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        talk = self._write, self._read, self._listen
        self._threads = [threading.Thread(target=part, daemon=True) for part in talk]
        try:
            for thread in self._threads:
                thread.start()
        except BaseException:
            self.close()
            raise

    def ask(
        self, question: dict[str, Any], longest: int, timeout: float, left: float
    ) -> bytes | None:
        """Return the line that answers; None if none came in time."""
        with self._lock:
            if self.unasked is not None:
                raise Lost(f"{UNASKED}: {self.unasked!r}")
            if self._begun:
                self._longest = longest
            self._begun = True
        text = json.dumps(question, allow_nan=False, separators=(",", ":")) + "\n"
        self._questions.put(text.encode())
        try:
            line = self._answers.get(timeout=max(min(timeout, left), 0))
        except queue.Empty:
            return None
        if not line:
            loss = Lost(ending(self._process, "the program"))
            loss.status = self._process.poll()
            raise loss
        return line

    def _write(self) -> None:
        """Write questions until there is None."""
        stdin = self._process.stdin
        with contextlib.suppress(OSError):  # it may have closed its input
            for question in iter(self._questions.get, None):
                while question:
                    question = question[stdin.write(question) :]
        with contextlib.suppress(OSError):
            stdin.close()

    def _read(self) -> None:
        """Hand over the line that is due; end at the first byte that is not."""
        line = bytearray()
        with self._process.stdout as stdout:
            while part := stdout.read(CHUNK):
                begun, end, behind = part.partition(b"\n")
                with self._lock:
                    due = self._longest
                    if end:
                        self._longest = 0
                    if behind or not due:
                        self.unasked = _shown(behind if due else part)
                line += begun + end
                if due and (end or len(line) > due):
                    self._answers.put(bytes(line))
                if behind or len(line) > due:  # nothing is due: 0
                    return
                if end:
                    line.clear()
            self._answers.put(bytes(line))

    def _listen(self) -> None:
        """Keep the end of what stands on standard error; pass it on, as far as it is shown."""
        left = self._unseen
        with self._process.stderr as stderr:
            while part := stderr.read(CHUNK):
                self.last_words = (self.last_words + part)[-LAST_WORDS:]
                if left:
                    _write_error(part[:left])
                if 0 < left <= len(part):
                    _write_error(b"\n[no more of the program's standard error is shown]\n")
                left = max(left - len(part), 0)

    def close(self) -> None:
        """Close its input, then kill what is left of it and of what it started."""
        try:
            self._questions.put(None)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=1)
        finally:
            kill_all(self._process, self._mark)
            for thread in self._threads:
                if thread.is_alive():
                    thread.join(timeout=1)


def this_python(code: str) -> list[str]:
    """Return the command that runs `code` in this interpreter, with the same `sys.path`."""
    path = [str(Path(entry).absolute()) for entry in sys.path]
    return [sys.executable, "-c", f"import sys; sys.path[:] = {path!r}; {code}"]


def serve(
    answer: Callable[[dict[str, Any]], dict[str, Any]],
    *,
    memory: int | None = None,
    processor: float | None = None,
    clock: float | None = None,
) -> None:
    """Answer the questions on standard input, a JSON object a line, until it ends.

    What is printed meanwhile goes to standard error.

    Parameters
    ----------
    answer : callable
        Takes a question and returns an answer, both dicts.
    memory : int, optional
        Bytes of addresses that the process may take, beside what it has.
    processor : float, optional
        Seconds of the processor for an answer; SIGPROF then ends the process.
    clock : float, optional
        Seconds for an answer; the lines that still run are then written to standard error, and the
        process ends with status 1.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    questions = os.fdopen(os.dup(0), encoding="utf-8")
    nothing, errors = os.open(os.devnull, os.O_RDONLY), os.dup(2)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    if memory is not None:
        limit_memory(memory)
    if processor is not None:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for line in questions:
        try:
            question = json.loads(line)
            number = {"id": question["id"]} if "id" in question else {}
        except (ValueError, TypeError, RecursionError) as error:
            said = {"fault": f"{type(error).__name__}: {error}"}
            print(json.dumps(said), file=answers, flush=True)
            continue
        if processor is not None:
            signal.setitimer(signal.ITIMER_PROF, processor)
        if clock is not None:
            faulthandler.dump_traceback_later(clock, exit=True, file=errors)
        found = answer(question)
        if clock is not None:
            faulthandler.cancel_dump_traceback_later()
        if processor is not None:
            signal.setitimer(signal.ITIMER_PROF, 0)
        said = json.dumps({**number, **found}, allow_nan=False, separators=(",", ":"))
        print(said, file=answers, flush=True)


def limit_memory(more: int) -> None:
    """Let this process take `more` bytes of addresses; do nothing where the system cannot."""
    try:
        import resource
    except ImportError:  # not Unix
        return
    with contextlib.suppress(OSError, ValueError):  # it has less already, or no /proc
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def ending(process: subprocess.Popen[Any], name: str) -> str:
    """Say how a process ended that has closed its output; `name` is what it is called."""
    try:
        status = process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return f"{name} closed its output"
    if status < 0:
        known = -status in set(signal.Signals)
        signalled = signal.Signals(-status).name if known else f"signal {-status}"
        return f"{name} ended by {signalled}"
    return f"{name} ended with status {status}"


def kill_all(process: subprocess.Popen[Any], mark: str) -> None:
    """Kill a process that leads its group, and what is left of what it started.

    That is in its process group, or, on Linux, has the `mark` in its environment.
    """
    if hasattr(os, "killpg"):
        _signal(os.killpg, process.pid)
    else:
        process.kill()
    process.wait()
    for _ in range(KILLS):
        found = _marked(mark.encode())
        for pid in found:
            _signal(os.kill, pid)
        if not found:
            break


def _parsed(line: bytes) -> dict[str, Any]:
    """Return the object in a line."""
    try:
        answer = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise Lost(f"the answer is no JSON: {_shown(line)!r}") from None
    if not isinstance(answer, dict):
        raise Lost(f"the answer is no object: {_shown(line)!r}")
    return answer


def _shown(line: bytes, most: int = SHOWN) -> str:
    """Return the beginning of a line, for a message."""
    return line[: 4 * most].decode("utf-8", "replace").strip().partition("\n")[0][:most]


def _write_error(text: bytes) -> None:
    if sys.__stderr__ is not None:
        with contextlib.suppress(OSError):
            while text:
                text = text[os.write(sys.__stderr__.fileno(), text) :]


def _signal(kill: Callable[[int, int], object], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # all are dead
        kill(number, signal.SIGKILL)


def _marked(mark: bytes) -> list[int]:
    """Return the numbers of the processes with the mark in their environment, where /proc has it.

    That of one that has ended is empty.
    """
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it is another user's, or has ended
            if mark in path.read_bytes():
                found.append(int(path.parent.name))
    return found
