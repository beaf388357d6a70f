"""V Fig 15: sampling by several threads beside training, and pruning in five layouts."""

from functools import partial
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from bench.figures.experiment import ABOUT, ranked, verdict
from bench.figures.interleaved_timing import rows_of_rounds, seconds_in_turns
from bench.figures.plotting import level, lines_of
from bench.figures.result_rows import groups_of, median_of, pick, spread_of
from bench.figures.synthetic_data import SEED, data_on, drawn_roots
from bench.figures.training import sampled
from bench.timing import in_turns
from refimpl.history import pruning
from refimpl.lab.data.generators import kronecker
from refimpl.streams import LAYER, key

SAMPLING, PRUNING = "sampling", "pruning"
TRAINING = "training, FreshGNN"
PATIENCE = 1.0  # seconds; one round is enough of what takes more
COLUMNS = ABOUT["V-fig15"]["names"]


def measure(lab, cell):
    """Return a row for each contestant and round."""
    graph = kronecker(lab.sizes["scale"], lab.sizes["degree"])
    return _pruned(lab, graph, cell["batch"]) if "batch" in cell else _sampled(lab, graph)


def _sampled(lab, graph):
    """Return the seconds of an epoch's sampling on each number of threads, and of its training."""
    sizes, gnn = lab.sizes, lab.gnn
    batch, count = sizes["batches"][-1], sizes["batches_an_epoch"]
    roots = drawn_roots(graph.n, batch * count)
    config = sampled("fresh", {**sizes, "batch": batch})
    whole: tuple = TRAINING, lab.threads
    drawn: list[float] = []  # seconds of the sampling in each epoch of training

    def draw(workers, number):
        batches = gnn.samplers.epoch_batches(roots, batch, SEED, number)
        about = {"seed": SEED, "epoch": number, "workers": workers, "window": 2 * workers + 2}
        with (
            threadpool_limits(1),
            gnn.Prefetcher(graph, batches, sizes["fanouts"], **about) as found,
        ):
            assert sum(1 for _ in found) == count

    def train(_):
        before = trainer.meter.seconds["sampling"]
        trainer.epoch()
        drawn.append(trainer.meter.seconds["sampling"] - before)

    tasks: dict = {("sampling", n): partial(draw, n) for n in lab.thread_counts()}
    with gnn.make_trainer(data_on(graph, roots, sizes["features"]), config) as trainer:
        found = seconds_in_turns({**tasks, whole: train}, sizes["epochs"])
    spent = zip(found[whole], drawn[-sizes["epochs"] :], strict=True)
    found[whole] = [seconds - sampling for seconds, sampling in spent]
    return rows_of_rounds(found, "contestant", "threads", key="seconds")


def _pruned(lab, graph, batch):
    """Return the seconds in which each layout removes the entries of an iteration's cached rows."""
    gnn, rng = lab.gnn, np.random.default_rng(batch)
    roots = rng.choice(np.flatnonzero(graph.degrees()), batch, replace=False)
    mfg = gnn.layer_sample(graph, roots, lab.sizes["fanouts"], key(SEED, LAYER, 0, batch))
    hit = [rng.random(len(nodes)) < lab.sizes["cached"] for nodes in mfg.nodes[1:]]
    hit[-1][:] = False  # the roots
    pairs = zip(gnn.prune_mfg(mfg, hit).mfg.blocks, mfg.blocks, strict=True)
    emptied = [np.flatnonzero(after.end < before.end) for after, before in pairs]
    tasks = {
        layout: lambda _, layout=layout: layout_seconds(gnn, layout, mfg, emptied)
        for layout in COLUMNS
    }
    first = {layout: [task(0)] for layout, task in tasks.items()}
    quick = {layout: task for layout, task in tasks.items() if first[layout][0] <= PATIENCE}
    found = first | (in_turns(quick, lab.sizes["rounds"]) if quick else {})
    about = {"entries": sum(block.e for block in mfg.blocks), "emptied": sum(map(len, emptied))}
    named = {name: found[layout] for layout, name in COLUMNS.items()}
    return [{**about, **row} for row in rows_of_rounds(named, "contestant", key="seconds")]


def layout_seconds(gnn, layout, mfg, emptied):
    """Return the seconds in which the entries are removed from blocks in a layout."""
    known = getattr(gnn.history, "pruning", pruning).LAYOUTS  # not all backends have their own
    for _ in range(2):  # the first warms the caches, whatever ran before
        edges = [known[layout](block) for block in mfg.blocks]
        begin = perf_counter()
        for block, rows in zip(edges, emptied, strict=True):
            block.empty(rows)
        seconds = perf_counter() - begin
        if seconds > PATIENCE:
            break
    return seconds


def table(_lab, rows):
    """Return a line for each number of threads and each size of a batch."""
    lines = []
    for some in groups_of(pick(rows, what=SAMPLING), "contestant", "threads"):
        trained = some[0]["contestant"] == TRAINING
        name = TRAINING if trained else "sampling, {threads} threads".format(**some[0])
        lines.append([f"an epoch's {name}", f"{median_of(some, 'seconds'):.3f} s", "-", "-"])
    for of_batch in groups_of(pick(rows, what=PRUNING), "batch"):
        base = median_of(of_batch, "seconds", contestant=COLUMNS["csr2"])
        for some in groups_of(of_batch, "contestant"):
            one = median_of(some, "seconds")
            cells = [f"{1e6 * one:,.0f} us", f"{one / base:,.1f}", some[0]["emptied"]]
            lines.append(["pruning a batch of {batch:,}, {contestant}".format(**some[0]), *cells])
    return ["what", "median", "over CSR2", "rows emptied"], lines


def verdicts(lab, rows):
    """Judge pruning by the smallest ratio over CSR2, sampling by the most threads."""
    batches, epochs = groups_of(pick(rows, what=PRUNING), "batch"), pick(rows, what=SAMPLING)

    def median(some, layout):
        return median_of(some, "seconds", contestant=COLUMNS[layout])

    found = {
        layout: min(median(some, layout) / median(some, "csr2") for some in batches)
        for layout in ("csr", "coo", "csr_batched")
    }
    least = min(found["csr"], found["coo"])
    training = median_of(epochs, "seconds", contestant=TRAINING)
    most, one = (
        median_of(epochs, "seconds", contestant="sampling", threads=n) / training
        for n in (lab.threads, 1)
    )
    beside = {"most": most, "threads": lab.threads, "one": one}
    return [
        verdict("V-csr2-orders", ranked(least >= 10, least > 1), **found),
        verdict("V-sampling-overlaps", ranked(most < 1, False), **beside),
    ]


def plot(lab, rows):
    """Return a panel of sampling against threads, and one of pruning against the batch."""
    epochs, pruned = pick(rows, what=SAMPLING), pick(rows, what=PRUNING)
    sampling, by = pick(epochs, contestant="sampling"), ("seconds", "contestant")
    labels = "sampling an epoch", "threads", "seconds"
    left = lines_of(sampling, labels, "threads", *by, axes={"ylim": (0, None)})
    trained = spread_of(epochs, "seconds", contestant=TRAINING).mean
    left.curves[f"{TRAINING}, {lab.threads} threads"] = level(left.ticks, trained)
    labels = "pruning", "roots of a batch", "us an iteration"
    log = {"xscale": "log", "yscale": "log"}
    return [left, lines_of(pruned, labels, "batch", *by, scale=1e6, axes=log)]
