"""How the ranks that ``mpirun`` or ``srun`` has started share the cores of a machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refimpl.loader.mpi import MPIComm


def fair_threads(comm: MPIComm) -> int:
    """Return how many threads each rank may use so that those of a machine share its cores."""
    return max(available_cores() // comm.ranks_here(), 1)


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
