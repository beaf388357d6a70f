"""Using a trained model: labels, probabilities or embeddings of the nodes of any graph."""

from __future__ import annotations

import codecs
import csv
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from refimpl._support.reprs import one_line
from refimpl._support.require import shown
from refimpl._support.untrusted_files import naming, reading
from refimpl._support.whole_files import replacing
from refimpl.graph import Graph
from refimpl.lab.apps import report
from refimpl.lab.apps.errors import UserError, user_errors
from refimpl.lab.apps.option import Option, flag
from refimpl.lab.apps.options import load_implementation, option_of, run_options
from refimpl.lab.apps.preparing import TABLES, limited_threads
from refimpl.lab.apps.results import check_free, check_place
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.formats import needs_nodes
from refimpl.lab.data.graphsaint import read_features, read_graph
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.training.config import TrainConfig
from refimpl.lab.training.model import WHAT, forward, load_model, read_off
from refimpl.lab.training.settings import settings_of
from refimpl.metrics import decide, f1_micro

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from refimpl.hints import Absent
    from refimpl.lab.apps.option import Chosen, Options
    from refimpl.lab.training.model import TrainedModel

PARTS = {"train": "training", "val": "validation", "test": "test"}
SUFFIXES = (".csv", ".npy")
COLUMN = {"labels": "label", "probabilities": "p", "embeddings": "e"}
ROWS = 4096  # of a CSV file, made at a time
MOST_CLASSES = 5  # shown
LONGEST_ID = 20  # digits, with zeros in front


def predict_options(impl: str = "fastimpl") -> Options:
    """Return the options of ``predict``, with this default for ``--impl``."""
    run = {key: option._replace(group="") for key, option in run_options(impl).items()}
    options = (
        run["data"]._replace(
            help=f"{run['data'].help}. Features are scaled in the same way as in training",
            default=None,
            shown="--graph and --features instead",
        ),
        Option(
            "graph",
            "read a graph without labels from this file; a symmetric matrix that "
            "scipy.sparse.save_npz wrote, such as adj_full.npz of a GraphSAINT folder",
            shown="--data instead",
            metavar="FILE.npz",
        ),
        Option(
            "features",
            "read raw features from this file; .npy: one row a node, for --graph; .csv: the nodes "
            "of --data EDGES.csv",
            shown="--data instead",
            metavar="FILE.npy|NODES.csv",
        ),
        Option(
            "nodes",
            "predict for these nodes, in this order; all nodes, a part of the data set, or a text "
            "file of node ids; of nodes with names the file has a name a line. Write ./test for a "
            "file with the name test",
            "all",
            metavar="FILE|all|train|val|test",
        ),
        Option("what", "choose what to predict", WHAT[0], choices=WHAT),
        *(run[name] for name in TABLES[1:]),
        run["split"],
        run["verify"],
        run["impl"],
        run["threads"],
        option_of(TrainConfig, "eval_memory"),
    )
    return {option.key: option for option in options}


class Input(NamedTuple):
    """A graph with features, and the Dataset that they are of, if any."""

    name: str
    graph: Graph
    features: np.ndarray
    dataset: Dataset | None


def predict(
    path: str, given: Chosen, *, options: Options, out: str | None, overwrite: bool
) -> None:
    """Predict with the model in `path`; print a summary and write the file `out`.

    Parameters
    ----------
    path : str
        A file that `save_model` wrote.
    given : dict
        The values that the user gave, by the keys of `options`.
    options : dict of Option
        From `predict_options`.
    out : str, optional
        A .npy or .csv file.
    overwrite : bool
        Replace it if it is there; without it that is an error.

    Raises
    ------
    UserError
        If the options, the model, the data or the file are at fault.
    """
    settings = {**{key: option.default for key, option in options.items()}, **given}
    _check_source(given)
    out = None if out is None else _checked_out(Path(out))
    check_free(out, overwrite)
    gnn = load_implementation(settings["impl"])
    with user_errors():
        settings_of(TrainConfig)["eval_memory"].check("eval_memory", settings["eval_memory"])
    with limited_threads(settings["threads"]):
        with user_errors():
            model = load_model(path)
            source = _read_input(settings, model)
            nodes = _read_nodes(settings["nodes"], source)
        begin = perf_counter()
        with user_errors(), naming(settings["features"] or source.name):
            result = forward(
                gnn,
                model,
                source.graph,
                source.features,
                nodes,
                scaled=False,
                eval_memory=settings["eval_memory"],
                embeddings=settings["what"] == "embeddings",
            )
        values = read_off(model, result, settings["what"])
        seconds = perf_counter() - begin
    try:
        if out is not None:
            with user_errors():
                _write(out, _names(source, nodes), values, settings["what"], model.class_names)
    finally:
        _show(model, source, settings, nodes, decide(result.logits, model.multilabel), seconds)
    if out is not None:
        print(f"\nwrote {one_line(out)}")


def _check_source(given: Chosen) -> None:
    """Refuse options that name no graph, or two."""
    names = [name for name in ("data", "graph", "features") if name in given]
    tables = needs_nodes(given.get("data", ""))
    if names not in ([["data", "features"]] if tables else [["data"], ["graph", "features"]]):
        got = " and ".join(map(flag, names)) or "none of them"
        raise UserError(
            "give either --data, or --graph and --features, or --data EDGES.csv and --features "
            f"NODES.csv; got {got}"
        )
    if "data" not in given and given.get("nodes") in PARTS:
        raise UserError(f"--nodes {given['nodes']} does not apply without --data")


def _checked_out(out: Path) -> Path:
    if out.suffix not in SUFFIXES:
        raise UserError(f"--out must end in {' or '.join(SUFFIXES)}, got {out.name!r}")
    check_place(out)
    return out


def _read_input(settings: Chosen, model: TrainedModel) -> Input:
    if settings["data"] is None:
        graph = read_graph(Path(settings["graph"]))
        features = read_features(Path(settings["features"]), graph.n)
        _check_width(settings["features"], features.shape[1], model)
        return Input(settings["graph"], graph, features, None)
    data = settings["data"]
    more = {name: settings[name] for name in ("split", "verify", *TABLES)}
    scaling: Any = "none" if model.scaling is None else model.scaling
    try:
        dataset = load_dataset(data, dtype=model.dtype, scaling=scaling, **more)
    except ValueError as error:
        if not str(error).startswith("features must"):
            raise
        raise UserError(f"{data}: {error}") from error
    _check_width(data, dataset.features.shape[1], model)
    for name in ("classes", "multilabel"):
        ours, theirs = getattr(model, name), getattr(dataset, name)
        if ours != theirs:
            raise UserError(f"{name} must be {ours} like the model's, but {data} has {theirs}")
    _check_names("class", model.class_names, dataset.class_names, data)
    _check_names("feature", model.feature_names, dataset.feature_names, data)
    return Input(dataset.name, dataset.graph, dataset.features, dataset)


def _check_width(where: str, width: int, model: TrainedModel) -> None:
    if width != model.features:
        raise UserError(
            f"the model takes {model.features} features a node, but {where} has {width}"
        )


def _check_names(what: str, ours: Absent, theirs: Absent, data: str) -> None:
    """Refuse names of classes or of features that are not the model's, where both have names."""
    pairs = enumerate(zip(ours or (), theirs or (), strict=False))
    other = next(((i, *pair) for i, pair in pairs if pair[0] != pair[1]), None)
    if other is not None:
        raise UserError(
            f"each {what} must be the model's, in the same order, but {what} {other[0]} is "
            f"{other[1]!r:.40} in the model and {other[2]!r:.40} in {data}"
        )


def _read_nodes(nodes: str, source: Input) -> Any:
    """Return the ids of the nodes that --nodes names."""
    n, names = source.graph.n, None if source.dataset is None else source.dataset.node_names
    if nodes == "all":
        return np.arange(n)
    if nodes in PARTS:
        return getattr(source.dataset, nodes)
    if not nodes:
        raise UserError("--nodes must name a file, or be all, train, val or test, got ''")
    ids, path = [], Path(nodes)
    with user_errors("--nodes"), reading(path, "node ids, one a line") as file:
        lines = file.read().removeprefix(codecs.BOM_UTF8).splitlines()
    number_of = {} if names is None else {str(name): v for v, name in enumerate(names.tolist())}
    if number_of and len(number_of) < n:
        raise UserError(f"--nodes {path}: nodes cannot be named, as several have the same name")
    for number, line in enumerate(lines, 1):
        if number_of and line.strip():
            name = line.decode(errors="backslashreplace").strip()
            if name not in number_of:
                raise UserError(
                    f"--nodes {path}, line {number}: must be the name of a node, as the data set "
                    f"names its nodes, got {shown(name)}"
                )
            ids.append(number_of[name])
            continue
        for word in line.split():
            ids.append(int(word) if word.isdigit() and len(word) <= LONGEST_ID else n)
            if ids[-1] >= n:
                got = f"got {shown(word.decode(errors='backslashreplace'))}"
                raise UserError(f"--nodes {path}, line {number}: must be nodes in [0, {n}), {got}")
    if not ids:
        raise UserError(f"--nodes {path}: must list nodes in [0, {n}), at least one, got none")
    return np.array(ids, np.int64)


def _show(
    model: TrainedModel,
    source: Input,
    settings: Chosen,
    nodes: NDArray[Any],
    decided: NDArray[Any],
    seconds: float,
) -> None:
    architecture, graph = model.architecture, source.graph
    trained_on, name = one_line(model.dataset or "unnamed data"), one_line(source.name)
    print(
        f"{report.model_title(architecture['model'])} of {trained_on} "
        f"({architecture['layers']} layers of width {architecture['hidden']}, {model.dtype}) "
        f"on {name} ({graph.n} nodes, {graph.e} directed edges), {settings['impl']}\n"
        f"{settings['what']} of {nodes.size} nodes in {seconds:.3f} s\n"
    )
    counts = np.count_nonzero(decided, axis=0)
    order = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
    rows = [("most frequent classes", "nodes", "share")]
    rows += [(str(c), str(counts[c]), f"{counts[c] / nodes.size:.1%}") for c in order if counts[c]]
    print(report.table(rows))
    scores = _scores(source.dataset, nodes, decided)
    if scores:
        print(f"\n{report.table([('part', 'nodes', 'F1-micro'), *scores])}")


def _scores(
    dataset: Dataset | Absent, nodes: NDArray[Any], decided: NDArray[Any]
) -> list[tuple[str, str, str]]:
    """Return, for each part of the split, how many of the nodes are in it, and their F1."""
    rows = []
    for part, name in PARTS.items() if dataset is not None else ():
        chosen = np.isin(nodes, getattr(dataset, part))
        if chosen.any():
            score = f1_micro(decided[chosen], dataset.targets(nodes[chosen]))
            rows.append((name, str(np.count_nonzero(chosen)), f"{score:.4f}"))
    return rows


def _names(source: Input, nodes: NDArray[Any]) -> NDArray[Any]:
    """Return what nodes are called, their numbers where they have no names."""
    names = None if source.dataset is None else source.dataset.node_names
    return nodes if names is None else names[nodes]


def _write(
    out: Path,
    nodes: NDArray[Any],
    values: NDArray[Any],
    what: str,
    class_names: Sequence[str] | None = None,
) -> None:
    with replacing(out) as file:
        if out.suffix == ".npy":
            np.save(file, values)
        else:
            _write_csv(file, nodes, values, what, class_names)


def _write_csv(
    file: BinaryIO,
    nodes: NDArray[Any],
    values: NDArray[Any],
    what: str,
    class_names: Sequence[str] | Absent = None,
) -> None:
    """Write a line a node; numbers are as short as their value allows, none is rounded."""
    columns = [COLUMN[what]]
    if values.ndim == 2:
        numbers = range(values.shape[1])
        named = what != "embeddings" and class_names is not None
        columns = [f"{columns[0]}{'_' + class_names[c] if named else c}" for c in numbers]
    elif class_names is not None:
        values = np.array(class_names, object)[values]
    writer = csv.writer(codecs.getwriter("utf-8")(file))
    writer.writerow(["node", *columns])
    for i in range(0, len(nodes), ROWS):
        block = values[i : i + ROWS].reshape(-1, len(columns))
        names = nodes[i : i + ROWS, None]
        writer.writerows(np.hstack([names.astype(str), block.astype(str)]).tolist())
