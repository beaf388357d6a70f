"""Random reads of rows from storage, beside what fio reaches at the same depth.

`read_rows` reads rows that lie on different pages, ascending, past the system's cache, with each
number of reads under way. fio (https://fio.readthedocs.io) reads random pages of 4 KiB of the same
file in as many threads. Both take turns; MiB/s count the pages that hold a row. In each round some
rows are compared with the file.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from bench.command import Common, UsageError, numbers
from bench.markdown import median_and_range, table
from bench.timing import elapsed, in_turns
from fastimpl.loader.direct_reads import read_rows
from refimpl.loader.direct_reads import PAGE

COMMON = Common(rounds=7)
QUICK = {"mib": 16, "depth": [4], "seconds": 0.1}
BLOCK = 2**20


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--folder", default=".", help="where the file is written (default: here)")
    parser.add_argument("--mib", type=int, default=8192, help="size of the file (default: 8192)")
    parser.add_argument("--width", type=int, default=128, help="numbers of float16 in a row")
    parser.add_argument("--depth", type=numbers(int), default=[1, 16, 64], help="reads under way")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a round, about")


def report(options):
    """Measure in turns; yield the table."""
    if not shutil.which("fio"):
        raise UsageError("there is no fio (apt-get install fio)")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        path = Path(name, "rows")
        write(path, options.mib)
        rows = [cells(path, depth, options) for depth in options.depth]
    yield f"A file of {options.mib} MiB; median (range) of {options.rounds} rounds, MiB/s."
    yield ""
    yield from table(["reads under way", "read_rows", "fio", "share"], rows)


def write(path, mib):
    """Write a file of random bytes, and take it out of the page cache."""
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        for _ in range(mib):
            file.write(rng.bytes(BLOCK))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cells(path, depth, options):
    """Measure both in turns at a depth; return the cells."""
    size, pages, rng = 2 * options.width, path.stat().st_size // PAGE, np.random.default_rng(1)
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    count = min(256, pages // 4)
    try:

        def ours(_):
            chosen = np.sort(rng.choice(pages, count, replace=False))
            rows, cache = chosen * (PAGE // size), np.empty((count, options.width), np.float16)
            seconds = elapsed(lambda: read_rows(file, 0, rows, np.arange(count), cache, depth))
            check(path, rows[:16], cache)
            return count * PAGE / 2**20 / seconds

        count = max(1, min(pages // 4, int(ours(0) * options.seconds * 2**20 / PAGE)))
        speeds = in_turns(
            {"ours": ours, "fio": lambda _: fio(path, depth, options.seconds)},
            options.rounds,
            warm_up=1,
        )
    finally:
        os.close(file)
    shares = [a / b for a, b in zip(speeds["ours"], speeds["fio"], strict=True)]
    return [
        depth,
        *(median_and_range(found) for found in speeds.values()),
        median_and_range(shares, 2),
    ]


def check(path, rows, cache):
    """Compare some rows with the file."""
    there = np.memmap(path, np.uint8, "r").reshape(-1, cache.shape[1] * 2)
    assert np.array_equal(cache[: len(rows)].view(np.uint8), there[rows])


def fio(path, depth, seconds):
    """Return the MiB/s that fio reads of random pages, with `depth` threads."""
    words = ["fio", "--name=pages", f"--filename={path}", "--readonly", "--rw=randread"]
    words += [f"--bs={PAGE}", "--direct=1", "--ioengine=psync", "--thread", f"--numjobs={depth}"]
    words += ["--time_based", f"--runtime={seconds}", "--group_reporting", "--output-format=json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UsageError(f"{' '.join(words)}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)["jobs"][0]["read"]["bw_bytes"] / 2**20
