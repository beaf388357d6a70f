"""Directives of the pages that teach: code, indexes and errata from the source.

    reference-code     the source of "module:name", as it is, without docstrings; with the
                       option `fold` it is closed at first, under these words
    algorithm-index    every numbered algorithm of the papers, its page and its functions
    equation-index     every numbered equation and theorem, and its functions
    errata-of          the rows of errata.md that touch algorithms, folded
    source (a role)    a link to a source file: {source}`fastimpl/_graph.pyx`

Wherever text says E-B3, it becomes a link to that row of errata.md.
"""

import ast
import re

from api_reference import ancestors
from docutils import nodes
from folding import folded_part_of
from generated import directive, folded, role, table
from paper_lines import (
    DOCS,
    ERRATUM,
    PACKAGES,
    TITLES,
    errata_of,
    load_algorithms,
    load_statements,
    source_of,
)
from source_pages import link_to, numbered_code, source_files
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

TABLE_HEAD = "| id | where | printed | here, and why | test |\n| --- | --- | --- | --- | --- |\n"


class ReferenceCode(SphinxDirective):
    """Show the source of "module:name" without its docstrings."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"fold": str}

    def run(self):
        blocks = []
        for place in self.arguments[0].split():
            try:
                path, first, source = source_of(place)
            except (ImportError, AttributeError, TypeError, OSError) as error:
                raise self.error(f"reference-code: no source of {place!r}: {error}") from error
            self.env.note_dependency(str(PACKAGES / path))
            left_out = docstring_rows(source)
            shown = [
                (first + k, line)
                for k, line in enumerate(source.splitlines())
                if k + 1 not in left_out
            ]
            code = "\n".join(line for _, line in shown)
            link = nodes.paragraph(classes=["code-place"])
            link += link_to(self.env, path, first, place.replace(":", "."))
            block = numbered_code(code, code, path=path, rows=[row for row, _ in shown])
            block["language"] = "python"
            self.set_source_info(block)
            blocks += [link, block]
        return [folded_part_of(self.options["fold"], *blocks)] if "fold" in self.options else blocks


def docstring_rows(source):
    """Return the rows of all docstrings in `source`, with the blank row behind each."""
    rows = set()
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or not ast.get_docstring(node):
            continue
        first = node.body[0]
        # a class or function that is nothing but a docstring keeps it: it would be no code
        if len(node.body) > 1:
            rows.update(range(first.lineno, first.end_lineno + 1))
            if not lines[first.end_lineno].strip():
                rows.add(first.end_lineno + 1)
    return rows


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
        where = ", ".join(f"{{source}}`{place}`" for place in entry.get("functions", ()))
        if "same_as" in entry:
            where = f"as JPDC'21 Algorithm {entry['same_as']}"
        paper, split = TITLES[entry["paper"]], entry.get("split", "")
        rows.append((paper, entry["number"], name, entry["lines"], where, split))
    return table(head, rows)


def equation_index():
    """Return a table of every numbered equation and theorem: what computes it, or why nothing."""
    head, rows = ("paper", "number", "what it is", "reference", "parts of it", "errata"), []
    for (paper, kind, number), entry in load_statements()[1].items():
        functions, parts = (
            ", ".join(f"{{source}}`{place}`" for place in entry.get(which, ()))
            for which in ("functions", "parts")
        )
        cells = [TITLES[paper], f"{kind.capitalize()} {number}", entry["name"]]
        rows.append([*cells, functions or entry["why"], parts, ", ".join(entry.get("errata", ()))])
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


def errata_rows(keys):
    """Return the rows of errata.md that touch the algorithms named, folded."""
    errata = errata_of(keys.split())
    if not errata:
        return "No erratum touches these lines.\n"
    rows = TABLE_HEAD + "\n".join(e.row for e in errata)
    count = f"{len(errata)} errata touch" if len(errata) > 1 else "One erratum touches"
    return folded(f"{count} these lines", rows)


def source(text, env):
    """Return a link to a file, as "fastimpl/_graph.pyx" or "path:row", or to "module:name"."""
    path, _, row = text.partition(":")
    shown = text
    try:
        if "/" not in path:
            shown = text.replace(":", ".")
            path, row, _ = source_of(text)
    except (ImportError, AttributeError, TypeError, OSError):
        path = ""
    if path not in source_files():
        raise ValueError(f"no source {text!r}")
    link = link_to(env, path, int(row or 0), "")
    link += nodes.literal(shown, shown)
    return link


def link_errata(app, doctree):
    """Give the rows of errata.md their ids, and link every erratum's id in text to its row."""
    env = app.env
    std = env.get_domain("std")
    if env.docname == "errata":
        for entry in doctree.findall(lambda node: isinstance(node, nodes.row | nodes.list_item)):
            id_ = re.match(r"E-[A-Z]\d+|", entry.astext())[0]
            if id_:
                label = id_.lower()
                entry["ids"].append(label)
                if isinstance(entry, nodes.row):
                    entry.children[0]["classes"].append("erratum")
                std.anonlabels[label] = env.docname, label
                std.labels[label] = env.docname, label, id_
    for text in list(doctree.findall(nodes.Text)):
        if not ERRATUM.search(text) or within(
            text, nodes.literal, nodes.literal_block, nodes.reference, nodes.title, nodes.raw
        ):
            continue
        own = {label for node in ancestors(text) for label in node.get("ids", ())}
        text.parent.replace(text, linked(text, env.docname, own))


def within(node, *kinds):
    return any(isinstance(parent, (*kinds, addnodes.pending_xref)) for parent in ancestors(node))


def linked(text, docname, own):
    """Return nodes for a text in which the ids of errata are links, but for those in `own`."""
    done, at = [], 0
    for found in ERRATUM.finditer(text):
        target = found[0].lower()
        if target in own:
            continue
        done.append(nodes.Text(text[at : found.start()]))
        options = {"refdomain": "std", "reftype": "ref", "reftarget": target}
        shown = nodes.inline(found[0], found[0], classes=["erratum"])
        done.append(
            addnodes.pending_xref(
                "", shown, refdoc=docname, refexplicit=True, refwarn=True, **options
            )
        )
        at = found.end()
    return [*done, nodes.Text(text[at:])]


def setup(app):
    app.add_directive("reference-code", ReferenceCode)
    app.add_directive("algorithm-index", directive(algorithm_index))
    app.add_directive("equation-index", directive(equation_index))
    app.add_directive("errata-of", directive(errata_rows))
    app.add_role("source", role(source))
    app.connect("doctree-read", link_errata)
    app.add_css_file("teaching.css")
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
