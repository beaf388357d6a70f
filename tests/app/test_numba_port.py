"""The third implementation of `examples/numba_port`: in the conformance kit, and as a backend."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import refimpl
from refimpl.lab.apps.conformance import vectors

pytestmark = pytest.mark.runs

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "numba_port"
PAGE = (ROOT / "docs" / "howto" / "port_a_backend.md").read_text()
OWN = {"frontier", "induced_subgraph"}


@pytest.fixture
def my_numba(monkeypatch):
    pytest.importorskip("numba", reason="numba is not installed")
    monkeypatch.syspath_prepend(str(FOLDER))
    import my_numba

    return my_numba


def run(folder, *words):
    """Run minibatch-gnn in a process of its own that finds `folder`; return it, when it ended."""
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    main = "import sys; from refimpl.lab.apps.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", main, *words],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def conformance(source, folder, *options):
    """Ask the vectors of a module; return (exit status, report)."""
    (folder / "my_numba.py").write_text(source)
    report = folder / "report.json"
    done = run(folder, "conformance", "--impl", "my_numba", "--report", str(report), *options)
    return done.returncode, json.loads(report.read_text())


def test_the_port_conforms_in_its_kernels_and_lacks_the_rest(my_numba, tmp_path):
    source = (FOLDER / "my_numba.py").read_text()
    status, report = conformance(source, tmp_path)
    verdicts = {}
    for case in report["cases"]:
        verdicts.setdefault(case["kernel"], set()).add(case["verdict"])
    assert status == 0
    assert {name for name, found in verdicts.items() if found == {"pass"}} == OWN
    assert all(found == {"skip"} for name, found in verdicts.items() if name not in OWN)


@pytest.mark.parametrize(
    ("line", "other", "kernel"),
    [
        ("draws[m:]", "draws[: len(draws) - m]", "frontier"),  # those of the roots
        ("left >= weight", "left > weight", "frontier"),
        ("not isinstance(value, bool)", "True", "frontier"),
        ("perm[free[u]] = j", "perm[free[u]] = u", "induced_subgraph"),
    ],
)
def test_a_wrong_line_is_found(my_numba, tmp_path, line, other, kernel):
    source = (FOLDER / "my_numba.py").read_text()
    assert source.count(line) == 1
    status, report = conformance(source.replace(line, other), tmp_path, "--only", kernel)
    assert (status, report["lost"]) == (1, None)
    assert "differs" in {case["verdict"] for case in report["cases"]}


def test_a_backend_of_it_draws_and_trains_as_the_reference(my_numba):
    """On a graph that the vectors do not have, and through everything that calls the kernels."""
    gnn = refimpl.backend(my_numba)
    graph = refimpl.lab.data.power_law(3000, 9.0, 5)
    sampler = refimpl.Sampler("frontier", m=40, n=700, deg_cap=30)
    ours, theirs = (package.sample_many(graph, sampler, 3, 0, 4) for package in (gnn, refimpl))
    assert my_numba.walk.signatures and my_numba.induce.signatures  # they were called
    for a, b in zip(ours, theirs, strict=True):
        for name in ("nodes", "edge_ids", "transpose_perm"):
            x, y = getattr(a, name), getattr(b, name)
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(a.graph.indptr, b.graph.indptr)
        np.testing.assert_array_equal(a.graph.indices, b.graph.indices)
        assert a.counters == b.counters


def test_no_nodes_are_a_subgraph_too(my_numba):
    graph = refimpl.as_graph([(0, 1)], symmetrize=True)
    sub = my_numba.induced_subgraph(graph, [])
    assert (sub.graph.n, sub.graph.e, sub.nodes.dtype) == (0, 0, np.int32)
    with pytest.raises(TypeError, match="nodes must be integers"):
        my_numba.induced_subgraph(graph, [0.5])


COMMANDS = re.findall(r"^    PYTHONPATH=examples/numba_port (.*)$", PAGE, re.M)


def test_the_page_shows_the_port_and_its_commands():
    assert "```{literalinclude} ../../examples/numba_port/my_numba.py" in PAGE
    starts = [command.split()[:2] for command in COMMANDS]
    assert starts == [["minibatch-gnn", "conformance"], ["pytest", "bench"]]


def test_the_commands_of_the_page_give_it_rows_and_a_column(my_numba):
    (_, *rows), column = map(shlex.split, COMMANDS)
    done = run(FOLDER, *rows)
    assert (done.returncode, done.stderr) == (0, "")
    missing = len(vectors.load()) - 2
    assert "frontier" in done.stdout and f"2 conforms, {missing} missing" in done.stdout
    kernels = "tiny and (frontier or induced_subgraph or pin_tile)"
    argv = [sys.executable, "-m", *column, "-k", kernels, "--benchmark-disable", "-n", "0"]
    done = subprocess.run(
        argv,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(FOLDER), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "8 passed" in done.stdout  # 3 of each package, 2 of the module
