"""The source: each file as a page, and code on pages that leads there.

reference-code      the source of "module:name" without docstrings. The option `fold` closes it at
                    first, under these words
paper-beside-code   each line of an algorithm in our words (docs/paraphrases.toml) beside its code.
                    `fold` closes it at first; `first` closes only the lines before this one
source (a role)     a link to a source file: {source}`fastimpl/_graph.pyx`
"""

import ast
import inspect
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

from docutils import nodes
from generated import extension, fold_nodes
from paper_lines import (
    DOCS,
    ERRATUM,
    PACKAGES,
    TITLES,
    beside_code,
    in_kernels,
    load_algorithms,
    load_paraphrases,
    source_of,
    statement,
)
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename

FOLDER = "source"  # of the built pages
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
    lexer = get_lexer_for_filename(path, stripnl=False)
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


def link_to(env, path, row, *words):
    """Return a link from the page that is read now to a row of a file; row 0 is its beginning."""
    uri = env.app.builder.get_relative_uri(env.docname, page_of(path))
    return nodes.reference("", *words, internal=True, refuri=f"{uri}#L{row}" if row else uri)


@cache
def source_files():
    """Return a dict from the paths of all files that have pages to the files."""
    found = {
        file.relative_to(root).as_posix(): file
        for root, pattern in FILES
        for file in root.glob(pattern)
    }
    return dict(sorted(found.items()))


def written_pages(app):
    """Return a page for each source file, and one that lists them.

    They are plain, without the theme's table of contents, which takes a tenth of a second a page.
    """
    pages, files = {path: f"{page_of(path)}.html" for path in source_files()}, {}
    for path, page in {**pages, "Source files": f"{FOLDER}/index.html"}.items():
        made = {"title": path, "site": app.config.html_title, "above": "../" * page.count("/")}
        if path in source_files():
            code = source_files()[path].read_text(encoding="utf-8").removesuffix("\n")
            code = code or "# an empty file"
            rows, errata = range(1, code.count("\n") + 2), f"{made['above']}errata.html"
            made["code"] = block_in_html(code, path, rows, "", errata)
        else:
            made["pages"] = pages
        files[page] = app.builder.templates.render("source.html", made)
    return files


def resolve(domain, info):
    """Return the address of the source of what is documented, for sphinx.ext.linkcode.

    It is as seen from docs/reference; None for a field or what is compiled.
    """
    if not info["module"]:
        return None
    found = resolve_name(f"{info['module']}:{info['fullname']}")
    found = inspect.unwrap(getattr(found, "unbound", getattr(found, "fget", found)))
    try:
        path = Path(inspect.getsourcefile(found)).relative_to(PACKAGES)
        return f"../{page_of(path.as_posix())}.html#L{inspect.getsourcelines(found)[1]}"
    except TypeError:
        return None


def source(text, env):
    """Return a link to a file, as "fastimpl/_graph.pyx", or to "module:name"."""
    path, row = (text, 0) if "/" in text else source_of(text)[:2]
    if path not in source_files():
        raise ValueError(f"no source {text!r}")
    link, shown = link_to(env, path, row, ""), text.replace(":", ".")
    link += nodes.literal(shown, shown)
    return link


def block_of(page, path, rows, lines):
    """Return a block of rows of a file."""
    text = "\n".join(lines)
    block = numbered_code(text, text, path=path, rows=[*rows], language="python")
    page.set_source_info(block)
    return block


def reference_code(places, page, *, fold=""):
    """Return the source of each "module:name" without its docstrings, under a link to it."""
    made = []
    for place in places.split():
        path, first, source = source_of(place)
        left_out = docstring_rows(source)
        shown = [pair for pair in enumerate(source.splitlines()) if pair[0] + 1 not in left_out]
        link = link_to(page.env, path, first, place.replace(":", "."))
        made.append(nodes.paragraph("", "", link, classes=["code-place"]))
        rows, lines = zip(*shown, strict=True)
        made.append(block_of(page, path, [first + k for k in rows], lines))
    return fold_nodes(fold, made) if fold else made


def docstring_rows(source):
    """Return the rows of all docstrings in `source`, with the blank row behind each."""
    rows, lines = set(), source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or not ast.get_docstring(node):
            continue
        first = node.body[0]
        # a class or function that is nothing but a docstring keeps it: it would be no code
        if len(node.body) > 1:
            blank = not lines[first.end_lineno].strip()
            rows.update(range(first.lineno, first.end_lineno + 1 + blank))
    return rows


def paper_beside_code(key, page, *, fold="", first="1"):
    """Return rows of two cells: what lines of the paper say, with their errata; and their code."""
    rows, algorithm, words = beside_code(key), load_algorithms()[key], load_paraphrases()[key]
    paper, last, shown, before = TITLES[algorithm["paper"]], None, [], []
    heads = f"{paper} Algorithm {algorithm['number']}, in our words", "the code that is this line"
    for row in rows:
        said, done = (
            nodes.container(classes=["beside-said"]),
            nodes.container(classes=["beside-code"]),
        )
        for line in row.lines:
            said += words_of(key, line, words[str(line.number)], page)
        for place in in_kernels(algorithm, [line.number for line in row.lines]):
            link = link_to(page.env, place.path, place.row, "C")
            name = place.name or place.path.rpartition("/")[2]
            link["reftitle"] = f"in Cython: {name}, row {place.row}"
            said[-1] += [nodes.Text(" "), link]
        if row.errata:
            gists = f" {'; '.join(map(str, row.errata))}"
            said[-1] += nodes.inline("", gists, classes=["beside-erratum"])
        for code in row.code:
            if code.path != last:
                last = code.path
                place = link_to(page.env, last, 0, last)
                done += nodes.paragraph("", "", place, classes=["code-place"])
            lines = statement(code.path, code.row).split("\n")
            done += block_of(page, code.path, range(code.row, code.row + len(lines)), lines)
        made = nodes.container("", said, done, classes=["beside-row"])
        (before if row.lines[-1].number < int(first) else shown).append(made)
    if before:
        shown = [*fold_nodes(f"Lines 1 to {int(first) - 1}", before), *shown]
    head = nodes.container("", *(nodes.paragraph("", one) for one in heads))
    head["classes"] += ["beside-row", "beside-head"]
    if algorithm["silent"]:
        shown.append(nodes.paragraph("", silent(algorithm["silent"]), classes=["beside-silent"]))
    block = nodes.container("", head, *shown, classes=["beside"])
    return fold_nodes(fold, [block]) if fold else [block]


def words_of(key, line, words, page):
    """Return the paragraph of one line of the paper; its anchor is as "jpdc21-2-line-4"."""
    (paragraph,) = page.parse_text_to_nodes(words)
    paragraph["ids"].append(f"{key.replace(':', '-')}-line-{line.number}")
    number = nodes.strong("", str(line.number), classes=["beside-number"])
    paragraph.insert(0, [number, nodes.Text(" ")])
    if line.same_as:
        note = f" (line {', '.join(map(str, line.same_as))} of JPDC'21)"
        paragraph += nodes.inline("", note, classes=["beside-same"])
    return paragraph


def silent(numbers):
    """Say which lines have no code."""
    *shown, last = map(str, numbers)
    if not shown:
        return f"Line {last} ends a block or is a comment."
    listed = f"{', '.join(shown)} and {last}"
    return f"Lines {listed} end blocks, wait for other processors, or are comments."


register = extension(reference_code, paper_beside_code, roles=[source], files=written_pages)


def setup(app):
    app.add_node(numbered_code, html=(visit_numbered_code, None))
    return register(app)
