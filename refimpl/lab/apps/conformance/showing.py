"""A case of the vectors, and an answer to it, as lines of text that a person reads.

All functions take a file of `vectors.load` and a case of it, and return lines. `case_lines` says
what is asked, `answer_lines` what must come back, with a program's answer beneath it where the two
differ.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from refimpl.lab.apps.conformance import requirements
from refimpl.lab.apps.conformance.compare import first_difference, short
from refimpl.lab.apps.conformance.encode import GRAPH, JsonObject
from refimpl.lab.apps.conformance.runner import judge, question, rule_of

if TYPE_CHECKING:
    from refimpl.lab.apps.conformance.case import Rule

WIDTH = 96  # columns of a line
MOST_LINES = 12  # of one array, or rows of one graph
ABSENT = "(absent)"
PLACE = re.compile(r"result(?:\[([0-9, ]+)\]|\.(\w+))?: ")
STEP = re.compile(r"states\[([0-9]+)\]")


Path: TypeAlias = tuple[str | int, ...]


class Leaf(NamedTuple):
    """A part of a value that is shown as one row of cells, or as a few of equal length."""

    path: Path
    value: Any

    @property
    def name(self) -> str:
        """The path as differences write it, such as ``blocks[0].start``."""
        parts = (f"[{p}]" if isinstance(p, int) else f".{p}" for p in self.path)
        return "".join(parts).removeprefix(".")


class CaseCheck(NamedTuple):
    """The answer to one case, the verdict on it, and the first difference in words."""

    file: JsonObject
    case: JsonObject
    answer: JsonObject
    verdict: str
    said: str

    def lines(self) -> list[str]:
        """Return the case, and the answer beside the right one, as lines of text."""
        answers = answer_lines(self.file, self.case, self.answer)
        return [*case_lines(self.file, self.case), "", *answers]


def check_case(
    ask: Callable[[JsonObject], JsonObject], file: JsonObject, case: JsonObject
) -> CaseCheck:
    """Return the CaseCheck of one case; `ask` takes a question and returns its answer."""
    answer = ask(question(file, case))
    verdict, said, _ = judge(file, case, answer)
    return CaseCheck(file, case, answer, verdict, said)


def case_name(file: JsonObject, case: JsonObject) -> str:
    """Return the name of a case, such as "jpdc21/pin_tile/used"."""
    return f"{file['source']['paper']}/{file['function']}/{case['id']}"


def flag_lines(file: JsonObject, flags: Iterable[str]) -> list[str]:
    """Return what flags mean, a line or a few for each, in columns."""
    known = file.get("flags", {})
    return _columns([(flag, known.get(flag, "")) for flag in flags])


def requirement_lines(file: JsonObject, case: JsonObject, most: int | None = None) -> list[str]:
    """Return the requirements of a case with their numbers, the first `most` in words."""
    found = requirements.of_case(file["function"], case["id"])
    shown, rest = found[:most], [name for name, _ in found[most:]] if most else []
    more = [f"and {', '.join(rest)}"] if rest else []
    return [*_columns(shown), *more]


def _columns(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return lines of names and texts in two columns."""
    width = max((len(name) for name, _ in pairs), default=0)
    return [
        line
        for name, text in pairs
        for line in _wrapped(text, f"{name:<{width}}  ", " " * (width + 2))
    ]


def case_lines(file: JsonObject, case: JsonObject) -> list[str]:
    """Return what a case asks: name, requirements, flags in words, arguments and working."""
    place = " ".join(part for part in (file["source"]["place"], file["source"]["lines"]) if part)
    lines = [case_name(file, case), f"  {place}"]
    required = requirement_lines(file, case)
    if required:
        lines += ["", "requirements", *_indented(required)]
    if case.get("flags"):
        lines += ["", "flags", *_indented(flag_lines(file, case["flags"]))]
    lines += ["", "arguments", *_indented(value_lines({"fields": case["args"]}))]
    if "working" in case:
        lines += ["", "worked by hand", *_wrapped(case["working"], "  ", "  ")]
    return lines


def answer_lines(file: JsonObject, case: JsonObject, answer: JsonObject | None = None) -> list[str]:
    """Return what must come back; of an answer, beneath each part, what it has otherwise.

    States stand first, as they are compared first. Beside an answer only the first state that
    differs is shown, and the one before it.

    Parameters
    ----------
    file, case : dict
    answer : dict, optional
        As the protocol has it: an object with "result", "error", "skip" or "fault".
    """
    lines = []
    if answer is not None:
        verdict, said, _ = judge(file, case, answer)
        lines = [f"{verdict}: {said}" if said else verdict, ""]
        if "result" not in answer:
            answer = None
    if "error" in case:
        return [*lines, "must be refused", f"  with error {case['error']!r}"]
    rule = rule_of(file)
    if "states" in case:
        got = None if answer is None else answer.get("states")
        lines += _state_lines(case["states"], got, rule)
    for part in ("result", "changed"):
        if part in case:
            want = {"fields": case[part]} if part == "changed" else case[part]
            got = None if answer is None else answer.get(part)
            got = {"fields": got} if part == "changed" and answer is not None else got
            head = "changed arguments" if part == "changed" else part
            lines += [head, *_indented(_pair_lines(want, got, rule, answer is not None)), ""]
    return lines[:-1]


def _state_lines(want: list[JsonObject], got: Any, rule: Rule) -> list[str]:
    """Return the lines of the states; `got` is None where there are none to compare with."""
    if not isinstance(got, list):
        return [
            line
            for i, state in enumerate(want)
            for line in (f"states[{i}]", *_indented(value_lines({"fields": state})), "")
        ]
    differs = [_differs(a, b, rule) for a, b in zip(want, got, strict=False)]
    if not any(differs):
        said = f"all {len(want)} as they must be"
        if len(want) != len(got):
            said = (
                f"{len(want)} are due, {len(got)} came; as far as they go they are as they must be"
            )
        return ["states", f"  {said}", ""]
    step = differs.index(True)
    before = f"states[0] to states[{step - 2}] are" if step > 2 else "states[0] is"
    lines = [f"{before} as it must be" if step == 2 else f"{before} as they must be", ""]
    lines = lines if step > 1 else []
    for i in range(max(step - 1, 0), step + 1):
        pair = _pair_lines({"fields": want[i]}, {"fields": got[i]}, rule, True, left_out=True)
        lines += [f"states[{i}]", *_indented(pair), ""]
    return lines


def _differs(want: JsonObject, got: Any, rule: Rule) -> bool:
    """Say whether a state differs in a part that the answer has, or is none."""
    if not isinstance(got, dict) or got.keys() - want.keys():
        return True
    return any(first_difference(want[name], got[name], rule) for name in want if name in got)


def value_lines(value: Any) -> list[str]:
    """Return a value, in the form of `encode`, as lines: a part by its name in each."""
    return _pair_lines(value, None, None, False)


def _pair_lines(
    want: Any, got: Any, rule: Any, compared: bool, left_out: bool = False
) -> list[str]:
    """Return the leaves of `want`, each with that of `got` beneath it where the two differ."""
    leaves = list(_leaves(want, ()))
    width = max((len(leaf.name) for leaf in leaves), default=0)
    lines = []
    for leaf in leaves:
        found, there = None, ABSENT
        if compared:
            there = _part(got, leaf.path)
            if there is ABSENT and left_out:
                continue
            found = first_difference(leaf.value, there, rule)
        if found and _is_graph(leaf.value):
            parts = [Leaf((*leaf.path, name), leaf.value["graph"][name]) for name in GRAPH]
            for part in parts:
                there = _part(got, part.path)
                found = first_difference(part.value, there, rule)
                lines += _leaf_lines(part, width, found, there)
        else:
            lines += _leaf_lines(leaf, width, found, there)
    return lines


def _leaves(value: Any, path: Path) -> Iterator[Leaf]:
    """Yield the Leaves of a value; graphs are whole, and so are named numbers inside a value."""
    inside = _named(value)
    if inside is None and isinstance(value, list) and not _is_flat(value):
        inside = dict(enumerate(value))
    counted = path and isinstance(value, dict) and inside and _is_flat(list(inside.values()))
    if inside and not counted and not _is_graph(value):
        for name, part in inside.items():
            yield from _leaves(part, (*path, name))
    else:
        yield Leaf(path, value)


def _is_graph(value: Any) -> bool:
    return isinstance(value, dict) and "graph" in value


def _named(value: Any) -> Any:
    """Return the named parts of a value, or None."""
    if not isinstance(value, dict) or "data" in value:
        return None
    return value.get("graph", value.get("fields"))


def _is_flat(values: Iterable[Any]) -> bool:
    return not any(isinstance(part, dict | list) for part in values)


def _part(value: Any, path: Path) -> Any:
    """Return a part of an answer, which may be anything, or ABSENT."""
    for name in path:
        if isinstance(name, int):
            if not isinstance(value, list) or name >= len(value):
                return ABSENT
            value = value[name]
        else:
            inside = _named(value)
            if not isinstance(inside, dict) or name not in inside:
                return ABSENT
            value = inside[name]
    return value


def _leaf_lines(leaf: Leaf, width: int, found: str | None, got: Any) -> list[str]:
    """Return a leaf by its name; where `found` is a difference, what came instead, and a mark."""
    name = f"{leaf.name:<{width}}  " if leaf.name else ""
    if _is_graph(leaf.value):
        return _graph_lines(name, leaf.value["graph"])
    want, columns, note = _cells(leaf.value)
    if found is None:
        return _cell_lines(name, want, columns, note)
    there, _, _ = _cells(got)
    at = _index(found, leaf.value)
    if at is None:
        said = short(found.partition(": ")[2])
        blank = " " * len(name)
        return [
            *_cell_lines(f"{name}want ", want, columns, note),
            *_cell_lines(f"{blank}got  ", there, columns, ""),
            f"{blank}^    {said}",
        ]
    return _marked(name, want, there, columns, note, at)


def _cells(value: Any) -> tuple[list[str], int | None, str]:
    """Return the cells of a leaf, how many stand in a row (None: as many as fit), and a note."""
    if isinstance(value, dict) and "data" in value:
        data = value["data"] if isinstance(value["data"], list) else [value["data"]]
        shape: Any = value.get("shape")
        if not isinstance(shape, list) or not all(isinstance(s, int) for s in shape):
            shape = [len(data)]
        columns = shape[-1] if len(shape) > 1 and prod(shape) else None
        note = str(value.get("dtype", ""))
        if len(shape) != 1:
            note += f", shape {short(shape)}"
        return [_word(x) for x in data], columns, note
    inside = _named(value)
    if isinstance(inside, dict):
        return [f"{name} {_word(part)}" for name, part in inside.items()], None, ""
    if isinstance(value, list):
        return [_word(x) for part in value for x in _flat(part)], None, ""
    return [_word(value)], 1, ""


def _flat(value: Any) -> list[Any]:
    return [x for part in value for x in _flat(part)] if isinstance(value, list) else [value]


def _word(value: Any) -> str:
    """Return a number, truth or text as JSON has it; text that is no number without quotes."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return short(value)


def _index(found: str, value: Any) -> int | None:
    """Return which cell of a leaf a difference is in, or None: in its shape, dtype or kind."""
    place = PLACE.match(found)
    if place is None or (place[1] is None and place[2] is None):
        return 0 if not isinstance(value, dict | list) else None
    if place[2] is not None:
        inside = _named(value)
        return list(inside).index(place[2]) if inside and place[2] in inside else None
    index, at = [int(k) for k in place[1].split(",")], 0
    shape = value.get("shape", [0]) if isinstance(value, dict) else [0]
    for k, size in zip(index, shape, strict=True):
        at = at * size + k
    return at


def _cell_lines(name: str, cells: list[str], columns: int | None, note: str) -> list[str]:
    """Return cells in columns behind a name, and a note behind the last; a long list is cut."""
    if not cells:
        return [f"{name}empty{', ' * bool(note)}{note}"]
    lines = [" ".join(row) for row in _rows(cells, columns, WIDTH - len(name))]
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f".. {len(cells)} in all"]
    lines[-1] = lines[-1].rstrip() + f"   {note}" * bool(note)
    lines[:-1] = [line.rstrip() for line in lines[:-1]]
    return [(name if i == 0 else " " * len(name)) + line for i, line in enumerate(lines)]


def _rows(cells: list[str], columns: int | None, room: int) -> list[list[str]]:
    """Return padded cells in rows."""
    width = max(map(len, cells))
    per_row = _per_row(columns, width, room)
    side = "<" if " " in cells[0] else ">"  # named numbers stand to the left
    padded = [f"{cell:{side}{width}}" for cell in cells] if len(cells) > per_row else cells
    return [padded[i : i + per_row] for i in range(0, len(cells), per_row)]


def _per_row(columns: int | None, width: int, room: int) -> int:
    """Return how many cells of a width stand in a line: a row of a matrix, if it fits."""
    most = max((room + 1) // (width + 1), 1)
    return columns if columns and columns <= most else most


def _marked(
    name: str, want: list[str], got: list[str], columns: int | None, note: str, at: int
) -> list[str]:
    """Return the row of cells in which the first difference is, of both, and a mark beneath it."""
    size = max(len(want), len(got), at + 1)
    blank = [[*cells, *[""] * (size - len(cells))] for cells in (want, got)]
    width = max(len(cell) for cells in blank for cell in cells)
    per_row = min(_per_row(columns, width, WIDTH - len(name) - 5), size)
    row = at // per_row
    first = row * per_row
    side = "<" if " " in want[0] else ">"
    shown = [
        " ".join(f"{cell:{side}{width}}" for cell in cells[first : first + per_row])
        for cells in blank
    ]
    mark = " " * ((at - first) * (width + 1)) + "^" * width
    tail = f"   {note}" * bool(note)
    where = f"   from entry {first} on" if first else ""
    pad = " " * len(name)
    return [
        f"{name}want {shown[0].rstrip()}{tail}{where}",
        f"{pad}got  {shown[1].rstrip()}",
        f"{pad}     {mark}",
    ]


def _graph_lines(name: str, graph: JsonObject) -> list[str]:
    """Return a graph: how large it is, and the neighbours of its first nodes."""
    indptr, indices = (
        part["data"] if isinstance(part, dict) else part for part in (graph[k] for k in GRAPH)
    )
    n = len(indptr) - 1
    entries = "1 entry" if len(indices) == 1 else f"{len(indices)} entries"
    lines = [f"{n} node{'s' * (n != 1)}, {entries}"]
    width = len(str(max(n - 1, 0)))
    for v in range(min(n, MOST_LINES)):
        row = " ".join(map(str, indices[indptr[v] : indptr[v + 1]])) or "no neighbour"
        lines += _wrapped(f"{v:>{width}}: {row}", "", " " * (width + 2), WIDTH - len(name))[:2]
    if n > MOST_LINES:
        lines.append(f".. and {n - MOST_LINES} more nodes")
    return [(name if i == 0 else " " * len(name)) + line for i, line in enumerate(lines)]


def _wrapped(text: str, first: str, others: str, width: int = WIDTH) -> list[str]:
    """Return lines of a text, or of `first` alone where there is none."""
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [first.rstrip()]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def in_common(failing: list[JsonObject], passing: list[JsonObject]) -> list[tuple[str, int]]:
    """Return what all failing cases of a kernel have, and few of those that pass, in words.

    What no case that passes has comes first: it is the likeliest reason.

    Parameters
    ----------
    failing, passing : list of dict
        Cases. With fewer than two that fail, there is nothing in common.

    Returns
    -------
    list of (str, int)
        A flag, "refused: value" or "name = value" of an argument, and how many passing cases
        have it too: fewer than half of them.
    """
    if len(failing) < 2:
        return []
    marks = [_marks(case) for case in failing]
    shared = [mark for mark in marks[0] if all(mark in other for other in marks[1:])]
    others = [_marks(case) for case in passing]
    counts = [(mark, sum(mark in other for other in others)) for mark in shared]
    telling = [(mark, count) for mark, count in counts if 2 * count < len(passing)]
    return sorted(telling, key=lambda one: one[1])


def _marks(case: JsonObject) -> list[str]:
    """Return what can be said of a case in a word: flags, its error, arguments of a few values."""
    marks = list(case.get("flags", ()))
    if "error" in case:
        marks.append(f"refused: {case['error']}")
    for name, value in case["args"].items():
        if (
            value is None
            or isinstance(value, bool)
            or (isinstance(value, str) and not re.fullmatch("-?[0-9.]+", value))
        ):
            marks.append(f"{name} = {_word(value)}")
    return marks
