"""V Fig 18: bandwidth of features between devices, two-sided, one-sided and in rounds.

There is no GPU here: the bandwidths are those of a model of links, see `links`, for the rows that
minibatches of neighbour sampling really need. Its loss by contention, gamma, is fitted to nothing
and decides whether rounds pay, so it is what is varied.

Where MPI is installed, `DistributedFeatures` is measured as well, between processes of this
machine, for the same minibatches: the ways in turns, see `exchange_ranks`.
"""

from itertools import islice

from bench.figures.experiment import UNTESTED, Verdict
from bench.figures.interconnect_model import ONE_SIDED, ROUNDS, SHAPES, TWO_SIDED, WAYS, bandwidths
from bench.figures.interleaved_timing import rows_of_rounds
from bench.figures.plotting import Curve, Lines
from bench.figures.remote_row_counts import minibatches, rows_between
from bench.figures.result_rows import curve_of, middle, pick, ratios, spread, values_of
from bench.figures.synthetic_data import drawn_roots, made_graph
from bench.launching import no_mpi, on_ranks

NO_MPI = "nothing was measured, for want of MPI"
MODEL = "a model of links, its loss by contention fitted to nothing: no devices are measured"
MACHINE, RANKS, ROUNDS_TIMED = "processes", 2, 9
RATE = "gigabytes_a_second"


def cells(lab):
    """Return a run for each shape of links and number of devices, one of processes with MPI."""
    shapes = [(shape, devices) for shape in SHAPES for devices in lab.sizes["devices"]]
    shapes += [] if no_mpi() else [(MACHINE, RANKS)]
    return [{"links": shape, "devices": devices} for shape, devices in shapes]


def measure(lab, cell):
    """Return a row for each way and each gamma, or round."""
    if cell["links"] == MACHINE:
        return _between_processes(lab)
    sizes, devices = lab.sizes, cell["devices"]
    graph, steps = made_graph(sizes["nodes"], sizes["degree"]), sizes["steps"]
    roots = drawn_roots(graph.n, sizes["batch"] * max(sizes["devices"]) * steps)
    graphs = minibatches(lab.gnn, graph, roots, sizes["batch"], sizes["fanouts"])
    rows = rows_between(islice(graphs, devices * steps), graph.n, devices, steps)
    rates = bandwidths(SHAPES[cell["links"]](sizes, devices), rows, sizes["gammas"])
    return [
        {"gamma": gamma, "way": way, RATE: rates[way][i] / 1e9}
        for i, gamma in enumerate(sizes["gammas"])
        for way in WAYS
    ]


def _between_processes(lab):
    """Return a row for each way and round."""
    words = "nodes", "degree", "batch", "fanouts", "features", "steps"
    asked = {word: lab.sizes[word] for word in words}
    asked |= {"impl": lab.gnn.__name__, "rounds": 3 if lab.quick else ROUNDS_TIMED}
    found = on_ranks(RANKS, "bench.figures.exchange_ranks", asked)
    rate = found["bytes"] / 1e9
    rates = {way: [rate / seconds for seconds in each] for way, each in found["seconds"].items()}
    return rows_of_rounds(rates, "way", key=RATE)


def table(_lab, rows):
    """Return a line for each shape and gamma, and one of what was measured."""
    lines = []
    for links, devices in _shapes(rows):
        for gamma in values_of(rows, "gamma"):
            rates = _rates(rows, links, devices, gamma)
            shown = [f"{rates[way]:.2f}" for way in WAYS]
            over = f"{rates[ROUNDS] / rates[ONE_SIDED]:.2f}"
            lines.append([f"{links} of {devices}", f"{gamma:g}", *shown, over])
    if measured := pick(rows, links=MACHINE):
        ways = values_of(measured, "way")
        rates = {way: middle(row[RATE] for row in pick(measured, way=way)) for way in ways}
        shown = [rates[way].text(".2f") if way in rates else "-" for way in WAYS]
        over = _over(measured, ROUNDS, ONE_SIDED)
        lines.append([f"measured: {RANKS} {MACHINE}", "-", *shown, over])
    return ["links", "gamma", *WAYS, "rounds over one-sided"], lines


def verdicts(_lab, rows):
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
    measured = pick(rows, links=MACHINE)
    between = f"{_over(measured, ONE_SIDED, TWO_SIDED)} times" if measured else NO_MPI
    least = ", ".join(f"{name} {gamma:g}" for name, gamma in pays.items()) or "none here"
    return [
        Verdict(
            "V-one-sided-1.23x",
            f"by the model {sided.text('.2f')} times; between processes of one machine {between}",
            UNTESTED,
            MODEL,
        ),
        Verdict(
            "V-rounds-2.45x",
            f"by the model {in_rounds.text('.2f')} times that of one-sided reads at once; the "
            f"least gamma here from which they pay: {least}",
            UNTESTED,
            MODEL,
        ),
    ]


def plot(_lab, rows):
    """Return a panel for each shape."""
    shown = []
    for links, devices in _shapes(rows):
        chosen = pick(rows, links=links, devices=devices)
        curves = {}
        for way in WAYS:
            x, y, *_ = curve_of(chosen, "gamma", RATE, way=way)
            curves[way] = Curve(x, y)
        label = "loss by contention, gamma"
        title = f"model: {links} of {devices} devices"
        shown.append(Lines(title, label, "GB/s of all devices", curves, {"ylim": (0, None)}))
    return shown


def _shapes(rows):
    """Return the shapes of the model and their numbers of devices."""
    model = [row for row in rows if row["links"] != MACHINE]
    return list(dict.fromkeys((row["links"], row["devices"]) for row in model))


def _over(measured, way, other):
    """Return how many times the bandwidth of another way one has, of the same rounds."""
    return ratios(pick(measured, way=way), pick(measured, way=other), RATE).text(".2f")


def _rates(rows, links, devices, gamma):
    chosen = pick(rows, links=links, devices=devices, gamma=gamma)
    return {row["way"]: row[RATE] for row in chosen}
