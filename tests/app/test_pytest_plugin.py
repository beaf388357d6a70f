"""The plugin for pytest: the fixture, the test vectors as tests, and what it costs unasked."""

import os
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.runs

MINE = """
import numpy as np
from refimpl import spmm as theirs

def transpose_perm(graph):
    order = np.argsort(graph.indices, kind="stable").astype(np.int32)
    if not graph.symmetric:
        raise ValueError("graph must be undirected")
    return order

def spmm(graph, data, X):
    Y = theirs(graph, data, X)
    if Y.size == 9 and Y.dtype == np.float64:
        Y[1, 2] += 1
    return Y
"""
COLLECTED = re.compile(r"collected (\d+) items / (\d+) deselected / (\d+) selected")
TESTS = """
def test_one(gnn):
    print(f"<{gnn.__name__}>")
    assert gnn.transpose_perm and gnn.train
"""


@pytest.fixture
def run(tmp_path):
    """Run pytest with the plugin in a folder of a user's own; return its status and output."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "test_user.py").write_text(TESTS)

    def run(*words, plugin=("-p", "pytest_minibatch_gnn")):
        path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugin, *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_the_fixture_is_each_implementation_made_complete(run):
    status, out = run("-s", "--impl", "refimpl, mine")
    assert status == 0
    assert "<refimpl>" in out and "<backend of mine>" in out and "2 passed" in out


def test_without_the_option_the_fixture_says_what_it_needs(run):
    status, out = run()
    assert status == 1 and "the fixture `gnn` needs --impl NAME" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--impl", "no_such"], "--impl no_such cannot be imported"),
        (["--impl", "json"], "--impl json is no implementation: it has no kernel"),
        (["--impl="], "--impl must be names separated by commas, got ''"),
        (["--impl", "mine,"], "--impl must be names separated by commas, got 'mine,'"),
        (["--impl", "mine,mine"], "--impl names 'mine' twice"),
        (["--impl", "cmd:x", "--gnn-conformance"], "takes packages, got 'cmd:x'"),
        (["--gnn-conformance"], "--gnn-conformance needs --impl NAME"),
    ],
)
def test_bad_usage_is_said_before_any_test(run, words, message):
    status, out = run(*words)
    assert status == pytest.ExitCode.USAGE_ERROR and message in out and "test_user" not in out


def test_the_vectors_are_tests_of_the_implementation(run):
    """Of kernels that it lacks they are skipped; one that is wrong fails with both answers."""
    status, out = run("--impl", "mine", "--gnn-conformance", "-rfs")
    assert status == 1
    failed = [line for line in out.splitlines() if line.startswith("FAILED")]
    assert "gnn-conformance/mine::jpdc21/spmm/path3" in failed[0]
    assert "result[1, 2]: want 1100.0, got 1101.0" in out
    assert "not implemented" in out  # of those that are skipped
    assert "jpdc21/transpose_perm/no_graph" in out  # a list in place of a graph
    status, out = run("--impl", "refimpl", "--gnn-conformance", "-q", "-k", "pin_tile or mix")
    assert status == 0 and "skipped" not in out and "deselected" in out
    status, out = run("--impl", "mine", "--gnn-conformance", "-k", "transpose_perm or spmm")
    collected, left, chosen = map(int, COLLECTED.search(out).groups())
    assert collected == left + chosen > left > 500


def test_what_a_kernel_raised_stands_in_the_failure(run, tmp_path):
    (tmp_path / "crashes.py").write_text("def mix(x):\n    return x.foo_bar\n")
    status, out = run("--impl", "crashes", "--gnn-conformance", "-k", "mix/")
    assert status == 1 and "AttributeError" in out and "    return x.foo_bar" in out


def test_nothing_is_imported_unless_asked_for(run, tmp_path):
    (tmp_path / "conftest.py").write_text(
        "import sys\n\n\ndef pytest_sessionfinish():\n"
        "    ours = [name for name in sys.modules if name.startswith(('refimpl', 'fastimpl'))]\n"
        "    print('imported', ours, 'pytest_minibatch_gnn' in sys.modules)\n"
    )
    (tmp_path / "test_user.py").write_text("def test_none():\n    pass\n")
    status, out = run("-s")
    assert status == 0 and "imported [] True" in out
    status, out = run("-s", "--impl", "refimpl")
    assert status == 0 and "refimpl.lab.apps.options" in out
