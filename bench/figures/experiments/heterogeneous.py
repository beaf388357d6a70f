"""V Fig 19: R-GCN on a graph with relations, FreshGNN against neighbour sampling.

Both train in turns, epoch by epoch; evaluation takes its turn but is not in the times, and the
first epoch, in which the cache is empty, is left out. The paper's graph is MAG240M with its types;
here it is one of papers, authors and institutions with thousands of nodes, and a few labels.
"""

from bench.figures.experiment import HOLDS, Verdict, graded, ranked
from bench.figures.plotting import bars_of
from bench.figures.result_rows import middle, pick, points_beside, ratios, share_saved, spread
from bench.figures.training import BOUND, seconds_of, trained_in_turns

NAMES = {"neighbor": "neighbour sampling", "fresh": "FreshGNN"}
PRINTED = 20.5
ALMOST = 1.0  # points


def measure(lab, cell):
    """Return a row for each method and epoch, with the score of its best epoch."""
    return trained_in_turns(lab, NAMES, cell["seed"], model="rgcn")


def table(_lab, rows):
    """Return a line for each method."""
    lines, saved = [], share_saved(pick(rows, method="fresh"))
    for method, name in NAMES.items():
        share = f"{saved:.1%}" if method == "fresh" else "-"
        seconds = middle(seconds_of(rows, method))
        lines.append([name, seconds.text(".3f"), scores(rows, method).text(), share])
    return ["method", "seconds an epoch, median", "test F1-micro, mean", "I/O saved"], lines


def scores(rows, method):
    """Return the `Spread` of a method's test scores, one a seed."""
    return spread(row["test_f1"] for row in pick(rows, method=method, epoch=1))


def verdicts(_lab, rows):
    """Judge speed by the median over rounds, accuracy by the mean over seeds."""
    warm = [row for row in rows if row["epoch"] > 1]
    ratio = ratios(pick(warm, method="neighbor"), pick(warm, method="fresh"), "seconds")
    lost = points_beside(*(pick(rows, method=name, epoch=1) for name in ("fresh", "neighbor")))
    saved = share_saved(pick(rows, method="fresh"))
    faster = graded(ratio.mean, PRINTED)
    return [
        Verdict(
            "V-rgcn-20.5x",
            f"on a CPU with features in memory, FreshGNN is {ratio.text('.2f')} times as fast as "
            f"this project's neighbour sampling; it does not load {saved:.1%} of the rows",
            faster,
            "" if faster == HOLDS else BOUND,
        ),
        Verdict(
            "V-rgcn-accuracy",
            f"the difference from neighbour sampling is {lost.text('+.2f')} points",
            ranked(lost.mean > -ALMOST, lost.mean > -2 * ALMOST),
        ),
    ]


def plot(_lab, rows):
    """Return seconds an epoch, a mark where the paper's speed-up would be, and scores."""
    times = {name: middle(seconds_of(rows, method)) for method, name in NAMES.items()}
    room = {"ylim": (0, 1.4 * max(one.high for one in times.values()))}
    title = f"Seconds of an epoch (mark: {PRINTED} times as fast)"
    marks = [None, times[NAMES["neighbor"]].mean / PRINTED]
    found = {name: scores(rows, method) for method, name in NAMES.items()}
    return [
        bars_of(title, "seconds", times, printed=marks, axes=room),
        bars_of("Test accuracy", "F1-micro", found, axes={"ylim": (0, 1)}),
    ]
