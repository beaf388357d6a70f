"""Kernels: marks of the papers' lines, roles of arguments, and the table that finds a line."""

import re
from collections import defaultdict
from pathlib import Path

import lines_in_order
import pytest
from docs_ext import paper_lines

import fastimpl

FOLDER = Path(fastimpl.__file__).parent
MARKED = {"I3", "I4", "I6", "J2", "J3", "J4", "J5", "J6", "J7", "J8", "V1", "GAT"}
MANY = 7  # arguments from which on each has a role
DEFINITION = re.compile(
    r"^(?:cdef|cpdef|def)\b[^\n=#()]*?\b(\w+)\(\n((?:    .*\n)+)\)[^\n:]*:\n", re.M
)
ON_ONE_ROW = re.compile(r"^(?:cdef|cpdef|def)\b[^\n=#()]*?\b(\w+)\((.*)\)[^\n:]*:\n", re.M)


def check_marks(found):
    """Raise ValueError unless each KernelMark names lines that are printed and not silent."""
    source = paper_lines.source_of("refimpl.layers.gat:gat_backward")[2]
    equations = {int(number) for number in re.findall(r"  # GAT\.(\d+): ", source)}
    printed = {"GAT": (equations, equations)}
    for algorithm in paper_lines.load_algorithms().values():
        lines = set(range(1, algorithm["lines"] + 1))
        printed[paper_lines.prefix_of(algorithm)] = lines, lines - set(algorithm["silent"])
    for mark in found:
        where = f"{mark.place.path}:{mark.place.row}"
        if mark.prefix not in printed:
            raise ValueError(f"{where}: lines {mark.lines} of no algorithm")
        lines, said = printed[mark.prefix]
        if not lines.issuperset(mark.lines) or not said.intersection(mark.lines):
            raise ValueError(f"{where}: {mark.prefix} has no lines {mark.lines}")


def test_each_mark_of_a_kernel_is_a_line_of_a_paper():
    marks = paper_lines.kernel_marks()
    check_marks(marks)
    assert {mark.prefix for mark in marks} == MARKED
    assert all(mark.place.name or mark.place.path.endswith(".h") for mark in marks)


@pytest.mark.parametrize(
    "text, message",
    [
        ("x = 1  # J4:40", r"a\.pyx:1: J4 has no lines \[40\]"),
        ("x = 1  # J4:8-10", r"J4 has no lines \[8, 9, 10\]"),
        ("x = 1  # J9:1", r"lines \[1\] of no algorithm"),
        ("x = 1  # 17", r"lines \[17\] of no algorithm"),
        ("x = 1  # GAT.22", r"GAT has no lines \[22\]"),
        ("x = 1;  /* J6:12 */    \\", r"J6 has no lines \[12\]"),
    ],
)
def test_a_mark_of_no_line_is_noticed(text, message):
    with pytest.raises(ValueError, match=message):
        check_marks(paper_lines.marks_of("a.pyx", text))


def test_marks_of_kernels_are_read():
    source = (
        "cdef int pop(\n"
        "    int x  # IN\n"
        ") noexcept nogil:\n"
        "    y = x  # J3:24-25 27 I3:21\n"
        "    z = y  # 3 of them\n"
        "    w = z  # GAT.8 10\n"
    )
    place = paper_lines.Place("a.pyx", 4, "pop")
    assert paper_lines.marks_of("a.pyx", source) == [
        (place, "J3", [24, 25]),
        (place, "J3", [27]),
        (place, "I3", [21]),
        (place._replace(row=6), "GAT", [8]),
        (place._replace(row=6), "GAT", [10]),
    ]


def test_bare_marks_of_a_file_are_of_one_algorithm():
    """Marks of any other algorithm have a prefix: `# J4:17` in pin_tile.py."""
    found = defaultdict(set)
    for key, place, numbers in lines_in_order.sequences():
        path, _, source = paper_lines.source_of(place)
        bare = lines_in_order.numbers_in_order(paper_lines.marks(source), None)
        if bare == numbers and not path.startswith("refimpl/lab/"):
            found[path].add(key)
    assert {path: keys for path, keys in found.items() if len(keys) > 1} == {}
    assert found["refimpl/samplers/pin_tile.py"] == {"jpdc21:3"}


@pytest.mark.parametrize("key", ["jpdc21:4", "vldb24:1"])
def test_rows_beside_the_paper_lead_to_kernels_with_the_mark(key):
    algorithm, found = paper_lines.load_algorithms()[key], 0
    for line in paper_lines.paper_lines(key):
        for place in paper_lines.in_kernels(algorithm, [line.number]):
            row = (paper_lines.PACKAGES / place.path).read_text().splitlines()[place.row - 1]
            assert paper_lines.prefix_of(algorithm) + ":" in row and "#" in row, place
            found += 1
    assert found > 9


def test_the_kernels_of_a_line_are_named_once():
    algorithms = paper_lines.load_algorithms()
    kernels = {
        (key, n): [(p.path, p.name) for p in paper_lines.in_kernels(algorithms[key], [n])]
        for key, n in (("vldb24:1", 13), ("vldb24:1", 20), ("jpdc21:4", 17), ("jpdc21:1", 3))
    }
    assert kernels["vldb24:1", 13] == [
        ("fastimpl/history/_entries.pyx", "gather"),
        ("fastimpl/history/_entries.pyx", "join"),
    ]
    assert [name for _, name in kernels["vldb24:1", 20]].count("replace") == 1
    assert kernels["jpdc21:4", 17] == [("fastimpl/samplers/_pin_tile.pyx", "pop")]
    assert kernels["jpdc21:1", 3] == []


def signatures(source):
    """Yield (name, [(argument, role or None)]) of each function that a source defines."""
    for name, rows in DEFINITION.findall(source):
        found = []
        for row in rows.splitlines():
            text, _, role = row.partition("  # ")
            parts = re.split(r",(?![^\[\]()]*[\])])", text)
            found += [(part.strip(), role or None) for part in parts if part.strip()]
        yield name, found
    for name, text in ON_ONE_ROW.findall(source):
        parts = re.split(r",(?![^\[\]()]*[\])])", text)
        yield name, [(part.strip(), None) for part in parts if part.strip()]


def fault_in(arguments):
    """Return what is wrong with the roles of a function's arguments, or None."""
    written = [a for a, _ in arguments if re.search(r"[*\[]", a) and not a.startswith("const ")]
    outputs = [a for a in written if not a.startswith("Watch*")]
    if len(arguments) < MANY or not outputs:
        return None
    for argument, role in arguments:
        allowed = ("OUT", "INOUT") if argument in written else ("IN", "INOUT")
        if argument.startswith("const ") or " " not in argument:
            allowed = ("IN",)
        if role not in allowed:
            return f"{argument} is {role}"
    return None


def sources():
    known = sorted(FOLDER.rglob("*.pyx")) + sorted(FOLDER.rglob("*.pxd"))
    return [path for path in known if "_declared" not in path.parts]


def test_arguments_of_kernels_with_many_have_roles():
    known = [(path.name, *one) for path in sources() for one in signatures(path.read_text())]
    faults = {(path, name): fault_in(arguments) for path, name, arguments in known}
    assert {place: fault for place, fault in faults.items() if fault} == {}
    roles = [role for *_, arguments in known for _, role in arguments]
    assert min(roles.count(role) for role in ("IN", "OUT", "INOUT")) > 30


@pytest.mark.parametrize(
    "change, fault",
    [
        (("  # INOUT", ""), "int* b is None"),
        (("  # OUT", "  # IN"), "int[::1] c is IN"),
        (("  # IN\n    int* b", "  # OUT\n    int* b"), "const int* a is OUT"),
        (("\n", " "), "const int* a is None"),
    ],
)
def test_a_wrong_role_is_noticed(change, fault):
    rows = "    const int* a, int f,  # IN\n    int* b,  # INOUT\n    int[::1] c,  # OUT\n"
    rows += "    int x, int y, int z  # IN\n"
    ((name, arguments),) = signatures(f"def g(\n{rows}):\n")
    assert name == "g" and len(arguments) == MANY and fault_in(arguments) is None
    if change == ("\n", " "):
        rows = re.sub(r"  # \w+|\n", "", rows)
        ((_, arguments),) = signatures(f"def g({rows.strip()}):\n")
    else:
        ((_, arguments),) = signatures(f"def g(\n{rows.replace(*change, 1)}):\n")
    assert fault_in(arguments) == fault
