"""The runs of a figure, each done once: what is finished is kept and not done again."""

import hashlib
import json
from datetime import datetime, timezone
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace

from refimpl._support.processor import processor
from refimpl.lab.apps import info
from refimpl.lab.apps.machine import MAX_OTHERS, Watch, blas
from refimpl.lab.apps.preparing import facts_of
from refimpl.lab.apps.report import write_json

RUNS = ".runs"  # folder of finished runs, in the folder of the figures
KEPT = {"rows", "seconds", "noisy", "date", "code"}  # what a record of a run has


def finish(figure, lab, folder, *, again, show):
    """Do the runs of a figure that are not done yet; return all rows, and how they were measured.

    A run is known by the figure, its sizes, its cell, what the data set is, the implementation and
    what it runs on: see `machine`. Finished runs are kept in the folder `RUNS` of `folder`; `again`
    does them once more. `show` is told the share of the runs that is done.
    """
    cells, records, kept, older = figure.cells(lab), [], 0, 0
    if not cells:
        raise ValueError(f"{figure.id} has no runs")
    code, known = _code(), {"figure": figure.id, "sizes": lab.sizes, "machine": machine(lab)}
    known["data"] = None if lab.data is None else facts_of(lab.dataset())
    known["impl"] = lab.gnn.__name__
    store = folder / RUNS / figure.id
    store.mkdir(parents=True, exist_ok=True)
    for number, cell in enumerate(cells):
        show(number / len(cells))
        identity = {**known, "cell": cell}
        path = store / f"{_digest(identity)}.json"
        record = None if again else _read(path)
        kept += record is not None
        older += record is not None and record["code"] != code
        if record is None:
            record = {**_measured(figure, lab, cell), "identity": identity, "code": code}
            write_json(path, record)
        records.append(record)
    show(1.0)
    return SimpleNamespace(
        rows=[row for record in records for row in record["rows"]],
        seconds=sum(record["seconds"] for record in records),
        kept=kept,  # how many of the runs were there already
        runs=len(records),
        noisy=figure.timed and any(record["noisy"] for record in records),
        date=max(record["date"] for record in records),
        older=older,  # how many of the kept runs are of other code than there is now
    )


def _measured(figure, lab, cell):
    """Do a run; return its rows, its seconds, and how quiet it was."""
    watch, begin = Watch(), perf_counter()
    rows = [{**cell, **row} for row in figure.measure(lab, cell)]
    others = watch.share_of_others()
    return {
        "rows": rows,
        "seconds": perf_counter() - begin,
        "noisy": (others or 0) > MAX_OTHERS,
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC",
    }


def _read(path):
    """Return a record that is there whole; None otherwise."""
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and record.keys() >= KEPT else None


def _code():
    """Return a digest of the code of all figures."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return _digest([file.read_text(encoding="utf-8") for file in files])


def _digest(data):
    text = json.dumps(data, sort_keys=True)
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
