"""The pages of the course as notebooks, written to notebooks/ of the site.

Worked examples become cells of code, steppers pages that are made and shown, and code of the
reference is printed. Drawings and the tables of the papers' lines stay on the page.

`notebook_service` in conf.py is the address at which a service opens the published notebooks, as
"https://colab.research.google.com/github/OWNER/SITE/blob/main/notebooks/"; each page then has a
button that leads there.
"""

import re
from pathlib import Path

import nbformat
from docutils import nodes
from measured_numbers import number
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from page_questions import DOCS, pages
from worked_examples import in_page

FENCE = re.compile(r"^(`{3,})\{([\w-]+)\}([^\n]*)\n(.*?)^\1\n?", re.M | re.S)
ROLE = re.compile(r"\{(\w+)\}`([^`]+)`")
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)([^)]*)\)")
SETUP = """\
import importlib.util

if importlib.util.find_spec("refimpl") is None:
    %pip install --quiet minibatch-gnn"""
STEPPER = """\
import subprocess, sys
from IPython.display import IFrame

command = [sys.executable, "-m", "refimpl", "trace", "{name}", "--out", "{name}.html"]
subprocess.run(command, check=True, capture_output=True)
IFrame("{name}.html", width="100%", height=640)"""
SOURCE = """\
import inspect, pkgutil

for place in {places}:
    print(inspect.getsource(inspect.unwrap(pkgutil.resolve_name(place))))"""


def notebook_of(page, text):
    """Return the notebook of a page of the course."""
    cells = [new_code_cell(SETUP)]
    intro = f"*{page} of the site has the drawings and the papers' lines beside their code.*"
    title, _, rest = text.partition("\n")
    cells.append(new_markdown_cell(f"{title}\n\n{intro}"))
    cells += cells_in(rest)
    for k, cell in enumerate(cells):
        cell["id"] = f"{Path(page).name}-{k:02}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def cells_in(text):
    """Return the cells of a text: of its directives, and of what stands between them."""
    cells, at = [], 0
    for fence in FENCE.finditer(text):
        cells += words(text[at : fence.start()])
        cells += cells_of(*fence.group(2, 3, 4, 0))
        at = fence.end()
    return cells + words(text[at:])


def cells_of(kind, argument, content, whole):
    """Return the cells of a directive."""
    if kind == "worked-example":
        (code,) = in_page(whole.rstrip("\n") + "\n")
        return [new_code_cell(code.strip())]
    if kind == "stepper":
        return [new_code_cell(STEPPER.format(name=argument.strip()))]
    if kind == "reference-code":
        return [new_code_cell(SOURCE.format(places=argument.split()))]
    if kind == "fold":
        if FENCE.search(content):  # code cannot be folded away
            return cells_in(f"**{argument.strip()}**\n\n{content}")
        return words(f"<details><summary>{argument.strip()}</summary>\n\n{content}\n</details>")
    return []


def words(text):
    """Return a cell of a text without the roles and targets of MyST; none where it is empty."""
    text = re.sub(r"^\(.*\)=\n", "", text, flags=re.M)
    text = ROLE.sub(lambda found: shown(*found.groups()), text)
    text = LINK.sub(lambda found: found[1] or title_of(found[2]), text).strip()
    return [new_markdown_cell(text)] if text else []


def shown(role, text):
    """Return what a role shows."""
    if role == "measured":
        return number(text)
    if role == "doc" and "<" not in text:
        return title_of(text)
    return re.sub(r"\s*<[^<>]*>\Z", "", text)


def title_of(target):
    """Return the title of the page that a link of the course leads to, in quotes."""
    path = Path("learn", target.partition("#")[0])
    path = DOCS / path.with_suffix(".md") if path.name != "learn" else DOCS / "learn" / "index.md"
    return f"“{path.resolve().read_text(encoding='utf-8').partition('# ')[2].splitlines()[0]}”"


def runnable():
    """Return page -> notebook of the pages that have a worked example."""
    return {page: notebook_of(page, text) for page, _, text in pages() if in_page(text)}


def add_links(app, doctree):
    """Say below a page's title that there is a notebook of it."""
    page = app.env.docname
    if not page.startswith("learn/") or not in_page((DOCS / f"{page}.md").read_text("utf-8")):
        return
    name = f"{Path(page).name}.ipynb"
    service = app.config.notebook_service
    button = f' · <a class="notebook-button" href="{service}{name}">Run it</a>' if service else ""
    link = f'<a href="../notebooks/{name}" download>This page as a notebook</a>'
    section = next(iter(doctree.findall(nodes.section)))
    section.insert(1, nodes.raw("", f'<p class="notebook">{link}{button}</p>', format="html"))


def write_notebooks(app, exception):
    """Write the notebooks."""
    if exception is not None or app.builder.name != "html":
        return
    folder = Path(app.outdir, "notebooks")
    folder.mkdir(exist_ok=True)
    for page, notebook in runnable().items():
        nbformat.write(notebook, folder / f"{Path(page).name}.ipynb")


def setup(app):
    app.add_config_value("notebook_service", "", "html", str)
    app.connect("doctree-read", add_links)
    app.connect("build-finished", write_notebooks)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
