"""Directives that list the papers' algorithms and errata.

    algorithm-index    every numbered algorithm of the papers, its page and its functions
    errata-of          the rows of errata.md that touch algorithms, folded

Wherever text says E-B3, it becomes a link to that row of errata.md.
"""

import re

from docutils import nodes
from generated import ancestors, extension, folded, table
from paper_lines import DOCS, ERRATUM, TITLES, load_algorithms
from paper_lines import errata_of as errata_touching
from sphinx import addnodes

TABLE_HEAD = "| id | where | printed | here, and why | test |\n| --- | --- | --- | --- | --- |\n"
APART = nodes.literal, nodes.literal_block, nodes.reference, nodes.title, nodes.raw


def algorithm_index():
    """Return a table of every numbered algorithm: its page, and the functions that are its lines.

    Where these are more than one, it says why.
    """
    head = "paper", "algorithm", "name", "lines", "reference", "why not one function"
    taught, rows = pages_of_algorithms(), []
    for key, entry in load_algorithms().items():
        name = entry["name"]
        if key in taught:
            name = f"[{name}](/{taught[key]}.md#{key.replace(':', '-')})"
        where = ", ".join(f"{{source}}`{one}`" for one in entry.get("functions", ()))
        if "same_as" in entry:
            where = f"as JPDC'21 Algorithm {entry['same_as']}"
        paper, split = TITLES[entry["paper"]], entry.get("split", "")
        rows.append((paper, entry["number"], name, entry["lines"], where, split))
    return table(head, rows)


def pages_of_algorithms():
    """Return a dict from algorithms to the page of docs/learn that has their target.

    The target of "jpdc21:3" is the line `(jpdc21-3)=`.
    """
    return {
        ":".join(target): f"learn/{page.stem}"
        for page in sorted((DOCS / "learn").glob("*.md"))
        for target in re.findall(r"^\((\w+)-(\d+)\)=$", page.read_text(), re.M)
    }


def errata_of(keys):
    """Return the rows of errata.md that touch the algorithms named, folded."""
    errata = errata_touching(keys.split())
    if not errata:
        return "No erratum touches these lines.\n"
    count = f"{len(errata)} errata touch" if len(errata) > 1 else "One erratum touches"
    return folded(f"{count} these lines", TABLE_HEAD + "\n".join(one.row for one in errata))


def link_errata(app, doctree):
    """Give the rows of errata.md their ids, and link every erratum's id in text to its row."""
    if app.env.docname == "errata":
        for entry in doctree.findall(lambda node: isinstance(node, nodes.row | nodes.list_item)):
            if found := ERRATUM.match(entry.astext()):
                entry["ids"].append(found[0].lower())
                if isinstance(entry, nodes.row):
                    entry[0]["classes"].append("erratum")
    page = app.builder.get_relative_uri(app.env.docname, "errata")
    for text in list(doctree.findall(nodes.Text)):
        above = list(ancestors(text))
        if any(isinstance(one, (*APART, addnodes.pending_xref)) for one in above):
            continue
        own, made, at = {id for one in above for id in one.get("ids", ())}, [], 0
        for found in ERRATUM.finditer(text):
            if found[0].lower() not in own:
                uri, words = f"{page}#{found[0].lower()}", nodes.inline("", found[0])
                words["classes"].append("erratum")
                link = nodes.reference("", "", words, internal=True, refuri=uri)
                made += [nodes.Text(text[at : found.start()]), link]
                at = found.end()
        if made:
            text.parent.replace(text, [*made, nodes.Text(text[at:])])


setup = extension(algorithm_index, errata_of, doctree_read=link_errata)
