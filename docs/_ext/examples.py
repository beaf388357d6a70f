"""Python that runs when a page is built; all of a page shares its names.

worked-example          code and what it prints
printed                 what code prints, without the code; with `:markdown:` as Markdown
computed (a role)       the value of an expression, in the names of the page so far
"""

import worked_examples
from docutils import nodes
from generated import extension


def names_of(env):
    """Return the names of the page that is read now."""
    return env.temp_data.setdefault("worked_examples", {"__name__": "__main__"})


def block(page, text, language):
    """Return a block of code."""
    made = nodes.literal_block(text, text, language=language)
    page.set_source_info(made)
    return made


def worked_example(content, page):
    """Return code and what it prints."""
    box = nodes.container("", block(page, content, "python"), classes=["worked-example"])
    said = worked_examples.run(content, names_of(page.env), page.env.docname).rstrip("\n")
    if said:
        box += nodes.container("", block(page, said, "text"), classes=["worked-output"])
    return [box]


def printed(content, page, *, markdown=None):
    """Return what code prints."""
    said = worked_examples.run(content, names_of(page.env), page.env.docname)
    if markdown is None:
        made = [block(page, said.rstrip("\n"), "text")]
    else:
        made = page.parse_text_to_nodes(said)
    return [nodes.container("", *made, classes=["printed"])] if said else []


def computed(text, env):
    """Return the value of an expression as text."""
    try:
        return str(eval(compile(text, "<computed>", "eval"), names_of(env)))
    except Exception as error:
        raise ValueError(f"{text!r}: {type(error).__name__}: {error}") from error


setup = extension(worked_example, printed, roles=[computed])
