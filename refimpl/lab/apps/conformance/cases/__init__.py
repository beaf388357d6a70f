"""The cases, a module a topic: each names its kernels in `KERNELS`."""

import importlib
import pkgutil


def kernels():
    """Return the Kernels of every module in this folder, by name.

    Raises
    ------
    ValueError
        If two modules name one kernel.
    """
    found = {}
    for module in pkgutil.iter_modules(__path__):
        for kernel in importlib.import_module(f"{__name__}.{module.name}").KERNELS:
            if kernel.name in found:
                raise ValueError(f"two modules of cases name {kernel.name!r}")
            found[kernel.name] = kernel
    return dict(sorted(found.items()))
