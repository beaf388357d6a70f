"""V Fig 11: iterations a second against the number of devices."""

import statistics
from typing import NamedTuple

import numpy as np

from bench.figures.between_processes import PROCESSES, measured
from bench.figures.experiment import UNTESTED, verdict
from bench.figures.interleaved_timing import rows_of_rounds, steps_in_turns
from bench.figures.plotting import Curve, Lines, curves_of, level
from bench.figures.result_rows import pick, ratios, values_of
from bench.figures.row_counts import Policy, minibatches, planned, rows_of_others, rules_of
from bench.figures.synthetic_data import data_on, drawn_roots, made_graph
from bench.figures.training import buffer_of, sampled
from refimpl.cost_models import gradient_exchange, parallel_speedup, parallel_step_seconds

MIB = 2**20
BYTES = 4  # float32
NEIGHBOR, FRESH = "neighbour sampling", "FreshGNN"
METHODS = NEIGHBOR, FRESH
IN_TURN, AHEAD = "one after another", "fetched ahead"
WAYS = [(NEIGHBOR, IN_TURN), (NEIGHBOR, AHEAD), (FRESH, IN_TURN)]
COUNTED, COMPUTED, TIMED = "counted", "computed", "timed"


def measure(lab, cell):
    """Return the seconds of a step of each method; or what each loads on some ranks."""
    if cell["what"] == COMPUTED:
        return _computing(lab)
    if cell["what"] == TIMED:
        found = measured(lab, "steps")
        named = {(method, int(n)): each for method, by in found.items() for n, each in by.items()}
        return rows_of_rounds(named, "method", "processes", key="seconds")
    sizes, ranks, data = lab.sizes, cell["ranks"], made_data(lab.sizes)
    graphs = lab.once("graphs", lambda: two_epochs(lab.gnn, sizes, data))
    inputs = [mfg.nodes[0] for mfg in graphs[1]]
    firsts = range(0, len(inputs) // ranks * ranks, ranks)
    ids = {
        NEIGHBOR: [inputs[first : first + ranks] for first in firsts],
        FRESH: loaded_by_fresh(lab.gnn, sizes, data.graph, data.roots, graphs, ranks),
    }
    about = data.graph.n, BYTES * sizes["features"]
    return [{"method": name, **load(ids[name], *about)._asdict()} for name in METHODS]


def made_data(sizes):
    """Return a data set whose roots make as many minibatches as the sizes say."""
    graph = made_graph(sizes["nodes"], sizes["degree"])
    roots = drawn_roots(graph.n, sizes["batch"] * sizes["batches"])
    return data_on(graph, roots, sizes["features"])


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
    asked = configs(sizes, data.graph.n)
    trainers = {name: lab.gnn.make_trainer(data, config) for name, config in asked.items()}
    found = steps_in_turns(trainers, half, threads=1, warm_up=half)
    return [
        {
            "method": name,
            "parameters": sum(W.size for W in trainer.state.weights.values()),
            "seconds": statistics.median(step["whole"] for step in found[name]),
        }
        for name, trainer in trainers.items()
    ]


def fresh_settings(sizes, n):
    """Return the settings of FreshGNN in training that its counts have."""
    own = {"p_grad": sizes["p_grad"], "overflow": sizes["overflow"], "performance": True}
    return {**own, "buffer": buffer_of(sizes, n, sizes["features"]), "hotness": "profile"}


class Load(NamedTuple):
    """What ranks load in a step: means over steps, and over ranks where nothing else is said."""

    loaded: float  # rows that are not in a rank's cache
    remote: float  # other ranks' rows among these
    busiest: float  # bytes, of the rank and the direction with most
    messages: float  # of the rank with most


def load(ids, n, row_bytes):
    """Count what ranks load from one another: rank r loads the nodes ``ids[i][r]`` in step i."""
    found = []
    for step in ids:
        rows, loaded = rows_of_others(step, n), sum(map(len, step)) / len(step)
        read, given, messages = rows.sum(axis=0), rows.sum(axis=1), np.count_nonzero(rows, axis=0)
        busiest = row_bytes * max(read.max(), given.max())
        found.append([loaded, read.mean(), busiest, messages.max()])
    return Load(*map(float, np.mean(found, axis=0)))


def loaded_by_fresh(gnn, sizes, graph, roots, graphs, ranks):
    """Return the nodes that each rank loads in each step of the second epoch, for `load`."""
    d, h, steps = sizes["features"], sizes["hidden"], len(graphs[0]) // ranks
    rules = rules_of(sizes, t_stale=max(1, steps // 6), overflow=sizes["overflow"])
    plan = planned(gnn, rules, graph, roots, d, h)
    found = [[None] * ranks for _ in range(steps)]
    for rank in range(ranks):
        policy = Policy(gnn, rules, graph, plan.hotness, d, h, plan=plan)
        for epoch, of_epoch in enumerate(graphs):
            for step in range(steps):
                ids = policy.step(epoch * steps + step, of_epoch[step * ranks + rank])
                if epoch:
                    found[step][rank] = ids
    return found


def speedups(ranks, messages, busiest, parameters, compute, latency, bandwidth):
    """Return {way: the speed-up of `ranks` ranks, by the model}.

    `messages` and `busiest` are those of a `Load`, `compute` is the seconds of a step, and
    `parameters` is the number of gradients that are averaged.
    """
    link = {"latency": latency, "bandwidth": bandwidth}
    sent = gradient_exchange(parameters, ranks)
    exchange = parallel_step_seconds(0, sent.messages, BYTES * sent.numbers, **link)
    reading = parallel_step_seconds(0, messages, busiest, **link)
    spent = {IN_TURN: compute + reading, AHEAD: max(compute, reading)}
    return {
        way: float(parallel_speedup(ranks, compute, seconds + exchange))
        for way, seconds in spent.items()
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
    between = "were not measured, because MPI is not installed"
    if pick(rows, what=TIMED):
        timed = ", ".join(f"{_measured(rows, name):.2f} with {name}" for name in METHODS)
        between = f"are faster than one process by these factors: {timed}"
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
