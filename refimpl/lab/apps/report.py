"""What a run leaves behind: a table for the terminal, metrics.json and history.csv."""

from __future__ import annotations

import codecs
import csv
import json
import math
from typing import TYPE_CHECKING, Any

from refimpl._support.reprs import one_line, score
from refimpl._support.whole_files import replacing
from refimpl.lab.apps.option import hyphenated
from refimpl.lab.training.methods import METHODS
from refimpl.lab.training.methods.base import LoadCounts, shown_fanouts
from refimpl.lab.training.models import MODELS
from refimpl.lab.training.state import EpochRecord
from refimpl.profiling import PARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from refimpl.hints import FilePath
    from refimpl.lab.apps.option import Chosen
    from refimpl.lab.training.methods.base import MethodSettings

RARE = "normalization", "cache", "communication"  # parts that most methods do not have
TRAINING = tuple(part for part in PARTS if part != "evaluation")


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of words as lines: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    )


def summary(metrics: dict[str, Any]) -> str:
    """Return the tables that end a run."""
    seconds = metrics["seconds"]
    whole = sum(seconds[part] for part in TRAINING)
    results = [
        ("iterations", str(metrics["iterations"])),
        ("best epoch", f"{metrics['best_epoch']} of {metrics['epochs']}"),
        ("validation F1-micro", score(metrics["val_f1"])),
        ("test F1-micro", score(metrics["test_f1"])),
    ]
    times = [("part", "seconds", "share of training")]
    for part in TRAINING:
        if part in RARE and not seconds[part]:
            continue
        share = seconds[part] / whole if whole else 0
        name = (
            METHODS[metrics["settings"]["method"]].setup_step if part == "normalization" else part
        )
        times.append((name, f"{seconds[part]:.3f}", f"{share:.1%}"))
    times.append(("training", f"{whole:.3f}", ""))
    times.append(("evaluation", f"{seconds['evaluation']:.3f}", ""))
    tables = [table(results), table(times)]
    if metrics.get("loads"):
        tables.insert(1, table(_loads(metrics)))
    if "reads" in metrics:
        tables.insert(-1, table(_reads(metrics["reads"])))
    if "graph_reads" in metrics:
        tables.insert(-1, table(_graph_reads(metrics["graph_reads"])))
    if "ranks" in metrics:
        tables.append(table(_ranks(metrics["ranks"])))
    return "\n\n".join(tables)


def totals(loads: Iterable[Mapping[str, int]]) -> dict[str, Any]:
    """Return the counts of all epochs together, and what they mean; None for 0 / 0."""
    counts = LoadCounts()
    for epoch in loads:
        counts = counts.plus(LoadCounts(**epoch))
    names = ("io_saving", "embedding_saving", "feature_hit_rate", "embedding_hit_rate")
    shares = {name: getattr(counts, name) for name in names}
    return counts._asdict() | {k: None if math.isnan(x) else x for k, x in shares.items()}


def _loads(metrics: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rows of a table of what was loaded, in the whole run."""
    loads, cache, settings = metrics["loads"], metrics["cache"], metrics["settings"]
    counted = settings.get("draw_all", True) or settings["sample_mode"] != "layered"
    how = "" if counted else ", estimated"  # cached nodes drew no neighbours
    rows = [
        (f"features sampled{how}", f"{loads['inputs']:,}"),
        ("features loaded", f"{loads['loaded']:,}"),
        ("bytes loaded", f"{loads['bytes']:,}"),
    ]
    if cache is None:
        return rows
    embeddings = ("hits", "admitted", "evicted", "lost", "dropped")
    return [
        *rows,
        ("features from the cache", f"{loads['feature_hits']:,}"),
        (f"rows spared by embeddings{how}", _percent(loads["embedding_saving"])),
        ("remaining rows in the feature cache", _percent(loads["feature_hit_rate"])),
        ("embeddings looked up", f"{loads['lookups']:,}"),
        *((name, f"{loads[name]:,}") for name in embeddings),
        ("hit rate of embeddings", _percent(loads["embedding_hit_rate"])),
        ("bytes of the cache", f"{cache['bytes']:,}"),
    ]


def _reads(reads: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rows of a table of what was read from storage in this process."""
    kept = 1 - reads["rows"] / reads["asked"] if reads["asked"] else None
    return [
        ("features that windows need", f"{reads['asked']:,}"),
        ("of these in the cache", _percent(kept)),
        ("features read for windows", f"{reads['rows']:,}"),
        ("of these in vain", f"{reads['in_vain']:,}"),
        ("features read on demand", f"{reads['on_demand']:,}"),
        ("MiB read", f"{reads['bytes'] / 2**20:,.1f}"),
        ("seconds waited for reads", f"{reads['waiting']:.3f}"),
    ]


def _graph_reads(reads: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rows of a table of what was read of the graph in this process."""
    return [
        ("pages of the graph that windows need", f"{reads['asked']:,}"),
        ("of these in the cache", _percent(reads["hit_rate"])),
        ("pages of the graph read", f"{reads['pages']:,}"),
        ("MiB of the graph read", f"{reads['bytes'] / 2**20:,.1f}"),
        ("seconds of these reads", f"{reads['reading']:.3f}"),
    ]


def _ranks(ranks: list[dict[str, Any]]) -> list[list[str]]:
    """Return the rows of a table of what each rank sent, and of the seconds that it waited."""
    head = ["rank", "workers", "MiB of gradients", "s sent", "s waited"]
    fetched = "features" in ranks[0]
    rows = [[*head, *(["features read", "MiB", "s waited"] if fetched else [])]]
    for one in ranks:
        sent, (first, last) = one["gradients"], one["workers"]
        of_workers = str(first) if first == last else f"{first} to {last}"
        row = [str(one["rank"]), of_workers, f"{sent['bytes'] / 2**20:.1f}"]
        row += [f"{sent['exchanging']:.3f}", f"{sent['waiting']:.3f}"]
        if fetched:
            read = one["features"]
            row += [f"{read['rows']:,}", f"{read['bytes'] / 2**20:.1f}", f"{read['waiting']:.3f}"]
        rows.append(row)
    return rows


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def title(settings: Chosen, dataset: dict[str, Any]) -> str:
    """Return one line that says what a run trains, on what."""
    method = METHODS[settings["method"]]
    kept = f" with {method.state_description}" if method.state_description else ""
    name = one_line(dataset["name"])
    return (
        f"{model_title(settings['model'])}{kept} on {_way(method, settings)} of {name} "
        f"({dataset['nodes']} nodes, {dataset['edges']} directed edges), "
        f"{settings['impl']}, {settings['dtype']}"
    )


def model_title(name: str) -> str:
    """Return what people call a model."""
    return MODELS[name].title or name


def _way(method: type[MethodSettings], settings: Chosen) -> str:
    way = method.description
    if "sampler" in settings:
        way = f"{hyphenated(settings['sampler'])} {way}"
    words: dict[str | None, str] = {"both": "normalised ", "loss": "loss-normalised "}
    way = words.get(settings.get("normalize"), "") + way
    if "batch_size" in settings:
        way = f"{way} of {settings['batch_size']} nodes"
    if not settings.get("fanouts"):
        return way
    backwards = ", read backwards," if settings["fanout_order"] == "code" else ""
    return f"{way} with fan-outs {shown_fanouts(settings['fanouts'])}{backwards}"


def write_json(path: FilePath, data: Any) -> None:
    """Write JSON data, indented."""
    text = json.dumps(data, indent=2, allow_nan=False) + "\n"
    with replacing(path) as file:
        file.write(text.encode())


def write_history(
    path: FilePath,
    history: Sequence[EpochRecord],
    loads: Sequence[Mapping[str, int]] = (),
    reads: Sequence[Mapping[str, float]] = (),
) -> None:
    """Write a line an epoch, every digit kept; with what was loaded and read, if that is known."""
    rows: list[dict[str, object]] = [record._asdict() for record in history]
    for row, counts in zip(rows, loads, strict=False):
        row.update(LoadCounts(**counts)._asdict())
    for row, counts in zip(rows, reads, strict=False):
        row.update({f"read_{name}": count for name, count in counts.items()})
    names = list(rows[0]) if rows else EpochRecord._fields
    with replacing(path) as file:
        writer = csv.DictWriter(codecs.getwriter("utf-8")(file), names)
        writer.writeheader()
        writer.writerows(rows)
