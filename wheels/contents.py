"""What the files that are published hold, and what they must not."""

import tarfile
import zipfile
from pathlib import Path, PurePosixPath

LARGEST = 4_000_000  # bytes of a wheel
OWN_C = ("bench/", "examples/")  # written by hand, not by Cython
IN_SOURCE = (
    *("pyproject.toml", "setup.py", "tox.ini", "README.md", "LICENSE", "CHANGELOG.md"),
    *("bench/README.md", "docs/index.md", "examples/conformance/adapter.c", "tests/README.md"),
    *("tests/twins/test_levels.py", "fuzz/__main__.py", "fastimpl/_levels.py"),
)
IN_WHEEL = ("refimpl/__init__.py", "fastimpl/__init__.py", "fastimpl/_levels.py")


def problems(path):
    """Return what is wrong with a wheel or a source distribution, a line each; [] if nothing is."""
    path = Path(path)
    names, wanted, found = names_in(path), IN_WHEEL, []
    if path.suffix != ".whl":
        names, wanted = [name.partition("/")[2] for name in names], IN_SOURCE
    elif path.stat().st_size >= LARGEST:
        found.append(f"has {path.stat().st_size:,} bytes, {LARGEST:,} or more")
    found += [f"lacks {name}" for name in wanted if name not in names]
    for name in names:
        kind = PurePosixPath(name).suffix
        if kind == ".c" and not name.startswith(OWN_C):
            found.append(f"has {name}, which Cython makes")
        elif kind in (".pyc", ".orig", ".o") or (kind == ".so" and path.suffix != ".whl"):
            found.append(f"has {name}")
    return found


def names_in(path):
    """Return the names of the files in a wheel or a source distribution."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    with tarfile.open(path) as archive:
        return archive.getnames()
