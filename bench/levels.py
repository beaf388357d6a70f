"""Every kernel at each level of x86-64: the builds of one package in turns, on one thread.

Each level has a process of its own, with the same inputs. The answer of the base is compared with
another method's, those of the others with the base's, bit for bit. The build must have levels:
MINIBATCH_GNN_ARCH=x86-64-v2,x86-64-v3,x86-64-v4 python setup.py build_ext --inplace
"""

import sys
from contextlib import ExitStack
from fnmatch import fnmatch
from statistics import geometric_mean

from bench.case import benches
from bench.command import Common, UsageError
from bench.inputs import SIZES
from bench.markdown import milliseconds, ratio, table
from bench.peers.protocol import Contestant
from bench.timing import MIN_ROUNDS, summary
from fastimpl import _levels, _processor

COMMON = Common()
QUICK: dict = {}
MOST = 1.3  # times the highest level's, of the second highest


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument(
        "--only", metavar="KERNEL", default="*", help="kernels of this name, * for any letters"
    )


def report(options):
    """Yield a row for each kernel and input, and what the rows say together."""
    levels = levels_here()
    chosen = [one for one in benches() if fnmatch(one.kernel, options.only)]
    if not chosen:
        raise UsageError(f"--only: there is no kernel {options.only!r}")
    with ExitStack() as stack:
        sides = {level: stack.enter_context(started(level)) for level in levels}
        yield from said(measured(sides, chosen, options.quick), levels)


def levels_here():
    """Return the base and the levels that were built and that this processor has, lowest first."""
    found = [level for level in _processor.levels() if level in _levels.built()]
    if not found:
        raise UsageError(f"the kernels were built for one processor alone:\n{__doc__}")
    return [_levels.BASE, *reversed(found)]


def started(level):
    """Return the process of a level."""
    settings = {_levels.VARIABLE: level}
    side = Contestant(sys.executable, "bench.levels_side", 1, **settings)
    if side("level") != level:
        raise UsageError(f"a process that was to run {level} runs {side('level')}")
    return side


def measured(sides, chosen, quick):
    """Yield (kernel, input, {level: Times}) of each task; `quick`: one round of the smallest."""
    for bench in chosen:
        for size in list(SIZES)[:1] if quick else SIZES:
            print(f"{bench.kernel}, {size}", file=sys.stderr, flush=True)
            for number, text in enumerate(made(sides, bench.kernel, size)):
                times = task(sides, number, text, 1 if quick else MIN_ROUNDS)
                if times:
                    yield bench.kernel, text, times


def made(sides, kernel, size):
    """Have the inputs made in each process; return how they are called."""
    return [side("make", kernel, size) for side in sides.values()][0]


def task(sides, number, text, rounds):
    """Check the answers, then time all levels in turns; return {level: Times}, {} without a kernel.

    Raises
    ------
    UsageError
        If a level's answer has other bits than the base's.
    """
    answers = {
        level: side("answer", number, level == _levels.BASE) for level, side in sides.items()
    }
    if None in answers.values():
        return {}
    wrong = [level for level in sides if answers[level] != answers[_levels.BASE]]
    if wrong:
        raise UsageError(f"{text}: {', '.join(wrong)} and {_levels.BASE} differ in bits")
    seconds, names = {level: [] for level in sides}, list(sides)
    for turn in range(rounds):
        first = turn % len(names)
        for level in names[first:] + names[:first]:
            seconds[level] += sides[level]("round", turn)
    return {level: summary(found) for level, found in seconds.items()}


def said(rows, levels):
    """Yield the lines of the table, each level over the highest, and of the ratios together."""
    rows, (*lower, highest) = list(rows), levels
    ratios = {
        level: [times[level].median / times[highest].median for _, _, times in rows]
        for level in lower
    }
    titles = ["kernel", "input", *(f"{level}, ms" for level in levels)]
    titles += [f"{level} / {highest}" for level in lower]
    yield "Medians of interleaved rounds on one thread; the bits of all levels are the same."
    yield ""
    yield from table(
        titles,
        [
            [kernel, text, *(milliseconds(times[level]) for level in levels)]
            + [ratio(ratios[level][i]) for level in lower]
            for i, (kernel, text, times) in enumerate(rows)
        ],
        left=2,
    )
    for level in lower:
        worst = max(range(len(rows)), key=ratios[level].__getitem__)
        yield ""
        yield (
            f"{level} / {highest}: geometric mean {ratio(geometric_mean(ratios[level]))}, at most "
            f"{ratio(ratios[level][worst])} ({rows[worst][0]}, {rows[worst][1]}); above {MOST}: "
            f"{sum(one > MOST for one in ratios[level])} of {len(rows)}."
        )
