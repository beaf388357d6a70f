"""What a figure draws, as data: curves and bars, drawn in one style by `draw`.

The style is that of ``figures.mplstyle``; bars have hatches beside their colours. Ranges over seeds
or rounds are drawn as bands and error bars, what a paper prints as hollow marks.
"""

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.figures.result_rows import curve_of, groups_of, values_of
from refimpl._support.whole_files import replacing

FORMATS = "svg", "png"
STYLE = Path(__file__).with_name("figures.mplstyle")
COLUMNS = 2
SIZE = 4.8, 3.4  # inches, of a panel
HATCHES = "", "///", "...", "\\\\\\", "xxx", "---", "ooo", "+++"
PRINTED: Any = {"color": "#3d3d3d", "marker": "o", "markerfacecolor": "white"}
PRINTED_MARK: Any = {**PRINTED, "linestyle": "", "markersize": 5}
MANY = 2e3  # times: over a wider logarithmic axis there are powers of ten alone
SCALES = "xscale", "yscale"


class Curve(NamedTuple):
    """A line through points, with a band from `low` to `high` where these are given."""

    x: list
    y: list
    low: list | None = None
    high: list | None = None
    printed: bool = False  # whether it is the paper's own
    marked: bool = True  # whether its points have marks: not where there are very many


class Lines(NamedTuple):
    """Curves in one pair of axes."""

    title: str
    x_label: str
    y_label: str
    curves: dict[str, Curve]
    axes: dict[str, Any] = {}  # what `matplotlib.axes.Axes.set` takes
    ticks: Any = None  # the only ticks of x


class Bars(NamedTuple):
    """Groups of bars, a bar for each series in each group; a series has a value for each group."""

    title: str
    y_label: str
    names: list[str]  # of the groups
    series: dict[str, list]  # numbers, or None
    ranges: dict[str, list] = {}  # (low, high), of series that have them
    printed: dict[str, list] = {}  # the paper's numbers, drawn as marks on the bars
    stacked: bool = False
    axes: dict[str, Any] = {}


def curves_of(rows, x, y, *by, name=None, scale=1.0, marked=True):
    """Return {name: Curve} of y against x, a curve for the rows that agree in the columns `by`.

    `name` is a form of a row's columns, such as "{nodes:,} nodes"; without it, the first of `by`.
    """
    form = name or f"{{{by[0]}}}"
    return {
        form.format(**some[0]): Curve(*curve_of(some, x, y, scale=scale))._replace(marked=marked)
        for some in groups_of(rows, *by)
    }


def level(x, y):
    """Return a line without marks at one height, or through x at these heights."""
    return Curve(list(x), list(y) if isinstance(y, list) else [y] * len(x), marked=False)


def lines_of(rows, labels, *columns, axes=None, ticks=True, **form):
    """Return the `Lines` of `curves_of`; `labels` are the title and those of the axes.

    With `ticks`, every x has one, and nothing else.
    """
    marks = sorted(values_of(rows, columns[0])) if ticks else None
    title, x, y = labels
    return Lines(title, x, y, curves_of(rows, *columns, **form), axes or {}, marks)


def bars_of(title, y_label, spreads, *, name="here", scale=1.0, printed=None, axes=None):
    """Return a bar with its range for each `Spread` of a dict, and what a paper prints beside."""
    values = list(spreads.values())
    series = {name: [scale * one.mean for one in values]}
    ranges = {name: [(scale * one.low, scale * one.high) for one in values]}
    marks = {} if printed is None else {name: list(printed)}
    return Bars(title, y_label, list(spreads), series, ranges, marks, axes=axes or {})


def draw(path, panels, note=""):
    """Draw panels into a file whose name ends in one of `FORMATS`; same bytes for same panels."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure  # without pyplot: no display, no global state

    with rc_context(fname=STYLE):
        columns = min(COLUMNS, len(panels))
        lines = math.ceil(len(panels) / columns)
        figure = Figure(figsize=(SIZE[0] * columns, SIZE[1] * lines + 0.3), layout="constrained")
        grid = figure.subplots(lines, columns, squeeze=False).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            # scales first: they make ticks of their own; limits last: what is drawn moves them
            axes.set(**{name: panel.axes[name] for name in SCALES if name in panel.axes})
            (_draw_bars if isinstance(panel, Bars) else _draw_lines)(axes, panel)
            _plain_numbers(axes)
            rest = {name: value for name, value in panel.axes.items() if name not in SCALES}
            axes.set(title=panel.title, ylabel=panel.y_label, **rest)
            axes.grid(alpha=0.25, axis="y" if isinstance(panel, Bars) else "both")
            axes.set_axisbelow(True)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        _add_legends(figure, grid[: len(panels)])
        if note:
            figure.supxlabel(note, fontsize=7, color="#3d3d3d")
        kind = path.suffix[1:]
        with replacing(path) as file:
            date = {"Date": None} if kind == "svg" else None
            figure.savefig(file, format=kind, dpi=120, metadata=date)


def _draw_lines(axes, panel):
    for name, curve in panel.curves.items():
        form = {**PRINTED, "linestyle": ":"} if curve.printed else {}
        form |= {} if curve.marked else {"marker": ""}
        (line,) = axes.plot(curve.x, curve.y, label=name, markersize=4, linewidth=1.4, **form)
        if curve.low is not None:
            band = {"color": line.get_color(), "alpha": 0.15, "linewidth": 0}
            axes.fill_between(curve.x, curve.low, curve.high, **band)
    axes.set_xlabel(panel.x_label)
    if panel.ticks is not None:
        axes.set_xticks(panel.ticks, labels=list(map(_plain, panel.ticks)))
        axes.set_xticks([], minor=True)


def _draw_bars(axes, panel):
    count = 1 if panel.stacked else len(panel.series)
    width, base = 0.8 / count, np.zeros(len(panel.names))
    for at, (name, values) in enumerate(panel.series.items()):
        shift = 0 if panel.stacked else (at - (count - 1) / 2) * width
        places, heights = np.arange(len(values)) + shift, np.array(values, float)  # NaN for None
        errors = None
        if name in panel.ranges:
            spans = [span or (np.nan, np.nan) for span in panel.ranges[name]]
            errors = np.abs(np.array(spans, float).T - heights)
        axes.bar(
            places,
            heights,
            width,
            bottom=base.copy(),
            yerr=errors,
            error_kw={"elinewidth": 0.8, "capsize": 2},
            hatch=HATCHES[at % len(HATCHES)],
            label=name,
            facecolor=f"C{at}",
            edgecolor="white",
            linewidth=0.5,
        )
        if panel.stacked:
            base += np.nan_to_num(heights)
        if name in panel.printed:
            axes.plot(places, np.array(panel.printed[name], float), **PRINTED_MARK)
    long = max(map(len, panel.names)) * len(panel.names) > 45
    form = {"rotation": 30, "ha": "right"} if long else {}
    axes.set_xticks(range(len(panel.names)), labels=panel.names, **form)
    if panel.printed:
        axes.plot([], [], label="as the paper prints", **PRINTED_MARK)


def _plain_numbers(axes):
    """Label logarithmic axes with numbers such as 20, not powers of ten."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    for axis in (axes.xaxis, axes.yaxis):
        fixed = isinstance(axis.get_major_locator(), FixedLocator)
        if axis.get_scale() == "log" and not fixed:
            low, high = axis.get_view_interval()
            wide = high > MANY * low
            axis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5), numticks=12))
            axis.set_major_formatter(FuncFormatter(lambda x, _: _plain(x)))
            axis.set_minor_locator(NullLocator())


def _plain(x):
    """Return a number in words: 0.5, 20,000, 3M for millions, 2B for billions."""
    for size, letter in ((1e9, "B"), (1e6, "M")):
        if x >= size:
            return f"{x / size:,g}{letter}"
    return f"{x:,.0f}" if x == round(x) else f"{x:g}"


def _add_legends(figure, grid):
    """Give panels that show the same series one legend together, others each their own."""
    shown = [axes.get_legend_handles_labels() for axes in grid]
    if len(shown) > 1 and len({tuple(names) for _, names in shown}) == 1 and shown[0][1]:
        if len(shown[0][1]) > 1:
            figure.legend(*shown[0], loc="outside upper center", ncols=3, fontsize="small")
        return
    for axes, (_, names) in zip(grid, shown, strict=True):
        if len(names) > 1:
            axes.legend(fontsize="small")
