"""Figures of the documentation as SVG text: panels of cells, nodes, arrows and words.

A drawing is one panel or more. Panels stand side by side where there is room; none is wider than a
phone. Colours are classes, which docs/_static/drawings.css gives a light and a dark form. The kinds
differ in lightness and in outline too: a figure can be read in grey.
"""

import math
from html import escape
from typing import NamedTuple

SIZE = 14  # of words, in pixels
KINDS = ("plain", "strong", "warm", "soft", "gone")


class Drawing(NamedTuple):
    """What a function of `_drawings` returns: a title, and panels in their order."""

    title: str
    panels: list


class Panel:
    """One picture of a drawing.

    Parameters
    ----------
    width, height : numbers
        In pixels, at the size at which it is drawn; a narrow screen makes it smaller.
    title : str
        What a screen reader says first.
    text : str
        What is seen, in words and with the numbers, for those who do not see it.
    """

    def __init__(self, width, height, title, text):
        self.width, self.height, self.title, self.text = width, height, title, text
        self.marks = []
        self.role = "img"  # a reader hears its title and text; what is in it is not read

    def add(self, tag, content=None, **attributes):
        """Add an element; `kind` is its class."""
        attributes["class"] = attributes.pop("kind", None)
        written = "".join(
            f' {name.replace("_", "-")}="{escape(shown(value))}"'
            for name, value in attributes.items()
            if value is not None
        )
        end = "/>" if content is None else f">{escape(str(content))}</{tag}>"
        self.marks.append(f"<{tag}{written}{end}")

    def words(self, x, y, words, *, anchor="middle", kind="", size=SIZE):
        """Write words, whose middle line is at y."""
        self.add(
            "text",
            words,
            x=x,
            y=y + 0.35 * size,
            text_anchor=anchor,
            font_size=size,
            kind=f"d-words {kind}".strip(),
        )

    def head(self, words):
        """Write the title of the panel above it."""
        self.words(2, 11, words, anchor="start", kind="bold", size=13)

    def note(self, x, y, words):
        """Write small words that begin at x."""
        self.words(x, y, words, anchor="start", kind="muted", size=12)

    def box(self, x, y, width, height, kind="plain", words=(), *, size=SIZE, round=3):
        """Draw a box with lines of words in its middle."""
        self.add("rect", x=x, y=y, width=width, height=height, rx=round, kind=f"d-{kind}")
        lines = [words] if isinstance(words, str) else list(words)
        for k, line in enumerate(lines):
            middle = y + height / 2 + (k - (len(lines) - 1) / 2) * size * 1.25
            self.words(x + width / 2, middle, line, kind=f"on-{kind}", size=size)

    def cells(self, x, y, values, kinds=None, *, side=30, size=SIZE):
        """Draw a row of cells; None is an empty one that nobody owns."""
        for k, value in enumerate(values):
            kind = kinds[k] if kinds else ("gone" if value is None else "plain")
            self.box(
                x + k * side, y, side, 28, kind, "" if value is None else str(value), size=size
            )

    def node(self, x, y, words, kind="plain", radius=15):
        """Draw a node of a graph."""
        self.add("circle", cx=x, cy=y, r=radius, kind=f"d-{kind}")
        self.words(x, y, words, kind=f"on-{kind}")

    def line(self, x1, y1, x2, y2, kind="line"):
        """Draw a line."""
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, kind=f"d-{kind}")

    def arrow(self, x1, y1, x2, y2, kind="line", *, gap=0):
        """Draw an arrow that ends `gap` before its target."""
        length = math.hypot(x2 - x1, y2 - y1) or 1
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        x1, y1, x2, y2 = x1 + gap * ux, y1 + gap * uy, x2 - gap * ux, y2 - gap * uy
        self.line(x1, y1, x2 - 5 * ux, y2 - 5 * uy, kind)
        left, right = (
            (x2 - 9 * ux - 4 * uy, y2 - 9 * uy + 4 * ux),
            (
                x2 - 9 * ux + 4 * uy,
                y2 - 9 * uy - 4 * ux,
            ),
        )
        points = " ".join(f"{shown(x)},{shown(y)}" for x, y in ((x2, y2), left, right))
        self.add("polygon", points=points, kind=f"d-head d-head-{kind}")

    def path(self, points, kind="line"):
        """Draw a line through points."""
        way = "M" + " L".join(f"{shown(x)} {shown(y)}" for x, y in points)
        self.add("path", d=way, kind=f"d-{kind} d-open")

    def link(self, page, x, y, width, height, kind, words):
        """Draw a box that leads to a page, as "learn/frontier"; its words: name, and question."""
        self.role = "group"  # links within an image could not be reached
        self.marks.append(f'<a href="page:{escape(page)}">')
        self.box(x, y, width, height, kind)
        name, question = words
        self.words(x + width / 2, y + height / 2 - 9, name, kind=f"on-{kind} name")
        self.words(x + width / 2, y + height / 2 + 9, question, kind=f"on-{kind}", size=13)
        self.marks.append("</a>")

    def markup(self, name):
        """Return the panel as SVG; `name` is its own on a page."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="{self.role}" class="drawing" '
            f'viewBox="0 0 {shown(self.width)} {shown(self.height)}" width="{shown(self.width)}" '
            f'aria-labelledby="{name}-title" aria-describedby="{name}-text">'
            f'<title id="{name}-title">{escape(self.title)}</title>'
            f'<desc id="{name}-text">{escape(self.text)}</desc>'
            f"{''.join(self.marks)}</svg>"
        )


def shown(value):
    """Return a number as short as it can be."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


class Axes:
    """A plot in a panel: from numbers to places, with a frame and ticks.

    Parameters
    ----------
    panel : Panel
    x, y : (low, high)
        Of the numbers.
    frame : (left, top, right, bottom)
        In the panel.
    log : bool
        Whether y is logarithmic.
    """

    def __init__(self, panel, x, y, frame, *, log=False):
        self.panel, self.x, self.y, self.frame, self.log = panel, x, y, frame, log
        left, top, right, bottom = frame
        panel.path([(left, top), (left, bottom), (right, bottom)], "axis")

    def place(self, x, y):
        """Return where a point is."""
        left, top, right, bottom = self.frame
        low, high = self.y
        if self.log:
            y, low, high = math.log10(y), math.log10(low), math.log10(high)
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        return left + across * (right - left), bottom - (y - low) / (high - low) * (bottom - top)

    def ticks(self, xs, ys):
        """Write numbers at the axes, with thin lines for those of y."""
        left, _, right, bottom = self.frame
        for x in xs:
            at, _ = self.place(x, self.y[0])
            self.panel.words(at, bottom + 14, f"{x:,}", size=12)
        for y in ys:
            _, at = self.place(self.x[0], y)
            self.panel.line(left, at, right, at, "grid")
            self.panel.words(left - 6, at, f"{y:,}", anchor="end", size=12)

    def curve(self, points, kind="curve", *, dots=False):
        """Draw a line through numbers."""
        places = [self.place(*point) for point in points]
        self.panel.path(places, kind)
        for x, y in places if dots else ():
            self.panel.add("circle", cx=x, cy=y, r=4, kind=f"d-dot d-dot-{kind}")
