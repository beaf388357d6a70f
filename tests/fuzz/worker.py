"""The process in which calls are made: it may crash, hang or run out of memory."""

import os
import tempfile

import numpy as np

from fuzz.judge import judge
from fuzz.starts import starts as all_starts
from fuzz.starts import writes as writes_of
from refimpl.lab.apps.worker import serve

MEMORY = 6 * 2**30  # bytes of address space: threads reserve much and use little


def main(limit):
    """Judge each recipe; one that takes `limit` seconds of the processor ends the process."""
    fix_entropy()
    starts, writes = all_starts(), writes_of()
    sanitized = "asan" in os.environ.get("LD_PRELOAD", "")  # its memory is larger than any limit

    def answer(question):
        if "recipe" not in question:
            return {"callables": len(starts)}
        recipe = question["recipe"]
        verdict, text = judge(recipe, starts, writes.get(recipe["name"], ()))
        return {"verdict": verdict, "text": text}

    with tempfile.TemporaryDirectory(prefix="fuzz-calls-") as folder:
        os.chdir(folder)  # calls write files
        serve(answer, memory=None if sanitized else MEMORY, processor=limit)


def fix_entropy():
    """Make fresh entropy the same every time: a run can be repeated, and packages compared."""
    generator = np.random.default_rng
    np.random.default_rng = lambda seed=0: generator(seed)
