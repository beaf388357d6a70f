"""The lectures' Markdown: minutes, notes, questions, and that no measured number is typed."""

import csv
import json
import re
from collections import Counter
from typing import NamedTuple

import pytest
from docs_ext import DOCS, stored_results

MINUTES = re.compile(r"^```\{minutes\} +(\d+)\s*$", re.M)
NAMES = ("sampling", "fresh")


class Slide(NamedTuple):
    """A slide: its heading and the Markdown below it."""

    title: str
    text: str

    def holds(self, directive):
        """Return the arguments of each use of a directive on the slide."""
        return [
            found.strip() for found in re.findall(rf"^`+\{{{directive}\}}(.*)$", self.text, re.M)
        ]


class Part(NamedTuple):
    """A part of a lecture, of some minutes and slides."""

    title: str
    minutes: int
    slides: list[Slide]


class Deck(NamedTuple):
    """A lecture: its title slide stands alone, the others in parts."""

    name: str
    cover: Slide
    parts: list[Part]

    @property
    def slides(self):
        """All slides in their order, the cover first."""
        return [self.cover, *(slide for part in self.parts for slide in part.slides)]


def headings(text):
    """Yield (depth, title, text below it) of the headings of a page, none of those in fences."""
    found, fence = [], ""
    for line in text.splitlines(keepends=True):
        if mark := re.match(r"(`{3,})", line):
            fence = "" if fence == mark[1] else fence or mark[1]
        heading = None if fence else re.match(r"(#{1,3}) +(.+)$", line)
        if heading:
            found.append((len(heading[1]), heading[2].strip(), []))
        elif found:
            found[-1][2].append(line)
    for depth, title, lines in found:
        yield depth, title, "".join(lines)


def read_deck(name):
    """Return the Deck of docs/lectures/NAME.md."""
    (_, title, text), *others = headings((DOCS / "lectures" / f"{name}.md").read_text("utf-8"))
    deck = Deck(name, Slide(title, text), [])
    for depth, title, below in others:
        if depth == 2:
            (minutes,) = MINUTES.findall(below)
            deck.parts.append(Part(title, int(minutes), []))
        else:
            deck.parts[-1].slides.append(Slide(title, below))
    return deck


DECKS = {name: read_deck(name) for name in NAMES}
SLIDES = [(name, slide) for name, deck in DECKS.items() for slide in deck.slides]
ADDRESS = re.compile(r"\{result(?:-lead)?\}`([^`]+)`")

# Numbers that are typed: settings and places in the papers, none of them measured.
SETTINGS = {
    "90": "minutes",
    "512": "roots of a batch",
    "1000": "m in the papers",
    "100": "the iteration from which the paper counts",
    "20": "the lag of a comparison",
    "40": "cores of the papers' machine",
    "200": "t_stale in the paper",
    "0.8": "the similarity that the paper asks for",
}
PLACES = re.compile(
    r"(IPDPS|JPDC|VLDB)'\d\d|(IPDPS|JPDC|ICLR|ICML|PVLDB) 20\d\d|E-[A-Z]\d+|CSR2|section \d(\.\d)*"
    r"|(Algorithm|Equation|Theorem|[Ll]ines?) \d+( and \d+)?|FreshGNN Algorithm 1:.*"
)


def blocks(*directives):
    """Return a pattern of the blocks of some directives, those inside others too."""
    return re.compile(rf"^(`{{3,}})\{{({'|'.join(directives)})\}}.*\n(?:.*\n)*?\1$", re.M)


SILENT = blocks("printed", "panels", "bars", "image", "reference-code", "outcomes")


def typed_numbers(text):
    """Return the numbers that the author of a slide wrote, in words that a room reads or hears."""
    text = SILENT.sub("", text)
    text = re.sub(r"^`{3,}\{claim\}.*|^`{3,}(\{[\w-]+\})?|^:\w+:.*$", "", text, flags=re.M)
    text = re.sub(
        r"\{[\w-]+\}`[^`]*`|`[^`]*`|\]\([^)]*\)|\$\$.*?\$\$|\$[^$]*\$", "", text, flags=re.S
    )
    text = re.sub(r"^\d+\. ", "", PLACES.sub("", text), flags=re.M)
    return re.findall(r"[+-]?\d(?:[\d.,]*\d)?[%x]?", text)


@pytest.mark.parametrize("deck", DECKS.values(), ids=lambda d: d.name)
def test_a_lecture_has_90_minutes(deck):
    assert sum(part.minutes for part in deck.parts) == 90
    assert all(part.minutes > 0 and part.slides for part in deck.parts)
    assert 35 <= len(deck.slides) <= 50


@pytest.mark.parametrize(("name", "slide"), SLIDES, ids=lambda x: getattr(x, "title", x))
def test_every_slide_says_what_to_say_ask_and_watch(name, slide):
    assert len(slide.holds("notes")) == 1
    (notes,) = re.findall(r"^```\{notes\}\n(.*?)^```$", slide.text, re.M | re.S)
    for head in ("**Say.** ", "**Ask.** ", "**Stumble.** "):
        assert notes.count(head) == 1, head
        said = notes.partition(head)[2].partition("\n\n**")[0]
        assert len(said.split()) >= 2, head
    assert len(notes.split()) >= 25


@pytest.mark.parametrize("deck", DECKS.values(), ids=lambda d: d.name)
def test_goals_questions_and_moments_for_the_class(deck):
    goals, last = deck.slides[1], deck.slides[-1]
    assert "you can" in goals.title and goals.text.count("\n- ") >= 5
    assert last.title == "What to read" and last.text.count("](") >= 3
    asked = [words for slide in deck.slides for words in slide.holds("question")]
    assert len(asked) == 5 and all(words.endswith("?") for words in asked)
    moments = [slide for slide in deck.slides if slide.holds("predict")]
    assert len(moments) >= 3
    assert sum(bool(slide.holds("reveal")) for slide in moments) >= 3
    links = "".join(slide.text for slide in deck.slides)
    assert "{step}" in links and ("playground" in links or "{play}" in links)


@pytest.mark.parametrize(("name", "slide"), SLIDES, ids=lambda x: getattr(x, "title", x))
def test_no_measured_number_is_typed(name, slide):
    typed = [number.rstrip(".,") for number in typed_numbers(slide.text)]
    odd = [n for n in typed if n not in SETTINGS and not (n.isdigit() and int(n) <= 12)]
    assert odd == []


def test_a_typed_measurement_would_be_found():
    text = "It is 5.3 times as fast, saves 59% and 41.8 points, in 1,084 us or 25x.\n"
    assert typed_numbers(text) == ["5.3", "59%", "41.8", "1,084", "25x"]
    assert typed_numbers("{result}`V-fig14; 768; degree` and $x = 5.5$\n") == []


def addresses():
    """Return all addresses of cells in the lectures."""
    found = []
    for _, slide in SLIDES:
        found += ADDRESS.findall(slide.text)
        for block in blocks("bars").finditer(slide.text):
            found += [line.partition(" = ")[2] for line in block[0].splitlines() if " = " in line]
    return found


def test_there_are_numbers_and_each_is_a_cell_of_the_results():
    assert len(addresses()) > 40
    for address in addresses():
        id, *_ = address.split(";")
        stored = json.loads((DOCS / "results" / f"{id}.json").read_text(encoding="utf-8"))
        cells = Counter(cell for row in stored["table"] for cell in row)
        shown = stored_results.result(address)
        assert shown in cells or any(shown in cell for cell in cells), address


def test_a_cell_is_that_of_the_row_and_column():
    """Against the medians of the rows that the figure's command wrote beside the table."""
    with (DOCS / "results" / "V-fig14.csv").open(encoding="utf-8") as file:
        rows = {(r["overflow"], r["d"], r["policy"]): r["saved"] for r in csv.DictReader(file)}
    for overflow in ("wrap", "drop"):
        for d in ("768", "128"):
            shown = stored_results.result(f"V-fig14; full buffer={overflow}; d={d}; degree")
            assert shown == f"{float(rows[overflow, d, 'degree']):.1%}"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("V-fig99; a", "no 'V-fig99'"),
        ("V-fig14; wrap; degree", "2 rows"),
        ("V-fig14; nothing; degree", "0 rows"),
        ("V-fig14; wrap; d=768; nothing", "no single column"),
        ("V-fig11; ranks=4; busiest, MiB", "no single column"),
        (
            "I-fig4; edge; p_inter=2; 14,755 nodes, degree 31; speed-up > Theorem 9",
            "no 'Theorem 9'",
        ),
    ],
)
def test_an_address_that_names_no_one_cell_is_refused(address, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        stored_results.result(address)


def test_bars_are_as_long_as_their_numbers():
    assert stored_results.number_in("1,237,890 us") == 1237890
    assert stored_results.number_in("-0.36 (-1.18 to +0.75)") == -0.36
    assert stored_results.shares_of([1, 2, 4]) == [0.25, 0.5, 1]
    short, middle, long = stored_results.shares_of([1, 100, 10000], log=True)
    assert 0 < short < middle < long == 1
    assert middle - short == pytest.approx(long - middle)


def test_the_syllabus_has_each_part_and_its_minutes_in_one_week():
    """And each page of the course that has a summary."""
    text = (DOCS / "lectures" / "syllabus.md").read_text(encoding="utf-8")
    weeks = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
        if line[:1] == "|"
    ]
    known = {
        (deck.name, part.title): part.minutes for deck in DECKS.values() for part in deck.parts
    }
    shown = []
    for _, _, _, lecture, minutes in weeks[2:]:
        found = re.fullmatch(r"\[(.*)\]\((\w+)\.md\): (.*)", lecture)
        parts = [(found[2], title) for title in found[3].split("; ")] if found else []
        assert (minutes or "0") == str(sum(known[part] for part in parts))
        assert not found or found[1] == DECKS[found[2]].cover.title
        shown += parts
    assert sorted(shown) == sorted(known)
    pages = [page for week in weeks for page in re.findall(r"\[\]\(/learn/(\w+)\.md\)", week[2])]
    course = [page for page in (DOCS / "learn").glob("*.md") if "## Summary" in page.read_text()]
    assert sorted(pages) == sorted(page.stem for page in course)
