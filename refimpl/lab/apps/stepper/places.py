"""Where in a recording a line of a paper runs: `23`, the second time `23.2`, `J4:5` of another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from refimpl.lab.apps.papers import LETTERS

if TYPE_CHECKING:
    from refimpl.lab.apps.stepper.functions import Function, Mark
    from refimpl.lab.apps.stepper.recipe import Recipe
    from refimpl.lab.apps.stepper.recorder import Recording

PLACE = re.compile(r"(?:([A-Z]\d+):)?([1-9]\d*)(?:\.([1-9]\d*))?")


def step_at(recipe: Recipe, recording: Recording, place: str) -> int:
    """Return the number of the step, from 0, at which a line of a paper runs.

    Parameters
    ----------
    recipe : Recipe
    recording : Recording
        From ``recipe.record()``.
    place : str
        The line's number, and behind a dot the how-manieth run of it, by default the first; in
        front, with a colon, whose line it is, such as "J4" for JPDC'21 Algorithm 4, by default
        the recipe's first algorithm. Statements of one line that follow one another are one run,
        and the step is the first in it that tells something.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If it is no such text, or no line of the recipe, or it does not run so often.
    """
    found = PLACE.fullmatch(place)
    if found is None:
        raise ValueError(f"a place is a line, such as 6, 6.2 or J4:6.2, got {place!r}")
    letters = {f"{LETTERS[id.split(':')[0]]}{id.split(':')[1]}": id for id in recipe.algorithms}
    letter = found[1] or next(iter(letters), "")
    if letter not in letters:
        known = ", ".join(letters) or "no paper"
        raise ValueError(f"{recipe.name} has lines of {known}, got {place!r}")
    runs = runs_of(recording, letters[letter], int(found[2]))
    time = int(found[3] or 1)
    if time > len(runs):
        raise ValueError(
            f"line {found[2]} of {letter} runs {len(runs)} times in {recipe.name}, got {place!r}"
        )
    return next(filter(recording.tells, runs[time - 1]), runs[time - 1][0])


def runs_of(recording: Recording, algorithm: str, number: int | None) -> list[list[int]]:
    """Return the steps of each run of a line of an algorithm, lists; number None: of any line."""
    found = []
    bearing = [lines_bearing(function, algorithm, number) for function in recording.functions]
    under_way: dict[int, tuple[int, list[int]]] = {}  # depth -> line now, steps of its run
    for k, step in enumerate(recording.steps):
        line, run = under_way.pop(step.depth, (0, []))
        on = step.event == "return" or (step.event == "line" and step.line > line)
        if run and not (on and step.line in bearing[step.function]):
            found.append(run)
            run = []
        if step.line in bearing[step.function]:
            under_way[step.depth] = step.line, [*run, k]
    return sorted([*found, *(run for _, run in under_way.values())])


def lines_bearing(function: Function, algorithm: str, number: int | None) -> set[int]:
    """Return the first lines of the statements of a function that bear a line of an algorithm."""
    return {
        function.statements[line.number][0]
        for line in function.lines
        for mark in line.marks
        if line.number in function.statements and bears(mark, algorithm, number)
    }


def bears(mark: Mark, algorithm: str, number: int | None = None) -> bool:
    """Return whether a mark is of a line of an algorithm; None: of any."""
    id, lines = mark
    low, _, high = lines.partition("-")
    return id == algorithm and (number is None or int(low) <= number <= int(high or low))


def beginning(recipe: Recipe, recording: Recording) -> int:
    """Return the step that a page begins with: the papers' first line, or the recipe's own."""
    if recipe.begin is not None:
        return step_at(recipe, recording, recipe.begin)
    found = [runs_of(recording, id, None)[:1] for id in recipe.algorithms]
    return min((run[0] for runs in found for run in runs), default=0)


def shown(recipe: Recipe, recording: Recording) -> list[int]:
    """Return the numbers of the steps that a page shows unless it is asked for every line.

    They tell something, and none is before the page's beginning.
    """
    steps = range(beginning(recipe, recording), len(recording.steps))
    return [step for step in steps if recording.tells(step)]
