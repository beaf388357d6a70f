"""Directives of the pages that teach: code, line tables, examples and errata from the source.

    reference-code     the source of "module:name", as it is, without docstrings; with the
                       option `fold` it is closed at first, under these words
    kernel-lines       which kernels its lines call, and where fastimpl has them, folded
    code-places        where lines, equations and theorems are in both packages, by path and row
    algorithm-index    every numbered algorithm of the papers, its page and its functions
    equation-index     every numbered equation and theorem, and its functions
    worked-example     Python that runs when the page is built, and what it prints
    errata-of          the rows of errata.md that touch algorithms, folded
    source (a role)    a link to a source file: {source}`fastimpl/_graph.pyx`

Wherever text says E-B3, it becomes a link to that row of errata.md.
"""

import ast
import re

import worked_examples
from api_reference import ancestors
from code_places import find_code
from docutils import nodes
from docutils.parsers.rst import directives
from folding import folded_part_of
from generated import directive, folded, read_again, table
from kernel_lines import kernel_lines as kernel_calls
from paper_lines import (
    DOCS,
    ERRATUM,
    PACKAGES,
    TITLES,
    errata_of,
    load_algorithms,
    source_of,
)
from paper_statements import load_statements
from source_pages import link_to, numbered_code
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective, SphinxRole

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
            link += link_to(path, first, place.replace(":", "."), here=False)
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


def kernel_lines(key):
    """Return a table: line of the paper, where it is, the kernel it calls, that in fastimpl."""
    algorithm, rows = load_algorithms()[key], kernel_calls(key)
    head = f"line of {TITLES[algorithm['paper']]} Algorithm {algorithm['number']}"
    cells = [(row.line, at(row.reference), at([row.kernel]), at(row.fast)) for row in rows]
    titles = (head, "both packages", "kernel in refimpl", "in fastimpl")
    made = table(titles, cells, (), "algorithm-lines")
    return folded(f"The {len(rows)} kernels that these lines call", made)


def code_places(content):
    """Return a table: a line, an equation or a theorem a row, and where its code is."""
    rows = []
    for key in content.split():
        found = find_code(key)
        kernels = at(found.kernels) or "the reference's code"
        rows.append((found.title, at(found.reference), kernels))
    return table(("what", "in refimpl", "in fastimpl"), rows, (), "algorithm-lines")


def at(places):
    """Return links to rows of files, behind the names of their functions if they have some."""
    return "; ".join(
        f"{getattr(one, 'name', '')} {{source}}`{one.path}:{one.row}`".strip() for one in places
    )


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


class WorkedExample(SphinxDirective):
    """Run the content; show it and what it prints. Examples of a page share their names.

    With ``:shows: NAME``, also what a notebook shows of the object of that name.
    """

    has_content = True
    option_spec = {"shows": directives.unchanged_required}

    def run(self):
        code = "\n".join(self.content)
        namespace = self.env.temp_data.setdefault("worked_examples", {"__name__": "__main__"})
        read_again(self.env)
        try:
            printed = worked_examples.run(code, namespace, self.env.docname)
        except RuntimeError as error:
            raise self.error(str(error)) from error
        shown = nodes.literal_block(code, code, language="python")
        self.set_source_info(shown)
        box = nodes.container("", shown, classes=["worked-example"])
        if printed:
            output = nodes.literal_block(printed, printed.rstrip("\n"), language="text")
            output.rawsource = output.astext()
            box += nodes.container("", output, classes=["worked-output"])
        if "shows" in self.options:
            html = namespace[self.options["shows"]]._repr_html_()
            box += nodes.container("", nodes.raw("", html, format="html"), classes=["worked-html"])
        return [box]


def errata_rows(keys):
    """Return the rows of errata.md that touch the algorithms named, folded."""
    errata = errata_of(keys.split())
    if not errata:
        return "No erratum touches these lines.\n"
    rows = TABLE_HEAD + "\n".join(e.row for e in errata)
    count = f"{len(errata)} errata touch" if len(errata) > 1 else "One erratum touches"
    return folded(f"{count} these lines", rows)


class SourceRole(SphinxRole):
    """A link to a file, {source}`fastimpl/_graph.pyx` or `path:row`, or to "module:name"."""

    def run(self):
        path, _, row = self.text.partition(":")
        shown = self.text
        try:
            if "/" not in path:
                shown = self.text.replace(":", ".")
                path, row, _ = source_of(self.text)
            known = path.startswith(("refimpl/", "fastimpl/")) and (PACKAGES / path).is_file()
        except (ImportError, AttributeError, TypeError, OSError):
            known = False
        if not known:
            message = self.inliner.reporter.error(f"no source {self.text!r}", line=self.lineno)
            return [], [message]
        link = link_to(path, int(row or 0), "", here=False)
        link += nodes.literal(shown, shown)
        return [link], []


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
    app.add_directive("kernel-lines", directive(kernel_lines))
    app.add_directive("code-places", directive(code_places))
    app.add_directive("algorithm-index", directive(algorithm_index))
    app.add_directive("equation-index", directive(equation_index))
    app.add_directive("errata-of", directive(errata_rows))
    app.add_directive("worked-example", WorkedExample)
    app.add_role("source", SourceRole())
    app.connect("doctree-read", link_errata)
    app.add_css_file("teaching.css")
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
