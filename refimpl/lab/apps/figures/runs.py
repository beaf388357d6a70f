"""The runs of a figure, each done once: what is finished is kept and not done again."""

import hashlib
import json
from datetime import datetime, timezone
from time import perf_counter
from typing import Any, NamedTuple

from refimpl._processor import processor
from refimpl.lab.apps import info
from refimpl.lab.apps.machine import MAX_OTHERS, Watch, blas
from refimpl.lab.apps.report import write_json

RUNS = ".runs"  # folder of finished runs, in the folder of the figures


class Finished(NamedTuple):
    """All runs of a figure.

    Attributes
    ----------
    rows : list of dict
    seconds : float
        Of all runs, those that were there already included.
    kept : int
        How many of the runs were there already.
    runs : int
    noisy : bool
        Whether other programs ran during one of them.
    date : str
        Of the last of them.
    """

    rows: list[dict[str, Any]]
    seconds: float
    kept: int
    runs: int
    noisy: bool
    date: str


def finish(figure, lab, folder, *, again, show):
    """Do the runs of a figure that are not done yet.

    A run is known by the figure, its sizes, its cell, the data set, the implementation, the
    threads, the version and the processor.

    Parameters
    ----------
    figure : Figure
    lab : Lab
    folder : Path
        Where finished runs are kept, in a folder `RUNS`.
    again : bool
        Whether to do finished runs once more.
    show : callable
        Told the share of the runs that is done.

    Returns
    -------
    Finished
    """
    cells, records, kept = figure.cells(lab), [], 0
    if not cells:
        raise ValueError(f"{figure.id} has no runs")
    store = folder / RUNS / figure.id
    store.mkdir(parents=True, exist_ok=True)
    for number, cell in enumerate(cells):
        show(number / len(cells))
        path = store / f"{_digest(_identity(figure, lab, cell))}.json"
        record = None if again else _read(path)
        kept += record is not None
        records.append(record or _measured(figure, lab, cell, path))
    show(1.0)
    return Finished(
        rows=[row for record in records for row in record["rows"]],
        seconds=sum(record["seconds"] for record in records),
        kept=kept,
        runs=len(records),
        noisy=figure.timed and any(record["noisy"] for record in records),
        date=max(record["date"] for record in records),
    )


def _measured(figure, lab, cell, path):
    """Do a run, keep it at `path`, and return the record of it."""
    watch, begin = Watch(), perf_counter()
    rows = [{**cell, **row} for row in figure.measure(lab, cell)]
    others = watch.share_of_others()
    record = {
        "identity": _identity(figure, lab, cell),
        "rows": rows,
        "seconds": perf_counter() - begin,
        "noisy": (others or 0) > MAX_OTHERS,
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC",
    }
    write_json(path, record)
    return record


def _read(path):
    """Return a record that is there whole; None otherwise."""
    try:
        record = json.loads(path.read_text())
        record["rows"], record["seconds"], record["noisy"], record["date"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record


def _identity(figure, lab, cell):
    """Return all that a run depends on."""
    return {
        "figure": figure.id,
        "sizes": lab.sizes,
        "cell": cell,
        "data": lab.data,
        "impl": lab.gnn.__name__,
        "threads": lab.threads,
        "version": info.versions()["minibatch-gnn"],
        "processor": processor(),
    }


def _digest(identity):
    text = json.dumps(identity, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()


def machine(lab):
    """Return what the runs are done on, for a file of results."""
    return {
        "processor": processor(),
        "threads": lab.threads,
        "blas": blas(),
        "versions": info.versions(),
        "build": info.build_of(lab.gnn),
    }
