"""Who is timed: packages that Python imports, and programs that speak the conformance protocol."""

import importlib
import shlex

from refimpl.lab.apps.conformance.case import EXACT, Close
from refimpl.lab.apps.conformance.program import Lost
from refimpl.lab.apps.conformance.timing import Input, Timer
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.info import build_of
from refimpl.lab.apps.options import load_implementation
from refimpl.lab.backend import find

PROGRAM = "cmd:"  # before a command in --impl
MISSING, DIFFERS, TIMED, RIGHT, LEFT_OUT = "missing", "differs", "timed", "right", "left out"
CLOSE = {
    "float32": Close(1e-4, 1e-4, "sums in another order, in single precision"),
    "float64": Close(1e-10, 1e-10, "sums in another order"),
}


class Package:
    """An implementation in Python, completed by refimpl where it has some kernels only.

    Raises
    ------
    UserError
        If it cannot be imported, or has no kernel.
    """

    def __init__(self, name):
        self.gnn = load_implementation(name)
        self.name = name
        module = importlib.import_module(name)
        self.partial = module is not self.gnn
        self._module = module

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def has(self, kernel):
        """Whether the kernel is the package's own.

        What a module of some kernels imported from refimpl, to build on, is not.
        """
        import refimpl

        own = _find(self._module, kernel)
        return own is not None and not (self.partial and own is _find(refimpl, kernel))

    def callable(self, bench, task):
        """Return the function to call by name, or None if the package has none."""
        if task.call is None:
            return find(self.gnn, bench.kernel) if self.has(bench.kernel) else None
        if not any(map(self.has, bench.parts)):
            return None
        return lambda **args: task.call(self.gnn, **args)

    def completed(self, bench):
        """Whether some of the parts of a benchmark are refimpl's."""
        return self.partial and not all(map(self.has, bench.parts))

    def threads(self, chosen):
        """Return which of some numbers of threads it can use: a number only if it is compiled.

        That is what `build_info` of a package says.
        """
        build = build_of(self.gnn)
        return chosen if build and build.get("openmp") else [1]


def _find(module, kernel):
    try:
        return find(module, kernel)
    except AttributeError:
        return None


class Command:
    """A program of any language, asked line by line; a ``with`` block ends it.

    Raises
    ------
    UserError
        If it cannot be started, or does not answer the greeting.
    """

    partial = True

    def __init__(self, text):
        self.name = PROGRAM + text
        words = shlex.split(text)
        if not words:
            raise UserError(f"--impl {PROGRAM} must be followed by a program")
        try:
            self.timer = Timer(words)
        except (OSError, Lost) as error:
            raise UserError(f"--impl {self.name}: {error}") from error
        self.said = f"{self.timer.name} {self.timer.version}"

    def __enter__(self):
        self.timer.__enter__()
        return self

    def __exit__(self, *error):
        self.timer.__exit__(*error)

    def threads(self, chosen):
        """Return [1]: how many a program uses is its own affair."""
        return [1]

    def time(self, bench, task, want, changed, rounds):
        """Return the seconds of each round, or in words why there are none."""
        given = Input(task.text, task.arguments(0), want, changed)
        dtype = next((name for name in CLOSE if name in task.text), None)
        compare = EXACT if dtype is None else CLOSE[dtype]
        timing = self.timer.time(bench.kernel, given, rounds, compare=compare)
        return timing.said or [one * 1e-9 for one in timing.nanoseconds]
