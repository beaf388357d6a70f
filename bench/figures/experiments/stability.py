"""V Fig 3: how much embeddings change in some iterations, and whether gradients tell which do."""

from itertools import product
from typing import Any

import numpy as np

from bench.figures.experiment import FAILS, HOLDS, WEAKER, ranked, verdict
from bench.figures.instrumented_steps import ExactRows, distances, fresh_step
from bench.figures.plotting import Bars, Lines, curves_of
from bench.figures.result_rows import groups_of, spread, spread_of, spreads, tabled, values_of
from bench.figures.training import settings
from refimpl.streams import CONTROL, key

QUANTILES = 5, 25, 50, 75, 95
FROM = 100  # iterations, from which on the paper calls embeddings stable
MEASURED = "error", "drift", "harm"
CONTROLS = "gradient", "random", "anti"
STRONG, SLIGHT = 0.5, 0.2  # rank correlations


def measure(lab, cell):
    """Return a row for each layer and each `lag` iterations."""
    sizes, dataset = lab.sizes, lab.dataset(setting="transductive")
    common = {name: sizes[name] for name in ("model", "layers", "hidden", "lr")}
    own = {"fanouts": tuple(sizes["fanouts"]), "p_grad": 0.0, "hotness": "none"}
    own["batch_size"] = -(-len(dataset.roots) // sizes["steps"])
    config = settings("fresh", rng=cell["seed"], **own, **common)  # p_grad 0: nothing is cached
    rows: list[dict] = []
    before: Any = []  # of `lag` iterations ago: all embeddings, and what the step had
    step: Any = None
    with lab.gnn.make_trainer(dataset, config) as trainer:
        exact = ExactRows(trainer)
        for i in range(sizes["iterations"] + 1):
            if i % sizes["lag"] == 0:
                there = exact.now()
                for layer, (new, old) in enumerate(zip(there, before, strict=False), start=1):
                    row = {"iteration": i, "layer": layer} | similarity(new, old)
                    if layer < sizes["layers"]:  # the last is never cached
                        nodes, *found = stale(lab.gnn, step, layer, before, there)
                        row |= compared(lab.gnn, nodes, found, sizes["shares"], i)
                    rows.append(row)
                before, step = there, fresh_step(trainer)
            else:
                fresh_step(trainer)
    return rows


def similarity(now, before):
    """Return quantiles of the rows' cosine similarities, and shares above 0.8 and 0.95."""
    now, before = now.astype(np.float64), before.astype(np.float64)
    lengths = np.linalg.norm(now, axis=1) * np.linalg.norm(before, axis=1)
    same = (now == before).all(axis=1)  # two rows of zeros as well
    cosine = np.where(same, 1, (now * before).sum(axis=1) / np.where(lengths, lengths, 1))
    values = np.percentile(cosine, QUANTILES)
    found = {f"q{q}": float(x) for q, x in zip(QUANTILES, values, strict=True)}
    return found | {f"above_{limit}": float((cosine > limit).mean()) for limit in (0.8, 0.95)}


def stale(gnn, step, layer, before, now):
    """Return nodes of a step, their gradients' norms, and errors, drifts and harm steps later."""
    nodes, rows = step.nodes[layer], step.H[layer]
    error, _ = distances([(layer, nodes, rows)], now)
    drift, _ = distances([(layer, nodes, before[layer - 1][nodes])], now)
    G, moved = step.G[layer], now[layer - 1][nodes].astype(np.float64) - before[layer - 1][nodes]
    harm = np.abs((G * moved).sum(axis=1))
    return nodes, gnn.history.gradient_norms(G), error, drift, harm


def compared(gnn, nodes, found, shares, number):
    """Return correlations of norms with errors, drifts and harm, and errors of what would be kept.

    These are the mean errors of the share of the rows with the smallest gradients, of a random
    share, and of that with the largest gradients, over the mean error of all rows.
    """
    from scipy import stats  # slow to import

    (norms, error, drift, harm), result = found, {}
    for name, values in zip(MEASURED, (error, drift, harm), strict=True):
        constant = np.ptp(norms) == 0 or np.ptp(values) == 0
        for measure, function in (("rank", stats.spearmanr), ("linear", stats.pearsonr)):
            result[f"{measure}_{name}"] = 0.0 if constant else float(function(norms, values)[0])
    draws = gnn.streams.uniform(key(0, CONTROL, number, 0), nodes.astype(np.uint64))
    scores = dict(zip(CONTROLS, (norms, draws, -norms), strict=True))
    for share in shares:
        for control, score in scores.items():
            kept = gnn.history.select_stable(score, nodes, share)
            whole = error.mean()
            result[f"kept_{share}_{control}"] = float(error[kept].mean() / whole) if whole else 1.0
    return result


def settled(rows):
    """Return the rows from iteration `FROM` on; all where there are none."""
    return [row for row in rows if row["iteration"] >= FROM] or rows


def table(lab, rows):
    """Return a line for each layer: means, least and largest over seeds and iterations."""
    columns: dict = {"layer": "layer"}
    columns |= {f"above {x}": spreads(f"above_{x}") for x in (0.8, 0.95)}
    for what in MEASURED:
        columns[f"Spearman, {what}"] = spreads(f"rank_{what}", "+.2f")
        columns[f"Pearson, {what}"] = spreads(f"linear_{what}", "+.2f")
    for p, c in product(lab.sizes["shares"], CONTROLS):
        columns[f"error, {p:.0%} by {c}"] = spreads(f"kept_{p}_{c}", ranged=False)
    return tabled(groups_of(settled(rows), "layer"), columns)


def verdicts(lab, rows):
    """Judge by the iterations from `FROM` on, of all layers; correlations of cached layers."""
    late = settled(rows)
    cached = [row for row in late if "rank_error" in row]
    shares = spread(
        spread_of(late, "above_0.8", iteration=t, layer=layer).mean
        for t in values_of(late, "iteration")
        for layer in values_of(late, "layer")
    )
    rank, drift, harm = (spread(row[f"rank_{what}"] for row in cached) for what in MEASURED)
    linear, p = spread(row["linear_error"] for row in cached), lab.sizes["shares"][0]
    kept = {c: spread(row[f"kept_{p}_{c}"] for row in cached).mean for c in CONTROLS}
    tells, costs = (ranked(x.mean >= STRONG, x.mean >= SLIGHT) for x in (rank, harm))
    answer = {HOLDS: "tell", WEAKER: "tell a little", FAILS: "do not tell"}[tells]
    lag, stable = lab.sizes["lag"], ranked(shares.low > 0.5, shares.mean > 0.5)
    found = {"answer": answer, "lag": lag, "rank": rank, "drift": drift, "linear": linear, "p": p}
    return [
        verdict("V-stable-0.8", stable, shares=shares, begin=FROM, lag=lag),
        verdict("V-gradients-tell-stability", tells, **found, **kept),
        verdict("V-gradients-tell-harm", costs, harm=harm, lag=lag),
    ]


def plot(lab, rows):
    """Return similarities, shares of stable rows, correlations, and errors of what is kept."""
    late, by_layer = settled(rows), {"name": "layer {layer}", "marked": False}
    cached = [row for row in rows if "rank_error" in row]
    groups = [(layer, p) for layer in values_of(cached, "layer") for p in lab.sizes["shares"]]
    middle, low, high = (
        curves_of(rows, "iteration", q, "layer", **by_layer) for q in ("q50", "q5", "q95")
    )
    similar = {
        name: curve._replace(low=low[name].y, high=high[name].y) for name, curve in middle.items()
    }
    shares = curves_of(rows, "iteration", "above_0.8", "layer", scale=100, **by_layer)
    ranks: dict = {}
    for some in groups_of(cached, "layer"):
        for what in MEASURED:
            about = {"name": f"layer {{layer}}, {what}", "marked": False}
            ranks |= curves_of(some, "iteration", f"rank_{what}", "layer", **about)
    kept = {
        control: [spread_of(late, f"kept_{p}_{control}", layer=n).mean for n, p in groups]
        for control in CONTROLS
    }
    names = [f"layer {layer}\n{p:.0%}" for layer, p in groups]
    label = f"iteration (lag {lab.sizes['lag']})"
    title = "Cosine similarity: median, 5% to 95%"
    error = "Error of the share that is kept", "over that of all"
    return [
        Lines(title, label, "cosine similarity", similar),
        Lines("Embeddings above 0.8", label, "share, %", shares, {"ylim": (0, 103)}),
        Lines("Gradient against error later", label, "rank correlation", ranks, {"ylim": (-1, 1)}),
        Bars(*error, names, kept, axes={"ylim": (0, 1.6)}),
    ]
