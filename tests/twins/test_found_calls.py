"""What `python tests/fuzz calls` has found stays mended."""

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOUND = [
    json.loads(line) for line in (ROOT / "tests/fuzz/found/calls.jsonl").read_text().splitlines()
]


@pytest.fixture(scope="module")
def fuzz():
    """Return what judges a recipe."""
    return importlib.import_module("fuzz.calls").judged


@pytest.mark.parametrize("recipe", FOUND, ids=[f"{i}-{r['name']}" for i, r in enumerate(FOUND)])
def test_a_found_call_is_no_finding_any_more(recipe, fuzz, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    verdict, text = fuzz(recipe)
    assert verdict != "finding", f"{text}\nwas: {recipe['found']}"


def test_every_public_callable_has_a_valid_call(fuzz):
    """And `fuzz.starts` knows a new one when it lacks it: it looks through the public names."""
    starts = importlib.import_module("fuzz.starts")
    calls = starts.starts()
    assert len(calls) > 150 and "io_counters" in calls
    verdicts = {fuzz({"name": name, "start": min(calls[name]), "changes": [], "threads": 1})[0]
                for name in ("key", "spmm", "Topology", "Sage")}  # fmt: skip
    assert verdicts == {"equal"}
