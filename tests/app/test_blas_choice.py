"""How the BLAS of the kernels is chosen, with an MKL that is none."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import fastimpl
from fastimpl import _blas, _blas_choice, _mkl
from fastimpl._blas_choice import Choice, choose, chosen, file_of, in_use, keep, kept_ratio, use
from refimpl._support.row_block_products import parts_of
from refimpl.lab.apps.cli import main

KEY = {"processor": "Z80", "scipy": "openblas 1", "mkl": "7"}
RATIO = 1.25


@pytest.fixture(autouse=True)
def own_choice(monkeypatch, tmp_path):
    """Give each test a cache folder and no variable; put the choice back after it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.delenv("MINIBATCH_GNN_BLAS", raising=False)
    before = in_use()
    yield
    use(before)


@pytest.fixture
def fake(monkeypatch):
    """Install an MKL that calls SciPy's BLAS; count how often it is opened and measured."""
    counts = SimpleNamespace(opened=0, measured=0, ratio=RATIO)

    def opened(path):
        assert path == "libmkl_rt.so"
        counts.opened += 1
        return _mkl.Functions(0, 0, 0)

    def measured(functions):
        assert functions == (0, 0, 0)
        counts.measured += 1
        return counts.ratio

    made = SimpleNamespace(installed=lambda: ("7", "libmkl_rt.so"), opened=opened)
    monkeypatch.setattr(_blas_choice, "_mkl", made)
    monkeypatch.setattr(_blas_choice, "measured_ratio", measured)
    return counts


@pytest.fixture
def without(monkeypatch):
    """Let MKL not be installed."""
    monkeypatch.setattr(_blas_choice, "_mkl", SimpleNamespace(installed=lambda: None))


@pytest.mark.parametrize("value", [None, "", "auto"])
def test_without_mkl_it_is_scipys_and_nothing_is_written(without, monkeypatch, tmp_path, value):
    if value is not None:
        monkeypatch.setenv("MINIBATCH_GNN_BLAS", value)
    choose()
    assert chosen() == f"{_blas_choice.scipys()} (the package mkl is not installed)"
    assert list(tmp_path.iterdir()) == []


def test_mkl_is_asked_for_where_it_is_not_installed(without, monkeypatch):
    monkeypatch.setenv("MINIBATCH_GNN_BLAS", "mkl")
    with pytest.raises(
        ImportError, match=r"MINIBATCH_GNN_BLAS.*not installed.*minibatch-gnn\[mkl\]"
    ):
        choose()


@pytest.mark.parametrize("value", ["MKL", "openblas", "1"])
def test_another_value_is_refused(monkeypatch, value):
    monkeypatch.setenv("MINIBATCH_GNN_BLAS", value)
    with pytest.raises(
        ValueError, match=f"MINIBATCH_GNN_BLAS must be auto, scipy or mkl, got '{value}'"
    ):
        choose()


@pytest.mark.parametrize("value, name", [("scipy", "scipy"), ("mkl", "mkl")])
def test_the_variable_decides_and_nothing_is_measured(fake, monkeypatch, tmp_path, value, name):
    monkeypatch.setenv("MINIBATCH_GNN_BLAS", value)
    choose()
    assert in_use()[:2] == (name, "by MINIBATCH_GNN_BLAS")
    assert (fake.measured, fake.opened) == (0, int(value == "mkl"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ratio, name", [(1.0499, "scipy"), (1.05, "mkl"), (0.5, "scipy")])
def test_the_faster_one_is_measured_once_and_kept(fake, ratio, name):
    fake.ratio = ratio
    choose()
    assert in_use().name == name
    assert f"MKL is {ratio:.2f} times as fast, measured now" in chosen()
    fake.ratio = 1 / ratio  # another day
    choose()
    assert in_use().name == name
    assert f"MKL is {ratio:.2f} times as fast, as kept" in chosen()
    assert fake.measured == 1
    assert fake.opened == (2 if name == "mkl" else 1)  # not for the sake of a slower one


def test_another_version_is_measured_anew(fake, monkeypatch):
    choose()
    monkeypatch.setattr(_blas_choice, "scipys", lambda: "openblas 2")
    choose()
    assert fake.measured == 2


def test_mkl_that_cannot_be_opened(fake, monkeypatch, tmp_path):
    def fail(path):
        raise OSError("no such library")

    _blas_choice._mkl.opened = fail
    choose()
    assert chosen() == f"{_blas_choice.scipys()} (MKL cannot be used: no such library)"
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("MINIBATCH_GNN_BLAS", "mkl")
    with pytest.raises(ImportError, match="MINIBATCH_GNN_BLAS is mkl, but .* no such library"):
        choose()


DAMAGED = [
    b"",
    b"\xff\xfe",
    b"{",
    b"[]",
    b"7",
    b"{}",
    json.dumps({"key": {**KEY, "mkl": "8"}, "ratio": 2.0}).encode(),
    *(
        json.dumps({"key": KEY, "ratio": ratio}).encode()
        for ratio in (float("nan"), float("inf"), -1.0, 0.0, True, "2", None, [])
    ),
]


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_file_counts_for_nothing_and_is_replaced(content):
    path = file_of(KEY)
    path.parent.mkdir()
    path.write_bytes(content)
    assert kept_ratio(KEY) is None
    assert keep(KEY, RATIO) == RATIO
    assert kept_ratio(KEY) == RATIO
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_no_error(fake, monkeypatch, tmp_path):
    folder = tmp_path / "file"
    folder.write_text("in the way")
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(variable, str(folder))
    monkeypatch.setattr(Path, "home", lambda: folder)
    choose()
    assert in_use().name == "mkl"
    assert "measured now" in chosen()


def test_a_user_without_a_home_is_no_error(fake, monkeypatch):
    def home():
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("LOCALAPPDATA")
    monkeypatch.setattr(Path, "home", home)
    choose()
    assert "measured now" in chosen()


def test_a_file_system_without_links_keeps_the_ratio(monkeypatch):
    def link(*_):
        raise PermissionError("no links here")

    monkeypatch.setattr(_blas_choice.os, "link", link)
    assert keep(KEY, RATIO) == RATIO == kept_ratio(KEY)


def test_of_several_processes_the_first_decides_for_all():
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda i: keep(KEY, 1.0 + i), range(32)))
    assert found == {kept_ratio(KEY)}
    assert list(file_of(KEY).parent.iterdir()) == [file_of(KEY)]


def test_measuring_leaves_scipys_blas_in_use(monkeypatch):
    calls, use = [], _blas.use
    monkeypatch.setattr(_blas_choice, "SECONDS", 0.001)
    monkeypatch.setattr(_blas_choice, "SIDE", 16)
    monkeypatch.setattr(
        _blas_choice,
        "_blas",
        SimpleNamespace(use=lambda *f: (calls.append(f), use(*f)), product=_blas.product),
    )
    assert 0 < _blas_choice.measured_ratio(_mkl.Functions(0, 0, 0)) < np.inf
    assert set(calls) == {(), (0, 0, 0)} and calls[-1] == ()


def test_measuring_that_is_interrupted_leaves_scipys_blas_in_use(monkeypatch):
    calls = []

    def product(*arguments):
        if calls[-1]:
            raise KeyboardInterrupt

    fake = SimpleNamespace(use=lambda *functions: calls.append(functions), product=product)
    monkeypatch.setattr(_blas_choice, "_blas", fake)
    with pytest.raises(KeyboardInterrupt):
        _blas_choice.measured_ratio(_mkl.Functions(1, 2, 3))
    assert calls == [(), (1, 2, 3), ()]


def test_another_blas_forgets_what_was_tried_with_the_one_before():
    parts_of(lambda A, B, C, rows: np.matmul(A, B, out=C), np.dtype(np.float32), 3, 4)
    assert parts_of.cache_info().currsize
    use(Choice("scipy", "in a test"))
    assert not parts_of.cache_info().currsize


@pytest.mark.parametrize("turn", [1, -1])
def test_scipys_blas_is_not_taken_for_numpys(monkeypatch, turn):
    pools = [
        {"user_api": "openmp", "internal_api": "openmp", "filepath": "/a/scipy/libgomp.so"},
        {"user_api": "blas", "internal_api": "mkl", "version": "1", "filepath": "/l/libmkl_rt.so"},
        *(
            {
                "user_api": "blas",
                "internal_api": "openblas",
                "version": folder[0],
                "architecture": "Zen",
                "filepath": f"/scipy/site-packages/{folder}/libscipy_openblas.so",
            }
            for folder in ("numpy.libs", "scipy.libs")
        ),
    ]
    monkeypatch.setattr(_blas_choice, "threadpool_info", lambda: pools[::turn])
    assert _blas_choice.scipys.__wrapped__() == "openblas s Zen"


def test_scipys_blas_has_a_name_where_no_pool_is_known(monkeypatch):
    monkeypatch.setattr(_blas_choice, "threadpool_info", list)
    assert _blas_choice.scipys.__wrapped__()


@pytest.mark.parametrize(
    "name", ["libmkl_rt.so.2", "libmkl_rt.so", "mkl_rt.2.dll", "libmkl_rt.2.dylib"]
)
def test_the_library_is_found_among_a_packages_files(monkeypatch, tmp_path, name):
    others = ["libmkl_core.so.2", "mkl_rt.lib", "mkl_rt.h", "libmkl_rt_x.so"]
    files = [
        SimpleNamespace(name=each, locate=lambda each=each: tmp_path / each)
        for each in (*others, name)
    ]
    package = SimpleNamespace(version="7", files=files)
    monkeypatch.setattr(_mkl.metadata, "distribution", lambda _: package)
    assert _mkl.installed() == ("7", str(tmp_path.resolve() / name))
    package.files = None
    assert _mkl.installed() is None


def test_what_is_no_library_is_refused(tmp_path):
    path = tmp_path / "libmkl_rt.so"
    path.write_text("no library")
    with pytest.raises(OSError):
        _mkl.opened(str(path))
    with pytest.raises(OSError, match="is no MKL"):
        _mkl.opened(fastimpl._blas.__file__)


def test_info_and_build_info_name_the_blas(fake, capsys):
    choose()
    assert fastimpl.build_info()["blas"] == "mkl 7 (MKL is 1.25 times as fast, measured now)"
    assert main(["info"]) == 0
    assert "fastimpl blas      mkl 7 (MKL is 1.25 times as fast" in capsys.readouterr().out
    assert main(["info", "--impl", "refimpl"]) == 0
    assert "refimpl blas     NumPy's" in capsys.readouterr().out


def test_a_wrong_value_is_said_in_a_line(monkeypatch, capsys, tmp_path):
    def wrong(name):
        monkeypatch.setenv("MINIBATCH_GNN_BLAS", "x")
        choose()

    monkeypatch.setattr("refimpl.lab.apps.options.import_package", wrong)
    assert main(["train", "--out", str(tmp_path / "run")]) == 2
    assert "MINIBATCH_GNN_BLAS must be auto, scipy or mkl, got 'x'" in capsys.readouterr().err
