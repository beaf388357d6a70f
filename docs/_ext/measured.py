"""Times of kernels and of training, from what was stored in docs/results: none is typed.

measured GROUP / NAME       (a role) milliseconds of an implementation on an input, by the group's
                            name in `pytest bench`: "spmm medium-128_float32 / fastimpl"
measured GROUP / speed-up   (a role) of fastimpl over refimpl
kernel-report SIZE ..       a table of the inputs of these sizes
kernel-losses               a table of the kernels in which another is faster
report-machine              what the kernels were measured on
time-to-score SCORE         seconds of training until the validation F1, by seed

The build warns where there is no such number. docs/results/reports/kernels.json is the run of
`python -m bench report --json`; I-fig2.csv is that of `python -m bench figure I-fig2`.
"""

from statistics import median

from gallery import result_of
from generated import directive, plain, role, table
from measured_numbers import PACKAGES, TRAINING, number, run, seconds_to

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


def words_table(titles, widths, rows):
    """Return a table of words."""
    return table(titles, [map(plain, row) for row in rows], widths)


def kernel_report(sizes):
    """Return a table of the inputs of some sizes."""
    rows = [row for row in rows_of(run()) if row.size in sizes.split()]
    peers = [name for name in names_of(rows) if name not in PACKAGES]
    titles = ("kernel", "refimpl ms", "fastimpl ms", "speed-up", "peers, ms", "limit")
    return words_table(titles, (9, 3, 3, 3, 5, 2), [cells_of(row, peers) for row in rows])


def kernel_losses():
    """Return a table of the kernels in which another is faster."""
    rows = [
        (f"{row.kernel}, {row.input}", title_of(other), f"{slower:.2f}")
        for row, other, slower in losses(rows_of(run()))
    ]
    return words_table(("kernel", "is faster", "times as fast"), (5, 2, 2), rows)


def report_machine():
    """Return a table of what the kernels were measured on."""
    warning = "**Other programs were running: do not quote these times.**"
    made = words_table(("", "of this run"), (1, 4), facts_of(run()))
    return f"{made}\n{warning if is_noisy(run()) else ''}\n"


def time_to_score(score):
    """Return a table of the seconds of training until a validation F1."""
    rows = []
    for name, seeds in seconds_to(float(score)).items():
        reached = [seconds for seconds in seeds if seconds is not None]
        numbers = (median(reached), min(reached), max(reached)) if reached else ()
        cells = [f"{x:.2f}" for x in numbers] or ["-"] * 3
        rows.append([name, *cells, f"{len(reached)} of {len(seeds)}"])
    titles = ("method", "median, s", "best seed, s", "worst seed, s", "seeds that reach it")
    result = result_of(TRAINING)
    machine = result["machine"]
    where = f"{machine['processor']}, {machine['threads']} threads, {', '.join(machine['blas'])}"
    below = plain(f"Measured on {where}, {result['date']}.")
    return f"{words_table(titles, (3, 2, 2, 2, 2), rows)}\n{below}\n"


def setup(app):
    app.add_role("measured", role(number, "measured"))
    for made in (kernel_report, kernel_losses, report_machine, time_to_score):
        app.add_directive(made.__name__.replace("_", "-"), directive(made))
    return {"parallel_read_safe": True, "version": "1"}
