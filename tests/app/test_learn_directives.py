"""The directives `drawing` and `paper-beside-code`: what they write and refuse."""

import importlib
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from docs_ext import DOCS, paper_lines

pytest.importorskip("sphinx", reason="sphinx is not installed")
pytestmark = pytest.mark.runs

CONF = f"""
import sys
sys.path.insert(0, {str(DOCS / "_ext")!r})
extensions = ["myst_parser", "mathml", "source_code", "drawings", "algorithms"]
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
html_theme = "basic"
templates_path = [{str(DOCS / "_templates")!r}]
"""
ERRATA = "# Errata\n\n| id | where |\n| --- | --- |\n"


@pytest.fixture
def build(tmp_path):
    """Return a function that builds a page `text` and returns (messages, its HTML)."""

    def build(text):
        ids = "".join(f"| {erratum.id} | somewhere |\n" for erratum in paper_lines.read_errata())
        pages = {"conf.py": CONF, "errata.md": ERRATA + ids, "learn/frontier.md": "# Frontier"}
        for name, content in {**pages, "index.md": f"# Index\n\n{text}"}.items():
            path = tmp_path / "docs" / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(content if name == "index.md" else f"---\norphan: true\n---\n{content}")
        (tmp_path / "docs" / "conf.py").write_text(CONF)
        command = [sys.executable, "-m", "sphinx", "-q", "-b", "html"]
        done = subprocess.run(
            [*command, tmp_path / "docs", tmp_path / "site"], capture_output=True, text=True
        )
        return done.stderr, (tmp_path / "site" / "index.html").read_text()

    return build


def test_a_drawing_has_its_caption_and_its_options(build):
    messages, html = build(
        "```{drawing} cleanup\n:form: slots\nA *slot*.\n```\n\n```{drawing} law-of-a-step\n```\n"
    )
    assert messages == ""
    pictures = re.findall(r"<svg .*?</svg>", html, re.S)
    assert len(pictures) == 4
    names = {part.get("id") for one in pictures for part in ElementTree.fromstring(one)} - {None}
    assert len(names) == 8  # a title and a text each, whose names are taken once
    assert ">offset</text>" in html and "<em>slot</em>" in html
    assert "A step takes one of the frontier" in html  # its title, as there is no other caption


REFUSED = {
    "```{drawing} nothing\n```": "'nothing' is none of alias-table, ",
    "```{drawing} cleanup\n:form: tiles\n```": "cleanup {'form': 'tiles'}: 'tiles'",
    "```{drawing} frontier-steps\n:form: pins\n```": "unexpected keyword argument 'form'",
    "```{drawing} concept-map\n```": "which is no page",
    "```{paper-beside-code} jpdc21:9\n```": "'jpdc21:9' is not in docs/algorithms.toml",
    "```{paper-beside-code} jpdc21:2\n:first: two\n```": "invalid literal for int()",
}


def test_what_cannot_be_shown_is_said(build):
    messages, _ = build("\n\n".join(REFUSED))
    for message in REFUSED.values():
        assert message in messages, message


def test_words_and_code_stand_in_rows(build):
    messages, html = build("```{paper-beside-code} jpdc21:2\n:first: 3\n```\n")
    assert messages == ""
    rows = re.split(r'<div class="beside-row[^"]*">|<div class="[^"]*beside-row[^"]*">', html)[2:]
    assert len(rows) == 9
    (four,) = [row for row in rows if 'id="jpdc21-2-line-4"' in row]
    assert "Choose a frontier node" in four and "searchsorted" in four
    row = next(c.row for c in paper_lines.paper_lines("jpdc21:2")[3].code)
    assert f'href="source/refimpl/samplers/frontier.html#L{row}"' in four
    assert 'href="errata.html#e-b3"' in html
    folded = html[html.index("<details") : html.index("</details>")]
    assert "jpdc21-2-line-2" in folded and "jpdc21-2-line-3" not in folded
    assert "Line 8 ends a block or is a comment." in html


def test_folded_code_is_closed_under_its_words(build):
    messages, html = build(
        "```{reference-code} refimpl.cost_models:theorem1\n:fold: More & more\n```\n"
    )
    assert messages == ""
    assert '<details class="folded"><summary>More &amp; more</summary>' in html
    assert "theorem1" in html and "<details open" not in html


@pytest.mark.parametrize(
    ("tex", "names"),
    [
        (r"\tilde h_u", ["msub", "mover", "mi", "mo", "mi"]),
        (r"{\tilde h}_u^{(l)}", ["msubsup", "mover", "mi", "mo", "mi", "mrow", "mo", "mi", "mo"]),
        (r"\sum_{v \in V}", ["munder", "mo", "mrow", "mi", "mo", "mi"]),  # a limit stays below
        (r"p_{grad}", ["msub", "mi", "mi"]),
    ],
)
def test_scripts_stand_behind_a_letter_with_a_mark(tex, names):
    mathml, nodes = importlib.import_module("mathml"), importlib.import_module("docutils.nodes")
    tree = ElementTree.fromstring(mathml.mathml(nodes.math("", tex), as_block=False))
    assert [part.tag.rpartition("}")[2] for part in tree.iter()][1:] == names


def test_words_light_the_shapes_of_a_drawing(build):
    messages, html = build(
        "```{drawing} frontier-steps\n{lit}`Amber *nodes* <frontier-steps:warm>`.\n```\n"
    )
    assert messages == ""
    assert '<span class="lit frontier-steps:warm">Amber *nodes*</span>' in html
    assert "of-frontier-steps" in html


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("x", "expected text <DRAWING:KIND>"),
        ("x <no-such:warm>", "expected text <DRAWING:KIND>"),
        ("x <frontier-steps:blue>", "a kind of plain, strong, warm"),
        ("x <frontier-steps:warm>", "nothing on the page is frontier-steps:warm"),
    ],
)
def test_words_that_light_nothing_are_refused(build, words, message):
    messages, _ = build(f"{{lit}}`{words}`")
    assert message in messages


def test_the_page_of_questions_has_those_of_every_page_in_their_order():
    pages = importlib.import_module("learn_pages").pages()
    asked = [page for page, text in pages if "\n## Questions and answers\n" in text]
    shown = r"^\*\*\[\]\(/(.+)\.md\)\*\*\n\n```\{include\} \1\.md$"
    assert re.findall(shown, (DOCS / "questions.md").read_text(), re.M) == asked
    assert len(asked) == 12
