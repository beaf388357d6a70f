"""mypy and pyright on scripts as users of the packages write them."""

import ast
import builtins
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from docs_ext import DOCS, ROOT, worked_examples

import refimpl

FENCE = re.compile(r"^```python\n(.*?)^```\s*$", re.M | re.S)
PACKAGES = Path(refimpl.__file__).parents[1]  # a folder of the source, or site-packages
MYPY = """[mypy]
strict = true
python_executable = {python}
cache_dir = {cache}
ignore_missing_imports = true
disallow_subclassing_any = false
{more}
[mypy-refimpl.*,fastimpl.*]
follow_imports = silent
"""
# What is asked of a script's own functions only where they are annotated.
LENIENT = """disallow_untyped_defs = false
disallow_incomplete_defs = false
disallow_untyped_decorators = false
untyped_calls_exclude = {scripts}
"""
HAS_MYPY = importlib.util.find_spec("mypy") is not None
PYRIGHT = shutil.which("pyright", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")


def scripts_of_pages():
    """Return the Python of README, of the documentation's pages and of the examples, by name."""
    found = {}
    for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]:
        if "_build" in page.parts:
            continue
        text = page.read_text()
        name = re.sub(r"\W", "_", page.relative_to(ROOT).with_suffix("").as_posix())
        codes = ["\n".join(worked_examples.in_page(text)), *FENCE.findall(text)]
        found |= {f"{name}_{i}": whole(code) for i, code in enumerate(codes) if code}
    for path in sorted((ROOT / "examples").rglob("*.py")):
        found[f"examples_{path.stem}"] = path.read_text()
    return found


def whole(code):
    """Return code with what it takes for granted: the package `gnn`, and arrays."""
    free = free_names(code)
    lines = ["from typing import Any", *(f"{name}: Any = None" for name in sorted(free - {"gnn"}))]
    lines += ["import fastimpl as gnn"] if "gnn" in free else []
    return "\n".join([*lines, code]) if free else code


def free_names(code):
    """Return the names that code reads and nothing in it makes."""
    made = set(vars(builtins))
    read = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else made).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            made.add(node.name)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
        elif isinstance(node, ast.alias):
            made.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            made.add(node.name)
    return read - made


def mypy_says(scripts, folder, lenient=False):
    """Return what ``mypy --strict`` says of some scripts: tuples (script, line, message)."""
    write(scripts, folder)
    more = LENIENT.format(scripts=",".join(scripts)) if lenient else ""
    settings = folder / "mypy.ini"
    settings.write_text(MYPY.format(python=sys.executable, cache=folder / "cache", more=more))
    search = {} if "site-packages" in PACKAGES.parts else {"MYPYPATH": str(PACKAGES)}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", settings, "--no-error-summary"]
        + [f"{name}.py" for name in scripts],
        cwd=folder,
        env={**os.environ, **search},
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(r"^(\w+)\.py:(\d+): error: (.*)$", done.stdout, re.M)
    return [(name, int(line), message) for name, line, message in found]


def pyright_runs():
    """Whether there is a pyright that runs: it needs Node, which it may have to fetch first."""
    return PYRIGHT is not None and not subprocess.run([PYRIGHT, "--version"]).returncode


def pyright_says(scripts, folder):
    """Return what pyright says of some scripts: tuples (script, line, message)."""
    write(scripts, folder)
    settings = {
        "extraPaths": [str(PACKAGES)],
        "typeCheckingMode": "standard",
        "reportMissingImports": False,
        "reportMissingModuleSource": False,
        "reportPossiblyUnbound": False,
        "reportPossiblyUnboundVariable": False,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [PYRIGHT, "--outputjson", "--pythonpath", sys.executable, "--project", folder],
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [
        (Path(one["file"]).stem, one["range"]["start"]["line"] + 1, one["message"])
        for one in json.loads(done.stdout)["generalDiagnostics"]
        if one["severity"] == "error"
    ]


def write(scripts, folder):
    """Write scripts into a folder, each as a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, code in scripts.items():
        (folder / f"{name}.py").write_text(code)


def marked(code):
    """Return the lines of a script that end in ``# mistake``, from 1."""
    rows = code.splitlines()
    return {i for i, row in enumerate(rows, 1) if row.endswith("  # mistake")}
