"""Every data set: those with a name, and the formats on disk, each recognised, loaded, streamed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from refimpl._support.untrusted_files import has_ending, naming
from refimpl.hints import Absent, FilePath, FloatDtype
from refimpl.lab.data.attributed import load_attributed
from refimpl.lab.data.communities import communities
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.edge_files import load_with_nodes, read_edge_list, read_matrix_market
from refimpl.lab.data.folder import is_folder, open_folder
from refimpl.lab.data.geom_gcn import EDGES, is_geom_gcn, load_geom_gcn
from refimpl.lab.data.graphsaint import load_graphsaint
from refimpl.lab.data.karate import karate_dataset
from refimpl.lab.data.linqs import linqs_names, load_linqs
from refimpl.lab.data.ogb import is_ogb
from refimpl.lab.data.other_formats import refuse_other_formats
from refimpl.lab.data.planetoid import load_planetoid, planetoid_names
from refimpl.lab.data.streaming import Streamed, stream_csv, stream_graphsaint, stream_ogb
from refimpl.lab.data.table_files import is_table, may_have_weights
from refimpl.lab.data.tables import Chosen
from refimpl.lab.data.typed import FILES, load_typed, typed_communities
from refimpl.lab.data.writing import META
from refimpl.lab.hints import SomeScaling

BUILT_IN: dict[str, Callable[..., Dataset]] = {
    "communities": communities,
    "communities-multilabel": partial(communities, multilabel=True),
    "karate": karate_dataset,
    "typed": typed_communities,
}
HINT = f"; built-in data sets: {', '.join(BUILT_IN)}"
DTYPE: FloatDtype = "float32"  # by default


class Request(NamedTuple):
    """What a user says of a data set, as `load_dataset` takes it; `split` is a name here."""

    seed: int
    dtype: FloatDtype | None = None
    scaling: SomeScaling | None = None
    split: str | None = None
    verify: bool = False
    features: FilePath | Absent = None
    chosen: Chosen | Absent = None
    titles: str | None = None
    minus_one: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options that every reader takes."""
        scaling = {} if self.scaling is None else {"scaling": self.scaling}
        return {"dtype": self.dtype or DTYPE, **scaling}


class Contents(NamedTuple):
    """What a format may contain, and how it is read: a row of the table in docs/data.md."""

    graph: str
    weights: str
    labels: str
    split: str
    names: str


class Format(ABC):
    """A format of data sets: one file or folder holds one data set."""

    name = ""
    sign = ""  # the file by which a reader recognises the format
    named_splits = False
    edges_only = False  # a table of nodes, `Request.features`, goes with the file
    contents: Contents

    @abstractmethod
    def recognises(self, path: Path) -> bool:
        """Say whether a file or folder that exists has this format."""

    @abstractmethod
    def load(self, path: Path, request: Request) -> Dataset:
        """Return the data set."""

    def stream(self, path: Path, request: Request) -> Streamed | None:
        """Return the data set to be read in blocks, or None where it must be loaded whole."""
        return None


class Saved(Format):
    name, sign = "Dataset.save or convert", META
    contents = Contents(
        "`indptr.npy`, `indices.npy`",
        "`edge_weights.npy`",
        "integers; -1 is unknown",
        "`train.npy`, `val.npy`, `test.npy`",
        "`class_names` in `meta.json`, `node_names.npy`",
    )

    def recognises(self, path: Path) -> bool:
        return is_folder(path)

    def load(self, path: Path, request: Request) -> Dataset:
        return open_folder(
            path, dtype=request.dtype, scaling=request.scaling, verify=request.verify
        )


class Tables(Format):
    name, sign = "tables", "a .csv or .tsv file, perhaps with .gz"
    edges_only = True
    contents = Contents(
        "two columns, found by title; a file with only two columns may have any titles",
        "`weight`, `weights`, `w` or `edge_weight`, if there is one of them; other columns are "
        "ignored, with a warning; edges have no direction",
        "one column",
        "one column, or masks; otherwise drawn",
        "one column",
    )

    def recognises(self, path: Path) -> bool:
        return is_table(path)

    def load(self, path: Path, request: Request) -> Dataset:
        return Dataset.from_csv(
            path,
            request.features,
            titles=request.titles,
            minus_one=request.minus_one,
            rng=request.seed,
            **request.chosen._asdict(),
            **request.options,
        )

    def stream(self, path: Path, request: Request) -> Streamed | None:
        if may_have_weights(path, request.titles):
            return None
        return stream_csv(
            path, request.features, request.seed, request.chosen, request.titles, request.minus_one
        )


class Attributed(Format):
    name, sign = "Shchur et al.", "an .npz file"
    contents = Contents(
        "`adj_*`; missing reverse edges are added",
        "`adj_data` is ignored, with a warning",
        "integers; -1 is unknown",
        "drawn",
        "`class_names` and `node_names`, each if it is text",
    )

    def recognises(self, path: Path) -> bool:
        return has_ending(path, ".npz")

    def load(self, path: Path, request: Request) -> Dataset:
        return load_attributed(path, rng=request.seed, **request.options)


class GraphSaint(Format):
    name, sign = "GraphSAINT", "adj_full.npz"
    contents = Contents(
        "`adj_full.npz`, symmetric",
        "weights are ignored, with a warning",
        "integers, or lists of 0 and 1; `null` is unknown",
        "`role.json`",
        "none",
    )

    def recognises(self, path: Path) -> bool:
        return (path / self.sign).exists()

    def load(self, path: Path, request: Request) -> Dataset:
        load = load_typed if (path / FILES[0]).exists() else load_graphsaint
        return load(path, **request.options)

    def stream(self, path: Path, request: Request) -> Streamed | None:
        return stream_graphsaint(path)


class Ogb(Format):
    name, sign = "Open Graph Benchmark", "raw/edge.csv.gz or raw/data.npz"
    named_splits = True
    contents = Contents(
        "`raw/edge`; missing reverse edges are added",
        "none; other files and arrays of `raw` are ignored, with a warning",
        "integers; NaN is unknown",
        "`split/NAME`",
        "none",
    )

    def recognises(self, path: Path) -> bool:
        return is_ogb(path)

    def load(self, path: Path, request: Request) -> Dataset:
        with naming(path):
            return Dataset.from_ogb(path, request.split, **request.options)

    def stream(self, path: Path, request: Request) -> Streamed | None:
        return stream_ogb(path, request.split)


def the_only(path: Path, names: list[str]) -> str:
    """Return the name of the one data set of a folder, or raise ValueError."""
    if len(names) > 1:
        raise ValueError(f"{path} must hold one data set, got files of {', '.join(names)}")
    return names[0]


class Planetoid(Format):
    name, sign = "Planetoid", "ind.NAME.x"
    named_splits = True
    contents = Contents(
        "`ind.NAME.graph`; missing reverse edges are added",
        "none",
        "one-hot rows; a row of zeros is unknown",
        "by position, see `--split`",
        "none",
    )

    def recognises(self, path: Path) -> bool:
        return bool(planetoid_names(path))

    def load(self, path: Path, request: Request) -> Dataset:
        split: dict[str, Any] = {} if request.split is None else {"split": request.split}
        name = the_only(path, planetoid_names(path))
        return load_planetoid(path, name, **request.options, **split)


class Linqs(Format):
    name, sign = "LINQS", "NAME.content"
    contents = Contents(
        "`NAME.cites`; edges of nodes that `NAME.content` lacks are ignored, with a warning",
        "none; edges have no direction",
        "the last column",
        "drawn",
        "the first column; classes have the names of the last",
    )

    def recognises(self, path: Path) -> bool:
        return bool(linqs_names(path))

    def load(self, path: Path, request: Request) -> Dataset:
        name = the_only(path, linqs_names(path))
        return load_linqs(path, name, rng=request.seed, **request.options)


class GeomGcn(Format):
    name, sign = "geom-gcn", EDGES
    named_splits = True
    contents = Contents(
        f"`{EDGES}`",
        "none; edges have no direction",
        "integers from 0",
        "`NAME_split_*.npz`, also in the folder `splits`: the only such file, or the file that "
        "`--split` names; otherwise drawn",
        "none",
    )

    def recognises(self, path: Path) -> bool:
        return is_geom_gcn(path)

    def load(self, path: Path, request: Request) -> Dataset:
        return load_geom_gcn(path, request.split, rng=request.seed, **request.options)


class MatrixMarket(Format):
    name, sign = "Matrix Market", "an .mtx file"
    edges_only = True
    contents = Contents(
        "a square matrix in coordinate form; missing reverse edges are added, with a warning",
        "the values, unless they are a pattern",
        "as for tables, in `--features NODES.csv`",
        "as for tables",
        "1 to n, the numbers of rows, in the column `id` of the nodes",
    )

    def recognises(self, path: Path) -> bool:
        return has_ending(path, ".mtx")

    def load(self, path: Path, request: Request) -> Dataset:
        return load_with_nodes(path, read_matrix_market, request)


class EdgeList(Format):
    name, sign = "NetworkX's edge list", "an .edgelist file"
    edges_only = True
    contents = Contents(
        "two names a line, with spaces between",
        "`{'weight': 2}` behind the names; other attributes are refused; edges have no direction",
        "as for tables, in `--features NODES.csv`",
        "as for tables",
        "the column `id` of the nodes",
    )

    def recognises(self, path: Path) -> bool:
        return has_ending(path, ".edgelist")

    def load(self, path: Path, request: Request) -> Dataset:
        return load_with_nodes(path, read_edge_list, request)


FORMATS: tuple[Format, ...] = (
    Saved(),
    Tables(),
    Attributed(),
    GraphSaint(),
    Ogb(),
    Planetoid(),
    Linqs(),
    GeomGcn(),
    MatrixMarket(),
    EdgeList(),
)


def needs_nodes(source: FilePath) -> bool:
    """Say whether a source is a file of edges, which a table of nodes goes with."""
    return any(each.edges_only and each.recognises(Path(source)) for each in FORMATS)


def format_of(path: Path, split: str | None = None) -> Format:
    """Return the format of a file or folder.

    Raises
    ------
    FileNotFoundError
        If nothing is there.
    ValueError
        If no format, or more than one, is recognised, or `split` is a name and the format has no
        named splits.
    """
    if not path.exists():
        raise FileNotFoundError(
            f"no file or folder {str(path)!r}, and no data set of that name{HINT}"
        )
    refuse_other_formats(path)
    found = [each for each in FORMATS if each.recognises(path)]
    if not found:
        signs = ", ".join(f"{each.sign} ({each.name})" for each in FORMATS)
        raise ValueError(f"{path} must be, or hold, one of {signs}, and has none of them{HINT}")
    if len(found) > 1:
        signs = " and ".join(f"{each.sign} ({each.name})" for each in found)
        raise ValueError(f"{path} must hold one data set, got {signs}")
    if not found[0].named_splits:
        refuse_split(path, split)
    return found[0]


def refuse_split(source: FilePath, split: str | None) -> None:
    """Raise ValueError if a split by name is asked for where there is none."""
    if split is not None:
        raise ValueError(f"split must be a number, or left out, for {source}, got {split!r:.40}")
