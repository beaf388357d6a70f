"""``python -m bench.tutorial``: the steps of docs/tutorial.md, measured, as Markdown.

Every step draws the same subgraphs: the nodes, the edges between them and the transpose
permutation. In each round the steps take turns, and the next round draws other subgraphs. One
subgraph of every step is compared with SciPy's slices and with the reference before the clock
runs. `--out docs/tutorial_table.md` writes what the page shows.
"""

import argparse
import os
import platform
import statistics
import sys
from datetime import datetime, timezone
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import NamedTuple

import numpy as np
import scipy
from threadpoolctl import threadpool_info, threadpool_limits

import fastimpl
import refimpl
from bench.conftest import MAX_LOAD, MAX_OTHERS, THREADS, busy_seconds, share_of_others
from bench.peers.measure import commit, processor
from bench.report import header, line_of, milliseconds, significant, speed_up
from bench.samplers import check
from refimpl import Sampler
from refimpl.streams import SAMPLE

SEED, MEAN_DEGREE, DEGREE_CAP = 0, 15, 30
NODES, FRONTIER, BUDGET = 10_000, 1000, 8000
TOGETHER = 8  # subgraphs of a turn; refimpl draws one
ROUNDS, MIN_ROUNDS = 15, 7
AIM = 1000  # subgraphs a second


class Step(NamedTuple):
    """One way to draw subgraphs; with `together`, a call of `sample_many` draws all of a turn."""

    gnn: ModuleType
    sampler: str
    threads: int = 1
    together: bool = False

    @property
    def name(self):
        """What the table calls it."""
        many = f", {TOGETHER} in one `sample_many`" if self.together else ""
        return f"`{self.gnn.__name__}.{self.sampler}`{many}"

    @property
    def count(self):
        """Subgraphs of a turn."""
        return 1 if self.gnn is refimpl else TOGETHER


STEPS = (
    Step(refimpl, "frontier"),
    Step(refimpl, "dashboard"),
    Step(refimpl, "pin_tile"),
    Step(fastimpl, "frontier"),
    Step(fastimpl, "dashboard"),
    Step(fastimpl, "pin_tile"),
    Step(fastimpl, "bucket"),
    Step(fastimpl, "bucket", together=True),
    Step(fastimpl, "bucket", threads=2, together=True),
)


class Turn(NamedTuple):
    """Seconds a subgraph: all of it, and of that the nodes (None where they cannot be parted)."""

    whole: float
    nodes: float | None


def main(argv=None):
    """Run a command line; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.tutorial", description=__doc__)
    for name, default, text in (
        ("nodes", NODES, "nodes of the graph"),
        ("frontier", FRONTIER, "m: nodes in the frontier"),
        ("budget", BUDGET, "n: a subgraph has at most so many nodes"),
        ("rounds", ROUNDS, f"of which the median counts, at least {MIN_ROUNDS}"),
    ):
        parser.add_argument(
            f"--{name}", type=int, default=default, help=f"{text} (default: {default})"
        )
    parser.add_argument("--out", type=Path, help="file to write as well")
    parser.add_argument("--quick", action="store_true", help="a tiny graph, once, as a test")
    parser.add_argument("--force-noisy", action="store_true", help="measure on a busy machine")
    options = parser.parse_args(argv)
    if options.quick:
        options.nodes, options.frontier, options.budget, options.rounds = 300, 10, 60, 1
    elif options.rounds < MIN_ROUNDS:
        return fail(f"--rounds must be at least {MIN_ROUNDS}, got {options.rounds}")
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    if load > MAX_LOAD and not (options.quick or options.force_noisy):
        return fail(f"the load is {load:.2f} a core, above {MAX_LOAD}; wait, or --force-noisy")
    if options.out and not options.out.absolute().parent.is_dir():
        return fail(f"there is no folder {options.out.absolute().parent} for --out")
    try:
        text = report(options.nodes, options.frontier, options.budget, options.rounds, load)
    except ValueError as error:
        return fail(error)
    print(text, end="")
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    return 0


def fail(message):
    """Say what is wrong; return the exit status of it."""
    print(f"python -m bench.tutorial: {message}", file=sys.stderr)
    return 2


def report(nodes, m, n, rounds, load):
    """Measure; return the Markdown."""
    graph = refimpl.lab.data.power_law(nodes, MEAN_DEGREE)
    samplers = {step.sampler: Sampler(step.sampler, m=m, n=n, deg_cap=DEGREE_CAP) for step in STEPS}
    steps = [step for step in STEPS if step.threads in THREADS]
    for step in steps:  # subgraph 0, which no turn draws: it warms up as well
        check(graph, samplers[step.sampler], draw(step, graph, samplers[step.sampler], 0)[0])
    begin = busy_seconds()
    turns: list[list[Turn]] = [[] for _ in steps]
    for number in range(rounds):
        for step, taken in zip(steps, turns, strict=True):
            first = 1 + number * TOGETHER
            taken.append(draw(step, graph, samplers[step.sampler], first)[1])
    lines = [
        *header(circumstances(load, share_of_others(begin))),
        f"- Graph: `power_law({nodes:_}, {MEAN_DEGREE})`, {graph.e:,} entries; m = {m:,}, "
        f"n = {n:,}, `deg_cap` = {DEGREE_CAP}, `eta` = 2",
        f"- Medians of {rounds} rounds, the steps in turns; `~` marks those whose middle half "
        "spreads over more than a quarter of them",
        "",
        *table(steps, turns),
        "",
        verdict(steps, turns),
    ]
    return "\n".join(lines) + "\n"


def draw(step, graph, sampler, first):
    """Draw the subgraphs of a turn; return the first of them, and a Turn."""
    with threadpool_limits(step.threads):
        if step.together:
            begin = perf_counter()
            subgraphs = step.gnn.sample_many(graph, sampler, SEED, first, step.count)
            return subgraphs[0], Turn((perf_counter() - begin) / step.count, None)
        kernel = getattr(step.gnn, step.sampler)
        subgraphs, choosing, begin = [], 0.0, perf_counter()
        for q in range(first, first + step.count):
            keys = [step.gnn.streams.key(SEED, SAMPLE, q, stream) for stream in (0, 1)]
            started = perf_counter()
            sample = kernel(graph, *keys, **sampler.options)
            choosing += perf_counter() - started
            subgraph = step.gnn.induced_subgraph(graph, sample.nodes)
            subgraphs.append(subgraph._replace(counters=sample.counters))
        whole = perf_counter() - begin
    return subgraphs[0], Turn(whole / step.count, choosing / step.count)


def table(steps, turns):
    """Return the lines of the table, a step each."""
    titles = ["step", "what draws the nodes", "threads", "subgraphs a second", "to step 1"]
    titles += ["to the step before", "ms a subgraph", "of these, choosing nodes"]
    lines = [line_of(titles), line_of(["---:", "---", *["---:"] * 6])]
    speeds = [1 / median(taken) for taken in turns]
    for i, (step, taken) in enumerate(zip(steps, turns, strict=True)):
        apart = [turn.nodes for turn in taken if turn.nodes is not None]
        cells = [str(i + 1), step.name, str(step.threads), significant(speeds[i])]
        cells += [speed_up(speeds[i] / speeds[0])]
        cells += [speed_up(speeds[i] / speeds[i - 1]) if i else "-"]
        cells += [milliseconds(spread([turn.whole for turn in taken]))]
        cells += [milliseconds(spread(apart)) if apart else "-"]
        lines.append(line_of(cells))
    return lines


def median(taken):
    """Return the median seconds a subgraph."""
    return statistics.median(turn.whole for turn in taken)


def spread(seconds):
    """Return what `milliseconds` shows of several times."""
    low, high = np.percentile(seconds, [25, 75])
    return {"stats": {"median": statistics.median(seconds), "iqr": high - low}}


def verdict(steps, turns):
    """Say which steps reached the aim."""
    speeds = [1 / median(taken) for taken in turns]
    above = [str(i + 1) for i, speed in enumerate(speeds) if speed > AIM] or ["none"]
    return (
        f"Steps above {AIM:,} subgraphs a second: {', '.join(above)}. "
        f"Step {len(steps)}: {significant(speeds[-1])} a second."
    )


def circumstances(load, others):
    """Return what the report's header says of the machine and the run."""
    info = {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "machine": platform.machine(),
        "python_version": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "build": fastimpl.build_info(),
        "pools": threadpool_info(),
        "threads": THREADS,
        "load_per_core": load,
        "share_of_others": others,
        "noisy": load > MAX_LOAD or (others or 0) > MAX_OTHERS,
    }
    now = datetime.now(timezone.utc).isoformat(timespec="minutes")
    return {"machine_info": info, "datetime": now, "commit_info": revision()}


def revision():
    """Return the project's commit, and whether files have changed since."""
    described = commit()
    return {"id": described.removesuffix("-dirty"), "dirty": described.endswith("-dirty")}


if __name__ == "__main__":
    sys.exit(main())
