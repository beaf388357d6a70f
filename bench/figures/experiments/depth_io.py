"""V Fig 16: I/O saved against the depth of the model, and what is done before training."""

import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from bench.figures.experiment import graded, ranked, verdict
from bench.figures.experiments.topologies import BEST, BY_DEGREE, METHODS, saved_on
from bench.figures.plotting import bars_of, lines_of
from bench.figures.result_rows import middle, pick, spread, values_of
from bench.figures.synthetic_data import data_on, drawn_roots
from bench.figures.training import buffer_of, sampled
from refimpl.lab.data.generators import power_law
from refimpl.lab.data.loading import load_dataset

PRINTED = 1.50  # V section 7.5: saved by FreshGNN over saved by the cache of features
SAVED, SPENT = "saved", "spent"
READING, BEFORE, EPOCH = "reading from disk", "pre-processing", "an epoch"


def measure(lab, cell):
    """Return what each method saves, or the seconds of each stage in each round."""
    sizes = lab.sizes
    graph = power_law(sizes["nodes"], sizes["degree"], exponent=2.3)
    if cell["what"] == SPENT:
        return _spent(lab, graph)
    fanouts = (sizes["fanouts"] + [sizes["fanouts"][-1]] * cell["layers"])[: cell["layers"]]
    needed, saved = saved_on(lab.gnn, graph, {**sizes, "fanouts": fanouts}, sizes["features"])
    return [
        {"rows_an_iteration": needed, "method": name, "saved": share}
        for name, share in saved.items()
    ]


def _spent(lab, graph):
    """Return the seconds of reading, pre-processing and an epoch, in turns."""
    sizes = lab.sizes
    roots = drawn_roots(graph.n, max(1, int(sizes["roots"] * graph.n)))
    data = data_on(graph, roots, sizes["features"])
    buffer = buffer_of(sizes, graph.n, sizes["features"])
    own = {"p_grad": sizes["p_grad"], "buffer": buffer, **METHODS[BEST]}
    config = sampled("fresh", sizes, **own)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        data.save(Path(folder, "data"))
        for number in range(-1, sizes["rounds"]):  # the first warms up
            begin = perf_counter()
            read = load_dataset(Path(folder, "data"))
            np.array(read.features)  # all of them, into memory
            loaded = perf_counter()
            with lab.gnn.make_trainer(data, config) as trainer:
                made = perf_counter()
                trainer.epoch()
                ended = perf_counter()
            spent = (READING, loaded - begin), (BEFORE, made - loaded), (EPOCH, ended - made)
            if number >= 0:
                found += [{"stage": one, "round": number, "seconds": s} for one, s in spent]
    return found


def table(_lab, rows):
    """Return a line for each depth, and one for each stage."""
    lines = []
    for layers in values_of(pick(rows, what=SAVED), "layers"):
        saved = _saved(rows, layers)
        shown = [f"{saved[name]:.1%}" for name in (BY_DEGREE, BEST)]
        gain = f"{saved[BEST] / saved[BY_DEGREE]:.2f}"
        (first, *_) = pick(rows, what=SAVED, layers=layers)
        lines.append([f"{layers} layers", f"{first['rows_an_iteration']:,.0f}", *shown, gain, "-"])
    for stage in (READING, BEFORE, EPOCH):
        seconds = _seconds(rows, stage)
        lines.append([stage, *["-"] * 4, seconds.text(".3f", unit=" s")])
    titles = "FreshGNN over features by degree", "time"
    return ["what", "rows an iteration", BY_DEGREE, BEST, *titles], lines


def verdicts(_lab, rows):
    """Judge the gain by its mean over depths, and pre-processing beside an epoch."""
    depths = values_of(pick(rows, what=SAVED), "layers")
    found = [_saved(rows, layers) for layers in depths]
    gain = spread(saved[BEST] / saved[BY_DEGREE] for saved in found)
    falling = all(a[BEST] > b[BEST] for a, b in zip(found, found[1:], strict=False))
    reading, before, epoch = (_seconds(rows, stage).mean for stage in (READING, BEFORE, EPOCH))
    ends, each = f"{depths[0]} to {depths[-1]}", zip(depths, found, strict=True)
    saved = ", ".join(f"{one[BEST]:.1%} with {layers} layers" for layers, one in each)
    quick = ranked(before < min(reading, epoch), before < epoch)
    beside = {"epoch": before / epoch, "reading": before / reading}
    return [
        verdict("V-depth-1.5x", graded(gain.low, PRINTED), gain=gain, depths=ends),
        verdict("V-depth-falls", ranked(falling, False), saved=saved),
        verdict("V-preprocessing-small", quick, **beside),
    ]


def plot(_lab, rows):
    """Return a panel of what is saved, and one of the stages' seconds."""
    saved = [row for row in pick(rows, what=SAVED) if row["method"] in (BY_DEGREE, BEST)]
    form = {"axes": {"ylim": (0, None)}, "scale": 100}
    spreads = {stage: _seconds(rows, stage) for stage in (READING, BEFORE, EPOCH)}
    return [
        lines_of(saved, ("", "layers", "I/O saved, %"), "layers", "saved", "method", **form),
        bars_of("", "seconds", spreads, name="seconds"),
    ]


def _seconds(rows, stage):
    """Return the median, least and largest of a stage's rounds."""
    return middle(row["seconds"] for row in pick(rows, what=SPENT, stage=stage))


def _saved(rows, layers):
    return {row["method"]: row["saved"] for row in pick(rows, what=SAVED, layers=layers)}
