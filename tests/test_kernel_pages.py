"""The pages of docs/kernels: complete, and their pseudo-code conforms, errors and states too."""

import json
import re

import pytest
from docs_ext import DOCS, kernel_code

from refimpl.lab.apps.conformance.runner import judge, question

FILES, SECTIONS = kernel_code.files(), kernel_code.sections()
PAGES = DOCS / "kernels"
STAGE = re.compile(r"^\| \d+ \[(.*?)\]\(\.\./kernels/(\w+)\.md\) \| (.*?) \|", re.M)
CELLS = re.compile(r"^\| (.*?) \|", re.M)
NAME = re.compile(r"`(\w+)`")

kernels = pytest.mark.parametrize("kernel", sorted(FILES))


def fields_of(value):
    """Return the names of the parts of a value, and of parts within it, as the vectors have it."""
    if isinstance(value, list):
        return set().union(*map(fields_of, value))
    if not isinstance(value, dict):
        return set()
    inside = value.get("fields", {})
    return inside.keys() | set().union(*map(fields_of, inside.values()))


def results(kernel):
    return [case["result"] for case in FILES[kernel]["cases"] if "result" in case]


@kernels
def test_every_kernel_has_a_section_with_all_that_a_port_needs(kernel):
    assert kernel in SECTIONS, f"no section `{kernel}` in docs/kernels"
    page, text = SECTIONS[kernel]
    cases = FILES[kernel]["cases"]
    named = {name for row in CELLS.findall(text) for name in NAME.findall(row)}
    fields = set().union(*map(fields_of, results(kernel)))
    for directive in ("about", "code", "flags"):
        assert re.search(rf"^```{{kernel-{directive}}} {kernel}\b", text, re.M), directive
    refused = any("error" in case for case in cases)
    assert refused == (f"```{{kernel-errors}} {kernel}\n" in text)
    assert {name for case in cases for name in case["args"]} <= named
    if "counters" in fields:
        assert "**Counters.**" in text
    else:
        assert fields <= set(NAME.findall(text))
    assert any("states" in case for case in cases) == ("**States.**" in text)
    if any("STOPS_EARLY" in case["flags"] for case in cases):
        assert "**Stops early" in text


@kernels
def test_the_pseudo_code_conforms(kernel):
    """Results, changed arguments, states and errors, over the protocol's own JSON."""
    file = FILES[kernel]
    for case in file["cases"]:
        asked = json.loads(json.dumps(question(file, case)))
        answer = json.loads(json.dumps(kernel_code.adapter.answer(asked)))
        verdict = judge(file, case, answer)
        assert verdict == ("pass", "", bool(case.get("states"))), case["id"]


@kernels
def test_every_case_that_is_refused_has_a_row_of_the_table(kernel):
    rows = kernel_code.error_rows(kernel)
    assert len(set(rows)) == len(rows)
    for case in FILES[kernel]["cases"]:
        row = kernel_code.refused_by(kernel, case)
        assert row is None if "error" not in case else row in rows
        assert row is None or row[0] == case["error"]


def test_a_page_a_stage_and_its_code_beside_it():
    """In the order, and with the kernels, of the table on porting a backend."""
    stages = STAGE.findall((DOCS / "howto" / "port_a_backend.md").read_text())
    toctree = (PAGES / "index.md").read_text().partition(":hidden:\n")[2].partition("```")[0]
    assert [page for _, page, _ in stages] == toctree.split()
    asked = {}
    for _, page, names in stages:
        for name in NAME.findall(names):
            asked.setdefault(name, page)
    placed = {name: page for name, (page, _) in SECTIONS.items()}
    assert placed.keys() == FILES.keys()
    assert {name: page for name, page in asked.items() if name in FILES} == placed
    for name, (module, _, _) in kernel_code.adapter.KERNELS.items():
        assert module == placed[name] or module.startswith(f"{placed[name]}_")
