"""The implementations that are timed: Python packages, and programs of the conformance protocol."""

import copy
import importlib
import shlex

import refimpl
from refimpl.lab.apps.conformance import vectors
from refimpl.lab.apps.conformance.case import EXACT, Close
from refimpl.lab.apps.conformance.timing import Input, Timer
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.info import build_of
from refimpl.lab.apps.options import load_implementation
from refimpl.lab.apps.worker import Lost
from refimpl.lab.backend import own

PROGRAM = "cmd:"  # before a command in --impl
TIMEOUT = 60.0  # seconds of an answer of a program, with all its rounds
POOLS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"
CLOSE = {
    "float32": Close(1e-4, 1e-4, "sums in another order, in single precision"),
    "float64": Close(1e-10, 1e-10, "sums in another order"),
}


class Package:
    """An implementation in Python, completed by refimpl where it has only some kernels.

    Raises
    ------
    UserError
        If it cannot be imported, or has no kernel.
    """

    def __init__(self, name):
        self.name, self.gnn = name, load_implementation(name)
        self._module = importlib.import_module(name)
        self.build = build_of(self.gnn)

    def has(self, bench):
        """Whether the kernel, or one of its parts, is the package's own."""
        return any(
            own(self._module, kernel) is not None for kernel in bench.parts or [bench.kernel]
        )

    def callable(self, bench, task):
        """Return the function to call by name, or None if the package has none."""
        return task.function(bench.kernel, self.gnn) if self.has(bench) else None


class Command:
    """A program in any language, which is asked line by line. Close it when it is not needed.

    Parameters
    ----------
    name : str
        `cmd:` and the command that starts the program.
    threads : int
        The program's environment has this number where OpenMP and BLAS look for it.

    Raises
    ------
    UserError
        If it cannot be started, or does not answer the greeting.
    """

    build = None

    def __init__(self, name, threads):
        self.name = name
        try:
            words = shlex.split(name.removeprefix(PROGRAM))
            if not words:
                raise UserError(f"--impl {PROGRAM} must be followed by a program")
            pools = dict.fromkeys(POOLS, str(threads))
            self.timer = Timer(words, timeout=TIMEOUT, env=pools)
        except (OSError, ValueError, Lost) as error:
            raise UserError(f"--impl {name}: {error}") from error

    def close(self):
        """End the program."""
        self.timer.__exit__()

    def has(self, bench):
        """Whether there are test vectors of the kernel: the program is asked whether it has it."""
        return bool(vectors.load(patterns=[bench.kernel]))

    def input(self, bench, task, turn):
        """Return the `Input` of a turn, with the reference's answer, which is checked."""
        arguments = copy.deepcopy(task.arguments(turn))
        want = task.function(bench.kernel, refimpl)(**arguments)
        task.check(want, arguments, None)
        (file,) = vectors.load(patterns=[bench.kernel])
        changed = {name: arguments[name] for name in file["writes"]} or None
        return Input(task.text, copy.deepcopy(task.arguments(turn)), want, changed)

    def check(self, bench, task, given):
        """Return "" if the program answers the vectors and an Input correctly, or why not."""
        return self.timer.check(bench.kernel, given, compare=rule(task))

    def rounds(self, bench, task, given, count):
        """Return the seconds of each round of an Input, and "", or [] and why there are none."""
        timing = self.timer.time(bench.kernel, given, count, compare=rule(task))
        if timing.said:
            return [], timing.said
        return [one * 1e-9 for one in timing.nanoseconds], ""


def rule(task):
    """Return how answers of a program are compared: numbers of a layer may differ in rounding."""
    dtype = next((name for name in CLOSE if name in task.text), None)
    return EXACT if dtype is None else CLOSE[dtype]
