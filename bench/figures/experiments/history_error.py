"""V Fig 1: how far embeddings of earlier iterations are from exact ones, through an epoch."""

import numpy as np

from bench.figures.experiment import ABOUT, ranked, verdict
from bench.figures.instrumented_steps import ExactRows, WatchedRun, distances
from bench.figures.plotting import Lines, curves_of
from bench.figures.result_rows import pick, spread, values_of
from bench.figures.training import settings

NAMES = {"gas": "GAS", "fresh": "FreshGNN", "vrgcn": "VR-GCN"}
GROWS = 1.5  # times, "considerably"


def measure(lab, cell):
    """Return a row for each iteration."""
    sizes, dataset = lab.sizes, lab.dataset()
    nodes = dataset.train_graph.n if cell["method"] == "gas" else len(dataset.roots)
    own: dict = {"batch_size": -(-nodes // max(sizes["steps"], 2))}
    per_epoch = -(-nodes // own["batch_size"])
    if cell["method"] == "fresh":
        age = max(per_epoch // 6, 1)
        own |= {"fanouts": (-1,) * sizes["layers"], "hotness": "none", "buffer": 2**30}
        own |= {"t_stale": age, "p_grad": sizes["p_grad"]}
    common = {name: sizes[name] for name in ("model", "layers", "hidden", "lr")}
    config = settings(cell["method"], rng=cell["seed"], **own, **common)
    with lab.gnn.make_trainer(dataset, config) as trainer:
        exact = ExactRows(trainer)
        run = WatchedRun(trainer, exact)
        rows = []
        for i in range(sizes["epochs"] * per_epoch):
            there = exact.now()
            read, made = run.step()
            place = {"epoch": i // per_epoch + 1, "iteration": i % per_epoch}
            rows.append(place | errors("read", read, there) | errors("made", made, there))
    return rows


def errors(what, found, exact):
    """Return the mean error of some rows, and its share of their length; None without rows."""
    (far, long), error, share = distances(found, exact), None, None
    if far.size:
        error, share = float(np.mean(far)), float(far.sum() / max(long.sum(), 1e-30))
    return {f"{what}_error": error, f"{what}_share": share, f"{what}_rows": len(far)}


def quarters(rows, method, epoch, what="read_error"):
    """Return the mean error of the first and of the last quarter of an epoch, over all seeds."""
    found = [row for row in pick(rows, method=method, epoch=epoch) if row.get(what) is not None]
    count = max(row["iteration"] for row in found) + 1
    first = [row[what] for row in found if row["iteration"] < count / 4]
    last = [row[what] for row in found if row["iteration"] >= count * 3 / 4]
    return spread(first or last).mean, spread(last).mean


def table(_lab, rows):
    """Return a line for each method and epoch."""
    lines, columns = [], ("read_error", "read_share", "made_error")
    for method, epoch in values_of(rows, "method", "epoch"):
        read, (_, share), made = (quarters(rows, method, epoch, column) for column in columns)
        lines.append([NAMES[method], epoch, *(f"{x:.3f}" for x in (*read, share, *made))])
    return ABOUT["V-fig1"]["titles"], lines


def verdicts(_lab, rows):
    """Judge growth by the quarters of the first and the last epoch, the level by the last's end."""
    last = max(values_of(rows, "epoch"))
    made = quarters(rows, "gas", 1, "made_error")
    read, later = quarters(rows, "gas", 1), quarters(rows, "gas", last)
    fresh = quarters(rows, "fresh", last)[1]
    grows = made[1] > GROWS * made[0] and read[1] > GROWS * read[0]
    outcome = ranked(grows and later[1] > later[0], made[1] > made[0])
    share = fresh / later[1] if later[1] else 1.0
    found = {"last": last, "made": made, "read": read, "later": later}
    beside = {"last": last, "fresh": fresh, "share": share, "gas": later[1]}
    return [
        verdict("V-gas-error-grows", outcome, **found),
        verdict("V-error-controlled", ranked(share <= 0.5, share < 1), **beside),
    ]


def plot(_lab, rows):
    """Return the errors of what is read, and of what is computed with it."""
    count = max(values_of(rows, "iteration")) + 1
    placed = [
        row | {"x": (row["epoch"] - 1) * count + row["iteration"], "name": NAMES[row["method"]]}
        for row in rows
    ]
    titles = {"read": "Rows read of earlier iterations", "made": "Rows computed with them"}
    ticks = [count * number for number in range(max(values_of(rows, "epoch")) + 1)]
    labels, shown = (f"iteration ({count} an epoch)", "mean error, Euclidean"), []
    for what, title in titles.items():
        there = [row for row in placed if row.get(f"{what}_error") is not None]
        curves = curves_of(there, "x", f"{what}_error", "name", marked=False)
        shown.append(Lines(title, *labels, curves, ticks=ticks))
    return shown
