"""The functions that a trace follows: their code, their statements, and the papers' lines."""

import ast
import copy
import importlib
import inspect
import textwrap
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any, NamedTuple, TypeAlias

from refimpl.lab.apps.papers import Gist, Marks, algorithm_of, marks_in

Mark: TypeAlias = tuple[str | None, str]


class Line(NamedTuple):
    """A line of a function as it is shown: without its marks.

    Attributes
    ----------
    number : int
        In its file, from 1.
    text : str
    marks : tuple of (str or None, str)
        The algorithm, such as "jpdc21:4", and its lines, such as "13-14".
    errata : tuple of Gist
    """

    number: int
    text: str
    marks: tuple[Mark, ...]
    errata: tuple[Gist, ...]


class Function(NamedTuple):
    """A function to follow.

    Attributes
    ----------
    name : str
        With its class: "Dashboard.cleanup".
    module : str
    algorithm : str or None
        Whose lines its bare marks are.
    summary : str
        First line of the docstring.
    lines : tuple of Line
        Its source without docstring and annotations, as far to the left as it goes; its head is
        one line.
    statements : dict
        Line number -> (first, last) lines of its statement; of a compound one, of its head.
    code : code object
    """

    name: str
    module: str
    algorithm: str | None
    summary: str
    lines: tuple[Line, ...]
    statements: dict[int, tuple[int, int]]
    code: CodeType

    def statement(self, line: int) -> list[Line]:
        """Return the Lines of the statement, or of the head, on a line of the file."""
        first, last = self.statements[line]
        return [row for row in self.lines if first <= row.number <= last]

    def errata(self, line: int) -> list[Gist]:
        """Return the errata of that statement: those on its lines, and those alone above it."""
        rows = self.statement(line)
        above = [row for row in self.lines if row.number < rows[0].number]
        while above and above[-1].errata and not above[-1].text.strip():
            rows.insert(0, above.pop())
        return [gist for row in rows for gist in row.errata]


def functions_of(places: Mapping[str, str | None] | Iterable[str]) -> list[Function]:
    """Return the Functions at `places`, in their order; a class stands for all its methods.

    Parameters
    ----------
    places : mapping of str to (str or None), or iterable of str
        "module:name", as in docs/algorithms.toml; a mapping gives the algorithm, such as
        "jpdc21:4", whose lines the bare marks are.

    Returns
    -------
    list of Function

    Raises
    ------
    ValueError
        If there is no such function or class.
    """
    algorithms: Any = places if hasattr(places, "items") else dict.fromkeys(places)
    found = []
    for place, algorithm in algorithms.items():
        module, parts, target = _find(place)
        if not inspect.isclass(target):
            found.append(_function(module, ".".join(parts), target, algorithm))
            continue
        for name, member in vars(target).items():
            member = inspect.unwrap(_plain(member))
            if inspect.isfunction(member) and member.__code__.co_filename == module.__file__:
                found.append(_function(module, ".".join([*parts, name]), member, algorithm))
    return found


def _find(place: str) -> tuple[ModuleType, list[str], Any]:
    module_name, _, name = place.partition(":")
    target: Any
    try:
        target = module = importlib.import_module(module_name)
        for part in name.split("."):
            target = _plain(inspect.getattr_static(target, part))
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"there is no function {place!r} to trace") from error
    return module, name.split("."), target if inspect.isclass(target) else inspect.unwrap(target)


def _plain(member: Any) -> Any:
    """Return the function behind a property, a static method or a class method."""
    if isinstance(member, property):
        return member.fget
    return getattr(member, "__func__", member)


def _function(module: ModuleType, name: str, function: Any, algorithm: str | None) -> Function:
    text, tree = _parsed(module)
    code = function.__code__
    node: Any = _definition(tree, code)
    body = node.body
    if ast.get_docstring(node) is not None:
        body = body[1:]
    shown = range(_first_line(body[0]), node.end_lineno + 1) if body else ()
    marks = {found.row: found for found in marks_in(inspect.getsource(module))}
    rows = [text[n - 1][: marks[n].column if n in marks else None] for n in shown]
    shown, rows = [node.lineno, *shown], [_head(node), *rows]
    lines = tuple(
        Line(number, row.rstrip(), *_marks(marks.get(number), algorithm))
        for number, row in zip(shown, textwrap.dedent("\n".join(rows)).split("\n"), strict=True)
    )
    summary = inspect.cleandoc(function.__doc__ or "").split("\n")[0].replace("`", "")
    about = name, module.__name__, algorithm, summary, lines
    return Function(*about, _statements(node), code)


def _head(node: ast.FunctionDef) -> str:
    """Return the head of a function in one line, without annotations, indented as in its file."""
    plain = copy.deepcopy(node.args)
    for argument in ast.walk(plain):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return f"{' ' * node.col_offset}def {node.name}({ast.unparse(plain)}):"


@lru_cache
def _parsed(module: ModuleType) -> tuple[list[str], ast.Module]:
    source = inspect.getsource(module)
    return source.splitlines(), ast.parse(source)


def _definition(tree: ast.Module, code: CodeType) -> ast.FunctionDef:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    raise ValueError(f"the source of {code.co_name} is not what was imported")


def _marks(found: Marks | None, algorithm: str | None) -> tuple[tuple[Mark, ...], tuple[Gist, ...]]:
    """Return the ((algorithm, lines), ..) and the errata of Marks; None: there are none."""
    if found is None:
        return (), ()
    lines = ((algorithm_of(p) if p else algorithm, lines) for p, lines in found.lines)
    return tuple(lines), found.errata


def _first_line(node: ast.stmt) -> int | Any:
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def _statements(function: ast.FunctionDef) -> dict[int, tuple[int, int]]:
    """Return line number -> (first, last) of the statement on it, or of its head."""
    spans = {}
    for node in ast.walk(function):  # from the outside in: what is inside wins
        if not isinstance(node, (ast.stmt, ast.excepthandler)):
            continue
        body = getattr(node, "body", None)
        end = _first_line(body[0]) - 1 if body else node.end_lineno
        last = max(node.lineno, end or 0)
        for number in range(node.lineno, last + 1):
            spans[number] = node.lineno, last
    return spans
