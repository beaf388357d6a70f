"""What a lecture's Markdown says of itself: parts and their minutes, slides, notes, questions.

A deck is one page: `# title` is the title slide, each `## part` has its minutes in a directive
below it, each `### slide` is a slide. The site, the list of lectures and the tests read it here.
"""

import re
from pathlib import Path
from typing import NamedTuple

LECTURES = Path(__file__).parents[1] / "lectures"
DECKS = ("sampling", "fresh")
MINUTES = re.compile(r"^```\{minutes\} +(\d+)\s*$", re.M)


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
    """A lecture: the title slide stands alone, the others in parts."""

    name: str
    cover: Slide
    parts: list[Part]

    @property
    def slides(self):
        """All slides in their order, the cover first."""
        return [self.cover, *(slide for part in self.parts for slide in part.slides)]

    @property
    def minutes(self):
        """The sum of the parts' minutes."""
        return sum(part.minutes for part in self.parts)


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


def deck_of(name, text):
    """Return the Deck of a page's Markdown, or raise ValueError that says what it lacks."""
    cover, parts = None, []
    for depth, title, below in headings(text):
        if depth == 1:
            cover = Slide(title, below)
        elif depth == 2:
            minutes = MINUTES.findall(below)
            if len(minutes) != 1:
                raise ValueError(f"{name}: part {title!r} needs one ```{{minutes}}")
            parts.append(Part(title, int(minutes[0]), []))
        elif not parts:
            raise ValueError(f"{name}: slide {title!r} stands before the first part")
        else:
            parts[-1].slides.append(Slide(title, below))
    if cover is None:
        raise ValueError(f"{name} has no title")
    return Deck(name, cover, parts)


def read_deck(name):
    """Return the Deck of docs/lectures/NAME.md."""
    return deck_of(name, (LECTURES / f"{name}.md").read_text(encoding="utf-8"))
