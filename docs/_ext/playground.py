"""The playground: its scripts as one classic script, and where they stand on a page.

```{playground}               the playground; needs JavaScript, which is said where there is none
```

```{playground-sources}       a link to each file of the implementation in JavaScript
```

The scripts in docs/playground are ES modules, which browsers do not load from file://. `bundle`
puts the modules that the page needs into one script, each as a function of its own that returns
what it exports. Comments and indentation stay out; the files as they are have pages of their own.
"""

import re
from pathlib import Path

from docutils import nodes
from source_pages import block_in_html, link_to, page_of, write_page
from sphinx.util.docutils import SphinxDirective

FOLDER = Path(__file__).parents[1] / "playground"
ENTRY = "page/main.mjs"
SCRIPT, STYLE = "playground.js", "playground.css"
IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+)";\n', re.M)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.M)
COMMENT = re.compile(r"(?:^|(?<=[;,{})\]])) *// .*$|^ *//$")
PLACE = """<div id="pg" class="pg">
<p>The playground is a program in JavaScript, which is switched off here. All else on this site
works without it.</p>
</div>
"""


def bundle(entry=ENTRY):
    """Return one classic script with a module and all that it imports.

    Raises
    ------
    ValueError
        If modules import one another in a ring, or one uses what is not taken apart here.
    """
    done: dict[str, str] = {}
    _add(entry, done, ())
    return '"use strict";\n(() => {\n' + "".join(done.values()) + "})();\n"


def _add(path, done, above):
    """Add a module to `done`, by its path, behind those that it imports."""
    if path in done:
        return
    if path in above:
        raise ValueError(f"{path} must not import itself: {' > '.join((*above, path))}")
    source = (FOLDER / path).read_text(encoding="utf-8")
    for found in IMPORT.finditer(source):
        _add(_target(path, found[2]), done, (*above, path))
    taken = IMPORT.sub(lambda m: f"const {{{m[1]}}} = {_name(_target(path, m[2]))};\n", source)
    exported = EXPORT.findall(taken)
    body = "".join(_shortened(EXPORT.sub("", taken), path))
    if re.search(r"^(import|export)\b", body, re.M):
        raise ValueError(f"{path} must import and export in the plain forms only")
    result = f"return {{ {', '.join(exported)} }};\n" if exported else ""
    done[path] = f"// {path}\nconst {_name(path)} = (() => {{\n{body}{result}}})();\n"


def _target(path, relative):
    """Return the path in FOLDER of what a module imports."""
    return (FOLDER / path).parent.joinpath(relative).resolve().relative_to(FOLDER).as_posix()


def _name(path):
    return re.sub(r"\W", "_", path.removesuffix(".mjs"))


def _shortened(source, path):
    """Yield the lines of a module without indentation, empty lines and lines of comments."""
    for line in source.splitlines():
        if line.count("`") % 2:
            raise ValueError(f"{path} must have no text of several lines: {line}")
        line = COMMENT.sub("", line).strip()
        if line:
            yield line + "\n"


class Playground(SphinxDirective):
    """The place of the playground on a page, which loads its script and style."""

    def run(self):
        for path in modules():
            self.env.note_dependency(str(FOLDER / path))
        node = nodes.raw("", PLACE, format="html")
        node["playground"] = True
        return [node]


class PlaygroundSources(SphinxDirective):
    """Links to the pages of the files."""

    def run(self):
        kernels = nodes.paragraph()
        for path in modules("kernels"):
            name = Path(path).stem
            kernels += link_to(source_path(path), 0, name, here=False)
            kernels += nodes.Text(" · ")
        kernels.pop()
        return [kernels]


def modules(*folders):
    """Return the paths in FOLDER of all modules, or of those in some folders."""
    found = (path.relative_to(FOLDER) for path in FOLDER.rglob("*.mjs"))
    return sorted(path.as_posix() for path in found if not folders or path.parts[0] in folders)


def source_path(path):
    """Return the path of a module as pages of source files have it: from the repository's root."""
    return f"docs/playground/{path}"


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


def write_source_pages(app, exception):
    """Write a page with numbered lines for each module."""
    if exception or app.builder.format != "html":
        return
    for module in modules():
        path = source_path(module)
        code = (FOLDER / module).read_text(encoding="utf-8").removesuffix("\n")
        errata = app.builder.get_relative_uri(page_of(path), "errata")
        rows = range(1, code.count("\n") + 2)
        body = block_in_html(code, path, rows, "#L{}".format, errata, "L{}".format)
        write_page(app, page_of(path), path, body)


def setup(app):
    app.add_directive("playground", Playground)
    app.add_directive("playground-sources", PlaygroundSources)
    app.connect("builder-inited", write_script)
    app.connect("html-page-context", add_files)
    app.connect("build-finished", write_source_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
