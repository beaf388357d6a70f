"""Programs for the conformance runner to ask: some that answer, and some that do not."""

import sys

from refimpl.lab.apps.conformance.case import Kernel

ANSWERS = """
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    if "hello" in question:
        answer = {"name": "mine", "version": "7"}
    else:
        answer = reply(question)
    print(json.dumps(answer), flush=True)
"""


def program(source):
    """Return the command of a Python program."""
    return [sys.executable, "-c", source]


def answering(reply):
    """Return the command of a program whose answers the function `reply`, given as source, makes.

    `reply` is source that defines ``reply(question)``, or an expression of `question`.
    """
    if not reply.lstrip().startswith(("def ", "import ")):
        reply = f"def reply(question): return {reply}"
    return program(reply + ANSWERS)


def vector(*cases, name="mix", paper="common", compare=None, writes=()):
    """Return what `vectors.load` returns of a file with these cases."""
    return {
        "function": name,
        "source": {"paper": paper, "place": "Algorithm 1", "lines": ""},
        "compare": compare or {"rule": "exact"},
        "writes": list(writes),
        "flags": {},
        "cases": list(cases),
    }


def kernel_of(*cases, **changes):
    """Return `mix` with these cases, and changes of its other fields."""
    return Kernel("mix", "common", "here", cases)._replace(**changes)
