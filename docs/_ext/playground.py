"""The playground: its scripts as one classic script, and where they stand on a page.

```{playground}               the playground; needs JavaScript, which is said where there is none
```

```{playground-sources}       a link to each file of the implementation in JavaScript
```
"""

from pathlib import Path

from bundle import FOLDER, bundle, modules
from docutils import nodes
from generated import directive
from source_pages import page_of
from sphinx.util.docutils import SphinxDirective

SCRIPT, STYLE = "playground.js", "playground.css"
PLACE = """<div id="pg" class="pg">
<p>The playground is a program in JavaScript, which is switched off here. All else on this site
works without it.</p>
</div>
"""


class Playground(SphinxDirective):
    """The place of the playground on a page, which loads its script and style."""

    def run(self):
        for path in modules():
            self.env.note_dependency(str(FOLDER / path))
        node = nodes.raw("", PLACE, format="html")
        node["playground"] = True
        return [node]


def playground_sources():
    """Return links to the pages of the kernels' files."""
    paths = modules("kernels")
    pages = {Path(path).stem: f"{page_of(f'docs/playground/{path}')}.html" for path in paths}
    return " · ".join(f'<a href="{page}">{name}</a>' for name, page in pages.items())


def write_script(app):
    """Write the script and the style into the folder of static files."""
    if app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    static.mkdir(parents=True, exist_ok=True)
    style = (FOLDER / "page" / STYLE).read_text(encoding="utf-8")
    for name, text in ((SCRIPT, bundle()), (STYLE, style)):
        (static / name).write_text(text, encoding="utf-8")


def add_files(app, pagename, templatename, context, doctree):
    """Load the script and the style on pages that have the directive."""
    if doctree is not None and any("playground" in node for node in doctree.findall(nodes.raw)):
        app.add_js_file(SCRIPT, loading_method="defer")
        app.add_css_file(STYLE)


def setup(app):
    app.add_directive("playground", Playground)
    app.add_directive("playground-sources", directive(playground_sources))
    app.connect("builder-inited", write_script)
    app.connect("html-page-context", add_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
