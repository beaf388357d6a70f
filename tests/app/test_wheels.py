"""What configures the builds that are published, and the page on them."""

import base64
import hashlib
import json
import platform
import re
import runpy
import shutil
import subprocess
import sysconfig
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import fastimpl

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

pytestmark = pytest.mark.runs

ROOT = Path(__file__).parents[2]
CC = shutil.which("cc")
SOURCE = ROOT / "fastimpl" / "_build.c"
PAGE = (ROOT / "docs/howto/install.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_page_has_each_variable_of_a_build():
    source = (ROOT / "setup.py").read_text(encoding="utf-8")
    asked = set(re.findall(r"(?:switch|environ\.get)\(\"(MINIBATCH_GNN_\w+)", source))
    for_tests = {"MINIBATCH_GNN_CHECKED", "MINIBATCH_GNN_SANITIZE"}
    listed = set(re.findall(r"^- `(MINIBATCH_GNN_\w+)` ", PAGE, re.M))
    assert for_tests < asked
    assert listed == asked - for_tests


def test_an_old_setuptools_is_told_which_version_is_needed(monkeypatch):
    setuptools = pytest.importorskip("setuptools", reason="setup.py imports setuptools")
    monkeypatch.setattr(setuptools, "__version__", "65.5.0")
    with pytest.raises(SystemExit, match="needs setuptools 77 or newer, this is 65.5.0; .* -U"):
        runpy.run_path(str(ROOT / "setup.py"))
    (required, _) = PROJECT["build-system"]["requires"]
    assert required == "setuptools>=77"


@pytest.mark.parametrize("name", ["OPENMP", "PURE", "CHECKED", "SANITIZE"])
def test_a_switch_has_some_values_alone(monkeypatch, name):
    pytest.importorskip("setuptools", "77", reason="setup.py needs it")
    monkeypatch.setenv(f"MINIBATCH_GNN_{name}", "yes")
    with pytest.raises(SystemExit, match=f"MINIBATCH_GNN_{name} must be one of .*, got 'yes'"):
        runpy.run_path(str(ROOT / "setup.py"))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names instructions of x86-64")
@pytest.mark.skipif(CC is None or not SOURCE.exists(), reason="no compiler or C file")
def test_a_processor_that_lacks_instructions_is_told_which(tmp_path):
    """Compiled as if the kernels needed what only AMD's Bulldozer had."""
    file = tmp_path / f"_build{sysconfig.get_config_var('EXT_SUFFIX')}"
    flags = ["-shared", "-fPIC", f"-I{ROOT}", f"-I{sysconfig.get_path('include')}"]
    needs = ['-DGNN_ARCH="bdver1"', '-DGNN_NEEDS="fma4"']
    subprocess.run([CC, *flags, *needs, str(SOURCE), "-o", str(file)], check=True)
    spec = spec_from_file_location(f"{fastimpl.__name__}._build", file)
    built = module_from_spec(spec)
    spec.loader.exec_module(built)
    assert (built.build_info()["arch"], built.build_info()["simd"]) == ("bdver1", "fma4")
    with pytest.raises(ImportError, match="-march=bdver1, for processors that have fma4, which"):
        built.check_processor()


def test_cibuildwheel_builds_for_each_python_that_is_claimed():
    settings = PROJECT["tool"]["cibuildwheel"]
    claimed = re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert settings["build"].split() == [f"cp3{minor}-*" for minor in claimed]
    levels = settings["linux"]["environment"]["MINIBATCH_GNN_ARCH"]
    assert f"MINIBATCH_GNN_ARCH={levels}\n" in (ROOT / ".ci/wheels.sh").read_text(encoding="utf-8")
    for name in settings["test-sources"]:
        assert (ROOT / name).exists()


def test_links_of_the_published_readme_lead_to_the_repository():
    absolute = runpy.run_path(str(ROOT / ".ci/readme.py"))["absolute"]
    text = "[a](docs/a.md) ![b](docs/b.png) [c](#c) [d](https://d.org/)"
    assert absolute(text, "https://x.org/y", "1.2") == (
        "[a](https://x.org/y/blob/v1.2/docs/a.md) ![b](https://x.org/y/raw/v1.2/docs/b.png) "
        "[c](#c) [d](https://d.org/)"
    )
    source = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", absolute(source, "https://x.org/y", "1.2"))
    assert all(link.startswith(("http://", "https://", "#")) for link in links)


BUNDLED = runpy.run_path(str(ROOT / ".ci/bundled.py"))["main"]
TEXT, SBOM = "licenses/LICENSE.libgomp", "sboms/auditwheel.cdx.json"


def wheel_with(path, library, *texts):
    """Write a wheel as auditwheel leaves it: with a copy of a library, and an SBOM."""
    packages = [{"name": "minibatch_gnn"}, {"name": f"{library}1", "version": "12.2.0"}]
    files = {f"minibatch_gnn.libs/{library}-f9a9ad78.so.1.0.0": "ELF"} if library else {}
    files |= {f"a.dist-info/{name}": "GPL" for name in texts}
    files |= {f"a.dist-info/{SBOM}": json.dumps({"components": packages})}
    record = "".join(f"{name},sha256=x,3\n" for name in files)
    files["a.dist-info/RECORD"] = f"{record}a.dist-info/RECORD,,\n"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return path


def test_a_copy_of_a_library_has_its_licence_in_the_sbom_of_the_wheel(tmp_path):
    assert {"LICENSE", Path(TEXT).name} == set(PROJECT["project"]["license-files"])
    notice = (ROOT / Path(TEXT).name).read_text(encoding="utf-8")
    path = wheel_with(tmp_path / "a.whl", "libgomp", TEXT)
    BUNDLED(path)
    with zipfile.ZipFile(path) as wheel:
        assert wheel.testzip() is None
        sbom, record = (wheel.read(f"a.dist-info/{name}") for name in (SBOM, "RECORD"))
    own, copy = json.loads(sbom)["components"]
    assert "licenses" not in own
    assert copy["licenses"] == [{"expression": "GPL-3.0-or-later WITH GCC-exception-3.1"}]
    assert f"License: {copy['licenses'][0]['expression']}\n" in notice
    digest = base64.urlsafe_b64encode(hashlib.sha256(sbom).digest()).decode().rstrip("=")
    assert f"a.dist-info/{SBOM},sha256={digest},{len(sbom)}" in record.decode().splitlines()
    assert record.count(b"sha256=x,3") == 2
    (first, _) = path.read_bytes(), BUNDLED(path)
    assert path.read_bytes() == first


@pytest.mark.parametrize(("library", "texts"), [("libgomp", []), ("libother", [TEXT])])
def test_a_copy_of_a_library_without_a_licence_is_refused(tmp_path, library, texts):
    path = wheel_with(tmp_path / "a.whl", library, *texts)
    before = path.read_bytes()
    with pytest.raises(SystemExit, match=f"has a copy of {library}, without a licence"):
        BUNDLED(path)
    assert path.read_bytes() == before


def test_changelog_and_citation_name_the_version():
    version = runpy.run_path(str(ROOT / "refimpl/_version.py"))["__version__"]
    headings = re.findall("^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert re.fullmatch(rf"{re.escape(version)} \((unreleased|\d{{4}}-\d\d-\d\d)\)", headings[0])
    cited = re.findall("^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert cited == [version]


def test_workflows_and_ci_start_what_is_there():
    """Scripts in .ci and fuzzers, by the names that files have."""
    files = [*(ROOT / ".github/workflows").glob("*.yml"), *(ROOT / ".ci").glob("[nrw]*")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    scripts = set(re.findall(r"(?:bash|python) (\.ci/[a-z.]+)", text))
    scripts |= {f"tests/fuzz/{name}.py" for name in re.findall(r"tests/fuzz ([a-z]+)", text)}
    assert {".ci/nightly", ".ci/wheels.sh", ".ci/readme.py", "tests/fuzz/kills.py"} <= scripts
    assert all((ROOT / script).is_file() for script in scripts)


def test_tox_has_at_most_15_environments():
    listed = re.search(r"^env_list = (.*)$", (ROOT / "tox.ini").read_text(), re.M)[1]
    names = re.findall(r"py3\{([^}]*)\}|([\w-]+)", listed)
    count = sum(len(versions.split(",")) if versions else 1 for versions, _ in names)
    assert 10 < count <= 15
