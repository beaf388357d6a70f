"""Features between devices: two-sided, one-sided, in rounds (FreshGNN, Figure 18).

The demand is that of real minibatches of neighbour sampling: in step i device r has minibatch
number i * devices + r, and needs the rows of its input nodes, of which each device holds a part.
Bandwidth is the bytes of all rows that change places by the seconds of it.

First a MODEL of links (`refimpl.loader.simulate`): a tree of two switches under a host, as of
PCIe, and a crossbar, as of NVLink. Its premises:
- a link with k transfers carries bandwidth / (1 + gamma (k - 1)), shared fairly; gamma is fitted
  to nothing, and decides whether rounds pay;
- two-sided: 8 bytes for each row to its owner, all at once; each owner packs its rows, at
  --memory bytes a second; then the rows, all at once;
- one-sided: the rows alone, all at once, each device from one source after another, each owner to
  one target after another ("shifted"), or in the rounds of `plan_rounds`: those of the paper, and
  with routes of all lengths mixed. A row of s bytes uses s / (s + --half-row) of a link;
- a transfer begins after --latency, and so does each round after the one before.

Then a measurement, where there is an MPI: `DistributedFeatures` between processes, the ways in
turns, median and range of the rounds of measuring.
"""

import statistics

from bench.command import Common, UsageError, numbers
from bench.demands import drawn_roots, made_graph, minibatches, rows_between
from bench.launching import no_mpi, on_ranks
from bench.markdown import head, line, span
from bench.plotting import Panel, draw
from refimpl.loader import Topology, plan_rounds, simulate

COMMON = Common(plot=True, rounds=9)
QUICK = {"nodes": 500, "degree": 6, "batch": 20, "features": 8, "steps": 1}
QUICK |= {"devices": [4], "gammas": [0.0, 0.3]}
ID_BYTES = 8
WAYS = ["two-sided", "one-sided", "fifo per destination", "shifted", "rounds", "rounds, mixed"]
ORDERS = {
    "one-sided": "all_at_once",
    "fifo per destination": "fifo_per_destination",
    "shifted": "shifted",
    "rounds": "rounds",
    "rounds, mixed": "rounds",
}


class Links:
    """A topology, and the seconds that each way of the model takes on it."""

    def __init__(self, options, make, bandwidth):
        used = options.features * 4 / (options.features * 4 + options.half_row)
        self.row_bytes, self.memory = options.features * 4, options.memory
        self.latency = options.latency
        self.links = make(bandwidth)  # of large messages
        self.of_rows = make(bandwidth * used)

    def plans(self, rows):
        """Return the rounds of the two ways that have rounds."""
        demand = rows * self.row_bytes
        plan = {"rounds": False, "rounds, mixed": True}
        return {
            way: plan_rounds(self.links, demand, mix_classes=mixed) for way, mixed in plan.items()
        }

    def seconds(self, way, rows, gamma, plans):
        """Return the seconds that a step takes whose rows go from s to d at ``rows[s, d]``."""
        cost = {"gamma": gamma, "latency": self.latency}
        demand = rows * self.row_bytes
        if way == "two-sided":
            asked = simulate(self.links, rows.T * ID_BYTES, "all_at_once", **cost).seconds
            packed = demand.sum(axis=1).max() / self.memory
            sent = simulate(self.links, demand, "all_at_once", **cost).seconds
            return asked + packed + sent
        if way in plans:
            cost |= {"rounds": plans[way], "barrier": self.latency}
        return simulate(self.of_rows, demand, ORDERS[way], **cost).seconds


def shapes(options):
    """Return {name: `Links`}."""
    found = {}
    for k in options.devices:
        found[f"tree of 2 x {k // 2}"] = Links(
            options, lambda b, k=k: Topology.tree((2, k // 2), b), options.pcie
        )
    for k in options.devices:
        found[f"crossbar of {k}"] = Links(
            options, lambda b, k=k: Topology.crossbar(k, b), options.nvlink
        )
    return found


def bandwidths(links, steps, gammas):
    """Return {way: bytes a second for each gamma} over some steps."""
    plans = [links.plans(rows) for rows in steps]
    total = links.row_bytes * steps.sum()
    return {
        way: [
            total
            / sum(
                links.seconds(way, rows, gamma, plan)
                for rows, plan in zip(steps, plans, strict=True)
            )
            for gamma in gammas
        ]
        for way in WAYS
    }


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--nodes", type=int, default=100_000, help="of a power law")
    parser.add_argument("--degree", type=float, default=20, help="mean")
    parser.add_argument("--batch", type=int, default=250)
    parser.add_argument("--fanouts", type=numbers(int), default=[15, 10])
    parser.add_argument("--features", type=int, default=128, help="float32 numbers in a row")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--devices", type=numbers(int), default=[4, 8], help="even numbers")
    parser.add_argument("--gammas", type=numbers(float), default=[0.0, 0.05, 0.1, 0.2, 0.4])
    parser.add_argument("--pcie", type=float, default=16e9, help="bytes a second of a tree's links")
    parser.add_argument("--nvlink", type=float, default=150e9, help="of a crossbar's links")
    parser.add_argument("--memory", type=float, default=100e9, help="packed in a second")
    parser.add_argument("--half-row", type=float, default=0, help="bytes of a row: see above")
    parser.add_argument("--latency", type=float, default=2e-6, help="seconds")
    parser.add_argument("--ranks", type=int, default=2, help="processes that are measured")


def report(options):
    """Yield the model's table, then the measured one; draw the model if asked."""
    if min(options.devices) < 4 or any(k % 2 for k in options.devices):
        raise UsageError(f"--devices must be even numbers from 4, got {options.devices}")
    graph = made_graph(options.nodes, options.degree)
    most = max([*options.devices, options.ranks])
    roots = drawn_roots(graph.n, min(graph.n, options.batch * most * options.steps))
    if len(roots) < options.batch * most * options.steps:
        raise UsageError("--nodes must be at least --batch x --steps x the most devices")
    yield "**Model.** GB a second of all devices together."
    yield ""
    yield from head(["links", "gamma", *WAYS, "rounds over one-sided"], left=1)
    panels = []
    for name, links in shapes(options).items():
        found = minibatches(graph, roots, options.batch, options.fanouts)
        steps = rows_between(found, graph.n, links.links.devices, options.steps)
        rates = bandwidths(links, steps, options.gammas)
        for i, gamma in enumerate(options.gammas):
            values = [f"{rates[way][i] / 1e9:.2f}" for way in WAYS]
            gain = rates["rounds"][i] / rates["one-sided"][i]
            yield line([name, f"{gamma:g}", *values, f"{gain:.2f}"])
        curves = {way: [rate / 1e9 for rate in rates[way]] for way in WAYS}
        label = "model: loss by contention, gamma"
        panels.append(Panel(name, label, "GB/s", options.gammas, curves, {"ylim": (0, None)}))
    if options.plot:
        draw(options.plot, panels)
    yield ""
    yield from measured(options)


def measured(options):
    """Yield the table of what MPI takes between processes of this machine, or why there is none."""
    missing = no_mpi()
    if missing:
        yield f"**Measured:** nothing: {missing}."
        return
    words = ("nodes", "degree", "batch", "fanouts", "features", "steps", "rounds")
    asked = {word: getattr(options, word) for word in words}
    found = on_ranks(options.ranks, "bench.exchange_ranks", asked)
    title = f"**Measured.** {options.ranks} processes of this machine, {found['mpi']}; "
    yield title + f"{found['bytes'] / 1e6:.1f} MB in {options.steps} steps; median (range)."
    yield ""
    yield from head(["way", "GB a second", "over two-sided, of the same round"])
    for way, seconds in found["seconds"].items():
        rates = [found["bytes"] / 1e9 / one for one in seconds]
        both = zip(found["seconds"]["two-sided"], seconds, strict=True)
        over = [two / one for two, one in both]
        cells = [f"{statistics.median(x):.2f} ({span(x, 2)})" for x in (rates, over)]
        yield line([way, *cells])
