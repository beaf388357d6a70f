"""Warnings that name the line of the user's program."""

import sys
import warnings

PACKAGES = ("refimpl", "fastimpl")


def warn(message: str) -> None:
    """Give a UserWarning at the line that called a package."""
    warnings.warn(message, UserWarning, stacklevel=_frames_of_ours())


def _frames_of_ours() -> int:
    """Return the `stacklevel` with which `warn` names the line that called a package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in PACKAGES:
        level, frame = level + 1, frame.f_back
    return level
