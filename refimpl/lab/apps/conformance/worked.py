"""Kernels and their cases, read from the TOML files in `cases`.

``[requirements.KERNEL]`` has the numbered requirements of a kernel::

    3 = ["A sentence.", "some_case", "case_*", "FLAG"]
    4 = "type"

The sentence is checked by the cases that follow: patterns of ids in small letters, and flags in
capitals. They choose among the cases with a right answer. "type" and "value" are the cases that
must be refused with this error. A number is never used again. A requirement that is withdrawn
becomes "withdrawn".

``[refusals]`` has a list for each kernel, which says when the kernel refuses arguments: [error,
when, cases]. The order is the order of checks in the reference.

``[kernels.KERNEL]`` has the fields of a `Kernel`, other than its cases and states: no module is
then needed. ``compare`` names a table such as ``[compare.LOSS]``, which has the fields of a
`Close`. ``flagged.FLAG`` lists cases that get a flag in this kernel alone. ``[flags]`` has the
flags that all kernels of the file share.

``[cases]`` has a list of cases for each kernel, in their order::

    mix = [
        "zero",
        ["largest", { x = "18446744073709551615" }, "LARGE_WORD WRAP"],
        ["negative", { like = "zero", x = -1 }, "value"],
    ]

A string is the id of a case that has a table of its own; such cases come first if the list does not
name them. A list has an id, the arguments, and perhaps words: flags in capitals, and the error
"value" or "type" that the call must raise. Without an error, the result is the reference's. The
argument ``like`` names an earlier case: the others replace its arguments. A string in capitals is
another list of this table, for kernels that share cases.

Any other table is a case, named by its kernel (or the list that has the case) and its id::

    [transpose_perm.path3]
    args = { graph = "PATH3" }
    result.int32 = [1, 0, 3, 2]
    working = "Rows 1 | 0 2 | 1 begin at 0 1 3. .."

``flags`` lists the flags other than WORKED. A case without ``working`` has its result from the
reference, or has ``error = "value"`` or ``"type"``. A value in ``args`` or ``result`` is one of
these:

- a number, a string, a bool, or a list of values;
- a string of two or more capitals: the value of that name in the table ``values``, or the graph of
  that name in `graphs`; "NONE" is None;
- a string of digits: an integer above 2**53, as in the vectors;
- a table with a dtype as its only name: an array; ``shape`` may follow if it has no numbers;
- a table with a type of refimpl as its only name: its fields. A field that is left out has its
  default, or is None;
- a table with "tuple" as its only name: a tuple, for an argument that must not be a list;
- any other table: a dict.
"""

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import refimpl
from refimpl import Graph
from refimpl.lab.apps.conformance import graphs
from refimpl.lab.apps.conformance.case import Case, Close, Kernel, flagged
from refimpl.lab.apps.conformance.encode import FROM_FIELDS, build, number
from refimpl.lab.apps.conformance.states import STATES
from refimpl.lab.backend import find, homes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES = Path(__file__).parent / "cases"
# The tables of a file that are no cases with tables of their own.
WORDS = "kernels", "flags", "compare", "cases", "requirements", "refusals"
NAME = re.compile(r"[A-Z][A-Z0-9_]+")
NAMES = {"NONE": None, **{name: g for name, g in vars(graphs).items() if isinstance(g, Graph)}}
DTYPES = {"bool", "uint8", "uint64", "int16", "int32", "int64", "float16", "float32", "float64"}


def read(topic: str) -> dict[str, Any]:
    """Return the tables of the file of a topic."""
    return tomllib.loads((CASES / f"{topic}.toml").read_text(encoding="utf-8"))


def words(table: str) -> dict[str, Any]:
    """Return the entries of all files in one of the tables `WORDS`, by kernel."""
    found: dict[str, Any] = {}
    for path in sorted(CASES.glob("*.toml")):
        found |= read(path.stem).get(table, {})
    return found


def kernels_of(topic: str) -> tuple[Kernel, ...]:
    """Return the Kernels that the file of a topic describes, with its cases."""
    tables = read(topic)
    cases = worked(topic) if "kernels" in tables else {}
    found = []
    for name, fields in tables.get("kernels", {}).items():
        fields["flags"] = tables.get("flags", {}) | fields.get("flags", {})
        fields["cases"] = flagged(cases[name], **fields.pop("flagged", {}))
        if "compare" in fields:
            fields["compare"] = Close(**tables["compare"][fields["compare"]])
        found.append(Kernel(name, states=STATES.get(name), **fields))
    return tuple(found)


def worked(topic: str) -> dict[str, list[Case]]:
    """Return {kernel: its list of Case} of the file of a topic, in the order of the file.

    Raises
    ------
    ValueError
        If a case is not as it must be, such as a string in capitals that names nothing.
    """
    tables = read(topic)
    names = dict(NAMES)
    for name, value in tables.pop("values", {}).items():
        names[name] = value_of(value, names)
    found: dict[str, list[Case]] = {}
    for kernel in [name for name in tables if name not in WORDS]:
        for id, table in tables[kernel].items():
            try:
                found.setdefault(kernel, []).append(_case(id, names, **table))
            except (TypeError, ValueError) as error:
                raise ValueError(f"{topic}.toml: [{kernel}.{id}]: {error}") from error
    lists = tables.get("cases", {})
    shared = [case for name in lists if name.isupper() for case in found.pop(name, [])]
    for kernel in [name for name in lists if not name.isupper()]:
        try:
            rows = list(_flat(lists[kernel], lists))
            found[kernel] = _listed(rows, found.get(kernel, []), shared, names)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{topic}.toml: cases.{kernel}: {error}") from error
    return found


def _flat(rows: list[Any], lists: dict[str, Any]) -> Iterator[Any]:
    """Yield the rows of a list; those of a list that it names are in its place."""
    for row in rows:
        if isinstance(row, str) and row.isupper():
            yield from _flat(_named(row, lists), lists)
        else:
            yield row


def _named(name: str, known: dict[str, Any]) -> Any:
    if name not in known:
        raise ValueError(f"there is no case or list {name!r}")
    return known[name]


def _listed(
    rows: list[Any], own: list[Case], shared: list[Case], names: dict[str, Any]
) -> list[Case]:
    """Return the cases of rows; in front are the kernel's `own` cases that no row names."""
    known = {case.id: case for case in (*shared, *own)}
    cases = [case for case in own if case.id not in rows]
    for row in rows:
        case = _named(row, known) if isinstance(row, str) else _row(known, names, *row)
        known[case.id] = case
        cases.append(case)
    return cases


def _row(
    known: dict[str, Case], names: dict[str, Any], id: str, args: dict[str, Any], said: str = ""
) -> Case:
    """Return the case of a row; `known` are the cases that ``like`` may name."""
    changes = {name: value for name, value in args.items() if name != "like"}
    try:
        before = _named(args["like"], known).args if "like" in args else {}
        args = {**before, **_parts(changes, names)}
    except (TypeError, ValueError) as error:
        raise ValueError(f"{id}: {error}") from error
    flags = tuple(word for word in said.split() if word.isupper())
    refused = " ".join(word for word in said.split() if not word.isupper())
    return Case(id, args, flags, error=refused or None)


def _case(
    id: str,
    names: dict[str, Any],
    args: Any,
    result: Any = None,
    working: str = "",
    flags: Iterable[str] = (),
    error: str | None = None,
) -> Case:
    result = value_of(result, names)
    if isinstance(result, dict) and result.keys() == {"changed"}:
        result = {"returned": None, **result}
    flags = ("WORKED", *flags) if working else tuple(flags)
    return Case(id, _parts(args, names), flags, result, working, error)


def _parts(values: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    return {name: value_of(value, names) for name, value in values.items()}


def value_of(value: Any, names: dict[str, Any]) -> Any:
    """Return what a value of a file stands for; `names` are those that strings in capitals have."""
    if isinstance(value, str):
        if not NAME.fullmatch(value):
            return number(value)
        if value not in names:
            raise ValueError(f"{value} is no value of the file and no graph of graphs.py")
        return names[value]
    if isinstance(value, list):
        return [value_of(part, names) for part in value]
    if not isinstance(value, dict):
        return value
    name = next(iter(value), "")
    if name in DTYPES and value.keys() <= {name, "shape"}:
        array = np.array(value[name], name)
        return array.reshape(value["shape"]) if "shape" in value else array
    if len(value) == 1:
        inside = value[name]
        if name == "tuple":
            return tuple(value_of(inside, names))
        if name == "Graph":
            return Graph(np.array(inside["indptr"]), np.array(inside["indices"]))
        if name[:1].isupper() and name in homes():
            return _typed(name, value_of(inside, names))
    return _parts(value, names)


def _typed(name: str, fields: dict[str, Any]) -> Any:
    parameters = inspect.signature(FROM_FIELDS.get(name) or find(refimpl, name)).parameters
    needed = [field for field, given in parameters.items() if given.default is given.empty]
    return build(name, {**dict.fromkeys(needed), **fields})
