"""Both packages under one name: `minibatch_gnn.refimpl` is the module `refimpl` itself.

`refimpl` and `fastimpl` are short names that another project may use too. A program that imports
``minibatch_gnn.refimpl`` and ``minibatch_gnn.fastimpl`` has one name to look for. Every module
below them is the same object under both names. Importing `minibatch_gnn` alone imports neither.
"""

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

__all__ = ["fastimpl", "refimpl"]


class SameModule(MetaPathFinder, Loader):
    """Find ``minibatch_gnn.NAME`` by importing NAME, for the packages and all below them."""

    def find_spec(self, fullname, path=None, target=None):
        """Return the spec of a name here; None if it is of another package."""
        top, _, name = fullname.partition(".")
        ours = top == __name__ and name.partition(".")[0] in __all__
        return ModuleSpec(fullname, self) if ours else None

    def create_module(self, spec):
        """Return the module that has the name already; raise ImportError if there is none."""
        module = _imported(spec.name.partition(".")[2])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        """Give the module its own spec back, which importlib has replaced by ours."""
        module.__spec__ = module.__spec__.loader_state


def _imported(name):
    try:
        from refimpl._support.beside import import_package
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "refimpl":
            raise  # of what refimpl needs
        place = getattr(sys.modules.get("refimpl"), "__file__", None)
        raise ImportError(
            f"minibatch_gnn needs its own refimpl, but Python finds {place or 'none'}: remove or "
            "rename the other package, or install minibatch-gnn again"
        ) from error
    return import_package(name)


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__():
    return sorted({*globals(), *__all__})


sys.meta_path.insert(0, SameModule())
