"""V Fig 18: bandwidth of features between devices, two-sided, one-sided and in rounds."""

from functools import partial
from itertools import islice
from typing import Any

from bench.figures.between_processes import PROCESSES, measured
from bench.figures.experiment import ABOUT, UNTESTED, verdict
from bench.figures.interleaved_timing import rows_of_rounds
from bench.figures.plotting import lines_of
from bench.figures.result_rows import groups_of, middle, pick, ratios, spread
from bench.figures.row_counts import minibatches, rows_between
from bench.figures.synthetic_data import drawn_roots, made_graph
from refimpl.loader import Topology, plan_rounds, simulate

ID_BYTES = 8
TWO_SIDED, ONE_SIDED, ROUNDS = "two-sided", "one-sided", "rounds"
ORDERS: dict[str, Any] = ABOUT["V-fig18"]["names"]  # {way: order of `simulate`}
WAYS = [TWO_SIDED, *ORDERS]
SHAPES: dict[str, Any] = {  # by number of devices and bandwidth: two switches, a crossbar
    "tree": lambda devices, bandwidth: Topology.tree((2, devices // 2), bandwidth),
    "crossbar": Topology.crossbar,
}
MACHINE = "processes"
RATE = "gigabytes_a_second"


def measure(lab, cell):
    """Return a row for each way and each gamma, or round."""
    if cell["links"] == MACHINE:
        found = measured(lab, "fetches")
        rate = found["bytes"] / 1e9
        rates = {way: [rate / s for s in each] for way, each in found["seconds"].items()}
        return rows_of_rounds(rates, "way", key=RATE)
    sizes, devices = lab.sizes, cell["devices"]
    graph, steps = made_graph(sizes["nodes"], sizes["degree"]), sizes["steps"]
    roots = drawn_roots(graph.n, sizes["batch"] * max(sizes["devices"]) * steps)
    graphs = minibatches(lab.gnn, graph, roots, sizes["batch"], sizes["fanouts"])
    rows = rows_between(islice(graphs, devices * steps), graph.n, devices, steps)
    links = Links(sizes, partial(SHAPES[cell["links"]], devices), sizes[cell["links"]])
    rates = bandwidths(links, rows, sizes["gammas"])
    return [
        {"gamma": gamma, "way": way, RATE: rates[way][i] / 1e9}
        for i, gamma in enumerate(sizes["gammas"])
        for way in WAYS
    ]


class Links:
    """A topology, and the seconds that each way of the model takes on it."""

    def __init__(self, sizes, make, bandwidth):
        self.row_bytes = sizes["features"] * 4
        used = self.row_bytes / (self.row_bytes + sizes["half_row"])
        self.memory, self.latency = sizes["memory"], sizes["latency"]
        self.links = make(bandwidth)  # of large messages
        self.of_rows = make(bandwidth * used)

    def plans(self, rows):
        """Return the rounds of the two ways that have rounds."""
        demand = rows * self.row_bytes
        plan = {ROUNDS: False, "rounds, mixed": True}
        return {
            way: plan_rounds(self.links, demand, mix_classes=mixed) for way, mixed in plan.items()
        }

    def seconds(self, way, rows, gamma, plans):
        """Return the seconds that a step takes whose rows go from s to d at ``rows[s, d]``."""
        cost = {"gamma": gamma, "latency": self.latency}
        demand = rows * self.row_bytes
        if way == TWO_SIDED:
            asked = simulate(self.links, rows.T * ID_BYTES, "all_at_once", **cost).seconds
            packed = demand.sum(axis=1).max() / self.memory
            sent = simulate(self.links, demand, "all_at_once", **cost).seconds
            return asked + packed + sent
        if way in plans:
            cost |= {"rounds": plans[way], "barrier": self.latency}
        return simulate(self.of_rows, demand, ORDERS[way], **cost).seconds


def bandwidths(links, steps, gammas):
    """Return {way: bytes a second for each gamma} over some steps."""
    plans = [links.plans(rows) for rows in steps]
    total = links.row_bytes * steps.sum()

    def seconds(way, gamma):
        planned = zip(steps, plans, strict=True)
        return sum(links.seconds(way, rows, gamma, plan) for rows, plan in planned)

    return {way: [total / seconds(way, gamma) for gamma in gammas] for way in WAYS}


def table(_lab, rows):
    """Return a line for each shape and gamma, and one of what was measured."""
    lines = [
        [links, f"{gamma:g}", *(f"{rates[way]:.2f}" for way in WAYS), f"{_gain(rates):.2f}"]
        for (links, gamma), rates in _modelled(rows).items()
    ]
    if timed := pick(rows, links=MACHINE):
        rates = {
            some[0]["way"]: middle(row[RATE] for row in some) for some in groups_of(timed, "way")
        }
        shown = [rates[way].text(".2f") if way in rates else "-" for way in WAYS]
        over = _over(rows, ROUNDS, ONE_SIDED)
        lines.append([f"measured: {PROCESSES} {MACHINE}", "-", *shown, over])
    return ["links", "gamma", *WAYS, "rounds over one-sided"], lines


def verdicts(_lab, rows):
    """Say what the model gives: it is no measurement, so nothing is held to have been shown."""
    modelled = _modelled(rows)
    pays: dict = {}
    for (links, gamma), rates in modelled.items():
        if _gain(rates) > 1:
            pays.setdefault(links, gamma)
    sided = spread(rates[ONE_SIDED] / rates[TWO_SIDED] for rates in modelled.values())
    gain = spread(_gain(rates) for rates in modelled.values())
    between = "Processes on one machine were not measured, because MPI is not installed"
    if pick(rows, links=MACHINE):
        between = (
            f"Between processes on one machine it is {_over(rows, ONE_SIDED, TWO_SIDED)} times"
        )
    each = ", ".join(f"{gamma:g} on the {name} devices" for name, gamma in pays.items())
    least = "Rounds are not faster with any loss"
    if each:
        least = f"Rounds are faster if the loss gamma is at least {each}"
    return [
        verdict("V-one-sided-1.23x", UNTESTED, sided=sided, between=between),
        verdict("V-rounds-2.45x", UNTESTED, gain=gain, least=least),
    ]


def plot(_lab, rows):
    """Return a panel for each shape."""
    labels = "loss by contention, gamma", "GB/s of all devices"
    form = {"axes": {"ylim": (0, None)}, "ticks": False}
    shown = []
    for some in groups_of(rows, "links", "devices"):
        if some[0]["links"] != MACHINE:
            title = "model: {links} of {devices} devices".format(**some[0])
            shown.append(lines_of(some, (title, *labels), "gamma", RATE, "way", **form))
    return shown


def _over(rows, way, other):
    """Return how many times the bandwidth of another way one has, of the same measured rounds."""
    ours, theirs = (pick(rows, links=MACHINE, way=one) for one in (way, other))
    return ratios(ours, theirs, RATE).text(".2f")


def _modelled(rows):
    """Return {(links, gamma): {way: its bandwidth}} of the model."""
    return {
        ("{links} of {devices}".format(**some[0]), some[0]["gamma"]): {
            row["way"]: row[RATE] for row in some
        }
        for some in groups_of(rows, "links", "devices", "gamma")
    }


def _gain(rates):
    return rates[ROUNDS] / rates[ONE_SIDED]
