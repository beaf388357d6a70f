"""Telling a user's mistake from a fault of the program, and both from a signal to end."""

import signal
import threading
from contextlib import contextmanager


class UserError(Exception):
    """Something the user can put right: shown as one line, with exit status 2."""


class Interrupted(Exception):
    """The user stopped a run: shown as one line, with the exit status `status`."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


class Terminated(KeyboardInterrupt):
    """A signal other than Ctrl-C asks the process to end: whatever handles Ctrl-C handles it.

    Parameters
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number):
        self.number = number
        super().__init__(f"ended by {signal.Signals(number).name}")


def status_of(stop):
    """Return the exit status that a shell expects after a KeyboardInterrupt."""
    return 128 + getattr(stop, "number", signal.SIGINT)


@contextmanager
def ended_in_order():
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does, once: the clean-up is not cut short.

    A signal that is ignored or handled already, as by nohup, keeps its handler.
    """

    def end(number, frame):
        signal.signal(number, signal.SIG_IGN)
        raise Terminated(number)

    numbers = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    changed = [n for n in numbers if n is not None and signal.getsignal(n) == signal.SIG_DFL]
    try:
        for number in changed:
            signal.signal(number, end)
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


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
