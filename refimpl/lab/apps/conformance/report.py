"""What the runner found, as a table and as JSON."""

import json
import re
from importlib import metadata
from itertools import groupby
from typing import Any, NamedTuple

from refimpl._support.untrusted_files import reading
from refimpl._support.whole_files import replacing
from refimpl.hints import FilePath
from refimpl.lab.apps.conformance import requirements, vectors
from refimpl.lab.apps.conformance.compare import short
from refimpl.lab.apps.conformance.levels import Standing, standings, summary
from refimpl.lab.apps.conformance.runner import (
    DIFFERS,
    LOST,
    NOT_RUN,
    PASS,
    SKIP,
    XFAIL,
    Report,
    Verdict,
)
from refimpl.lab.apps.conformance.showing import flag_lines, in_common, requirement_lines
from refimpl.lab.apps.conformance.version import VERSION
from refimpl.lab.apps.errors import user_errors
from refimpl.lab.apps.papers import TITLES

FORMAT = "minibatch-gnn-conformance-report/3"
CONFORMS, MISSING, EXPECTED = "conforms", "missing", "fails as expected"
VERDICTS = {PASS, DIFFERS, SKIP, LOST, NOT_RUN, XFAIL}
FEW = 3  # missing kernels of a paper that are named
SHOWN, MANY = 2, 8  # requirements of a case in words, and those missed by their names
NAMES = {"common": "shared by the papers", **TITLES}


def kit_version() -> str:
    """Return the version of this distribution."""
    try:
        return metadata.version("minibatch-gnn")
    except metadata.PackageNotFoundError:
        return "not installed"


class Row(NamedTuple):
    """A kernel in the table: `passed` of `cases`, and the first difference or what to add.

    `states` says in how many cases states were compared.
    """

    paper: str
    place: str
    kernel: str
    verdict: str
    passed: int
    cases: int
    said: str
    states: int = 0


def rows(report: Report) -> list[Row]:
    """Return the Rows of all kernels, by paper and place."""
    found = []
    for _, group in groupby(report.verdicts, key=lambda v: (v.paper, v.kernel)):
        verdicts = list(group)
        about = verdicts[0].paper, verdicts[0].place, verdicts[0].kernel
        verdict, said = _verdict(verdicts)
        passed = sum(v.verdict == PASS for v in verdicts)
        states = sum(v.states for v in verdicts)
        found.append(Row(*about, verdict, passed, len(verdicts), said, states))
    return sorted(found, key=_position)


def _verdict(verdicts: list[Verdict]) -> tuple[str, str]:
    """Return the verdict on a kernel, and what to say of it."""
    kinds = [v.verdict for v in verdicts]
    for v in verdicts:
        if v.verdict in (DIFFERS, LOST):
            lost, after = kinds.count(LOST), kinds.count(NOT_RUN)
            rest = [f"{lost} cases lost it"] * (lost > 1) + [f"{after} not run"] * (after > 0)
            said = f" ({', '.join(rest)})" if rest else ""
            return v.verdict, f"{v.case}: {v.difference}{said}"
    if NOT_RUN in kinds:
        why = next((v.difference for v in verdicts if v.difference), "")
        return NOT_RUN, f", {why}" if why else ""
    if XFAIL in kinds:
        return EXPECTED, f", {kinds.count(XFAIL)} cases"
    skipped = kinds.count(SKIP)
    if skipped == len(kinds):
        return MISSING, ""
    return CONFORMS, f", {skipped} skipped" if skipped else ""


def _position(row: Row) -> tuple[str, str, int, str]:
    """Return where a row stands: algorithms before equations and so on, by number."""
    kind = row.place.split()[0].rstrip("s")
    number = re.search(r"[0-9]+", row.place)
    return row.paper, kind, int(number[0]) if number else 0, row.kernel


def table(report: Report, files: list[dict[str, Any]], *, missing: bool = False) -> list[str]:
    """Return the lines of the table: a part a paper, in it a line a kernel.

    What is missing is one line a paper, unless `missing`. Where a kernel differs, its first case
    that does so is explained by the case's flags, and by what all such cases of the kernel share.

    Parameters
    ----------
    report : Report
    files : list of dict
        From `vectors.load`: those that were asked.
    missing : bool
    """
    found = rows(report)
    shown = [row for row in found if missing or row.verdict != MISSING]
    places = max((len(row.place) for row in shown), default=0)
    names = max((len(row.kernel) for row in shown), default=0)
    told = {file["function"]: _told(report, file) for file in files}
    lines = []
    for paper, group in groupby(found, key=lambda row: row.paper):
        lines += ["", NAMES[paper]]
        left_out = []
        for row in group:
            if row not in shown:
                left_out.append(row.kernel)
                continue
            passed = f"{row.passed}/{row.cases}"
            line = f"  {row.place:<{places}}  {row.kernel:<{names}}  {passed:>5}  {row.verdict}"
            states = f", states of {row.states} compared" if row.states else ""
            if row.verdict in (DIFFERS, LOST):
                lines += [line + states, f"      {row.said}", *told[row.kernel]]
            else:
                lines.append(line + row.said + states)
        if left_out:
            some = f"{len(left_out)} kernels (--missing lists them)"
            lines.append(f"  missing: {', '.join(left_out) if len(left_out) <= FEW else some}")
    for row in found:
        if row.verdict in (DIFFERS, LOST):
            case = f"{row.paper}/{row.kernel}/{row.said.partition(':')[0]}"
            lines += ["", f"--show {case} shows the case, and the answer beside the right one"]
            break
    verdicts = [row.verdict for row in found]
    order = CONFORMS, DIFFERS, LOST, EXPECTED, MISSING, NOT_RUN
    kinds = [kind for kind in order if kind in verdicts]
    lines += ["", ", ".join(f"{verdicts.count(kind)} {kind}" for kind in kinds)]
    lines += [f"expected to fail, but passes: {entry}" for entry in report.unexpected]
    lines += missed(report)
    return [*lines, summary(report.levels)] if report.levels else lines


def missed(report: Report) -> list[str]:
    """Return the names of the requirements that a report misses as one line, or none."""
    names = requirements.standing(report.verdicts)["missed"]
    more = f" and {len(names) - MANY} more (--report lists them)" if len(names) > MANY else ""
    return [f"requirements missed: {', '.join(names[:MANY])}{more}"] if names else []


def _told(report: Report, file: dict[str, Any]) -> list[str]:
    """Return what the first case of a kernel that differs is about, and what all such share.

    First come the requirements of this case, those with few cases before the others.
    """
    about = file["source"]["paper"], file["function"]
    kinds = {v.case: v.verdict for v in report.verdicts if (v.paper, v.kernel) == about}
    failing = [case for case in file["cases"] if kinds.get(case["id"]) in (DIFFERS, LOST)]
    passing = [case for case in file["cases"] if kinds.get(case["id"]) == PASS]
    if not failing:
        return []
    lines = [f"        {line}" for line in requirement_lines(file, failing[0], SHOWN)]
    if all("error" in case for case in passing):  # then a flag explains nothing
        refused = f": the {len(passing)} that pass are refused" if passing else ""
        return [*lines, f"      no answer is right{refused}"]
    lines += [f"        {line}" for line in flag_lines(file, failing[0].get("flags", ()))]
    shared = in_common(failing, passing)
    if shared:
        said = ", ".join(f"{mark} ({_of(count, len(passing))})" for mark, count in shared)
        lines.append(f"      all {len(failing)} cases that differ share: {said}")
    return lines


def _of(count: int, passing: int) -> str:
    return f"{count or 'none'} of the {passing} that pass"


def _level(standing: Standing) -> dict[str, Any]:
    return {**standing._asdict(), "reached": standing.reached}


def write(report: Report, path: FilePath) -> None:
    """Write the verdict on every case to `path` as JSON."""
    content = {
        "format": FORMAT,
        "kit": {"name": "minibatch-gnn", "version": kit_version()},
        "vectors": {"format": vectors.FORMAT, "version": VERSION},
        "program": {"name": report.name, "version": report.version},
        "lost": report.lost,
        "status": report.status,
        "states_compared": sum(verdict.states for verdict in report.verdicts),
        "levels": {name: _level(standing) for name, standing in report.levels.items()},
        "unexpected_passes": list(report.unexpected),
        "requirements": requirements.standing(report.verdicts),
        "cases": [verdict._asdict() for verdict in report.verdicts],
    }
    with replacing(path) as file:
        file.write((json.dumps(content, indent=1) + "\n").encode())


def read(path: FilePath) -> Report:
    """Return the Report in a file that `write` wrote.

    Raises
    ------
    UserError
        If the file is none, or is about another version of the vectors; it is named.
    """
    with user_errors(), reading(path, "a report of conformance") as file:
        content = json.load(file)
        form = content["format"] if isinstance(content, dict) and "format" in content else None
        if form != FORMAT:
            raise ValueError(f"its format must be {FORMAT}, got {short(form)}")
        version = content["vectors"]["version"]
        if version != VERSION:
            raise ValueError(f"its vectors are {short(version)}, and this package has {VERSION}")
        verdicts = [Verdict(**case) for case in content["cases"]]
        program, unexpected = content["program"], tuple(content["unexpected_passes"])
        files = vectors.load()
        asked = [(v.paper, v.kernel, v.case) for v in verdicts]
        known = [(f["source"]["paper"], f["function"], c["id"]) for f in files for c in f["cases"]]
        if asked != [case for case in known if case in {*asked}]:
            raise ValueError("its cases must be cases of the vectors, once each and in their order")
        if not {v.verdict for v in verdicts} <= VERDICTS:
            raise ValueError(f"a verdict must be one of {', '.join(sorted(VERDICTS))}")
        places = {file["function"]: file["source"]["place"] for file in files}
        verdicts = [v._replace(place=places[v.kernel], states=bool(v.states)) for v in verdicts]
        about = program["name"], program["version"], verdicts, content["lost"]
    return Report(*about, standings(verdicts, files), unexpected=unexpected)
