"""The line protocol: one JSON object a line, a question and an answer.

As a program, ``python -m refimpl.lab.apps.conformance.protocol PACKAGE``, it answers for a package
that Python can import; as a module it asks a program of any language.
"""

import contextlib
import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from importlib import metadata
from typing import Any

from refimpl.lab.apps.conformance.compare import short
from refimpl.lab.apps.conformance.encode import decode, dumps, encode
from refimpl.lab.apps.conformance.vectors import apply
from refimpl.lab.backend import find

PROTOCOL = "minibatch-gnn-conformance/1"
LONGEST, CHUNK = 2**26, 2**16  # bytes of an answer, and read at a time


class Lost(Exception):
    """The program died, or was too slow, or wrote something that is no answer."""


class Unable(Lost):
    """The program greeted with a fault: it has nothing to answer with."""


class Program:
    """A program that speaks the protocol, started and greeted; use as a context manager.

    Parameters
    ----------
    command : list of str
    timeout : float
        Seconds in which it must answer.

    Attributes
    ----------
    name, version : str
        As it says.

    Raises
    ------
    OSError
        If the program cannot be started.
    Lost
        If it does not answer the greeting; `Unable` if it answers with a fault.
    """

    def __init__(self, command, timeout):
        self.timeout = timeout
        self._process: Any = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._questions: queue.SimpleQueue = queue.SimpleQueue()
        self._answers: queue.SimpleQueue = queue.SimpleQueue()
        threading.Thread(target=self._talk, daemon=True).start()
        try:
            hello = self.ask({"hello": PROTOCOL})
            self.name, self.version = short(hello.get("name")), short(hello.get("version"))
            if "fault" in hello:
                raise Unable(short(hello["fault"]))
            if "name" not in hello:
                raise Lost(f"the greeting has no name: {short(hello)}")
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()

    def ask(self, question):
        """Send one object; return the object that comes back.

        Raises
        ------
        Lost
            The program is then of no further use.
        """
        self._questions.put((dumps(question) + "\n").encode())
        try:
            line = self._answers.get(timeout=self.timeout).decode("utf-8", "replace")
        except queue.Empty:
            self._kill()
            raise Lost(f"no answer in {self.timeout:g} seconds") from None
        if not line:
            raise Lost(self._ending())
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            raise Lost(f"the answer is no JSON: {line.strip()[:80]!r}") from None
        if not isinstance(answer, dict):
            raise Lost(f"the answer is no object: {line.strip()[:80]!r}")
        return answer

    def _talk(self):
        """Write questions and read answers, in a thread: either may wait for ever.

        Whoever holds the other end of a pipe may be out of reach of `_kill`.
        """
        stdin, stdout, rest = self._process.stdin, self._process.stdout, bytearray()
        for question in iter(self._questions.get, None):
            with contextlib.suppress(OSError):  # it may have closed its input
                while question:
                    question = question[stdin.write(question) :]
            while b"\n" not in rest[-CHUNK:] and len(rest) < LONGEST:
                part = stdout.read(CHUNK)
                rest += part
                if not part:
                    break
            line, end, rest = rest.partition(b"\n")
            self._answers.put(line + end)
        stdin.close()
        stdout.close()

    def close(self):
        """End the program: close its input, and kill it and what it started if it goes on."""
        self._questions.put(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1)
        self._kill()

    def _kill(self):
        """Kill the program and what it started: they hold the other end of the pipe."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):  # all are dead
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()

    def _ending(self):
        """Say how the program ended that has closed its output."""
        try:
            status = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "the program closed its output"
        if status < 0:
            known = -status in set(signal.Signals)
            name = signal.Signals(-status).name if known else f"signal {-status}"
            return f"the program ended by {name}"
        return f"the program ended with status {status}"


def server_command(package):
    """Return the command that answers for a package which this interpreter can import."""
    path = f"import sys; sys.path[:] = {sys.path!r}"
    return [sys.executable, "-c", f"{path}; from {__name__} import serve; serve({package!r})"]


class Server:
    """Answers questions by calling the functions of a package."""

    def __init__(self, package):
        self.package = package

    def answer(self, question):
        """Return the answer to a question, both dicts. Whatever a function raises is an answer."""
        if "hello" in question:
            return {"name": self.package.__name__, "version": version(self.package)}
        try:
            function = find(self.package, question["call"])
        except AttributeError:
            return {"skip": "not implemented"}
        args = {name: decode(value) for name, value in question["args"].items()}
        try:
            result = apply(function, args)
        except ValueError:
            return {"error": "value"}
        except TypeError:
            return {"error": "type"}
        except NotImplementedError as error:
            return {"skip": str(error) or "not implemented"}
        except Exception as error:
            return {"fault": f"{type(error).__name__}: {error}"}
        answer = {"result": encode(result)}
        if question.get("writes"):
            answer["changed"] = {name: encode(args[name]) for name in question["writes"]}
        return answer


def version(package):
    """Return the version of a package, or "unknown"."""
    if hasattr(package, "__version__"):
        return str(package.__version__)
    names = metadata.packages_distributions().get(package.__name__.partition(".")[0])
    return metadata.version(names[0]) if names else "unknown"


def serve(name):
    """Answer the questions on standard input until it ends.

    What the package itself prints goes to standard error. One that cannot be imported is the
    answer to the greeting, a fault.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        server = Server(importlib.import_module(name))
    except (Exception, SystemExit) as error:
        print(dumps({"fault": f"{type(error).__name__}: {error}"}), file=answers, flush=True)
        return
    for line in sys.stdin:
        try:
            answer = dumps(server.answer(json.loads(line)))
        except Exception as error:
            answer = dumps({"fault": f"{type(error).__name__}: {error}"})
        print(answer, file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
