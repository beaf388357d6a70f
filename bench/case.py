"""What a benchmark is: a kernel, its inputs at each size, and how an answer is checked."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from bench.work import Part
from refimpl.lab.backend import find


class Task(NamedTuple):
    """One input of a kernel.

    Attributes
    ----------
    text : str
        What the report calls it.
    args : dict
        Argument name -> value: every argument by its public name.
    check : callable
        ``check(result, args, other)`` raises `Differs` where the result is wrong; `args` are those
        of the call, after it, and `other` is another implementation, or None if there is none.
    work : list of Part
        What the kernel must do at least; empty where that is not known.
    turn : callable, optional
        ``turn(i)`` returns the arguments that call i needs afresh, because it changes them, or
        because it should not be told the same twice. They are made outside the timer.
    call : callable, optional
        ``call(gnn, **args)`` in place of the public function, whose arguments may then be named as
        in a test vector: a list `parts`, or `calls` of an object.
    """

    text: str
    args: dict[str, Any]
    check: Callable[[Any, dict, Any], None]
    work: list[Part] = []
    turn: Callable[[int], dict] | None = None
    call: Callable[..., Any] | None = None

    def arguments(self, turn):
        """Return the arguments of a call by name."""
        return self.args if self.turn is None else {**self.args, **self.turn(turn)}

    def function(self, kernel, gnn):
        """Return what is called with them, of an implementation."""
        return find(gnn, kernel) if self.call is None else partial(self.call, gnn)


class Bench(NamedTuple):
    """The benchmarks of a kernel.

    Attributes
    ----------
    kernel : str
        Its public name, or what is made of several, which are then `parts`.
    tasks : callable
        Yields the Tasks of a size of `inputs.SIZES`.
    serial : bool
        Whether it uses one thread whatever --threads says: the kernel has no parallel loop in
        fastimpl, or is given one lane.
    parts : tuple of str
        The public functions that `Task.call` calls, of what is made of several.
    forms : tuple of str
        Names of the Tasks of a size, where there are several.
    """

    kernel: str
    tasks: Callable[[str], Iterator[Task]]
    serial: bool = False
    parts: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()


def timed(*benches):
    """Return the test of a topic: pytest runs it for each kernel, input and implementation."""

    def test(replay):
        replay()

    test.benches = benches
    return test


def benches():
    """Return the benchmarks of all kernels, which the test of each topic has."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("test_*.py"))
    return [one for name in names for one in getattr(import_module(f"bench.{name}"), name).benches]
