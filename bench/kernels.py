"""Every kernel in both packages, or in others, next to the machine's measured limits.

The same as ``minibatch-gnn bench``, by the same code. Each answer is compared with another method.
"""

from bench.command import Common, UsageError
from bench.machine import commit
from refimpl.lab.apps.bench import command as app
from refimpl.lab.apps.bench import report as tables
from refimpl.lab.apps.errors import UserError

COMMON = Common(threads=True)
QUICK: dict = {}


def add_options(parser):
    """Add what only this benchmark has."""
    app.add_measuring_options(parser)


def report(options):
    """Yield the table of kernels and that of limits; with --quick, how many answers are right."""
    try:
        app.check_files(options)
        made = app.measured(options, revision=f"commit {commit()}")
    except UserError as error:
        raise UsageError(str(error)) from error
    yield from tables.lines(made)
    app.write_files(options, [made], ["run"])
    if app.status_of(made):
        raise UsageError("an answer differs")
