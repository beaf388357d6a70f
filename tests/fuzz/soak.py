"""Long training runs: memory, files and threads stay what they were once a run has warmed up.

    python tests/fuzz soak --steps 20000 --seed 1

A run is a new process. It trains on a small graph, with threads that sample ahead where the method
has any: rounds of an epoch, further steps, an evaluation, a checkpoint that is saved and loaded,
and now and then a new trainer that goes on from it. After each round it counts. Bytes are those
resident after Python and the C library have given back what they had free: what is left is in use.

A run is flat if its last quarter, by the median, has at most 0.5 MiB more than its second, and no
more files or threads. 100 bytes lost a step are 0.95 MiB from one to the other in 20,000
steps: `--leak 100` loses them, and is found. Of the history, which has to grow by a record an
epoch, there are as many records as rounds.
"""

import argparse
import ctypes
import gc
import importlib
import multiprocessing
import os
import random
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from statistics import median
from typing import NamedTuple

from fuzz.kills import PACKAGES, VARIANTS

MOST_GROWTH = 2**19  # bytes
NODES, HIDDEN = 400, 32  # large enough for arrays that fastimpl's own memory is for
NEW_TRAINER = 8  # rounds
THREADED = ("--background", "--workers")
MOMENTS = ("MiB: start", "middle", "end")
TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc


class Reading(NamedTuple):
    """What a process has after some steps."""

    steps: int
    bytes: int
    files: int
    threads: int


def main(argv=None):
    """Run a command line; return its exit status."""
    options = _options(argv)
    unknown = set(options.methods) - set(VARIANTS)
    if unknown:
        print(f"fuzz soak: no such method: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    if not Path("/proc/self/status").exists():
        print("fuzz soak: it reads /proc, which this system does not have", file=sys.stderr)
        return 2
    # Threads must not spin where others want the cores, and one arena, which all threads share,
    # makes what the C library keeps the same in each run: which thread asked when is no matter.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ["MALLOC_ARENA_MAX"] = "1"
    print(f"fuzz soak: {options.steps} steps in {options.rounds} rounds, seed {options.seed}")
    print(_row("method", "package", "steps", "seconds", *MOMENTS, "", "options"), flush=True)
    found = [_one_run(m, package, options) for m in options.methods for package in options.impl]
    print("every run is flat" if all(found) else "NOT FLAT: see above")
    return int(not all(found))


def _options(argv):
    parser = argparse.ArgumentParser(prog="python tests/fuzz soak", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--steps", type=int, default=20_000, help="of a run (default: 20000)")
    parser.add_argument("--rounds", type=int, default=80, help="readings (default: 80; from 8)")
    parser.add_argument("--methods", nargs="+", default=list(VARIANTS), help="default: all")
    parser.add_argument(
        "--impl", nargs="+", default=["fastimpl"], choices=PACKAGES, help="default: fastimpl"
    )
    seed = random.SystemRandom().randrange(2**32)
    parser.add_argument("--seed", type=int, default=seed, help="of the runs (default: a new one)")
    parser.add_argument(
        "--leak", type=int, default=0, help="lose so many bytes a step, to see that it is found"
    )
    options = parser.parse_args(argv)
    if options.steps < 1 or options.rounds < 8:
        parser.error("--steps must be at least 1, --rounds at least 8")
    return options


def _row(*cells):
    widths = (10, 10, 7, 9, 12, 8, 8)
    sides = (str.ljust, str.ljust, *[str.rjust] * 5)
    cut = [side(cell, n) for side, cell, n in zip(sides, cells, widths, strict=False)]
    return "".join(cut) + "  " + "  ".join(cells[len(widths) :])


def _one_run(method, package, options):
    """Let a process train; print what became of it, and return whether it was flat."""
    words = max(VARIANTS[method], key=lambda words: any(flag in words for flag in THREADED))
    asked = (method, package, words, options.steps, options.rounds, options.seed, options.leak)
    begin = time.perf_counter()
    spawn = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(1, mp_context=spawn) as process:
            readings = process.submit(soaked, *asked).result()
    except BrokenProcessPool:
        print(_row(method, package, "-", "-", "-", "-", "-", "the process ended", words))
        return False
    moments = readings[0], readings[len(readings) // 2], readings[-1]
    cells = [f"{reading.bytes / 2**20:.2f}" for reading in moments]
    seconds, grown = f"{time.perf_counter() - begin:.0f}", growth(readings)
    steps = str(readings[-1].steps)
    verdict = ", ".join(grown) if grown else "flat"
    print(_row(method, package, steps, seconds, *cells, verdict, words), flush=True)
    return not grown


def growth(readings):
    """Return what has grown from the second quarter of a run to its last, in words."""
    quarter = len(readings) // 4
    second, last = readings[quarter : 2 * quarter], readings[-quarter:]
    grown = []
    more = median(r.bytes for r in last) - median(r.bytes for r in second)
    if more > MOST_GROWTH:
        steps = median(r.steps for r in last) - median(r.steps for r in second)
        grown.append(f"{more / 2**20:.2f} MiB more, {more / steps:.0f} bytes a step")
    for name in ("files", "threads"):
        before, after = (median(getattr(r, name) for r in part) for part in (second, last))
        if after > before:
            grown.append(f"{after - before:g} more {name}")
    return grown


def soaked(method, package, words, steps, rounds, seed, leak):
    """Train in this process; return its readings."""
    gnn, training = map(importlib.import_module, (package, "refimpl.lab.training"))
    data = importlib.import_module("refimpl.lab.data.communities").communities(seed, nodes=NODES)
    asked = f"--method {method} --hidden {HIDDEN} --seed {seed} {words}"
    config = config_of(asked.split(), package, data)
    readings, lost = [], []
    trainer = gnn.make_trainer(data, config)
    with tempfile.TemporaryDirectory(prefix="fuzz_soak_") as folder:
        path = Path(folder, "checkpoint.npz")
        for i in range(rounds):
            before = trainer.state.iterations
            trainer.epoch()
            while trainer.state.iterations < (i + 1) * steps // rounds:
                trainer.step()
            lost += [bytes(leak) for _ in range(before, trainer.state.iterations) if leak]
            trainer.result()
            training.save_checkpoint(path, trainer.state, {})
            state, _ = training.load_checkpoint(path)
            if i % NEW_TRAINER == NEW_TRAINER - 1:
                trainer = gnn.make_trainer(data, config, state)  # nobody closes the one of before
            readings.append(reading(trainer.state.iterations))
    trainer.close()
    return readings


def config_of(words, package, data):
    """Return the TrainConfig that options of the command line make."""
    cli, settings = (importlib.import_module(f"refimpl.lab.apps.{n}") for n in ("cli", "settings"))
    arguments = vars(cli.build_parser(package).parse_args(["train", *words]))
    options = cli.train_options(package)
    given = {key: cli.to_json(value) for key, value in arguments.items() if key in options}
    return settings.config_of(settings.asked(options, given), data)


def reading(steps):
    """Count what this process has."""
    gc.collect()  # which frees what Python keeps for its next objects, too
    if TRIM is not None:
        TRIM(0)
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    files, threads = (len(list(Path("/proc/self", name).iterdir())) for name in ("fd", "task"))
    return Reading(steps, resident, files, threads)
