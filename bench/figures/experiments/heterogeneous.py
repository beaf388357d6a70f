"""V Fig 19: R-GCN on a graph with relations, FreshGNN against neighbour sampling."""

from bench.figures.experiment import graded, ranked, verdict
from bench.figures.plotting import bars_of
from bench.figures.result_rows import pick, points_beside, share_saved, spread
from bench.figures.training import seconds_an_epoch, speed_up, trained_in_turns

NAMES = {"neighbor": "neighbour sampling", "fresh": "FreshGNN"}
PRINTED = 20.5
ALMOST = 1.0  # points


def measure(lab, cell):
    """Return a row for each method and epoch, with the score of its best epoch."""
    return trained_in_turns(lab, NAMES, cell["seed"], model="rgcn")


def table(_lab, rows):
    """Return a line for each method."""
    saved = {"neighbor": "-", "fresh": f"{share_saved(pick(rows, method='fresh')):.1%}"}
    return ["method", "seconds an epoch, median", "test F1-micro, mean", "I/O saved"], [
        [name, seconds_an_epoch(rows, x).text(), scores(rows, x).text(), saved[x]]
        for x, name in NAMES.items()
    ]


def scores(rows, method):
    """Return the `Spread` of a method's test scores, one a seed."""
    return spread(row["test_f1"] for row in pick(rows, method=method, epoch=1))


def verdicts(_lab, rows):
    """Judge speed by the median over rounds, accuracy by the mean over seeds."""
    ratio = speed_up(rows, "neighbor")
    lost = points_beside(*(pick(rows, method=name, epoch=1) for name in ("fresh", "neighbor")))
    found = {"ratio": ratio, "saved": share_saved(pick(rows, method="fresh"))}
    close = ranked(lost.mean > -ALMOST, lost.mean > -2 * ALMOST)
    return [
        verdict("V-rgcn-20.5x", graded(ratio.mean, PRINTED), **found),
        verdict("V-rgcn-accuracy", close, lost=lost),
    ]


def plot(_lab, rows):
    """Return seconds an epoch, a mark where the paper's speed-up would be, and scores."""
    times = {name: seconds_an_epoch(rows, method) for method, name in NAMES.items()}
    room = {"ylim": (0, 1.4 * max(one.high for one in times.values()))}
    title = f"Seconds of an epoch (mark: {PRINTED} times as fast)"
    marks = [None, times[NAMES["neighbor"]].mean / PRINTED]
    found = {name: scores(rows, method) for method, name in NAMES.items()}
    return [
        bars_of(title, "seconds", times, printed=marks, axes=room),
        bars_of("Test accuracy", "F1-micro", found, axes={"ylim": (0, 1)}),
    ]
