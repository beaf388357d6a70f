"""What the extensions are made of: directives and roles that a function answers, tables, folds.

Pages that show what a function returns are read again in each build: it depends on code and files
that Sphinx does not watch.
"""

import inspect
import re
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst.directives import unchanged
from sphinx.util.docutils import SphinxDirective, SphinxRole

FAULTS = (LookupError, ValueError, TypeError, ImportError, AttributeError, OSError, RuntimeError)


def extension(*directives, roles=(), files=None, **events):
    """Return the `setup` of an extension: its directives, roles, and functions of events.

    The name of a directive, role or event is that of the function, parameter: "_" stands for "-".
    After a build, `files(app)` returns what else the site has: {path: text}.
    """

    def write_files(app, exception):
        if exception is None and app.builder.format == "html":
            for path, text in files(app).items():
                file = Path(app.outdir, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")

    def setup(app):
        if files is not None:
            app.connect("build-finished", write_files)
        for function in directives:
            app.add_directive(name_of(function), directive(function))
        for function in roles:
            app.add_role(name_of(function), role(function))
        for event, function in events.items():
            app.connect(event.replace("_", "-"), function)
        return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}

    return setup


def name_of(function):
    """Return the name in Markdown of a function's directive or role."""
    return function.__name__.replace("_", "-")


def directive(function):
    """Return a directive that shows what `function` returns: Markdown, or a list of nodes.

    `function` gets the arguments; its keyword-only parameters are options. A parameter `content`
    gets the directive's text, `env` the environment of the build, and `page` the directive itself.
    """
    known = inspect.signature(function).parameters.values()
    names = {one.name for one in known if one.kind is one.POSITIONAL_OR_KEYWORD}
    own = {"content", "env", "page"}

    class Generated(SphinxDirective):
        required_arguments = len(names - own)
        final_argument_whitespace = True
        has_content = "content" in names
        option_spec = {one.name: unchanged for one in known if one.kind is one.KEYWORD_ONLY}

        def run(self):
            self.env.note_reread()
            given = {"content": "\n".join(self.content), "env": self.env, "page": self}
            given = {name: given[name] for name in names & own}
            try:
                made = function(*self.arguments, **given, **self.options)
            except FAULTS as error:
                raise self.error(f"{self.name}: {error}") from error
            if isinstance(made, str):
                made = self.parse_text_to_nodes(made, allow_section_headings=True)
            return made

    return Generated


def role(function):
    """Return a role that shows what `function` makes of its text: a node; or words, of its class.

    A function with a parameter `env` gets the environment of the build.
    """
    names = inspect.signature(function).parameters.keys()

    class Generated(SphinxRole):
        def run(self):
            self.env.note_reread()
            try:
                made = function(self.text, **dict.fromkeys(names & {"env"}, self.env))
            except FAULTS as error:
                words = f"{self.name}: {error}"
                return [], [self.inliner.reporter.error(words, line=self.lineno)]
            if isinstance(made, str):
                made = nodes.inline("", made, classes=[function.__name__.partition("_")[0]])
            return [made], []

    return Generated()


def table(titles, rows, widths=(), kind=""):
    """Return the Markdown of a table, whose cells are Markdown, in these relative widths."""
    options = [f":widths: {' '.join(map(str, widths))}"] if widths else []
    options += [f":class: {kind}"] if kind else []
    titles = list(titles)
    lines = map(row_of, [titles, ["---"] * len(titles), *rows])
    return "\n".join(["````{table}", *options, "", *lines, "````", ""])


def row_of(cells):
    """Return a row of a table in Markdown."""
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def plain(words):
    """Return words as Markdown: backticks mark code, and nothing else has a meaning."""
    parts = str(words).split("`")
    return "`".join(
        part if at % 2 else re.sub(r"([\\*_\[\]<>$~{}])", r"\\\1", part)
        for at, part in enumerate(parts)
    )


def box(kind, text):
    """Return Markdown in a box of some classes."""
    return f"::::::::{{container}} {kind}\n{text}\n::::::::\n"


def code(source, language="python"):
    """Return a block of code."""
    return f"`````{{code-block}} {language}\n{source.rstrip()}\n`````\n"


def folded(summary, text, kind="folded"):
    """Return Markdown that is shown when its summary is clicked on."""
    return f'<details class="{kind}"><summary>{escape(summary)}</summary>\n\n{text}\n\n</details>\n'


def fold_nodes(summary, parts):
    """Return nodes that are shown when their summary is clicked on."""
    begin = f'<details class="folded"><summary>{escape(summary)}</summary>'
    return [raw(begin), *parts, raw("</details>")]


def raw(html):
    """Return a node of HTML."""
    return nodes.raw("", html, format="html")


def ancestors(node):
    """Yield the nodes above a node."""
    while node.parent is not None:
        node = node.parent
        yield node
