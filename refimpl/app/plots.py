"""The picture of a run."""

from refimpl.app.files import replacing


def draw_curves(path, history, title):
    """Draw loss and validation F1 against epochs and against seconds of training.

    Returns False, and draws nothing, where matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # without pyplot: no display, no global state
    except ImportError:
        return False
    epochs = [record.epoch for record in history]
    seconds = [r.sampling + r.aggregation + r.weights + r.other for r in history]
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
