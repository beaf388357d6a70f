"""The two packages have one API, and the reference stands alone."""

import importlib
import inspect
import pkgutil
import subprocess
import sys

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
    names = [name for name in names if not name.endswith("__main__")]
    assert "refimpl.samplers.pin_tile" in names
    lines = [f"import importlib, sys\nfor name in {names!r}: importlib.import_module(name)"]
    lines.append("print([name for name in sys.modules if name.split('.')[0] == 'fastimpl'])")
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]", done.stdout
