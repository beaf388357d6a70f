"""Cases that Hypothesis draws, judged in a process that may crash: the loop of most fuzzers.

A fuzzer is a module. ``names()`` lists what is called or read, ``questions(name)`` draws a case of
it, an object that JSON can hold, and ``judging()``, called in the process, returns a function from
a question to ("finding", what is wrong) or (another verdict, ""). ``keep(question, text)`` saves a
finding for the tests. `WHAT`, `CASES` and `MEMORY` say what the names are, how many cases there
are by default, and how many bytes one may take.
"""

import argparse
import collections
import importlib
import json
import math
import os
import random
import re
import secrets
import tempfile
import time
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase

from fuzz import PATIENCE
from refimpl.lab.apps.worker import Clock, Lost, NotAsked, Worker, serve, this_python

ROUND = 10  # cases of a name, one after the other
ROUNDS = 200  # that one process judges: whatever leaks is gone after them


class Finding(Exception):
    """A case that must not end as it did."""


def main(fuzzer, argv):
    """Fuzz; return 1 if there is a finding."""
    options = parsed(fuzzer, argv)
    print(f"seed {options.seed}", flush=True)
    run, here = Run(fuzzer, options), Path.cwd()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        os.chdir(folder)  # drawing a call may write a file that the call reads
        try:
            run.all_cases()
        finally:
            os.chdir(here)
    print(run.table())
    return int(bool(run.findings))


def parsed(fuzzer, argv):
    """Return the options of a command line."""
    command = f"python tests/fuzz {fuzzer.__name__.rpartition('.')[2]}"
    parser = argparse.ArgumentParser(prog=command, description=fuzzer.__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    number = {"type": int, "default": fuzzer.CASES}
    parser.add_argument("--cases", **number, help=f"how many (default: {fuzzer.CASES})")
    parser.add_argument("--seed", type=int, help="default: a fresh one, which is printed")
    parser.add_argument(
        "--first", type=int, default=0, help=f"number of the first case, a multiple of {ROUND}"
    )
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="stop after this many seconds"
    )
    parser.add_argument(
        "--limit", type=float, default=60, help="processor seconds of a case (default: 60)"
    )
    parser.add_argument("--only", nargs="+", help=f"some {fuzzer.WHAT} (default: all)")
    parser.add_argument("--no-save", action="store_true", help="nothing made smaller, or kept")
    options = parser.parse_args(argv)
    if unknown := set(options.only or ()) - set(fuzzer.names()):
        parser.error(f"no such {fuzzer.WHAT}: {', '.join(sorted(unknown))}")
    options.seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    options.again = f"{command} --seed {options.seed}"
    options.again += f" --only {' '.join(options.only)}" if options.only else ""
    return options


def supervised(fuzzer, limit):
    """Return a process that judges cases, started again after each that it does not survive."""
    code = f"from fuzz.driver import answer; answer({fuzzer.__name__!r}, {limit!r})"
    clock = Clock(PATIENCE * limit)
    try:
        return Worker(this_python(code), clock, hello={}, show_errors=False)
    except Lost as lost:
        raise SystemExit(f"the worker did not start: {lost}\n{lost.last_words}") from None


def answer(name, limit):
    """Judge each case; one that takes `limit` seconds of the processor ends the process."""
    fuzzer = importlib.import_module(name)
    sanitized = "asan" in os.environ.get("LD_PRELOAD", "")  # its memory is larger than any limit
    with tempfile.TemporaryDirectory(prefix="fuzz-") as tempfile.tempdir:
        os.chdir(tempfile.tempdir)  # cases write files
        judge = fuzzer.judging()

        def said(question):
            verdict, text = judge(question["case"]) if "case" in question else ("ready", "")
            return {"verdict": verdict, "text": text}

        serve(said, memory=None if sanitized else fuzzer.MEMORY, processor=limit)


class Run:
    """The cases of a command line, what became of them, and what was found."""

    def __init__(self, fuzzer, options):
        self.fuzzer, self.options = fuzzer, options
        self.verdicts: collections.Counter = collections.Counter()
        self.reached: set = set()
        self.findings: collections.Counter = collections.Counter()
        self.began = time.monotonic()

    def all_cases(self):
        """Judge all cases: rounds of cases of one name each, in an order of the seed's."""
        names = sorted(self.options.only or self.fuzzer.names())
        random.Random(self.options.seed).shuffle(names)
        first, last = self.options.first, self.options.first + self.options.cases
        ahead = collections.deque(range(first - first % ROUND, last, ROUND))
        while ahead and not self.is_over():
            with supervised(self.fuzzer, self.options.limit) as worker:
                for _ in range(min(ROUNDS, len(ahead))):
                    case = ahead.popleft()
                    name = names[case // ROUND % len(names)]
                    if self.round(worker, name, case, min(ROUND, last - case)) or self.is_over():
                        break  # another process: this one may have been lost often

    def is_over(self):
        """Whether the time is up."""
        return time.monotonic() - self.began > self.options.seconds

    def round(self, worker, name, case, count):
        """Judge some cases of a name; return whether there is a finding, after keeping it."""
        self.reached.add(name)
        smallest: list = []

        @hypothesis.seed(f"{self.options.seed} {case}")
        @hypothesis.settings(
            max_examples=count,
            database=None,
            deadline=None,
            phases=[Phase.generate] if self.options.no_save else [Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            verbosity=hypothesis.Verbosity.quiet,
        )
        @hypothesis.given(self.fuzzer.questions(name))
        def judged(question):
            verdict, text = asked(worker, question)
            self.verdicts[verdict] += not smallest
            if verdict == "finding":
                smallest[:] = question, text
                raise Finding(kind(text))

        try:
            judged()
        except (Finding, hypothesis.errors.Flaky):
            self.found(name, case, *smallest)
        return bool(smallest)

    def found(self, name, case, question, text):
        """Count a finding; print the first of its kind, and keep it."""
        group = name, kind(text)
        self.findings[group] += 1
        if self.findings[group] > 1:
            return
        again = f"{self.options.again} --first {case} --cases {ROUND}"
        print(f"{name}: {text}\n    {again}\n    {json.dumps(question)}", flush=True)
        if not self.options.no_save:
            self.fuzzer.keep(question, text)

    def table(self):
        """Return how it went, as lines."""
        known = self.options.only or self.fuzzer.names()
        rows = {
            f"{self.fuzzer.WHAT} reached": f"{len(self.reached)} of {len(set(known))}",
            "cases": sum(self.verdicts.values()),
            **dict(sorted(self.verdicts.items())),
            "findings of different kinds": len(self.findings),
            "seconds": f"{time.monotonic() - self.began:.0f}",
        }
        width = max(map(len, rows))
        return "\n".join(f"{name:<{width}}  {value:>9}" for name, value in rows.items())


def asked(worker, case):
    """Return the verdict on a case, and its text; a process that is lost is a finding."""
    try:
        found = worker.ask({"case": case})
    except Lost as lost:
        return "finding", f"{lost}\n{lost.last_words}".strip()
    except NotAsked as spent:  # it was lost too often: a finding is small enough by now
        return "not asked", str(spent)
    return found["verdict"], found["text"]


def kind(text):
    """Return the beginning of what was found, without numbers."""
    return re.sub(r"[\d.]+", "#", text)[:80]
