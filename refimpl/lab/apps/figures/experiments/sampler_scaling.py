"""I Fig 4 and J Fig 4: the speed-up of sampling by several samplers at once, and within one.

A, C, D: p_inter subgraphs are drawn at a time, one on each thread, against one after the other, by
frontier sampling on the Dashboard, by random walks and by edges. B: the Dashboard is probed in
p_intra vector lanes at once instead of one place after another, on one thread; see `lanes`.
Speed-ups are ratios of rounds that were taken in turns. The papers' graphs are stood in for by
random ones of their mean degrees.
"""

import statistics

from threadpoolctl import ThreadpoolController, threadpool_limits

from refimpl.lab.apps.figures import lanes
from refimpl.lab.apps.figures.figure import UNTESTED, Figure, Verdict, graded
from refimpl.lab.apps.figures.panels import Curve, Lines
from refimpl.lab.apps.figures.rows import curve_of, pick, spread_of, values_of
from refimpl.lab.apps.figures.turns import seconds_in_turns
from refimpl.lab.data.generators import power_law
from refimpl.samplers.sampling import Sampler

INTER, INTRA = "p_inter", "p_intra"
CORES = 40  # of the papers' machine
FRONTIER = "frontier (pin-tile Dashboard)"
SLOTS = "frontier (Dashboard of slots)"


def cells(lab):
    """Return a run for each graph and each kind of parallelism."""
    return [
        {"what": what, "nodes": nodes, "degree": degree}
        for what in (INTER, INTRA)
        for nodes, degree in lab.sizes["graphs"]
    ]


def measure(lab, cell):
    """Return a row for each contestant and round."""
    graph = power_law(cell["nodes"], cell["degree"], exponent=2.3)
    if cell["what"] == INTRA:
        return _within(lab, graph)
    tasks, pools = {}, ThreadpoolController()  # found once: finding them takes as long as a sample
    for name, sampler in samplers(lab.sizes).items():
        for threads in lab.thread_counts():
            tasks[name, threads] = _drawing(lab, graph, sampler, pools, threads)
    found = seconds_in_turns(tasks, lab.sizes["rounds"])
    return [
        {
            "sampler": name,
            "threads": threads,
            "round": number,
            "milliseconds": 1e3 * seconds / lab.sizes["together"],
            "speedup": found[name, 1][number] / seconds,
        }
        for (name, threads), each in found.items()
        for number, seconds in enumerate(each)
    ]


def samplers(sizes):
    """Return the papers' three samplers by name."""
    m, n = sizes["m"], sizes["n"]
    return {
        FRONTIER: Sampler("pin_tile", m=m, n=n, deg_cap=30),
        "random walk": Sampler("random_walk", r=n // 4, h=3),
        "edge": Sampler("edge", b=n // 2),
    }


def _drawing(lab, graph, sampler, pools, threads):
    """Return a task that draws some subgraphs, others in every round."""
    count = lab.sizes["together"]

    def draw(number):
        with pools.limit(limits=threads):
            lab.gnn.sample_many(graph, sampler, 0, count * number, count)

    return draw


def _within(lab, graph):
    sizes = lab.sizes
    with threadpool_limits(1):
        return lanes.measure(
            lab.gnn,
            graph,
            m=sizes["m"],
            n=sizes["n"],
            eta=sizes["eta"],
            lanes=sizes["lanes"],
            rounds=sizes["rounds"],
        )


def table(_lab, rows):
    """Return a line for each graph, sampler and number of threads, then one for each of lanes."""
    lines = []
    for nodes, degree in _graphs(rows):
        chosen = pick(rows, what=INTER, nodes=nodes, degree=degree)
        for name in values_of(chosen, "sampler"):
            for threads in values_of(chosen, "threads"):
                of_one = pick(chosen, sampler=name, threads=threads)
                ms = statistics.median(row["milliseconds"] for row in of_one)
                gain = _median(of_one)
                lines.append([_name(nodes, degree), name, threads, 1, f"{ms:.2f}", f"{gain:.2f}"])
        for row in pick(rows, what=INTRA, nodes=nodes, degree=degree):
            ms = f"{1e3 * row['seconds']:.2f}"
            gain = f"{row['speedup']:.2f} (Theorem 1: {row['theorem1']:.2f})"
            lines.append([_name(nodes, degree), SLOTS, 1, row["lanes"], ms, gain])
    return ["graph", "sampler", "p_inter", "p_intra", "ms a subgraph", "speed-up"], lines


def judge(lab, rows):
    """Judge lanes as printed; threads only on as many cores as the papers'."""
    most = lab.threads
    inter = pick(rows, what=INTER, threads=most)
    ours = spread_of(
        [{"x": _median(pick(inter, sampler=name))} for name in values_of(inter, "sampler")], "x"
    )
    frontier = _median(pick(inter, sampler=FRONTIER))
    eight = [row for row in pick(rows, what=INTRA) if row["lanes"] == 8]
    within, probing = spread_of(eight, "speedup"), spread_of(eight, "probes_only")
    because = f"{most} threads here, {CORES} cores there" if most < CORES else ""
    whole = frontier * within.mean
    found = f"{ours.text('.2f')} times with {most} threads, over the three samplers"
    return [
        Verdict(
            "I-sampling-64x",
            "I abstract",
            "64 times as fast a sampling step on 40 cores, with AVX",
            f"frontier sampling {frontier:.2f} times as fast with {most} threads, and "
            f"{within.mean:.2f} times by lanes",
            UNTESTED if because else graded(whole, 64),
            because,
        ),
        Verdict(
            "J-sampling-60x",
            "J abstract",
            "60 times as fast a sampling step on 40 cores, with AVX",
            f"frontier sampling {frontier:.2f} times as fast with {most} threads, and "
            f"{within.mean:.2f} times by lanes",
            UNTESTED if because else graded(whole, 60),
            because,
        ),
        Verdict(
            "J-walks-20x",
            "J section 7.3.2",
            "random walks and edges are sampled more than 20 times as fast on 40 cores",
            found,
            UNTESTED if because else graded(ours.low, 20),
            because,
        ),
        Verdict(
            "I-lanes-4x",
            "I section VI-C",
            "probing in 8 vector lanes makes frontier sampling about 4 times as fast",
            f"{within.text('.2f')} times as fast as one place at a time; Theorem 1 gives "
            f"{spread_of(eight, 'theorem1').text('.2f')} times, and {probing.text('.2f')} if lanes "
            "probe but share no writing, which is done in whole vectors here at one lane too",
            graded(within.mean, 4, nothing=1.05),
        ),
    ]


def panels(lab, rows):
    """Return a panel for each sampler, and one of lanes."""
    shown, ticks = [], lab.thread_counts()
    for name in values_of(pick(rows, what=INTER), "sampler"):
        curves = {}
        for nodes, degree in _graphs(rows):
            chosen = pick(rows, what=INTER, nodes=nodes, degree=degree, sampler=name)
            curves[_name(nodes, degree)] = Curve(*curve_of(chosen, "threads", "speedup"))
        curves["as many as threads"] = Curve(ticks, ticks, marked=False)
        axes = {"ylim": (0, None)}
        shown.append(Lines(name, "p_inter, threads", "speed-up", curves, axes, ticks))
    curves = {}
    for nodes, degree in _graphs(rows):
        chosen = pick(rows, what=INTRA, nodes=nodes, degree=degree)
        x, y, *_ = curve_of(chosen, "lanes", "speedup")
        curves[_name(nodes, degree)] = Curve(x, y)
        x, y, *_ = curve_of(chosen, "lanes", "theorem1")
        curves[f"Theorem 1, degree {degree:g}"] = Curve(x, y, marked=False)
    curves["I section VI-C, on average"] = Curve([8], [4], printed=True)
    ticks = sorted(values_of(pick(rows, what=INTRA), "lanes"))
    log = {"xscale": "log", "ylim": (0, None)}
    shown.append(Lines("within a sampler", "p_intra, lanes", "speed-up", curves, log, ticks))
    return shown


def _median(rows):
    return statistics.median(row["speedup"] for row in rows)


def _graphs(rows):
    return list(dict.fromkeys((row["nodes"], row["degree"]) for row in rows))


def _name(nodes, degree):
    return f"{nodes:,} nodes, degree {degree:g}"


FIGURE = Figure(
    id="I-fig4",
    also=("J-fig4",),
    title="Speed-up of sampling across and within samplers",
    full={
        "graphs": [[14_755, 31], [60_000, 100], [200_000, 19]],
        "m": 1000,
        "n": 8000,
        "eta": 3.0,
        "lanes": [1, 2, 4, 8, 16],
        "together": 8,
        "rounds": 15,
    },
    quick={"graphs": [[600, 8]], "m": 20, "n": 100, "together": 2, "rounds": 3},
    cells=cells,
    measure=measure,
    table=table,
    judge=judge,
    panels=panels,
    timed=True,
)
