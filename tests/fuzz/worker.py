"""The process in which cases run: it may crash, hang or run out of memory, and be started again."""

import json
import os
import resource
import signal
import sys

import numpy as np

from fuzz.judge import judge
from fuzz.recipe import recipe_of
from fuzz.starts import starts as all_starts
from fuzz.starts import writes as writes_of

MEMORY = 6 * 2**30  # bytes of address space: threads reserve much and use little


def main(argv):
    """Judge recipes: ``LIMIT SEED FIRST LAST``, or ``LIMIT`` and one a line on standard input.

    A case that takes `LIMIT` seconds of the processor ends the process.
    """
    seconds, *numbers = argv
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a package prints is no answer
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # its shadow memory is larger than any limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    fix_entropy()
    starts, writes = all_starts(), writes_of()

    def answer(number, recipe):
        print(json.dumps({"began": number, "recipe": recipe}), file=answers, flush=True)
        signal.setitimer(signal.ITIMER_PROF, float(seconds))
        verdict, text = judge(recipe, starts, writes.get(recipe["name"], ()))
        signal.setitimer(signal.ITIMER_PROF, 0)
        line = {"number": number, "verdict": verdict, "text": text}
        print(json.dumps(line), file=answers, flush=True)

    print(json.dumps({"callables": len(starts)}), file=answers, flush=True)
    if numbers:
        seed, first, last = map(int, numbers)
        for number in range(first, last):
            answer(number, recipe_of(seed, number, starts))
    else:
        for line in sys.stdin:
            answer(0, json.loads(line))


def fix_entropy():
    """Make fresh entropy the same every time: a run can be repeated, and packages compared."""
    generator = np.random.default_rng
    np.random.default_rng = lambda seed=0: generator(seed)
