"""Packages that were installed together: another project's package of the same name is refused."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parents[2]
PACKAGES = "refimpl", "fastimpl"


def import_package(name: str) -> ModuleType:
    """Import an implementation by its name.

    Raises
    ------
    ImportError
        If it cannot be imported, or if it is a refimpl or fastimpl of another installation.
    """
    top = name.partition(".")[0]
    if top in PACKAGES and (spec := find_spec(top)) is not None:
        place = Path(spec.origin or next(iter(spec.submodule_search_locations or ["?"]))).resolve()
        if HERE not in place.parents:
            raise ImportError(
                f"Python finds another {top}, {place}, than that of {HERE}: remove or rename the "
                "other package, or change the order of sys.path"
            )
    return import_module(name)
