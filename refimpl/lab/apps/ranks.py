"""One run on several ranks: all go on together, or all end, with one message."""

from __future__ import annotations

import platform
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from refimpl._support.mpi_start import a_line, begin, end_all, exit_status
from refimpl.lab.apps import info
from refimpl.lab.apps.errors import Interrupted, UserError, message_of
from refimpl.lab.distributed.collectives import check_alike, everyones
from refimpl.loader.mpi import MPIComm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from refimpl.lab.apps.option import Chosen
    from refimpl.loader.mpi import Communicator


def ranks(words: Sequence[str], prog: str) -> tuple[int, MPIComm | None]:
    """Return this rank, and the communicator of all ranks or None, for a command's words."""
    try:
        rank, size = begin(words, prog)
    except ValueError as error:
        raise UserError(str(error)) from error
    return rank, MPIComm() if size > 1 else None


def is_first(comm: Communicator | None) -> bool:
    """Whether this process is the one that reads and writes files of results, and prints."""
    return comm is None or comm.rank == 0


@contextmanager
def together(comm: Communicator | None, *, like: bool = False) -> Iterator[None]:
    """A block that ends on all ranks, or with a UserError on all of them (collective).

    In the block nothing is collective. Errors of all kinds that a user can mend are agreed on.
    In a block where all ranks do the like, an error of rank 0 alone names rank 0.
    """
    error = None
    try:
        yield
    except (UserError, OSError) as found:
        if comm is None:
            raise
        error = found
    if comm is not None:
        _agree(comm, error, like)


def _agree(comm: Communicator, error: Exception | None, like: bool) -> None:
    messages = everyones(comm, None if error is None else message_of(error, "train"))
    found = [(rank, message) for rank, message in enumerate(messages) if message is not None]
    if found:
        rank, message = found[0]
        alone = rank > 0 or (like and set(messages) != {message})
        raise Agreed(f"rank {rank}: {message}" if alone else message) from error


class Agreed(UserError):
    """A UserError that every rank has."""


def check_run(comm: Communicator, settings: Chosen, facts: dict[str, Any]) -> None:
    """Raise UserError on all ranks unless they have the same settings, data and versions."""
    check_same(comm, {"settings": settings, "data": facts, "versions": info.versions()})


def check_same(comm: Communicator, facts: dict[str, Any]) -> None:
    """Raise UserError on all ranks unless they have the same facts, a dict (collective)."""
    try:
        check_alike(comm, facts)
    except ValueError as error:
        raise Agreed(str(error)) from error


@contextmanager
def starting(comm: Communicator | None, prog: str) -> Iterator[None]:
    """A block whose errors, except those that all ranks have, end the whole job with one line."""
    try:
        yield
    except Agreed:
        raise
    except BaseException as error:
        if comm is None:
            raise
        end_all(a_line(prog, comm.rank, error), comm.rank, exit_status(error))


@contextmanager
def ending_all(comm: Communicator | None) -> Iterator[None]:
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
        shown = ""
        if isinstance(error, UserError | Interrupted | OSError | MemoryError):
            shown = f"rank {comm.rank}: {message_of(error, 'train')}\n"
        elif not isinstance(error, KeyboardInterrupt):
            where = f"rank {comm.rank} of {comm.size} on {platform.node()}:\n"
            shown = where + traceback.format_exc()
        end_all(shown, comm.rank, exit_status(error))
