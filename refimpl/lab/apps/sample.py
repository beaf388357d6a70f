"""Drawing subgraphs to look at them: what it took, and how like the graph they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import require
from refimpl._support.reprs import one_line
from refimpl.graph import Counters, Graph
from refimpl.lab.apps import info, plots, report
from refimpl.lab.apps.errors import UserError, user_errors
from refimpl.lab.apps.option import Option, hyphenated
from refimpl.lab.apps.options import data_source, load_implementation, run_options
from refimpl.lab.apps.preparing import limited_threads, load_data
from refimpl.lab.apps.progress import Stages
from refimpl.lab.apps.results import results_in
from refimpl.lab.apps.sampler_options import SAMPLER_OPTIONS, sampler_of, sampler_settings
from refimpl.lab.apps.settings import check_applicable, with_printed
from refimpl.lab.apps.structure import HUBS, hub_share, overlap, structure
from refimpl.lab.data.formats import needs_nodes
from refimpl.lab.data.generators import kronecker, power_law
from refimpl.lab.training.settings import MOST

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

    from refimpl.lab.apps.option import Chosen, Options
    from refimpl.samplers.sampling import Sampler

JSON, PICTURE = "sample.json", "sample.png"
AT_A_TIME = 16  # subgraphs kept in memory together
GENERATORS: dict[str, tuple[Callable[..., Graph], str]] = {
    "kronecker": (kronecker, "kronecker:SCALE:DEGREE"),
    "power-law": (power_law, "power-law:NODES:DEGREE"),
}
NAMES = {
    "nodes": "nodes",
    "edges": "undirected edges",
    "isolated": "isolated nodes",
    "mean_degree": "mean degree",
    "neighbour_degree": "mean degree of a neighbour",
    "max_degree": "largest degree",
    "clustering": "mean clustering coefficient",
    "assortativity": "degree assortativity",
}


def graph_source(text: str) -> str:
    """Return the name of a generator or a built-in data set as it is, a folder as a full path."""
    return text if text.partition(":")[0] in GENERATORS and ":" in text else data_source(text)


def sample_options(impl: str = "fastimpl") -> Options:
    """Return the options of ``sample``, with this default for ``--impl``."""
    run = {key: option._replace(group="") for key, option in run_options(impl).items()}
    forms = " or ".join(form for _, form in GENERATORS.values())
    options = (
        run["data"]._replace(
            help=f"{run['data'].help}. For a random graph give {forms}",
            parse=graph_source,
        ),
        Option(
            "graph",
            "sample the graph among training nodes only, or the whole graph",
            "train",
            choices=("train", "full"),
        ),
        Option("count", "draw this many subgraphs", 10, parse=int, metavar="COUNT"),
        run["verify"],
        run["impl"],
        *SAMPLER_OPTIONS.values(),
        Option("seed", "seed the sampling; the graph does not depend on the seed", 0, parse=int),
        run["threads"],
        run["as_printed"],
    )
    return {option.key: option for option in options}


def sample(given: Chosen, *, options: Options, out: str | None, overwrite: bool) -> None:
    """Draw subgraphs with the options `given`; print the tables and write the folder.

    Parameters
    ----------
    given : dict
        The values that the user gave, by the keys of `options`.
    options : dict of Option
        From `sample_options`.
    out : str, optional
        The folder for sample.json and sample.png.
    overwrite : bool
        Replace those that are there; without it they are an error.

    Raises
    ------
    UserError
        If the options, the data or the folder are at fault.
    """
    settings = {**{key: option.default for key, option in options.items()}, **given}
    check_applicable(options, given, settings)
    settings = with_printed(options, given, settings)
    with user_errors():
        require.integer("count", settings["count"], 1, MOST)
        require.word("seed", settings["seed"])
    if out is None:
        _sample(settings, given, None)
        return
    with results_in(Path(out), (JSON, PICTURE), keep=not overwrite):
        _sample(settings, given, Path(out))


def _sample(settings: Chosen, given: Chosen, out: Path | None) -> None:
    """Draw, show and write, into a folder that is this run's alone."""
    gnn = load_implementation(settings["impl"])
    with limited_threads(settings["threads"]):
        name, graph = _load_graph(settings, given)
        with user_errors():
            sampler = sampler_of(settings, graph)
        with Stages() as stages:
            drawn = _draw(
                gnn,
                graph,
                sampler,
                settings["seed"],
                settings["count"],
                lambda share: stages.show("subgraphs", share),
            )
        threads = info.threads_of(gnn)
    result = {
        "counters": drawn["counters"],
        "graph": {"name": name, **structure(graph)},
        "subgraphs": _means(drawn["structures"]),
        "hub_share": hub_share(graph, drawn["node_sets"]),
        "overlap": overlap(graph.n, drawn["node_sets"]),
        "each": drawn["structures"],
        "seconds": drawn["seconds"],
        "settings": {
            **{name: value for name, value in settings.items() if name not in SAMPLER_OPTIONS},
            **sampler_settings(sampler),
        },
        "versions": info.versions(),
        "build": info.build_of(gnn),
        "threads": threads,
    }
    degrees, lines = {"graph": graph.degrees(), "subgraphs": drawn["degrees"]}, []
    try:
        if out is not None:
            lines = _write(out, result, degrees)
    finally:
        _show(result)
    for line in lines:
        print(line)


def _load_graph(settings: Chosen, given: Chosen) -> tuple[str, Graph]:
    """Return (name, Graph) of the data that the settings name."""
    data = settings["data"]
    kind, *numbers = data.split(":")
    if kind not in GENERATORS or not numbers:
        if needs_nodes(data):
            raise UserError(
                f"--data {data} is a file of edges, which sample does not read: make a folder of "
                "it with minibatch-gnn convert, and give the folder"
            )
        dataset = load_data({**settings, "dtype": "float32"})
        if settings["graph"] == "train":
            return f"{dataset.name} (training nodes)", dataset.train_graph
        return dataset.name, dataset.graph
    make, form = GENERATORS[kind]
    if "graph" in given:
        raise UserError(f"--graph does not apply with --data {form}")
    settings["graph"] = None
    try:
        size, degree = numbers
        size, degree = int(size), float(degree)
    except ValueError:
        raise UserError(f"--data must be {form} with two numbers, got {data}") from None
    with user_errors(f"--data {data}"):
        return data, make(size, degree)


def _draw(
    gnn: ModuleType,
    graph: Graph,
    sampler: Sampler,
    seed: int,
    count: int,
    show: Callable[[float], object],
) -> dict[str, Any]:
    """Draw the subgraphs, a few at a time; return all that is to be known of them.

    ``show(share)`` is told how much is done.
    """
    node_sets, structures, counters, degrees, seconds = [], [], [], [], 0.0
    for first in range(0, count, AT_A_TIME):
        begin = perf_counter()
        with user_errors():
            subgraphs = gnn.sample_many(graph, sampler, seed, first, min(AT_A_TIME, count - first))
        seconds += perf_counter() - begin
        for sub in subgraphs:
            node_sets.append(sub.nodes)
            structures.append(structure(sub.graph))
            counters.append(sub.counters)
            degrees.append(sub.graph.degrees())
        show(len(node_sets) / count)
    means = np.mean(np.array(counters, np.float64), axis=0).tolist()
    return {
        "node_sets": node_sets,
        "structures": structures,
        "counters": dict(zip(Counters._fields, means, strict=True)),
        "degrees": np.concatenate(degrees),
        "seconds": seconds,
    }


def _means(structures: list[dict[str, Any]]) -> dict[str, float | None]:
    """Return the mean of each number over the subgraphs that have it."""
    means = {}
    for name in structures[0]:
        values = [one[name] for one in structures if one[name] is not None]
        means[name] = float(np.mean(values)) if values else None
    return means


def _show(result: dict[str, Any]) -> None:
    graph, settings = result["graph"], result["settings"]
    sampler = hyphenated(settings["sampler"])
    print(
        f"{settings['count']} {sampler} subgraphs of {one_line(graph['name'])} drawn by "
        f"{settings['impl']} in {result['seconds']:.3f} s (threads: {result['threads']})\n"
    )
    rows = [("counter", "mean of a subgraph")]
    rows += [(name.replace("_", " "), _number(v)) for name, v in result["counters"].items()]
    print(f"{report.table(rows)}\n")
    structure = [("structure", "graph", "mean of a subgraph")]
    structure += [
        (shown, _number(graph[name]), _number(result["subgraphs"][name]))
        for name, shown in NAMES.items()
    ]
    hubs = min(HUBS, graph["nodes"])
    structure.append((f"share of the {hubs} largest hubs", "", _number(result["hub_share"])))
    structure.append(("overlap of two subgraphs (Jaccard)", "", _number(result["overlap"])))
    print(report.table(structure))
    for which, numbers in (("graph", graph), ("subgraphs", result["subgraphs"])):
        if numbers["clustering_nodes"] < numbers["nodes"]:
            print(f"clustering of the {which}: over {numbers['clustering_nodes']:.0f} random nodes")


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def _write(folder: Path, result: dict[str, Any], degrees: dict[str, NDArray[Any]]) -> list[str]:
    """Write the files; return lines that say so."""
    with user_errors():
        report.write_json(folder / JSON, result)
    sampler = hyphenated(result["settings"]["sampler"])
    title = f"{sampler} subgraphs of {one_line(result['graph']['name'])}"
    counters = result["counters"]
    why = plots.missing(plots.draw_sample, folder / PICTURE, degrees, counters, title)
    drawn = f"no {PICTURE}: {why}" if why else f"wrote {one_line(folder / PICTURE)}"
    return ["", f"wrote {one_line(folder / JSON)}", drawn]
