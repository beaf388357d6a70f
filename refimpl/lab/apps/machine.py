"""What a run is measured on, and whether other programs disturb it."""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_info

if TYPE_CHECKING:
    from refimpl.hints import Absent

MAX_LOAD = 0.5  # a core; above it other programs decide the times
MAX_OTHERS = 0.1  # share of the machine that others may use during the run
CORES = os.cpu_count() or 1


def blas() -> list[str]:
    """Return the BLAS libraries that NumPy and SciPy have loaded: version and kernels."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    names = {
        f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}".strip()
        for pool in pools
    }
    return sorted(names) or ["unknown"]


class Watch:
    """The machine's load when a run begins, and what other programs use until it ends."""

    def __init__(self) -> None:
        self.load = os.getloadavg()[0] / CORES if hasattr(os, "getloadavg") else None
        self.begin = busy_seconds()

    @property
    def busy(self) -> bool:
        """Whether the load is so high that times would mean nothing."""
        return self.load is not None and self.load > MAX_LOAD

    def share_of_others(self) -> float | Absent:
        """Return the share of the machine that other programs used; None if unknown."""
        if self.begin is None:
            return None
        now = busy_seconds()
        elapsed, everyone, own = (b - a for a, b in zip(self.begin, now, strict=True))
        return max(0.0, everyone - own) / max(elapsed, 1e-9) / CORES

    def verdict(self, timed: bool = True) -> list[str]:
        """Return the last lines of a report; `timed` if it quotes times that noise spoils."""
        others = self.share_of_others()
        load = "unknown" if self.load is None else f"{self.load:.2f} a core"
        share = "unknown" if others is None else f"{others:.0%}"
        lines = ["", f"Load before: {load}; share of the cores that others used: {share}."]
        if timed and (self.busy or (others or 0) > MAX_OTHERS):
            lines += ["", "**Noisy: other programs were running. Do not quote these times.**"]
        return lines


def busy_seconds() -> tuple[float, float, float] | Absent:
    """Return the seconds that passed, that all cores and that this process were busy, or None."""
    try:
        ticks = [int(word) for word in Path("/proc/stat").read_text().split(maxsplit=9)[1:9]]
    except OSError:  # not Linux
        return None
    user, nice, system, _idle, _wait, irq, softirq, steal = ticks
    everyone = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return monotonic(), everyone, sum(os.times()[:4])
