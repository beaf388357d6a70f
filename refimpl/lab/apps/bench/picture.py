"""The medians of a run, or of several, as dots on a logarithmic axis: a row a kernel."""

from pathlib import Path
from typing import NamedTuple

from refimpl._files import replacing
from refimpl.lab.apps.bench.cases import benches
from refimpl.lab.apps.bench.contestants import TIMED
from refimpl.lab.apps.bench.markdown import threads_title
from refimpl.lab.apps.bench.measuring import Cell
from refimpl.lab.apps.bench.report import columns
from refimpl.lab.apps.plots import COLORS, MARKERS, STYLE

DRAWN = "small", "tiny", "large"  # the first of these sizes that was timed
WIDTH, ROW, REST = 8.0, 0.2, 1.6  # inches: of the picture, of a row, of what is around the rows
GREY = "#a7a7a7"


class Line(NamedTuple):
    """A row of the picture: a kernel and its input, or a topic, which has no times.

    ``cells`` is {series: Cell}.
    """

    name: str
    cells: dict[str, Cell] = {}


def draw(path, runs, names, note):
    """Draw medians, with the width of the middle half of the rounds; same bytes for same runs.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure  # without pyplot: no display, no global state
    from matplotlib.ticker import FuncFormatter

    rows = lines_of(runs, names)
    with rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, REST + ROW * len(rows)), layout="constrained")
        axes = figure.subplots()
        _draw_rows(axes, rows, series_of(runs, names))
        xlabel = f"milliseconds, {drawn_size(runs)} inputs"
        axes.set(xscale="log", xlabel=xlabel, ylim=(len(rows) - 0.4, -0.6))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))
        axes.set_yticks(range(len(rows)), labels=[row.name for row in rows])
        axes.tick_params(axis="y", length=0)
        for label, row in zip(axes.get_yticklabels(), rows, strict=True):
            label.set(fontweight="normal" if row.cells else "bold")
        axes.grid(axis="x", alpha=0.25)
        axes.spines["left"].set_visible(False)
        figure.legend(loc="outside upper center", ncols=4, fontsize="small")
        figure.supxlabel(note, fontsize=7, color="#3d3d3d")
        kind = Path(path).suffix[1:]
        with replacing(path) as file:
            date = {"Date": None} if kind == "svg" else None
            figure.savefig(file, format=kind, dpi=120, metadata=date)


def _draw_rows(axes, rows, series):
    for at, row in enumerate(rows):
        medians = [1e3 * cell.median for cell in row.cells.values()]
        if medians:
            axes.plot([min(medians), max(medians)], [at, at], color=GREY, linewidth=1, zorder=1)
    for number, name in enumerate(series.values()):
        there = [(at, row.cells[name]) for at, row in enumerate(rows) if name in row.cells]
        middle = [1e3 * cell.median for _, cell in there]
        low = [min(5e2 * cell.iqr, 9e2 * cell.median) for _, cell in there]
        axes.errorbar(
            middle,
            [at for at, _ in there],
            xerr=[low, [5e2 * cell.iqr for _, cell in there]],
            linestyle="",
            marker=MARKERS[number % len(MARKERS)],
            markersize=5,
            color=COLORS[number % len(COLORS)],
            elinewidth=1.2,
            label=name,
        )


def drawn_size(runs):
    """Return the first of the sizes in `DRAWN` of which anything was timed, or "no"."""
    timed = {
        row.size for run in runs for row in run.rows if any(c.verdict == TIMED for c in row.cells)
    }
    return next((size for size in DRAWN if size in timed), "no")


def lines_of(runs, names):
    """Return the Lines of the picture: a topic, below it its kernels, at one size of input."""
    size, series = drawn_size(runs), series_of(runs, names)
    found: dict = {}
    for at, run in enumerate(runs):
        for row in run.rows:
            for cell in row.cells:
                if row.size == size and cell.verdict == TIMED:
                    key = row.kernel, row.input
                    found.setdefault(key, {})[series[at, cell.impl, cell.threads]] = cell
    labelled, lines = labels(list(found)), []
    for topic, of in benches().items():
        mine = [key for one in of for key in found if key[0] == one.kernel]
        if mine:
            lines += [Line(topic.replace("_", " ")), *(Line(labelled[k], found[k]) for k in mine)]
    return lines


def series_of(runs, names):
    """Return {(run, contestant, threads): name} of all that is drawn."""
    several = {impl for impl, threads in columns(runs) if threads > 1}
    return {
        (at, impl, threads): (f"{names[at]}: " if len(runs) > 1 else "")
        + impl
        + (f", {threads_title(threads)}" if impl in several else "")
        for at, run in enumerate(runs)
        for impl, threads in columns([run])
    }


def labels(keys):
    """Return a name of each (kernel, input): with the words that only some of its inputs have."""
    made = {}
    for kernel, text in keys:
        others = [other.split() for name, other in keys if name == kernel and other != text]
        own = [word for word in text.split() if any(word not in other for other in others)]
        made[kernel, text] = " ".join([kernel, *own])
    return made
