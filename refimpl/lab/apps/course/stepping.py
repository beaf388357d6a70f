"""The stepper of a case: a page on which the reference runs on the question that went wrong."""

from refimpl.lab.apps.conformance.encode import decode
from refimpl.lab.apps.course.checking import first_state, has_other_answer, is_walk
from refimpl.lab.apps.course.differences import locate
from refimpl.lab.apps.stepper.cases import KERNELS, recipe_for
from refimpl.lab.apps.stepper.page import page
from refimpl.lab.apps.stepper.places import step_at

TABLES = ("lookup", "ranks")  # panels with a row for each of the kernel's ids


def page_of(exercise, outcome):
    """Return the page on which the reference answers the question of a case, and a step of it.

    Returns
    -------
    (str, int) or None
        HTML, and the number of the step, from 1, at which the first difference arises, else that of
        the first step; None if nothing shows this kernel, or the case is too large to be drawn.
    """
    if exercise.function not in KERNELS:
        return None
    args = {name: decode(value) for name, value in outcome.case["args"].items()}
    try:
        recipe = recipe_for(exercise.function, **args)
    except ValueError:  # too large
        return None
    recording = recipe.record()
    line, time = place_of(exercise, outcome)
    try:
        if line.isdecimal():
            step = step_at(recipe, recording, f"{line}.{time}")
        else:
            step = step_of_change(recording, line, time)
    except ValueError:  # the line does not run so often: the student's code went further
        step = 0
    return page(recipe, recording), step + 1


def step_of_change(recording, panel, row):
    """Return the number of the step, from 0, at which a panel first changes.

    If the panel is a table, return the step at which `row` first changes; rows count from 1.

    Raises
    ------
    ValueError
        If the panel, or the row of the table, never changes.
    """
    states = recording.states.get(panel, [])
    if panel in TABLES:
        states = [state[row - 1 : row] for state in states]
    changed = [k for k, state in enumerate(states) if state != states[0]]
    if not changed:
        raise ValueError(f"the panel {panel} never changes in row {row}")
    return next(k for k, step in enumerate(recording.steps) if step.panels.get(panel) == changed[0])


def place_of(exercise, outcome):
    """Return where the first difference arises: a line of the paper, and which time it runs.

    A kernel without numbered lines has a panel instead, and the row that changes.
    """
    _, left, came = exercise.stepper
    found, state = locate(outcome.case, outcome.answer, outcome.difference), first_state(outcome)
    if state is not None:  # those of a walk begin before the first step
        return left, max(state + (not is_walk(outcome)), 1)
    if not has_other_answer(outcome) or not found.place:
        return left, 1
    if exercise.function == "transpose_perm":  # entry j of the graph is the j-th that is placed
        return left, found.want["data"][found.place[0]] + 1
    if found.at.endswith("pushed"):
        return came, found.place[0] + 1
    listed = found.at.endswith("popped") or exercise.function == "cache_lookup"
    return left, found.place[0] + 1 if listed else 1
