"""kill -9 or SIGTERM of one rank at random moments: the job ends, and resumes to the same bits.

    python tests/fuzz ranks --times 30 --seed 1

A run of four workers on 2 or 4 ranks, started by mpiexec; one of its processes is killed. All
others have to end within seconds, what is left must be whole, and the run goes on, on another
number of ranks or on one process, perhaps to be killed again. Many of the moments come before the
ranks are connected. In the end its files are compared
with those of an undisturbed run of one process.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path

from bench.launching import ON_ONE_MACHINE, mpiexec
from fuzz.kills import Wrong, check_whole, result_of

WORKERS, RANKS = 4, (1, 2, 4)
COMMON = f"--data karate --hidden 8 --lr 0.03 --epochs 12 --threads 1 --workers-a-step {WORKERS}"
METHODS = {
    "fresh": "--batch-size 5 --t-stale 9 --buffer 3000",
    "graph": "--model gat --dropout 0.2",
    "neighbor": "--batch-size 5 --workers 1",
    "layer": "--batch-size 3 --partition local --shuffle 0.5",
}
ENDS = 20.0  # seconds in which all have to end when one is killed
PATIENCE = 300.0


def main(argv=None):
    """Run a command line; return its exit status."""
    options = _options(argv)
    if options.mpiexec is None:
        print("fuzz ranks: no mpiexec; give --mpiexec", file=sys.stderr)
        return 2
    rng, counts = random.Random(options.seed), Counter()
    folder = Path(tempfile.mkdtemp(prefix="fuzz_ranks_"))
    print(f"fuzz ranks: {options.times} kills, seed {options.seed}", flush=True)
    try:
        while counts["kills"] < options.times:
            method = rng.choice(list(METHODS))
            _one_run(options.mpiexec, method, folder, rng, counts)
    except Wrong as wrong:
        print(f"WRONG: {method}: {wrong}\nits files are in {folder}")
        return 1
    shutil.rmtree(folder)
    slowest = counts.pop("slowest")
    print(", ".join(f"{number} {name}" for name, number in counts.items()))
    print(f"every run ended in the same bits; a job ended within {slowest:.1f} s of a kill")
    return 0


def _options(argv):
    parser = argparse.ArgumentParser(prog="python tests/fuzz ranks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--times", type=int, default=30, help="number of kills (default: 30)")
    seed = random.SystemRandom().randrange(2**32)
    parser.add_argument("--seed", type=int, default=seed, help="default: a new one")
    parser.add_argument("--mpiexec", default=mpiexec())
    return parser.parse_args(argv)


def _one_run(launcher, method, folder, rng, counts):
    """Start a run, kill a rank of it once or twice, let it end; compare with the undisturbed."""
    expected, seconds = _undisturbed(method, folder)
    out, log = folder / "run", folder / "log"
    sizes = rng.sample(RANKS, len(RANKS))
    for size in [one for one in sizes if one > 1][: rng.randint(1, 2)]:
        whole = (out / "checkpoint.npz").exists()
        job = _start(launcher, method, size, out, log, resume=whole)
        early = rng.random() < 0.5  # while Python starts, before MPI_Init
        time.sleep(rng.uniform(0, 0.6 if early else 1.5 * seconds))
        pids = _ranks_of(job)
        if not pids:
            counts["ended, or not begun"] += 1
            _wait(job, PATIENCE, log)
            continue
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(rng.choice(pids), rng.choice((signal.SIGKILL, signal.SIGTERM)))
        begin = time.monotonic()
        status = _wait(job, ENDS, log)
        counts["slowest"] = max(counts["slowest"], time.monotonic() - begin)
        counts["kills"] += 1
        if status == 0 and not (out / "metrics.json").exists():
            raise Wrong("a job whose rank was killed says that it has succeeded")
        check_whole(out)
    whole = (out / "checkpoint.npz").exists()
    if _wait(_start(launcher, method, sizes[-1], out, log, resume=whole), PATIENCE, log):
        raise Wrong(log.read_text())
    counts["runs"] += 1
    if result_of(out) != expected:
        raise Wrong("the run ended in other bits")
    shutil.rmtree(out)


@cache
def _undisturbed(method, folder):
    """Return what a run of one process gives that nothing disturbs, and how long it takes."""
    out, begin = folder / "undisturbed", time.monotonic()
    log = folder / "log"
    if _wait(_start(None, method, 1, out, log, resume=False), PATIENCE, log):
        raise Wrong(log.read_text())
    found = result_of(out), time.monotonic() - begin
    shutil.rmtree(out)
    return found


def _start(launcher, method, size, out, log, *, resume):
    words = f"train {COMMON} --method {method} {METHODS[method]} --out {out}".split()
    command = [sys.executable, "-m", "fastimpl", *words, *(["--resume"] if resume else [])]
    if size > 1:
        command = [launcher, "-n", str(size), *command]
    with log.open("w") as file:
        env = {**os.environ, **ON_ONE_MACHINE, "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            command, env=env, stdout=file, stderr=file, stdin=subprocess.DEVNULL
        )


def _wait(job, limit, log):
    """Return the status of a job that has to end in so many seconds."""
    try:
        return job.wait(limit)
    except subprocess.TimeoutExpired:
        for pid in [*_ranks_of(job), job.pid]:
            os.kill(pid, signal.SIGKILL)
        raise Wrong(f"it has not ended in {limit} s: {log.read_text()}") from None


def _ranks_of(job):
    """Return the processes of a job that run the program: descendants of mpiexec."""
    children: dict = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, ahead = [], [job.pid]
    while ahead:
        ahead += children.get(ahead.pop(), [])
        found += [pid for pid in ahead if _is_rank(pid) and pid not in found]
    return found


def _is_rank(pid):
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[1:3] == [b"-m", b"fastimpl"]
