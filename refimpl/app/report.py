"""What a run leaves behind: a table for the terminal, metrics.json and history.csv."""

import csv
import json

from refimpl.app.files import replacing
from refimpl.profiling import PARTS
from refimpl.training.trainer import EpochRecord

MODELS = {"sage": "GraphSAGE", "gcn": "GCN", "mixhop": "MixHop", "gat": "GAT", "mlp": "MLP"}
TRAINING = tuple(part for part in PARTS if part != "evaluation")


def table(rows):
    """Return rows of words as lines: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    )


def summary(metrics):
    """Return the tables that end a run."""
    seconds = metrics["seconds"]
    whole = sum(seconds[part] for part in TRAINING)
    results = [
        ("iterations", str(metrics["iterations"])),
        ("best epoch", f"{metrics['best_epoch']} of {metrics['epochs']}"),
        ("validation F1-micro", f"{metrics['val_f1']:.4f}"),
        ("test F1-micro", f"{metrics['test_f1']:.4f}"),
    ]
    times = [("part", "seconds", "share of training")]
    for part in TRAINING:
        if part == "normalization" and not metrics["settings"]["normalize"]:
            continue
        share = seconds[part] / whole if whole else 0
        times.append((part, f"{seconds[part]:.3f}", f"{share:.1%}"))
    times.append(("training", f"{whole:.3f}", ""))
    times.append(("evaluation", f"{seconds['evaluation']:.3f}", ""))
    return f"{table(results)}\n\n{table(times)}"


def title(settings, dataset):
    """Return one line that says what a run trains, on what."""
    way = {
        "graph": f"{settings['sampler']} subgraphs",
        "layer": f"batches of {settings['batch']} nodes{_fanouts(settings)}",
        "full": "the full graph",
    }[settings["method"]]
    if settings["normalize"]:
        way = f"normalised {way}"
    return (
        f"{MODELS[settings['model']]} on {way} of {dataset['name']} ({dataset['nodes']} nodes, "
        f"{dataset['edges']} directed edges), {settings['impl']}, {settings['dtype']}"
    )


def _fanouts(settings):
    if not settings["fanouts"]:
        return ""
    listed = ",".join("all" if f < 0 else str(f) for f in settings["fanouts"])
    backwards = ", read backwards," if settings["fanout_order"] == "code" else ""
    return f" with fan-outs {listed}{backwards}"


def write_json(path, data):
    """Write JSON data, indented."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(data, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def write_history(path, history):
    """Write a line an epoch, every digit kept."""
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(EpochRecord._fields)
        writer.writerows(history)
