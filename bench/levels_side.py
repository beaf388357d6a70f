"""What a process of `bench.levels` does: the kernels of one level, on one thread."""

import dataclasses
import hashlib

import numpy as np

import fastimpl
import refimpl
from bench.peers.protocol import serve
from refimpl.history.entries import Entries
from refimpl.lab.apps.bench.contestants import Package
from refimpl.lab.apps.bench.measuring import chosen_benches
from refimpl.lab.apps.bench.timing import Stopwatch


class Side:
    """The tasks of one benchmark at one size, of which one is measured at a time."""

    def __init__(self):
        self.package, self.tasks, self.watch = Package("fastimpl"), [], None

    def level(self):
        """Return which level runs here."""
        return fastimpl.build_info()["level"]

    def make(self, kernel, size):
        """Make the inputs of a kernel; return what each is called."""
        (self.bench,) = chosen_benches(lambda name, topic: name == kernel)
        self.tasks = list(self.bench.tasks(size))
        return [task.text for task in self.tasks]

    def answer(self, number, check):
        """Call the kernel, with `check` compare its answer with another method's.

        Returns a digest of the answer, or None where the package has no such kernel.
        """
        task = self.tasks[number]
        call = self.package.callable(self.bench, task)
        if call is None:
            return None
        self.watch = Stopwatch(call, task.arguments, task.turn is not None)
        _, result, arguments = self.watch.once(0)
        changed = [one for one in arguments.values() if task.turn and is_changeable(one)]
        found = digest([result, changed])
        if check:
            task.check(result, arguments, refimpl)
        self.watch.estimate(self.watch.once(1)[0])
        return found

    def round(self, number):
        """Do the rounds of one turn; return the seconds of each."""
        before = len(self.watch.seconds)
        self.watch.round(number)
        return self.watch.seconds[before:]


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
