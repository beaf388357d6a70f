"""Programs for the conformance runner to ask: some that answer, and some that do not."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
PROC = Path("/proc")
# Of what no vector can hold; and one that takes an object with a past, a cache.
CONSTRUCTORS = ("as_graph", "from_edges", "graph_and_names", "cache_update")
LONG = 60
HOLDS = f"import time; time.sleep({LONG})"  # what holds the pipe, if nobody ends it
GREETS = 'print(\'{"name": "mine", "version": "7"}\', flush=True)'

RUST = (1, 70)  # what Cargo.toml of the crate asks for


def skip_without(name):
    """Skip the test if a program is not here, or is Rust of a version that is too old."""
    if shutil.which(name) is None:
        pytest.skip(f"no {name}")
    if name in ("rustc", "cargo"):
        said = subprocess.run([name, "--version"], capture_output=True, text=True).stdout
        if tuple(map(int, re.search(r"(\d+)\.(\d+)", said).groups())) < RUST:
            pytest.skip(f"{said.strip()} is older than 1.70")


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


def numbered(answer):
    """Return the command of a program that gives ids, and `answer`, an expression of `question`."""
    greeting = '{"id": 0, "name": "mine"}'
    return program(
        f"import json, sys\nprint({greeting!r}, flush=True)\nsys.stdin.readline()\n"
        f"for question in map(json.loads, sys.stdin):\n    print(json.dumps({answer}), flush=True)"
    )


def writing(text):
    """Return the command of a program that greets, and answers with `text`, an expression."""
    return program(
        f"import sys\n{GREETS}\nsys.stdin.readline()\n"
        f"for _ in sys.stdin:\n    sys.stdout.write({text})\n    sys.stdout.flush()"
    )


def left_behind(then, pid_file, session):
    """Return the source of a program that greets, starts a child that holds its pipes, and then."""
    return f"""
import subprocess, sys, os, time
child = subprocess.Popen([sys.executable, "-c", {HOLDS!r}], start_new_session={session})
open({str(pid_file)!r}, "w").write(str(child.pid))
{GREETS}
{then}
"""


def ends(pid):
    """Say whether a process ends by itself soon: a signal takes a moment. End it in any case."""
    for _ in range(20):
        if not alive(pid):
            return True
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    return False


def alive(pid):
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


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
