"""What follows the work, tables and pictures, loses no result and shows no traceback."""

import errno
import io
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from tiny_data import write_graphsaint
from trained_models import trained

import refimpl
from bench.__main__ import main as bench
from refimpl._support.reprs import one_line
from refimpl.lab.apps import plots
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.terminal import STANDARD_OUTPUT, Escaping
from refimpl.lab.training.progress import bar

NAMES = {
    "dollars": "a$x^{$b",
    "quotes": 'it\'s "a" `b`',
    "CJK": "文字",
    "escapes": "e\x1b[2J\x07\x9b31m",
    "lines": "two\nlines\ttab\rback",
    "right to left": "a\u202eb",
    "not UTF-8": os.fsdecode(b"b\xffad"),
    "long": "x" * 200,
    "a hyphen": "-data",
}
RESULTS = {"checkpoint.npz", "history.csv", "metrics.json", "model.npz"}
SMALL = ("--hidden", "4", "--epochs", "1")


@pytest.fixture(params=NAMES.values(), ids=NAMES)
def name(request):
    return request.param


@pytest.fixture
def data(tmp_path, name):
    """A folder of data whose name, and so the data's, is strange."""
    return write_graphsaint(tmp_path / name)


def picture(path):
    return path.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.runs
def test_strange_names_in_every_command(gnn, data, tmp_path, capfd, name, monkeypatch):
    """One line each, as escapes, in tables, titles and files."""
    monkeypatch.chdir(tmp_path)
    impl = ("--impl", gnn.__name__)
    out, model = tmp_path / f"out {name}", tmp_path / f"out {name}" / "model.npz"
    asked = [
        ("train", f"--data={data}", *impl, *SMALL, f"--out={out}"),
        ("predict", str(model), f"--data={data}", *impl, f"--out={name}.csv"),
        ("sample", f"--data={data}", *impl, "--count", "1", f"--out=drawn{name}"),
        ("convert", str(data), f"new{name}"),
        ("trace", "transpose", f"--out=page{name}.html"),
        ("vectors", "--check", f"--out=none{name}"),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for argv in asked:
            assert main(argv) == (argv[0] == "vectors")
            said = capfd.readouterr()
            assert said.err == ""
            assert all(line.isprintable() for line in said.out.split("\n"))
            if argv[0] in ("train", "predict", "sample"):
                assert one_line(name) in said.out.splitlines()[0]
    assert json.loads((out / "metrics.json").read_text())["dataset"]["name"] == name
    assert picture(out / "curve.png") and picture(tmp_path / f"drawn{name}" / "sample.png")
    assert len((tmp_path / f"{name}.csv").read_text().splitlines()) == 201
    assert (tmp_path / f"page{name}.html").stat().st_size > 1000


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_what_a_terminal_lacks_is_escaped(encoding):
    written = io.BytesIO()
    stream = Escaping(io.TextIOWrapper(written, encoding=encoding))
    assert stream.write("é文\udcff\x1b[1m\r\n") == 9
    stream.flush()
    want = {"ascii": rb"\xe9\u6587", "cp1252": b"\xe9\\u6587", "utf-8": "é文".encode()}
    assert written.getvalue() == want[encoding] + rb"\udcff\x1b[1m\r" + b"\n"


class Broken(io.StringIO):
    """A stream that fails as a full disk, or as a terminal that is gone."""

    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write(self, text):
        raise self.error

    def isatty(self):
        return True


@pytest.mark.parametrize(
    "argv",
    [
        ("train", "--data", "karate", *SMALL, "--out", "out"),
        ("sample", "--data", "karate", "--count", "1", "--out", "out"),
        ("compare", "--data", "karate", "--hidden", "4", "--rounds", "1", "--out", "out"),
        ("predict", "{model}", "--data", "karate", "--out", "out.npy"),
        ("conformance", "--only", "floyd", "--impl", "refimpl", "--report", "out"),
        ("convert", "karate", "out"),
        ("trace", "transpose", "--out", "out.html"),
        ("exercise", "list"),
        ("--help",),
        ("train", "--help"),
    ],
    ids=" ".join,
)
@pytest.mark.runs
def test_a_full_standard_output_is_one_line_and_the_results_are_there(
    argv, tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    refimpl.save_model("model.npz", trained(refimpl, refimpl.load_dataset("karate"), epochs=1))
    monkeypatch.setattr(sys, "stdout", Broken())
    assert main([word.format(model="model.npz") for word in argv]) == 2
    assert capfd.readouterr().err.splitlines() == [
        f"minibatch-gnn: error: [Errno 28] {os.strerror(errno.ENOSPC)}: {STANDARD_OUTPUT!r}"
    ]
    if any(word.startswith("out") for word in argv):
        assert next(tmp_path.glob("out*"))
    if argv[0] == "train" and "--out" in argv:
        assert {path.name for path in (tmp_path / "out").iterdir()} > RESULTS


@pytest.mark.runs
@pytest.mark.parametrize("lacking", ["stdout", "stderr"])
def test_a_stream_that_is_closed_ends_no_run(gnn, lacking, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(sys, lacking, None)
    out = tmp_path / "out"
    argv = ("train", "--data", "karate", *SMALL, "--out", str(out), "--impl", gnn.__name__)
    assert main(argv) == 0
    assert {path.name for path in out.iterdir()} > RESULTS
    assert main(("convert", "karate", str(tmp_path / "new"))) == 0
    assert main(("train", "--data", str(tmp_path / "none"), "--out", str(out / "x"))) == 2


def test_a_bar_whose_terminal_is_gone_is_silent(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Broken())
    with bar(total=3) as shown:
        shown.update(1)
        shown.refresh()
        assert shown.disable


BROKEN = {  # what matplotlib/__init__.py is, and the reason that is told
    "not installed": ("raise ModuleNotFoundError(name='matplotlib')", "is not installed"),
    "of another NumPy": ("raise AttributeError('_ARRAY_API\\nnot found')", "AttributeError: _ARR"),
    "a system error": ("raise SystemError('broken')", "matplotlib failed: SystemError: broken"),
    "half of one": ("", "is not installed"),
    "no cache": ("raise OSError('no writable cache')", "no writable cache"),
    "no memory": ("raise MemoryError", "out of memory"),
}


@pytest.mark.runs
@pytest.mark.parametrize(("source", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_matplotlib_leaves_out_pictures_alone(
    source, reason, tmp_path, monkeypatch, capfd
):
    (tmp_path / "matplotlib").mkdir()
    (tmp_path / "matplotlib" / "__init__.py").write_text(source)
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    for command, file in (("train", "curve.png"), ("sample", "sample.png")):
        more = SMALL if command == "train" else ("--count", "1")
        (tmp_path / command).mkdir()
        (tmp_path / command / file).write_bytes(b"of other numbers")
        assert main([command, "--data", "karate", "--overwrite", "--out", command, *more]) == 0
        said = capfd.readouterr()
        (line,) = (line for line in said.out.splitlines() if line.startswith(f"no {file}: "))
        assert reason in line and said.err == ""
        assert not (tmp_path / command / file).exists()
    assert {path.name for path in (tmp_path / "train").iterdir()} == RESULTS


@pytest.mark.runs
def test_a_figure_without_its_picture_has_its_numbers(tmp_path, monkeypatch, capfd):
    def broken(*args):
        raise RuntimeError("no LaTeX\nhere")

    monkeypatch.setattr("bench.figures.plotting.draw", broken)
    assert bench(["figure", "I-tab2", "--quick", "--out", str(tmp_path / "f")]) == 0
    err = capfd.readouterr().err.splitlines()
    assert err == [
        f"note: no I-tab2.{kind}: matplotlib failed: RuntimeError: no LaTeX here"
        for kind in ("svg", "png")
    ]
    assert {path.name for path in (tmp_path / "f").iterdir()} >= {"I-tab2.csv", "I-tab2.json"}


def test_a_picture_that_fails_says_why_and_the_old_one_goes(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"old")

    def draw(at, what):
        raise ValueError(f"{what}\x1b[2J")

    assert plots.missing(draw, path, "bad") == r"matplotlib failed: ValueError: bad\x1b[2J"
    assert not path.exists()
    assert plots.missing(lambda at: at.write_bytes(b"new"), path) is None and path.exists()


@pytest.mark.parametrize(
    "argv",
    [
        ("train", "--data", "{loop}"),
        ("train", "--data", "{loop}/x"),
        ("train", "--data", "karate", "--out", "{loop}"),
        ("train", "--data", "karate", "--out", "{loop}/x"),
        ("train", "--config", "{loop}/x.toml"),
        ("train", "--resume", "--out", "{loop}"),
        ("sample", "--data", "{loop}"),
        ("compare", "--data", "{loop}"),
        ("convert", "{loop}", "new"),
        ("convert", "karate", "{loop}"),
        ("convert", "karate", "{loop}/x"),
        ("predict", "{loop}", "--data", "karate"),
        ("predict", "{model}", "--data", "{loop}"),
        ("predict", "{model}", "--graph", "{loop}", "--features", "{loop}"),
        ("predict", "{model}", "--data", "karate", "--nodes", "{loop}"),
        ("predict", "{model}", "--data", "karate", "--out", "{loop}/x.csv"),
        ("trace", "transpose", "--out", "{loop}/x.html"),
        ("vectors", "--out", "{loop}"),
        ("conformance", "--copy", "{loop}/x"),
        ("exercise", "check", "{loop}", "--exercise", "uniform"),
    ],
    ids=" ".join,
)
def test_a_loop_of_links_is_one_line_that_names_it(argv, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    refimpl.save_model("model.npz", trained(refimpl, refimpl.load_dataset("karate"), epochs=1))
    assert main([word.format(loop=loop, model="model.npz") for word in argv]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert str(loop) in line


LIMITED = """
import resource, sys
from pathlib import Path
from refimpl.lab.apps.cli import main
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, [used + int(sys.argv[1]) * 2**20] * 2)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.runs
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")
def test_too_little_memory_is_one_line_and_the_checkpoint_is_whole(gnn, tmp_path):
    out, one = tmp_path / "out", {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    argv = ["train", "--hidden", "2048", "--method", "full", "--out", str(out)]
    argv += ["--data", "communities", "--epochs", "2", "--impl", gnn.__name__]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "300", *argv],
        env={**os.environ, **one},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("minibatch-gnn: error: out of memory: try a smaller --hidden, ")
    refimpl.lab.training.checkpoints.load_checkpoint(out / "checkpoint.npz")


@pytest.mark.parametrize("command", ["train", "sample", "exercise"])
def test_a_memory_error_anywhere_in_a_command(command, tmp_path, monkeypatch, capfd):
    def none(*args, **form):
        raise MemoryError("no memory for\nan array")

    monkeypatch.setattr("refimpl.lab.apps.cli._command", none)
    argv = {"train": [], "sample": [], "exercise": ["list"]}[command]
    assert main([command, *argv]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    advice = {
        "train": "a smaller --hidden",
        "sample": "a smaller --budget",
        "exercise": "end other",
    }
    assert "error: out of memory: " in line and advice[command] in line
    assert line.endswith(r"(no memory for\nan array)")


@pytest.mark.runs
@pytest.mark.parametrize(
    ("environment", "options"),
    [
        ({"PYTHONIOENCODING": "ascii"}, ("-W", "error")),
        ({"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}, ()),
        ({"PYTHONIOENCODING": "cp1252"}, ()),
        ({"MPLBACKEND": "nope"}, ("-W", "error")),
        ({"MPLCONFIGDIR": "/dev/null/x", "HOME": "/dev/null/x"}, ()),
    ],
    ids=lambda value: " ".join(value),
)
def test_a_program_ends_well_whatever_its_environment(gnn, environment, options, tmp_path):
    folder, package = write_graphsaint(tmp_path / "文$字"), gnn.__name__
    argv = ["train", "--data", os.fspath(folder), *SMALL, "--out", os.fspath(tmp_path / "é")]
    done = subprocess.run(
        [sys.executable, *options, "-m", package, *argv],
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "é").iterdir()} >= RESULTS
    assert (b"no curve.png: matplotlib failed" in done.stdout) == ("MPLBACKEND" in environment)
    assert b"Traceback" not in done.stderr
    assert np.isfinite(json.loads((tmp_path / "é" / "metrics.json").read_text())["test_f1"])
