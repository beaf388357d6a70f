"""I Fig 4 and J Fig 4: the speed-up of sampling by several samplers at once, and within one."""

import math
import statistics
from functools import partial

from threadpoolctl import ThreadpoolController, threadpool_limits

from bench.figures.experiment import UNTESTED, graded, verdict
from bench.figures.interleaved_timing import rows_of_rounds, seconds_in_turns
from bench.figures.plotting import Curve, Lines, curves_of, level
from bench.figures.result_rows import groups_of, median_of, pick, spread_of, values_of
from refimpl.lab.apps import info
from refimpl.lab.data.generators import power_law
from refimpl.samplers.sampling import Sampler
from refimpl.streams import SAMPLE

FEWEST = 1024  # entries to calibrate with: fewer are in the first cache just as well
INTER, INTRA = "p_inter", "p_intra"
CORES = 40  # of the papers' machine
FRONTIER = "frontier (pin-tile Dashboard)"
SLOTS = "frontier (Dashboard of slots)"
DASHBOARDS = {SLOTS: ("dashboard", "ipdps"), FRONTIER: ("pin_tile", "jpdc")}  # of I, of J
GRAPH = "{nodes:,} nodes, degree {degree:g}"


def measure(lab, cell):
    """Return a row for each contestant and round.

    A subgraph is its nodes, induction and transpose. A call draws several, others in every round.
    """
    gnn, sizes = lab.gnn, lab.sizes
    graph = power_law(cell["nodes"], cell["degree"], exponent=2.3)
    if cell["what"] == INTRA:
        with threadpool_limits(1):
            found = {name: lanes_of(gnn, graph, name, sizes) for name in DASHBOARDS}
        return [{"sampler": name, **row} for name, rows in found.items() for row in rows]
    together = max(sizes["together"], lab.threads)  # one for each thread at least
    samplers = {
        FRONTIER: Sampler("pin_tile", m=sizes["m"], n=sizes["n"], deg_cap=30),
        "random walk": Sampler("random_walk", r=sizes["n"] // 4, h=3),
        "edge": Sampler("edge", b=sizes["n"] // 2),
    }
    pools = ThreadpoolController()  # found once: finding them takes as long as a sample

    def draw(sampler, limit, number):
        with pools.limit(limits=limit):
            gnn.sample_many(graph, sampler, 0, together * number, together)

    tasks = {
        (name, limit): partial(draw, sampler, limit)
        for name, sampler in samplers.items()
        for limit in lab.thread_counts(also=(CORES,))
    }
    found = seconds_in_turns(tasks, sizes["rounds"])
    rows = rows_of_rounds(found, "sampler", "threads", key="milliseconds")
    for row in rows:
        row["speedup"] = found[row["sampler"], 1][row["round"]] / row["milliseconds"]
        row["milliseconds"] *= 1e3 / together
    return rows


def lanes_of(gnn, graph, name, sizes):
    """Time a Dashboard sampler by its number of lanes, beside the speed-up of Theorem 1.

    All numbers of lanes draw the same samples, in turns: each round has keys of its own and
    begins with another number. What is timed is the drawing of a sample's nodes, which is what
    the model counts; the edges between them are not. One thread draws one sample. Theorem 1 is of
    the mean degree, with ``rho`` as `calibrate` measures it. fastimpl probes and writes without
    vectors in one lane, and in whole vectors in more.
    """
    (kernel, version), models, d = DASHBOARDS[name], gnn.cost_models, graph.e / graph.n
    m, n, eta = (sizes[key] for key in ("m", "n", "eta"))
    models.sample_cost_from_graph(graph, 1, eta, n, m, version)  # raises before anything is timed
    entries = min(max(math.ceil(eta * m * d), FEWEST), 2**31 - 1)
    spent = models.calibrate(entries=entries)

    def draw(lanes, turn):
        keys = [gnn.streams.key(0, SAMPLE, turn, stream) for stream in (0, 1)]
        options = {"m": m, "n": n, "eta": eta, "lanes": lanes, "probing": "lanes"}
        getattr(gnn, kernel)(graph, *keys, **options)

    tasks = {lanes: partial(draw, lanes) for lanes in sorted({1, *sizes["lanes"]})}
    found = seconds_in_turns(tasks, sizes["rounds"])
    seconds = {lanes: statistics.median(each) for lanes, each in found.items()}
    rho = spent.c_rand / spent.c_mem
    predicted = {p: models.theorem1_speedup(p, eta, d, version, rho=rho) for p in seconds}
    return [
        {"lanes": p, "seconds": s, "speedup": seconds[1] / s, "theorem1": float(predicted[p])}
        for p, s in seconds.items()
    ]


def table(_lab, rows):
    """Return a line for each graph, sampler and number of threads, then one for each of lanes."""
    lines = []
    for of_graph in groups_of(rows, "nodes", "degree"):
        graph = GRAPH.format(**of_graph[0])
        for some in groups_of(of_graph, "sampler"):
            for one in groups_of(pick(some, what=INTER), "threads"):
                ms, gain = (f"{median_of(one, key):.2f}" for key in ("milliseconds", "speedup"))
                lines.append([graph, one[0]["sampler"], one[0]["threads"], 1, ms, gain])
        for row in pick(of_graph, what=INTRA):
            ms = f"{1e3 * row['seconds']:.2f}"
            gain = f"{row['speedup']:.2f} (Theorem 1: {row['theorem1']:.2f})"
            lines.append([graph, row["sampler"], 1, row["lanes"], ms, gain])
    return ["graph", "sampler", "p_inter", "p_intra", "ms a subgraph", "speed-up"], lines


def verdicts(lab, rows):
    """Judge lanes as printed; threads on the papers' number of cores, where there are as many.

    Lanes are judged on I's Dashboard; the reference only counts them.
    """
    enough = lab.has_cores(CORES)
    at = CORES if enough else lab.threads
    inter = pick(rows, what=INTER, threads=at)
    frontier, *others = (median_of(some, "speedup") for some in groups_of(inter, "sampler"))
    eight = [row for row in pick(rows, what=INTRA) if row["lanes"] == 8]
    lanes = spread_of(eight, "speedup").mean
    three, one = (spread_of(eight, "speedup", sampler=name) for name in (SLOTS, FRONTIER))
    walk, edge = others
    found = {"frontier": frontier, "at": at, "lanes": lanes, "walk": walk, "edge": edge}
    claims = [  # name, the number that was found, and the printed one
        ("I-sampling-64x", frontier * lanes, 64),
        ("J-sampling-60x", frontier * lanes, 60),
        ("J-walks-20x", min(others), 20),
    ]
    of_threads = [
        verdict(claim, graded(number, printed) if enough else UNTESTED, **found)
        for claim, number, printed in claims
    ]
    outcome = graded(three.mean, 4) if info.build_of(lab.gnn) is not None else UNTESTED
    found = {"three": three, "one": one, "predicted": spread_of(eight, "theorem1")}
    return [*of_threads, verdict("I-lanes-4x", outcome, **found)]


def plot(lab, rows):
    """Return a panel for each sampler, and one of lanes."""
    inter, intra = pick(rows, what=INTER), pick(rows, what=INTRA)
    shown, ticks = [], values_of(inter, "threads")
    for some in groups_of(inter, "sampler"):
        curves = curves_of(some, "threads", "speedup", "nodes", "degree", name=GRAPH)
        curves["as many as threads"] = level(ticks, ticks)
        labels = some[0]["sampler"], "p_inter, threads", "speed-up"
        shown.append(Lines(*labels, curves, {"ylim": (0, None)}, ticks))
    curves = {}
    for some in groups_of(intra, "sampler"):
        curves |= curves_of(some, "lanes", "speedup", "sampler")
        curves |= curves_of(some, "lanes", "theorem1", "sampler", name="Theorem 1, {sampler}")
    curves["I section VI-C, on average"] = Curve([8], [4], printed=True)
    ticks = sorted(values_of(intra, "lanes"))
    log = {"xscale": "log", "ylim": (0, None)}
    shown.append(Lines("within a sampler", "p_intra, lanes", "speed-up", curves, log, ticks))
    return shown
