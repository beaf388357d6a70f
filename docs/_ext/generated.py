"""Directives and roles whose content a function returns, and tables in Markdown.

Pages with such a directive or role, a worked example or a drawing are read again in each build:
what they show depends on code and files that Sphinx does not watch.
"""

import inspect
import re

from docutils import nodes
from sphinx.util.docutils import SphinxDirective, SphinxRole


def directive(function):
    """Return a directive that shows what `function` makes of its arguments, and of `content`.

    A function with a parameter `env` gets the environment of the build.
    """
    names = inspect.signature(function).parameters.keys()

    class Generated(SphinxDirective):
        required_arguments = len(names - {"content", "env"})
        final_argument_whitespace = required_arguments == 1
        has_content = "content" in names

        def run(self):
            read_again(self.env)
            given = {"content": "\n".join(self.content), "env": self.env}
            try:
                text = function(*self.arguments, **{n: given[n] for n in names & given.keys()})
            except (LookupError, ValueError) as error:
                raise self.error(f"{self.name}: {error}") from error
            return self.parse_text_to_nodes(text, allow_section_headings=True)

    return Generated


def role(function, *classes):
    """Return a role that shows what `function` makes of its text: a node, or words of some classes.

    A function with a parameter `env` gets the environment of the build.
    """
    names = inspect.signature(function).parameters.keys()

    class Generated(SphinxRole):
        def run(self):
            read_again(self.env)
            try:
                made = function(self.text, **dict.fromkeys(names & {"env"}, self.env))
            except (LookupError, ValueError) as error:
                words = f"{self.name}: {error}"
                return [], [self.inliner.reporter.error(words, line=self.lineno)]
            if isinstance(made, str):
                made = nodes.inline("", made, classes=[*classes])
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


def folded(summary, text):
    """Return Markdown that is shown when its summary is clicked on."""
    return f"``````{{fold}} {summary}\n{text}\n``````\n"


def read_again(env):
    """Note that the page that is read now is to be read in each build."""
    if not hasattr(env, "generated_pages"):
        env.generated_pages = set()
    env.generated_pages.add(env.docname)


def always_read(app, env, added, changed, removed):
    """Return the pages that are to be read in each build."""
    return sorted(getattr(env, "generated_pages", set()) - removed)


def setup(app):
    app.connect("env-get-outdated", always_read)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
