"""One command line for all benchmarks: common options, the header, and where the report goes.

A benchmark is a module with a docstring, whose first line stands in the list, and

    COMMON = Common(..)     which of the common options it has
    QUICK = {..}            what its own options are with --quick, unless they are given
    add_options(parser)     its own options
    report(options)         yields lines of Markdown

Bad options raise `UsageError` before the first line; one that comes later keeps the lines that
are there. Until the first line `report` may also set ``options.peer``: the header, printed when
that comes, names it.
"""

import argparse
import importlib
import sys
from pathlib import Path
from typing import NamedTuple

from bench.machine import THREADS, header
from bench.peers.protocol import ContestantError
from bench.timing import MIN_ROUNDS
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.machine import MAX_LOAD, Watch

BENCHMARKS = {
    "blas": "bench.blas",
    "tutorial": "bench.tutorial",
    "peers": "bench.peers.command",
    "loaders": "bench.loaders",
    "patterns": "bench.patterns",
    "accuracy": "bench.accuracy",
    "storage": "bench.storage",
    "ahead": "bench.ahead",
    "depth": "bench.depth",
    "large": "bench.large",
    "growth": "bench.growth",
    "fresh": "bench.fresh",
    "rivals": "bench.rivals",
    "scores": "bench.scores",
}


def numbers(kind):
    """Return a parser of numbers separated by commas."""

    def parse(text):
        return [kind(part) for part in text.split(",")]

    parse.__name__ = f"list of {kind.__name__}"  # argparse: "invalid list of int value"
    return parse


class UsageError(UserError):
    """Options that a benchmark cannot run with, or something that is not there."""


class Common(NamedTuple):
    """The common options of a benchmark, beside --quick and --out.

    timed : refuses a busy machine unless --force-noisy
    threads : has --threads
    rounds, seeds : default of --rounds and --seeds; None where there is no such option
    """

    timed: bool = True
    threads: bool = False
    rounds: int | None = None
    seeds: int | None = None


def module_of(name):
    """Return a benchmark's module."""
    return importlib.import_module(BENCHMARKS[name])


def summary_of(name):
    """Return what a benchmark measures, in a line."""
    return module_of(name).__doc__.splitlines()[0]


def parser_of(name):
    """Return the parser of a benchmark: its own options after the common ones."""
    module, common = module_of(name), module_of(name).COMMON
    parser = argparse.ArgumentParser(
        prog=f"python -m bench {name}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    group = parser.add_argument_group("common options")
    group.add_argument("--quick", action="store_true", help="once, tiny, as a test of its answer")
    group.add_argument("--out", type=Path, metavar="FILE", help="Markdown file to write as well")
    if common.timed:
        group.add_argument(
            "--force-noisy", action="store_true", help="measure on a busy machine, and say so"
        )
    if common.threads:
        every = ",".join(map(str, THREADS))
        group.add_argument(
            "--threads",
            type=numbers(int),
            default=THREADS,
            help=f"numbers of threads, each measured (default: {every})",
        )
    if common.rounds:
        group.add_argument(
            "--rounds",
            type=int,
            default=common.rounds,
            help=f"whose median counts, at least {MIN_ROUNDS} (default: {common.rounds})",
        )
    if common.seeds:
        group.add_argument(
            "--seeds",
            type=int,
            default=common.seeds,
            help=f"train with seeds 0, 1, .. (default: {common.seeds})",
        )
    module.add_options(parser.add_argument_group("options of this benchmark"))
    return parser


def options_of(name, arguments):
    """Return the parsed options; tiny ones with --quick, but for those that are given."""
    parser, module = parser_of(name), module_of(name)
    options = parser.parse_args(arguments)
    if options.quick:
        once = {word: 1 for word in ("rounds", "seeds") if hasattr(options, word)}
        parser.set_defaults(**once, **module.QUICK)
        options = parser.parse_args(arguments)
    return options


def check(options, watch):
    """Refuse common options that make no sense, and a busy machine.

    Raises
    ------
    UsageError
    """
    least = 1 if options.quick else MIN_ROUNDS
    if getattr(options, "rounds", least) < least:
        raise UsageError(f"--rounds must be at least {least}, got {options.rounds}")
    if getattr(options, "seeds", 1) < 1:
        raise UsageError(f"--seeds must be at least 1, got {options.seeds}")
    if min(getattr(options, "threads", [1])) < 1:
        raise UsageError(f"--threads must be numbers from 1, got {options.threads}")
    if options.out and not options.out.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {options.out.absolute().parent} for --out")
    careless = options.quick or getattr(options, "force_noisy", True)
    if watch.busy and not careless:
        raise UsageError(
            f"the load is {watch.load:.2f} a core, above {MAX_LOAD}: times would mean nothing; "
            "wait, or --force-noisy"
        )


def run(name, arguments):
    """Run a benchmark; return its exit status."""
    options, watch, text, status = options_of(name, arguments), Watch(), [], 0
    options.peer = None
    try:
        check(options, watch)
        for line in whole_report(name, arguments, options, watch):
            print(line, flush=True)
            text.append(line)
    except (UsageError, ContestantError) as error:
        print(f"python -m bench {name}: {error}", file=sys.stderr)
        status = 2
    if options.out and text:  # what was measured before an error is kept
        options.out.write_text("\n".join(text) + "\n", encoding="utf-8")
    return status


def whole_report(name, arguments, options, watch):
    """Yield the lines of a report: command, header, what was measured, how quiet it was."""
    lines = iter(module_of(name).report(options))
    first = next(lines)  # by now the options are known to be good, and the peer is known
    yield f"`{' '.join(['python -m bench', name, *quoted(arguments)])}`"
    yield ""
    yield from header(getattr(options, "threads", None), options.peer)
    yield first
    yield from lines
    yield from watch.verdict(module_of(name).COMMON.timed)


def quoted(arguments):
    """Return the words as they are typed, without --out, which changes nothing."""
    kept, words = [], iter(arguments)
    for word in words:
        if word == "--out":
            next(words)
        elif not word.startswith("--out="):
            kept.append(f'"{word}"' if " " in word else word)
    return kept
