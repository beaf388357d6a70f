"""The cases, a module a topic: each names its kernels in `KERNELS`."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refimpl.lab.apps.conformance.case import Kernel


def kernels() -> dict[str, Kernel]:
    """Return the Kernels of every module in this folder, by name.

    Raises
    ------
    ValueError
        If two modules name one kernel.
    """
    found: dict[str, Kernel] = {}
    for module in pkgutil.iter_modules(__path__):
        for kernel in importlib.import_module(f"{__name__}.{module.name}").KERNELS:
            if kernel.name in found:
                raise ValueError(f"two modules of cases name {kernel.name!r}")
            found[kernel.name] = kernel
    return dict(sorted(found.items()))
