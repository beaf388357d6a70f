"""Telling a user's mistake from a fault of the program, and both from a signal to end."""

from __future__ import annotations

import signal
import threading
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from refimpl._support.reprs import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

SMALLER: dict[str | None, str] = {  # by command: what takes less memory
    "train": "--hidden, --layers, --batch-size, --budget or --eval-memory",
    "compare": "--hidden, --layers, --batch-size, --budget or --pool",
    "predict": "--eval-memory",
    "sample": "--budget or --count",
    "convert": "--memory",
    "figure": "--threads, or give --quick",  # python -m bench figure
}


class UserError(Exception):
    """Something the user can put right: shown as one line, with exit status 2."""


class OutOfMemory(UserError):
    """There was too little memory for the user's settings and data."""


class Interrupted(Exception):
    """The user stopped a run: shown as one line, with the exit status `status`."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Terminated(KeyboardInterrupt):
    """A signal other than Ctrl-C asks the process to end: whatever handles Ctrl-C handles it.

    Parameters
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(f"ended by {signal.Signals(number).name}")


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does, once: the clean-up is not cut short.

    A signal that is ignored or handled already, as by nohup, keeps its handler.
    """

    def end(number: int, frame: FrameType | None) -> None:
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
def warnings_said(say: Callable[[str], object], prog: str) -> Iterator[None]:
    """Show each warning in one line, as errors are shown."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        say(f"{prog}: warning: {one_line(message)}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def user_errors(option: str = "") -> Iterator[None]:
    """Turn the library's complaints about its input into UserError, which names `option`, if given.

    Put around what reads the user's settings and data only: an exception of the same kind from
    anywhere else is a fault of the program and must show its traceback.
    """
    try:
        yield
    except MemoryError as error:
        raise OutOfMemory(str(error)) from error
    except (ValueError, TypeError, OverflowError, OSError) as error:
        message = getattr(error, "as_option", str(error))
        raise UserError(f"{option}: {message}" if option else message) from error


def message_of(error: BaseException, command: str | None) -> str:
    """Return the message, in one line, of an error that ends `command`."""
    if not isinstance(error, MemoryError | OutOfMemory):
        return one_line(error)
    less = SMALLER.get(command)
    advice = "end other programs" if less is None else f"try a smaller {less}"
    return one_line(f"out of memory: {advice}" + (f" ({error})" if str(error) else ""))
