"""V Fig 16: I/O saved against the depth of the model, and what is done before training.

Left: rows saved by a cache of features by degree and by FreshGNN with its policy for performance,
for models of 2 to 5 layers, on the same sampled neighbours; see `topologies.saved_on`. Right: the
seconds of pre-processing, of reading a saved data set with all its features, and of an epoch. The
file system's cache may hold the file: on a disk that is cold, reading takes longer.
"""

import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from bench.figures.demands import SEED, drawn_roots
from bench.figures.experiments.topologies import BEST, BY_DEGREE, saved_on
from bench.figures.figure import FAILS, HOLDS, WEAKER, Figure, Verdict, graded
from bench.figures.panels import Bars, Curve, Lines
from bench.figures.rows import curve_of, middle, pick, spread, values_of
from bench.figures.training import data_on, settings
from refimpl.lab.data.generators import power_law
from refimpl.lab.data.loading import load_dataset

PRINTED = 1.50  # V section 7.5: saved by FreshGNN over saved by the cache of features
SAVED, SPENT = "saved", "spent"
READING, BEFORE, EPOCH = "reading from disk", "pre-processing", "an epoch"


def cells(lab):
    """Return a run for each depth, and one of what is done before training."""
    return [*({"what": SAVED, "layers": n} for n in lab.sizes["layers"]), {"what": SPENT}]


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
    config = settings(
        "fresh",
        rng=SEED,
        layers=len(sizes["fanouts"]),
        hidden=sizes["hidden"],
        fanouts=tuple(sizes["fanouts"]),
        batch_size=sizes["batch"],
        p_grad=sizes["p_grad"],
        buffer=int(sizes["share"] * 4 * graph.n * sizes["features"]),
        hotness="profile",
        performance=True,
    )
    found: list[dict] = []
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
        lines.append([f"{layers} layers", f"{first['rows_an_iteration']:,.0f}", *shown, gain])
    for stage in (READING, BEFORE, EPOCH):
        seconds = _seconds(rows, stage)
        lines.append([stage, "-", "-", "-", seconds.text(".3f", unit=" s")])
    return ["what", "rows an iteration", BY_DEGREE, BEST, "second over first, or time"], lines


def judge(_lab, rows):
    """Judge the gain by its mean over depths, and pre-processing beside an epoch."""
    depths = values_of(pick(rows, what=SAVED), "layers")
    found = [_saved(rows, layers) for layers in depths]
    gain = spread(saved[BEST] / saved[BY_DEGREE] for saved in found)
    falling = all(a[BEST] > b[BEST] for a, b in zip(found, found[1:], strict=False))
    reading, before, epoch = (_seconds(rows, stage).mean for stage in (READING, BEFORE, EPOCH))
    return [
        Verdict(
            "V-depth-1.5x",
            "V section 7.5",
            f"at any depth FreshGNN saves {PRINTED:.2f} times what a cache of features by degree "
            "saves",
            f"{gain.text('.2f')} times, of {depths[0]} to {depths[-1]} layers",
            graded(gain.low, PRINTED),
        ),
        Verdict(
            "V-depth-falls",
            "V section 7.5",
            "what is saved falls with the number of layers",
            ", ".join(
                f"{n} layers {saved[BEST]:.1%}" for n, saved in zip(depths, found, strict=True)
            ),
            HOLDS if falling else FAILS,
        ),
        Verdict(
            "V-preprocessing-small",
            "V section 7.5",
            "pre-processing takes less time than loading the features from disk, and than an epoch",
            f"{before / epoch:.2f} of an epoch's time, {before / reading:.2f} of that of reading "
            "a file which the system may have in memory",
            HOLDS if before < min(reading, epoch) else WEAKER if before < epoch else FAILS,
        ),
    ]


def panels(_lab, rows):
    """Return a panel of what is saved, and one of the stages' seconds."""
    saved = [{**row, "saved": 100 * row["saved"]} for row in pick(rows, what=SAVED)]
    curves = {
        name: Curve(*curve_of(saved, "layers", "saved", method=name)) for name in (BY_DEGREE, BEST)
    }
    stages = [READING, BEFORE, EPOCH]
    spreads = [_seconds(rows, stage) for stage in stages]
    series = {"seconds": [one.mean for one in spreads]}
    ranges = {"seconds": [(one.low, one.high) for one in spreads]}
    axes = {"ylim": (0, None)}
    return [
        Lines("", "layers", "I/O saved, %", curves, axes, values_of(saved, "layers")),
        Bars("", "seconds", stages, series, ranges),
    ]


def _seconds(rows, stage):
    """Return the median, least and largest of a stage's rounds."""
    return middle(row["seconds"] for row in pick(rows, what=SPENT, stage=stage))


def _saved(rows, layers):
    return {row["method"]: row["saved"] for row in pick(rows, what=SAVED, layers=layers)}


FIGURE = Figure(
    id="V-fig16",
    title="I/O saved against depth, and the time before training",
    full={
        "nodes": 50_000,
        "degree": 20,
        "layers": [2, 3, 4, 5],
        "fanouts": [8, 6, 4],
        "roots": 0.05,
        "batch": 25,
        "features": 512,
        "hidden": 128,
        "p_grad": 0.9,
        "share": 0.08,
        "epochs": 2,
        "rounds": 7,
    },
    quick={
        "nodes": 800,
        "degree": 6,
        "layers": [2, 3],
        "features": 16,
        "hidden": 8,
        "rounds": 2,
    },
    cells=cells,
    measure=measure,
    table=table,
    judge=judge,
    panels=panels,
    timed=True,
)
