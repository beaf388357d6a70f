"""Source files as pages: numbered lines that can be linked to, errata ids that are links."""

from functools import cache
from pathlib import Path

from docutils import nodes
from paper_lines import DOCS, ERRATUM, PACKAGES
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CythonLexer, JavascriptLexer, PythonLexer

FOLDER = "source"  # of the built pages
LEXERS = {".py": PythonLexer, ".mjs": JavascriptLexer}  # all other files are Cython's
KINDS = "py", "pyx", "pxd"
FILES = [  # where the packages or the checkout are, and which files there have pages
    *((PACKAGES, f"{name}/**/*.{kind}") for name in ("refimpl", "fastimpl") for kind in KINDS),
    (DOCS.parent, "docs/playground/**/*.mjs"),
]


class numbered_code(nodes.literal_block):
    """Rows of a source file; `rows` are the numbers of its lines, which may have gaps."""


def page_of(path):
    """Return the name of the page that shows the source file `path`."""
    return f"{FOLDER}/{path.removesuffix('.py')}"


def block_in_html(code, path, rows, page, errata):
    """Return an HTML block: rows with their numbers, which are links, and links to errata.

    `page` is the address of the file's page, "" on that page itself, where rows have ids; `errata`
    is that of the page of errata.
    """
    # stripnl would drop leading blank rows and shift the numbers of all others
    lexer = LEXERS.get(Path(path).suffix, CythonLexer)(stripnl=False)
    lines = highlight(code, lexer, HtmlFormatter(nowrap=True)).removesuffix("\n").split("\n")
    html, width = [], len(str(rows[-1]))
    for row, line in zip(rows, lines, strict=True):
        linked = ERRATUM.sub(
            lambda found: f'<a href="{errata}#{found[0].lower()}">{found[0]}</a>', line
        )
        name = "" if page else f' id="L{row}"'
        number = f'<a class="linenos" href="{page}#L{row}">{row:>{width}}</a>'
        html.append(f'<span class="code-row"{name}>{number}{linked}\n</span>')
    return (
        '<div class="highlight-python notranslate numbered-code"><div class="highlight"><pre>'
        + "".join(html)
        + "</pre></div></div>\n"
    )


def visit_numbered_code(translator, node):
    """Write a `numbered_code` node as HTML."""
    path, builder = node["path"], translator.builder
    page, errata = (
        builder.get_relative_uri(builder.current_docname, name)
        for name in (page_of(path), "errata")
    )
    translator.body.append(block_in_html(node.rawsource, path, node["rows"], page, errata))
    raise nodes.SkipNode


def link_to(env, path, row, text):
    """Return a link from the page that is read now to a row of a file; row 0 is its beginning."""
    uri = env.app.builder.get_relative_uri(env.docname, page_of(path))
    return nodes.reference("", text, internal=True, refuri=f"{uri}#L{row}" if row else uri)


@cache
def source_files():
    """Return a dict from the paths of all files that have pages to the files."""
    found = {
        file.relative_to(root).as_posix(): file
        for root, pattern in FILES
        for file in root.glob(pattern)
    }
    return dict(sorted(found.items()))


def write_pages(app, exception):
    """Write a page for each source file, and one that lists them.

    They are plain, without the theme's table of contents, which takes a tenth of a second a page.
    """
    if exception or app.builder.format != "html":
        return
    uri = app.builder.get_relative_uri
    index = f"{FOLDER}/index"
    items = []
    for path, file in source_files().items():
        here = page_of(path)
        items.append(f'<li><a href="{uri(index, here)}">{path}</a></li>')
        code = file.read_text(encoding="utf-8").removesuffix("\n") or "# an empty file"
        rows = range(1, code.count("\n") + 2)
        write_page(app, here, path, block_in_html(code, path, rows, "", uri(here, "errata")))
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


def setup(app):
    app.add_node(numbered_code, html=(visit_numbered_code, None))
    app.connect("build-finished", write_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
