"""The pages of the course, each as a notebook in notebooks/ of the site.

In a notebook worked examples become cells of code, steppers pages that are made and shown, and code
of the reference is printed. Drawings and the tables of the papers' lines stay on the page.
"""

import re
from pathlib import Path

import nbformat
from docutils import nodes
from generated import extension, raw
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from stored_results import DOCS, measured
from worked_examples import in_page

FENCE = re.compile(r"^(`{3,})\{([\w-]+)\}([^\n]*)\n(.*?)^\1\n?", re.M | re.S)
FOLD = re.compile(r"<details.*?<summary>(.*?)</summary>(.*?)</details>", re.S)
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


def pages():
    """Yield (page without its ending, text) of the pages of the course, in its order."""
    course = (DOCS / "learn" / "index.md").read_text(encoding="utf-8")
    for name in re.search(r":hidden:\n(.*?)```", course, re.S)[1].split():
        yield f"learn/{name}", (DOCS / "learn" / f"{name}.md").read_text(encoding="utf-8")


def notebook_of(page, text):
    """Return the notebook of a page of the course."""
    intro = f"*{page} of the site has the drawings and the papers' lines beside their code.*"
    title, _, rest = FOLD.sub(unfolded, text).partition("\n")
    cells, at = [new_code_cell(SETUP), new_markdown_cell(f"{title}\n\n{intro}")], 0
    for fence in FENCE.finditer(rest):
        cells += [*words(rest[at : fence.start()]), *cells_of(*fence.group(2, 3, 0))]
        at = fence.end()
    cells += words(rest[at:])
    for k, cell in enumerate(cells):
        cell["id"] = f"{Path(page).name}-{k:02}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def unfolded(found):
    """Return a fold as it is; its summary and content where these are code, which cannot fold."""
    return f"**{found[1]}**\n{found[2]}" if FENCE.search(found[2]) else found[0]


def cells_of(kind, argument, whole):
    """Return the cells of a directive."""
    if kind == "worked-example":
        return [new_code_cell(code.strip()) for code in in_page(whole.rstrip("\n") + "\n")]
    if kind == "stepper":
        return [new_code_cell(STEPPER.format(name=argument.strip()))]
    if kind == "reference-code":
        return [new_code_cell(SOURCE.format(places=argument.split()))]
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
        return measured(text)
    if role == "doc" and "<" not in text:
        return title_of(text)
    return re.sub(r"\s*<[^<>]*>\Z", "", text)


def title_of(target):
    """Return the title of the page that a link of the course leads to, in quotes."""
    path = Path("/learn", target.partition("#")[0] or "index").with_suffix(".md")
    text = Path(f"{DOCS}{path}").read_text(encoding="utf-8")
    return f"“{text.partition('# ')[2].splitlines()[0]}”"


def runnable():
    """Return page -> notebook of the pages that have a worked example."""
    return {page: notebook_of(page, text) for page, text in pages() if in_page(text)}


def add_links(app, doctree):
    """Say below a page's title that there is a notebook of it."""
    page = app.env.docname
    if page.startswith("learn/") and in_page((DOCS / f"{page}.md").read_text("utf-8")):
        href = f"../notebooks/{Path(page).name}.ipynb"
        link = f'<p class="notebook"><a href="{href}" download>This page as a notebook</a></p>'
        next(iter(doctree.findall(nodes.section))).insert(1, raw(link))


def notebooks(app):
    """Return the files of the notebooks."""
    made = runnable().items()
    return {f"notebooks/{Path(page).name}.ipynb": f"{nbformat.writes(one)}\n" for page, one in made}


setup = extension(files=notebooks, doctree_read=add_links)
