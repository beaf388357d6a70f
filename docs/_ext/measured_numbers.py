"""The numbers of the tables of docs/measurements.md. Needs no Sphinx; the tests read it too."""

import re

PAGE = "measurements"
HEADING = re.compile(r"^## (.+)$")
MARKS = "~*!`"


def cells_of(line):
    """Return the texts of a row of a table in Markdown."""
    return [cell.strip().strip(MARKS) for cell in line.strip().strip("|").split("|")]


def sections(text):
    """Return {section's address: its lines}."""
    found, lines = {}, []
    for line in text.splitlines():
        if match := HEADING.match(line):
            lines = found[re.sub(r"[^\w]+", "-", match[1].lower()).strip("-")] = []
        else:
            lines.append(line)
    return found


def number(text, path):
    """Return the cell of a table at (section, cells that a row begins with .., column's title).

    Raises
    ------
    ValueError
        If there is none, or more than one.
    """
    place, *begins, title = path
    section, _, caption = place.partition(": ")
    found, heads, behind = set(), None, ""
    for line in sections(text).get(section, ()):
        if not line.startswith("|"):
            heads = None
            behind = line[2:] if line.startswith("**") else behind
        elif not behind.startswith(caption):
            continue
        elif heads is None:
            heads = cells_of(line)
        elif title in heads and cells_of(line)[: len(begins)] == begins:
            found.add(cells_of(line)[heads.index(title)])
    found -= {"-", ""}
    if len(found) != 1:
        raise ValueError(f"{' / '.join(path)}: {len(found)} such cells in {PAGE}.md; one is needed")
    return found.pop()
