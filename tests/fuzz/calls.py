"""``python tests/fuzz calls``: calls of every public function, drawn by Hypothesis.

Allowed is success in both packages with the same result, or the same error of ours in both, which
names an argument. A finding is added to tests/fuzz/found/calls.jsonl, which a test replays.
"""

import functools
import json
from pathlib import Path

import numpy as np

import fastimpl
from fuzz.judge import judge
from fuzz.starts import starts, writes
from fuzz.strategies import calls

FOUND = Path(__file__).parent / "found" / "calls.jsonl"
WHAT, CASES = "callables", 10_000
MEMORY = 6 * 2**30  # bytes of address space: threads reserve much and use little


@functools.cache
def names():
    """Return the names of all callables; those of compiled ones twice."""
    return [*starts(), *(name for name in fastimpl.compiled if name in starts())]


def questions(name):
    """Return a strategy of recipes."""
    return calls(name, starts()[name])


def judging():
    """Return a function that judges a recipe in both packages."""
    fix_entropy()
    return judged


def judged(recipe):
    """Return the verdict on a recipe, and its text."""
    return judge(recipe, starts(), writes().get(recipe["name"], ()))


def fix_entropy():
    """Make fresh entropy the same every time: a run can be repeated, and packages compared."""
    generator = np.random.default_rng
    np.random.default_rng = lambda seed=0: generator(seed)


def keep(recipe, text):
    """Add a finding to the file of those that a test replays."""
    FOUND.parent.mkdir(exist_ok=True)
    with FOUND.open("a") as file:
        file.write(json.dumps({**recipe, "found": text[:200]}) + "\n")
