"""The line protocol, one JSON object a line, a question and an answer: who answers.

``python -m refimpl.lab.apps.conformance.protocol PACKAGE`` answers for a package that Python can
import. `refimpl.lab.apps.conformance.program` asks a program of any language.
"""

import copy
import sys
import time
from collections.abc import Callable
from importlib import metadata
from types import ModuleType
from typing import Any

from refimpl._support.beside import import_package
from refimpl.lab.apps import worker
from refimpl.lab.apps.conformance.encode import JsonObject, decode, dumps, encode
from refimpl.lab.apps.conformance.vectors import apply, prepared
from refimpl.lab.backend import own

PROTOCOL = "minibatch-gnn-conformance/1"


def server_command(package: str) -> list[str]:
    """Return the command that answers for a package which this interpreter can import."""
    return worker.this_python(f"from {__name__} import serve; serve({package!r})")


class Server:
    """Answers questions by calling the functions of a package.

    Attributes
    ----------
    package : module
    raised : Exception or None
        What the function raised that was called last.
    """

    def __init__(self, package: ModuleType) -> None:
        self.package = package
        self.raised: Exception | None = None

    def answer(self, question: JsonObject) -> JsonObject:
        """Return the answer to a question, both dicts. Whatever a function raises is an answer."""
        if "hello" in question:
            return {"name": self.package.__name__, "version": version(self.package)}
        function = own(self.package, question["call"])
        if function is None:
            return {"skip": "not implemented"}
        args = {name: decode(value) for name, value in question["args"].items()}
        rounds = _rounds(question)
        again = copy.deepcopy(args) if rounds else {}
        self.raised = None
        try:
            result = apply(function, args)
        except Exception as error:
            self.raised = error
            return _refusal(error)
        answer = {"result": encode(result)}
        if question.get("writes"):
            answer["changed"] = {name: encode(args[name]) for name in question["writes"]}
        if rounds:
            consumed = bool(question.get("writes")) or "calls" in again
            answer["nanoseconds"] = nanoseconds(function, again, rounds, consumed)
        return answer


def _refusal(error: Exception) -> JsonObject:
    """Return the answer of a function that raised an exception."""
    if isinstance(error, NotImplementedError):
        return {"skip": str(error) or "not implemented"}
    if isinstance(error, ValueError | TypeError):
        return {"error": "value" if isinstance(error, ValueError) else "type"}
    return {"fault": f"{type(error).__name__}: {error}"}


def _rounds(question: JsonObject) -> int:
    """Return how many rounds are to be timed: 0 if the question is not about time."""
    rounds: int = question.get("time", 0)
    if "time" in question and (type(rounds) is not int or rounds < 1):
        raise ValueError(f"time must be a number of rounds, 1 or more, got {rounds!r}")
    return rounds


def nanoseconds(
    function: Callable[..., Any], args: dict[str, Any], rounds: int, consumed: bool
) -> list[int]:
    """Return how long each of some calls took, all with the same arguments.

    Where a call consumes them (it changes some), each has a copy of its own, made before its time.
    """
    took = []
    for _ in range(rounds):
        call = prepared(function, copy.deepcopy(args) if consumed else args)
        begin = time.perf_counter_ns()
        result = call()
        took.append(time.perf_counter_ns() - begin)
        del result
    return took


def version(package: ModuleType) -> str:
    """Return the version of a package, or "unknown"."""
    if hasattr(package, "__version__"):
        return str(package.__version__)
    names = metadata.packages_distributions().get(package.__name__.partition(".")[0])
    return metadata.version(names[0]) if names else "unknown"


def serve(name: str) -> None:
    """Answer the questions on standard input until it ends.

    What the package itself prints goes to standard error. One that cannot be imported is the
    answer to the greeting, a fault.
    """
    server: Server | None = None

    def answer(question: JsonObject) -> JsonObject:
        nonlocal server
        try:
            server = server or Server(import_package(name))
            found = server.answer(question)
            dumps(found)
        except (Exception, SystemExit) as error:
            return {"fault": f"{type(error).__name__}: {error}"}
        return found

    worker.serve(answer)


if __name__ == "__main__":
    serve(sys.argv[1])
