"""Whether this process is one of several that ``mpirun`` or ``srun`` has started."""

import os

from refimpl.loader.mpi import MPIComm

# (how many processes, the number of this one), as launchers tell them: MPICH and its kin, Open
# MPI, and Slurm, which tells them to programs without MPI too
VARIABLES = (
    ("PMI_SIZE", "PMI_RANK"),
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
)


def told():
    """Return (rank, number of ranks) as the launcher's environment variables have them."""
    for size, rank in VARIABLES:
        if size in os.environ and rank in os.environ:
            return int(os.environ[rank]), int(os.environ[size])
    return 0, 1


def launched():
    """Return the `MPIComm` of all processes that were started together; None for one alone.

    Raises
    ------
    ImportError
        If there are several, and mpi4py or an MPI is missing.
    RuntimeError
        If MPI does not connect as many as were started.
    """
    _, size = told()
    if size == 1:
        return None
    comm = MPIComm()
    if comm.size != size:
        raise RuntimeError(
            f"{size} processes were started, but the MPI of mpi4py connects {comm.size}: start "
            "them with that MPI's own mpirun, or with srun --mpi=pmix or pmi2"
        )
    return comm


def fair_threads(comm):
    """Return how many threads each rank may use so that those of a machine share its cores."""
    return max(available_cores() // comm.ranks_here(), 1)


def available_cores():
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
