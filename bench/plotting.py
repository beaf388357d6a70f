"""Plots of reports: curves side by side, as PNG or SVG. Without matplotlib there are none."""

import importlib.util
import math
from typing import Any, NamedTuple

from refimpl._files import replacing

FORMATS = (".png", ".svg")
COLUMNS = 2
SIZE = 4.6, 3.3  # inches, of a panel
MARKERS = "os^Dvx"


class Panel(NamedTuple):
    """Curves in one pair of axes.

    title, x_label, y_label : str
    x : sequence of numbers
    curves : dict
        {name: as many numbers}
    axes : dict
        What `matplotlib.axes.Axes.set` takes.
    """

    title: str
    x_label: str
    y_label: str
    x: list
    curves: dict
    axes: dict[str, Any]


def drawable():
    """Say whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(path, panels):
    """Draw panels into a file of one of `FORMATS`; the same bytes for the same numbers."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure  # without pyplot: no display, no global state

    columns = min(COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure = Figure(figsize=(SIZE[0] * columns, SIZE[1] * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, panel in zip(grid, panels, strict=False):
        for (name, values), marker in zip(panel.curves.items(), MARKERS, strict=False):
            axes.plot(panel.x, values, marker=marker, markersize=4, label=name)
        axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label, **panel.axes)
        axes.set_xticks(panel.x, labels=[f"{x:,g}" for x in panel.x])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    if len({tuple(panel.curves) for panel in panels}) == 1:
        lines, names = grid[0].get_legend_handles_labels()
        figure.legend(lines, names, loc="outside lower center", ncols=3, fontsize="small")
    else:
        for axes in grid[: len(panels)]:
            axes.legend(fontsize="small")
    kind = path.suffix.lower()[1:]
    with replacing(path) as file, rc_context({"svg.hashsalt": "bench"}):
        date = {"Date": None} if kind == "svg" else None
        figure.savefig(file, format=kind, dpi=110, metadata=date)
