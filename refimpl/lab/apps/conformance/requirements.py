"""The numbered requirements of each kernel, such as spmm-2, and the cases that check them.

The files ``cases/*.toml`` have the words (`worked`); the file requirements.json beside the vectors
is made from these, with the cases of each requirement by name.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from refimpl._support.untrusted_files import reading
from refimpl._support.whole_files import replacing
from refimpl.lab.apps.conformance import vectors, worked
from refimpl.lab.apps.conformance.runner import DIFFERS, LOST, PASS, SKIP, XFAIL, Verdict

if TYPE_CHECKING:
    from refimpl.lab.apps.conformance.encode import JsonObject

FILE = "requirements.json"
FORMAT = "minibatch-gnn-requirements/1"
WITHDRAWN = "withdrawn"
REFUSED = {
    "type": "An argument of the wrong type is refused with the error `type`.",
    "value": "A value out of range, or one that does not fit the others, is refused with the "
    "error `value`.",
}


class Requirement(NamedTuple):
    """A requirement of a kernel, and the ids of the cases that check it.

    `name` is the kernel and the number. A withdrawn one says "withdrawn" and has no cases.
    """

    name: str
    says: str
    cases: tuple[str, ...]


class Refusal(NamedTuple):
    """A row of a kernel's table of refusals: the first that applies gives the error."""

    error: str
    when: str
    cases: tuple[str, ...]


Row = TypeVar("Row", Requirement, Refusal)


def made(files: list[JsonObject]) -> str:
    """Return the content of requirements.json for files of `vectors.load`, as text."""
    tables, refusals = worked.words("requirements"), worked.words("refusals")
    lines = []
    for file in sorted(files, key=lambda file: file["function"]):
        kernel = file["function"]
        words = sorted(tables.get(kernel, {}).items(), key=lambda one: int(one[0]))
        found = [_requirement(file, f"{kernel}-{number}", said)._asdict() for number, said in words]
        rows = [Refusal(*row)._asdict() for row in refusals.get(kernel, [])]
        parts = [_listed("requirements", found), _listed("refusals", rows)]
        lines.append(f'"{kernel}": {{\n' + ",\n".join(parts) + "}")
    head = f'{{\n"format": "{FORMAT}",\n"kernels": {{\n'
    return head + ",\n".join(lines) + "\n}}\n"


def _listed(name: str, rows: list[JsonObject]) -> str:
    return f'"{name}": [\n' + ",\n".join(map(json.dumps, rows)) + "]"


def _requirement(file: JsonObject, name: str, words: str | list[str]) -> Requirement:
    """Return a Requirement: its words are a name in `REFUSED`, "withdrawn", or a list."""
    if isinstance(words, str):
        if words not in (*REFUSED, WITHDRAWN):
            known = ", ".join((*REFUSED, WITHDRAWN))
            raise ValueError(f"{name} must be a list or one of {known}, got {words!r}")
        cases = [case["id"] for case in file["cases"] if case.get("error") == words]
        return Requirement(name, REFUSED.get(words, WITHDRAWN), tuple(cases))
    says, *marks = words
    answered = [case for case in file["cases"] if "error" not in case]
    cases = [case["id"] for case in answered if any(fits(case, mark) for mark in marks)]
    return Requirement(name, says, tuple(cases))


def fits(case: JsonObject, mark: str) -> bool:
    """Say whether a case has a flag, or an id that fits a pattern."""
    return mark in case["flags"] or fnmatch.fnmatchcase(case["id"], mark)


def write(folder: Path) -> None:
    """Make requirements.json for the vectors in a folder.

    Raises
    ------
    ValueError
        If a number of a kernel that stays would be gone, or a withdrawn one would be used.
    """
    text, path = made(vectors.load(folder)), folder / FILE
    if path.exists():
        now, new = _read(path)[0], json.loads(text)["kernels"]
        for kernel in now.keys() & new.keys():
            says = {x["name"]: x["says"] for x in new[kernel]["requirements"]}
            for name, before, _ in now[kernel]:
                if says.get(name, "") == "" or WITHDRAWN == before != says[name]:
                    raise ValueError(f"{name} must be {WITHDRAWN!r}: numbers are not used again")
    with replacing(path) as file:
        file.write(text.encode())


def complaint(folder: Path) -> str | None:
    """Return what is wrong with requirements.json in a folder, or None."""
    path = folder / FILE
    if not path.exists():
        return f"{FILE}: missing"
    alike = path.read_bytes() == made(vectors.load(folder)).encode()
    return None if alike else f"{FILE}: is not made from the words and the vectors as they are"


def versioned(folder: Path = vectors.FOLDER) -> set[str]:
    """Return the names of the files in a folder that the version of the vectors covers."""
    return vectors.stored(folder) | ({FILE} if (folder / FILE).is_file() else set())


def _read(path: Path) -> tuple[dict[str, list[Requirement]], dict[str, list[Refusal]]]:
    """Return the requirements and the refusals of each kernel in a file: two dicts."""
    with reading(path, "requirements of kernels") as file:
        content = json.load(file)
        if content["format"] != FORMAT:
            raise ValueError(f"its format must be {FORMAT}")
        kernels = content["kernels"].items()
        found = {k: [_row(Requirement, x) for x in v["requirements"]] for k, v in kernels}
        return found, {k: [_row(Refusal, x) for x in v["refusals"]] for k, v in kernels}


def _row(kind: Callable[..., Row], row: JsonObject) -> Row:
    return kind(**{**row, "cases": tuple(row["cases"])})


@cache
def _stored() -> tuple[dict[str, list[Requirement]], dict[str, list[Refusal]]]:
    return _read(vectors.FOLDER / FILE)


def of_kernel(kernel: str) -> list[Requirement]:
    """Return the Requirements of a kernel in force, by number; of an unknown kernel none."""
    return [x for x in _stored()[0].get(kernel, []) if x.says != WITHDRAWN]


def refusals(kernel: str) -> list[Refusal]:
    """Return the Refusals of a kernel, in their order."""
    return _stored()[1].get(kernel, [])


def of_case(kernel: str, case: str) -> list[tuple[str, str]]:
    """Return pairs (name, words) of what a case checks, the most specific requirement first.

    Where the case must be refused, the words end with the reason.
    """
    found = sorted((x for x in of_kernel(kernel) if case in x.cases), key=lambda x: len(x.cases))
    why = "".join(f" Here {row.when}." for row in refusals(kernel) if case in row.cases)
    return [(x.name, x.says + why) for x in found]


def standing(verdicts: list[Verdict]) -> dict[str, list[str]]:
    """Return {"met", "missed", "open": names of requirements} by Verdicts.

    A requirement of which no case was asked is in none of the lists. It is missed if one of its
    cases fails, and met if each passes; of those that must be refused, some may be skipped.
    """
    given = {(v.kernel, v.case): v.verdict for v in verdicts}
    found: dict[str, list[str]] = {"met": [], "missed": [], "open": []}
    for kernel in dict.fromkeys(v.kernel for v in verdicts):
        for requirement in of_kernel(kernel):
            kinds = [given.get((kernel, case)) for case in requirement.cases]
            if any(kind is not None for kind in kinds):
                found[_kind(requirement, kinds)].append(requirement.name)
    return found


def _kind(requirement: Requirement, kinds: Sequence[str | None]) -> str:
    if {DIFFERS, LOST, XFAIL} & {*kinds}:
        return "missed"
    may_skip = {SKIP} if requirement.says in REFUSED.values() else set()
    return "met" if PASS in kinds and {*kinds} <= {PASS} | may_skip else "open"
