"""Failures that an implementer expects: a list of cases, kept beside the implementation."""

from refimpl._support.untrusted_files import reading
from refimpl.hints import FilePath
from refimpl.lab.apps.conformance import vectors
from refimpl.lab.apps.conformance.runner import DIFFERS, LOST, NOT_RUN, PASS, SKIP, XFAIL, Report
from refimpl.lab.apps.errors import UserError, user_errors


def read(path: FilePath) -> tuple[str, ...]:
    """Return the entries of a file, a tuple: patterns as `vectors.load` takes them.

    A line has one entry; a line may end with ``#`` and a comment.

    Raises
    ------
    UserError
        If the file cannot be read, or an entry fits no case of the vectors.
    """
    with user_errors("--xfails"), reading(path, "a list of expected failures") as file:
        lines = [line.partition("#")[0].strip() for line in file.read().decode().splitlines()]
    cases = [
        (f"{file['source']['paper']}/{file['function']}", case["id"])
        for file in vectors.load()
        for case in file["cases"]
    ]
    for number, entry in enumerate(lines, start=1):
        if entry and not any(vectors.fits(entry, *case) for case in cases):
            raise UserError(f"--xfails {path}, line {number}: {entry!r} fits no kernel and no case")
    return tuple(dict.fromkeys(filter(None, lines)))


def applied(report: Report, entries: tuple[str, ...]) -> Report:
    """Return a Report in which failures of these entries are "xfail", and `unexpected` is filled.

    An entry is unexpected if none of its cases fails and one passes.
    """
    found: dict[str, set[str]] = {entry: set() for entry in entries}
    verdicts = []
    for verdict in report.verdicts:
        kernel = f"{verdict.paper}/{verdict.kernel}"
        fitting = [entry for entry in entries if vectors.fits(entry, kernel, verdict.case)]
        for entry in fitting:
            found[entry].add(verdict.verdict)
        failed = verdict.verdict in (DIFFERS, LOST, NOT_RUN)
        verdicts.append(verdict._replace(verdict=XFAIL) if fitting and failed else verdict)
    passing = tuple(entry for entry, kinds in found.items() if PASS in kinds <= {PASS, SKIP})
    return report._replace(verdicts=verdicts, unexpected=passing)
