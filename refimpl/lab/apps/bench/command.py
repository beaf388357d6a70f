"""`minibatch-gnn bench`: how fast are the kernels of some implementations, and are they right?"""

import argparse
import fnmatch
import importlib.util
import re
import shlex
from pathlib import Path

import refimpl
from refimpl._files import is_replaceable, replacing
from refimpl._shown import one_line
from refimpl.lab.apps.bench import apart, measuring, report, saved
from refimpl.lab.apps.bench.contestants import TIMEOUT
from refimpl.lab.apps.bench.inputs import fastest
from refimpl.lab.apps.conformance.command import check_seconds
from refimpl.lab.apps.conformance.runner import DIFFERS, LOST
from refimpl.lab.apps.errors import UserError, ended_in_order
from refimpl.lab.apps.machine import CORES, MAX_LOAD, Watch
from refimpl.lab.apps.option import typed_integer, typed_real
from refimpl.lab.apps.plots import FORMATS, NO_MATPLOTLIB, missing
from refimpl.lab.apps.preparing import MOST_THREADS
from refimpl.lab.apps.progress import Stages
from refimpl.lab.apps.results import add_overwrite, check_free, output_name
from refimpl.lab.training.config import suggestion

DESCRIPTION = (
    "Time the kernels of some implementations on the same inputs, in turns, beside what this "
    "machine can do at most. Each answer is compared with another method's before it is timed. An "
    "implementation is a package or module that Python can import, with some kernels or all, or a "
    "program of any language that speaks the line protocol of conformance, as cmd:PROGRAM. Exit "
    "status 0: all answers are right; 1: one differs; 2: bad usage."
)
WRITTEN = "out", "csv", "json", "histogram"
ALL = "refimpl,fastimpl"


def numbers(kind):
    """Return a parser of numbers parted by commas."""

    def parse(text):
        return [kind(part) for part in text.split(",")]

    parse.__name__ = f"list of {kind.__name__}"  # argparse: "invalid list of int value"
    return parse


def add_parser(commands):
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser(
        "bench",
        help="time the kernels of any implementations beside each other",
        description=DESCRIPTION,
        allow_abbrev=False,
    )
    add_measuring_options(parser)
    parser.add_argument(
        "--threads",
        type=numbers(typed_integer),
        metavar="LIST",
        help="numbers of threads, each measured (default: 1,2, or 1 on a single core)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="check each answer once, on tiny inputs, and time nothing (default: off)",
    )
    parser.add_argument(
        "--force-noisy",
        action="store_true",
        help="measure on a busy machine too, and say so in the report (default: off)",
    )
    parser.add_argument(
        "--compare",
        nargs="+",
        metavar="RUN.json",
        help="measure nothing: show runs that --json saved side by side, each over the first",
    )
    parser.add_argument(
        "--out",
        type=output_name,
        metavar="FILE",
        help="write the report to this Markdown file (default: no file)",
    )
    add_overwrite(parser, "files that are there")


def add_measuring_options(parser):
    """Add the options that say what is measured, and the files that may be written of it."""
    parser.add_argument(
        "--impl",
        action="append",
        metavar="NAME,..",
        help="implementations, each a column; cmd:PROGRAM for a program, whose own commas stand in "
        f"quotes (default: {ALL})",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="KERNEL",
        help="only kernels of this name or topic, such as spmm, 'gat_*' or layers; may be given "
        "several times (default: all)",
    )
    parser.add_argument(
        "--timeout",
        type=typed_real,
        metavar="SECONDS",
        help="how long a turn of a package (a call, or short ones repeated for about 0.1 seconds), "
        "or an answer of a program with all its rounds, may take; the import of a package may "
        f"always take {TIMEOUT:g} (default: {TIMEOUT:g})",
    )
    for name, text in (
        ("json", "all numbers, for --compare"),
        ("csv", "a line for each kernel, input and column"),
        (
            "histogram",
            "the medians of one size of inputs, small if it was timed, as dots, SVG or PNG by its "
            "name; needs matplotlib",
        ),
    ):
        parser.add_argument(
            f"--{name}",
            type=output_name,
            metavar="FILE",
            help=f"write to this file {text} (default: no file)",
        )


def run(arguments):
    """Run the command; `arguments` is what the parser gave, as a dict. Return the exit status.

    Raises
    ------
    UserError
        If the usage is bad, or the machine is busy.
    """
    options = argparse.Namespace(**arguments)
    check_files(options)
    for name in WRITTEN:
        check_free(getattr(options, name), options.overwrite)
    if options.compare is not None:
        return _compare(options)
    options.threads = checked_threads(options.threads)
    watch = Watch()

    def refuse_noise():
        if watch.busy and not (options.quick or options.force_noisy):
            raise UserError(
                f"the load is {watch.load:.2f} a core, above {MAX_LOAD}: times would mean nothing; "
                "wait, or --force-noisy"
            )

    with Stages() as stages:
        made = measured(options, lambda share: stages.show("bench", share), refuse_noise)
    made = made._replace(verdict=[] if options.quick else watch.verdict())
    lines = [f"`{_typed(options)}`", "", *made.header, *report.lines(made), *made.verdict]
    _give(options, lines, [made], ["run"])
    return status_of(made)


def checked_threads(given):
    """Return numbers of threads; those to take by default where none are given.

    Raises
    ------
    UserError
    """
    if given is None:
        return [1, 2] if CORES > 1 else [1]
    if not all(1 <= count <= MOST_THREADS for count in given):
        raise UserError(f"--threads must be numbers in [1, {MOST_THREADS}], got {given}")
    return sorted(set(given))


def implementations(given):
    """Return the names of contestants, each once.

    Raises
    ------
    UserError
        If one is named twice.
    """
    if given is None:
        return ALL.split(",") if fastest() is not refimpl else ["refimpl"]
    names = [name.strip() for text in given for name in _parted(text)]
    if twice := [name for at, name in enumerate(names) if name in names[:at]]:
        raise UserError(f"--impl names {twice[0]!r} twice")
    return names


def _parted(text):
    """Return names parted by commas; what stands in quotes is a program's and stays whole."""
    return re.split(r""",(?=(?:[^'"]|'[^']*'|"[^"]*")*$)""", text)


def chosen(patterns):
    """Return the benchmarks that fit one of the patterns, each of which must fit.

    Raises
    ------
    UserError
    """
    every = measuring.chosen_benches(lambda kernel, topic: True)
    for pattern in patterns or ():
        if not measuring.chosen_benches(lambda *names, p=pattern: _fits(p, names)):
            close = suggestion(pattern, [one.kernel for one in every])
            raise UserError(f"--only {pattern!r} fits no kernel and no topic{close}")
    if not patterns:
        return every
    return measuring.chosen_benches(lambda *names: any(_fits(p, names) for p in patterns))


def _fits(pattern, names):
    return any(fnmatch.fnmatchcase(name, pattern) for name in names)


def measured(options, show=lambda share: None, ready=lambda: None, revision=None):
    """Return the Run that `options` ask for.

    ``show(share)`` is told how far it is; ``ready()`` is called before anything is measured, when
    nothing that was asked for can be refused any more.

    Raises
    ------
    UserError
        If an implementation cannot be loaded, at the start or again after one was lost, or nothing
        fits.
    """
    timeout = TIMEOUT if options.timeout is None else options.timeout
    check_seconds("timeout", timeout)
    names, kernels = implementations(options.impl), [one.kernel for one in chosen(options.only)]
    more = {} if revision is None else {"revision": revision}
    request = apart.Request(names, kernels, options.threads, options.quick, timeout, more)
    with ended_in_order():
        found = apart.measured(request, show, ready)
    limits = [one for one in found.limits if not isinstance(one, str)]
    notes = [] if options.quick else [one for one in found.limits if isinstance(one, str)]
    notes += [
        f"{one.impl}, which helps to check and to make inputs, was lost in {one.kernel}: {one.why}."
        for one in found.request.lost
        if one.impl not in names
    ]
    return saved.Run(names, options.threads, found.header, found.rows, limits, notes, [])


def status_of(made):
    """Return 1 if an answer differs, or a program was lost, else 0."""
    verdicts = {cell.verdict for row in made.rows for cell in row.cells}
    return int(not verdicts.isdisjoint((DIFFERS, LOST)))


def check_files(options):
    """Refuse files that cannot be written, before anything is measured.

    Raises
    ------
    UserError
    """
    for name in WRITTEN:
        given = getattr(options, name, None)
        if given is None:
            continue
        path = Path(given)
        if not path.absolute().parent.is_dir():
            raise UserError(f"--{name} {path}: there is no folder {path.absolute().parent}")
        if not path.name or not is_replaceable(path):
            raise UserError(f"--{name} {path}: is no ordinary file")
    picture = options.histogram
    if picture is not None and Path(picture).suffix[1:] not in FORMATS:
        raise UserError(f"--histogram must end in .{' or .'.join(FORMATS)}, got {picture}")
    if picture is not None and options.quick:
        raise UserError("--histogram draws times: --quick takes none")
    if picture is not None and importlib.util.find_spec("matplotlib") is None:
        raise UserError(f"--histogram: {NO_MATPLOTLIB}")


def write_files(options, runs, names):
    """Write the files that are asked for of one run, or the picture of several."""
    if options.json is not None:
        saved.write(runs[0], options.json)
    if options.csv is not None:
        saved.write_csv(runs[0], options.csv)
    if options.histogram is not None:
        note = next((line[2:] for line in runs[0].header if "Processor" in line), "")
        why = missing(_draw, options.histogram, runs, names, one_line(note))
        if why is not None:  # it was asked for
            raise UserError(f"no {options.histogram}: {why}")


def _draw(*args):
    from refimpl.lab.apps.bench import picture

    picture.draw(*args)


def _compare(options):
    """Show saved runs side by side; return the exit status."""
    for name in ("impl", "only", "threads", "timeout", "quick", "force_noisy", "json", "csv"):
        if getattr(options, name) not in (None, False):
            flag = name.replace("_", "-")
            raise UserError(f"--{flag} does not apply with --compare: it measures nothing")
    if len(options.compare) < 2:
        raise UserError("--compare needs at least two saved runs")
    runs = [saved.read(path) for path in options.compare]
    names = _short_names(options.compare)
    lines = report.compared(runs, names)
    _give(options, lines, runs, names)
    return 0


def _give(options, lines, runs, names):
    """Write the files, then print the report: who reads it may stop before its end."""
    try:
        _write_report(options.out, lines)
        write_files(options, runs, names)
    finally:
        print("\n".join(map(one_line, lines)))


def _short_names(paths):
    """Return the names of files without folder and ending, or whole where two would be alike."""
    stems = [Path(path).stem for path in paths]
    return stems if len(set(stems)) == len(stems) else list(paths)


def _write_report(path, lines):
    if path is not None:
        with replacing(Path(path)) as file:
            file.write("".join(f"{one_line(line)}\n" for line in lines).encode())


def _typed(options):
    """Return the command that measures the same, without the files that it writes."""
    words = ["minibatch-gnn", "bench"]
    for flag in ("impl", "only"):
        words += [word for each in getattr(options, flag) or () for word in (f"--{flag}", each)]
    words += ["--threads", ",".join(map(str, options.threads))]
    words += [] if options.timeout is None else ["--timeout", f"{options.timeout:g}"]
    words += ["--quick"] if options.quick else []
    return shlex.join(words)
