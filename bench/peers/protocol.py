"""The side of a contestant's process: it answers requests, one JSON object a line.

Nothing of this project but `bench.timing` is imported: a peer's interpreter has nothing else.
"""

import contextlib
import json
import os
import platform
import sys
import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import process_time

import numpy as np

from bench.timing import elapsed

ROOT = Path(__file__).parents[2]


class ContestantError(Exception):
    """A contestant's process failed; the message holds its traceback."""


class MissingError(Exception):
    """A contestant lacks what a job needs; the message says what, in a line."""


class Held:
    """What a contestant's process has made ready, by name, and what it does with it."""

    def __init__(self, kinds):
        self.kinds, self.objects = kinds, {}

    def prepare(self, name, kind, *arguments):
        """Make a step, dense products or a sparse product ready."""
        self.objects[name] = self.kinds[kind](*arguments)

    def drop(self):
        """Free everything that was prepared."""
        self.objects.clear()

    def run(self, name, repeat=1):
        """Do it some times; return the seconds of one, and its CPU seconds in this process.

        What is quick is done once before: with what the others have left in the caches, the first
        of a few calls would count for much.
        """
        call = self.objects[name]
        if repeat > 1:
            call()
        begin = process_time()
        seconds = elapsed(lambda: [call() for _ in range(repeat)])
        return seconds / repeat, (process_time() - begin) / repeat

    def check(self, name, path):
        """Write its answer, named arrays, to an .npz file."""
        np.savez(path, **self.objects[name].answer())

    def peak(self, name):
        """Return by how many bytes memory grows at most while it is done twice."""
        return peak_growth(lambda: [self.objects[name]() for _ in range(2)])


def serve(kinds, **more):
    """Answer requests until the input ends.

    Parameters
    ----------
    kinds : dict
        For `Held`, whose methods are the requests.
    **more : functions
        Other requests.
    """
    held = Held(kinds)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    for line in sys.stdin:
        name, *arguments = json.loads(line)["request"]
        try:
            answer = {"result": (more.get(name) or getattr(held, name))(*arguments)}
        except (ImportError, MissingError) as error:
            answer = {"missing": in_a_line(error)}
        except Exception:  # reported to whoever asked
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


def in_a_line(error):
    """Return the first line of an error's message."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def versions_of(names):
    """Return the versions of those of some distributions that are installed, and Python's."""
    found = {"Python": platform.python_version()}
    for name in names:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def peak_growth(call):
    """Return by how many bytes this process's resident memory grows at most during `call`.

    Linux only: the kernel's high-water mark is set back to the present size first.
    """
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    call()
    return _status("VmHWM") - before


def _status(field):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise ContestantError(f"/proc/self/status has no {field}")
