"""The scripts of the playground as one classic script, which `steppers` writes. Needs no Sphinx.

The files in docs/playground are ES modules, which browsers do not load from file://. `bundle`
puts the modules that the page needs into one script, each as a function of its own that returns
what it exports, without indentation and lines of comments.
"""

import re
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "playground"
ENTRY = "page/main.mjs"
IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+)";\n', re.M)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.M)
BESIDES = re.compile(r"^ *//.*\n|^ +|^\n", re.M)  # lines of comments, indentation


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
