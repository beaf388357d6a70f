"""The lectures' Markdown: parts with their minutes, slides with the text below their headings."""

import re
from typing import NamedTuple

from docs_ext import DOCS

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
