"""Numbers of what was stored in docs/results. Needs no Sphinx; the tests read it too."""

import csv
import json
from functools import cache
from pathlib import Path

from bench.markdown import ratio, significant
from bench.report import rows_of

RESULTS = Path(__file__).parents[1] / "results"
REPORT = RESULTS / "reports" / "kernels.json"
TRAINING = "I-fig2"
PACKAGES = "refimpl", "fastimpl"


@cache
def run():
    """Return the stored run of the kernels."""
    return json.loads(REPORT.read_text(encoding="utf-8"))


def number(path):
    """Return the number of "GROUP / NAME".

    Raises
    ------
    ValueError
        If the stored run has none.
    """
    group, _, name = (part.strip() for part in path.partition("/"))
    rows = [row for row in rows_of(run()) if row.group == group]
    if rows and name == "speed-up":
        return ratio(rows[0].speed_up(*reversed(PACKAGES)))
    if not rows or name not in rows[0].times:
        raise ValueError(f"{REPORT.name} has no {path!r}")
    return significant(1e3 * rows[0].times[name].median)


def seconds_to(score):
    """Return {method: [seconds until the validation F1, or None, of each seed]}."""
    found = {}
    with (RESULTS / f"{TRAINING}.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            seeds = found.setdefault(row["name"], {})
            seeds.setdefault(row["seed"], None)
            if seeds[row["seed"]] is None and float(row["val_f1"]) >= score:
                seeds[row["seed"]] = float(row["seconds"])
    return {name: list(seeds.values()) for name, seeds in found.items()}
