"""`minibatch-gnn exercise`: list, start, check and solve the exercises."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from refimpl._support.reprs import one_line
from refimpl._support.whole_files import replacing
from refimpl.lab.apps.conformance.encode import decode
from refimpl.lab.apps.course import feedback
from refimpl.lab.apps.course.checking import SECONDS, STATE, WALK, Asker, check, is_empty
from refimpl.lab.apps.course.exercises import LEVELS, TITLES, find, names
from refimpl.lab.apps.errors import UserError, user_errors
from refimpl.lab.apps.option import typed_integer, typed_real
from refimpl.lab.apps.results import add_overwrite, check_free
from refimpl.lab.apps.stepper.cases import KERNELS, recipe_for
from refimpl.lab.apps.stepper.page import FORMAT, page
from refimpl.lab.apps.stepper.places import step_at

if TYPE_CHECKING:
    import argparse

    from refimpl.lab.apps.conformance.showing import CaseCheck
    from refimpl.lab.apps.course.exercise import Exercise
    from refimpl.lab.apps.stepper.recipe import Recipe
    from refimpl.lab.apps.stepper.recorder import Recording

COMMAND = feedback.COMMAND
MOST_SECONDS = 60
DESCRIPTION = (
    "Write algorithms of the papers yourself and check them. The check shows which cases pass, "
    "and where the first failing case differs. `list` shows the exercises; docs/exercises.md "
    "has their hints and solutions."
)


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to `commands`."""
    parser = commands.add_parser(
        "exercise",
        help="write algorithms of the papers yourself and check them",
        description=DESCRIPTION,
        allow_abbrev=False,
    )
    parts = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _add(parts, "list", "show the exercises, and which are started in this folder")
    start = _add(parts, "start", "write NAME.py, the file to fill in, to this folder")
    start.add_argument("name", metavar="NAME", help="an exercise that `list` shows")
    add_overwrite(start, "NAME.py")
    _add_check(parts)
    hint = _add(parts, "hint", "show a hint")
    hint.add_argument("name", metavar="NAME", help="an exercise")
    hint.add_argument(
        "number",
        nargs="?",
        type=typed_integer,
        default=1,
        metavar="NUMBER",
        help="choose the number of the hint (default: 1)",
    )
    solution = _add(parts, "solution", "show a solution, as Python")
    solution.add_argument("name", metavar="NAME", help="an exercise")


def _add(
    parts: argparse._SubParsersAction[argparse.ArgumentParser], name: str, what: str
) -> argparse.ArgumentParser:
    return parts.add_parser(
        name, help=what, description=what[0].upper() + what[1:] + ".", allow_abbrev=False
    )


def _add_check(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = parts.add_parser(
        "check",
        help="check your file; show which cases pass and the first difference",
        description="Run the function in FILE on the cases of its exercise, in a separate "
        "process. The exit status is 0 if the exercise is passed, 1 if it is not, "
        "and 2 for bad usage.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "file", metavar="FILE", help="the file that `start` wrote, such as uniform.py"
    )
    parser.add_argument(
        "--exercise", metavar="NAME", help="name the exercise (default: the file's name)"
    )
    parser.add_argument("--case", metavar="ID", help="check only this case (default: all)")
    parser.add_argument(
        "--errors",
        action="store_true",
        help="also require that bad arguments are refused (default: only in exercises about "
        "refusals)",
    )
    parser.add_argument(
        "--timeout",
        type=typed_real,
        default=SECONDS,
        metavar="SECONDS",
        help=f"limit the time of one call (default: {SECONDS:g})",
    )
    parser.add_argument(
        "--open",
        action="store_true",
        help="open the stepper of the failing case in a browser, if it has one (default: off; "
        "the file's name is shown)",
    )


def run(arguments: dict[str, Any]) -> int:
    """Run the command; `arguments` is what the parser gave, as a dict.

    Returns
    -------
    int
        0; of `check` 1 if the exercise is not passed.

    Raises
    ------
    UserError
        If there is no such exercise, file or case, or a file is there already.
    """
    action = arguments["action"]
    if action == "list":
        return _list()
    if action == "check":
        return _check(arguments)
    exercise = _find(arguments["name"])
    if action == "start":
        return _start(exercise, arguments["overwrite"])
    if action == "hint":
        return _hint(exercise, arguments["number"])
    return _solution(exercise)


def _find(name: str) -> Exercise | Any:
    try:
        return find(name)
    except ValueError as error:
        raise UserError(str(error)) from error


def _list() -> int:
    width = max(map(len, names()))
    for level, (title, inside) in enumerate(zip(TITLES, LEVELS, strict=True), 1):
        print(f"{'' if level == 1 else chr(10)}Level {level}: {title}")
        for name in inside:
            exercise = find(name)
            state = "  (started)" if Path(f"{name}.py").is_file() else ""
            print(f"  {name:{width}}  {exercise.title}{state}")
            print(f"  {'':{width}}  {exercise.place}; page {exercise.page}")
    new = [name for name in names() if not Path(f"{name}.py").is_file()] or names()
    print(f"\nBegin with: {COMMAND} start {new[0]}")
    return 0


def _start(exercise: Exercise, overwrite: bool) -> int:
    path = Path(f"{exercise.name}.py")
    check_free(path, overwrite)
    with user_errors(), replacing(path) as file:
        file.write(exercise.template.encode())
    print(f"{path}: {exercise.title}")
    print(f"Write {' and '.join(exercise.write)}, then: {COMMAND} check {path}")
    return 0


def _hint(exercise: Exercise, number: int) -> int:
    count = len(exercise.hints)
    if not 1 <= number <= count:
        raise UserError(f"NUMBER must be in [1, {count}], got {number}")
    _show(*feedback.wrapped(f"Hint {number} of {count}: {exercise.hints[number - 1]}"))
    more = f"hint {exercise.name} {number + 1}" if number < count else f"solution {exercise.name}"
    print(f"\n{'The next' if number < count else 'A solution'}: {COMMAND} {more}")
    return 0


def _solution(exercise: Exercise) -> int:
    print(exercise.code)
    place = exercise.reference.replace(":", ".")
    _show(*feedback.wrapped(f"Beside the reference, {place}: {exercise.beside}", "# ", "# "))
    return 0


def _check(arguments: dict[str, Any]) -> int:
    path = Path(arguments["file"])
    exercise = _find(arguments["exercise"] or path.stem)
    if not 0 < arguments["timeout"] <= MOST_SECONDS:
        got = f"{arguments['timeout']:g}"
        raise UserError(f"--timeout must be above 0 and at most {MOST_SECONDS}, got {got}")
    if not path.is_file():
        start = "" if path.is_dir() else f": begin with {COMMAND} start {exercise.name}"
        raise UserError(f"there is no file {path}{start}")
    only = arguments["case"]
    if only is not None and not exercise.vectors(only)["cases"]:
        known = ", ".join(case["id"] for case in exercise.vectors()["cases"])
        raise UserError(f"--case must be one of {known}, got {only!r}")
    with user_errors():
        path.read_bytes()
    errors, seconds = arguments["errors"], arguments["timeout"]
    with Asker(exercise, path, seconds) as asker:
        checked = check(exercise, asker, only=only, errors=errors)
    _show(*feedback.lines_on(exercise, str(path), checked))
    if checked.failed and not is_empty(checked.shown):
        _write_stepper(exercise, checked.shown, path, arguments["open"])
    if checked.is_passed and only is None:
        _show("", *feedback.wrapped(_well_done(exercise)))
    return 0 if checked.is_passed else 1


def _well_done(exercise: Exercise) -> str:
    following = names()[names().index(exercise.name) + 1 :][:1]
    then = f" The next exercise: {COMMAND} start {following[0]}" if following else ""
    return f"Passed. How others write it: {COMMAND} solution {exercise.name}.{then}"


def _stepper(exercise: Exercise, one: CaseCheck) -> tuple[Recipe, Recording, int] | None:
    """Return (recipe, recording, step from 1) of the case of a CaseCheck, or None.

    The step is the one of the first difference, where the difference says so, or the first.
    """
    if exercise.function not in KERNELS:
        return None
    args = {name: decode(value) for name, value in one.case["args"].items()}
    try:
        recipe = recipe_for(exercise.function, **args)
    except ValueError:  # too large to be drawn
        return None
    recording, place = recipe.record(), _place(exercise.stepper, one.said)
    try:
        return recipe, recording, step_at(recipe, recording, place) + 1 if place else 1
    except ValueError:  # the line does not run so often: the student's code went further
        return recipe, recording, 1


def _place(stepper: list[str], said: str) -> str | None:
    """Return where a difference arises: the line of the paper and which run of it, or None."""
    if len(stepper) < 3:
        return None
    _, leaves, comes = stepper
    if step := WALK.match(said):
        return f"{leaves if step[1] == 'popped' else comes}.{int(step[2]) + 1}"
    step = STATE.match(said)
    return f"{leaves}.{max(int(step[1]), 1)}" if step else f"{leaves}.1"


def _write_stepper(exercise: Exercise, one: CaseCheck, path: Path, opened: bool) -> None:
    """Write the page of the case that was shown, and say where it is."""
    found = _stepper(exercise, one)
    if found is None:
        if exercise.stepper:
            print(f"Step through a run of it: minibatch-gnn trace {exercise.stepper[0]}")
        return
    recipe, recording, step = found
    out = path.with_name(f"{exercise.name}_stepper.html")
    try:
        if out.exists() and FORMAT.encode() not in out.read_bytes():
            raise FileExistsError(f"{out} is there already, and is no stepper")
        with replacing(out) as file:
            file.write(page(recipe, recording).encode())
    except OSError as error:
        _show(f"note: the stepper of this case could not be written: {error}", file=sys.stderr)
        return
    address = f"{out.absolute().as_uri()}#{step}"
    _show(f"Step through this case in the reference: {out}, step {step}")
    if opened and not webbrowser.open(address):
        print(f"note: no browser could be opened; the address is {address}", file=sys.stderr)


def _show(*lines: str, file: TextIO | None = None) -> None:
    """Print lines that may hold a student's text, each in one line."""
    for line in lines:
        print(one_line(line.expandtabs()), file=file)
