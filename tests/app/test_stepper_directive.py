"""Steppers in pages: the directive `stepper`, the role `step`, and the places they name."""

import re
import subprocess
import sys

import pytest
from docs_ext import DOCS

from refimpl.lab.apps.stepper.places import runs_of, step_at
from refimpl.lab.apps.stepper.recipes import recipes
from refimpl.lab.apps.stepper.recorder import record

pytest.importorskip("sphinx", reason="sphinx is not installed")
pytestmark = pytest.mark.runs

CONF = f"""
import sys
sys.path.insert(0, {str(DOCS / "_ext")!r})
extensions = ["myst_parser", "steppers"]
html_theme = "basic"
"""


@pytest.fixture
def build(tmp_path):
    """Return a function that builds pages by name and returns (exit status, messages, folder)."""

    def build(**pages):
        for name, text in {"conf.py": CONF, "index.md": "# Index", **pages}.items():
            path = tmp_path / "docs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        options = ("-q", "-W", "--keep-going", "-b", "html")
        command = [sys.executable, "-m", "sphinx", *options, tmp_path / "docs", tmp_path / "site"]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stderr, tmp_path / "site"

    return build


def test_pages_get_frames_and_links(build):
    frame = "```{stepper} frontier\n```\n"
    links = "{step}`one & more <frontier@6>`, {step}`there <pin_tile@J4:19>`, {step}`all <pool>`"
    status, messages, site = build(**{"a/b.md": f"---\norphan: true\n---\n# B\n\n{frame}\n{links}"})
    assert (status, messages) == (0, "")
    text = (site / "a/b.html").read_text()
    known = recipes()
    here, there = (
        step_at(known[name], known[name].record(), place) + 1
        for name, place in (("frontier", "6"), ("pin_tile", "J4:19"))
    )
    (made,) = re.findall("<iframe [^>]*>", text)
    assert 'name="stepper-frontier" src="../steppers/frontier.html"' in made
    assert f'title="Stepper: {known["frontier"].title}" loading="lazy"' in made
    one, other, whole = re.findall('<a class="step[^>]*>', text)
    assert f'href="../steppers/frontier.html#{here}"' in one and 'target="stepper-frontier"' in one
    assert f'href="../steppers/pin_tile.html#{there}"' in other and "target" not in other
    assert 'href="../steppers/pool.html"' in whole
    assert {path.name for path in (site / "steppers").iterdir()} == {
        "stepper.css",
        "stepper.js",
        *(f"{name}.html" for name in known),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{step}`x <frontier@9999>`", "line 9999 of J2 runs 0 times in frontier"),
        ("{step}`x <frontier@6.99>`", "line 6 of J2 runs"),
        ("{step}`x <frontier@I1:6>`", "frontier has lines of J2"),
        ("{step}`x <frontier@six>`", "a place is a line"),
        ("{step}`x <frontier@>`", "expected text <NAME> or text <NAME@PLACE>"),
        ("{step}`x <tile@6>`", "there is no stepper 'tile'"),
        ("```{stepper} tile\n```", "there is no stepper 'tile'"),
    ],
)
def test_a_place_that_is_none_fails_the_build(build, text, message):
    status, messages, _ = build(**{"index.md": f"# Index\n\n{text}"})
    assert status == 1 and message in messages and "index.md" in messages


def loop(numbers):
    total = 0  # 1
    for x in numbers:  # 2
        total += x  # 2
        total += 1  # 2-3
    return total


def test_a_turn_of_a_loop_is_a_run_of_its_own():
    """Its head, and what stands under it, are one line of a paper here."""
    recipe = recipes()["frontier"]
    recording = record(lambda: loop([5, 6]), {f"{__name__}:loop": "jpdc21:2"}, dict)
    assert len(recording.steps) == 10

    def place(text):
        return recording.steps[step_at(recipe, recording, text)].line - recording.steps[0].line

    runs = [[2, 3, 4], [5, 6, 7], [8]]
    assert runs_of(recording, "jpdc21:2", 2) == runs
    assert [place("1"), place("2"), place("2.2"), place("2.3"), place("3.2")] == [1, 2, 2, 2, 4]


def test_a_run_of_a_line_begins_where_its_first_statement_does():
    """Line 4 of the frontier's algorithm is two statements: one run a step."""
    recipe = recipes()["frontier"]
    recording = recipe.record()
    texts = [
        next(line.text for line in recording.functions[s.function].lines if line.number == s.line)
        for s in recording.steps
    ]
    begins = [k for k, text in enumerate(texts) if text.strip().startswith("slot =")]
    assert [step_at(recipe, recording, f"4.{t}") for t in range(1, len(begins) + 1)] == begins
    assert step_at(recipe, recording, "J2:4") == begins[0]
