"""The cases: a module a topic names its kernels in `KERNELS`, or a TOML file describes them."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

from refimpl.lab.apps.conformance.worked import kernels_of

if TYPE_CHECKING:
    from refimpl.lab.apps.conformance.case import Kernel


def kernels() -> dict[str, Kernel]:
    """Return the Kernels of every module and of every TOML file in this folder, by name.

    Raises
    ------
    ValueError
        If one kernel is named twice.
    """
    modules = [one.name for one in pkgutil.iter_modules(__path__)]
    every = [importlib.import_module(f"{__name__}.{name}").KERNELS for name in modules]
    every += [kernels_of(path.stem) for path in sorted(Path(__path__[0]).glob("*.toml"))]
    found: dict[str, Kernel] = {}
    for kernel in [kernel for kernels in every for kernel in kernels]:
        if kernel.name in found:
            raise ValueError(f"two files of cases name {kernel.name!r}")
        found[kernel.name] = kernel
    return dict(sorted(found.items()))
