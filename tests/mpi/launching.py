"""Programs on several ranks of a real MPI; tests that need one skip where there is none."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.launching import ON_ONE_MACHINE, mpiexec, no_mpi

ENVIRONMENT = {**ON_ONE_MACHINE, "OMP_NUM_THREADS": "1"}


def need_mpi():
    """Skip the test, by name, where there is no MPI."""
    if no_mpi():
        pytest.skip(no_mpi())


def started(size, *words):
    """Start ``python words`` on so many ranks, in a session of its own; alone for None."""
    ranks = [] if size is None else [mpiexec(), "-n", str(size)]
    return started_as([*ranks, sys.executable, *map(str, words)])


def started_apart(*commands):
    """Start one rank of each command line of Python."""
    words = []
    for k, command in enumerate(commands):
        words += [":"] * (k > 0) + ["-n", "1", sys.executable, *map(str, command)]
    return started_as([mpiexec(), *words])


def started_as(argv, **variables):
    return subprocess.Popen(
        argv,
        env=os.environ | ENVIRONMENT | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(process, seconds=120):
    """Return (status, stdout, stderr) of a job that ends in time; a test fails where it hangs."""
    (found,) = all_ended([process], seconds)
    return found


def all_ended(processes, seconds):
    """Return (status, stdout, stderr) of each job; a test fails where one hangs."""
    limit, found, hung = time.monotonic() + seconds, [], False
    for process in processes:
        try:
            texts = process.communicate(timeout=max(limit - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            hung = True
            os.killpg(process.pid, signal.SIGKILL)
            texts = process.communicate()
        found.append((process.returncode, *texts))
    if hung:
        pytest.fail(f"a job hung for {seconds} s:\n{found}")
    return found


def own_lines(err):
    """Return the lines of a job's stderr that are not the launcher's."""
    lines = re.sub(r"(?m)^-{20,}$.*?^-{20,}$", "", err, flags=re.DOTALL)  # Open MPI's boxes
    return [line for line in lines.splitlines() if line.strip() and "PMIX ERROR" not in line]


def done(size, *words):
    """Run ``python words`` on so many ranks, successfully; return what it printed."""
    status, out, err = ended(started(size, *words))
    assert status == 0, out + err
    return out


def ranks_of(job):
    """Return the ids of the processes of Python that a job has, its descendants."""
    children = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = int(path.parent.name), path.read_text().rsplit(")", 1)[1].split()
            words = path.with_name("cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended
        children.setdefault(int(rest[1]), []).append((pid, words))
    found, below = [], [job.pid]
    while below:
        for pid, words in children.get(below.pop(), ()):
            below.append(pid)
            if words[0] == os.fsencode(sys.executable):
                found.append(pid)
    return sorted(found)
