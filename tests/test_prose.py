"""Pages avoid the habits that made readers read a sentence twice."""

import re
from dataclasses import dataclass

import pytest
from docs_ext import DOCS, ROOT

PAGES = [
    *sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]
MOST = 60  # matches on all pages together; a pattern also matches some good sentences


@dataclass(frozen=True)
class Habit:
    """A habit, the pattern that finds it, what to write instead, and a sentence with it."""

    name: str
    pattern: str
    advice: str
    example: str


HABITS = [
    Habit(
        "fronted phrase",
        r"(?:^|[.:;] +|\n\s*)(?:Of|From|By) (?!course)[a-zA-Z`$]",
        "begin with the subject",
        "Of the rows half are stable.",
    ),
    Habit(
        "so many",
        r"\bso (?:many|much)\b(?! as| that)",
        "name the number",
        "Probes are counted in rounds of so many.",
    ),
    Habit(
        "as for because",
        r", as (?!well|if|though|in\b|on\b|for\b|far|long|soon|many|a\b|of\b|an\b|is\b|above"
        r"|described|printed|`|\{|\d)",
        "write because, or like",
        "The run is refused, as it would replace another.",
    ),
    Habit(
        "but for, Else",
        r"\bbut for\b|(?:^|[.;] +)Else\b",
        "write except, or otherwise",
        "All pass but for one.",
    ),
    Habit(
        "that of",
        r"\b(?:that|those) (?:of|which|between|with|who|at)\b|, (?:that|those) [a-z]+ ",
        "repeat the noun",
        "The law is that of the frontier.",
    ),
    Habit(
        "that is there",
        r"\bthat (?:is|are|was) there\b|\bwhere (?:that|it|there) (?:is|are)\b"
        r"|\bwhat (?:is|was) (?:left|there|printed|typed|asked|given)\b",
        "name the thing: existing, the rest, as printed",
        "It gets what is left.",
    ),
    Habit(
        "stands",
        r"\bstands?\b(?! for)|\bis told\b|\btaken for\b|\bin the place of\b|\bthe print\b",
        "write is, is updated, instead of, as printed",
        "The degree stands beside the node.",
    ),
    Habit(
        "nobody",
        r"\bnobody\b|\bis none\b|\bare none\b|\bno [a-z]+ but\b",
        "name who or what, and negate the verb",
        "An entry that nobody owns is a miss.",
    ),
    Habit(
        "times as fast by",
        r"\btimes as (?:fast|long|many) (?:a|as many|by)\b|\bof as many\b",
        "give the number its noun, unit and direction",
        "It is twice, or 2.1 times as fast by layers.",
    ),
]
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
        (habit.name, text[max(found.start() - 30, 0) : found.end() + 30], habit.advice)
        for habit in HABITS
        for found in re.finditer(habit.pattern, text)
    ]


def test_pages_have_few_habits():
    """If this fails, rewrite sentences of the list; the patterns and the number stay."""
    found = [
        f"{page.relative_to(ROOT)}: {name}: ..{text!r}..: {advice}"
        for page in PAGES
        for name, text, advice in matches(prose(page.read_text()))
    ]
    assert len(found) <= MOST, "\n".join(found)


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.name)
def test_a_habit_is_noticed(habit):
    names = [name for name, *_ in matches(prose(f"# Title\n\nA line.\n\n{habit.example}\n"))]
    assert names == [habit.name]


def test_code_and_headings_are_not_read():
    page = "# What stands\n\n```python\nx = 'stands'\n```\n\n    it stands\n\nA `word` here.\n"
    assert matches(prose(page)) == []
    assert [m[0] for m in matches(prose("```{drawing} a\nIt stands.\n```\n"))] == ["stands"]
