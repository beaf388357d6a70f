"""Programs of this folder on the ranks of an MPI: the benchmarks, the fuzzers and the tests."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.command import UsageError
from bench.machine import ROOT

ON_ONE_MACHINE = {  # Open MPI, as root, with more ranks than cores, none bound; MPICH needs none
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


def mpiexec():
    """Return the mpiexec beside this Python, or on the path; None without one."""
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def no_mpi():
    """Return why nothing can be started on ranks, or None."""
    try:
        import mpi4py  # noqa: F401
    except ImportError:
        return "mpi4py is not installed (pip install 'minibatch-gnn[mpi]')"
    return None if mpiexec() else "there is no mpiexec (pip install mpich)"


def on_ranks(count, module, asked, launcher=None):
    """Run a module of this folder on so many ranks; return what rank 0 prints last, as JSON."""
    command = [launcher or mpiexec(), "-n", str(count), sys.executable, "-m", "mpi4py", "-m"]
    return answer([*command, module], asked)


def answer(command, asked):
    """Run a command with its options as JSON; return what it prints last, read as JSON.

    No pool has a size set from outside.

    Raises
    ------
    UsageError
        If it fails.
    """
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, **ON_ONE_MACHINE, "PYTHONPATH": path}
    for pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        env.pop(pool, None)
    words = [*command, json.dumps(asked)]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UsageError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
