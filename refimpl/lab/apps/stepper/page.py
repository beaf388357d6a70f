"""A recorded run as one HTML page that needs nothing else: no network, no server, no library."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from refimpl.lab.apps.papers import LETTERS, algorithm_text
from refimpl.lab.apps.stepper.changes import MOST, changes
from refimpl.lab.apps.stepper.places import beginning
from refimpl.lab.apps.stepper.recipe import Recipe
from refimpl.lab.apps.stepper.recorder import Recording

if TYPE_CHECKING:
    from refimpl.lab.apps.stepper.functions import Function, Line
    from refimpl.lab.apps.stepper.recorder import Step

LONGEST = 200  # letters that a step's sentences may have: they are to fit in two lines
MORE = "Other pictures change too."
FORMAT = "minibatch-gnn-trace/1"


def page(recipe: Recipe, recording: Recording, seed: int | None = None) -> str:
    """Return the HTML of a recorded run.

    Parameters
    ----------
    recipe : Recipe
    recording : Recording
        From ``recipe.record(seed)``.
    seed : int, optional
        As there.

    Returns
    -------
    str
    """
    style, script = _part("css"), _script()
    return _filled(
        recipe,
        page_data(recipe, recording, seed),
        style=f"<style>{style}</style>",
        script=f"<script>{script}</script>",
        style_source=f"'{_hash(style)}'",
        script_source=f"'{_hash(script)}'",
    )


def site_pages(recordings: Iterable[tuple[Recipe, Recording]]) -> dict[str, str]:
    """Return the files of a folder with a page for each stepper, which share script and style.

    Parameters
    ----------
    recordings : iterable of (Recipe, Recording)

    Returns
    -------
    dict of str to str
        The name of each file and its text.
    """
    files_of = {"stepper.css": _part("css"), "stepper.js": _script()}
    for recipe, recording in recordings:
        files_of[f"{recipe.name}.html"] = _filled(
            recipe,
            page_data(recipe, recording),
            style='<link rel="stylesheet" href="stepper.css">',
            script='<script src="stepper.js"></script>',
            style_source="'self'",
            script_source="'self'",
        )
    return files_of


def _filled(recipe: Recipe, data: dict[str, Any], **values: str) -> str:
    """Return the page's HTML with its `data` and the other values in their places."""
    text = json.dumps(data, ensure_ascii=False)
    values |= {
        "title": html.escape(recipe.title),
        "steps": str(len(data["steps"])),
        "data": text.replace("<", "\\u003c"),  # no "</script>" in a string ends the element
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], _part("html"))


def _script() -> str:
    return _part("panels.js") + _part("js")


def _part(kind: str) -> str:
    """Return the file of the page called so."""
    return files("refimpl.lab.apps.stepper").joinpath(f"page.{kind}").read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return what the page's security policy calls an inline script or style."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def page_data(recipe: Recipe, recording: Recording, seed: int | None = None) -> dict[str, Any]:
    """Return what is embedded in the page, as JSON values; see `page`."""
    seed = recipe.seed if seed is None else seed
    return {
        "format": FORMAT,
        "name": recipe.name,
        "title": recipe.title,
        "about": recipe.about,
        "seed": None if seed is None else str(seed),
        "algorithms": [algorithm_text(id) for id in recipe.algorithms],
        "panels": [
            {**panel._asdict(), "states": recording.states.get(panel.id, [])}
            for panel in recipe.panels
        ],
        "functions": [_function(recipe, function) for function in recording.functions],
        "steps": list(_steps(recipe, recording)),
        "begin": beginning(recipe, recording),
    }


def main_algorithm(recipe: Recipe, function: Function) -> str | None:
    """Return the algorithm of the recipe that most lines of the function belong to, or None."""
    found = [id for line in function.lines for id, _ in line.marks if id in recipe.algorithms]
    return max(recipe.algorithms, key=found.count) if found else None


def _function(recipe: Recipe, function: Function) -> dict[str, Any]:
    algorithm = main_algorithm(recipe, function)
    return {
        "name": function.name,
        "file": function.module.replace(".", "/") + ".py",
        "algorithm": algorithm_text(algorithm) if algorithm else "",
        "summary": function.summary,
        "lines": [
            {
                "number": line.number,
                "text": line.text,
                "paper": paper_lines(line, recipe.algorithms, algorithm),
                "errata": list(map(str, line.errata)),
            }
            for line in function.lines
        ],
    }


def paper_lines(line: Line, algorithms: tuple[str, ...], main: str | None) -> str:
    """Return the paper's lines that a line is, such as "13–14" or, of another paper, "I4:7"."""
    texts = []
    for id, lines in line.marks:
        lines = lines.replace("-", "–")
        if id == main:
            texts.append(lines)
        elif id in algorithms:
            paper, number = id.split(":")
            texts.append(f"{LETTERS[paper]}{number}:{lines}")
    return " ".join(texts)


def _steps(recipe: Recipe, recording: Recording) -> Iterator[dict[str, Any]]:
    previous: dict[str, object] = {}
    for i, step in enumerate(recording.steps):
        function = recording.functions[step.function]
        first, last = function.statements[step.line]
        state, where = recording.state(i), _where(recipe, function, step)
        said = _said(recipe, previous, state, LONGEST - len(where))
        previous = state
        yield {
            "function": step.function,
            "first": first,
            "last": last,
            "event": step.event,
            "depth": step.depth,
            "panels": [step.panels.get(panel.id, -1) for panel in recipe.panels],
            "where": where,
            "gist": "; ".join(str(gist) for gist in function.errata(step.line) if gist.words),
            "said": said,
            "telling": recording.tells(i),
        }


def _said(recipe: Recipe, before: dict[str, Any], after: dict[str, Any], longest: int) -> str:
    """Return what changed, named as far as there is room for it; "" if nothing did."""
    shown = [panel for panel in recipe.panels if panel.id in after]
    for most in (MOST, 2, 1):
        news = [changes(panel, before.get(panel.id), after[panel.id], most) for panel in shown]
        text = " ".join(filter(None, news))
        if len(text) <= longest:
            return text
    kept = ""
    for text in filter(None, news):
        if len(kept) + len(text) > longest - len(MORE):
            break
        kept += f"{text} "
    return f"{kept}{MORE if kept else 'Much changes.'}"


def _where(recipe: Recipe, function: Function, step: Step) -> str:
    """Return the function and the paper's lines in words."""
    marks: dict[str, list[str]] = {}
    for line in function.statement(step.line):
        for id, numbers in line.marks:
            if id in recipe.algorithms:
                marks.setdefault(id, []).append(numbers.replace("-", " to "))
    verb = {"call": "enters ", "line": "", "return": "back in "}[step.event]
    papers = [f"{algorithm_text(id)} line {' and '.join(n)}" for id, n in marks.items()]
    unmarked = ["not a line of the paper"] if recipe.algorithms else []
    errata = [erratum.id for erratum in function.errata(step.line)]
    if papers and errata:
        papers[-1] += f" (erratum {', '.join(errata)})"
    return ", ".join([f"{verb}{function.name}", *(papers or unmarked)])
