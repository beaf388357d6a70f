"""An exercise: a file of `exercises`, read as what a student starts from, and as the solution.

The file is Python. Above the line `MARK` stands the solution, just as a student would have it: a
docstring that says in a line what it is about, imports, and functions. Below it stands what only
the course needs, as constants:

FUNCTION      what is checked, the kernel's public name (default: the exercise's name)
PAGE          the page of docs/ that explains it, as "learn/frontier"
REFERENCE     "module:name" of the function of refimpl to compare the solution with
BESIDE        how the solution reads beside it, in a sentence or two
HINTS         a tuple of texts, each telling a little more
MISTAKES      a tuple of (search, replace, did, reason); see `Mistake`
FRAME         another exercise, whose solution this file is (default: its own)
WRITE         the functions that the student writes (default: FUNCTION alone)
GIVEN         functions and classes that the student finds written (default: none)
WITHOUT       flags of cases that are not asked
REFUSES       whether refusing bad arguments is part of it (default: it is not)
STEPPER       the name of a stepper that shows it, and the numbers of the paper's lines that decide
              which node leaves in a step and which comes, or what is done with each of a list. A
              kernel without numbered lines has, instead of the first, the id of the panel of
              `stepper/cases.py` in which the result is seen
"""

import ast
import importlib
import re
from importlib.resources import files
from typing import NamedTuple

MARK = "# ---- what follows is the course's ----\n"
FOLDER = "refimpl.lab.apps.course.exercises"


class Mistake(NamedTuple):
    """A typical mistake: the solution with one text in the place of another.

    Attributes
    ----------
    search, replace : str
        `search` stands once in the solution, but for its docstrings.
    did : str
        What the student did, so that "a solution that .." goes before it.
    reason : str
        Words that `check` finds by itself: in a flag, in what failing cases share, or in how the
        answers differ.
    """

    search: str
    replace: str
    did: str
    reason: str


class Exercise(NamedTuple):
    """An exercise; `exercise` reads it, and the docstring of this module explains its parts.

    Attributes
    ----------
    name, title, function, page, reference, beside : str
    level : int
        From 1.
    code : str
        The solution.
    hints : tuple of str
    mistakes : tuple of Mistake
    write, given, without : tuple of str
    refuses : bool
    stepper : tuple of str
        Empty, or a name and two lines; or a name, a panel and "".
    """

    name: str
    title: str
    level: int
    function: str
    page: str
    reference: str
    beside: str
    code: str
    hints: tuple[str, ...]
    mistakes: tuple[Mistake, ...]
    write: tuple[str, ...]
    given: tuple[str, ...]
    without: tuple[str, ...]
    refuses: bool
    stepper: tuple[str, ...]

    @property
    def template(self):
        """The file that a student starts from."""
        return template(self)

    @property
    def is_framed(self):
        """Whether the function that is called is given, so that its steps are compared, too."""
        return self.function not in self.write

    def with_mistake(self, number):
        """Return the solution with one of the mistakes, by its place in `mistakes`."""
        search, replace, *_ = self.mistakes[number]
        quoted = _docstrings(self.code)
        found = [at.start() for at in re.finditer(re.escape(search), self.code)]
        found = [at for at in found if not any(first <= at < last for first, last in quoted)]
        if len(found) != 1:
            raise ValueError(f"{self.name}: {search!r} must stand once in the solution")
        return self.code[: found[0]] + replace + self.code[found[0] + len(search) :]


def exercise(name, level):
    """Return the Exercise of a name."""
    module = importlib.import_module(f"{FOLDER}.{name}")
    known = vars(module)
    function = known.get("FUNCTION", name)
    title, code = _solution(known.get("FRAME", name))
    return Exercise(
        name=name,
        title=known.get("TITLE", title),
        level=level,
        function=function,
        page=known["PAGE"],
        reference=known["REFERENCE"],
        beside=known["BESIDE"],
        code=code,
        hints=known["HINTS"],
        mistakes=tuple(Mistake(*parts) for parts in known["MISTAKES"]),
        write=known.get("WRITE", (function,)),
        given=known.get("GIVEN", ()),
        without=known.get("WITHOUT", ()),
        refuses=known.get("REFUSES", False),
        stepper=known.get("STEPPER", ()),
    )


def _docstrings(code):
    """Return where the docstrings of some code begin and end, in characters."""
    starts = [0]
    for line in code.splitlines(True):
        starts.append(starts[-1] + len(line))
    found = []
    for node in ast.walk(ast.parse(code)):
        kinds = ast.Module | ast.FunctionDef | ast.ClassDef
        if isinstance(node, kinds) and ast.get_docstring(node) is not None:
            first = node.body[0]
            found.append((starts[first.lineno - 1], starts[first.end_lineno or 0]))
    return found


def _solution(name):
    """Return what a file of `exercises` is about, and the solution in it."""
    text = files(FOLDER).joinpath(f"{name}.py").read_text(encoding="utf-8")
    code, _, _ = text.partition(MARK)
    return ast.get_docstring(ast.parse(code)), code.rstrip() + "\n"


def template(exercise):
    """Return the solution without the bodies that the student is to write."""
    lines = exercise.code.splitlines()
    title, *body = ast.parse(exercise.code).body
    parts, before = [], title.end_lineno or 0
    for node in body:
        named = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if named and node.name not in (*exercise.write, *exercise.given):
            continue
        decorators = node.decorator_list if named else []
        first = min([node.lineno, *(one.lineno for one in decorators)])
        whole = lines[first - 1 : node.end_lineno]
        if named and node.name in exercise.write:
            docstring = node.body[0]
            whole = whole[: docstring.end_lineno - first + 1]
            whole.append(f'    raise NotImplementedError("{node.name} is not written yet")')
        parts.append((named, first - before, "\n".join(whole)))
        before = node.end_lineno or 0
    check = f"minibatch-gnn exercise check {exercise.name}.py"
    head = f'"""{exercise.title}\n\nCheck it with: {check}\n"""'
    text, after_named = f"{head}\n", False
    for named, rows, part in parts:
        blank = 2 if named or after_named else min(rows - 1, 1)
        text += "\n" * blank + part + "\n"
        after_named = named
    return text
