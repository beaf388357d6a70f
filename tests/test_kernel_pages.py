"""The pages of docs/kernels: complete, their tables and plain loops true of the vectors."""

import importlib
import json
import re
import sys

import numpy as np
import pytest
from docs_ext import DOCS

import refimpl
from refimpl.lab.apps.conformance import requirements, vectors
from refimpl.lab.apps.conformance.encode import decode
from refimpl.lab.apps.conformance.levels import LEVELS
from refimpl.lab.apps.conformance.runner import judge
from refimpl.lab.backend import find

PAGES = DOCS / "kernels"
SECTION = re.compile(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", re.M | re.S)
FILES = {file["function"]: file for file in vectors.load()}
REFUSALS = {kernel: requirements.refusals(kernel) for kernel in FILES}
SECTIONS = {  # kernel -> (page, the text of its section)
    name: (path.stem, text)
    for path in sorted(PAGES.glob("*.md"))
    for name, text in SECTION.findall(path.read_text())
}
CELLS = re.compile(r"^\| (.*?) \|", re.M)
NAME = re.compile(r"`(\w+)`")
STAGE = re.compile(r"^\| \d+ \| \{doc\}`/kernels/(\w+)` \| (.*?) \|.*\| `(\w+)` \|$", re.M)

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
    for directive in ("about", "cases"):
        assert re.search(rf"^```{{kernel-{directive}}} {kernel}\b", text, re.M), directive
    shown = rf"^```{{reference-code}} \S+:{kernel}\b|^:pyobject: {kernel}\n"
    assert re.search(shown, text, re.M)
    assert {name for case in cases for name in case["args"]} <= named
    if "counters" in fields:
        assert "**Counters.**" in text
    else:
        assert fields <= set(NAME.findall(text))
    assert any("states" in case for case in cases) == ("**States.**" in text)
    if any("STOPS_EARLY" in case["flags"] for case in cases):
        assert "**Stops early" in text


@kernels
def test_every_case_that_is_refused_has_a_row_of_the_table(kernel):
    """One row, with its error; and no row names another case."""
    rows = REFUSALS.get(kernel, [])
    assert len({(kind, words) for kind, words, _ in rows}) == len(rows)
    named = [(case, kind) for kind, _, cases in rows for case in cases]
    refused = [(case["id"], case["error"]) for case in FILES[kernel]["cases"] if "error" in case]
    assert sorted(named) == sorted(refused)


def plain(kernel):
    """Return the function of docs/kernels/plain.py, which the pages show."""
    if str(PAGES) not in sys.path:
        sys.path.append(str(PAGES))
    return getattr(importlib.import_module("plain"), kernel)


def asked(kernel):
    """Return the arguments of all cases that are not refused, and what the reference gives."""
    cases = [case["args"] for case in FILES[kernel]["cases"] if "error" not in case]
    assert cases
    for case in cases:
        args = {name: decode(value) for name, value in case.items()}
        yield args, find(refimpl, kernel)(**args)


def test_block_norm_in_plain_loops():
    for args, made in asked("block_norm"):
        dtype = args.pop("dtype")
        start, end, indices, data = plain("block_norm")(**args)
        block = made.graph
        assert (start, end, indices) == tuple(map(list, (block.start, block.end, block.indices)))
        np.testing.assert_array_equal(np.array(data, dtype), made.data)


def test_fair_share_in_plain_loops():
    for args, made in asked("fair_share"):
        assert plain("fair_share")(**args) == [charge.tolist() for charge in made]


def test_sample_mfg_in_plain_loops():
    for args, made in asked("sample_mfg"):
        nodes, blocks = plain("sample_mfg")(**args)
        assert nodes == [of_layer.tolist() for of_layer in made.nodes]
        for ours, theirs in zip(blocks, made.blocks, strict=True):
            block = theirs.start, theirs.end, theirs.indices, theirs.edge_ids
            assert ours == tuple(part.tolist() for part in block)


@kernels
def test_the_section_or_what_the_page_begins_with_names_every_dtype_of_the_results(kernel):
    page, section = SECTIONS[kernel]
    begin = (PAGES / f"{page}.md").read_text().partition("\n## ")[0]
    assert dtypes_of(results(kernel)) <= set(re.findall(r"\w+", begin + section))


def dtypes_of(value):
    """Return the dtypes of all arrays in a value, as the vectors have it."""
    if isinstance(value, list):
        return set().union(*map(dtypes_of, value))
    if not isinstance(value, dict):
        return set()
    inside = dtypes_of(list(value.get("fields", {}).values()))
    return inside | {value["dtype"]} if "dtype" in value else inside


def test_the_index_shows_a_question_and_its_answer():
    text = (PAGES / "index.md").read_text()
    asked, answer = (json.loads(block) for block in re.findall(r"```text\n(.*?)```", text, re.S))
    (case,) = [one for one in FILES["frontier"]["cases"] if one["args"] == asked["args"]]
    assert asked["id"] == answer["id"]
    assert judge(FILES["frontier"], case, answer) == ("pass", "", True)


def test_a_page_a_stage():
    """In the order of the table on porting a backend, which names its kernels and their level."""
    text = (DOCS / "howto" / "port_a_backend.md").read_text()
    rows = STAGE.findall(text)
    stages = [page for page, *_ in rows]
    for page, kernels, level in rows:
        own = [name for name, (home, _) in SECTIONS.items() if home == page]
        assert NAME.findall(kernels)[: len(own)] == own and set(own) <= set(LEVELS[level])
    toctree = (PAGES / "index.md").read_text().partition(":maxdepth: 2\n")[2].partition("```")[0]
    assert stages == toctree.split()
    assert SECTIONS.keys() == FILES.keys()
    assert {page for page, _ in SECTIONS.values()} == set(stages)


def test_every_kernel_has_one_level_that_of_its_page():
    levels = {name: level for level, names in LEVELS.items() for name in names}
    assert sorted(name for names in LEVELS.values() for name in names) == sorted(FILES)
    found = {(page, levels[name]) for name, (page, _) in SECTIONS.items()}
    assert len(found) == len(dict(found))
