"""The medians of a run, or of several, as bars: a panel a topic."""

from pathlib import Path

from refimpl.lab.apps.bench.cases import benches
from refimpl.lab.apps.bench.contestants import TIMED
from refimpl.lab.apps.bench.markdown import threads_title
from refimpl.lab.apps.bench.report import columns
from refimpl.lab.apps.figures import panels

DRAWN = "small", "tiny", "large"  # the first of these sizes that was timed


def draw(path, runs, names, note):
    """Draw the medians in milliseconds, with the width of the middle half of the rounds.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    panels.draw(Path(path), panels_of(runs, names), note)


def panels_of(runs, names):
    """Return a panel of Bars for each topic that has times; a series a contestant and run."""
    timed = {
        row.size for run in runs for row in run.rows for cell in row.cells if cell.verdict == TIMED
    }
    size = next((size for size in DRAWN if size in timed), None)
    topic_of = {one.kernel: topic for topic, of in benches().items() for one in of}
    series = series_of(runs, names)
    found: dict = {}
    for at, run in enumerate(runs):
        for row in run.rows:
            if row.size != size:
                continue
            bars = found.setdefault(topic_of.get(row.kernel, "other"), {})
            cells = bars.setdefault((row.kernel, row.input), {})
            for cell in row.cells:
                if cell.verdict == TIMED:
                    cells[at, cell.impl, cell.threads] = cell
    return [
        _panel(topic, {key: cells for key, cells in bars.items() if cells}, series)
        for topic, bars in found.items()
        if any(bars.values())
    ]


def series_of(runs, names):
    """Return {(run, contestant, threads): name} of all bars that there may be."""
    keys = columns(runs)
    several = {impl for impl, threads in keys if threads > 1}
    return {
        (at, impl, threads): (f"{names[at]}: " if len(runs) > 1 else "")
        + impl
        + (f", {threads_title(threads)}" if impl in several else "")
        for at, run in enumerate(runs)
        for impl, threads in columns([run])
    }


def _panel(topic, bars, series):
    values: dict = {name: [] for name in series.values()}
    ranges: dict = {name: [] for name in series.values()}
    for cells in bars.values():
        for key, name in series.items():
            cell = cells.get(key)
            values[name].append(cell and 1e3 * cell.median)
            half = 5e2 * cell.iqr if cell else 0.0
            middle = values[name][-1] or 0.0
            ranges[name].append((max(middle - half, middle / 10), middle + half))
    there = [name for name in values if any(value is not None for value in values[name])]
    return panels.Bars(
        topic.replace("_", " "),
        "milliseconds",
        labels(list(bars)),
        {name: values[name] for name in there},
        {name: ranges[name] for name in there},
        axes={"yscale": "log"},
    )


def labels(keys):
    """Return the name of each (kernel, input): with the words that only some of its inputs have."""
    made = []
    for kernel, text in keys:
        others = [other for name, other in keys if name == kernel and other != text]
        own = [word for word in text.split() if any(word not in other.split() for other in others)]
        made.append(" ".join([kernel, *own]))
    return made
