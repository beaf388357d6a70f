"""J Table 3: seconds of an iteration on processor cores, and on a GPU as the paper prints them."""

import statistics

from bench.figures.experiment import ABOUT, UNTESTED, verdict
from bench.figures.experiments.scaling import training
from bench.figures.interleaved_timing import PARTS, in_words, rows_of_rounds, steps_in_turns
from bench.figures.plotting import Bars
from bench.figures.result_rows import groups_of, median_of, medians, quartiles_of, tabled, values_of
from bench.figures.synthetic_data import data_like

CPU, GPU = ABOUT["J-tab3"]["printed"].values()  # {like: seconds}


def measure(lab, cell):
    """Return a row for each data set and round: seconds of an iteration, by part."""
    sizes = lab.sizes
    config = training(sizes, cell["hidden"], pool=lab.threads)
    trainers = {
        like: lab.gnn.make_trainer(data_like(like, sizes["shrink"]), config)
        for like in sizes["like"]
    }
    found = steps_in_turns(trainers, sizes["rounds"], steps=lab.threads)
    return [{"threads": lab.threads, **row} for row in rows_of_rounds(found, "like")]


def table(_lab, rows):
    """Return a line for each data set."""
    columns = {"graph like": "like", "here, s": medians("whole", ".4f")}
    columns |= {f"{part}, s": medians(part, ".4f") for part in PARTS}
    columns["printed, 40 cores, s"] = lambda some: f"{CPU[some[0]['like']]:.4f}"
    columns["printed, GPU, s"] = lambda some: f"{GPU[some[0]['like']]:.4f}"
    columns["printed ratio"] = lambda some: f"{CPU[some[0]['like']] / GPU[some[0]['like']]:.2f}"
    return tabled(groups_of(rows, "like"), columns)


def verdicts(_lab, rows):
    """Say what an iteration takes here; there is no GPU to compare with."""
    whole = {like: median_of(rows, "whole", like=like) for like in values_of(rows, "like")}
    over = statistics.fmean(seconds / CPU[like] for like, seconds in whole.items())
    each = ", ".join(f"{seconds:.3f} s on the graph like {like}" for like, seconds in whole.items())
    threads = in_words(rows[0]["threads"])
    return [verdict("J-gpu-2x", UNTESTED, threads=threads, each=each, over=over)]


def plot(_lab, rows):
    """Return bars of what is measured, the middle halves of the rounds, and what is printed."""
    ours, likes = f"{in_words(rows[0]['threads'])} here", values_of(rows, "like")
    found = [quartiles_of(rows, "whole", like=like) for like in likes]
    names = [name for like in likes for name in (f"like {like}", "GPU")]
    series = [x for one in found for x in (one.mean, None)]
    ranges = [x for one in found for x in ((one.low, one.high), None)]
    printed = [x[like] for like in likes for x in (CPU, GPU)]
    title = "hidden dimension 512, as printed on 40 cores and on a GPU"
    room = {"ylim": (0, 1.3 * max(*printed, *(one.high for one in found)))}
    bars = {ours: series}, {ours: ranges}, {ours: printed}
    return [Bars(title, "seconds an iteration", names, *bars, axes=room)]
