"""Who is timed: packages that Python imports, and programs that speak the conformance protocol."""

import importlib
import shlex

import numpy as np

from refimpl.lab.apps.bench.timing import MIN_ROUNDS, PATIENCE
from refimpl.lab.apps.conformance.case import EXACT, Close
from refimpl.lab.apps.conformance.program import Lost
from refimpl.lab.apps.conformance.timing import NOT_TIMED, Timer
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.info import build_of
from refimpl.lab.apps.options import load_implementation
from refimpl.lab.backend import own

PROGRAM = "cmd:"  # before a command in --impl
TIMED, RIGHT, LEFT_OUT = "timed", "right", "left out"
ROUNDS_ASKED = 3 * MIN_ROUNDS  # of a program, in one question
TIMEOUT = 60.0  # seconds of a call, or of an answer of a program
POOLS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"
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
        """Whether the kernel is the package's own."""
        return own(self._module, kernel) is not None

    def callable(self, bench, task):
        """Return the function to call by name, or None if the package has none."""
        if not any(map(self.has, bench.parts or [bench.kernel])):
            return None
        return task.function(bench.kernel, self.gnn)

    def completed(self, bench):
        """Whether some of the parts of a benchmark are refimpl's."""
        return self.partial and not all(map(self.has, bench.parts))

    def threads(self, chosen):
        """Return which of some numbers of threads it can use: a number only if it is compiled.

        That is what `build_info` of a package says.
        """
        build = build_of(self.gnn)
        return chosen if build and build.get("openmp") else [1]


class Command:
    """A program of any language, asked line by line; a ``with`` block ends it.

    Parameters
    ----------
    text : str
        How it is started.
    threads : int
        What its environment tells it to use, where OpenMP and BLAS look.
    timeout : float
        Seconds for an answer, with all its rounds.

    Raises
    ------
    UserError
        If it cannot be started, or does not answer the greeting.
    """

    partial = True

    def __init__(self, text, threads=1, timeout=TIMEOUT):
        self.name, self.told = PROGRAM + text, threads
        try:
            words = shlex.split(text)
            if not words:
                raise UserError(f"--impl {PROGRAM} must be followed by a program")
            pools = dict.fromkeys(POOLS, str(threads))
            self.timer = Timer(words, timeout=timeout, env=pools)
        except (OSError, ValueError, Lost) as error:
            raise UserError(f"--impl {self.name}: {error}") from error
        self.said = f"{self.timer.name} {self.timer.version}"

    def __enter__(self):
        self.timer.__enter__()
        return self

    def __exit__(self, *error):
        self.timer.__exit__(*error)

    def threads(self, chosen):
        """Return the one number that it was told when it was started."""
        return [self.told]

    def time(self, bench, task, given, turns):
        """Return the seconds of each round, and "", or [] and in words why there are none.

        Parameters
        ----------
        bench : Bench
        task : Task
        given : callable
            ``given(turn)`` returns the `Input` of a turn.
        turns : bool
            Whether each round needs an input of its own, as it has one of a package; else one
            input is repeated in a question, as often as there is patience for.
        """
        found, said = self._asked(bench, task, given(0), 1)
        if said or found[0] > PATIENCE * 1e9:
            return _seconds(found, said)
        if turns:
            for turn in range(1, MIN_ROUNDS):
                more, said = self._asked(bench, task, given(turn), 1)
                if said:
                    return [], said
                found += more
        else:
            most = int(MIN_ROUNDS * PATIENCE * 1e9 / max(found[0], 1))
            rounds = max(MIN_ROUNDS, min(ROUNDS_ASKED, most))
            found, said = self._asked(bench, task, given(0), rounds)
        return _seconds(found, said)

    def check(self, bench, task, given):
        """Return "" if it answers rightly, else why not; it is not asked for times."""
        return self.timer.check(bench.kernel, given, compare=_rule(task))

    def _asked(self, bench, task, given, rounds):
        timing = self.timer.time(bench.kernel, given, rounds, compare=_rule(task))
        return timing.nanoseconds, timing.said


def _rule(task):
    dtype = next((name for name in CLOSE if name in task.text), None)
    return EXACT if dtype is None else CLOSE[dtype]


def _seconds(nanoseconds, said):
    """Return seconds, and "", or [] and why there are none."""
    if not said and not np.median(nanoseconds) > 0:
        said = f"{NOT_TIMED}: its clock is too coarse: most rounds took 0 ns"
    return [] if said else [one * 1e-9 for one in nanoseconds], said
