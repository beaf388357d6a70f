"""Every data set: those with a name, and the formats on disk, each recognised, loaded, streamed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from refimpl._support.untrusted_files import naming
from refimpl.hints import FilePath, FloatDtype
from refimpl.lab.data.attributed import load_attributed
from refimpl.lab.data.communities import communities
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.folder import META, is_folder, open_folder
from refimpl.lab.data.graphsaint import load_graphsaint
from refimpl.lab.data.karate import karate_dataset
from refimpl.lab.data.ogb import is_ogb
from refimpl.lab.data.other_formats import refuse_other_folders, refuse_other_formats
from refimpl.lab.data.planetoid import load_planetoid, planetoid_names
from refimpl.lab.data.streaming import Streamed, stream_csv, stream_graphsaint, stream_ogb
from refimpl.lab.data.table_files import is_table
from refimpl.lab.data.tables import Chosen
from refimpl.lab.data.typed import FILES, load_typed, typed_communities
from refimpl.lab.hints import SomeScaling

BUILT_IN: dict[str, Callable[..., Dataset]] = {
    "communities": communities,
    "communities-multilabel": partial(communities, multilabel=True),
    "karate": karate_dataset,
    "typed": typed_communities,
}
HINT = f"; built-in data sets: {', '.join(BUILT_IN)}"
DTYPE: FloatDtype = "float32"  # where nobody says otherwise


class Request(NamedTuple):
    """What a user says of a data set, as `load_dataset` takes it; `split` is a name here."""

    seed: int
    dtype: FloatDtype | None = None
    scaling: SomeScaling | None = None
    split: str | None = None
    verify: bool = False
    features: FilePath | None = None
    chosen: Chosen | None = None
    titles: str | None = None
    minus_one: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options that every reader takes."""
        scaling = {} if self.scaling is None else {"scaling": self.scaling}
        return {"dtype": self.dtype or DTYPE, **scaling}


class Format:
    """A format of data sets: one file or folder holds one data set."""

    name = ""
    sign = ""  # the file by which a reader recognises the format
    named_splits = False

    def recognises(self, path: Path) -> bool:
        """Say whether a file or folder that exists has this format."""
        raise NotImplementedError

    def load(self, path: Path, request: Request) -> Dataset:
        """Return the data set."""
        raise NotImplementedError

    def stream(self, path: Path, request: Request) -> Streamed | None:
        """Return the data set to be read in blocks, or None where it must be loaded whole."""
        return None


class Saved(Format):
    name, sign = "Dataset.save's", META

    def recognises(self, path):
        return is_folder(path)

    def load(self, path, request):
        return open_folder(
            path, dtype=request.dtype, scaling=request.scaling, verify=request.verify
        )


class Tables(Format):
    name, sign = "tables", "a .csv or .tsv file"

    def recognises(self, path):
        return is_table(path)

    def load(self, path, request):
        return Dataset.from_csv(
            path,
            request.features,
            titles=request.titles,
            minus_one=request.minus_one,
            rng=request.seed,
            **request.chosen._asdict(),
            **request.options,
        )

    def stream(self, path, request):
        return stream_csv(
            path, request.features, request.seed, request.chosen, request.titles, request.minus_one
        )


class Attributed(Format):
    name, sign = "that of Shchur et al.", "an .npz file"

    def recognises(self, path):
        return path.suffix == ".npz"

    def load(self, path, request):
        return load_attributed(path, rng=request.seed, **request.options)


class GraphSaint(Format):
    name, sign = "GraphSAINT's", "adj_full.npz"

    def recognises(self, path):
        return (path / "adj_full.npz").exists()

    def load(self, path, request):
        load = load_typed if (path / FILES[0]).exists() else load_graphsaint
        return load(path, **request.options)

    def stream(self, path, request):
        return stream_graphsaint(path)


class Ogb(Format):
    name, sign = "OGB's", "raw/edge.csv.gz or raw/data.npz"
    named_splits = True

    def recognises(self, path):
        return is_ogb(path)

    def load(self, path, request):
        with naming(path):
            return Dataset.from_ogb(path, request.split, **request.options)

    def stream(self, path, request):
        return stream_ogb(path, request.split)


class Planetoid(Format):
    name, sign = "Planetoid's", "ind.NAME.x"
    named_splits = True

    def recognises(self, path):
        return bool(planetoid_names(path))

    def load(self, path, request):
        names = planetoid_names(path)
        if len(names) > 1:
            raise ValueError(f"{path} must hold one data set, got files of {', '.join(names)}")
        split = {} if request.split is None else {"split": request.split}
        return load_planetoid(path, names[0], **request.options, **split)


FORMATS = Saved(), Tables(), Attributed(), GraphSaint(), Ogb(), Planetoid()


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
        refuse_other_folders(path)
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
