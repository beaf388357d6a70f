"""The line protocol: one JSON object a line, a question and an answer.

As a program, ``python -m refimpl.app.conformance.protocol PACKAGE``, it answers for a package
that Python can import; as a module it asks a program of any language.
"""

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from importlib import metadata
from typing import Any

from refimpl.app.conformance.encode import decode, dumps, encode
from refimpl.app.conformance.vectors import apply

PROTOCOL = "minibatch-gnn-conformance/1"
LONGEST = 2**26  # characters of an answer


class Lost(Exception):
    """The program died, or was too slow, or wrote something that is no answer."""


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
        If it does not answer the greeting.
    """

    def __init__(self, command, timeout):
        self.timeout = timeout
        self._process: Any = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        try:
            hello = self.ask({"hello": PROTOCOL})
            self.name, self.version = str(hello.get("name")), str(hello.get("version"))
            if "name" not in hello:
                raise Lost(f"the greeting has no name: {dumps(hello)[:80]}")
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
        late = threading.Event()

        def give_up():
            late.set()
            self._kill()

        alarm = threading.Timer(self.timeout, give_up)
        alarm.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(dumps(question) + "\n")
                self._process.stdin.flush()
            line = self._process.stdout.readline(LONGEST)
        finally:
            alarm.cancel()
        if late.is_set():
            raise Lost(f"no answer in {self.timeout:g} seconds")
        if not line:
            raise Lost(self._ending())
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            raise Lost(f"the answer is no JSON: {line.strip()[:80]!r}") from None
        if not isinstance(answer, dict):
            raise Lost(f"the answer is no object: {line.strip()[:80]!r}")
        return answer

    def close(self):
        """End the program: close its input, and kill it unless it ends by itself."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self._kill()
        self._process.stdout.close()

    def _kill(self):
        """Kill the program and what it started: they hold the other end of the pipe."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
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
            return f"the program ended by {signal.Signals(-status).name}"
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
        function = getattr(self.package, question["call"], None)
        if function is None:
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

    What the package itself prints goes to standard error.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    server = Server(importlib.import_module(name))
    for line in sys.stdin:
        try:
            answer = dumps(server.answer(json.loads(line)))
        except Exception as error:
            answer = dumps({"fault": f"{type(error).__name__}: {error}"})
        print(answer, file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
