"""V Figs 10 and 12: seconds of an epoch, and accuracy against time, of ways to train GraphSAGE.

All methods train in turns, epoch by epoch; evaluation takes its turn but is not in the times. The
first epoch, in which FreshGNN's cache is empty, is left out of the seconds of an epoch, but not of
the time to an accuracy. Features lie in memory: ``python -m bench storage`` has them in a file that
does not fit there. FreshGNN caches embeddings alone here.

The paper compares whole systems on a GPU whose bottleneck is loading features; here all run on the
same CPU kernels, and nothing but the rows that are computed and copied differs. The accuracy is
that of the validation nodes, which the paper's Fig 12 shows of test nodes.
"""

from contextlib import ExitStack

from bench.figures.comparing import epochs_in_turns, few_labels, method_options, sized
from bench.figures.experiment import FAILS, HOLDS, UNTESTED, WEAKER, Verdict, graded
from bench.figures.panels import Bars, Curve, Lines
from bench.figures.rows import (
    Spread,
    bands,
    middle,
    pick,
    share_saved,
    spread,
    spread_of,
    values_of,
)
from bench.figures.training import settings
from bench.figures.turns import ratio_in_turns

NAMES = {"neighbor": "neighbour sampling", "fresh": "FreshGNN"}
NAMES |= {"gas": "GAS", "cluster": "ClusterGCN"}
OVER_BEST, OVER_DGL = 3.4, 5.3  # V section 7.2: times as fast as MariusGNN, and as DGL
POINTS = 0.02  # so close to neighbour sampling's best score counts as the same accuracy


def cells(lab):
    """Return a run for each seed."""
    return [{"seed": seed} for seed in range(lab.seeds)]


def measure(lab, cell):
    """Return a row for each method and epoch."""
    sizes, dataset, rows = lab.sizes, few_labels(lab), []
    common = sized(sizes, "hidden", "lr", "epochs")
    with ExitStack() as stack:
        trainers = {}
        for method in NAMES:
            options = method_options(method, dataset, sizes)
            if method == "fresh":
                options |= {"hotness": "none", "buffer": 2**30, "p_grad": sizes["p_grad"]}
            config = settings(method, rng=cell["seed"], **options, **common)
            trainers[method] = stack.enter_context(lab.gnn.make_trainer(dataset, config))
        found = epochs_in_turns(trainers, sizes["epochs"])
        for method, trainer in trainers.items():
            for record, seconds in zip(trainer.state.history, found[method], strict=True):
                row = {"method": method, "epoch": record.epoch, "seconds": seconds}
                if method in ("neighbor", "fresh"):  # others load no sampled neighbours
                    load = trainer.state.loads[record.epoch - 1]
                    row |= {"loaded": load["loaded"], "inputs": load["inputs"]}
                rows.append(row | {"val_f1": record.val_f1})
    return rows


def seconds_of(rows):
    """Return the seconds of each method's epochs but the first, by name; of the first seed."""
    chosen = [row for row in pick(rows, seed=0) if row["epoch"] > 1]
    return {name: [row["seconds"] for row in pick(chosen, method=name)] for name in NAMES}


def speed_up(rows, method):
    """Return how many times as fast as a method FreshGNN is: median and range over rounds."""
    return Spread(*ratio_in_turns(seconds_of(rows), method, "fresh"))


def time_to(rows, method, seed, target):
    """Return the seconds after which a method first reaches a score, or None."""
    spent = 0.0
    for row in pick(rows, method=method, seed=seed):
        spent += row["seconds"]
        if row["val_f1"] >= target:
            return spent
    return None


def times(rows, method):
    """Return the seconds to neighbour sampling's accuracy for each seed, None where not reached."""
    found = []
    for seed in values_of(rows, "seed"):
        own = pick(rows, method="neighbor", seed=seed)
        found.append(time_to(rows, method, seed, max(row["val_f1"] for row in own) - POINTS))
    return found


def mean_time(rows, method):
    """Return the `Spread` of these seconds, or None if a seed did not reach it."""
    found = times(rows, method)
    return None if None in found else spread(found)


def table(_lab, rows):
    """Return a line for each method: medians and ranges."""
    lines = []
    for method, name in NAMES.items():
        line = [name, middle(seconds_of(rows)[method]).text(".3f")]
        line += ["" if method == "fresh" else speed_up(rows, method).text(".2f")]
        reached = mean_time(rows, method)
        best = [
            max(row["val_f1"] for row in pick(rows, method=method, seed=seed))
            for seed in values_of(rows, "seed")
        ]
        lines.append([*line, spread(best).text(), reached.text(".1f") if reached else "not by all"])
    titles = ["method", "seconds an epoch, in memory", "FreshGNN's speed-up"]
    return [*titles, "best validation F1", "seconds to accuracy"], lines


def verdicts(_lab, rows):
    """Judge speed by the medians of rounds in memory, and who is first by means over seeds.

    FreshGNN must be first, and need half of neighbour sampling's time, which always gets there.
    """
    ratio = speed_up(rows, "neighbor")
    gains = {
        name: speed_up(rows, method).mean for method, name in NAMES.items() if method != "fresh"
    }
    others = ", ".join(f"{name} {gain:.2f}" for name, gain in gains.items())
    saved = share_saved(pick(rows, method="fresh"))
    reached = {name: mean_time(rows, name) for name in NAMES}
    fresh, neighbor = reached["fresh"], reached["neighbor"]
    rest = [found.mean for name, found in reached.items() if found and name != "fresh"]
    words = ", ".join(
        f"{NAMES[name]} {found.text('.1f') if found else 'not with every seed'}"
        for name, found in reached.items()
    )
    sooner = neighbor.mean / fresh.mean if fresh else 0
    first = fresh is not None and fresh.mean <= min(rest)
    return [
        Verdict(
            "V-faster-3.4x",
            f"over the fastest other way here, on a CPU: {min(gains.values()):.2f} times "
            f"({others}, with features in memory)",
            graded(min(gains.values()), OVER_BEST),
        ),
        Verdict(
            "V-faster-5.3x",
            f"over this project's neighbour sampling: {ratio.text('.2f')} times with features in "
            f"memory; {saved:.1%} of the rows are not loaded",
            graded(ratio.mean, OVER_DGL),
        ),
        Verdict(
            "V-faster-than-systems",
            f"the nearest: {ratio.mean:.2f} times this project's own neighbour sampling; "
            "`python -m bench iteration` compares that with PyG",
            UNTESTED,
            "these systems train on a GPU, on graphs that do not fit here",
        ),
        Verdict(
            "V-time-to-accuracy",
            f"seconds to within {100 * POINTS:.0f} points of neighbour sampling's best: {words}",
            HOLDS if first and sooner >= 2 else WEAKER if sooner > 1 else FAILS,
        ),
    ]


def plot(_lab, rows):
    """Return seconds an epoch, FreshGNN's speed-up, and validation scores against time."""
    found = {name: middle(seconds_of(rows)[method]) for method, name in NAMES.items()}
    faster = {NAMES[name]: speed_up(rows, name) for name in NAMES if name != "fresh"}
    curves = {}
    for method, name in NAMES.items():
        chosen = pick(rows, method=method)
        x, y, spent = [], [], 0.0
        for epoch in values_of(chosen, "epoch"):
            spent += spread_of(chosen, "seconds", epoch=epoch).mean
            x.append(spent)
            y.append(spread_of(chosen, "val_f1", epoch=epoch))
        curves[name] = Curve(x, *bands(y))
    return [
        _bars("Seconds of an epoch, features in memory", "seconds", found),
        _bars("FreshGNN's speed-up (mark: over DGL)", "times as fast", faster)._replace(
            printed={"here": [OVER_DGL, None, None]}
        ),
        Lines("Accuracy against training time", "seconds", "validation F1-micro", curves),
    ]


def _bars(title, label, spreads):
    """Return a bar for each name of a dict of `Spread`."""
    ends = [(one.low, one.high) for one in spreads.values()]
    heights = [one.mean for one in spreads.values()]
    return Bars(title, label, list(spreads), {"here": heights}, {"here": ends})
