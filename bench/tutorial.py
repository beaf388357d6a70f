"""The steps of docs/tutorial.md: from Algorithm 2 to 1000 subgraphs a second.

Every step draws the same subgraphs: the nodes, the edges between them and the transpose
permutation. In each round the steps take turns, and the next round draws other subgraphs. One
subgraph of every step is compared with SciPy's slices and with the reference before the clock
runs. `--out docs/tutorial_table.md` writes what the page shows.
"""

from time import perf_counter
from types import ModuleType
from typing import NamedTuple

from threadpoolctl import threadpool_limits

import fastimpl
import refimpl
from bench.checks import check_subgraph, keys
from bench.command import Common, UsageError
from bench.markdown import milliseconds, ratio, significant, table
from bench.timing import in_turns, summary
from refimpl import Sampler

COMMON = Common(threads=True, rounds=15)
QUICK = {"nodes": 300, "frontier": 10, "budget": 60}
SEED, MEAN_DEGREE, DEGREE_CAP = 0, 15, 30
NODES, FRONTIER, BUDGET = 10_000, 1000, 8000
TOGETHER = 8  # subgraphs of a turn; refimpl draws one
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


def add_options(parser):
    """Add what only this benchmark has."""
    for name, default, text in (
        ("nodes", NODES, "nodes of the graph"),
        ("frontier", FRONTIER, "m: nodes in the frontier"),
        ("budget", BUDGET, "n: a subgraph has at most so many nodes"),
    ):
        parser.add_argument(
            f"--{name}", type=int, default=default, help=f"{text} (default: {default})"
        )


def report(options):
    """Measure; yield the table, and which steps reached the aim."""
    graph = refimpl.lab.data.power_law(options.nodes, MEAN_DEGREE)
    sizes = {"m": options.frontier, "n": options.budget, "deg_cap": DEGREE_CAP}
    steps = [step for step in STEPS if step.threads in options.threads]
    tasks = {}
    for step in steps:
        try:
            sampler = Sampler(step.sampler, **sizes)
            first = draw(step, graph, sampler, 0)[0]  # which no turn draws: it warms up as well
        except ValueError as error:
            raise UsageError(error) from error
        check_subgraph(graph, sampler, first, SEED)
        tasks[step] = turn(step, graph, sampler)
    turns = in_turns(tasks, options.rounds)
    yield (
        f"Graph: `power_law({options.nodes:_}, {MEAN_DEGREE})`, {graph.e:,} entries; "
        f"m = {options.frontier:,}, n = {options.budget:,}, `deg_cap` = {DEGREE_CAP}, `eta` = 2."
    )
    yield (
        f"Medians of {options.rounds} rounds, the steps in turns; `~` marks those whose middle "
        "half spreads over more than a quarter of them."
    )
    yield ""
    yield from steps_table(turns)
    yield ""
    yield verdict(turns)


def turn(step, graph, sampler):
    """Return a task that draws other subgraphs each round."""
    return lambda number: draw(step, graph, sampler, 1 + number * TOGETHER)[1]


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
            both = keys(SEED, q)
            started = perf_counter()
            sample = kernel(graph, *both, **sampler.options)
            choosing += perf_counter() - started
            subgraph = step.gnn.induced_subgraph(graph, sample.nodes)
            subgraphs.append(subgraph._replace(counters=sample.counters))
        whole = perf_counter() - begin
    return subgraphs[0], Turn(whole / step.count, choosing / step.count)


def steps_table(turns):
    """Return the lines of the table, a step each."""
    titles = ["step", "what draws the nodes", "threads", "subgraphs a second", "to step 1"]
    titles += ["to the step before", "ms a subgraph", "of these, choosing nodes"]
    rows, speeds = [], speeds_of(turns)
    for i, (step, taken) in enumerate(turns.items()):
        apart = [one.nodes for one in taken if one.nodes is not None]
        rows.append(
            [
                i + 1,
                step.name,
                step.threads,
                significant(speeds[i]),
                ratio(speeds[i] / speeds[0]),
                ratio(speeds[i] / speeds[i - 1]) if i else "-",
                milliseconds(summary([one.whole for one in taken])),
                milliseconds(summary(apart)) if apart else "-",
            ]
        )
    return table(titles, rows, left=2)


def speeds_of(turns):
    """Return the subgraphs a second of each step."""
    return [1 / summary([one.whole for one in taken]).median for taken in turns.values()]


def verdict(turns):
    """Say which steps reached the aim."""
    speeds = speeds_of(turns)
    above = [str(i + 1) for i, speed in enumerate(speeds) if speed > AIM] or ["none"]
    return (
        f"Steps above {AIM:,} subgraphs a second: {', '.join(above)}. "
        f"Step {len(speeds)}: {significant(speeds[-1])} a second."
    )
