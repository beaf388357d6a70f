"""The refimpl that was installed with this fastimpl: another one is refused before its import."""

from importlib.util import find_spec
from pathlib import Path

_here = Path(__file__).resolve().parents[1]
_found = find_spec("refimpl")
if _found is None or _found.origin is None or _here not in Path(_found.origin).resolve().parents:
    _where = "none" if _found is None else _found.origin or "a folder without __init__.py"
    raise ImportError(
        f"fastimpl in {_here} needs the refimpl that was installed with it, but Python finds "
        f"{_where}: remove or rename the other package, or change the order of sys.path"
    )
