"""What configures the builds that are published, and the page on them."""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fastimpl import _levels
from refimpl import __version__ as VERSION

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

pytestmark = pytest.mark.runs

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/howto/install.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_page_has_each_variable_of_a_build_and_of_the_import():
    asked = set(
        re.findall(r"environ\.get\(\s*\"(MINIBATCH_GNN_\w+)", (ROOT / "setup.py").read_text())
    )
    for_tests = {"MINIBATCH_GNN_CHECKED", "MINIBATCH_GNN_SANITIZE"}
    listed = set(re.findall(r"^- `(MINIBATCH_GNN_\w+)` \(", PAGE, re.M))
    assert for_tests < asked
    assert listed == asked - for_tests | {_levels.VARIABLE}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="levels are of x86-64")
@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler")
def test_levels_need_a_compiler_that_can_tell_them_apart(tmp_path):
    """GCC 11 compiles for the levels, but what it makes would never choose one."""
    pytest.importorskip("Cython", reason="setup.py imports Cython")
    pytest.importorskip("setuptools", reason="setup.py imports setuptools")
    compiler = tmp_path / "gcc-11"
    compiler.write_text(
        "#!/bin/sh\nfor arg; do\n"
        '    case $arg in *.c) grep -q \'cpu_supports("x86-64\' "$arg" && exit 1;; esac\n'
        'done\nexec cc "$@"\n'
    )
    compiler.chmod(0o755)
    levels = PROJECT["tool"]["cibuildwheel"]["linux"]["environment"]["MINIBATCH_GNN_ARCH"]
    command = [sys.executable, "setup.py", "-q", "build_ext"]
    command += ["--build-lib", str(tmp_path), "--build-temp", str(tmp_path)]
    env = {**os.environ, "CC": str(compiler), "MINIBATCH_GNN_ARCH": levels}
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode
    assert "cannot tell which of ['x86-64-v3', 'x86-64-v4']" in done.stderr


def test_cibuildwheel_builds_for_each_python_that_is_claimed():
    settings = PROJECT["tool"]["cibuildwheel"]
    claimed = re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert settings["build"].split() == [f"cp3{minor}-*" for minor in claimed]
    levels = settings["linux"]["environment"]["MINIBATCH_GNN_ARCH"]
    assert f"MINIBATCH_GNN_ARCH={levels}\n" in (ROOT / ".ci/wheels.sh").read_text(encoding="utf-8")
    for name in settings["test-sources"]:
        assert (ROOT / name).exists()


def test_the_workflow_builds_on_each_platform_that_is_configured():
    text = (ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8")
    platforms = set(re.findall(r"platform: (\w+),", text))
    settings = PROJECT["tool"]["cibuildwheel"]
    assert platforms == {name for name, of in settings.items() if "environment" in of}


@pytest.mark.parametrize("address", ["", "https://example.org/some/where"])
def test_links_of_the_published_readme_lead_to_the_repository(tmp_path, address):
    """As the metadata of a distribution has it; without an address it is the file."""
    pytest.importorskip("Cython", reason="setup.py imports Cython")
    env = {
        **os.environ,
        "MINIBATCH_GNN_PURE": "1",
        "MINIBATCH_GNN_URL": address + "/" * bool(address),
    }
    command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(tmp_path)]
    subprocess.run(command, env=env, cwd=ROOT, check=True, capture_output=True)
    (made,) = tmp_path.glob("*.egg-info/PKG-INFO")
    head, _, text = made.read_text(encoding="utf-8").partition("\n\n")
    source = (ROOT / "README.md").read_text(encoding="utf-8")
    if not address:
        assert text.strip() == source.strip() and "Project-URL" not in head
        return
    assert f"Project-URL: Source, {address}\n" in head
    links = re.findall(r"\]\(([^)]+)\)", text)
    there = [link.removeprefix(address) for link in links]
    assert there == [
        re.sub(
            r"^(?!https?:|#)", f"/{'raw' if link.endswith('.png') else 'blob'}/v{VERSION}/", link
        )
        for link in re.findall(r"\]\(([^)]+)\)", source)
    ]
