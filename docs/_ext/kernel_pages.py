"""Directives of the pages of docs/kernels, all with the name of a kernel.

kernel-about     where it comes from, its vectors, the links to what explains it
kernel-errors    what is refused, and with which error; the cases of each row
kernel-flags     the flags of its vectors in words

The last two are folded.
"""

import re

from api_reference import path_of
from folding import folded
from kernel_tables import PAGES, REFUSALS, files, refusals, sections
from sphinx.util.docutils import SphinxDirective
from teaching import pages_of_algorithms, row_of

from refimpl.lab.apps.conformance.report import NAMES

MOST_CASES = 5


class KernelDirective(SphinxDirective):
    """What the directives share: a page is made anew when a table or another page changes."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        for path in (REFUSALS, *PAGES.glob("*.md")):
            self.env.note_dependency(str(path))
        self.kernel = self.arguments[0]
        try:
            return self.made()
        except KeyError as error:
            raise self.error(f"{self.name}: there is no {error}") from error


class About(KernelDirective):
    """Where a kernel comes from, and what asks it."""

    def made(self):
        file = files()[self.kernel]
        source, cases = file["source"], file["cases"]
        place = source["place"]
        if source["paper"] != "common":
            place = f"{NAMES[source['paper']]} {place}"
        if source["lines"]:
            place += f", lines {source['lines'].replace('-', '–')}"
        parts = [place, *learned(source), f"reference {{py:obj}}`{path_of(self.kernel)}`"]
        errors = sum("error" in case for case in cases)
        parts.append(f"{len(cases)} cases, of which {errors} are refused")
        close = file["compare"]["rule"] == "close"
        parts.append(tolerance(file["compare"]) if close else "compared exactly")
        if any("states" in case for case in cases):
            parts.append("with states")
        if file["writes"]:
            parts.append("writes into " + ", ".join(f"`{name}`" for name in file["writes"]))
        text = f"*{' · '.join(parts[:1])}* · {' · '.join(parts[1:])}\n"
        (line,) = self.parse_text_to_nodes(text)
        line["classes"].append("kernel-about")
        return [line]


def learned(source):
    """Return links to the pages that explain the algorithms a file of vectors is from."""
    if not source["place"].startswith("Algorithm"):
        return []
    taught = pages_of_algorithms()
    keys = [f"{source['paper']}:{number}" for number in re.findall("[0-9]+", source["place"])]
    pages = {taught[key]: key for key in reversed(keys) if key in taught}
    return [f"[explained](/{page}.md#{key.replace(':', '-')})" for page, key in pages.items()]


def tolerance(compare):
    return f"floats within {compare['atol']:g} + {compare['rtol']:g} × their size"


class Errors(KernelDirective):
    """What a kernel refuses as a table: the first row that is so says the error."""

    def made(self):
        lines = [row_of(("error", "when", "cases")), row_of(("---",) * 3)]
        for kind, words, cases in refusals()[self.kernel]:
            lines.append(row_of((kind, words.replace("|", "\\|"), some(cases))))
        return [folded(f"What is refused: {counted(lines, 'row')}", *table_of(self, lines))]


class Flags(KernelDirective):
    """What the flags of a kernel's vectors mean, and which cases carry them."""

    def made(self):
        file = files()[self.kernel]
        lines = [row_of(("flag", "what a port that fails there has overlooked", "cases"))]
        lines.append(row_of(("---",) * 3))
        for flag, meaning in file["flags"].items():
            cases = [case["id"] for case in file["cases"] if flag in case["flags"]]
            lines.append(row_of((f"`{flag}`", meaning.replace("|", "\\|"), some(cases))))
        return [folded(f"{counted(lines, 'flag')} of its cases", *table_of(self, lines))]


class Index(SphinxDirective):
    """A table of the pages, in the order of the toctree, and their kernels."""

    def run(self):
        found = sections()
        lines = [row_of(("", "stage", "kernels")), row_of(("---",) * 3)]
        text = (PAGES / "index.md").read_text()
        stages = text.partition(":hidden:\n")[2].partition("```")[0].split()
        for number, stage in enumerate(stages, start=1):
            self.env.note_dependency(str(PAGES / f"{stage}.md"))
            names = [name for name, (page, _) in found.items() if page == stage]
            links = ", ".join(f"[`{name}`]({stage}.md#{name.lower()})" for name in names)
            lines.append(row_of((number, f"{{doc}}`{stage}`", links)))
        return table_of(self, lines)


def counted(lines, word):
    """Return how many rows a table of these lines has, behind its head, in words."""
    count = len(lines) - 2
    return f"{count} {word}{'' if count == 1 else 's'}"


def table_of(directive, lines):
    """Return the nodes of a table in Markdown."""
    made = directive.parse_text_to_nodes("\n".join(lines) + "\n")
    for table in made:
        table["classes"].append("kernel-table")
    return made


def some(cases):
    """Return the names of cases, of many the first."""
    named = ", ".join(f"`{case}`" for case in cases[:MOST_CASES])
    more = len(cases) - MOST_CASES
    return f"{named} and {more} more" if more > 0 else named


def setup(app):
    app.add_directive("kernel-about", About)
    app.add_directive("kernel-errors", Errors)
    app.add_directive("kernel-flags", Flags)
    app.add_directive("kernel-index", Index)
    app.add_css_file("kernels.css")
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
