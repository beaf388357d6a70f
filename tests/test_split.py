"""Which tests wait for `--runs`: every file is where tests/README.md says."""

import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FILES = sorted(path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py"))
MARK = "\npytestmark = pytest.mark.runs\n"


def rows():
    """Return (patterns, when) of each row of the table; a later row does not take files again."""
    found = []
    for line in (TESTS / "README.md").read_text().splitlines():
        if line.startswith("| ") and not line.startswith(("| where", "| ---")):
            where, _, when = (cell.strip() for cell in line.strip("|").split(" | "))
            names = re.findall(r"`([^`]+)`", where)
            found.append(([name + "*" if name.endswith("/") else name for name in names], when))
    return found


def test_every_file_is_in_the_table_and_waits_if_it_says_so():
    met = set()
    for patterns, when in rows():
        files = {f for f in FILES for pattern in patterns if fnmatch(f, pattern)} - met
        met |= files
        assert files, patterns
        assert when.startswith(("yes", "with `--runs`"))
        waits = {f for f in files if MARK in (TESTS / f).read_text()}
        assert waits == (files if when.startswith("with") else set())
    assert met == set(FILES)


@pytest.mark.runs
def test_pytest_says_what_it_left_out():
    argv = [sys.executable, "-m", "pytest", "--collect-only", "-q", str(TESTS / "test_split.py")]
    plain, whole, rest = (
        subprocess.run([*argv, *more], capture_output=True, text=True, check=True).stdout
        for more in ((), ("--runs",), ("-m", "runs", "--runs"))
    )
    here = os.environ["PYTEST_CURRENT_TEST"].split("::")[1].split(" ")[0]
    assert here not in plain and "1/2 tests collected (1 deselected)" in plain
    assert "left out: 1 tests" in subprocess.run(
        [arg for arg in argv if arg != "-q"], capture_output=True, text=True, check=True
    ).stdout  # fmt: skip
    assert here in whole and "left out" not in whole
    assert here in rest and "1/2 tests collected (1 deselected)" in rest
