"""``python tests/fuzz calls``: calls of every public function, drawn by Hypothesis.

Allowed is success in both packages with the same result, or the same error of ours in both, which
names an argument. The calls are made in another process, with limits of memory and of time; it is
started again after a crash. Hypothesis makes a finding smaller; it is printed with the command that
repeats it, and added to tests/fuzz/found/calls.jsonl, which a test replays.
"""

import argparse
import collections
import json
import random
import re
import secrets
import time
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase

import fastimpl
from fuzz import PATIENCE
from fuzz.starts import starts as all_starts
from fuzz.strategies import calls
from refimpl.lab.apps.worker import Clock, Lost, NotAsked, Worker, this_python

FOUND = Path(__file__).parent / "found" / "calls.jsonl"
ROUND = 10  # calls of a callable, one after the other
ROUNDS = 200  # that one process judges: whatever leaks is gone after them


class Finding(Exception):
    """A call that must not end as it did."""


def main(argv):
    """Fuzz; return 1 if there is a finding."""
    parser = argparse.ArgumentParser(prog="python tests/fuzz calls", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="how many (default: 10000)")
    parser.add_argument("--seed", type=int, help="default: a fresh one, which is printed")
    parser.add_argument(
        "--first", type=int, default=0, help=f"number of the first case, a multiple of {ROUND}"
    )
    parser.add_argument("--seconds", type=float, help="stop after so many seconds")
    parser.add_argument(
        "--limit", type=float, default=60, help="processor seconds of a case (default: 60)"
    )
    parser.add_argument("--no-save", action="store_true", help="nothing made smaller, or kept")
    options = parser.parse_args(argv)
    if options.seed is None:
        options.seed = secrets.randbelow(2**32)
    print(f"seed {options.seed}", flush=True)
    run = Run(options)
    run.all_cases()
    print(run.table())
    return int(bool(run.findings))


def supervised(limit):
    """Return a process that judges recipes, started again after each that it does not survive."""
    code = f"from fuzz.worker import main; main({limit!r})"
    clock = Clock(PATIENCE * limit)
    try:
        return Worker(this_python(code), clock, hello={}, show_errors=False)
    except Lost as lost:
        raise SystemExit(f"the worker did not start: {lost}\n{lost.last_words}") from None


class Run:
    """The cases of a command line, what became of them, and what was found."""

    def __init__(self, options):
        self.options = options
        self.verdicts = collections.Counter()
        self.names: set = set()
        self.findings: dict = {}
        self.starts = all_starts()
        self.began = time.monotonic()

    def all_cases(self):
        """Judge all cases: rounds of calls of one callable each, in an order of the seed's."""
        names = sorted([*self.starts, *(n for n in fastimpl.compiled if n in self.starts)])
        random.Random(self.options.seed).shuffle(names)
        first, last = self.options.first, self.options.first + self.options.cases
        ahead = collections.deque(range(first - first % ROUND, last, ROUND))
        while ahead and not self.is_over():
            with supervised(self.options.limit) as worker:
                for _ in range(min(ROUNDS, len(ahead))):
                    case = ahead.popleft()
                    name = names[case // ROUND % len(names)]
                    if self.round(worker, name, case, min(ROUND, last - case)) or self.is_over():
                        break  # another process: this one may have been lost often

    def is_over(self):
        """Whether the time is up."""
        limit = self.options.seconds
        return limit is not None and time.monotonic() - self.began > limit

    def round(self, worker, name, case, count):
        """Judge some calls of a callable; return whether there is a finding, after keeping it."""
        self.names.add(name)
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
        @hypothesis.given(calls(name, self.starts[name]))
        def judged(recipe):
            verdict, text = asked(worker, recipe)
            self.verdicts[verdict] += not smallest
            if verdict == "finding":
                smallest[:] = recipe, text
                raise Finding(kind(text))

        try:
            judged()
        except (Finding, hypothesis.errors.Flaky):
            self.found(case, *smallest)
        return bool(smallest)

    def found(self, case, recipe, text):
        """Count a finding; print the first of its kind, and keep it."""
        group = recipe["name"], kind(text)
        self.findings[group] = self.findings.get(group, 0) + 1
        if self.findings[group] > 1:
            return
        again = f"python tests/fuzz calls --seed {self.options.seed} --first {case} --cases {ROUND}"
        print(f"{recipe['name']}: {text}\n    {again}\n    {json.dumps(recipe)}", flush=True)
        if not self.options.no_save:
            keep(recipe, text)

    def table(self):
        """Return how it went, as lines."""
        v, made = self.verdicts, sum(self.verdicts.values()) - self.verdicts["unbuildable"]
        rows = {
            "callables reached": f"{len(self.names)} of {len(self.starts)}",
            "calls, each in both packages": made,
            "succeeded and equal": v["equal"],
            "refused in the same words": v["refused"],
            "succeeded, not comparable": v["not compared"],
            "refused already by a type of an argument": v["unbuildable"],
            "findings": sum(self.findings.values()),
            "of different kinds": len(self.findings),
            "seconds": f"{time.monotonic() - self.began:.0f}",
        }
        width = max(map(len, rows))
        return "\n".join(f"{name:<{width}}  {value:>9}" for name, value in rows.items())


def asked(worker, recipe):
    """Return the verdict on a recipe, and its text; a process that is lost is a finding."""
    try:
        answer = worker.ask({"recipe": recipe})
    except Lost as lost:
        return "finding", f"{lost}\n{lost.last_words}".strip()
    except NotAsked as spent:  # it was lost too often: a finding is small enough by now
        return "not compared", str(spent)
    return answer["verdict"], answer["text"]


def kind(text):
    """Return the beginning of what was found, without numbers."""
    return re.sub(r"[\d.]+", "#", text)[:80]


def keep(recipe, text):
    """Add a finding to the file of those that a test replays."""
    FOUND.parent.mkdir(exist_ok=True)
    with FOUND.open("a") as file:
        file.write(json.dumps({**recipe, "found": text[:200]}) + "\n")
