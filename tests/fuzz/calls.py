"""``python tests/fuzz calls``: calls of every public function, changed at random, in both packages.

Allowed is success in both with the same result, or the same error of ours in both, which names an
argument. The calls are made in another process, with a limit of memory and of time for each; it is
started again after a crash. A finding is printed with the line that repeats it, made smaller, and
added to tests/fuzz/found/calls.jsonl, which a test replays.
"""

import argparse
import collections
import json
import queue
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

FOUND = Path(__file__).parent / "found" / "calls.jsonl"
PATIENCE = 20  # of the clock, for a second of processor time
BATCH = 2000  # cases that one process judges: whatever leaks is gone after them
STARTING = 600  # seconds
LAST_LINES, LONGEST_LINE = 40, 200  # of what a process writes to standard error


def main(argv):
    """Fuzz; return 1 if there is a finding."""
    parser = argparse.ArgumentParser(prog="python tests/fuzz calls", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="how many (default: 10000)")
    parser.add_argument("--seed", type=int, help="default: a fresh one, which is printed")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seconds", type=float, help="stop after so many seconds")
    parser.add_argument(
        "--limit", type=float, default=60, help="processor seconds of a case (default: 60)"
    )
    parser.add_argument("--no-save", action="store_true", help="nothing made smaller, or kept")
    options = parser.parse_args(argv)
    if options.seed is None:
        options.seed = secrets.randbelow(2**32)
    print(f"seed {options.seed}", flush=True)
    run = Run(options)
    run.all_cases()
    print(run.table())
    return int(bool(run.findings))


class Worker:
    """A process that judges cases, and what it says, a line at a time.

    A case may take `limit` seconds of the processor, and `PATIENCE` times as many of the clock: a
    machine that others use is no reason for a finding.
    """

    def __init__(self, limit, *arguments):
        self.limit = limit
        path = [str(Path(entry).absolute()) for entry in sys.path]
        start = f"import sys; sys.path[:] = {path!r}; from fuzz.worker import main"
        self.folder = tempfile.TemporaryDirectory(prefix="fuzz-calls-")
        command = [sys.executable, "-c", f"{start}; main({[str(limit), *map(str, arguments)]!r})"]
        self.process = subprocess.Popen(
            command,
            cwd=self.folder.name,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._lines: queue.SimpleQueue = queue.SimpleQueue()
        self._said: collections.deque = collections.deque(maxlen=LAST_LINES)
        self._readers = [
            threading.Thread(target=read, daemon=True) for read in (self._read, self._listen)
        ]
        for reader in self._readers:
            reader.start()
        line = self.says(STARTING)
        if "ended" in line:
            self.close()
            raise SystemExit(f"the worker did not start: {line['ended']}\n{self.last_words()}")
        self.callables = line["callables"]

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(json.loads(line))
        status = self.process.wait()
        late = f"over {self.limit:g} seconds of the processor"
        self._lines.put({"ended": late if status == -signal.SIGPROF else status})

    def _listen(self):
        for line in self.process.stderr:
            self._said.append(line[:LONGEST_LINE].decode(errors="replace"))

    def last_words(self):
        """Return the last lines that the process wrote to standard error."""
        return "".join(self._said).strip()

    def says(self, seconds=None):
        """Return the next line, or why there is none: {"ended": status} or {"ended": "slow"}."""
        seconds = seconds or PATIENCE * self.limit
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            self.close()
            return {"ended": f"no answer in {seconds:g} seconds"}

    def close(self):
        """End the process, and remove its files."""
        self.process.kill()
        for reader in self._readers:
            reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()
        self.folder.cleanup()


class Run:
    """The cases of a command line, what became of them, and what was found."""

    def __init__(self, options):
        self.options = options
        self.verdicts = collections.Counter()
        self.names = set()
        self.findings = {}
        self.callables = 0
        self.began = time.monotonic()

    def all_cases(self):
        """Judge all cases, in batches."""
        first, last = self.options.first, self.options.first + self.options.cases
        while first < last and not self.is_over():
            first = self.batch(first, min(last, first + BATCH))

    def is_over(self):
        """Whether the time is up."""
        limit = self.options.seconds
        return limit is not None and time.monotonic() - self.began > limit

    def batch(self, first, last):
        """Judge cases in one process; return the number of the next case."""
        worker = Worker(self.options.limit, self.options.seed, first, last)
        self.callables = worker.callables
        number, recipe = first - 1, None
        try:
            while number + 1 < last and not self.is_over():
                line = worker.says()
                if "began" in line:
                    number, recipe = line["began"], line["recipe"]
                    self.names.add(recipe["name"])
                    line = worker.says()
                if "ended" in line:
                    worker.close()
                    why = f"the process ended: {line['ended']}"
                    self.found(max(number, first), recipe, f"{why}\n{worker.last_words()}".strip())
                    return max(number, first) + 1
                self.verdicts[line["verdict"]] += 1
                if line["verdict"] == "finding":
                    self.found(number, recipe, line["text"])
        finally:
            worker.close()
        return number + 1

    def found(self, number, recipe, text):
        """Count a finding; the first of its kind is made smaller, printed and kept."""
        if text.startswith("the process ended"):
            self.verdicts["finding"] += 1
        kind = (recipe and recipe["name"], re.sub(r"[\d.]+", "#", text)[:80])
        self.findings[kind] = self.findings.get(kind, 0) + 1
        if self.findings[kind] > 1:
            return
        if not self.options.no_save:
            recipe, text = smaller(recipe, text, self.options.limit)
        again = f"python tests/fuzz calls --seed {self.options.seed} --first {number} --cases 1"
        print(f"{recipe['name']}: {text}\n    {again}\n    {json.dumps(recipe)}", flush=True)
        if not self.options.no_save:
            keep(recipe, text)

    def table(self):
        """Return how it went, as lines."""
        v, calls = self.verdicts, sum(self.verdicts.values()) - self.verdicts["unbuildable"]
        rows = {
            "callables reached": f"{len(self.names)} of {self.callables}",
            "calls, each in both packages": calls,
            "succeeded and equal": v["equal"],
            "refused in the same words": v["refused"],
            "succeeded, not comparable": v["not compared"],
            "refused already by a type of an argument": v["unbuildable"],
            "findings": v["finding"],
            "of different kinds": len(self.findings),
            "seconds": f"{time.monotonic() - self.began:.0f}",
        }
        width = max(map(len, rows))
        return "\n".join(f"{name:<{width}}  {value:>9}" for name, value in rows.items())


def smaller(recipe, text, limit):
    """Return (recipe, text) with as few changes, on as few threads, as still are a finding."""
    trials = [{**recipe, "threads": 1}] if recipe["threads"] > 1 else []
    for k in range(len(recipe["changes"])):
        trials.append({**recipe, "changes": recipe["changes"][:k] + recipe["changes"][k + 1 :]})
    for trial in trials:
        worker = Worker(limit)
        worker.process.stdin.write(f"{json.dumps(trial)}\n".encode())
        worker.process.stdin.flush()
        worker.says()
        line = worker.says()
        worker.close()
        if line.get("verdict") == "finding" or "ended" in line:
            why = line.get("text", f"the process ended: {line.get('ended')}")
            return smaller(trial, why, limit)
    return recipe, text


def keep(recipe, text):
    """Add a finding to the file of those that a test replays."""
    FOUND.parent.mkdir(exist_ok=True)
    with FOUND.open("a") as file:
        file.write(json.dumps({**recipe, "found": text[:200]}) + "\n")
