"""The two packages have one API, and the reference stands alone."""

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import fastimpl
import refimpl

EXPORTED = sorted(refimpl.__all__)
COMPILED = sorted(fastimpl.compiled)


def both(name):
    return getattr(refimpl, name), getattr(fastimpl, name)


def test_same_names():
    assert sorted(fastimpl.__all__) == EXPORTED
    assert len(set(EXPORTED)) == len(EXPORTED)
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
    """The same object, or a function bound to its own package that has the same body."""
    ref, fast = both(name)
    if hasattr(ref, "unbound"):
        assert fast.unbound is ref.unbound
        assert fast is not ref
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
