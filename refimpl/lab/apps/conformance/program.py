"""A program that is asked, in any language: started, asked line by line, ended with all it started.

Nothing that it writes is kept without a limit, and nothing that it does is waited for without one.
"""

import contextlib
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
from typing import Any

from refimpl.lab.apps.conformance.compare import short
from refimpl.lab.apps.conformance.encode import dumps
from refimpl.lab.apps.conformance.protocol import PROTOCOL

CHUNK, GREETING = 2**16, 2**20  # bytes read at a time, and of a greeting at most
ERRORS = 2**20  # bytes of standard error that are shown
MARK = "MINIBATCH_GNN_CONFORMANCE"  # in the environment of whatever a program starts
KILLS = 10  # times that what a program started is looked for: it may be starting more
MOST_STARTS = 30  # times that a program is started again in a run
SHOWN = 80  # characters of a line in a message
UNASKED = "a line that nobody asked for"


class Lost(Exception):
    """The program died, or was too slow, or wrote something that is no answer."""


class Unable(Lost):
    """The program greeted with a fault: it has nothing to answer with."""


class NotAsked(Exception):
    """The program was lost before and is not started again: there is nobody to ask."""


class Clock:
    """How long programs may take: `timeout` seconds for an answer, `total` for all of a run."""

    def __init__(self, timeout, total):
        self.timeout, self.over = timeout, f"the {total:g} seconds of the run were over"
        self._end = time.monotonic() + total

    def left(self):
        """Return the seconds that are left of the run; 0 or less when it is over."""
        return self._end - time.monotonic()


class Program:
    """A program that speaks the protocol, started and greeted.

    Parameters
    ----------
    command : list of str
    clock : Clock
    env : dict, optional
        Variables of its environment, beside those that are there.

    Attributes
    ----------
    name, version : str
        As it says.
    unasked : str or None
        What it wrote that nobody asked for; all of it is known after `close`.

    Raises
    ------
    OSError
        If the program cannot be started.
    Lost
        If it does not answer the greeting; `Unable` if it answers with a fault.
    """

    def __init__(self, command, clock, env=None):
        self.clock, self.unasked, self._asked, self._gives_ids = clock, None, 0, False
        self._mark = uuid.uuid4().hex
        self._process: Any = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            env={**os.environ, **(env or {}), MARK: self._mark},
        )
        # of the answer that is due, as a greeting is from the start; 0: none is
        self._lock, self._longest = threading.Lock(), GREETING
        self._questions: queue.SimpleQueue = queue.SimpleQueue()
        self._answers: queue.SimpleQueue = queue.SimpleQueue()
        # whoever holds the other end of a pipe may be out of reach of `kill_all`
        talk = self._write, self._read, self._show_errors
        self._threads = [threading.Thread(target=part, daemon=True) for part in talk]
        try:
            for thread in self._threads:
                thread.start()
            hello = self.ask({"hello": PROTOCOL})
            self._gives_ids = "id" in hello
            self.name, self.version = short(hello.get("name")), short(hello.get("version"))
            if "fault" in hello:
                raise Unable(short(hello["fault"]))
            if "name" not in hello:
                raise Lost(f"the greeting has no name: {short(hello)}")
        except BaseException:
            self.close()
            raise

    def ask(self, question, longest=GREETING):
        """Send one object; return the object that comes back, from a line of `longest` bytes.

        Raises
        ------
        Lost
            The program is then of no further use.
        """
        number, self._asked = self._asked, self._asked + 1
        with self._lock:
            if self.unasked is not None:
                raise Lost(f"{UNASKED}: {self.unasked!r}")
            if number:
                self._longest = longest
        self._questions.put((dumps({"id": number, **question}) + "\n").encode())
        left = self.clock.left()
        try:
            line = self._answers.get(timeout=max(min(self.clock.timeout, left), 0))
        except queue.Empty:
            slow = f"no answer in {self.clock.timeout:g} seconds"
            raise Lost(slow if left > self.clock.timeout else self.clock.over) from None
        if not line:
            raise Lost(ending(self._process, "the program"))
        if len(line) > longest:
            raise Lost(f"the answer is longer than {longest} bytes: {_shown(line)!r}")
        answer = _parsed(line)
        found = answer.get("id", None if self._gives_ids else number)
        if found != number:
            raise Lost(f"{UNASKED}, of id {short(found)} and not {number}: {_shown(line)!r}")
        return answer

    def _write(self):
        """Write questions until there is None."""
        stdin = self._process.stdin
        with contextlib.suppress(OSError):  # it may have closed its input
            for question in iter(self._questions.get, None):
                while question:
                    question = question[stdin.write(question) :]
        with contextlib.suppress(OSError):
            stdin.close()

    def _read(self):
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

    def _show_errors(self):
        """Pass on what stands on standard error, as far as it is shown; the rest is dropped."""
        left = ERRORS
        with self._process.stderr as stderr:
            while part := stderr.read(CHUNK):
                if left:
                    _write_error(part[:left])
                if 0 < left <= len(part):
                    _write_error(b"\n[no more of the program's standard error is shown]\n")
                left = max(left - len(part), 0)

    def close(self):
        """End the program: close its input, then kill what is left of it and of what it started.

        What it started is in its process group, or, on Linux, has its mark in the environment.
        """
        try:
            self._questions.put(None)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=1)
        finally:
            kill_all(self._process, self._mark)
            for thread in self._threads:
                if thread.is_alive():
                    thread.join(timeout=1)


class Restarted:
    """A program that is started again for the next question when it was lost.

    Parameters
    ----------
    command : list of str
    clock : Clock
    env : dict, optional
        As of `Program`.

    Attributes
    ----------
    name, version : str
        As it says when it is first started.

    Raises
    ------
    OSError, Lost
        As `Program`.
    """

    def __init__(self, command, clock, env=None):
        self._command, self._clock, self._env = command, clock, env
        self._lost, self._why = 0, ""
        self._program: Program | None = Program(command, clock, env)
        self.name, self.version = self._program.name, self._program.version

    def ask(self, question, longest=GREETING):
        """Return the answer to a question, as `Program.ask`.

        Raises
        ------
        Lost
            The next question is asked of a new start.
        NotAsked
            If there is none: the time is over, or it failed, or there were `MOST_STARTS`.
        """
        program = self._running()
        try:
            return program.ask(question, longest)
        except Lost:
            self._lost += 1
            self.close()
            raise

    def _running(self):
        if self._program is None:
            if self._clock.left() <= 0:
                raise NotAsked(self._clock.over)
            if self._lost > MOST_STARTS:
                self._why = f"not started again: it was lost {self._lost} times"
            if self._why:
                raise NotAsked(self._why)
            try:
                self._program = Program(self._command, self._clock, self._env)
            except (Lost, OSError) as error:
                self._why = f"not started again: {error}"
                raise NotAsked(self._why) from error
        return self._program

    def close(self):
        """End the program; return what it wrote that nobody asked for, or None."""
        program, self._program = self._program, None
        if program is None:
            return None
        program.close()
        return program.unasked


def ending(process, name):
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


def kill_all(process, mark):
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


def _parsed(line):
    """Return the object in a line."""
    try:
        answer = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise Lost(f"the answer is no JSON: {_shown(line)!r}") from None
    if not isinstance(answer, dict):
        raise Lost(f"the answer is no object: {_shown(line)!r}")
    return answer


def _shown(line):
    """Return the beginning of a line, for a message."""
    return line[: 4 * SHOWN].decode("utf-8", "replace").strip().partition("\n")[0][:SHOWN]


def _write_error(text):
    if sys.__stderr__ is not None:
        with contextlib.suppress(OSError):
            while text:
                text = text[os.write(sys.__stderr__.fileno(), text) :]


def _signal(kill, number):
    with contextlib.suppress(ProcessLookupError, PermissionError):  # all are dead
        kill(number, signal.SIGKILL)


def _marked(mark):
    """Return the numbers of the processes with the mark in their environment, where /proc has it.

    That of one that has ended is empty.
    """
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it is another user's, or has ended
            if mark in path.read_bytes():
                found.append(int(path.parent.name))
    return found
