"""Every kernel in both packages, next to the machine's measured limits.

Runs the files bench_*.py by pytest-benchmark. Each compares its answer with another method.
"""

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from bench.command import Common, UsageError
from refimpl.lab.apps.bench.limits import Limits
from bench.machine import ROOT
from refimpl.lab.apps.bench.markdown import milliseconds, ratio, significant, table, threads_title
from bench.timing import Times

COMMON = Common(threads=True)
QUICK: dict = {}
NOTE = (
    "Medians; ~ where the middle half of the rounds spreads over more than a quarter of it. "
    "Below 1 ms, the checks and the start of threads count. Rates and limits are those of the "
    "fewest threads; pairs are numbers of threads. ! above 1: the limit was disturbed; repeat "
    "the run."
)


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("-k", metavar="EXPR", help="only kernels whose name matches (pytest -k)")


def report(options):
    """Yield the table of kernels and that of limits; with --quick, what pytest says."""
    command = [sys.executable, "-m", "pytest", "-o", "python_files=bench_*.py"]
    command += ["bench", "-p", "no:cacheprovider", "-q"]
    command += ["--bench-threads", ",".join(map(str, options.threads))]
    if options.k:
        command += ["-k", options.k]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "times.json")
        if options.quick:
            command += ["--quick", "--benchmark-disable"]
        else:
            command += ["--benchmark-quiet", f"--benchmark-json={path}"]
        done = subprocess.run(
            command, cwd=ROOT, text=True, stdout=subprocess.PIPE if options.quick else sys.stderr
        )
        if done.returncode:
            raise UsageError(f"pytest ended with {done.returncode}\n{done.stdout or ''}".rstrip())
        if options.quick:
            yield done.stdout.splitlines()[-1]
            return
        benchmarks = json.loads(path.read_text(encoding="utf-8"))["benchmarks"]
    yield from render(benchmarks, options.threads)


def render(benchmarks, threads):
    """Return the lines of what pytest-benchmark measured."""
    limits, rows = Limits(benchmarks), defaultdict(dict)
    for one in benchmarks:
        info = one["extra_info"]
        if "kernel" in info:
            rows[info["kernel"], info["input"]][info["package"], info["threads"]] = one
    titles = ["kernel", "input", "refimpl ms"]
    titles += [f"fastimpl ms, {threads_title(t)}" for t in threads]
    titles += ["speed-up", "achieved", "limit", "fraction of limit"]
    cells = [row(*key, runs, limits, threads) for key, runs in rows.items()]
    return [*table(titles, cells, left=2), "", NOTE, "", *limits.tables(threads)]


def row(kernel, text, runs, limits, threads):
    """Return the cells of one row; the rate and the limit are those of the fewest threads."""
    reference = runs.get(("refimpl", 1))
    fast = [runs.get(("fastimpl", t)) for t in threads]
    cells = [kernel, text, *map(shown, [reference, *fast])]
    ratios = [median(reference) / median(one) for one in fast if reference and one]
    cells.append(" / ".join(map(ratio, ratios)) or "-")
    bounds = [limits.bound(one) for one in fast if one]
    if not bounds or bounds[0] is None:
        return [*cells, "-", "-", "-"]
    achieved, limit, unit, name = bounds[0]
    fractions = " / ".join(fraction(b[0] / b[1]) for b in bounds if b)
    return [
        *cells,
        f"{significant(achieved)} {unit}",
        f"{significant(limit)} {unit} {name}",
        fractions,
    ]


def median(one):
    return one["stats"]["median"]


def shown(one):
    """Return the milliseconds of a benchmark, or a dash where there is none."""
    if one is None:
        return "-"
    stats = one["stats"]
    return milliseconds(Times(stats["median"], stats["min"], stats["iqr"]))


def fraction(x):
    """Return a fraction of a limit; the marked ones cannot be, and the report says why."""
    return "<0.01" if x < 0.005 else f"{x:.2f}" + ("!" if x > 1.005 else "")
