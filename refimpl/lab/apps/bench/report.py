"""The tables of a run, with a column for each contestant, and of several runs side by side."""

import textwrap

from refimpl.lab.apps.bench.contestants import LEFT_OUT, RIGHT, TIMED
from refimpl.lab.apps.bench.limits import Limits
from refimpl.lab.apps.bench.markdown import aligned, milliseconds, ratio, significant, threads_title
from refimpl.lab.apps.bench.timing import Times

NONE = "-"
NOTE = (
    "Medians; ~ where the middle half of the rounds spreads over more than a quarter of it, * "
    "where a call took so long that it was timed once, + where refimpl's kernels helped. "
    "Speed-ups are over {first}; pairs are numbers of threads. Below 1 ms, the checks and the "
    "start of threads count. Rates and limits are those of {bound} on the fewest threads. ! above "
    "1: the limit was disturbed; repeat the run."
)
COLUMNS = 80
SAID = 28  # characters of a difference in its cell


def columns(runs):
    """Return the (contestant, threads) that any row of the runs has, in the runs' order."""
    there = {(cell.impl, cell.threads) for run in runs for row in run.rows for cell in row.cells}
    impls = list(dict.fromkeys(impl for run in runs for impl in run.impls))
    return [(impl, t) for impl in impls for t in sorted(t for i, t in there if i == impl)]


def titles_of(keys):
    """Return the title of each column of times: with threads where there are several numbers."""
    several = {impl for impl, _ in keys if sum(impl == other for other, _ in keys) > 1}
    return [f"{impl} ms" + (f", {threads_title(t)}" if impl in several else "") for impl, t in keys]


def lines(run):
    """Return the lines of the report on a run, but for its header and its verdict."""
    if all(cell.verdict != TIMED for row in run.rows for cell in row.cells):
        return checked(run)
    keys, limits = columns([run]), Limits(run.limits)
    first, *others = dict.fromkeys(impl for impl, _ in keys)
    bound = others[0] if others else first
    titles = ["kernel", "input", *titles_of(keys)]
    titles += ["speed-up" if len(others) == 1 else f"speed-up, {impl}" for impl in others]
    titles += ["achieved", "limit", "fraction of limit"]
    cells = []
    for row in run.rows:
        times = {(cell.impl, cell.threads): cell for cell in row.cells}
        line = [row.kernel, row.input, *(shown(times.get(key)) for key in keys)]
        line += [speed_ups(row, first, impl) for impl in others]
        cells.append([*line, *bounds(row, bound, limits)])
    differing = differences(run)
    return [
        *aligned(titles, cells, left=2),
        "",
        *wrapped(NOTE.format(first=first, bound=bound)),
        *(["", *differing] if differing else []),
        *notes(run),
        "",
        *limits.tables(run.threads),
    ]


def notes(run):
    """Return the lines of what else there is to say, each note after an empty one."""
    return [line for note in run.notes for line in ("", *wrapped(note))]


def wrapped(text):
    """Return a paragraph as lines that a terminal shows whole, but for what has no spaces."""
    return textwrap.wrap(text, COLUMNS, break_long_words=False, break_on_hyphens=False)


def checked(run):
    """Return the lines on a run that timed nothing: how many answers were right."""
    cells = [cell for row in run.rows for cell in row.cells]
    found = []
    for impl, threads in columns([run]):
        mine = [cell.verdict for cell in cells if (cell.impl, cell.threads) == (impl, threads)]
        kinds = [RIGHT, *sorted(set(mine) - {RIGHT, LEFT_OUT})]
        counts = ", ".join(f"{mine.count(kind)} {kind}" for kind in kinds)
        found.append(f"{impl}, {threads_title(threads)}: {counts}")
    differing = differences(run)
    return [*found, *(["", *differing] if differing else []), *notes(run)]


def differences(run):
    """Return a line for each cell that has something to say, whole."""
    return [
        f"- {row.kernel}, {row.input}: {cell.impl} on {threads_title(cell.threads)}, "
        f"{cell.verdict}: {cell.said}"
        for row in run.rows
        for cell in row.cells
        if cell.said
    ]


def shown(cell):
    """Return a cell in words: its milliseconds, or why there are none."""
    if cell is None or cell.verdict == LEFT_OUT:
        return NONE
    if cell.said:
        said = cell.said if len(cell.said) <= SAID else cell.said[:SAID].rstrip() + " .."
        return f"{cell.verdict}: {said}".replace("|", "/")
    if cell.verdict != TIMED:
        return cell.verdict
    text = milliseconds(Times(cell.median, cell.least, cell.iqr, cell.rounds))
    return text + ("*" if cell.rounds == 1 else "") + ("+" if cell.completed else "")


def timed(row, impl):
    """Return the timed cells of a contestant, the fewest threads first."""
    found = [cell for cell in row.cells if cell.impl == impl and cell.verdict == TIMED]
    return sorted(found, key=lambda cell: cell.threads)


def speed_ups(row, first, impl):
    """Return how many times faster a contestant is than the first, for its numbers of threads."""
    base = timed(row, first)
    if not base:
        return NONE
    return " / ".join(ratio(base[0].median / cell.median) for cell in timed(row, impl)) or NONE


def bounds(row, impl, limits):
    """Return what a contestant achieves, the limit that binds it, and its share of that."""
    cells = timed(row, impl)
    found = [limits.bound(row.work, cell.threads, cell.median) for cell in cells]
    if not found or found[0] is None:
        return [NONE, NONE, NONE]
    achieved, limit, unit, name = found[0]
    shares = " / ".join(fraction(one[0] / one[1]) for one in found if one)
    return [f"{significant(achieved)} {unit}", f"{significant(limit)} {unit} {name}", shares]


def fraction(x):
    """Return a fraction of a limit; the marked ones cannot be, and the report says why."""
    return "<0.01" if x < 0.005 else f"{x:.2f}" + ("!" if x > 1.005 else "")


def compared(runs, names):
    """Return the lines of runs side by side: times, and each over that of the first run.

    Parameters
    ----------
    runs : list of Run
    names : list of str
        What the runs are called.
    """
    out = []
    for name, run in zip(names, runs, strict=True):
        out += [f"{name}:", "", *run.header, *(line for line in run.verdict if line), ""]
    if any(_unlike(run, runs[0]) for run in runs):
        out += ["**These runs are of different machines, builds or versions.**", ""]
    titles = ["kernel", "input", "who", *(f"{name} ms" for name in names)]
    titles += [f"{name} / {names[0]}" for name in names[1:]]
    found: dict = {}
    for at, run in enumerate(runs):
        for row in run.rows:
            for cell in row.cells:
                key = row.kernel, row.input, cell.impl, cell.threads
                found.setdefault(key, {})[at] = cell
    several = {impl for impl, threads in columns(runs) if threads > 1}
    lines = []
    for (kernel, text, impl, threads), cells in found.items():
        if not any(cell.verdict == TIMED or cell.said for cell in cells.values()):
            continue
        who = f"{impl}, {threads_title(threads)}" if impl in several else impl
        times = [cells.get(at) for at in range(len(runs))]
        over = [_over(times[0], cell) for cell in times[1:]]
        lines.append([kernel, text, who, *map(shown, times), *over])
    note = "Medians; a ratio below 1 is faster than in the first run."
    return [*out, *aligned(titles, lines, left=3), "", note]


def _over(first, cell):
    if first is None or cell is None or {first.verdict, cell.verdict} != {TIMED}:
        return NONE
    return ratio(cell.median / first.median)


def _unlike(run, first):
    """Whether the times of two runs cannot be compared, by their headers.

    What is of an implementation that only one of them has does not count.
    """
    shared = set(run.impls) & set(first.impls)
    return _machine(run, shared) != _machine(first, shared)


def _machine(run, impls):
    """Return what a run was measured on, and how these implementations were built."""
    facts = []
    for line in run.header:
        topic, _, text = line.removeprefix("- ").partition(": ")
        kind, _, whose = topic.partition(" ")
        if kind in ("Build", "Program") and whose.removeprefix("of ") not in impls:
            continue
        for part in text.split("; ") if topic not in ("Date", "Threads") else ():
            of, _, name = part.partition(": ")[0].partition(" ")
            if topic != "BLAS" or of != "of" or name in impls:
                facts.append((topic, part))
    return facts
