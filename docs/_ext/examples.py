"""Python that runs when a page is built; all of a page shares its names.

worked-example          code and what it prints; with `:shows: NAME` also what a notebook shows of
                        the object of that name
printed                 what code prints, without the code; with `:markdown:` as Markdown
computed (a role)       the value of an expression, in the names of the page so far
"""

import worked_examples
from docutils import nodes
from docutils.parsers.rst import directives
from generated import read_again, role
from sphinx.util.docutils import SphinxDirective


def names_of(env):
    """Return the names of the page that is read now."""
    return env.temp_data.setdefault("worked_examples", {"__name__": "__main__"})


class WorkedExample(SphinxDirective):
    """See the module."""

    has_content = True
    option_spec = {"shows": directives.unchanged_required}

    def block(self, text, language):
        """Return a block of code."""
        block = nodes.literal_block(text, text, language=language)
        self.set_source_info(block)
        return block

    def printed(self):
        """Run the content and return what it prints."""
        read_again(self.env)
        code = "\n".join(self.content)
        try:
            return worked_examples.run(code, names_of(self.env), self.env.docname)
        except RuntimeError as error:
            raise self.error(str(error)) from error

    def run(self):
        box = nodes.container("", classes=["worked-example"])
        box += self.block("\n".join(self.content), "python")
        if printed := self.printed():
            output = self.block(printed.rstrip("\n"), "text")
            box += nodes.container("", output, classes=["worked-output"])
        if "shows" in self.options:
            html = names_of(self.env)[self.options["shows"]]._repr_html_()
            box += nodes.container("", nodes.raw("", html, format="html"), classes=["worked-html"])
        return [box]


class Printed(WorkedExample):
    """See the module."""

    option_spec = {"markdown": directives.flag}

    def run(self):
        printed = self.printed()
        if "markdown" in self.options:
            made = self.parse_text_to_nodes(printed)
        else:
            made = [self.block(printed.rstrip("\n"), "text")]
        return [nodes.container("", *made, classes=["printed"])] if printed else []


def computed(text, env):
    """Return the value of an expression as text."""
    try:
        return str(eval(compile(text, "<computed>", "eval"), names_of(env)))
    except Exception as error:
        raise ValueError(f"{text!r}: {type(error).__name__}: {error}") from error


def setup(app):
    app.add_directive("worked-example", WorkedExample)
    app.add_directive("printed", Printed)
    app.add_role("computed", role(computed, "computed"))
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
