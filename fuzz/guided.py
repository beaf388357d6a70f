"""Damaged files of every format again, each case kept from which a reader runs new lines.

    python -m fuzz guided --seconds 600

It needs the package atheris (a fuzzer guided by coverage, with wheels for Linux). Each format has
a process of its own, which starts from the valid files and from those that were found before.
libFuzzer chooses what to change, and changes bytes itself or as `python -m fuzz files` does; the
judge is the same. What is found is saved in fuzz/found/files. A process that crashes, hangs or
takes too long is a finding too, and the end of its format's run.
"""

import argparse
import contextlib
import importlib.util
import io
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from fuzz import formats
from fuzz.calls import PATIENCE
from fuzz.files import FOUND, ROOT, save
from fuzz.guiding import packed, unpacked
from fuzz.loading import unpacked as unzipped

STARTING = 600  # seconds of the clock, at most, to import and to try the files of the start
PROGRESS = re.compile(r"#(\d+)\s+(\w+)\s+cov: (\d+) ft: (\d+) corp: (\d+)/")
COLUMNS = ("format", "cases", "lines", "features", "kept", "findings")


def main(argv=None):
    """Run a command line; return 1 if something was found."""
    options = parsed(argv)
    if importlib.util.find_spec("atheris") is None:
        print("fuzz guided: the package atheris is missing: pip install atheris", file=sys.stderr)
        return 2
    print(f"seed {options.seed}, {options.seconds} s a format", flush=True)
    print(_row(*COLUMNS))
    clean = True
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.redirect_stdout(io.StringIO()):
            formats.make(Path(folder, "valid"))
        for form in options.formats:
            said, findings = run(form, Path(folder), options)
            first, last = progress(said)
            ends = (f"{a} to {b}" for a, b in zip(first[1:3], last[1:3], strict=True))
            print(_row(form, last[0], *ends, last[3], len(findings)), flush=True)
            for text, (variant, files) in findings:
                print(f"FINDING {form}: {text}\n  saved as {save(form, variant, files)}")
            clean = clean and not findings
    return int(not clean)


def parsed(argv):
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m fuzz guided", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--seconds", type=int, default=600, help="for each format (default: 600)")
    add("--seed", type=int, default=secrets.randbelow(2**31 - 1) + 1, help="from 1; default: new")
    add("--limit", type=float, default=20, help="processor seconds of a case (default: 20)")
    add("--memory", type=float, default=1.5, help="GiB that a process may take (default: 1.5)")
    names = list(formats.LOADERS)
    add("--formats", nargs="+", default=names, choices=names, help="which (default: all)")
    return parser.parse_args(argv)


def run(form, folder, options):
    """Let a process try files of a format; return what it said, and (text, case) of findings."""
    home = folder / form
    (home / "corpus").mkdir(parents=True)
    cases = [(path.name, formats.read(path)) for path in (folder / "valid" / form).iterdir()]
    cases += [unzipped(path)[1:] for path in FOUND.glob(f"{form}-*.zip")]
    for i, one in enumerate(cases):
        (home / "corpus" / str(i)).write_bytes(packed(*one))
    status, said = ended(form, home, options)
    lines = (home / "found").read_text().splitlines() if (home / "found").exists() else []
    findings = [(text, unpacked(data)) for text, data in map(json.loads, lines)]
    if status:
        text = {-signal.SIGPROF: f"takes over {options.limit:g} s", None: "hangs"}
        last = (home / "asked").read_bytes() if (home / "asked").exists() else None
        if last is None:
            raise RuntimeError(f"the process ended with status {status} at its start:\n{said}")
        findings.append((text.get(status, f"ended with status {status}"), unpacked(last)))
    return said, findings


def ended(form, home, options):
    """Run the process to its end; return its status, None if it hung, and its standard error."""
    code = f"import sys; sys.path.append({str(ROOT)!r}); import fuzz.guiding as it; "
    code += "it.main(*sys.argv[1:])"
    asked = (form, home, options.seconds, options.seed, options.limit, options.memory)
    log, most = home / "log", STARTING + options.seconds + PATIENCE * options.limit
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, asked)],
            stdout=file,
            stderr=file,
            cwd=ROOT,
            env={**os.environ, **threads},
        )
        try:
            status = process.wait(most)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            status = None
    return status, log.read_text(errors="replace")


def progress(said):
    """Return (cases, lines, features, kept) after the files of the start, and at the end."""
    found = [m.groups() for m in PROGRESS.finditer(said)]
    start = [m for m in found if m[1] == "INITED"] or found or [("0",) * 5]
    numbers = [(cases, *rest) for cases, _, *rest in (start[0], *found)]
    return numbers[0], numbers[-1]


def _row(*cells):
    widths = (-12, 10, 16, 16, 8, 10)
    pairs = zip(map(str, cells), widths, strict=True)
    return "".join(cell.ljust(-n) if n < 0 else cell.rjust(n) for cell, n in pairs)
