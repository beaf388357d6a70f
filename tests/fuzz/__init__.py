"""Random inputs for both packages, as long as one likes: ``python tests/fuzz NAME [--help]``."""

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PATIENCE = 20  # seconds of the clock for a second of the processor: others use the machine, too


def written(name):
    """Return the tables of a TOML file of this folder."""
    path = Path(__file__).with_name(f"{name}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))
