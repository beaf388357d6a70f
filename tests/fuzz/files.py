"""``python tests/fuzz files``: damaged files of every format are read, or refused by name.

A finding is saved in tests/fuzz/found/files, and a test reads it.
"""

import contextlib
import functools
import hashlib
import io
import os
import tempfile
import traceback
import warnings
import zipfile
from pathlib import Path

from hypothesis import strategies as st

import fastimpl
import refimpl
from fuzz.damage import damaged
from fuzz.formats import LOADERS, make, read
from refimpl._support.reprs import one_line

FOUND = Path(__file__).resolve().parent / "found" / "files"
WHAT, CASES = "formats", 5000
MEMORY = 3 * 2**29
PACKAGES = (refimpl, fastimpl)
HOMES = tuple(str(Path(package.__file__).parent) for package in PACKAGES)
OURS = (ValueError, TypeError, OSError)
STRANGE = (  # names of the folder around a case
    "plain",
    "a$b$c",
    'it\'s "a"',
    "two\nlines\t",
    "e\x1b[2J",
    "\u6587\u5b57",
    os.fsdecode(b"b\xff"),
)


def names():
    """Return the names of all formats."""
    return list(LOADERS)


def questions(form):
    """Return a strategy of cases: a variant of a format, by number, and a draw for each damage."""
    draws = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {"form": st.just(form), "variant": st.integers(0, 11), "draws": draws}
    )


def judging():
    """Return a function that loads and uses the files of a case: damaged here, or saved before."""
    warnings.simplefilter("ignore")

    def judge(question):
        parts = unpacked(question["path"]) if "path" in question else case(question)
        packages = PACKAGES if "path" in question else [PACKAGES[question["draws"][0] % 2]]
        unheard = io.StringIO()
        with contextlib.redirect_stdout(unheard), contextlib.redirect_stderr(unheard):
            found = {verdict(*parts, gnn) for gnn in packages}
        wrong = found - {"loaded", "refused"}
        return ("finding", min(wrong)) if wrong else (min(found), "")

    return judge


def case(question):
    """Return (format, variant, files) of a case."""
    form = question["form"]
    variants = valid(form)
    variant = sorted(variants)[question["variant"] % len(variants)]
    return form, variant, damaged(variants[variant], question["draws"])


@functools.cache
def valid(form):
    """Return the valid files of a format by their variant."""
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), [form])
        return {path.name: read(path) for path in Path(folder, form).iterdir()}


def verdict(form, variant, files, gnn):
    """Load and use the files; return "loaded", "refused" or what is wrong."""
    load, use = LOADERS[form]
    with tempfile.TemporaryDirectory() as temporary:
        strange = STRANGE[sum(map(len, files.values())) % len(STRANGE)]
        folder = Path(temporary, strange, variant)
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        try:
            loaded = load(folder)
        except OURS as error:
            if is_named(folder, files, error):
                return "refused"
            return f"no file is named: {described(error)}"
        except Exception as error:
            return described(error)
        try:
            use(gnn, loaded)
        except (ValueError, TypeError, FloatingPointError) as error:
            last = traceback.extract_tb(error.__traceback__)[-1].filename
            ours = last.startswith(HOMES) or last.startswith("fastimpl")
            return "refused" if ours else f"in use: {described(error)}"
        except Exception as error:
            return f"in use: {described(error)}"
    return "loaded"


def is_named(folder, files, error):
    """Say whether an error names the folder or one of its files: whole, or as escapes of it."""
    held, said = [str(folder), *(Path(name).name for name in files)], str(error)
    forms = {form for name in held for form in (name, one_line(name), repr(name)[1:-1])}
    return any(form in said for form in forms)


def described(error):
    """Return an error and where it was raised, in one line."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text} ({Path(last.filename).name}:{last.lineno})"


def unpacked(path):
    """Return (format, variant, files) of a case that was saved."""
    form, variant = Path(path).stem.split("-")[:2]
    with zipfile.ZipFile(path) as archive:
        return form, variant, {name: archive.read(name) for name in archive.namelist()}


def keep(question, text):
    """Write a case to a file which a test reads."""
    form, variant, files = case(question)
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:8]
    FOUND.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(FOUND / f"{form}-{variant}-{digest}.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
