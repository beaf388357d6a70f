"""The sanitized build ends a program that does what C leaves undefined."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

setuptools = pytest.importorskip("setuptools", "77")
build = pytest.importorskip("setuptools.command.build_ext")
pytestmark = pytest.mark.runs

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
#include <stdlib.h>
#include <string.h>
int main(int count, char **arguments) {
    int *volatile some = calloc(4, sizeof(int));
    int *none = count > 1 ? some : 0, large = 2147483646 + count;
    STATEMENT
    free(some);
    return large == 0;
}
"""
FAULTS = {
    "large += count;": "signed integer overflow",
    "memcpy(none, some, count - 1);": "null pointer",
    "free(some);": "double-free",
    "large -= count;": "",
}


@pytest.fixture
def kernels(monkeypatch, tmp_path):
    """Return setup.py's build command with the flags of the kernels of tox's job."""
    for name in ("Cython", "Cython.Build"):  # which translates, and has no part in the flags
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(sys.modules["Cython.Build"], "cythonize", None, raising=False)
    monkeypatch.setenv("MINIBATCH_GNN_SANITIZE", "1")
    spec = importlib.util.spec_from_file_location("kernels_setup", ROOT / "setup.py")
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    command = setup.BuildExt(setuptools.Distribution())
    command.extensions = [setup.Extension("program", ["program.c"])]
    command.compiler = build.new_compiler()
    build.customize_compiler(command.compiler)
    monkeypatch.chdir(tmp_path)
    if not command.works(["-fsanitize=address,undefined"], ["-fsanitize=address,undefined"]):
        pytest.skip("the compiler has no sanitizers")
    command.add_flags()
    return command


@pytest.mark.parametrize("statement", FAULTS)
def test_what_is_undefined_ends_the_program(statement, kernels, tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM.replace("STATEMENT", statement))
    (flags,) = kernels.extensions
    objects = kernels.compiler.compile(["program.c"], extra_postargs=flags.extra_compile_args)
    kernels.compiler.link_executable(objects, "program", extra_postargs=flags.extra_link_args)
    done = subprocess.run(["./program"], capture_output=True, text=True, timeout=300)
    assert (done.returncode != 0) == bool(FAULTS[statement]), done.stderr
    assert FAULTS[statement] in done.stderr
