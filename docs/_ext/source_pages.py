"""Source files as pages: numbered lines that can be linked to, errata ids that are links."""

import re
from pathlib import Path

from docutils import nodes
from paper_lines import ERRATUM, PACKAGES
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CythonLexer, JavascriptLexer, PythonLexer

FOLDER = "source"  # of the built pages
LEXERS = {".py": PythonLexer, ".mjs": JavascriptLexer}  # all other files are Cython's


class numbered_code(nodes.literal_block):
    """Rows of a source file; `rows` are the numbers of its lines, which may have gaps.

    Links lead to its rows on the page, unless `anchored` is False.
    """


class source_link(nodes.reference):
    """A link to a line of a source file: on the page itself where the line is shown there."""


def page_of(path):
    """Return the name of the page that shows the source file `path`."""
    return f"{FOLDER}/{path.removesuffix('.py')}" if path.endswith(".py") else f"{FOLDER}/{path}"


def anchor(path, row):
    """Return the id of a line where only some rows of a file stand on a page."""
    return f"{re.sub(r'[^a-z0-9]+', '-', path.removesuffix('.py').lower())}-{row}"


def lines_in_html(code, path):
    """Return the highlighted lines of `code`, each well-formed alone."""
    lexer = LEXERS.get(Path(path).suffix, CythonLexer)
    # stripnl would drop leading blank rows and shift the numbers of all others
    html = highlight(code, lexer(stripnl=False), HtmlFormatter(nowrap=True))
    return html.removesuffix("\n").split("\n")


def block_in_html(code, path, rows, number_link, errata_uri, id_of):
    """Return an HTML block: rows with their numbers, which are links, and links to errata."""
    html = []
    width = len(str(rows[-1]))
    for row, line in zip(rows, lines_in_html(code, path), strict=True):
        line = ERRATUM.sub(
            lambda found: f'<a href="{errata_uri}#{found[0].lower()}">{found[0]}</a>', line
        )
        number = f'<a class="linenos" href="{number_link(row)}">{row:>{width}}</a>'
        name = f' id="{id_of(row)}"' if id_of else ""
        html.append(f'<span class="code-row"{name}>{number}{line}\n</span>')
    return (
        '<div class="highlight-python notranslate numbered-code"><div class="highlight"><pre>'
        + "".join(html)
        + "</pre></div></div>\n"
    )


def visit_numbered_code(translator, node):
    """Write a `numbered_code` node as HTML."""
    path, builder = node["path"], translator.builder
    here = builder.current_docname
    page = builder.get_relative_uri(here, page_of(path))
    translator.body.append(
        block_in_html(
            node.rawsource,
            path,
            node["rows"],
            number_link=lambda row: f"{page}#L{row}",
            errata_uri=builder.get_relative_uri(here, "errata"),
            id_of=(lambda row: anchor(path, row)) if node.get("anchored", True) else None,
        )
    )
    raise nodes.SkipNode


def source_files():
    """Return the paths of all source files of both packages."""
    files = [
        path.relative_to(PACKAGES)
        for package in ("refimpl", "fastimpl")
        for suffix in ("*.py", "*.pyx", "*.pxd")
        for path in (PACKAGES / package).rglob(suffix)
    ]
    return sorted(path.as_posix() for path in files)


def write_pages(app, exception):
    """Write a page for each source file, and one that lists them.

    They are plain, without the theme's table of contents, which takes a tenth of a second a page.
    """
    if exception or app.builder.format != "html":
        return
    uri = app.builder.get_relative_uri
    index = f"{FOLDER}/index"
    items = []
    for path in source_files():
        here = page_of(path)
        items.append(f'<li><a href="{uri(index, here)}">{path}</a></li>')
        code = (PACKAGES / path).read_text().removesuffix("\n") or "# an empty file"
        body = block_in_html(
            code,
            path,
            range(1, code.count("\n") + 2),
            number_link=lambda row: f"#L{row}",
            errata_uri=uri(here, "errata"),
            id_of=lambda row: f"L{row}",
        )
        write_page(app, here, path, body)
    write_page(app, index, "Source files", f"<ul>{''.join(items)}</ul>")


def write_page(app, name, title, body):
    """Write one page into the output of the builder."""
    uri = app.builder.get_relative_uri
    above = "../" * name.count("/")
    html = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} - {app.config.html_title}</title>
<link rel="stylesheet" href="{above}_static/pygments.css">
<link rel="stylesheet" href="{above}_static/teaching.css">
</head>
<body class="source-page" data-theme="auto">
<p><a href="{uri(name, app.config.root_doc)}">{app.config.html_title}</a>
/ <a href="{uri(name, FOLDER + "/index")}">source files</a></p>
<h1>{title}</h1>
{body}
</body>
</html>
"""
    path = Path(app.outdir) / f"{name}{app.builder.out_suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(html)


def link_to(path, row, text, *, here=True):
    """Return a link to a row of a file; `here`: to this page if the row is shown on it."""
    link = source_link("", text, path=path, row=row, here=here, internal=True)
    link["refuri"] = ""
    return link


def resolve_source_links(app, doctree, docname):
    """Point each `source_link` at the row on this page, if it is shown here, or at its file."""
    shown = {
        (block["path"], row)
        for block in doctree.findall(numbered_code)
        if block.get("anchored", True)
        for row in block["rows"]
    }
    for link in list(doctree.findall(source_link)):
        path, row = link["path"], link["row"]
        if link["here"] and (path, row) in shown:
            uri = "#" + anchor(path, row)
        else:
            uri = app.builder.get_relative_uri(docname, page_of(path))
            uri += f"#L{row}" if row else ""
        link.replace_self(nodes.reference("", "", *link.children, internal=True, refuri=uri))


def setup(app):
    app.add_node(numbered_code, html=(visit_numbered_code, None))
    app.add_node(source_link)
    app.connect("doctree-resolved", resolve_source_links)
    app.connect("build-finished", write_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
