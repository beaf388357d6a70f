"""Several builds of the kernels side by side: which is taken, and that all give the same bits."""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fastimpl._processor import levels

import fastimpl
from fastimpl import _levels, _processor

QEMU = shutil.which("qemu-x86_64")  # Debian: qemu-user
# NumPy's OpenBLAS takes kernels with AVX for a processor that it does not know, whatever that has.
PROCESSORS = {"Nehalem": "base", "Haswell": "x86-64-v3"}
RUN = """
import hashlib, json
import numpy as np
import fastimpl
from fastimpl.samplers import _sampling
rng = np.random.default_rng(0)
graph = fastimpl.graph.from_edges(*rng.integers(0, 2000, (2, 30_000)), 2000, symmetrize=True)
X = rng.normal(size=(2000, 75)).astype(np.float32)
drawn = fastimpl.sample_many(graph, fastimpl.Sampler("bucket", m=50, n=400), 1, 0, 3)
options = {"m": 50, "n": 400, "eta": 3, "probing": "lanes"}
for name in ("dashboard", "pin_tile"):
    samplers = [fastimpl.Sampler(name, lanes=p, **options) for p in (3, 8, 16)]
    drawn += [fastimpl.sample_many(graph, one, 1, 0, 1)[0] for one in samplers]
mfg = fastimpl.sample_mfg(graph, np.arange(60), (20, 40), seed=1, epoch=0, batch=0)
A = fastimpl.adjacency.row_norm(graph, dtype=np.float32)
results = [part for one in drawn for part in (one.nodes, one.graph.indices, one.transpose_perm)]
results += [np.array(one.counters) for one in drawn]
results += [*mfg.nodes, *(block.indices for block in mfg.blocks)]
results += [fastimpl.spmm(graph, A.data, X), fastimpl.dropout(X, 0.3, 7)]
words = fastimpl.streams.mix(np.arange(2001, dtype=np.uint64))
results += [words, fastimpl.streams.uniform(7, words), fastimpl.streams.key(5, words)]
results += [fastimpl.streams.below(7, words, n) for n in (1000, 2**52 + 1)]
results += [fastimpl.dropout(X.astype(np.float64), 0.3, words[:2000])]
results += [fastimpl.adjacency.sym_norm(graph).data, fastimpl.layers.row_l2_forward(X).Y]
digest = hashlib.blake2b(b"".join(np.ascontiguousarray(part).tobytes() for part in results))
print(json.dumps([fastimpl.build_info()["level"], _sampling.__file__, digest.hexdigest()]))
"""


def run_with(level, root, emulator=(), **more):
    """Return what RUN prints with a value of the variable, and with the packages in `root`."""
    env = {**os.environ, _levels.VARIABLE: level, "PYTHONPATH": str(root), **more}
    command = [
        *emulator,
        os.path.realpath(sys.executable) if emulator else sys.executable,
        "-c",
        RUN,
    ]
    return subprocess.run(command, env=env, cwd=root, capture_output=True, text=True)


@pytest.fixture(scope="module")
def with_levels(tmp_path_factory):
    """Return a folder with both packages, where the build that is here stands for each level."""
    root = tmp_path_factory.mktemp("levels")
    package = Path(fastimpl.__file__).parent
    for source in (package, package.parent / "refimpl"):
        ignored = shutil.ignore_patterns("*.c", "__pycache__", "_levels")
        shutil.copytree(source, root / source.name, ignore=ignored)
    compiled = [p for p in package.rglob("_*") if p.suffix in (".so", ".pyd")]
    compiled = [p.relative_to(package) for p in compiled if _levels.FOLDER not in p.parents]
    for level in levels():
        for path in compiled:
            target = root / "fastimpl" / "_levels" / level / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(package / path, target)
    return root


@pytest.mark.runs
def test_the_best_level_is_taken_and_the_variable_asks_for_another(with_levels):
    for asked in ("auto", _levels.BASE, *levels()):
        done = run_with(asked, with_levels)
        assert not done.returncode, done.stderr
        level, file, _ = json.loads(done.stdout)
        assert level == (next(iter(levels()), _levels.BASE) if asked == "auto" else asked)
        folder = with_levels / "fastimpl"
        folder = folder if level == _levels.BASE else folder / "_levels" / level
        assert Path(file).parent == folder / "samplers"


@pytest.mark.runs
def test_a_level_that_is_not_there_is_refused(with_levels):
    done = run_with("x86-64-v5", with_levels)
    assert done.returncode
    assert "MINIBATCH_GNN_LEVEL must be one of auto, base" in done.stderr
    assert "got 'x86-64-v5'" in done.stderr


@pytest.mark.runs
def test_levels_give_the_same_bits():
    """Of what is installed; `tox -e levels` builds all of them."""
    there = [_levels.BASE, *(one for one in levels() if (_levels.FOLDER / one).is_dir())]
    if len(there) == 1:
        pytest.skip("one build of the kernels is installed")
    root = Path(fastimpl.__file__).parents[1]
    assert len({json.loads(run_with(level, root).stdout)[2] for level in there}) == 1


@pytest.mark.runs
@pytest.mark.skipif(QEMU is None, reason="qemu-x86_64, an emulator of processors, is not installed")
@pytest.mark.parametrize("name", PROCESSORS)
def test_older_processors_run_their_level_or_say_what_they_lack(name):
    """Of what is installed, on a processor that QEMU emulates."""
    root, level = Path(fastimpl.__file__).parents[1], PROCESSORS[name]
    done = run_with("auto", root, [QEMU, "-cpu", name], OPENBLAS_CORETYPE=name.upper())
    if _processor.arch() == "x86-64-v2":
        assert not done.returncode, done.stderr[-2000:]
        found, _, digest = json.loads(done.stdout)
        assert found == (level if (_levels.FOLDER / level).is_dir() else _levels.BASE)
        assert digest == json.loads(run_with("auto", root).stdout)[2]
    elif "avx512f" in _processor.needed():
        assert done.returncode
        assert "were compiled with -march=" in done.stderr and "avx512f" in done.stderr
    else:
        pytest.skip("this build is for neither all processors nor those with AVX-512")


def test_a_processor_that_lacks_something_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(_processor, "lacked", lambda: ["sse4.2", "popcnt"])
    with pytest.raises(ImportError, match="that have sse4.2, popcnt, which this one has not"):
        _levels.choose()


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="the system does not tell")
def test_what_the_kernels_need_is_what_the_system_says_the_processor_has():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    flags = next(line for line in lines if line.startswith(("flags", "Features")))
    has = {flag.replace("_", "") for flag in flags.split()}
    has |= {{"pni": "sse3", "bmi1": "bmi"}.get(flag, flag) for flag in has}  # Linux's names
    assert {name.replace(".", "") for name in _processor.needed()} <= has
    if platform.machine() == "x86_64" and _processor.arch() in ("native", "x86-64-v2"):
        assert "sse3" in _processor.needed()
    assert not _processor.lacked()


@pytest.mark.parametrize(
    ("asked", "above", "chosen", "words"),
    [
        ("base", ["x86-64-v4", "x86-64-v3"], "base", "asked for by MINIBATCH_GNN_LEVEL"),
        (
            "auto",
            ["x86-64-v4", "x86-64-v3"],
            "x86-64-v4",
            "the highest of x86-64-v4, x86-64-v3, base",
        ),
        ("auto", ["x86-64-v4", "x86-64-v3"], "x86-64-v3", "the processor has no x86-64-v4"),
        ("auto", ["x86-64-v4", "x86-64-v3"], "base", "the processor has no x86-64-v3"),
        ("auto", [], "base", "the one build there is"),
    ],
)
def test_the_choice_has_a_reason_in_words(monkeypatch, asked, above, chosen, words):
    monkeypatch.setattr(_levels, "chosen", chosen)
    assert _levels.reason(asked, above).startswith(words)


def test_the_finder_knows_compiled_modules_of_its_folder_alone(tmp_path):
    suffix = _levels.EXTENSION_SUFFIXES[0]
    (tmp_path / "samplers").mkdir()
    for path in ("_graph", "samplers/_edge"):
        (tmp_path / f"{path}{suffix}").touch()
    finder = _levels.Finder(tmp_path)
    for name, there in {
        "fastimpl._graph": f"_graph{suffix}",
        "fastimpl.samplers._edge": f"samplers/_edge{suffix}",
    }.items():
        spec = finder.find_spec(name)
        assert spec.name == name and Path(spec.origin) == tmp_path / there
    for name in ("fastimpl", "fastimpl._edge", "fastimpl.graph", "refimpl._graph", "_graph"):
        assert finder.find_spec(name) is None
