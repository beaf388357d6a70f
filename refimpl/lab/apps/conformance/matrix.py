"""Reports of several implementations in one table, for a terminal or in Markdown; badges."""

import argparse
import json
import re
from pathlib import Path
from typing import Any, TypeAlias

from refimpl._support.reprs import one_line
from refimpl._support.whole_files import replacing
from refimpl.hints import FilePath
from refimpl.lab.apps.conformance import vectors
from refimpl.lab.apps.conformance.levels import LEVELS, is_complete
from refimpl.lab.apps.conformance.report import CONFORMS, MISSING, Row, missed, read, rows
from refimpl.lab.apps.conformance.runner import DIFFERS, LOST, Report
from refimpl.lab.apps.conformance.version import VERSION
from refimpl.lab.apps.results import output_name

Commands: TypeAlias = "argparse._SubParsersAction[Any]"

SPECIAL = re.compile(r"([\\`*_\[\]<>|~{}#!&@])")  # of Markdown
SUMMARY = "append the results as Markdown to this file, for example $GITHUB_STEP_SUMMARY"


def add_parser(parts: Commands) -> None:
    """Add the command `matrix` to the subparsers of `conformance`."""
    parser = parts.add_parser(
        "matrix",
        help="show reports of --report as one table",
        description="Show reports that `conformance --report` wrote as one table: the levels and "
        "the kernels of each implementation.",
        allow_abbrev=False,
    )
    parser.add_argument("reports", nargs="+", metavar="REPORT.json", help="a file of --report")
    add_summary(parser, default=argparse.SUPPRESS)  # as it is without it: that before `matrix`


def add_summary(parser: argparse.ArgumentParser, **more: Any) -> None:
    """Add the option ``--summary``."""
    said = f"{SUMMARY} (default: no file)"
    parser.add_argument("--summary", type=output_name, metavar="FILE", help=said, **more)


def run(arguments: dict[str, Any]) -> int:
    """Show the table of the files of reports; return the exit status."""
    reports = [read(name) for name in arguments["reports"]]
    for line in lines(reports):
        print(one_line(line))
    if arguments["summary"] is not None:
        append(reports, arguments["summary"])
    return 0


def heads(reports: list[Report]) -> list[str]:
    """Return the names of the implementations."""
    return [f"{r.name} {r.version}" if r.lost is None else "no answer" for r in reports]


def standings(reports: list[Report]) -> list[list[str]]:
    """Return a list for each level: its name, and the standing in each report."""
    return [[level, *(str(r.levels.get(level, "")) for r in reports)] for level in LEVELS]


def kernels(reports: list[Report]) -> dict[str, list[list[str]]]:
    """Return {level: a list for each kernel: its name, and the verdict in each report}."""
    files = {file["function"]: file for file in vectors.load()}
    found = [{row.kernel: row for row in rows(report)} for report in reports]
    given = [{(v.kernel, v.case): v.verdict for v in report.verdicts} for report in reports]

    def cell(kernel: str, rows: dict[str, Row], verdicts: dict[tuple[str, str], str]) -> str:
        row, file = rows.get(kernel), files[kernel]
        if row is None:
            return ""
        if row.verdict == MISSING:
            return "-"
        if row.verdict == CONFORMS and is_complete(file, verdicts):
            return CONFORMS
        passed = f"{row.passed}/{len(file['cases'])}"
        return passed if row.verdict == CONFORMS else f"{row.verdict} {passed}"

    return {
        level: [
            [name, *(cell(name, *pair) for pair in zip(found, given, strict=True))]
            for name in names
        ]
        for level, names in LEVELS.items()
    }


def lines(reports: list[Report]) -> list[str]:
    """Return the table for a terminal."""
    inside = kernels(reports)
    table = [["", *heads(reports)]]
    for level, *cells in standings(reports):
        table += [[level, *cells], *([f"  {name}", *rest] for name, *rest in inside[level])]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    padded = (map(str.ljust, row, widths) for row in table)
    return [f"vectors {VERSION}", *("  ".join(cells).rstrip() for cells in padded)]


def markdown(reports: list[Report]) -> str:
    """Return the table as Markdown: the levels, the kernels folded, the first differences."""
    names, inside = heads(reports), kernels(reports)
    every = [row for level in inside.values() for row in level]
    text = [f"### Conformance with the vectors {VERSION}", ""]
    text += [*_table("level", names, standings(reports)), ""]
    text += ["<details><summary>Kernels</summary>", "", *_table("kernel", names, every), ""]
    text += ["</details>", ""]
    for name, report in zip(names, reports, strict=True):
        for row in rows(report):
            if row.verdict in (DIFFERS, LOST):
                text.append(f"- {_plain(name)}, {_plain(row.kernel)}: {_plain(row.said)}")
        text += [f"- {_plain(name)}, {_plain(line)}" for line in missed(report)]
        said = "expected to fail, but passes"
        text += [f"- {_plain(name)}, {_plain(entry)}: {said}" for entry in report.unexpected]
    return "\n".join([*text, ""])


def _table(title: str, names: list[str], body: list[list[str]]) -> list[str]:
    rows = [[title, *names], *body]
    made = [f"| {' | '.join(map(_plain, row))} |" for row in rows]
    return [made[0], "|" + " --- |" * len(rows[0]), *made[1:]]


def _plain(text: str) -> str:
    """Return text as Markdown in which no character has a meaning."""
    return SPECIAL.sub(r"\\\1", one_line(text))


def append(reports: list[Report], path: FilePath) -> None:
    """Add the Markdown of reports to the end of a file, which is made if there is none."""
    text = markdown(reports).encode()
    before = Path(path).read_bytes() + b"\n" if Path(path).exists() else b""
    with replacing(path) as file:
        file.write(before + text)


def badge(report: Report) -> dict[str, Any]:
    """Return the content of an endpoint badge of shields.io."""
    reached = [level for level, standing in report.levels.items() if standing.reached]
    found = [row.verdict for row in rows(report)]
    colors = ("yellow", "green", "brightgreen")
    best = bool(reached) + (len(reached) == len(LEVELS))
    return {
        "schemaVersion": 1,
        "label": f"minibatch-gnn vectors {VERSION}",
        "message": ", ".join(reached) or f"{found.count(CONFORMS)} kernels",
        "color": "red" if {DIFFERS, LOST} & {*found} or report.lost else colors[best],
    }


def write_badge(report: Report, path: FilePath) -> None:
    """Write the badge of a report as JSON."""
    with replacing(path) as file:
        file.write((json.dumps(badge(report), indent=1) + "\n").encode())
