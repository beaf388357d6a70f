"""The implementations that are timed: Python packages, and programs of the conformance protocol."""

import copy
import importlib
import shlex
import warnings

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

    A module may also have a benchmark that is made of several kernels as one function, named as
    the benchmark is, with `_` for spaces. A module with `versions` is another project: such a
    benchmark has no row for it unless the module has that function.

    Parameters
    ----------
    name : str
        Import name.
    threads : int
        A module with `set_num_threads` is told this number.

    Raises
    ------
    UserError
        If it cannot be imported, or has no kernel.
    """

    def __init__(self, name, threads=1):
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # of other projects: in pytest they would be errors
            self.name, self.gnn = name, load_implementation(name)
        self._module = importlib.import_module(name)
        self.build = build_of(self.gnn)
        self.versions = getattr(self._module, "versions", dict)()
        getattr(self._module, "set_num_threads", int)(threads)

    def has(self, bench):
        """Whether the kernel, or one of its parts, is the package's own."""
        if self._whole(bench):
            return True
        if self.versions and bench.parts:
            return False
        kernels = bench.parts or [bench.kernel]
        return any(own(self._module, kernel) is not None for kernel in kernels)

    def callable(self, bench, task):
        """Return the function to call by name, or None if the package has none."""
        if not self.has(bench):
            return None
        return self._whole(bench) or task.function(bench.kernel, self.gnn)

    def _whole(self, bench):
        """Return the function that is a benchmark of several kernels, or None."""
        name = bench.kernel.replace(" ", "_")
        return getattr(self._module, name, None) if bench.parts else None


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
