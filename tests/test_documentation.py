"""The documentation is whole: docstrings, the reference, examples, links. Without Sphinx."""

import doctest
import inspect
import re
import sys
from pathlib import Path

import docstrings
import numpy as np
import pytest
from docs_ext import DOCS, ROOT, worked_examples

import refimpl
from refimpl.lab.apps.course.exercises import exercises
from refimpl.lab.backend import find, find_topic, homes
from refimpl.samplers.nodes import KERNELS

PAGES = sorted(p for p in DOCS.rglob("*.md") if p.relative_to(DOCS).parts[0] != "_build")
READMES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
EXAMPLES = {page: worked_examples.in_page(page.read_text()) for page in PAGES}
DOCTESTS = [name for name in homes() if ">>>" in find(refimpl, name).__doc__]


def page_id(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("name", sorted(homes()))
def test_docstring_is_whole(name):
    assert docstrings.problems(name) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        (
            "frontier",
            "Draw the nodes of a subgraph by frontier sampling.",
            "Draw nodes",
            "sentence",
        ),
        ("frontier", "sampling.\n\nIPDPS", "sampling.\nIPDPS", "an empty line behind"),
        ("frontier", "deg_cap : int, optional\n", "cap : int, optional\n", "parameter deg_cap"),
        ("frontier", "\nn : int\n", "\nn : int\no : int\n", "parameter o: there is none"),
        ("frontier", "\nm : int\n", "\nm\n", "the type of parameter m"),
        ("pin_tile", "As in `frontier`", "As in `dashboards`", "dashboards does not describe it"),
        ("pin_tile", "As in `frontier`", "As in `edge`", "edge does not describe it"),
        ("frontier", "Returns\n-------\nNodeSample", "Gives", "what is returned"),
        ("adam_step", "Raises\n------", "Returns\n-------", "a value to return: there is none"),
        ("frontier", "TypeError, ValueError", "TypeError", "that it raises ValueError"),
        ("as_graph", "OverflowError", "ValueError", "that it raises OverflowError"),
        ("SubgraphPool", "TypeError, ValueError", "ValueError", "that it raises TypeError"),
        ("frontier", "O(m (n - m)) time", "Slow", "the complexity of a kernel"),
        ("karate", "Zachary 1977", "Zachary", "its source"),
        ("spmm", "(n_src, f) array", "array", "the shape of X"),
        ("spmm", "(e,) float32 or float64 array", "(e,) array", "the dtype of data"),
        ("spmm", "(n_dst, f) array of the same dtype", "array", "the dtype of array"),
        (
            "Partition",
            "starts : (Q + 1,) int64 array",
            "starts : int64",
            "the shape of field starts",
        ),
        ("Partition", "fits : bool\n", "", "field fits"),
        ("Partition", "fits : bool\n", "fit : bool\n", "field fits"),
        ("TrainConfig", "layers, hidden : ints", "layers : int", "field hidden"),
        ("Sampler", "clip : int, optional", "cut : int, optional", "parameter clip"),
    ],
)
def test_what_a_docstring_lacks_is_noticed(name, old, new, problem, monkeypatch):
    found = find(refimpl, name)
    text = inspect.cleandoc(found.__doc__)
    changed = text.replace(old, new, 1)
    assert changed != text
    monkeypatch.setattr(found, "__doc__", changed)
    assert any(problem in what for what in docstrings.problems(name))


def test_a_method_without_a_docstring_is_noticed(monkeypatch):
    cache = refimpl.BidirectionalCache.unbound
    monkeypatch.setattr(cache.admit, "__doc__", "Write the entries of some nodes.")
    assert "admit: parameter values" in docstrings.problems("BidirectionalCache")
    monkeypatch.setattr(cache.admit, "__doc__", None)
    assert "admit: a docstring" in docstrings.problems("BidirectionalCache")


def test_the_reference_has_every_public_name_once():
    """By topic, and every topic has its table on the page of all of them."""
    topics = sorted((DOCS / "reference").glob("*.md"))
    fence = re.compile(r"^```\{api\}\n(.*?)^```\s*$", re.M | re.S)
    blocks = [block for page in topics for block in fence.findall(page.read_text())]
    names = sorted(" ".join(blocks).split())
    assert names == sorted({"every_sampler", *homes()} - KERNELS.keys())
    tables = re.findall(r"^```\{api-table\} (\w+)$", (DOCS / "reference.md").read_text(), re.M)
    assert sorted(tables) == [page.stem for page in topics]


@pytest.mark.parametrize("name", DOCTESTS)
def test_examples_in_docstrings(name, gnn):
    """Doctests; their names are those of the topic and of the package, and `np`."""
    globs = {**vars(find_topic(gnn, homes()[name])), **vars(gnn), "np": np}
    test = doctest.DocTestParser().get_doctest(find(gnn, name).__doc__, globs, name, None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert test.examples
    assert runner.run(test).failed == 0


def test_examples_on_pages_are_run():
    """Pages show Python's answers by worked examples; nothing else would notice a wrong one."""
    assert not [page_id(page) for page in PAGES if re.search(r"^\s*>>> ", page.read_text(), re.M)]
    assert sum(map(len, EXAMPLES.values())) > 20


@pytest.mark.parametrize("page", [p for p, found in EXAMPLES.items() if found], ids=page_id)
def test_worked_examples_of_a_page_run(page, tmp_path, monkeypatch):
    """In order and with one set of names, as when the page is built."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for code in EXAMPLES[page]:
        worked_examples.run(code, namespace, page_id(page))


def test_a_worked_example_that_fails_says_where():
    namespace = {}
    assert worked_examples.run("x = 2\nprint(x, x + 1)", namespace, "page") == "2 3\n"
    with pytest.raises(RuntimeError, match=r"example of page fails in its line 2, 'y = 1 / 0'"):
        worked_examples.run("print(x)\ny = 1 / 0", namespace, "page")
    with pytest.raises(RuntimeError, match=r"line 1, 'if x'.*SyntaxError"):
        worked_examples.run("if x", namespace, "page")
    page = "```{worked-example}\nprint(1)\n```\ntext\n```{worked-example}\nprint(2)\n```\n"
    assert worked_examples.in_page(page) == ["print(1)\n", "print(2)\n"]


CODE_BLOCK = re.compile(r"^(`{3,}|~{3,})(?!\{toctree\}|\{figure\}).*?^\1\s*$", re.M | re.S)
INLINE_CODE = re.compile(r"(\{\w+\}`[^`\n]+`)|`[^`\n]+`")  # the first: a role, which stays


def text_outside_code(page):
    """Return a page without its code blocks and inline code."""
    return INLINE_CODE.sub(lambda found: found[1] or "", CODE_BLOCK.sub("", page))


def anchors(page):
    """Return what can stand behind the # of a link to a page: headings, and targets."""
    text = text_outside_code(page)
    headings = re.findall(r"^#+ (.*)$", page, re.M)
    slugs = {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}
    if "```{exercise-level}" in page:
        slugs |= {f"exercise-{name}" for name in exercises()}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, re.M))


def all_targets():
    """Return the targets that any page sets; MyST finds them from everywhere."""
    return {t for page in PAGES for t in re.findall(r"^\(([\w-]+)\)=$", page.read_text(), re.M)}


def dead_links(path, text, known=frozenset()):
    """Return the relative links, images and documents of a page that lead nowhere."""
    text = text_outside_code(text)
    dead = []
    links = re.findall(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)", text)
    links += re.findall(r"""<(?:img|a)\b[^>]*(?:src|href)=["']([^"']+)""", text)
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = link.partition("#")
        base = DOCS if place.startswith("/") else path.parent
        file = (base / place.lstrip("/")).resolve() if place else path
        if not file.exists():
            dead.append(link)
        elif anchor and file.suffix == ".md":
            found = anchors(file.read_text() if place else path.read_text())
            if anchor not in found and not (place == "" and anchor in known):
                dead.append(link)
    for name in re.findall(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`", text):
        base = DOCS if name.startswith("/") else path.parent
        if not (base / f"{name.lstrip('/')}.md").exists():
            dead.append(name)
    return dead


@pytest.mark.parametrize("page", [*PAGES, *READMES], ids=page_id)
def test_every_relative_link_leads_somewhere(page):
    assert dead_links(page, page.read_text(), all_targets()) == []


def test_dead_links_are_noticed():
    here = DOCS / "index.md"
    text = (
        "[a](errata.md) [b](nowhere.md) ![c](images/none.png) {doc}`reference` {doc}`no <none>`\n"
        "`[d](code.md)` [e](https://example.org) [f](#no-such) [g](#known) [h](errata.md#none)\n"
        '<img src="images/lost.png">\n```\n[i](in_code.md)\n```\n'
    )
    assert dead_links(here, text, {"known"}) == [
        "nowhere.md",
        "images/none.png",
        "#no-such",
        "errata.md#none",
        "images/lost.png",
        "none",
    ]


def test_every_page_is_in_a_table_of_contents():
    """Of the documentation; but for the start, and for what other pages include."""
    listed, included = {DOCS / "index.md"}, set()
    for page in PAGES:
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.M | re.S):
            names = [line.strip() for line in block.splitlines() if line.strip() and line[0] != ":"]
            names = [re.sub(r".*<(.*)>", r"\1", name) for name in names]
            listed |= {(page.parent / f"{name}.md").resolve() for name in names}
        for name in re.findall(r"^```\{include\} (\S+)", page.read_text(), re.M):
            included.add((page.parent / name).resolve())
    assert [page_id(p) for p in PAGES if p.resolve() not in listed | included] == []


def test_the_helpers_need_no_sphinx():
    """This file must run in an environment without the documentation's requirements."""
    for module in ("docstrings", "docs_ext", "paper_lines", "worked_examples"):
        source = Path(sys.modules[module].__file__).read_text()
        assert not re.search(r"^\s*(?:import|from) (?:sphinx|docutils|numpydoc)", source, re.M)
