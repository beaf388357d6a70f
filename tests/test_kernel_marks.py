"""Kernels: marks of the papers' lines, roles of arguments, and the table that finds a line."""

import re
from collections import defaultdict
from pathlib import Path

import pytest
from docs_ext import DOCS, code_places, paper_lines

import fastimpl

FOLDER = Path(fastimpl.__file__).parent
MARKED = {"I3", "I4", "I6", "J2", "J3", "J4", "J5", "J6", "J7", "J8", "V1", "GAT"}
MANY = 7  # arguments from which on each has a role
DEFINITION = re.compile(
    r"^(?:cdef|cpdef|def)\b[^\n=#()]*?\b(\w+)\(\n((?:    .*\n)+)\)[^\n:]*:\n", re.M
)
ON_ONE_ROW = re.compile(r"^(?:cdef|cpdef|def)\b[^\n=#()]*?\b(\w+)\((.*)\)[^\n:]*:\n", re.M)


def test_each_mark_of_a_kernel_is_a_line_of_a_paper():
    marks = code_places.kernel_marks()
    code_places.check_marks(marks)
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
        code_places.check_marks(code_places.marks_of("a.pyx", text))


def test_marks_of_kernels_are_read():
    source = (
        "cdef int pop(\n"
        "    int x  # IN\n"
        ") noexcept nogil:\n"
        "    y = x  # J3:24-25 27 I3:21\n"
        "    z = y  # 3 of them\n"
        "    w = z  # GAT.8 10\n"
    )
    place = code_places.Place("a.pyx", 4, "pop")
    assert code_places.marks_of("a.pyx", source) == [
        (place, "J3", [24, 25]),
        (place, "J3", [27]),
        (place, "I3", [21]),
        (place._replace(row=6), "GAT", [8]),
        (place._replace(row=6), "GAT", [10]),
    ]


def test_bare_marks_of_a_file_are_of_one_algorithm():
    """Marks of any other algorithm have a prefix: `# J4:17` in pin_tile.py."""
    found = defaultdict(set)
    for key, place, numbers in paper_lines.sequences():
        path, _, source = paper_lines.source_of(place)
        bare = paper_lines.numbers_in_order(paper_lines.marks(source), None)
        if bare == numbers and not path.startswith("refimpl/lab/"):
            found[path].add(key)
    assert {path: keys for path, keys in found.items() if len(keys) > 1} == {}
    assert found["refimpl/samplers/pin_tile.py"] == {"jpdc21:3"}


def keys_of_the_page():
    (content,) = re.findall(
        r"```{code-places}\n(.*?)```", (DOCS / "algorithms.md").read_text(), re.S
    )
    return content.split()


@pytest.mark.parametrize("key", keys_of_the_page())
def test_the_table_leads_to_rows_with_the_mark(key):
    found = code_places.find_code(key)
    last = key.replace(".", ":").split(":")[-1]
    for place in found.kernels + found.reference:
        row = (paper_lines.PACKAGES / place.path).read_text().splitlines()[place.row - 1]
        assert "theorem" in key or re.search(rf"(#|/\*).*\b{last}\b", row), place
    assert found.reference


def test_the_table_has_kernels_where_there_are_two_codes():
    kernels = {key: code_places.find_code(key).kernels for key in keys_of_the_page()}
    assert [(place.path, place.name) for place in kernels["vldb24:1:13"]] == [
        ("fastimpl/history/_entries.pyx", "gather"),
        ("fastimpl/history/_entries.pyx", "join"),
    ]
    assert [(place.path, place.name) for place in kernels["jpdc21:4:17"]] == [
        ("fastimpl/samplers/_pin_tile.pyx", "pop")
    ]
    assert {place.name for place in kernels["GAT.5"]} == {"edge_gradients"}
    assert kernels["jpdc21:theorem:2"] == []


@pytest.mark.parametrize("key", ["jpdc21:4:37", "jpdc21:4", "GAT.22", "jpdc21:theorem:3", "x:1:2"])
def test_a_key_of_nothing_is_refused(key):
    with pytest.raises(ValueError, match="no line, equation or theorem"):
        code_places.find_code(key)


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
