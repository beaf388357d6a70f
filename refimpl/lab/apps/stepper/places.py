"""Where in a recording a line of a paper runs: `23`, the second time `23.2`, `J4:5` of another."""

import re

from refimpl.lab.apps.papers import LETTERS

PLACE = re.compile(r"(?:([A-Z]\d+):)?([1-9]\d*)(?:\.([1-9]\d*))?")


def step_at(recipe, recording, place):
    """Return the number of the step, from 0, at which a line of a paper runs.

    Parameters
    ----------
    recipe : Recipe
    recording : Recording
        From ``recipe.record()``.
    place : str
        The line's number, and behind a dot the how-manieth run of it, by default the first; in
        front, with a colon, whose line it is, such as "J4" for JPDC'21 Algorithm 4, by default
        the recipe's first algorithm. Statements of one line that follow one another are one run.

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
    letter = found[1] or next(iter(letters))
    if letter not in letters:
        raise ValueError(f"{recipe.name} has lines of {', '.join(letters)}, got {place!r}")
    runs = list(runs_of(recording, letters[letter], int(found[2])))
    time = int(found[3] or 1)
    if time > len(runs):
        raise ValueError(
            f"line {found[2]} of {letter} runs {len(runs)} times in {recipe.name}, got {place!r}"
        )
    return runs[time - 1]


def runs_of(recording, algorithm, number):
    """Yield the steps at which runs of a line of an algorithm begin."""
    bearing = [lines_bearing(function, algorithm, number) for function in recording.functions]
    before: dict[int, int | None] = {}  # depth -> the line of its last step, if it bears the number
    for k, step in enumerate(recording.steps):
        if step.event == "return":
            continue
        if step.event == "call":
            before[step.depth] = None
        here = step.line if step.line in bearing[step.function] else None
        last = before.get(step.depth)
        before[step.depth] = here
        if here is not None and (last is None or here <= last):
            yield k


def lines_bearing(function, algorithm, number):
    """Return the first lines of the statements of a function that bear a line of an algorithm."""
    found = set()
    for line in function.lines:
        for id, lines in line.marks:
            first, _, last = lines.partition("-")
            if id == algorithm and int(first) <= number <= int(last or first):
                found.add(function.statements.get(line.number, (line.number,))[0])
    return found
