"""Steppers know the reference by its functions and marks: a local variable may have any name."""

import ast
import inspect
import linecache
import re
from collections import defaultdict

import pytest

from refimpl.lab.apps.stepper import functions
from refimpl.lab.apps.stepper.page import page
from refimpl.lab.apps.stepper.places import shown
from refimpl.lab.apps.stepper.recipes import recipes

pytestmark = pytest.mark.runs

RECIPES = recipes()
PREFIX = "renamed_"


def code_objects(code):
    """Yield the code objects in a code object, itself first."""
    yield code
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from code_objects(constant)


def functions_at(places):
    """Yield (module, function) for each function that a recipe follows."""
    for place in places:
        module, _, target = functions._find(place)
        members = vars(target).values() if inspect.isclass(target) else [target]
        for member in members:
            member = inspect.unwrap(functions._plain(member))
            if inspect.isfunction(member) and member.__code__.co_filename == module.__file__:
                yield module, member


def locals_of(node):
    """Return the names of a function's own variables: neither parameters nor those of lambdas."""
    walked = list(ast.walk(node))
    stored = {n.id for n in walked if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored - {n.arg for n in walked if isinstance(n, ast.arg)}


def renamed(source, nodes):
    """Return the source with the variables of some functions renamed."""
    rows, places = source.splitlines(keepends=True), set()
    for node in nodes:
        in_text = {
            part.id
            for text in ast.walk(node)
            if isinstance(text, ast.JoinedStr)  # its columns are wrong before Python 3.12
            for part in ast.walk(text)
            if isinstance(part, ast.Name)
        }
        places |= {
            (n.lineno, n.col_offset, n.id)
            for n in ast.walk(node)
            if isinstance(n, ast.Name) and n.id in locals_of(node) - in_text
        }
    for row, column, name in sorted(places, reverse=True):
        text = rows[row - 1].encode()
        assert text[column:].startswith(name.encode())
        rows[row - 1] = (text[:column] + PREFIX.encode() + text[column:]).decode()
    return "".join(rows)


class Renaming:
    """The functions of a recipe with other names for their variables, text and code alike."""

    def __init__(self, monkeypatch, recipe):
        self.patch, self.by_module = monkeypatch, defaultdict(list)
        for module, function in functions_at(recipe.functions):
            self.by_module[module].append(function)
        self.source = {module: inspect.getsource(module) for module in self.by_module}
        tree = {module: ast.parse(self.source[module]) for module in self.by_module}
        self.nodes = {
            module: {f: functions._definition(tree[module], f.__code__) for f in found}
            for module, found in self.by_module.items()
        }

    def apply(self, module, chosen):
        """Rename the variables of some functions of a module."""
        nodes = [self.nodes[module][function] for function in chosen]
        text = renamed(self.source[module], nodes)
        lines = text.splitlines(keepends=True)
        entry = len(text), None, lines, module.__file__
        self.patch.setitem(linecache.cache, module.__file__, entry)
        built = compile(text, module.__file__, "exec", dont_inherit=True)
        known = {(code.co_name, code.co_firstlineno): code for code in code_objects(built)}
        for function in chosen:
            code = function.__code__
            new = known[code.co_name, code.co_firstlineno]
            self.patch.setattr(function, "__code__", new)
        functions._parsed.cache_clear()


@pytest.fixture
def renaming(monkeypatch):
    """Return a maker of Renamings that end with the test."""
    yield lambda recipe: Renaming(monkeypatch, recipe)
    monkeypatch.undo()
    functions._parsed.cache_clear()


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=list(RECIPES))
def test_every_variable_may_have_another_name(renaming, recipe):
    """The page is made, and runs through the same lines of the papers."""
    before = recipe.record()
    names = renaming(recipe)
    count = sum(len(locals_of(n)) for found in names.nodes.values() for n in found.values())
    for module, found in names.by_module.items():
        names.apply(module, found)
    after = recipe.record()
    text = page(recipe, after)
    assert count > 5 and text.count(PREFIX) > count
    assert [step[:4] for step in after.steps] == [step[:4] for step in before.steps]
    assert {step.line for step in map(after.steps.__getitem__, shown(recipe, after))} >= {
        step.line
        for number, step in enumerate(before.steps)
        if number in shown(recipe, before) and before._runs_a_papers_line(number)
    }


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=list(RECIPES))
def test_the_variables_of_any_one_function_may_have_other_names(monkeypatch, recipe):
    with monkeypatch.context() as patch:
        named = [(m, f) for m, found in Renaming(patch, recipe).by_module.items() for f in found]
    for module, function in named:
        with monkeypatch.context() as patch:
            Renaming(patch, recipe).apply(module, [function])
            assert page(recipe, recipe.record())
        functions._parsed.cache_clear()


def test_only_the_picture_of_a_renamed_variable_is_left_out(renaming):
    """The new Dashboard is not seen while the old one is cleaned up; all else is drawn."""
    recipe = RECIPES["pin_tile"]
    before, names = recipe.record(), renaming(recipe)
    ((module, found),) = [
        (module, [f for f in found if f.__qualname__ == "Dashboard.cleanup"])
        for module, found in names.by_module.items()
        if module.__name__.endswith("pin_tile")
    ]
    names.apply(module, found)
    after = recipe.record()
    differ = {name for name in before.states if before.states[name] != after.states[name]}
    assert differ == {"DB"}
    rows = [{name for name, _ in state} for state in after.states["DB"]]
    assert set().union(*rows) == {"DB"}


def test_a_variable_is_renamed_wherever_it_is():
    source = "def f(x):\n    y = x  # y\n    return [y + z for z in y]\n"
    (node,) = ast.parse(source).body
    assert locals_of(node) == {"y", "z"}
    new = renamed(source, [node])
    assert re.findall(r"renamed_\w", new) == [f"{PREFIX}{name}" for name in "yyzzy"]
    assert "# y" in new
