"""The pages of docs/kernels: complete, and their pseudo-code conforms, errors and states too."""

import importlib
import json
import re

import numpy as np
import pytest
from docs_ext import DOCS, kernel_code

import refimpl
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


@kernels
def test_the_section_or_what_the_page_begins_with_names_every_dtype_of_the_results(kernel):
    """A result of the pseudo-code is lists: nothing else compares dtypes."""
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


@pytest.mark.parametrize("seed", range(40))
def test_the_cache_goes_on_like_the_reference_where_there_are_no_vectors(seed):
    """`cache_update`, which has none, in a run with settings drawn at random."""
    rng = np.random.default_rng(seed)
    n, d, h, m = 9, 3, 2, 7
    settings = {
        "t_stale": [None, 0, 1, 3][rng.integers(4)],
        "dtype": "float32",
        "header": ["continue", "cycle"][rng.integers(2)],
        "overflow": ["wrap", "drop"][rng.integers(2)],
        "staleness": ["stamp", "header_only"][rng.integers(2)],
        "start_iter": int(rng.integers(2)),
        "refill": bool(rng.integers(2)),
    }
    sizes = (n, d, h, 2, int(rng.integers(0, 16 * h)))
    theirs = refimpl.BidirectionalCache(*sizes, **settings)
    _, cache, _ = kernel_code.adapter.KERNELS["BidirectionalCache"]
    ours = cache(*sizes, **settings)
    X, hotness = rng.integers(-9, 9, (n, d)).astype(np.float32), rng.integers(0, 4, n)
    theirs.fill(X, hotness)
    ours.fill(X.tolist(), hotness.tolist())
    update = importlib.import_module("freshgnn").cache_update
    for i in range(1, 15):
        layer, rows, ranked = drawn_rows(rng, n, h, int(rng.integers(1, m + 1)))
        theirs.begin_update(i)
        ours.begin_update(i)
        want = refimpl.history.cache_update(theirs, layer, *rows, i, **ranked)
        if ranked["allow"] is not None:
            ranked["allow"] = ranked["allow"].tolist()
        given = [part.tolist() for part in rows]
        assert update(ours, layer, *given, i, **ranked) == want._asdict()
        assert_same_cache(ours, theirs)


def drawn_rows(rng, n, h, m):
    """Return a layer, its live rows, and how they are ranked."""
    score, comp = rng.integers(0, 4, m) / 2, rng.random(m) < 0.6
    rows = rng.permutation(n)[:m], score, comp, rng.integers(-9, 9, (m, h)).astype(np.float32)
    ranked = {
        "p": [0, 0.3, 0.6, 1][rng.integers(4)],
        "rank_base": ["all", "new"][rng.integers(2)],
        "gradient_evict": bool(rng.integers(4)),
        "allow": [None, rng.random(m) < 0.7][rng.integers(2)],
    }
    return int(rng.integers(1, 3)), rows, ranked


def assert_same_cache(ours, theirs):
    state, entries = ours.state(), theirs.entries
    for name in ("head", "feature_rows", "admitted", "dropped", "lost"):
        assert state[name] == getattr(theirs, name), name
    assert state["back"] == entries.back.tolist()
    assert state["slot_of"] == entries.slot_of.tolist()
    assert state["stamp"] == np.where(entries.back >= 0, entries.stamp, -1).tolist()
    slots = range(theirs.hwm)
    assert ours.read(slots) == theirs.read(slots).tolist()
    rows, hit = theirs.fetch_features(range(theirs.n))
    assert ours.fetch_features(range(theirs.n)) == [rows.tolist(), hit.tolist()]


def test_every_function_that_shown_code_uses_is_shown_too():
    shown = kernel_code.shown_at()
    used = {other for name in shown for other in kernel_code.uses_of(name)}
    used = {kernel_code.value_of(name).__name__ for name in used}
    assert len(used) > 50 and used <= shown.keys(), used - shown.keys()


def test_the_index_shows_a_question_and_its_answer():
    text = (PAGES / "index.md").read_text()
    asked, answer = (json.loads(block) for block in re.findall(r"```text\n(.*?)```", text, re.S))
    assert asked["args"] in [case["args"] for case in FILES["frontier"]["cases"]]
    given = {"id": asked["id"], **kernel_code.adapter.answer(asked)}
    assert given == answer


def test_a_page_a_stage_and_its_code_beside_it():
    """In the order, and with the kernels, of the table on porting a backend.

    A kernel of the page STAGE.md stands in STAGE.py, or in a file whose name goes on from there.
    """
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
