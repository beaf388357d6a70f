"""``python tests/fuzz files``: damaged files of each format, loaded in processes that may crash."""

import argparse
import contextlib
import hashlib
import io
import math
import os
import secrets
import signal
import tempfile
import threading
import time
import zipfile
from collections import Counter
from pathlib import Path

from fuzz import PATIENCE, formats
from fuzz.loading import case
from refimpl.lab.apps.worker import Clock, Lost, Worker, this_python

FOUND = Path(__file__).resolve().parent / "found" / "files"


def main(argv):
    """Run the fuzzer; return 1 if it found something."""
    options = parsed(argv)
    seed = secrets.token_hex(4) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        valid = Path(folder)
        with contextlib.redirect_stdout(io.StringIO()):
            formats.make(valid)
        if options.replay:
            cases = [str(Path(path).resolve()) for path in options.replay]
        else:
            cases = range(options.first, options.first + options.cases)
        counts, findings = run(cases, seed, valid, options)
        for one, form, found in findings:
            print(f"FINDING {form} {one}: {found}")
            if not options.replay:
                again = f"--formats {','.join(options.formats)} --first {one} --cases 1"
                print(f"  again: python tests/fuzz files --seed {seed} {again}")
                print(f"  saved as {save(*case(seed, one, valid, options.formats))}")
    print(table(counts))
    return 1 if findings else 0


def parsed(argv):
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python tests/fuzz files", description=__doc__)
    parser.add_argument("--cases", type=int, default=5000, help="how many (default: 5000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", help="any word; default: a fresh one, which is printed")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="stop after so many seconds"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--limit", type=float, default=20, help="processor seconds of a case")
    parser.add_argument("--memory", type=float, default=1.5, help="GiB that a case may take")
    parser.add_argument(
        "--formats", type=lambda text: text.split(","), default=list(formats.LOADERS), help="which"
    )
    parser.add_argument("--replay", nargs="+", help="load these saved cases instead")
    return parser.parse_args(argv)


def run(cases, seed, valid, options):
    """Ask processes for all cases; return counts by format and verdict, and what was found."""
    counts, findings, lock, end = (
        Counter(),
        [],
        threading.Lock(),
        time.monotonic() + options.seconds,
    )
    numbers = iter(cases)

    def work():
        while judged_by_one_process():
            pass

    def judged_by_one_process():
        """Return whether the process was lost, and others may go on."""
        with supervised(seed, valid, options) as worker:
            while time.monotonic() < end:
                with lock:
                    one = next(numbers, None)
                if one is None:
                    return False
                form, found, lost = asked(worker, one, options)
                with lock:
                    kept = found in ("loaded", "refused")
                    counts[form, found if kept else "findings"] += 1
                    if not kept:
                        findings.append((one, form, found))
                if lost:
                    return True
        return False

    threads = [threading.Thread(target=work) for _ in range(options.workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts, sorted(findings, key=str)


def supervised(seed, valid, options):
    """Return a process that loads files, started again after each that it does not survive."""
    given = [str(seed), str(valid), options.formats, options.limit, options.memory]
    code = f"from fuzz.loading import main; main(*{given!r})"
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2")
    clock = Clock(PATIENCE * options.limit)
    return Worker(this_python(code), clock, env=threads, show_errors=False)


def asked(worker, one, options):
    """Return the format, the verdict, and whether the process was lost, which is a finding."""
    try:
        answer = worker.ask({"case": one})
        return answer["form"], answer["found"], False
    except Lost as lost:
        form = Path(one).stem.split("-")[0] if isinstance(one, str) else None
        form = form or options.formats[one % len(options.formats)]
        if lost.status == -signal.SIGPROF:
            return form, f"takes over {options.limit:g} s", True
        return form, str(lost), True


def save(form, variant, files):
    """Write a case to a file by which it can be replayed; return its path."""
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:8]
    FOUND.mkdir(parents=True, exist_ok=True)
    path = FOUND / f"{form}-{variant}-{digest}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return path


def table(counts):
    """Return the counts as lines."""
    columns = ("loaded", "refused", "findings")
    rows = [("format", "cases", *columns)]
    for form in (*dict.fromkeys(form for form, _ in sorted(counts)), "all"):
        those = [(v, n) for (f, v), n in counts.items() if form in (f, "all")]
        row = [sum(n for v, n in those if v == column) for column in columns]
        rows.append((form, sum(row), *row))
    return "\n".join(f"{a:12}{b:>8}{c:>8}{d:>9}{e:>10}" for a, b, c, d, e in rows)
