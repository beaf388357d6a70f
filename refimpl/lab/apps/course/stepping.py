"""The stepper of a case: a page on which the reference runs on the question that went wrong."""

from refimpl.lab.apps.conformance.encode import decode
from refimpl.lab.apps.course.checking import WRONG, first_state
from refimpl.lab.apps.course.differences import locate
from refimpl.lab.apps.stepper.cases import KERNELS, recipe_for
from refimpl.lab.apps.stepper.page import page
from refimpl.lab.apps.stepper.places import step_at


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
    try:
        step = step_at(recipe, recording, place_of(exercise, outcome)) + 1
    except ValueError:  # the line does not run so often: the student's code went further
        step = 1
    return page(recipe, recording), step


def place_of(exercise, outcome):
    """Return the paper's line, and which time it runs, at which the first difference arises."""
    _, left, came = exercise.stepper
    state = first_state(outcome)
    if state:
        return f"{left}.{state}"
    found = locate(outcome.case, outcome.answer, outcome.difference)
    if outcome.kind != WRONG or not found.place:
        return left
    if exercise.function == "transpose_perm":  # entry j of the graph is the j-th that is placed
        return f"{left}.{found.want['data'][found.place[0]] + 1}"
    line = came if found.at.endswith("pushed") else left
    return f"{line}.{found.place[0] + 1}" if found.at.endswith(("popped", "pushed")) else left
