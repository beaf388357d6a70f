"""Which build of the kernels runs, where there are several: the best for this processor.

A wheel has each kernel for a processor that all have, and in ``_levels/NAME/`` for the levels of
x86-64 above. All give the same bits.
"""

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import spec_from_file_location
from pathlib import Path

VARIABLE = "MINIBATCH_GNN_LEVEL"
HERE = Path(__file__).parent
FOLDER = HERE / "_levels"
BASE = "base"  # what every processor of the platform runs, or the one build there is

chosen = BASE


class Finder:
    """Finds compiled modules of this package in the folder of a level; for ``sys.meta_path``."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        """Return where a module is, or None where the level has none of that name."""
        package, *parts = name.split(".")
        if package != __package__ or not parts or not parts[-1].startswith("_"):
            return None
        for suffix in EXTENSION_SUFFIXES:
            file = self.folder.joinpath(*parts[:-1], parts[-1] + suffix)
            if file.exists():
                return spec_from_file_location(name, file)
        return None


def choose():
    """Take kernels from the best level that was built and that the processor has.

    Raises
    ------
    ValueError
        If the environment variable names no level that was built and that the processor has.
    ModuleNotFoundError
        If no kernels are there at all.
    """
    global chosen
    from fastimpl._processor import levels

    there = [
        level for level in levels() if Finder(FOLDER / level).find_spec(f"{__package__}._graph")
    ]
    asked = os.environ.get(VARIABLE) or "auto"
    if asked not in ("auto", BASE, *there):
        raise ValueError(
            f"{VARIABLE} must be one of {', '.join(['auto', BASE, *there])} with this build on "
            f"this processor, got {asked!r}"
        )
    chosen = next(iter(there), BASE) if asked == "auto" else asked
    if chosen != BASE:
        sys.meta_path.insert(0, Finder(FOLDER / chosen))
