"""The scripts of the playground as one classic script.

The files in docs/playground are ES modules, which browsers do not load from file://. `bundle`
puts the modules that the page needs into one script, each as a function of its own that returns
what it exports. Comments and indentation stay out; the files as they are have pages of their own.
"""

import re
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "playground"
ENTRY = "page/main.mjs"
IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+)";\n', re.M)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.M)
COMMENT = re.compile(r"(?:^|(?<=[;,{})\]])) *// .*$|^ *//$")


def modules(*folders):
    """Return the paths in FOLDER of all modules, or of those in some folders."""
    found = (path.relative_to(FOLDER) for path in FOLDER.rglob("*.mjs"))
    return sorted(path.as_posix() for path in found if not folders or path.parts[0] in folders)


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
