"""``python tests/fuzz files``: damaged files of each format, loaded in processes that may crash."""

import argparse
import contextlib
import hashlib
import io
import json
import math
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import Counter
from pathlib import Path

from fuzz import formats
from fuzz.calls import PATIENCE
from fuzz.loading import case

TESTS = Path(__file__).resolve().parents[1]
FOUND = TESTS / "fuzz" / "found" / "files"


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
            asked = [str(Path(path).resolve()) for path in options.replay]
        else:
            asked = range(options.first, options.first + options.cases)
        counts, findings = run(asked, seed, valid, options)
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


def run(asked, seed, valid, options):
    """Ask processes for all cases; return counts by format and verdict, and what was found."""
    counts, findings, lock, end = (
        Counter(),
        [],
        threading.Lock(),
        time.monotonic() + options.seconds,
    )
    numbers = iter(asked)

    def work():
        child = Child(seed, valid, options)
        while time.monotonic() < end:
            with lock:
                one = next(numbers, None)
            if one is None:
                break
            form, found = child.ask(one)
            with lock:
                kept = found in ("loaded", "refused")
                counts[form, found if kept else "findings"] += 1
                if not kept:
                    findings.append((one, form, found))
        child.close()

    threads = [threading.Thread(target=work) for _ in range(options.workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts, sorted(findings, key=str)


class Child:
    """A process that loads files; started again when it has ended."""

    def __init__(self, seed, valid, options):
        limits = [str(options.limit), str(options.memory)]
        path = [str(TESTS), str(TESTS.parent)]
        code = f"import sys; sys.path += {path!r}; import fuzz.loading as it; it.main()"
        self.argv = [sys.executable, "-c", code, seed, str(valid)]
        self.argv += [",".join(options.formats), *limits]
        self.options, self.process = options, None

    def ask(self, one):
        """Return the format and the verdict of a case."""
        if self.process is None:
            threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2")
            self.process = subprocess.Popen(
                self.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=TESTS,
                env={**os.environ, **threads},
            )
        print(one, file=self.process.stdin, flush=True)
        timer = threading.Timer(PATIENCE * self.options.limit, self.process.kill)
        timer.start()
        answer = self.process.stdout.readline()
        timer.cancel()
        if answer:
            return json.loads(answer)
        status = self.close()
        form = Path(one).stem.split("-")[0] if isinstance(one, str) else None
        form = form or self.options.formats[one % len(self.options.formats)]
        if status == -signal.SIGPROF:
            return form, f"takes over {self.options.limit:g} s"
        return form, f"ended with status {status}"

    def close(self):
        """End the process; return its status, 0 if there is none."""
        process, self.process = self.process, None
        if process is None:
            return 0
        process.stdin.close()
        process.stdout.close()
        return process.wait()


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
