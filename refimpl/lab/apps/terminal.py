"""The standard output, for whatever reads it: any encoding, a terminal, a full disk."""

from __future__ import annotations

import errno
import sys
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

STANDARD_OUTPUT = "standard output"


class Escaping:
    """A text stream that writes what `stream` lacks, or what would move a cursor, as escapes.

    An error of `stream` is an OSError that names the standard output; `flush` raises it again.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.encoding = stream, getattr(stream, "encoding", None) or "utf-8"
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write `text`; of the characters that are not printed, only newlines stay."""
        plain = "".join(x if x.isprintable() or x == "\n" else ascii(x)[1:-1] for x in text)
        with self._named():
            self.stream.write(plain.encode(self.encoding, "backslashreplace").decode(self.encoding))
        return len(text)

    def flush(self) -> None:
        """Write what is not written yet."""
        if self.error is not None:  # argparse, which shows the help, is silent about it
            raise self.error
        with self._named():
            self.stream.flush()

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError as error:  # a reader that has gone: no fault
            self.error = error
            raise
        except OSError as error:
            self.error = OSError(error.errno, error.strerror, STANDARD_OUTPUT)
            raise self.error from error
        except ValueError as error:  # it has been closed
            self.error = OSError(errno.EBADF, str(error), STANDARD_OUTPUT)
            raise self.error from error


@contextmanager
def escaped_output() -> Iterator[None]:
    """Let what the block prints be written by an `Escaping`, and flush it at the end.

    Whoever reads it may be gone by then: BrokenPipeError.
    """
    if sys.stdout is None:  # the program was started without one
        yield
        return
    with redirect_stdout(Escaping(sys.stdout)):
        try:
            yield
        finally:
            sys.stdout.flush()
