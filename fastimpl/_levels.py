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
because = ""  # why, in words


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
    ImportError
        If the processor lacks what the kernels of every level use.
    ModuleNotFoundError
        If no kernels are there at all.
    """
    global chosen, because
    from fastimpl._processor import arch, lacked, levels

    if lacking := lacked():
        raise ImportError(
            f"the kernels of fastimpl were compiled with -march={arch()}, for "
            f"processors that have {', '.join(lacking)}, which this one has not; install from "
            "source on this machine, or use refimpl, which needs no kernels (--impl refimpl on "
            "the command line)"
        )
    there = [level for level in levels() if level in built()]
    asked = os.environ.get(VARIABLE) or "auto"
    if asked not in ("auto", BASE, *there):
        raise ValueError(
            f"{VARIABLE} must be one of {', '.join(['auto', BASE, *there])} with this build on "
            f"this processor, got {asked!r}"
        )
    chosen = next(iter(there), BASE) if asked == "auto" else asked
    because = reason(asked, built())
    if chosen != BASE:
        sys.meta_path.insert(0, Finder(FOLDER / chosen))


def built():
    """Return the levels that kernels were compiled for, beside the base, the highest first."""
    found = [path.name for path in FOLDER.glob("*")]
    there = [name for name in found if Finder(FOLDER / name).find_spec(f"{__package__}._graph")]
    return sorted(there, reverse=True)


def reason(asked, above):
    """Return why a level was chosen, in words; `above`: those that were built, highest first."""
    from fastimpl._processor import arch

    if asked != "auto":
        return f"asked for by {VARIABLE}"
    if not above:
        return f"the one build there is, -march={arch()}" if arch() else "the one build there is"
    if chosen == above[0]:
        return f"the highest of {', '.join([*above, BASE])}"
    return f"the processor has no {above[above.index(chosen) - 1 if chosen != BASE else -1]}"
