"""The two packages have one API, and the reference stands alone."""

import ast
import copy
import functools
import importlib
import inspect
import pickle
import pkgutil
import pydoc
import re
import subprocess
import sys
from collections import defaultdict
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import fastimpl
import refimpl
from refimpl.lab.backend import TOPICS, find, find_topic, homes

EXPORTED = sorted(homes())
COMPILED = sorted(fastimpl.compiled)


def both(name):
    return find(refimpl, name), find(fastimpl, name)


@pytest.mark.parametrize("topic", TOPICS)
def test_same_names_in_every_topic(topic):
    ref, fast = (importlib.import_module(f"{p}.{topic}") for p in ("refimpl", "fastimpl"))
    assert find_topic(refimpl, topic) is ref and find_topic(fastimpl, topic) is fast
    assert ref.__all__ == fast.__all__ and len(set(ref.__all__)) == len(ref.__all__)
    assert all(hasattr(fast, name) and hasattr(ref, name) for name in ref.__all__)


def test_same_names_at_the_top():
    """Few, and each is also in its topic."""
    assert fastimpl.__all__ == refimpl.__all__
    assert len(set(refimpl.__all__)) == len(refimpl.__all__) <= 65
    for name in refimpl.__all__:
        assert getattr(refimpl, name) is find(refimpl, name)
        assert getattr(fastimpl, name) is find(fastimpl, name)


def test_a_public_name_stands_in_one_topic():
    assert len(EXPORTED) == sum(len(find_topic(refimpl, topic).__all__) for topic in TOPICS)
    assert set(COMPILED) <= set(EXPORTED)


@pytest.mark.parametrize("name", EXPORTED)
def test_same_signature_and_docstring(name):
    ref, fast = both(name)
    assert inspect.signature(fast) == inspect.signature(ref)
    assert fast.__doc__ == ref.__doc__
    assert ref.__doc__.strip()
    assert fast.__name__ == ref.__name__ == name


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_function_stands_in_the_same_module(name):
    ref, fast = both(name)
    assert fast is not ref
    assert inspect.isfunction(fast)
    assert fast.__module__ == ref.__module__.replace("refimpl", "fastimpl", 1)
    module = importlib.import_module(fast.__module__)
    assert getattr(module, name) is fast
    assert getattr(importlib.import_module(ref.__module__), name) is ref


@pytest.mark.parametrize("name", sorted(set(EXPORTED) - set(COMPILED)))
def test_what_is_not_compiled_is_written_once(name):
    """The same object, or one bound to its own package that has the same body."""
    ref, fast = both(name)
    if hasattr(ref, "unbound"):
        assert fast.unbound is ref.unbound
        assert fast is not ref
        assert ref.__module__ == f"refimpl.{homes()[name]}"
        assert fast.__module__ == f"fastimpl.{homes()[name]}"
    else:
        assert fast is ref


def test_reference_never_imports_the_fast_package():
    """In a fresh interpreter, with every submodule of refimpl imported."""
    names = [m.name for m in pkgutil.walk_packages(refimpl.__path__, "refimpl.")]
    needing = "budgets clusters entry_attributes loaders plugs saint sampler shadow"
    needs_torch = {f"refimpl.lab.pyg.{name}" for name in needing.split()}
    names = [n for n in names if not n.endswith("__main__") and n not in needs_torch]
    assert "refimpl.samplers.pin_tile" in names
    lines = [f"import importlib, sys\nfor name in {names!r}: importlib.import_module(name)"]
    lines.append("print([name for name in sys.modules if name.split('.')[0] == 'fastimpl'])")
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]", done.stdout


def normalised(name):
    return name.lower().replace("_", "").removesuffix("s")


def test_no_two_names_differ_by_an_s_or_by_case():
    """But a topic may be named for the class that stands in it, as graph.Graph does."""
    alike = defaultdict(set)
    for name in {*EXPORTED, *(part for topic in TOPICS for part in topic.split("."))}:
        alike[normalised(name)].add(name)
    found = [names for names in alike.values() if len(names) > 1]
    named_for = [{homes()[n], n} for n in EXPORTED if normalised(n) == normalised(homes()[n])]
    assert {"graph", "Graph"} in named_for
    assert [names for names in found if names not in named_for] == []


ROOT = Path(refimpl.__file__).parents[1]


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def imports_of(path, known):
    """Return the modules that a file imports: in functions and for type checkers too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in known else node.module)
    return {name for name in found if name in known}


def imports(package):
    """Return a dict from the modules of a package to those of it that they import."""
    paths = {module_name(path): path for path in (ROOT / package).rglob("*.py")}
    return {name: imports_of(path, frozenset(paths)) - {name} for name, path in paths.items()}


def circle(graph):
    """Return a circle of a dict of sets, as a list, or None."""
    done, under_way = set(), []

    def visit(name):
        if name in under_way:
            return [*under_way[under_way.index(name) :], name]
        if name in done:
            return None
        under_way.append(name)
        for other in sorted(graph[name]):
            if found := visit(other):
                return found
        under_way.pop()
        done.add(name)
        return None

    return next((found for name in sorted(graph) if (found := visit(name))), None)


@pytest.mark.parametrize("package", ["refimpl", "fastimpl"])
def test_no_module_imports_itself_by_way_of_others(package):
    graph = imports(package)
    assert len(graph) > 20
    assert circle(graph) is None
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]


OUTWARD = [  # who must not import whom
    ("refimpl.", "refimpl.lab", "refimpl.lab"),
    ("refimpl.loader", "refimpl.history", ""),
    ("refimpl.lab.data", "refimpl.lab.training", ""),
    ("refimpl.lab.data", "refimpl.lab.apps", ""),
    ("refimpl.lab.training", "refimpl.lab.apps", ""),
    ("fastimpl.", "refimpl.lab", ""),
]


@pytest.mark.parametrize(("inner", "outer", "apart"), OUTWARD)
def test_imports_point_inward(inner, outer, apart):
    wrong = []
    known = frozenset({**imports("refimpl"), **imports("fastimpl")})
    for name in known:
        path = ROOT / name.replace(".", "/")
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        program = name.endswith("__main__")  # the door to the command line
        if name.startswith(inner) and not program and not (apart and name.startswith(apart)):
            found = imports_of(file, known)
            wrong += [(name, other) for other in found if f"{other}.".startswith(f"{outer}.")]
    assert wrong == []


BOUND = sorted(name for name in EXPORTED if hasattr(find(refimpl, name), "unbound"))
SIZES = {"n": 5, "d": 2, "h": 3, "layers": 1, "floats": 40, "t_stale": 4}


@pytest.mark.parametrize("name", BOUND)
def test_what_takes_an_implementation_is_bound(name, gnn):
    """To its package; nothing that a user sees speaks of `gnn`; pickle finds it."""
    bound = find(gnn, name)
    assert "gnn" not in inspect.signature(bound).parameters
    shown = pydoc.plain(pydoc.render_doc(bound))
    assert not re.search(r"\bgnn : module|\(gnn|gnn,", shown)
    assert bound.__module__ == f"{gnn.__name__}.{homes()[name]}" and bound.__qualname__ == name
    assert pickle.loads(pickle.dumps(bound)) is bound
    assert copy.deepcopy(bound) is bound
    if inspect.isclass(bound):
        assert bound.gnn is gnn and bound.unbound.gnn is None
        assert issubclass(bound, bound.unbound)


def test_some_names_are_bound():
    assert {"BidirectionalCache", "SubgraphPool", "relation_norms", "train"} <= set(BOUND)


@pytest.mark.parametrize("kind", ["BidirectionalCache", "StaticSplitCache"])
def test_an_object_of_a_bound_class_can_be_copied_and_kept(kind, gnn):
    kind = find(gnn, kind)
    cache = kind(**SIZES)
    cache.begin_update(0)
    cache.admit(1, np.array([3, 1]), np.ones((2, 3), np.float32), 0)
    for other in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert type(other) is kind and isinstance(other, kind.unbound)
        slots = other.lookup(1, np.array([0, 1, 3]), 0)
        assert slots.tolist() == cache.lookup(1, np.array([0, 1, 3]), 0).tolist()
        assert sorted(slots >= 0) == [False, True, True]
        other.evict(1, np.array([1]), 1)
        assert cache.lookup(1, np.array([1]), 0)[0] >= 0


@pytest.mark.parametrize("kind", ["BidirectionalCache", "StaticSplitCache"])
@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda cache: pickle.loads(pickle.dumps(cache))]
)
def test_a_copied_cache_has_one_buffer(kind, copied, gnn):
    """Embeddings and features are views of it, so that one can grow over the other."""
    cache = find(gnn, kind)(**SIZES)
    X = np.arange(10, dtype=np.float32).reshape(5, 2)
    cache.fill(X, np.arange(5))
    cache.admit(1, np.array([3, 1]), np.ones((2, 3), np.float32), 0)
    other = copied(cache)
    assert np.shares_memory(other.entries.rows, other.arena)
    assert np.shares_memory(other.features, other.arena)
    assert np.shares_memory(other.arena, cache.arena) == (copied is copy.copy)
    want, got = cache.state_dict(), other.state_dict()
    assert want.keys() == got.keys()
    assert all(want[name].tobytes() == got[name].tobytes() for name in want)
    rows, hit = other.fetch_features(np.arange(5))
    assert hit.all() and np.array_equal(rows, X)


def test_nothing_but_the_packages_is_installed():
    try:
        files = metadata.files("minibatch-gnn")
    except metadata.PackageNotFoundError:
        pytest.skip("not installed: on the path")
    tops = {path.parts[0] for path in files if path.parts[0] not in ("..", "__pycache__")}
    known = ("refimpl", "fastimpl", "pytest_minibatch_gnn", "minibatch_gnn-", "__editable__")
    assert [top for top in tops - {"minibatch_gnn"} if not top.startswith(known)] == []
