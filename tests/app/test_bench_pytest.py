"""`pytest bench`: what is checked, timed and saved, by implementations that a test makes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.report import importable

pytestmark = pytest.mark.runs

ROOT = Path(__file__).parents[2]
KERNEL = """
import numpy as np

def transpose_perm(graph):
    order = np.argsort(graph.indices, kind="stable").astype(np.int32)
    return {answer}
"""
CHANGES = """
def gradient_norms(G):
    G[0, 0] += 1
    return 0
"""


@pytest.fixture
def bench(tmp_path):
    """Write modules into a folder and run ``pytest bench`` there; return its status and output."""
    for name, source in {
        "right": KERNEL.format(answer="order"),
        "wrong": KERNEL.format(answer="order[::-1].copy()"),
        "changes": CHANGES,
    }.items():
        (tmp_path / f"{name}.py").write_text(source)

    def run(*words, where=("bench",)):
        argv = [sys.executable, "-m", "pytest", *where, "-p", "no:cacheprovider", "-n", "0"]
        path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
        outside = {key: value for key, value in os.environ.items() if "XDIST" not in key}
        done = subprocess.run(
            [*argv, f"--benchmark-storage={tmp_path / 'saved'}", *words],
            cwd=ROOT,
            env={**outside, "PYTHONPATH": path},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    return run


TINY = "-k", "transpose_perm and tiny"
SERVER = f"cmd:{sys.executable} -m refimpl.lab.apps.conformance.protocol fastimpl"
TABLE = "speed-up and share of this machine's limits"


def test_each_implementation_is_timed_and_saved_and_compared(bench, tmp_path):
    file = tmp_path / "run.json"
    words = *TINY, "--impl", f"refimpl,right,{SERVER}"
    status, out = bench(*words, f"--benchmark-json={file}", "--benchmark-autosave")
    assert status == 0, out
    assert TABLE in out and "speed-up right" in out and "benchmark 'transpose_perm tiny'" in out
    saved = json.loads(file.read_text())
    facts = saved["machine_info"]["minibatch_gnn"]
    assert facts["threads"] == 1 and facts["blas"] and "builds" in facts
    assert saved["load"].keys() == {"before", "share_of_others"}
    assert len(saved["benchmarks"]) == 3
    for one in saved["benchmarks"]:
        assert one["group"] == "transpose_perm tiny"
        assert one["extra_info"]["bytes"] > 0 and one["extra_info"]["random_accesses"] > 0
        assert one["stats"]["rounds"] >= 7 and all(took > 0 for took in one["stats"]["data"])
    storage = f"--storage={tmp_path / 'saved'}"
    compare = [sys.executable, "-m", "pytest_benchmark", storage, "compare", "--group-by=group"]
    shown = subprocess.run(compare, capture_output=True, text=True, check=True).stdout
    assert shown.count("test_graph[transpose_perm-tiny-") == 3
    status, out = bench(*words, "--benchmark-compare")
    assert status == 0 and out.count("(NOW)") == 3 and "machine_info is different" not in out


def test_a_wrong_answer_fails_and_the_others_are_timed(bench):
    status, out = bench(*TINY, "--impl", "refimpl,wrong,right")
    assert status == 1 and "1 failed, 2 passed" in out
    assert "test_graph[transpose_perm-tiny-wrong]" in out and "result[0]: want" in out
    table = out[out.index(TABLE) :]
    (row,) = [line.split("|") for line in table.splitlines() if line.startswith("| transpose_perm")]
    assert row[4].strip() == "-" and float(row[3]) > 0 and float(row[5]) > 0


def test_other_projects_give_the_same_answers(bench):
    names = importable()[1:]  # SciPy, and torch and torch_geometric where they are installed
    chosen = "-k", "tiny and _kernels", "--benchmark-disable"
    status, out = bench(*chosen, "--impl", ",".join(names))
    assert status == 0 and " passed" in out, out


def test_an_implementation_that_changes_its_input_fails_and_spoils_nothing(bench):
    words = "-k", "gradient_norms and tiny", "--benchmark-disable"
    status, out = bench(*words, "--impl", "changes,refimpl,fastimpl")
    assert status == 1 and "1 failed, 2 passed" in out and "it changed its argument G" in out


def test_only_kernels_that_an_implementation_has_are_collected(bench):
    status, out = bench("--collect-only", "-q", "--impl", "right")
    assert status == 0
    tests = [line for line in out.splitlines() if line.startswith("bench/")]
    names = [f"bench/test_graph.py::test_graph[transpose_perm-{size}-right]" for size in SIZES]
    assert tests == names[:2]
    status, out = bench("--collect-only", "-q", "--impl", "right", "--large")
    assert [line for line in out.splitlines() if line.startswith("bench/")] == names


SIZES = "tiny", "medium", "large"


def test_one_option_serves_tests_and_benchmarks_together(bench):
    where = "tests/reference/test_graph.py", "bench"
    words = "--collect-only", "-q", "--impl", "right,fastimpl", "-k", "transpose"
    status, out = bench(*words, where=where)
    assert status == 0, out
    lines = [line for line in out.splitlines() if "::" in line]
    for where in ("tests/", "bench/"):
        mine = [line for line in lines if line.startswith(where)]
        assert any("right" in line for line in mine) and any("fastimpl" in line for line in mine)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--impl", "right,right"], "--impl names 'right' twice"),
        (["--impl", "no_such"], "--impl no_such cannot be imported"),
        (["--impl", "cmd:"], "--impl cmd: must be followed by a program"),
        (["--threads", "0"], "--threads must be at least 1, got 0"),
    ],
)
def test_bad_usage_is_said_before_anything_is_measured(bench, words, message):
    status, out = bench(*TINY, *words)
    assert status == pytest.ExitCode.USAGE_ERROR and message in out and TABLE not in out


def test_strict_refuses_a_busy_machine(bench, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import os\nos.getloadavg = lambda: (99.0,) * 3\n")
    status, out = bench(*TINY, "--strict")
    assert status == pytest.ExitCode.USAGE_ERROR and "--strict: the load is" in out
    status, out = bench(*TINY, "--impl", "right")
    assert status == 0 and "Noisy" in out


def test_plain_pytest_collects_no_benchmark():
    argv = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-k", "test_graph"]
    quicker = [f"--ignore=tests/{folder}" for folder in ("app", "browser", "peers", "twins")]
    out = subprocess.run([*argv, *quicker], cwd=ROOT, capture_output=True, text=True).stdout
    assert "tests/reference/test_graph.py::" in out and "bench/" not in out
