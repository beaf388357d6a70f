"""What a docstring of the API must say, as rules that a program can check.

`problems(name)` lists what the documentation of a public name lacks: a summary of one line, every
parameter or field with its type, shape and dtype of arrays, what is returned, every exception that
bad input can raise (found in the code), the complexity of a kernel, and the source: which paper,
algorithm, equation or section it is from, or that it is in none.
"""

import ast
import builtins
import dataclasses
import inspect
import itertools
import re
import textwrap
import types
import typing
from typing import NamedTuple

import numpy as np

import fastimpl
import refimpl
from refimpl.lab.backend import find, homes

SHAPE = re.compile(r"\((?:[^()]|\([^()]*\))*,(?:[^()]|\([^()]*\))*\)|(?:same|any|the) shape")
DTYPE = re.compile(r"float|int\d|integer|bool|dtype|real numbers|numbers")
ELSEWHERE = re.compile(r"(?:As (?:in|for|given to)|See) `(\w+)`")
COMPLEXITY = re.compile(r"\bO\(")
SOURCE = re.compile(
    r"(?:Algorithm|Equation|Eq|Theorem|Figure|Table|Proposition|section)s? \(?[IVX\d]"
    r"|\b[A-Z]\w+ (?:et al\. )?\(?(?:KDD |ICLR )?(?:19|20)\d\d\b"
    r"|\bE-[A-Z]\d+\b"
    r"|[Nn]ot in the papers"
)


class Item(NamedTuple):
    """One entry of a section such as Parameters."""

    names: tuple  # of parameters; of one type where a Returns section names nothing
    type: str
    description: str


class Doc(NamedTuple):
    """A numpydoc docstring in parts."""

    text: str
    lines: list
    sections: dict  # title -> list of Items

    def named(self, *titles):
        """Return the Items of these sections by name."""
        return {n: item for t in titles for item in self.sections.get(t, ()) for n in item.names}


def parse(text):
    """Return the Doc of a docstring."""
    lines = inspect.cleandoc(text or "").splitlines()
    starts = [
        i for i in range(1, len(lines) - 1) if re.fullmatch("-{3,}", lines[i]) and lines[i - 1]
    ]
    sections = {}
    for start, following in itertools.pairwise([*starts, len(lines) + 2]):
        sections[lines[start - 1]] = list(items(lines[start + 1 : following - 1]))
    return Doc("\n".join(lines), lines, sections)


def items(lines):
    """Yield the Items of a section's lines."""
    heads = [i for i, line in enumerate(lines) if line and not line[0].isspace()]
    for head, following in itertools.pairwise([*heads, len(lines)]):
        names, _, kind = lines[head].partition(" : ")
        description = " ".join(line.strip() for line in lines[head + 1 : following]).strip()
        split = tuple(name.strip().lstrip("*") for name in names.split(","))
        yield Item(split, kind.strip(), description)


def problems(name):
    """Return what the documentation of the public name `name` lacks."""
    found = find(refimpl, name)
    doc = parse(found.__doc__)
    code = getattr(found, "unbound", found)
    lacks = summary_problems(doc)
    if inspect.isclass(code):
        lacks += class_problems(code, doc)
    else:
        lacks += function_problems(code, doc)
    lacks += array_problems(doc)
    lacks += raise_problems(code, doc)
    if name in fastimpl.compiled and not COMPLEXITY.search(doc.text):
        lacks.append("the complexity of a kernel, as O(..)")
    if not (SOURCE.search(" ".join(doc.text.split())) or serves_a_function(code, doc)):
        lacks.append('its source (paper, algorithm, equation, section), or "not in the papers"')
    return lacks


def public(name):
    """Return what has a public name, or None."""
    return find(refimpl, name) if name in homes() else None


def serves_a_function(code, doc):
    """Whether a class names a function of the API, whose docstring then has the source."""
    named = (public(name) for name in re.findall(r"`(\w+)`", doc.text))
    return inspect.isclass(code) and any(inspect.isfunction(found) for found in named)


def summary_problems(doc):
    """The first line is a sentence, and a paragraph of its own."""
    if not doc.lines:
        return ["a docstring"]
    lacks = []
    if not doc.lines[0].endswith("."):
        lacks.append("a first line that is a sentence")
    if len(doc.lines) > 1 and doc.lines[1]:
        lacks.append("an empty line behind the summary")
    return lacks


def parameters_of(code):
    """Return the names of the parameters, but for `gnn`; a class's are its constructor's."""
    return [p for p in inspect.signature(code).parameters if p not in ("self", "gnn")]


def described(wanted, found, what, more=()):
    """Say which names are not described, which described ones do not exist, which say nothing.

    `more` may be described as well.
    """
    lacks = [f"{what} {name}" for name in dict.fromkeys(wanted) if name not in found]
    lacks += [f"{what} {name}: there is none" for name in found if name not in (*wanted, *more)]
    for name, item in found.items():
        elsewhere = ELSEWHERE.search(item.description)
        if elsewhere and not item.type:
            other = public(elsewhere[1])
            if other is None or name not in parse(other.__doc__).named("Parameters") | {"gnn": 0}:
                lacks.append(f"{what} {name}: {elsewhere[1]} does not describe it")
        elif not item.type and name not in ("args", "options", "kwargs"):
            lacks.append(f"the type of {what} {name}")
    return lacks


def function_problems(code, doc):
    """Every parameter, and what is returned."""
    lacks = described(parameters_of(code), doc.named("Parameters"), "parameter")
    returns = returns_a_value(code)
    if returns and not doc.sections.get("Returns"):
        lacks.append("what is returned")
    if not returns and "Returns" in doc.sections:
        lacks.append("a value to return: there is none")
    return lacks


def returns_a_value(code):
    """Whether a function has a `return` with a value, those of functions in it apart."""
    todo = list(tree_of(code).body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            return True
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            todo += ast.iter_child_nodes(node)
    return False


def class_problems(code, doc):
    """Every field and parameter, and every public method with its parameters."""
    found = doc.named("Parameters", "Attributes")
    fields = fields_of(code)
    lacks = described(
        [*parameters_of(code), *(name for name in fields if name not in inherited(code))],
        found,
        "field" if fields else "parameter",
        more=[*fields, *doc.named("Attributes")],
    )
    for name, hint in fields.items():
        array = any(np.ndarray in (kind, typing.get_origin(kind)) for kind in kinds_of(hint))
        if array and name in found and not SHAPE.search(found[name].type):
            lacks.append(f"the shape of field {name}")
    for name, method in public_methods(code):
        text = inspect.getdoc(method) or ""
        lacks += [f"{name}: {what}" for what in summary_problems(parse(text))]
        if callable(method):  # what it overrides may have said what they are
            said = [inspect.getdoc(getattr(base, name, None)) or "" for base in code.__mro__]
            mentioned = re.findall(r"\w+", " ".join([text, *said]))
            lacks += [
                f"{name}: parameter {parameter}"
                for parameter in parameters_of(method)
                if parameter not in ("cls", *mentioned)
            ]
    return lacks


def fields_of(code):
    """Return the public fields of a named tuple or dataclass, with their types."""
    if hasattr(code, "_fields"):
        names = code._fields
    elif dataclasses.is_dataclass(code):
        names = [field.name for field in dataclasses.fields(code) if field.name[0] != "_"]
    else:
        return {}
    hints = typing.get_type_hints(code)
    return {name: hints[name] for name in names}


def kinds_of(hint):
    """Return the parts of a union, or the one hint."""
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return typing.get_args(hint) if union else (hint,)


def inherited(code):
    """Return the names that the docstrings of a class's bases describe."""
    bases = [base for base in code.__mro__[1:] if base.__module__.startswith("refimpl")]
    return {
        name for base in bases for name in parse(base.__doc__).named("Parameters", "Attributes")
    }


def public_methods(code):
    """Yield (name, function or property) of what refimpl's classes add to a class."""
    for base in code.__mro__:
        if base.__module__.startswith("refimpl"):
            for name, member in vars(base).items():
                function = getattr(member, "__func__", member)
                if name[0] != "_" and (
                    inspect.isfunction(function) or isinstance(function, property)
                ):
                    yield name, function


def array_problems(doc):
    """Whatever is called an array has a shape and a dtype."""
    lacks = []
    for title, entries in doc.sections.items():
        if title not in ("Parameters", "Attributes", "Returns"):
            continue
        for item in entries:
            kind = item.type or (", ".join(item.names) if title == "Returns" else "")
            if not re.search(r"\barrays?\b", kind):
                continue
            if not SHAPE.search(kind):
                lacks.append(f"the shape of {', '.join(item.names)}")
            if not DTYPE.search(kind):
                lacks.append(f"the dtype of {', '.join(item.names)}")
    return lacks


def raise_problems(code, doc):
    """Every exception that the code can raise is described."""
    if not inspect.isclass(code) and not parameters_of(code):
        return []  # no input, none that is bad
    listed = {name for item in doc.sections.get("Raises", ()) for name in item.names}
    return [f"that it raises {name}" for name in sorted(raised_by(code) - listed)]


def tree_of(code):
    return ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(code)))).body[0]


def raised_by(code, seen=None):
    """Return the names of the exceptions that a function, or a class when called, can raise.

    Those of the `raise` statements in it, in the functions of refimpl that it calls by name, and in
    the checks of its decorator `checked_by`; methods of objects are not followed, apart from those
    of `self`.
    """
    seen = set() if seen is None else seen
    if inspect.isclass(code):
        makers = (vars(code).get(name) for name in ("__new__", "__init__", "__post_init__"))
        makers = [maker for maker in makers if inspect.isfunction(maker)]
        own = [m for m in makers if m.__module__.startswith("refimpl") and has_source(m)]
        return set().union(*(raised_by(maker, seen) for maker in own))
    checks = getattr(code, "checks", None)
    found = raised_by(checks, seen) if checks else set()
    code = inspect.unwrap(getattr(code, "unbound", code))
    if code in seen or not code.__module__.startswith("refimpl"):
        return found
    seen.add(code)
    for node in ast.walk(tree_of(code)):
        if isinstance(node, ast.Raise) and node.exc is not None:
            found.add(name_of(node.exc.func if isinstance(node.exc, ast.Call) else node.exc))
        elif isinstance(node, ast.Call):
            called = resolve(node.func, code)
            known = inspect.isfunction(called) or inspect.isclass(called)
            if known and called.__module__.startswith("refimpl"):
                found |= raised_by(called, seen)
    return {name for name in found if is_exception(name)}


def has_source(function):
    """Whether a function stands in a file: dataclasses and named tuples write some themselves."""
    return not function.__code__.co_filename.startswith("<")


def is_exception(name):
    kind = getattr(builtins, name, None)
    return inspect.isclass(kind) and issubclass(kind, Exception)


def name_of(node):
    return node.id if isinstance(node, ast.Name) else ""


def resolve(node, code):
    """Return what a dotted name in a function stands for, or None."""
    if isinstance(node, ast.Name):
        return refimpl if node.id == "gnn" else code.__globals__.get(node.id)
    if isinstance(node, ast.Attribute):
        if name_of(node.value) == "self":
            owner = code.__globals__.get(code.__qualname__.partition(".")[0])
            return getattr(owner, node.attr, None)
        return getattr(resolve(node.value, code), node.attr, None)
    return None
