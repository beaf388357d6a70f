"""A process that loads damaged files, one case a line; it may crash, and is then started again."""

import contextlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
import zipfile
from pathlib import Path

from fuzz.damage import damaged
from fuzz.formats import LOADERS, PACKAGES, read
from refimpl._support.reprs import one_line

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


def limit(memory):
    """Let this process take so many bytes more of address space."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def unpacked(path):
    """Return (format, variant, files) of a case that was saved."""
    form, variant = Path(path).stem.split("-")[:2]
    with zipfile.ZipFile(path) as archive:
        return form, variant, {name: archive.read(name) for name in archive.namelist()}


def main():
    """Answer each line of the standard input: the number of a case, or a file of one."""
    seed, valid, formats, seconds, memory = sys.argv[1:]
    valid, formats = Path(valid), formats.split(",")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process
    tempfile.tempdir = tempfile.mkdtemp()
    limit(int(float(memory) * 2**30))
    try:
        for line in sys.stdin:
            one = line.strip()
            if one.isdigit():
                parts, number = case(seed, int(one), valid, formats), int(one)
                packages = [PACKAGES[number // len(formats) % len(PACKAGES)]]
            else:
                parts, packages = unpacked(one), PACKAGES
            signal.setitimer(signal.ITIMER_PROF, float(seconds))
            unheard = io.StringIO()
            with contextlib.redirect_stdout(unheard), contextlib.redirect_stderr(unheard):
                verdicts = {verdict(*parts, gnn) for gnn in packages}
            signal.setitimer(signal.ITIMER_PROF, 0)
            found = min(verdicts - {"loaded", "refused"} or verdicts)
            print(json.dumps([parts[0], found]), file=answers, flush=True)
    finally:
        shutil.rmtree(tempfile.tempdir, ignore_errors=True)
