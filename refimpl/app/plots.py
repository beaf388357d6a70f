"""The pictures of a run and of a sample."""

import numpy as np

from refimpl.app.files import replacing
from refimpl.app.report import TRAINING


def draw_curves(path, history, title):
    """Draw loss and validation F1 against epochs and against seconds of training.

    Returns False, and draws nothing, where matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # without pyplot: no display, no global state
    except ImportError:
        return False
    epochs = [record.epoch for record in history]
    seconds = [sum(getattr(record, part) for part in TRAINING) for record in history]
    figure = Figure(figsize=(9, 6), layout="constrained")
    grid = figure.subplots(2, 2, sharex="col", sharey="row")
    for row, name, label in ((0, "loss", "training loss"), (1, "val_f1", "validation F1-micro")):
        values = [getattr(record, name) for record in history]
        for axes, x in zip(grid[row], (epochs, seconds), strict=True):
            axes.plot(x, values, marker=".")
            axes.grid(alpha=0.3)
        grid[row][0].set_ylabel(label)
    grid[1][0].set_xlabel("epochs")
    grid[1][1].set_xlabel("seconds of training, without evaluation")
    figure.suptitle(title)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
    return True


def draw_sample(path, degrees, counters, title):
    """Draw degree distributions, `degrees` by name, and the counters of a sampler as bars.

    Returns False, and draws nothing, where matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, values in degrees.items():
        counts = np.bincount(values, minlength=1)
        at_least = counts[::-1].cumsum()[::-1] / max(values.size, 1)
        present = np.flatnonzero(counts[1:]) + 1  # degree 0 has no place on this axis
        left.plot(present, at_least[present], marker=".", linestyle="", label=name)
    left.set(xscale="log", yscale="log", xlabel="degree", ylabel="share of nodes of this or more")
    left.legend()
    left.grid(alpha=0.3)
    shown = {name.replace("_", " "): value for name, value in counters.items() if value > 0}
    right.barh(list(shown), list(shown.values()))
    for name, value in shown.items():
        right.annotate(f" {value:.4g}", (value, name), va="center")
    right.set(xscale="log", xlabel="mean of a subgraph")
    right.invert_yaxis()
    right.margins(x=0.25)
    figure.suptitle(title)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
    return True
