"""The API of refimpl on Cython and OpenMP kernels. `build_info()` says how it was built.

Its names are those of refimpl: compiled where fastimpl has a module of the same path that defines
the function, else the reference's own, bound to this package. `compiled` lists the former.
"""

from fastimpl import _partner as _partner  # isort: skip -- before refimpl is imported
from fastimpl import _openmp as _openmp  # isort: skip -- before any kernel loads OpenMP
from refimpl._support import mpi_start as _mpi_start  # isort: skip  # noqa: F401 -- before all

try:
    from fastimpl._build import build_info as build_info
    from fastimpl._build import check_processor as _check_processor

    _check_processor()  # before any other kernel
    from fastimpl import _forks as _forks
except ModuleNotFoundError as error:
    raise ImportError(
        "the kernels of fastimpl are not compiled: install a C compiler (Debian: apt install gcc "
        "python3-dev; macOS: xcode-select --install; Windows: the Visual C++ build tools) and this "
        "package again, or use refimpl, which needs none (--impl refimpl on the command line)"
    ) from error
from refimpl import *
from refimpl import __all__ as __all__
from refimpl import __version__ as __version__
from refimpl.lab.backend import fill

compiled = fill(__name__)
