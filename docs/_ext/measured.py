"""Times of kernels and of training, from what was stored in docs/results: none is typed.

measured GROUP / NAME       (a role) milliseconds of an implementation on an input, by the group's
                            name in `pytest bench`: "spmm medium-128_float32 / fastimpl"
measured GROUP / speed-up   (a role) of fastimpl over refimpl
kernel-report SIZE ..       (a directive) a table of the inputs of these sizes
kernel-losses               (a directive) a table of the kernels in which another is faster
report-machine              (a directive) what the kernels were measured on
time-to-score SCORE         (a directive) seconds of training until the validation F1, by seed

The build warns where there is no such number. docs/results/reports/kernels.json is the run of
`python -m bench report --json`; I-fig2.csv is that of `python -m bench figure I-fig2`.
"""

from statistics import median

from docutils import nodes
from gallery import RESULTS, result_of
from measured_numbers import PACKAGES, REPORT, TRAINING, number, run, seconds_to
from settings_table import table_of
from sphinx.util.docutils import SphinxDirective, SphinxRole

from bench.markdown import ratio, significant
from bench.report import facts_of, is_noisy, losses, names_of, rows_of, title_of


def cells_of(row, peers):
    """Return the cells of a kernel: the two packages, and the peers in one cell."""
    times = [row.times.get(name) for name in PACKAGES]
    speed_up, share = row.speed_up(*reversed(PACKAGES)), row.share()
    others = [
        f"{title_of(name)} {significant(1e3 * row.times[name].median)}"
        for name in peers
        if name in row.times
    ]
    return [
        f"{row.kernel}, {row.input}",
        *(significant(1e3 * time.median) if time else "-" for time in times),
        ratio(speed_up) if speed_up else "-",
        ", ".join(others) or "-",
        "-" if share is None else f"{share:.0%}",
    ]


class Measured(SphinxRole):
    """See the module."""

    def run(self):
        self.env.note_dependency(str(REPORT))
        try:
            text = number(self.text)
        except ValueError as error:
            return [], [self.inliner.reporter.error(f"measured: {error}", line=self.lineno)]
        return [nodes.inline("", text, classes=["measured"])], []


def text_table(titles, widths, rows):
    """Return a table of texts."""
    return table_of(titles, widths, [[nodes.Text(cell) for cell in row] for row in rows])


class KernelReport(SphinxDirective):
    """See the module."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        self.env.note_dependency(str(REPORT))
        rows = [row for row in rows_of(run()) if row.size in self.arguments[0].split()]
        peers = [name for name in names_of(rows) if name not in PACKAGES]
        titles = ("kernel", "refimpl ms", "fastimpl ms", "speed-up", "peers, ms", "limit")
        return [text_table(titles, (9, 3, 3, 3, 5, 2), [cells_of(row, peers) for row in rows])]


class KernelLosses(SphinxDirective):
    """See the module."""

    def run(self):
        self.env.note_dependency(str(REPORT))
        rows = [
            (f"{row.kernel}, {row.input}", title_of(other), f"{slower:.2f}")
            for row, other, slower in losses(rows_of(run()))
        ]
        return [text_table(("kernel", "is faster", "times as fast"), (5, 2, 2), rows)]


class ReportMachine(SphinxDirective):
    """See the module."""

    def run(self):
        self.env.note_dependency(str(REPORT))
        table = text_table(("", "of this run"), (1, 4), facts_of(run()))
        if not is_noisy(run()):
            return [table]
        warning = "Other programs were running: do not quote these times."
        return [table, nodes.paragraph("", "", nodes.strong(text=warning))]


class TimeToScore(SphinxDirective):
    """See the module."""

    required_arguments = 1

    def run(self):
        self.env.note_dependency(str(RESULTS / f"{TRAINING}.csv"))
        rows = []
        for name, seeds in seconds_to(float(self.arguments[0])).items():
            reached = [seconds for seconds in seeds if seconds is not None]
            numbers = (median(reached), min(reached), max(reached)) if reached else ()
            cells = [f"{x:.2f}" for x in numbers] or ["-"] * 3
            rows.append([name, *cells, f"{len(reached)} of {len(seeds)}"])
        titles = ("method", "median, s", "best seed, s", "worst seed, s", "seeds that reach it")
        machine = result_of(TRAINING)["machine"]
        where = (
            f"{machine['processor']}, {machine['threads']} threads, {', '.join(machine['blas'])}"
        )
        table = text_table(titles, (3, 2, 2, 2, 2), rows)
        return [table, nodes.paragraph(text=f"Measured on {where}, {result_of(TRAINING)['date']}.")]


def setup(app):
    app.add_role("measured", Measured())
    app.add_directive("kernel-report", KernelReport)
    app.add_directive("kernel-losses", KernelLosses)
    app.add_directive("report-machine", ReportMachine)
    app.add_directive("time-to-score", TimeToScore)
    return {"parallel_read_safe": True, "version": "1"}
