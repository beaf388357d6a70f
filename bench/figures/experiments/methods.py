"""V Table 2 and Fig 2: test accuracy of ways to train on parts of a graph, of three models."""

from bench.figures.experiment import ABOUT, UNTESTED, ranked, verdict
from bench.figures.plotting import bars_of
from bench.figures.result_rows import pick, points_beside, spread_of, values_of
from bench.figures.training import trained

PAPER = ABOUT["V-tab2"]
MODELS, NAMES = PAPER["models"], PAPER["names"]
# V Table 2: arxiv, products, papers100M
PRINTED, NOT_RUN = PAPER["printed"], PAPER["not_run"]
CUT = -20  # points: what is drawn of a bar that goes below
PRODUCTS = 1  # its place in these


def measure(lab, cell):
    """Return a row: the scores of the best epoch by validation."""
    result = lab.gnn.train(*trained(lab, cell["method"], cell["seed"], model=cell["model"]))
    kept = "test_f1", "val_f1", "best_epoch", "iterations"
    return [{key: getattr(result, key) for key in kept}]


def losses(rows, model, method):
    """Return the points of each seed beside neighbour sampling with the same seed."""
    return points_beside(*(pick(rows, model=model, method=name) for name in (method, "neighbor")))


def compared(rows, model):
    """Return the methods that a model was trained with, but for neighbour sampling."""
    return [name for name in values_of(pick(rows, model=model), "method") if name != "neighbor"]


def table(_lab, rows):
    """Return a line for each model and method, the paper's numbers beside."""
    lines = []
    for model in values_of(rows, "model"):
        target = spread_of(rows, "test_f1", model=model, method="neighbor")
        lines.append([model, NAMES["neighbor"], target.text(".2f", scale=100), "", "", ""])
        for method in compared(rows, model):
            points = losses(rows, model, method).text("+.2f")
            lines.append([model, NAMES[method], points, *printed_words(PRINTED[model].get(method))])
        for name, printed in NOT_RUN[model].items():
            lines.append([model, name, "not run", *printed_words(printed)])
    return ["model", "method", "points", "paper: arxiv", "products", "papers100M"], lines


def printed_words(printed):
    """Return the paper's numbers as words; OOM is what it says where memory did not do."""
    return [x if isinstance(x, str) else f"{x:+.2f}" for x in printed or "---"]


def verdicts(_lab, rows):
    """Judge FreshGNN by the mean of its worst model; say what the others lose."""
    models, others = values_of(rows, "model"), ("gas", "cluster", "graphfm")
    fresh = {model: losses(rows, model, "fresh") for model in models}
    worst = min(found.mean for found in fresh.values())
    each = ", ".join(f"{model} {found:+.2f}" for model, found in fresh.items())
    largest = ", ".join(
        f"{max(0.0, *(-losses(rows, model, method).mean for model in models)):.1f} "
        f"with {NAMES[method]}"
        for method in others
    )
    return [
        verdict("V-accuracy-1pt", ranked(worst > -1, worst > -2), each=each),
        verdict("V-baselines-drop", UNTESTED, largest=largest),
    ]


def plot(_lab, rows):
    """Return bars of points for each model, the paper's for ogbn-products as marks."""
    shown = []
    for model in values_of(rows, "model"):
        methods = compared(rows, model)
        found = {NAMES[method]: losses(rows, model, method) for method in methods}
        printed = [PRINTED[model].get(method, (None,) * 3)[PRODUCTS] for method in methods]
        lows = [one.low for one in found.values()]
        lowest = min(0, *lows, *(x for x in printed if x is not None))
        cut = f", cut at {CUT}" if lowest < CUT else ""
        title = f"{MODELS[model]} (marks: ogbn-products{cut})"
        room = {"ylim": (max(lowest * 1.05, CUT), None)}
        label = "points beside neighbour sampling"
        shown.append(bars_of(title, label, found, printed=printed, axes=room))
    return shown
