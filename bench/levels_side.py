"""What a process of `bench.levels` does: the kernels of one level, on one thread."""

import dataclasses
import hashlib

import numpy as np

import fastimpl
import refimpl
from bench.case import benches
from bench.implementations import Package
from bench.measuring import Calls, Missing
from bench.peers.protocol import serve
from refimpl.history.entries import Entries

ROUNDS_A_TURN = 5


class Side:
    """The tasks of one benchmark at one size, of which one is measured at a time."""

    def __init__(self):
        self.package, self.tasks, self.calls = Package("fastimpl"), [], None

    def level(self):
        """Return which level runs here."""
        return fastimpl.build_info()["level"]

    def make(self, kernel, size):
        """Make the inputs of a kernel; return what each is called."""
        (self.bench,) = [one for one in benches() if one.kernel == kernel]
        self.tasks = list(self.bench.tasks(size))
        return [task.text for task in self.tasks]

    def answer(self, number, check):
        """Call the kernel, with `check` compare its answer with another method's.

        Returns a digest of the answer, or None where the package has no such kernel.
        """
        task = self.tasks[number]
        try:
            self.calls = Calls(self.package, self.bench, task)
        except Missing:
            return None
        arguments = task.arguments(0)
        result = self.calls.call(**arguments)
        changed = [one for one in arguments.values() if task.turn and is_changeable(one)]
        found = digest([result, changed])
        if check:
            task.check(result, arguments, refimpl)
        self.calls.prepare()
        return found

    def round(self, number):
        """Do the rounds of one turn; return the seconds of each."""
        return [seconds for _ in range(ROUNDS_A_TURN) for seconds in self.calls.round()]


def is_changeable(argument):
    """Whether a kernel may write to an argument: an array, a dict of them, or what holds some."""
    return isinstance(argument, np.ndarray | dict | Entries)


def digest(value):
    """Return a digest of all numbers in arrays, tuples, dicts and objects with fields."""
    found = hashlib.blake2b(digest_size=16)
    for array in arrays(value):
        found.update(f"{array.dtype}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def arrays(value):
    """Yield the arrays and numbers of a value, in order."""
    if isinstance(value, np.ndarray | np.generic | int | float):
        yield np.asarray(value)
    elif isinstance(value, dict):
        yield from arrays(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from arrays(part)
    elif hasattr(value, "indptr") and hasattr(value, "max_degree"):  # a graph, which may keep more
        yield from arrays([value.indptr, value.indices])
    elif dataclasses.is_dataclass(value):
        yield from arrays([getattr(value, one.name) for one in dataclasses.fields(value)])
    elif value is not None and not isinstance(value, str):
        raise TypeError(f"no numbers are known of a {type(value).__name__}")


if __name__ == "__main__":
    side = Side()
    names = ("level", "make", "answer", "round")
    serve({}, **{name: getattr(side, name) for name in names})
