"""V Figs 10 and 12: seconds of an epoch, and accuracy against time, of ways to train GraphSAGE."""

from itertools import accumulate

from bench.figures.experiment import ABOUT, UNTESTED, graded, ranked, verdict
from bench.figures.plotting import Curve, Lines, bars_of
from bench.figures.result_rows import bands, groups_of, pick, share_saved, spread, spread_of
from bench.figures.training import seconds_an_epoch, speed_up, trained_in_turns
from refimpl.lab.apps.option import listed

NAMES = ABOUT["V-fig10"]["names"]
OVER_BEST, OVER_DGL = 3.4, 5.3  # V section 7.2: times as fast as MariusGNN, and as DGL
POINTS = 0.02  # so close to neighbour sampling's best score counts as the same accuracy


def measure(lab, cell):
    """Return a row for each method and epoch."""
    return trained_in_turns(lab, NAMES, cell["seed"])


def times(rows, method):
    """Return the seconds to neighbour sampling's accuracy for each seed, None where not reached."""
    found = []
    for some in groups_of(rows, "seed"):
        target = max(row["val_f1"] for row in pick(some, method="neighbor")) - POINTS
        own = pick(some, method=method)
        spent = zip(accumulate(row["seconds"] for row in own), own, strict=True)
        found.append(next((time for time, row in spent if row["val_f1"] >= target), None))
    return found


def mean_time(rows, method):
    """Return the `Spread` of `times`, or None if a seed does not reach the accuracy."""
    found = times(rows, method)
    return None if None in found else spread(found)


def table(_lab, rows):
    """Return a line for each method: medians and ranges."""
    lines, first = [], pick(rows, seed=0)
    for method, name in NAMES.items():
        faster = "" if method == "fresh" else f"{speed_up(first, method):.2f}"
        seeds = groups_of(pick(rows, method=method), "seed")
        best = spread(max(row["val_f1"] for row in some) for some in seeds)
        reached = mean_time(rows, method)
        words = f"{reached:.1f}" if reached else "not by all"
        lines.append([name, f"{seconds_an_epoch(first, method):.3f}", faster, best.text(), words])
    return ABOUT["V-fig10"]["titles"], lines


def verdicts(_lab, rows):
    """Judge speed by the medians of rounds in memory, and who is first by means over seeds."""
    first = pick(rows, seed=0)
    ratio = speed_up(first, "neighbor")
    gains = {name: speed_up(first, name).mean for name in NAMES if name != "fresh"}
    others = listed(
        [f"{gain:.2f} times as fast as with {NAMES[name]}" for name, gain in gains.items()]
    )
    saved = share_saved(pick(rows, method="fresh"))
    reached = {name: mean_time(rows, name) for name in NAMES}
    fresh, neighbor = reached["fresh"], reached["neighbor"]
    rest = [found.mean for name, found in reached.items() if found and name != "fresh"]
    each = ", ".join(
        f"{found:.1f} s with {NAMES[name]}" for name, found in reached.items() if found
    )
    if late := [NAMES[name] for name, found in reached.items() if not found]:
        do = "does" if len(late) == 1 else "do"
        each += f". {listed(late)} {do} not come so close with every seed"
    sooner = neighbor.mean / fresh.mean if fresh else 0
    first = fresh is not None and fresh.mean <= min(rest)
    soonest = ranked(first and sooner >= 2, sooner > 1)
    return [
        verdict("V-faster-3.4x", graded(min(gains.values()), OVER_BEST), others=others),
        verdict("V-faster-5.3x", graded(ratio.mean, OVER_DGL), ratio=ratio, saved=saved),
        verdict("V-faster-than-systems", UNTESTED, ratio=ratio.mean),
        verdict("V-time-to-accuracy", soonest, points=100 * POINTS, each=each),
    ]


def plot(_lab, rows):
    """Return seconds an epoch, FreshGNN's speed-up, and validation scores against time."""
    first = pick(rows, seed=0)
    found = {name: seconds_an_epoch(first, method) for method, name in NAMES.items()}
    faster = {NAMES[name]: speed_up(first, name) for name in NAMES if name != "fresh"}
    curves = {}
    for method, name in NAMES.items():
        epochs = groups_of(pick(rows, method=method), "epoch")
        x = list(accumulate(spread_of(some, "seconds").mean for some in epochs))
        curves[name] = Curve(x, *bands(spread_of(some, "val_f1") for some in epochs))
    title = "FreshGNN's speed-up (mark: over DGL)"
    return [
        bars_of("Seconds of an epoch, features in memory", "seconds", found),
        bars_of(title, "times as fast", faster, printed=[OVER_DGL, None, None]),
        Lines("Accuracy against training time", "seconds", "validation F1-micro", curves),
    ]
