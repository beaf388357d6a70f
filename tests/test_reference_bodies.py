"""A reference function holds the algorithm: its arguments are checked by its decorator."""

import ast
import inspect
import pickle
import textwrap
import typing
from pkgutil import resolve_name

import pytest
from docs_ext import paper_lines

import fastimpl
import refimpl
from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.hints import Int
from refimpl.lab.backend import find

MOST_BEFORE = 4  # assignments before the paper's first line
CHECKS = ("require", "_options", "_arguments")
CHECKED = ("checked", "undirected")
LEFT_OUT = dict.fromkeys(
    ("below", "floyd", "key", "mix", "permutation", "pick_without_replacement", "uniform"),
    "loops call them for every draw, where binding would take most of the time",
)
OTHERS = ("sampled_iteration",)  # no kernel, and no numbered algorithm


def places():
    """Return the functions of docs/algorithms.toml; a class is its methods."""
    algorithms = paper_lines.load_algorithms().values()
    return sorted({place for one in algorithms for place in one.get("functions", ())})


def bodies(place):
    """Return the source at `place`, and the definition of its function or of its methods."""
    source = paper_lines.source_of(place)[2]
    (tree,) = ast.parse(source).body
    functions = tree.body if isinstance(tree, ast.ClassDef) else [tree]
    return source, [part for part in functions if isinstance(part, ast.FunctionDef)]


def checks_in(function):
    """Return what a body does to check its arguments: the names of calls, and "raise"."""
    found = []
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Raise):
                found.append("raise")
            elif isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                names = called.split(".")
                if names[-1] in CHECKED or any(name.endswith(CHECKS) for name in names):
                    found.append(called)
    return found


def before_first_mark(source, function):
    """Return the statements in front of the paper's first line, the docstring apart."""
    rows = {mark.row for mark in paper_lines.marks(source)}
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    before = []
    for statement in body:
        if rows & set(range(statement.lineno, statement.end_lineno + 1)):
            return before
        before.append(statement)
    return before


def late_starts(source, function):
    """Return what is wrong with the beginning of a function."""
    before = before_first_mark(source, function)
    plain = all(isinstance(statement, ast.Assign | ast.AnnAssign) for statement in before)
    return [] if plain and len(before) <= MOST_BEFORE else [ast.unparse(s) for s in before]


@pytest.mark.parametrize("place", places())
def test_no_body_checks_its_arguments(place):
    for function in bodies(place)[1]:
        assert checks_in(function) == [], function.name


@pytest.mark.parametrize("place", places())
def test_a_function_begins_with_the_papers_first_line(place):
    """Or with at most four assignments. A class's methods need not: some are on no line."""
    source, functions = bodies(place)
    if not inspect.isclass(resolve_name(place)):
        assert late_starts(source, functions[0]) == []


@pytest.mark.parametrize("name", sorted(set(fastimpl.compiled) - LEFT_OUT.keys()))
def test_no_body_of_a_kernel_checks_its_arguments(name):
    (function,) = bodies(f"{find(refimpl, name).__module__}:{name}")[1]
    assert checks_in(function) == []


@pytest.mark.parametrize("name", sorted(LEFT_OUT))
def test_a_kernel_that_is_left_out_checks_its_arguments(name):
    """Otherwise its reason has gone."""
    (function,) = bodies(f"{find(refimpl, name).__module__}:{name}")[1]
    assert checks_in(function) != []


@pytest.mark.parametrize("name", fastimpl.compiled)
def test_a_fast_kernel_calls_its_checks_without_binding(name):
    assert not hasattr(find(fastimpl, name), "checks")


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions_are_written_alike(name):
    for function in bodies(f"{find(refimpl, name).__module__}:{name}")[1]:
        assert checks_in(function) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('main = Stream(require.word("main", main))', ["require.word"]),
        ("m, n = frontier_options(graph, m, n)", ["frontier_options"]),
        ("x = layers._arguments.bias(x)", ["layers._arguments.bias"]),
        ("undirected(graph)", ["undirected"]),
        ("live = int(checked(block).degrees().sum())", ["checked"]),
        ('if m < 1:\n        raise ValueError("m")', ["raise"]),
        ("main = Stream(main)", []),
    ],
)
def test_a_check_that_is_put_back_is_noticed(line, found):
    (function,) = ast.parse(f"def frontier(main, m):\n    {line}\n").body
    assert sorted(set(checks_in(function)) - {"ValueError"}) == found


@pytest.mark.parametrize(
    ("lines", "good"),
    [
        (["a = 1"] * 4, True),
        (["a = 1"] * 5, False),
        (["begin()"], False),
        (["for a in b:", "    c = a"], False),
    ],
)
def test_a_late_start_is_noticed(lines, good):
    text = "def walk(b):\n" + textwrap.indent("\n".join([*lines, "d = b  # 1"]), "    ") + "\n"
    assert (late_starts(text, ast.parse(text).body[0]) == []) is good


def test_a_body_shows_its_decorator_and_nothing_of_it():
    source = inspect.getsource(refimpl.samplers.frontier)
    assert source.startswith("@sampler\n@checked_by(frontier_arguments)\ndef frontier(\n")
    assert "main, probe = Stream(main), Stream(probe)\n" in source


@pytest.mark.parametrize("name", ["frontier", "pin_tile", "transpose_perm", "spmm", "gat_backward"])
def test_a_checked_function_is_the_function_that_it_was(name):
    function = find(refimpl, name)
    body = inspect.unwrap(function)
    assert body is not function
    assert inspect.signature(function) == inspect.signature(body)
    assert typing.get_type_hints(function) == typing.get_type_hints(body)
    assert (function.__name__, function.__doc__) == (name, body.__doc__)
    assert function.__module__ == body.__module__
    assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, r"frontier\(\) missing 3 required positional arguments"),
        ((1, 2, 3), {"m": 1}, r"frontier\(\) missing 1 required keyword-only argument: 'n'"),
        ((1, 2, 3), {"m": 1, "n": 1, "k": 1}, r"frontier\(\) got an unexpected keyword arg.* 'k'"),
        ((1, 2, 3, 4), {"m": 1, "n": 1}, r"frontier\(\) takes 3 positional arguments but 4"),
    ],
)
def test_a_wrong_call_raises_what_python_raises(args, kwargs, message):
    with pytest.raises(TypeError, match=message):
        refimpl.samplers.frontier(*args, **kwargs)


def double_arguments(x, y, by):
    return require.integer("x", x, 0), y, require.integer("by", by, 1)


@checked_by(double_arguments)
def double(x: Int, y: object = None, *, by: Int = 2) -> object:
    return x, y, by


def test_a_body_gets_what_its_checks_return():
    assert double(3, 4) == (3, 4, 2)
    assert double(y=5, x=3, by=7) == (3, 5, 7)
    with pytest.raises(ValueError, match="by must be at least 1, got 0"):
        double(3, by=0)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "missing 1 required positional argument: 'x'"),
        ((3, 4, 5), {}, "takes from 1 to 2 positional arguments but 3"),
        ((3,), {"x": 4}, "multiple values for argument 'x'"),
        ((), {"y": 4, "z": 3}, "unexpected keyword argument 'z'"),
    ],
)
def test_python_refuses_a_call_that_does_not_fit(args, kwargs, message):
    with pytest.raises(TypeError, match=message):
        double(*args, **kwargs)


def test_checks_that_lose_an_argument_are_noticed():
    @checked_by(lambda x, y: (x,))
    def both(x, y):
        return x, y

    with pytest.raises(ValueError, match="shorter|longer"):
        both(1, 2)
