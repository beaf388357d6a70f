"""V Fig 11: iterations a second against the number of devices."""

import statistics
from contextlib import ExitStack

from threadpoolctl import threadpool_limits

from bench.figures.between_processes import PROCESSES, measured
from bench.figures.experiment import UNTESTED, verdict
from bench.figures.interleaved_timing import rows_of_rounds, seconds_in_turns
from bench.figures.parallel import AHEAD, FRESH, IN_TURN, METHODS, NEIGHBOR, loads, speedups
from bench.figures.plotting import Curve, Lines, curves_of, level
from bench.figures.remote_row_counts import minibatches
from bench.figures.result_rows import pick, ratios, values_of
from bench.figures.synthetic_data import data_on, drawn_roots, made_graph
from bench.figures.training import buffer_of, sampled
from bench.launching import no_mpi

MIB = 2**20
WAYS = [(NEIGHBOR, IN_TURN), (NEIGHBOR, AHEAD), (FRESH, IN_TURN)]
COUNTED, COMPUTED, TIMED = "counted", "computed", "timed"


def cells(lab):
    """Return a run for each number of ranks, after one that measures the computing."""
    counted = [{"what": COUNTED, "ranks": ranks} for ranks in lab.sizes["ranks"]]
    return [{"what": COMPUTED}, *counted, *([] if no_mpi() else [{"what": TIMED}])]


def measure(lab, cell):
    """Return the seconds of a step of each method; or what each loads on some ranks."""
    if cell["what"] == COMPUTED:
        return _computing(lab)
    if cell["what"] == TIMED:
        found = measured(lab, "steps")
        named = {(method, int(n)): each for method, by in found.items() for n, each in by.items()}
        return rows_of_rounds(named, "method", "processes", key="seconds")
    sizes = lab.sizes
    data = made_data(sizes)
    graphs = lab.once("graphs", lambda: two_epochs(lab.gnn, sizes, data))
    found = loads(lab.gnn, sizes, data.graph, data.roots, graphs, cell["ranks"])
    return [{"method": name, **load._asdict()} for name, load in found.items()]


def made_data(sizes):
    """Return a data set whose roots make as many minibatches as the sizes say."""
    graph = made_graph(sizes["nodes"], sizes["degree"])
    return data_on(
        graph, drawn_roots(graph.n, sizes["batch"] * sizes["batches"]), sizes["features"]
    )


def two_epochs(gnn, sizes, data):
    """Return the message-flow graphs of two epochs, as training draws them."""
    about = gnn, data.graph, data.roots, sizes["batch"], sizes["fanouts"]
    return [list(minibatches(*about, epoch)) for epoch in (0, 1)]


def configs(sizes, n, **shared):
    """Return {method: TrainConfig} on a graph of n nodes."""
    return {
        NEIGHBOR: sampled("neighbor", sizes, **shared),
        FRESH: sampled("fresh", sizes, **fresh_settings(sizes, n), **shared),
    }


def _computing(lab):
    """Return the number of parameters, and the median seconds of a step of each on one thread."""
    sizes, data = lab.sizes, made_data(lab.sizes)
    half = sizes["timed_steps"] // 2  # as many before: the cache fills
    with threadpool_limits(1), ExitStack() as stack:
        trainers = {
            name: stack.enter_context(lab.gnn.make_trainer(data, config))
            for name, config in configs(sizes, data.graph.n).items()
        }
        tasks = {name: lambda _, one=one: one.step() for name, one in trainers.items()}
        found = seconds_in_turns(tasks, half, warm_up=half)
        return [
            {
                "method": name,
                "parameters": sum(W.size for W in trainer.state.weights.values()),
                "seconds": statistics.median(found[name]),
            }
            for name, trainer in trainers.items()
        ]


def fresh_settings(sizes, n):
    """Return the settings of FreshGNN in training that its counts have."""
    return {
        "p_grad": sizes["p_grad"],
        "overflow": sizes["overflow"],
        "buffer": buffer_of(sizes, n, sizes["features"]),
        "hotness": "profile",
        "performance": True,
    }


def table(lab, rows):
    """Return a line for each number of ranks: rows and bytes, and the speed-ups of the model."""
    titles = ["ranks"]
    for method in METHODS:
        titles += [f"{method}: rows loaded", "from others", "busiest, MiB"]
    names = [_network(one) for one in lab.sizes["networks"]]
    titles += [f"{m}, {way}; {name}" for name in names for m, way in WAYS]
    lines = []
    for ranks in values_of(pick(rows, what=COUNTED), "ranks"):
        line = [ranks]
        for method in METHODS:
            (one,) = pick(rows, what=COUNTED, ranks=ranks, method=method)
            line += [f"{one[key]:,.0f}" for key in ("loaded", "remote")]
            line.append(f"{one['busiest'] / MIB:.2f}")
        for network in lab.sizes["networks"]:
            line += [f"{_speedup(rows, ranks, *way, network):.2f}" for way in WAYS]
        lines.append(line)
    for method in METHODS if pick(rows, what=TIMED) else ():
        faster = f"{_measured(rows, method).text('.2f')} times as fast as one"
        words = f"measured: {PROCESSES} processes, {method}: {faster}"
        lines.append([words, *[""] * (len(titles) - 1)])
    return titles, lines


def verdicts(lab, rows):
    """Say what the model gives for the paper's devices; no devices are measured."""
    network, most = lab.sizes["networks"][0], max(values_of(pick(rows, what=COUNTED), "ranks"))
    ranks = min(4, most)
    fresh, neighbor = (_speedup(rows, ranks, name, IN_TURN, network) for name in (FRESH, NEIGHBOR))
    computed = {row["method"]: 1e3 * row["seconds"] for row in pick(rows, what=COMPUTED)}
    between = "were not measured without MPI"
    if pick(rows, what=TIMED):
        timed = ", ".join(f"{_measured(rows, name):.2f} times ({name})" for name in METHODS)
        between = f"were measured: {timed}"
    found = {"network": _network(network), "ranks": ranks, "fresh": fresh, "neighbor": neighbor}
    found |= {"cached": computed[FRESH], "plain": computed[NEIGHBOR], "between": between}
    return [verdict("V-devices-scale", UNTESTED, **found)]


def plot(lab, rows):
    """Return a panel for each network, and one of the bytes that were counted."""
    counted = pick(rows, what=COUNTED)
    ranks, shown = values_of(counted, "ranks"), []
    ticks = ranks[:: 1 + len(ranks) // 6]
    for network in lab.sizes["networks"]:
        curves = {
            f"{way[0]}, {way[1]}": Curve(ranks, [_speedup(rows, r, *way, network) for r in ranks])
            for way in WAYS
        }
        curves["as many as ranks"] = level(ranks, ranks)
        title, log = f"model: {_network(network)}", {"xscale": "log", "yscale": "log"}
        shown.append(Lines(title, "ranks", "speed-up", curves, log, ticks))
    read = curves_of(counted, "ranks", "busiest", "method", scale=1 / MIB)
    label = "MiB of the busiest rank, a step"
    return [*shown, Lines("counted", "ranks", label, read, {"xscale": "log"}, ticks)]


def _speedup(rows, ranks, method, way, network):
    """Return the speed-up over one rank by the model, on a network (latency, bandwidth)."""
    (one,) = pick(rows, what=COUNTED, ranks=ranks, method=method)
    (step,) = pick(rows, what=COMPUTED, method=method)
    sent = ranks, one["messages"], one["busiest"], step["parameters"]
    return speedups(*sent, step["seconds"], *network)[way]


def _measured(rows, method):
    """Return how many times as fast a step is on all processes as on one, round by round."""
    timed = pick(rows, what=TIMED, method=method)
    one, all_of_them = (pick(timed, processes=count) for count in (1, PROCESSES))
    return ratios(one, all_of_them, "seconds")


def _network(network):
    latency, bandwidth = network
    return f"{1e6 * latency:g} us, {bandwidth / 1e9:g} GB/s"
