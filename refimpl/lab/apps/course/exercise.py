"""An exercise: a solution in `exercises/NAME.py`, and what the course says of it in `NAME.toml`.

The solution is a module: a docstring that says in a line what it is about, imports, and functions.
The TOML file has

title        default: the docstring of the solution
solution     whose solution it is (default: its own)
function     what is checked, the kernel's public name (default: the exercise's name)
reference    "module:name" of the function of refimpl to be written
cases        a JSON file of cases in the form of the vectors (default: those of the function)
page         the page of docs/ that explains it, as "learn/frontier"
beside       how the solution reads beside the reference, in a sentence or two
notes        what to know beside the reference's docstring, such as the order of the draws
hints        texts, each telling a little more
write        the functions that the student writes (default: the function alone)
given        functions and classes that the student finds written (default: none)
without      flags of cases that are not asked
refuses      whether refusing bad arguments is part of it (default: it is not)
stepper      the name of a stepper; the paper's lines in which a node leaves and one comes
mistakes     tables of `did`, `search` and `replace`, see `Mistake`
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import sys
import textwrap
from importlib.resources import files
from typing import Any, NamedTuple

from refimpl.lab.apps.conformance import vectors
from refimpl.lab.apps.papers import TITLES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = "refimpl.lab.apps.course.exercises"
HEAD = '"""{title}\n\nCheck it with: minibatch-gnn exercise check {name}.py\n"""'


class Mistake(NamedTuple):
    """A known mistake: the solution with `replace` instead of `search`, which is in it once.

    `did` says what the student did, so that "a solution that .." goes before it.
    """

    did: str
    search: str
    replace: str


class Exercise(NamedTuple):
    """An exercise; `exercise` reads it, and the docstring of this module explains its parts.

    `code` is the solution, and `level` counts from 1.
    """

    name: str
    level: int
    title: str
    code: str
    function: str
    reference: str
    page: str
    beside: str
    hints: list[str]
    mistakes: list[Mistake]
    write: list[str]
    given: list[str]
    without: list[str]
    stepper: list[str]
    notes: str = ""
    cases: str = ""
    refuses: bool = False

    @property
    def is_framed(self) -> bool:
        """Whether the function that is called is given, so that its steps are compared, too."""
        return self.function not in self.write

    @property
    def reference_function(self) -> Any:
        """The function of refimpl, without what is wrapped around it."""
        module, _, place = self.reference.partition(":")
        found: Any = importlib.import_module(module)
        for part in place.split("."):
            found = getattr(found, part)
        return inspect.unwrap(found)

    def vectors(self, only: str | None = None) -> dict[str, Any]:
        """Return the file of vectors, with the cases that are asked; `only` is the id of one."""
        if self.cases:
            file = json.loads(files(FOLDER).joinpath(self.cases).read_text(encoding="utf-8"))
        else:
            (file,) = vectors.load(patterns=[self.function])
        left = [case for case in file["cases"] if not set(case["flags"]) & set(self.without)]
        return {**file, "cases": [case for case in left if only in (None, case["id"])]}

    @property
    def place(self) -> str:
        """Where it is in the papers, such as "JPDC'21 Algorithm 2"."""
        source = self.vectors()["source"]
        paper = TITLES.get(source["paper"])
        return f"{paper} {source['place']}" if paper else source["place"]

    @property
    def template(self) -> str:
        """The file that a student starts from: the solution, its bodies left out."""
        title, *body = ast.parse(self.code).body
        parts: list[tuple[bool, int, Any]] = []
        before: int = title.end_lineno or 0
        for node in body:
            named = isinstance(node, ast.FunctionDef | ast.ClassDef)
            if not named or _name(node) in (*self.write, *self.given):
                whole = ast.get_source_segment(self.code, node)
                parts.append((named, node.lineno - before, self._task(node) or whole))
                before = node.end_lineno or 0
        text, after_named = HEAD.format(title=self.title, name=self.name) + "\n", False
        for named, rows, part in parts:
            blank = 2 if named or after_named else min(rows - 1, 1)
            text += "\n" * blank + part + "\n"
            after_named = named
        return text

    def task(self, name: str) -> tuple[str, str]:
        """Return the signature and the docstring of a function that the student writes."""
        return task(self, name)

    def _task(self, node: Any) -> str | None:
        """Return the text of a function that is to be written; None of what is given."""
        if _name(node) not in self.write:
            return None
        signature, docstring = task(self, node.name)
        head = textwrap.indent(f'"""{docstring}\n"""', "    ")
        raised = f'    raise NotImplementedError("{node.name} is not written yet")'
        return f"{signature}\n{head}\n{raised}"

    def with_mistake(self, number: int) -> str:
        """Return the solution with one of the mistakes, by its place in `mistakes`."""
        mistake = self.mistakes[number]
        if self.code.count(mistake.search) != 1:
            raise ValueError(f"{self.name}: {mistake.search!r} must be in the solution once")
        return self.code.replace(mistake.search, mistake.replace)


def _name(node: ast.stmt) -> str | None:
    """Return the name of what a statement defines, or None."""
    return getattr(node, "name", None)


def task(exercise: Exercise, name: str) -> tuple[str, str]:
    """Return the signature and the docstring of a function that a student writes.

    They are those of the reference, where it is a function of that name, without annotations. A
    part that only the solution has is as it is there.
    """
    reference = exercise.reference_function
    same = reference.__name__ == name and reference.__qualname__ == name
    source = textwrap.dedent(inspect.getsource(reference)) if same else exercise.code
    nodes = ast.parse(source).body
    node = next(one for one in nodes if isinstance(one, ast.FunctionDef) and one.name == name)
    docstring = ast.get_docstring(node) or ""
    if same and exercise.notes:
        docstring += f"\n\nNotes\n-----\n{exercise.notes.strip()}"
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    signature = f"def {name}({ast.unparse(node.args)}):".replace("'", '"')
    if len(signature) > 99:
        parts = ast.unparse(node.args).replace("'", '"').split(", ")
        signature = f"def {name}(\n    " + ",\n    ".join(parts) + ",\n):"
    return signature, docstring


def exercise(name: str, level: int) -> Exercise:
    """Return the Exercise of a name."""
    known = tomllib.loads(files(FOLDER).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    solution = files(FOLDER).joinpath(f"{known.pop('solution', name)}.py")
    code = solution.read_text(encoding="utf-8")
    function = known.pop("function", name)
    defaults: dict[str, Any] = {"title": ast.get_docstring(ast.parse(code)), "write": [function]}
    defaults |= {"given": [], "without": [], "stepper": []}
    mistakes = [Mistake(**one) for one in known.pop("mistakes")]
    about = {**defaults, **known, "function": function, "mistakes": mistakes}
    return Exercise(name=name, level=level, code=code, **about)
