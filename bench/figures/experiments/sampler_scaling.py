"""I Fig 4 and J Fig 4: the speed-up of sampling by several samplers at once, and within one.

A, C, D: p_inter subgraphs are drawn at a time, one on each thread, against one after the other, by
frontier sampling on the Dashboard, by random walks and by edges. B: either Dashboard is probed in
p_intra vector lanes at once instead of one place after another, on one thread; see `lanes`.
Speed-ups are ratios of rounds that were taken in turns. The papers' graphs are stood in for by
random ones of their mean degrees.
"""

import statistics

from threadpoolctl import ThreadpoolController, threadpool_limits

from bench.figures import lanes
from bench.figures.figure import UNTESTED, Figure, Verdict, graded
from bench.figures.panels import Curve, Lines
from bench.figures.rows import curve_of, pick, spread_of, values_of
from bench.figures.turns import seconds_in_turns
from refimpl.lab.apps import info
from refimpl.lab.data.generators import power_law
from refimpl.samplers.sampling import Sampler

INTER, INTRA = "p_inter", "p_intra"
CORES = 40  # of the papers' machine
FRONTIER = "frontier (pin-tile Dashboard)"
SLOTS = "frontier (Dashboard of slots)"
DASHBOARDS = {SLOTS: "dashboard", FRONTIER: "pin_tile"}  # of I, of J


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
        for threads in lab.thread_counts(also=(CORES,)):
            tasks[name, threads] = _drawing(lab, graph, sampler, pools, threads)
    found = seconds_in_turns(tasks, lab.sizes["rounds"])
    return [
        {
            "sampler": name,
            "threads": threads,
            "round": number,
            "milliseconds": 1e3 * seconds / _together(lab),
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
    count = _together(lab)

    def draw(number):
        with pools.limit(limits=threads):
            lab.gnn.sample_many(graph, sampler, 0, count * number, count)

    return draw


def _together(lab):
    """Return how many subgraphs a call draws: one for each thread at least."""
    return max(lab.sizes["together"], lab.threads)


def _within(lab, graph):
    sizes, rows = lab.sizes, []
    about = {name: sizes[name] for name in ("m", "n", "eta", "lanes", "rounds")}
    with threadpool_limits(1):
        for name, kernel in DASHBOARDS.items():
            found = lanes.measure(lab.gnn, graph, sampler=kernel, **about)
            rows += [{"sampler": name, **row} for row in found]
    return rows


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
            lines.append([_name(nodes, degree), row["sampler"], 1, row["lanes"], ms, gain])
    return ["graph", "sampler", "p_inter", "p_intra", "ms a subgraph", "speed-up"], lines


def judge(lab, rows):
    """Judge lanes as printed; threads on the papers' number of cores, where there are as many."""
    enough = lab.has_cores(CORES)
    at = CORES if enough else lab.threads
    inter = pick(rows, what=INTER, threads=at)
    frontier, *others = (_median(pick(inter, sampler=name)) for name in values_of(inter, "sampler"))
    eight = [row for row in pick(rows, what=INTRA) if row["lanes"] == 8]
    within = spread_of(eight, "speedup")
    because = "" if enough else f"the papers have {CORES} cores, there are fewer here"
    both = (
        f"frontier sampling {frontier:.2f} times as fast with {at} threads, and "
        f"{within.mean:.2f} times by lanes"
    )
    found = " and ".join(f"{gain:.2f}" for gain in others)
    return [
        *(
            Verdict(
                claim,
                where,
                f"{printed} times as fast a sampling step on {CORES} cores, with AVX",
                both,
                graded(frontier * within.mean, printed) if enough else UNTESTED,
                because,
            )
            for claim, where, printed in (
                ("I-sampling-64x", "I abstract", 64),
                ("J-sampling-60x", "J abstract", 60),
            )
        ),
        Verdict(
            "J-walks-20x",
            "J section 7.3.2",
            f"random walks and edges are sampled more than 20 times as fast on {CORES} cores",
            f"{found} times with {at} threads",
            graded(min(others), 20) if enough else UNTESTED,
            because,
        ),
        _of_lanes(lab, eight, within),
    ]


def _of_lanes(lab, eight, within):
    """Return the verdict on 8 lanes; an implementation that only counts them is not tested."""
    probing = spread_of(eight, "probes_only")
    compiled = info.build_of(lab.gnn) is not None
    return Verdict(
        "I-lanes-4x",
        "I section VI-C",
        "probing in 8 vector lanes makes frontier sampling about 4 times as fast",
        f"{within.text('.2f')} times as fast as one place at a time, on both Dashboards; Theorem "
        f"1 gives {spread_of(eight, 'theorem1').text('.2f')} times, and {probing.text('.2f')} if "
        "lanes probe but share no writing, which is done in whole vectors here at one lane too",
        graded(within.mean, 4) if compiled else UNTESTED,
        "" if compiled else "this implementation counts lanes, and probes one place at a time",
    )


def panels(lab, rows):
    """Return a panel for each sampler, and one of lanes."""
    shown, ticks = [], values_of(pick(rows, what=INTER), "threads")
    for name in values_of(pick(rows, what=INTER), "sampler"):
        curves = {}
        for nodes, degree in _graphs(rows):
            chosen = pick(rows, what=INTER, nodes=nodes, degree=degree, sampler=name)
            curves[_name(nodes, degree)] = Curve(*curve_of(chosen, "threads", "speedup"))
        curves["as many as threads"] = Curve(ticks, ticks, marked=False)
        axes = {"ylim": (0, None)}
        shown.append(Lines(name, "p_inter, threads", "speed-up", curves, axes, ticks))
    curves = {}
    for name in DASHBOARDS:
        chosen = pick(rows, what=INTRA, sampler=name)
        curves[name] = Curve(*curve_of(chosen, "lanes", "speedup"))
        curves[f"Theorem 1, {name}"] = Curve(*curve_of(chosen, "lanes", "theorem1"))
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
