"""The playground: its scripts as one classic script, and where they stand on a page.

playground             the playground; needs JavaScript, which is said where there is none
playground-sources     a link to each file of the implementation in JavaScript

The files in docs/playground are ES modules, which browsers do not load from file://. `bundle`
puts the modules that the page needs into one script, each as a function of its own that returns
what it exports, without indentation and lines of comments.
"""

import re
from pathlib import Path

from docutils import nodes
from generated import extension, raw
from source_code import page_of

FOLDER = Path(__file__).parents[1] / "playground"
ENTRY = "page/main.mjs"
IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+)";\n', re.M)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.M)
BESIDES = re.compile(r"^ *//.*\n|^ +|^\n", re.M)  # lines of comments, indentation
SCRIPT, STYLE = "playground.js", "playground.css"
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
    add(entry, done, ())
    return '"use strict";\n(() => {\n' + "".join(done.values()) + "})();\n"


def add(path, done, above):
    """Add a module to `done`, by its path, behind those that it imports."""
    if path in above:
        raise ValueError(f"{path} must not import itself: {' > '.join((*above, path))}")
    source = (FOLDER / path).read_text(encoding="utf-8")

    def imported(found):
        """Return how the script names what an import names."""
        other = target(path, found[2])
        if other not in done:
            add(other, done, (*above, path))
        return f"const {{{found[1]}}} = {name_of(other)};\n"

    source = IMPORT.sub(imported, source)
    exported, body = EXPORT.findall(source), BESIDES.sub("", EXPORT.sub("", source))
    if re.search(r"^(import|export)\b", body, re.M):
        raise ValueError(f"{path} must import and export in the plain forms only")
    result = f"return {{ {', '.join(exported)} }};\n"
    done[path] = f"// {path}\nconst {name_of(path)} = (() => {{\n{body}{result}}})();\n"


def target(path, relative):
    """Return the path in FOLDER of what a module imports."""
    return (FOLDER / path).parent.joinpath(relative).resolve().relative_to(FOLDER).as_posix()


def name_of(path):
    """Return the name that a module has in the script."""
    return re.sub(r"\W", "_", path.removesuffix(".mjs"))


def playground():
    """Return the place of the playground on a page."""
    place = raw(PLACE)
    place["playground"] = True
    return [place]


def playground_sources():
    """Return links to the pages of the kernels' files."""
    names = sorted(path.stem for path in FOLDER.glob("kernels/*.mjs"))
    page = page_of("docs/playground/kernels")
    return " · ".join(f'<a href="{page}/{name}.mjs.html">{name}</a>' for name in names)


def write_script(app):
    """Write the script and the style into the folder of static files."""
    if app.builder.format == "html":
        static = Path(app.outdir, "_static")
        static.mkdir(parents=True, exist_ok=True)
        style = (FOLDER / "page" / STYLE).read_text(encoding="utf-8")
        for name, text in ((SCRIPT, bundle()), (STYLE, style)):
            (static / name).write_text(text, encoding="utf-8")


def add_files(app, pagename, templatename, context, doctree):
    """Load the script and the style on pages that have the directive."""
    if doctree is not None and any("playground" in node for node in doctree.findall(nodes.raw)):
        app.add_js_file(SCRIPT, loading_method="defer")
        app.add_css_file(STYLE)


setup = extension(
    playground,
    playground_sources,
    builder_inited=write_script,
    html_page_context=add_files,
)
