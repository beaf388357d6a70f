"""Measuring: each task by each contestant, its answer checked before it is timed."""

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from threadpoolctl import ThreadpoolController

import refimpl
from refimpl.lab.apps.bench.cases import benches
from refimpl.lab.apps.bench.checks import Differs, restored
from refimpl.lab.apps.bench.contestants import (
    LEFT_OUT,
    PROGRAM,
    RIGHT,
    TIMED,
    TIMEOUT,
    Command,
    Package,
)
from refimpl.lab.apps.bench.inputs import fastest, helper, sizes
from refimpl.lab.apps.bench.timing import PATIENCE, Stopwatch, in_turns, summary
from refimpl.lab.apps.bench.work import Part
from refimpl.lab.apps.conformance import vectors
from refimpl.lab.apps.conformance.runner import DIFFERS, LOST, NOT_RUN
from refimpl.lab.apps.conformance.timing import MISSING, Input

SLOW = "refimpl"  # has no large inputs: they would take it minutes
MOST_LOST = 5  # times that a package is lost in a run before it is not called any more
COMPILING = 30.0  # seconds of a first call after which there is a second


class Cell(NamedTuple):
    """What came out for one contestant on one number of threads.

    Attributes
    ----------
    impl : str
    threads : int
    verdict : str
        "timed", "right" (checked and not timed, as asked), "missing", "differs" or "left out" (no
        input for it), "lost" (it hung, or ended its process), "not run" (it was lost before); and
        of a program "not timed".
    said : str
        How it differs, or why it is not timed.
    median, least, iqr : float, optional
        Seconds.
    rounds : int
        1 where a call took so long that it was not repeated.
    completed : bool
        Whether refimpl's kernels helped.
    """

    impl: str
    threads: int
    verdict: str
    said: str = ""
    median: float | None = None
    least: float | None = None
    iqr: float | None = None
    rounds: int = 0
    completed: bool = False


class Row(NamedTuple):
    """One task: the kernel, its input, the work that it cannot avoid, a Cell a contestant."""

    kernel: str
    input: str
    size: str
    work: list[Part]
    cells: list[Cell]


class Loss(NamedTuple):
    """A call that did not come back: whose, of which kernel's row (from 0), and why."""

    impl: str
    threads: int
    kernel: str
    row: int
    why: str


class Setting(NamedTuple):
    """What a run measures: contestants, numbers of threads, and whether answers are only checked.

    ``limit_to(t)`` gives the context of t threads, of OpenMP and BLAS. ``tell("calling", impl, t)``
    is called before each call of a package, ``tell("making", impl, t)`` before a package helps to
    make an input, ``tell("resting")`` after either, or ``tell("ended", why)`` after a call that
    ends the process. What is `lost` is not called.
    """

    contestants: list
    threads: list[int]
    quick: bool
    limit_to: Callable[[int], Any]
    tell: Callable[..., None] = lambda *message: None
    lost: tuple[Loss, ...] = ()

    @contextmanager
    def calling(self, impl, threads):
        """Give the context of a call."""
        with self.limit_to(threads):
            self.tell("calling", impl, threads)
            try:
                yield
            except Exception:
                self.tell("resting")
                raise
            except BaseException as error:  # SystemExit and the like
                self.tell("ended", f"it raised {_in_words(error)}")
                raise
            self.tell("resting")

    @contextmanager
    def making(self):
        """Give the context in which the next input is made; an exception is to end the process."""
        name = helper().__name__
        if name == SLOW:
            yield
            return
        self.tell("making", name, self.threads[0])
        yield
        self.tell("resting")

    def left_out(self, kernel, row, impl, threads):
        """Return the verdict on what is not called again and why, or None."""
        mine = [one for one in self.lost if one.impl == impl]
        here = [one for one in mine if (one.kernel, one.threads) == (kernel, threads)]
        if here:
            return (LOST, here[0].why) if here[0].row == row else (NOT_RUN, "lost before")
        return (NOT_RUN, f"lost {MOST_LOST} times") if len(mine) >= MOST_LOST else None

    def compare(self, kernel, task, cell, result, arguments):
        """Check an answer, with another implementation's unless that was lost in this kernel."""
        other = other_than(cell.impl)
        name = None if other is None else other.__name__
        mine = [one.kernel for one in self.lost if one.impl == name]
        if name in (None, SLOW) or kernel in mine or len(mine) >= MOST_LOST:
            with self.limit_to(cell.threads):
                task.check(result, arguments, other if name == SLOW else None)
        else:
            with self.calling(name, cell.threads):
                task.check(result, arguments, other)


def opened(stack: ExitStack, names, threads=1, timeout=TIMEOUT, tell=lambda *message: None):
    """Return the contestants of these names, to be closed with `stack`.

    Programs are told to use so many `threads`, and have `timeout` seconds for an answer.
    """
    found: list = []
    for name in names:
        if name.startswith(PROGRAM):
            text = name.removeprefix(PROGRAM)
            found.append(stack.enter_context(Command(text, threads, timeout)))
        else:
            tell("calling", name, threads)
            found.append(stack.enter_context(Package(name)))
            tell("resting")
    return found


def limiting():
    """Return a function that limits all pools of threads; call it when all have been loaded."""
    controller = ThreadpoolController()
    return lambda count: controller.limit(limits=count)


def rows(setting, chosen, first=0) -> Iterator[Row]:
    """Yield a Row for each task of the benchmarks in `chosen`, of the smallest size if quick.

    Of each benchmark those from number `first` on.
    """
    for bench in chosen:
        for number, (size, task) in enumerate(_tasks(setting, bench)):
            if number >= first:
                yield _row(setting, bench, size, task, number)


def _tasks(setting, bench):
    """Yield each task of a benchmark and its size, which comes first."""
    for size in sizes(setting.quick):
        tasks = iter(bench.tasks(size))
        while True:
            with setting.making():
                task = next(tasks, None)
            if task is None:
                break
            yield size, task


def chosen_benches(fits):
    """Return the benchmarks whose kernel ``fits(kernel, topic)`` is true of."""
    return [one for topic, of in benches().items() for one in of if fits(one.kernel, topic)]


def _row(setting, bench, size, task, number):
    """Check every contestant, then time those that are right, in turns."""
    found, watches = {}, {}
    for contestant in setting.contestants:
        chosen = setting.threads[:1] if bench.serial else setting.threads
        for threads in contestant.threads(chosen):
            key = contestant.name, threads
            cell = Cell(*key, LEFT_OUT)
            if size == "large" and (contestant.name == SLOW or isinstance(contestant, Command)):
                found[key] = cell
            elif gone := setting.left_out(bench.kernel, number, *key):
                found[key] = cell._replace(verdict=gone[0], said=gone[1])
            elif isinstance(contestant, Command):
                found[key] = _asked(setting, contestant, cell, bench, task)
            else:
                found[key], watch = _checked(setting, contestant, cell, bench, task)
                if watch is not None:
                    watches[key] = watch, lambda key=key: setting.calling(*key)
    for key, error in in_turns(watches).items():
        found[key] = found[key]._replace(verdict=DIFFERS, said=_in_words(error))
    for key, (watch, _) in watches.items():
        if found[key].verdict == TIMED:
            found[key] = found[key]._replace(**summary(watch.seconds)._asdict())
    return Row(bench.kernel, task.text, size, task.work, list(found.values()))


def _checked(setting, package, cell, bench, task):
    """Return the Cell of a package after one call, and the Stopwatch to go on with, or None."""
    call = package.callable(bench, task)
    if call is None:
        return cell._replace(verdict=MISSING), None
    cell = cell._replace(completed=package.completed(bench))
    watch = Stopwatch(call, task.arguments, task.turn is not None)
    try:
        with setting.calling(cell.impl, cell.threads):
            seconds, result, arguments = _once(watch, bench, task)
        setting.compare(bench.kernel, task, cell, result, arguments)
        if not setting.quick and seconds <= COMPILING:
            with setting.calling(cell.impl, cell.threads):
                seconds, *_ = watch.once(1)  # what is compiled when it is called has been by now
    except NotImplementedError:
        return cell._replace(verdict=MISSING), None
    except Exception as error:  # whatever an implementation raises, or a check of its answer
        return cell._replace(verdict=DIFFERS, said=_in_words(error)), None
    if setting.quick:
        return cell._replace(verdict=RIGHT), None
    if seconds > PATIENCE:
        times = summary([seconds])
        return cell._replace(verdict=TIMED, **times._asdict()), None
    watch.estimate(seconds)
    return cell._replace(verdict=TIMED), watch


def _once(watch, bench, task):
    """Return what the first call took, gave and was given; refuse one that spoils its input.

    All contestants have the same arguments: what a call may not change is made good.
    """
    given = task.arguments(0)
    before = copy.deepcopy(given)
    try:
        seconds, result, _ = Stopwatch(watch.call, lambda turn: given, watch.fresh).once(0)
    finally:
        mine = [name for name in given if name not in _written(bench, task)]
        changed = [name for name in mine if restored(given[name], before[name])]
    if changed:
        raise Differs(f"it changed its argument {changed[0]}")
    return seconds, result, given


def _written(bench, task):
    """Return the names of the arguments that a call may change."""
    if bench.parts:
        return set() if task.turn is None else set(task.turn(0))
    return {name for file in vectors.load(patterns=[bench.kernel]) for name in file["writes"]}


def _in_words(error):
    """Return what is wrong, in a line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, Differs) else f"{type(error).__name__}: {text}"


def other_than(name):
    """Return an implementation to compare answers with, or None if there is no other."""
    if name != SLOW:
        return refimpl
    return None if fastest() is refimpl else fastest()


def _asked(setting, program, cell, bench, task):
    """Return the Cell of a program, which checks by its vectors and is then asked this."""
    files = vectors.load(patterns=[bench.kernel])
    if not files:
        return cell._replace(verdict=MISSING)

    def given(turn):
        arguments = copy.deepcopy(task.arguments(turn))
        want = task.function(bench.kernel, refimpl)(**arguments)
        task.check(want, arguments, None)
        changed = {name: arguments[name] for name in files[0]["writes"]} or None
        return Input(task.text, copy.deepcopy(task.arguments(turn)), want, changed)

    times: list = []
    if setting.quick:
        said = program.check(bench, task, given(0))
    else:
        times, said = program.time(bench, task, given, task.turn is not None)
    if said:
        verdict, _, why = said.partition(": ")
        return cell._replace(verdict=verdict, said="" if verdict == MISSING else why)
    if setting.quick:
        return cell._replace(verdict=RIGHT)
    return cell._replace(verdict=TIMED, **summary(times)._asdict())
