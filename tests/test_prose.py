"""Pages avoid the habits that made readers read a sentence twice."""

import re
import sys
from pathlib import Path

import pytest
from docs_ext import DOCS, ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PAGES = [
    *sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]
MOST = 60  # matches on all pages together; a pattern also matches some good sentences
HABITS = tomllib.loads((Path(__file__).parent / "prose_habits.toml").read_text())["habit"]
READ_INSIDE = ("{notes", "{lead", "{aside", "{glossary", "{drawing", "{live")


def prose(page):
    """Return the text of a page without code, directives' content, headings and indented code."""
    kept, fence = [], False
    for line in page.splitlines():
        mark = re.match(r"\s*(`{3,})(.*)", line)
        if mark:
            word = mark[2].strip()
            if fence:
                fence = bool(word)
            elif len(mark[1]) == 3 and word and not word.startswith(READ_INSIDE):
                fence = True
        elif not (fence or line.startswith(("    ", "#", ":::"))):
            kept.append(line)
    return re.sub(r"\n(?=\S)", " ", "\n".join(kept))


def matches(text):
    """Return (name of the habit, what matched with the words around it, advice) of each match."""
    return [
        (habit["name"], text[max(found.start() - 30, 0) : found.end() + 30], habit["advice"])
        for habit in HABITS
        for found in re.finditer(habit["pattern"], text)
    ]


def test_pages_have_few_habits():
    """If this fails, rewrite sentences of the list; the patterns and the number stay."""
    found = [
        f"{page.relative_to(ROOT)}: {name}: ..{text!r}..: {advice}"
        for page in PAGES
        for name, text, advice in matches(prose(page.read_text()))
    ]
    assert len(found) <= MOST, "\n".join(found)


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit["name"])
def test_a_habit_is_noticed(habit):
    names = [name for name, *_ in matches(prose(f"# Title\n\nA line.\n\n{habit['example']}\n"))]
    assert names == [habit["name"]]


def test_code_and_headings_are_not_read():
    page = "# What stands\n\n```python\nx = 'stands'\n```\n\n    it stands\n\nA `word` here.\n"
    assert matches(prose(page)) == []
    assert [m[0] for m in matches(prose("```{drawing} a\nIt stands.\n```\n"))] == ["stands"]
