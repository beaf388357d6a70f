"""What a run was measured on, and whether other programs disturbed it: one header for all."""

import os
import platform
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from time import monotonic

import numpy as np
import scipy
from threadpoolctl import threadpool_info

import fastimpl
from refimpl.lab.apps.info import processor

ROOT = Path(__file__).parents[1]
MAX_LOAD = 0.5  # a core; above it other programs decide the times
MAX_OTHERS = 0.1  # share of the machine that others may use during the run
CORES = os.cpu_count() or 1
THREADS = [1, 2] if fastimpl.build_info()["openmp"] and CORES > 1 else [1]


def header(threads=None, peer=None):
    """Return what is measured on, as lines of Markdown.

    Parameters
    ----------
    threads : list of int, optional
        For OpenMP and BLAS alike; without it, what the libraries take by themselves.
    peer : str or list of str, optional
        Other libraries that are measured too: their versions and backends, a line each.
    """
    build = fastimpl.build_info()
    used = ", ".join(map(str, threads)) if threads else f"the libraries' choice on {CORES} cores"
    lines = [
        f"- Processor: {processor()}, {CORES} cores, {platform.system()} {platform.machine()}",
        f"- BLAS: {', '.join(blas())}; of the kernels: {build['blas']}",
        f"- Threads: {used}, for OpenMP and BLAS alike; refimpl runs on 1",
        f"- Versions: Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}; commit {commit()}",
        f"- Build: {build['compiler']}, {build['simd']}, OpenMP {build['openmp'] or 'off'}",
    ]
    for each in [peer] if isinstance(peer, str) else peer or []:
        lines.append(f"- Peer: {each}")
    return [*lines, f"- Date: {datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC", ""]


def blas():
    """Return the BLAS libraries that NumPy and SciPy have loaded: version and kernels."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    names = {
        f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}".strip()
        for pool in pools
    }
    return sorted(names) or ["unknown"]


def commit():
    """Return the revision of the project, marked where files have changed since."""
    command = ["git", "describe", "--always", "--abbrev=11", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


class Watch:
    """The machine's load when a run begins, and what other programs use until it ends."""

    def __init__(self):
        self.load = os.getloadavg()[0] / CORES if hasattr(os, "getloadavg") else None
        self.begin = busy_seconds()

    @property
    def busy(self):
        """Whether the load is so high that times would mean nothing."""
        return self.load is not None and self.load > MAX_LOAD

    def share_of_others(self):
        """Return the share of the machine that other programs used; None if unknown."""
        if self.begin is None:
            return None
        now = busy_seconds()
        elapsed, everyone, own = (b - a for a, b in zip(self.begin, now, strict=True))
        return max(0.0, everyone - own) / max(elapsed, 1e-9) / CORES

    def verdict(self, timed=True):
        """Return the last lines of a report; `timed` if it quotes times that noise spoils."""
        others = self.share_of_others()
        load = "unknown" if self.load is None else f"{self.load:.2f} a core"
        share = "unknown" if others is None else f"{others:.0%}"
        lines = ["", f"Load before: {load}; share of the cores that others used: {share}."]
        if timed and (self.busy or (others or 0) > MAX_OTHERS):
            lines += ["", "**Noisy: other programs were running. Do not quote these times.**"]
        return lines


def busy_seconds():
    """Return the seconds that passed, that all cores and that this process were busy, or None."""
    try:
        ticks = [int(word) for word in Path("/proc/stat").read_text().split(maxsplit=9)[1:9]]
    except OSError:  # not Linux
        return None
    user, nice, system, _idle, _wait, irq, softirq, steal = ticks
    everyone = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return monotonic(), everyone, sum(os.times()[:4])
