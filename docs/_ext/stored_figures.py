"""A panel of a stored figure (docs/results/ID.svg) as inline SVG in the colours of the page."""

import re
import xml.etree.ElementTree as ET
from html import escape

SVG, LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
MARGINS = (
    48,
    20,
    6,
    52,
)  # of a panel's axes, for ticks, labels and title: left, top, right, bottom
COLOURS = {  # colour of bench.figures -> its name in the style of the deck
    "#000000": "currentColor",
    "#ffffff": "var(--deck-paper)",
    "#b0b0b0": "var(--deck-line)",
    "#3d3d3d": "var(--deck-soft)",
    "#0b3c5d": "var(--series-1)",
    "#d1495b": "var(--series-2)",
    "#5b8c5a": "var(--series-3)",
    "#e0a458": "var(--series-4)",
    "#7a5195": "var(--series-5)",
    "#57a0c9": "var(--series-6)",
}


def panel_of(path, number, serial):
    """Return (SVG of panel `number` of a figure, its legend in HTML).

    The first panel is 1. Ids get `serial` into their names, so that figures can share a page.
    Raises ValueError if there is no such panel.
    """
    ET.register_namespace("", SVG)
    ET.register_namespace("xlink", LINK)
    root = ET.parse(path).getroot()
    figure = root.find(f"{{{SVG}}}g")
    panels = [g for g in figure if g.get("id", "").startswith("axes_") and limits(g)]
    if not 1 <= number <= len(panels):
        raise ValueError(f"panel {number} is not one of its {len(panels)}")
    panel = panels[number - 1]
    legend = legend_of(figure)
    for child in [g for g in figure if g is not panel]:
        figure.remove(child)
    for child in [node for node in root if node.tag.endswith("metadata")]:
        root.remove(child)
    left, top, right, bottom = limits(panel)
    x, y = left - MARGINS[0], top - MARGINS[1]
    width, height = right - x + MARGINS[2], bottom - y + MARGINS[3]
    root.attrib = {"viewBox": f"{x:.1f} {y:.1f} {width:.1f} {height:.1f}"}
    text = enlarged(coloured(ET.tostring(root, encoding="unicode")))
    return with_ids_of(text, f"f{serial}-"), legend


def limits(axes):
    """Return left, top, right and bottom of a panel's axes; None if it draws nothing."""
    path = axes.find(f".//{{{SVG}}}path")
    if path is None:
        return None
    numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", path.get("d"))]
    return min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])


def coloured(svg):
    """Return an SVG in which fixed colours are those of the page."""
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: COLOURS.get(found[0], found[0]), svg)


def enlarged(svg):
    """Return an SVG whose words are a little larger, legends' most: it is read from afar."""
    return re.sub(
        r"font-size: ([\d.]+)px",
        lambda found: f"font-size: {max(1.15 * float(found[1]), 9.2):.2f}px",
        svg,
    )


def with_ids_of(svg, prefix):
    """Return an SVG whose ids, and what refers to them, begin with `prefix`."""
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}", svg)


def legend_of(figure):
    """Return the legend that a figure's panels share as a list in HTML; "" if there is none."""
    entries, style = [], ""
    for node in figure.findall(f"./{{{SVG}}}g[@id='legend_1']/*"):
        drawn = node.find(f".//{{{SVG}}}path")
        if drawn is not None:
            style = drawn.get("style", "")
        words = "".join(node.itertext()).strip()
        if words:
            found = re.search(r"(?:stroke|fill): (#[0-9a-f]{6})", style)
            colour = COLOURS.get(found[1], found[1]) if found else "currentColor"
            dash = " class=dashed" if "stroke-dasharray" in style else ""
            entries.append(f'<li{dash} style="--colour: {colour}">{escape(words)}</li>')
    return f'<ul class="legend">{"".join(entries)}</ul>' if entries else ""
