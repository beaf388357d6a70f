"""The page of implementations that use the vectors: its commands run, and its numbers hold."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conformance_programs import skip_without

from refimpl.lab.apps.conformance import requirements, vectors

pytestmark = pytest.mark.runs

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "conformance_users.md").read_text()
ROWS = re.findall(r"^\| .*? \| .*? \| (all|\d+) \| `(.*?)` \|$", PAGE, re.M)
MAIN = "import sys; from refimpl.lab.apps.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.parametrize(("conform", "command"), ROWS)
def test_an_implementation_conforms_in_as_many_kernels(conform, command, tmp_path):
    for needed in ("node", "rustc", "go", "cc"):
        if re.search(rf"\b{needed} ", command):
            skip_without(needed)
    if "my_numba" in command:
        pytest.importorskip("numba", reason="numba is not installed")
    program = f"{shlex.quote(sys.executable)} -c {shlex.quote(MAIN)}"
    asked = re.sub(r"\b(examples|docs)/", rf"{ROOT}/\1/", command)
    asked = asked.replace("PYTHONPATH=", f"PYTHONPATH={ROOT}:")
    asked = asked.replace("minibatch-gnn", program) + " --report report.json"
    done = subprocess.run(asked, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = {}  # with --level, only of its kernels
    for case in json.loads((tmp_path / "report.json").read_text())["cases"]:
        verdicts.setdefault(case["kernel"], set()).add(case["verdict"])
    want = len(vectors.load()) if conform == "all" else int(conform)
    assert want == sum("pass" in kinds for kinds in verdicts.values())


def test_the_page_names_requirements_and_files_that_there_are():
    assert len(ROWS) == 10
    table = PAGE.partition("## Mistakes")[2]
    named = re.findall(r"`(\w+)-(\d+)`", table)
    assert len(named) == 6
    for kernel, number in named:
        assert f"{kernel}-{number}" in {x.name for x in requirements.of_kernel(kernel)}
    for path in re.findall(r"`((?:tests|examples)/\S+)`", table):
        assert (ROOT / path).is_file()
