"""Writing what is read in blocks as a folder of plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import require
from refimpl._support.untrusted_files import map_npy, naming, reading
from refimpl.graph import Graph
from refimpl.lab.data.arrays import ArrayFile
from refimpl.lab.data.dataset import UNKNOWN, check_classes, checked_parts
from refimpl.lab.data.edges import EdgeSorter, write_sorted
from refimpl.lab.data.packing import pack_rows, packed_order
from refimpl.lab.data.preparation import all_finite, check_finite, chosen_scaling, scaling_of
from refimpl.lab.data.rows import typed_facts, write_induced, write_inner_types
from refimpl.lab.data.sparse_features import DenseRows
from refimpl.lab.data.splits import parts_of_few
from refimpl.lab.data.streaming import MatrixFile, Streamed, in_blocks, rows_from
from refimpl.lab.data.tables import warn_of_loops
from refimpl.lab.data.typed import FILES, map_types
from refimpl.lab.data.writing import (
    write_all_but_features,
    write_array,
    write_meta,
    write_small,
    writer,
)
from refimpl.loader.gathering import check_scaling
from refimpl.typed import TypedGraph

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from refimpl.hints import FilePath, Mask, Positions
    from refimpl.lab.data.dataset import Dataset
    from refimpl.lab.data.rows import RowsFile
    from refimpl.lab.data.streaming import Edges
    from refimpl.lab.hints import Scaling


EDGE = 16  # bytes of an edge and its reverse in files


@dataclass
class Target:
    """A folder in the making, and what is asked of it.

    Attributes
    ----------
    place : Path
    scaling, setting : object
        As for `load_dataset`.
    count : int or None
        Training nodes of each class, where parts are drawn.
    seed : int
        For that.
    kind : dtype or None
        That features are stored in, where it is not that of the source.
    memory : int
        Bytes that sorting takes, about.
    pack : bool
        Whether rows of features lie in the order of `packed_order`.
    progress : callable
        Called with what is being done, the share of it that is done, how many, and of what.
    journal : Journal
        Of the folder: each part of the work is noted there, and is not done twice.
    """

    place: Any
    scaling: Any
    setting: str | None
    count: int | None
    seed: int
    kind: np.dtype[Any] | None
    memory: int
    pack: bool
    progress: Any
    journal: Any = None

    def write_any(self, source: Streamed | Dataset) -> None:
        """Write what is Streamed, or a Dataset."""
        if isinstance(source, Streamed):
            self.write(source)
        else:
            self.copy(source)

    def copy(self, dataset: Dataset) -> None:
        """Write a Dataset."""
        kind = self.kind or dataset.features.dtype
        X = dataset.features
        blocks = in_blocks(DenseRows(X) if require.issparse(X) else X)
        arrays = {"features": self._features(blocks, X.shape, kind, "features")}
        if self.kind is not None and isinstance(dataset.scaling, tuple) and self._by_name():
            scaling = self._noted(lambda: scaling_of(self._stored(self._raw()), dataset.train))
            dataset = dataset._changed(scaling=scaling)
        if self.pack:
            arrays |= self._packed(dataset.graph, dataset.train)
        write_all_but_features(self.place, dataset, arrays)

    def write(self, source: Streamed) -> None:
        """Write what is Streamed."""
        arrays = {"labels": self.journal.part("labels", lambda: self._labels(source))}
        parts, classes = self._parts(source)
        kind = self.kind or source.kind
        shape = (source.n, source.width)
        arrays["features"] = self._features(source.features(), shape, kind, source.features_path)
        found = SimpleNamespace(
            name=source.name,
            setting=self.setting or source.setting,
            dtype="float32",
            classes=classes,
            class_names=source.class_names,
            feature_names=source.feature_names,
            node_names=source.node_names,
            scaling=self._noted(lambda: self._scaling(source, parts["train"])),
            **parts,
        )
        graph_arrays, facts = self._graph(source.edges, source.n)
        arrays |= graph_arrays
        graph = Graph._trusted(self._stored("indptr"), self._stored("indices"), True)
        if source.types is not None:
            graph = self._types(source, graph, arrays)
            facts |= typed_facts(graph, slice(None))
        if self.pack:
            arrays |= self._packed(graph, parts["train"])
        inner = None
        if source.inner is not None and self.count is None:
            inner = self._inner(source, parts["train"], graph, arrays)
        elif found.setting == "inductive":
            inner_arrays, inner = self.journal.part(
                "training graph", lambda: write_induced(graph, parts["train"], self.place)
            )
            arrays |= inner_arrays
        writer(self.place, arrays)("known", source.known)
        write_small(writer(self.place, arrays), found)
        write_meta(self.place, found, arrays, facts, inner)

    def _by_name(self) -> bool:
        """Whether a mean and a standard deviation are those of the training rows."""
        return self.scaling is None or isinstance(self.scaling, str)

    def _raw(self) -> str:
        """Return what the file of features in the order of nodes is called."""
        return "unpacked" if self.pack else "features"

    def _noted(self, make: Callable[[], Any]) -> Any:
        """Return the scaling that `make` returns, or returned before a kill."""

        def plain() -> Any:
            scaling = make()
            return [each.tolist() for each in scaling] if isinstance(scaling, tuple) else scaling

        found = self.journal.part("scaling", plain)
        return check_scaling([*map(np.asarray, found)]) if isinstance(found, list) else found

    def _labels(self, source: Streamed) -> dict[str, Any]:
        """Write the labels; return what meta.json says of them."""
        blocks = source.labels()
        first = next(blocks, np.empty(0, np.int32))
        path = self.place / "labels.npy"
        with ArrayFile(path, first.dtype, first.shape[1:]) as file:
            for block in chain([first], blocks):
                file.append(block)
            if file.rows != source.n:
                raise ValueError(
                    f"{source.labels_path} must have a label for each of {source.n} nodes, got "
                    f"{file.rows}"
                )
            return file.finish()

    def _parts(self, source: Streamed) -> tuple[dict[str, Any], int]:
        """Return the parts of the split, by name, and the number of classes."""
        labels = self._stored("labels")
        if labels.ndim == 2:
            classes = labels.shape[1]
        else:
            most = (int(block.max(initial=UNKNOWN)) for block in in_blocks(labels))
            classes = max(most, default=UNKNOWN) + 1
        with naming(source.labels_path):
            check_classes(classes, source.n)
        if self.count is not None:
            return parts_of_few(labels, classes, self.count, self.seed), classes

        def unknown(nodes: Positions) -> Mask:
            if labels.ndim == 1:
                return labels[nodes] < 0
            known = source.known
            return np.zeros(len(nodes), np.bool_) if known is None else ~known[nodes]

        with naming(source.labels_path):
            return checked_parts(source.parts, source.n, unknown), classes

    def _features(
        self,
        blocks: Iterable[NDArray[Any]],
        shape: tuple[int, int],
        kind: np.dtype[Any],
        name: FilePath,
    ) -> dict[str, Any]:
        """Write features as `kind`; return what meta.json says of them."""
        what, (n, width) = "features", shape

        def told(rows: int) -> None:
            self.progress(what, min(rows / max(n, 1), 1), rows, "rows")

        def write() -> dict[str, Any]:
            path, state = self.place / f"{self._raw()}.npy", self.journal.state(what)
            with ArrayFile(path, kind, (width,), state) as file:
                told(file.rows)
                for block in rows_from(file.rows, blocks):
                    self._append(file, block, name)
                    told(file.rows)
                    self.journal.note(what, block.nbytes, file.state, [file.file])
                if file.rows != n:
                    raise ValueError(
                        f"{name} must have a row for each of {n} nodes, got {file.rows}"
                    )
                return file.finish()

        return self.journal.part(what, write)

    def _packed(self, graph: Graph, train: Positions) -> dict[str, Any]:
        """Pack the features that are written; return what meta.json says of them and their rows."""
        part, what = self.journal.part, "packing features"

        def order() -> dict[str, Any]:
            row_of = np.empty(graph.n, np.int32)
            row_of[packed_order(graph, train)] = np.arange(graph.n, dtype=np.int32)
            return write_array(self.place, "feature_rows", row_of)

        def pack() -> dict[str, Any]:
            raw, packed = self.place / "unpacked.npy", self.place / "features.npy"
            told = self._rows_told(what, graph.n)
            found = pack_rows(raw, packed, self._stored("feature_rows"), self.memory, told)
            self.journal.drop(raw)
            return found

        rows = part("order of rows", order)
        return {"features": part(what, pack), "feature_rows": rows}

    def _scaling(self, source: Streamed, train: Positions) -> Scaling:
        """Return how models read the features that are written."""
        scaling: Any = "standard" if self.scaling is None else self.scaling
        whole = self.kind is None and source.raw is not None
        features = source.raw if whole else self._stored(self._raw())
        with naming(source.features_path):
            scaling = chosen_scaling(scaling, features, train)
            return scaling if scaling is None else check_scaling(scaling, features.shape[1])

    def _graph(
        self, edges: Edges, n: int, prefix: str = "", names: NDArray[Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Sort edges into the arrays of a graph; return what meta.json says of it."""
        sorter = EdgeSorter(self.place, n, edges.expected, self.memory, edges.symmetric, names)
        what = f"sorting {prefix and 'training '}edges"
        told = self._rows_told(what, n)

        def written(file: RowsFile, path: Path) -> None:
            self.journal.drop(path)
            files = [one.file for one in file.files.values()]
            self.journal.note(what, path.stat().st_size, file.state, files)

        def write() -> Any:
            state = self.journal.state(what)
            return write_sorted(sorter, self.place, prefix, told, state, written)

        with naming(edges.path):
            reading_them = f"reading {prefix and 'training '}edges"
            self.journal.part(reading_them, lambda: self._read(edges, sorter, reading_them))
            arrays, facts = self.journal.part(what, write)
            return arrays, facts

    def _read(self, edges: Edges, sorter: EdgeSorter, what: str) -> None:
        """Give edges to a sorter, except for those that it was given before a kill."""
        state = self.journal.state(what) or {"at": 0, "loops": 0}
        begin = state["at"]

        def told() -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
            seen, none = 0, np.empty(0, np.int64)
            for u, v in chain([(none, none)], edges.blocks()):
                seen += len(u)
                if seen > begin:
                    yield u, v
                    state["at"] = seen
                    state["loops"] += int(np.count_nonzero(np.asarray(u) == np.asarray(v)))
                    self.journal.note(what, len(u) * EDGE, state.copy, sorter.parts.handles)
                share = min(state["at"] / max(1, edges.expected), 1)
                self.progress(what, share, state["at"], "edges")
            warn_of_loops(state["loops"], edges.path)

        sorter.add(told())

    def _rows_told(self, what: str, n: int) -> Callable[[float], None]:
        """Return a function of the share that is done of something with `n` rows."""
        return lambda share: self.progress(what, share, round(share * n), "rows")

    def _append(self, file: ArrayFile, block: NDArray[Any], name: FilePath) -> None:
        """Write a block of features, or raise ValueError if a number does not fit."""
        with np.errstate(over="ignore"):
            stored = np.ascontiguousarray(block, file.dtype)
        if not all_finite(stored):
            check_finite(name, block, file.rows)
            raise ValueError(f"{name} must hold numbers that fit in {file.dtype}")
        file.append(stored)

    def _inner(
        self, source: Streamed, train: Positions, graph: Any, arrays: dict[str, Any]
    ) -> dict[str, Any]:
        """Write the graph between training nodes that the source has; return the facts about it."""
        edges = source.inner
        found, facts = self._graph(edges, len(train), "induced_", train)
        arrays |= found
        if source.types is not None:
            indptr, indices = map(self._stored, found)
            inner = Graph._trusted(indptr, indices, True)
            with naming(edges.path):
                arrays["induced_edge_types"] = self.journal.part(
                    "training types", lambda: write_inner_types(graph, train, inner, self.place)
                )
            facts |= typed_facts(graph, train)
        return facts

    def _types(self, source: Streamed, graph: Graph, arrays: dict[str, Any]) -> TypedGraph:
        """Write the types of a graph; return it with them."""
        MatrixFile(source.edges.path).same(graph.indptr, graph.indices)
        types = map_types(source.types / FILES[0], graph.e, "entries of adj_full.npz")

        def write() -> tuple[dict[str, Any], int]:
            found = {"edge_types": write_array(self.place, "edge_types", types)}
            if (source.types / FILES[1]).exists():
                node_types = map_types(source.types / FILES[1], graph.n, "nodes")
                found["node_types"] = write_array(self.place, "node_types", node_types)
            return found, int(types.max(initial=0)) + 1

        found, relations = self.journal.part("types", write)
        arrays |= found
        node_types = self._stored("node_types") if "node_types" in found else None
        return TypedGraph._with_types(graph, self._stored("edge_types"), relations, node_types)

    def _stored(self, name: str) -> NDArray[Any]:
        """Return an array that is written already, mapped."""
        with reading(self.place / f"{name}.npy", "an array") as file:
            array: NDArray[Any] = map_npy(file)
        return array
