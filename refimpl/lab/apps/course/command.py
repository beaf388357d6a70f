"""`minibatch-gnn exercise`: list, start, check and solve the exercises."""

import sys
import webbrowser
from pathlib import Path

from refimpl._support.reprs import one_line
from refimpl._support.whole_files import replacing
from refimpl.lab.apps.course import done, telling
from refimpl.lab.apps.course.checking import (
    EMPTY,
    SECONDS,
    Subprocess,
    check,
    place_in_papers,
    questions_of,
    same_as_mistakes,
)
from refimpl.lab.apps.course.exercises import LEVELS, TITLES, find, names
from refimpl.lab.apps.course.stepping import page_of
from refimpl.lab.apps.errors import UserError, user_errors
from refimpl.lab.apps.option import typed_integer, typed_real
from refimpl.lab.apps.results import add_overwrite, check_free
from refimpl.lab.apps.stepper.page import FORMAT

COMMAND = telling.COMMAND
MOST_SECONDS = 60
DESCRIPTION = (
    "Write algorithms of the papers yourself, and have them checked: which cases pass, where the "
    "first of the others differs, and why. `list` shows the exercises, from a random number to "
    "FreshGNN's cache; docs/exercises.md has them with their hints and solutions."
)


def add_parser(commands):
    """Add the command to `commands`."""
    parser = commands.add_parser(
        "exercise",
        help="write algorithms of the papers yourself, and have them checked",
        description=DESCRIPTION,
        allow_abbrev=False,
    )
    parts = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _add(parts, "list", "show the exercises, and which are done in this folder")
    start = _add(parts, "start", "write NAME.py into this folder, to be filled in")
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
        help="which (default: 1)",
    )
    solution = _add(parts, "solution", "show a solution, as Python")
    solution.add_argument("name", metavar="NAME", help="an exercise")


def _add(parts, name, what):
    return parts.add_parser(
        name, help=what, description=what[0].upper() + what[1:] + ".", allow_abbrev=False
    )


def _add_check(parts):
    parser = parts.add_parser(
        "check",
        help="check what you wrote: which cases pass, what differs first, and why",
        description="Ask the function in FILE the questions of its exercise, in a process of its "
        "own. Exit status 0: the exercise is passed; 1: not yet; 2: bad usage.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="what `start` wrote, such as uniform.py")
    parser.add_argument(
        "--exercise", metavar="NAME", help="which exercise it is (default: the file's name)"
    )
    parser.add_argument("--case", metavar="ID", help="ask this case only (default: all)")
    parser.add_argument(
        "--errors",
        action="store_true",
        help="ask bad arguments too, which must be refused (default: in exercises on that alone)",
    )
    parser.add_argument(
        "--timeout",
        type=typed_real,
        default=SECONDS,
        metavar="SECONDS",
        help=f"how long a call may take (default: {SECONDS:g})",
    )
    parser.add_argument(
        "--open",
        action="store_true",
        help="open the stepper of the case that went wrong, where there is one, in a browser "
        "(default: off, its file is named)",
    )


def run(arguments):
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


def _find(name):
    try:
        return find(name)
    except ValueError as error:
        raise UserError(str(error)) from error


def _list():
    states = done.states(Path(), names())
    width = max(map(len, names()))
    for level, (title, inside) in enumerate(zip(TITLES, LEVELS, strict=True), 1):
        print(f"{'' if level == 1 else chr(10)}Level {level}: {title}")
        for name in inside:
            exercise = find(name)
            state = f"  ({states[name]})" if states[name] else ""
            print(f"  {name:{width}}  {exercise.title}{state}")
            print(f"  {'':{width}}  {place_in_papers(exercise)}; page {exercise.page}")
    print(
        f"\nBegin with: {COMMAND} start {next((n for n in names() if not states[n]), names()[0])}"
    )
    return 0


def _start(exercise, overwrite):
    path = Path(f"{exercise.name}.py")
    check_free(path, overwrite)
    with user_errors(), replacing(path) as file:
        file.write(exercise.template.encode())
    print(f"{path}: {exercise.title}")
    print(f"Write {' and '.join(exercise.write)}, then: {COMMAND} check {path}")
    return 0


def _hint(exercise, number):
    count = len(exercise.hints)
    if not 1 <= number <= count:
        raise UserError(f"NUMBER must be in [1, {count}], got {number}")
    _show(*telling.wrapped(f"Hint {number} of {count}: {exercise.hints[number - 1]}"))
    more = f"hint {exercise.name} {number + 1}" if number < count else f"solution {exercise.name}"
    print(f"\n{'The next' if number < count else 'A solution'}: {COMMAND} {more}")
    return 0


def _solution(exercise):
    print(exercise.code)
    place = exercise.reference.replace(":", ".")
    _show(*telling.wrapped(f"Beside the reference, {place}: {exercise.beside}", "# "))
    return 0


def _check(arguments):
    path = Path(arguments["file"])
    exercise = _find(arguments["exercise"] or path.stem)
    if not 0 < arguments["timeout"] <= MOST_SECONDS:
        got = f"{arguments['timeout']:g}"
        raise UserError(f"--timeout must be above 0 and at most {MOST_SECONDS}, got {got}")
    if not path.is_file():
        start = "" if path.is_dir() else f": begin with {COMMAND} start {exercise.name}"
        raise UserError(f"there is no file {path}{start}")
    only = arguments["case"]
    if only is not None and not questions_of(exercise, only)["cases"]:
        known = ", ".join(case["id"] for case in questions_of(exercise)["cases"])
        raise UserError(f"--case must be one of {known}, got {only!r}")
    with user_errors():
        text = path.read_bytes()
    with Subprocess(exercise, path, arguments["timeout"]) as asker:
        errors = arguments["errors"] or only is not None
        checked = check(exercise, asker, only=only, errors=errors)
        alike = same_as_mistakes(exercise, asker, checked)
    _show(*telling.told(exercise, str(path), checked, alike))
    passed = telling.is_passed(checked)
    if only is None and path.name == f"{exercise.name}.py":
        asked = checked if exercise.refuses else checked._replace(refusals=[])  # but for --errors
        done.note(path.parent, exercise.name, text if telling.is_passed(asked) else None)
    if checked.failed and checked.shown.kind != EMPTY:
        _write_stepper(exercise, checked, path, arguments["open"])
    if passed and only is None:
        _show("", *telling.wrapped(_well_done(exercise)))
    return 0 if passed else 1


def _well_done(exercise):
    following = names()[names().index(exercise.name) + 1 :][:1]
    then = f" The next exercise: {COMMAND} start {following[0]}" if following else ""
    return f"Passed. How others write it: {COMMAND} solution {exercise.name}.{then}"


def _write_stepper(exercise, checked, path, opened):
    """Write the page of the case that was told, and say where it is."""
    found = page_of(exercise, checked.shown)
    if found is None:
        if exercise.stepper:
            print(f"Step through a run of it: minibatch-gnn trace {exercise.stepper[0]}")
        return
    html, step = found
    page = path.with_name(f"{exercise.name}_stepper.html")
    try:
        if page.exists() and FORMAT.encode() not in page.read_bytes():
            raise FileExistsError(f"{page} is there already, and is no stepper")
        with replacing(page) as file:
            file.write(html.encode())
    except OSError as error:
        _show(f"note: the stepper of this case could not be written: {error}", file=sys.stderr)
        return
    address = f"{page.absolute().as_uri()}#{step}"
    _show(f"Step through this case in the reference: {page}, step {step}")
    if opened and not webbrowser.open(address):
        print(f"note: no browser could be opened; the address is {address}", file=sys.stderr)


def _show(*lines, file=None):
    """Print lines that may hold a student's text, each in one line."""
    for line in lines:
        print(one_line(line.expandtabs()), file=file)
