"""A process that loads damaged files, one case a line; it may crash, and is then started again."""

import contextlib
import io
import os
import random
import tempfile
import traceback
import warnings
import zipfile
from pathlib import Path

from fuzz.damage import damaged
from fuzz.formats import LOADERS, PACKAGES, read
from refimpl._support.reprs import one_line
from refimpl.lab.apps.worker import serve

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
HOMES = tuple(str(Path(package.__file__).parent) for package in PACKAGES)


def case(seed, number, valid, formats):
    """Return (format, variant, files) of a case: the same for the same arguments and files."""
    rng = random.Random(f"{seed}/{number}")
    form = formats[number % len(formats)]
    variant = rng.choice(sorted(path.name for path in (valid / form).iterdir()))
    return form, variant, damaged(read(valid / form / variant), rng)


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
    names, said = [str(folder), *(Path(name).name for name in files)], str(error)
    forms = {form for name in names for form in (name, one_line(name), repr(name)[1:-1])}
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


def main(seed, valid, formats, seconds, memory):
    """Answer questions: the number of a case, or a file of one."""
    warnings.simplefilter("ignore")

    def answer(question):
        one = question["case"]
        if isinstance(one, int):
            parts = case(seed, one, Path(valid), formats)
            packages = [PACKAGES[one // len(formats) % len(PACKAGES)]]
        else:
            parts, packages = unpacked(one), PACKAGES
        unheard = io.StringIO()
        with contextlib.redirect_stdout(unheard), contextlib.redirect_stderr(unheard):
            verdicts = {verdict(*parts, gnn) for gnn in packages}
        return {"form": parts[0], "found": min(verdicts - {"loaded", "refused"} or verdicts)}

    with tempfile.TemporaryDirectory(prefix="fuzz-files-") as tempfile.tempdir:
        serve(answer, memory=int(memory * 2**30), processor=seconds)
