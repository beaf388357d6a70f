"""V Fig 18: bandwidth of features between devices, two-sided, one-sided and in rounds.

There is no GPU here: the bandwidths are those of a model of links, see `links`, for the rows that
minibatches of neighbour sampling really need. Its loss by contention, gamma, is fitted to nothing
and decides whether rounds pay, so it is what is varied.
"""

from itertools import islice

from bench.figures.demands import drawn_roots, made_graph, minibatches, rows_between
from bench.figures.figure import UNTESTED, Figure, Verdict
from bench.figures.links import ONE_SIDED, ROUNDS, SHAPES, TWO_SIDED, WAYS, bandwidths
from bench.figures.panels import Curve, Lines
from bench.figures.rows import curve_of, pick, spread, values_of

MODEL = "a model of links, its loss by contention fitted to nothing: no devices are measured"


def cells(lab):
    """Return a run for each shape of links and each number of devices."""
    return [
        {"links": shape, "devices": devices} for shape in SHAPES for devices in lab.sizes["devices"]
    ]


def measure(lab, cell):
    """Return a row for each way and each gamma."""
    sizes, devices = lab.sizes, cell["devices"]
    graph, steps = made_graph(sizes["nodes"], sizes["degree"]), sizes["steps"]
    roots = drawn_roots(graph.n, sizes["batch"] * max(sizes["devices"]) * steps)
    graphs = minibatches(lab.gnn, graph, roots, sizes["batch"], sizes["fanouts"])
    rows = rows_between(islice(graphs, devices * steps), graph.n, devices, steps)
    rates = bandwidths(SHAPES[cell["links"]](sizes, devices), rows, sizes["gammas"])
    return [
        {"gamma": gamma, "way": way, "gigabytes_a_second": rates[way][i] / 1e9}
        for i, gamma in enumerate(sizes["gammas"])
        for way in WAYS
    ]


def table(_lab, rows):
    """Return a line for each shape and gamma."""
    lines = []
    for links, devices in _shapes(rows):
        for gamma in values_of(rows, "gamma"):
            rates = _rates(rows, links, devices, gamma)
            shown = [f"{rates[way]:.2f}" for way in WAYS]
            over = f"{rates[ROUNDS] / rates[ONE_SIDED]:.2f}"
            lines.append([f"{links} of {devices}", f"{gamma:g}", *shown, over])
    return ["links", "gamma", *WAYS, "rounds over one-sided"], lines


def judge(_lab, rows):
    """Say what the model gives: it is no measurement, so nothing is held to have been shown."""
    gains = {
        (links, devices, gamma): _rates(rows, links, devices, gamma)
        for links, devices in _shapes(rows)
        for gamma in values_of(rows, "gamma")
    }
    sided = spread(rates[ONE_SIDED] / rates[TWO_SIDED] for rates in gains.values())
    in_rounds = spread(rates[ROUNDS] / rates[ONE_SIDED] for rates in gains.values())
    pays: dict = {}
    for (links, devices, gamma), rates in gains.items():
        if rates[ROUNDS] > rates[ONE_SIDED]:
            pays.setdefault(f"{links} of {devices}", gamma)
    least = ", ".join(f"{name} {gamma:g}" for name, gamma in pays.items()) or "none here"
    return [
        Verdict(
            "V-one-sided-1.23x",
            "V section 7.5",
            "one-sided reads have 1.23 times the bandwidth of two-sided messages",
            f"by the model {sided.text('.2f')} times; between processes of one machine: "
            "`python -m bench exchange`, in a checkout",
            UNTESTED,
            MODEL,
        ),
        Verdict(
            "V-rounds-2.45x",
            "V section 7.5",
            "rounds add 145% of bandwidth on PCIe and 85% on NVLink",
            f"by the model {in_rounds.text('.2f')} times that of one-sided reads at once; the "
            f"least gamma here from which they pay: {least}",
            UNTESTED,
            MODEL,
        ),
    ]


def panels(_lab, rows):
    """Return a panel for each shape."""
    shown = []
    for links, devices in _shapes(rows):
        chosen = pick(rows, links=links, devices=devices)
        curves = {}
        for way in WAYS:
            x, y, *_ = curve_of(chosen, "gamma", "gigabytes_a_second", way=way)
            curves[way] = Curve(x, y)
        label = "loss by contention, gamma"
        title = f"model: {links} of {devices} devices"
        shown.append(Lines(title, label, "GB/s of all devices", curves, {"ylim": (0, None)}))
    return shown


def _shapes(rows):
    return list(dict.fromkeys((row["links"], row["devices"]) for row in rows))


def _rates(rows, links, devices, gamma):
    chosen = pick(rows, links=links, devices=devices, gamma=gamma)
    return {row["way"]: row["gigabytes_a_second"] for row in chosen}


FIGURE = Figure(
    id="V-fig18",
    title="Bandwidth between devices: two-sided, one-sided, in rounds (a model)",
    full={
        "nodes": 100_000,
        "degree": 20,
        "batch": 250,
        "fanouts": [15, 10],
        "features": 128,
        "steps": 3,
        "devices": [4, 8],
        "gammas": [0.0, 0.05, 0.1, 0.2, 0.4],
        "tree": 16e9,
        "crossbar": 150e9,
        "memory": 100e9,
        "half_row": 0,
        "latency": 2e-6,
    },
    quick={
        "nodes": 500,
        "degree": 6,
        "batch": 20,
        "features": 8,
        "steps": 1,
        "devices": [4],
        "gammas": [0.0, 0.3],
    },
    cells=cells,
    measure=measure,
    table=table,
    judge=judge,
    panels=panels,
)
