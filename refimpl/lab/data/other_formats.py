"""Formats that other libraries read: the lines of Python that hand them over."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    ".gml": "networkx.read_gml",
    ".graphml": "networkx.read_graphml",
    ".gexf": "networkx.read_gexf",
    ".adjlist": "networkx.read_adjlist",
}
NAMED = ".gml", ".graphml", ".gexf"  # nodes have attributes there


def refuse_other_formats(path: Path) -> None:
    """Raise ValueError with the lines that read a file of another format, if it is one.

    The file must exist.
    """
    suffix = path.suffix.lower()
    if suffix not in FILES:
        return
    made = "graph" if suffix in NAMED else "graph, features, labels"
    maker = "from_networkx" if suffix in NAMED else "from_arrays"
    raise ValueError(
        f"{path} is read in Python: graph = {FILES[suffix]}({str(path)!r}); "
        f"Dataset.{maker}({made}).save('FOLDER'); FOLDER is then a data set"
    )
