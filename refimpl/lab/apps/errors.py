"""Telling a user's mistake from a fault of the program."""

from contextlib import contextmanager


class UserError(Exception):
    """Something the user can put right: shown as one line, with exit status 2."""


class Interrupted(Exception):
    """The user stopped a run: shown as one line, with exit status 130."""


@contextmanager
def user_errors():
    """Turn the library's complaints about its input into UserError.

    Put around what reads the user's settings and data only: an exception of the same kind from
    anywhere else is a fault of the program and must show its traceback.
    """
    try:
        yield
    except (ValueError, TypeError, OverflowError, OSError, MemoryError) as error:
        raise UserError(" ".join(str(error).split())) from error
