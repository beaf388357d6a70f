"""One run on several ranks: all go on together, or all end, with one message."""

import os
import platform
import sys
import time
import traceback
from contextlib import contextmanager

from refimpl.lab.apps import info
from refimpl.lab.apps.errors import Interrupted, UserError, status_of, told
from refimpl.lab.distributed.launch import launched
from refimpl.lab.distributed.messages import check_alike, everyones

PATIENCE = 3.0  # seconds that rank 0 has to tell of an error that others have too


def ranks():
    """Return the communicator of the processes that were started together, or None."""
    try:
        return launched()
    except (ImportError, RuntimeError) as error:
        raise UserError(str(error)) from error


def is_first(comm):
    """Whether this process is the one that reads and writes files of results, and prints."""
    return comm is None or comm.rank == 0


@contextmanager
def together(comm):
    """A block that ends on all ranks, or with a UserError on all of them (collective).

    In the block nothing is collective. Errors of all kinds that a user can mend are agreed on.
    """
    error = None
    try:
        yield
    except (UserError, OSError) as found:
        if comm is None:
            raise
        error = found
    if comm is not None:
        _agree(comm, error)


def _agree(comm, error):
    messages = everyones(comm, None if error is None else str(error))
    found = [(rank, message) for rank, message in enumerate(messages) if message is not None]
    if found:
        rank, message = found[0]
        alone = "" if rank == 0 else f"rank {rank}: "
        raise Agreed(alone + message) from error


class Agreed(UserError):
    """A UserError that every rank has."""


def check_run(comm, settings, facts):
    """Raise UserError on all ranks unless they have the same settings, data and versions."""
    try:
        alike = {"settings": settings, "data": facts, "versions": info.versions()}
        check_alike(comm, alike)
    except ValueError as error:
        raise Agreed(str(error)) from error


@contextmanager
def ending_all(comm):
    """A block whose errors, but those that all ranks have, end the whole job with their traceback.

    A rank that waits for another would else wait for ever.
    """
    try:
        yield
    except Agreed:
        raise
    except BaseException as error:
        if comm is None:
            raise
        if comm.rank:
            time.sleep(PATIENCE)
        if isinstance(error, UserError | Interrupted | OSError | MemoryError):
            print(f"rank {comm.rank}: {told(error, 'train')}", file=sys.stderr, flush=True)
        elif not isinstance(error, KeyboardInterrupt):
            where = f"rank {comm.rank} of {comm.size} on {platform.node()}:\n"
            # in one piece: mpiexec may pass no more on once the job is aborted
            sys.stderr.write(where + traceback.format_exc())
        sys.stderr.flush()
        status = 2
        if isinstance(error, Interrupted):
            status = error.status
        elif isinstance(error, KeyboardInterrupt):
            status = status_of(error)
        comm.abort(status)
        os._exit(status)  # MPI may return before it ends this process
