"""Each folder has at most the lines that docs/budget.toml gives it."""

import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
KINDS = {"python": (".py", ".pyi"), "cython": (".pyx", ".pxd", ".h"), "javascript": (".mjs", ".js")}
BUDGET = tomllib.loads((ROOT / "docs/budget.toml").read_text())
LARGEST = BUDGET.pop("files")


def tracked(folder):
    """Return the files of a folder that git knows."""
    asked = ["git", "ls-files", "--", folder]
    return subprocess.run(
        asked, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()


def lines_of(files, kind):
    """Return how many lines the files of a kind have."""
    chosen = [name for name in files if name.endswith(KINDS[kind])]
    return sum(len((ROOT / name).read_bytes().splitlines()) for name in chosen)


@pytest.fixture(scope="module", autouse=True)
def checkout():
    if not (ROOT / ".git").exists():
        pytest.skip("a checkout of git is needed")


@pytest.mark.parametrize("folder", BUDGET)
def test_a_folder_keeps_its_budget(folder):
    files = tracked(folder)
    assert files, f"docs/budget.toml names {folder}, which has no file"
    inside = [other for other in BUDGET if other.startswith(f"{folder}/")]
    files = [name for name in files if not name.startswith(tuple(f"{one}/" for one in inside))]
    for kind, most in BUDGET[folder].items():
        found = lines_of(files, kind)
        assert found <= most, (
            f"{folder} has {found} lines of {kind}, and docs/budget.toml allows {most}: remove "
            "lines, or raise the number with a line in CHANGELOG.md that says what they bring"
        )


def test_every_line_belongs_to_a_folder_with_a_budget():
    for name in tracked("."):
        kind = next((kind for kind, ends in KINDS.items() if name.endswith(ends)), None)
        if kind is None:
            continue
        homes = [folder for folder in BUDGET if name == folder or name.startswith(f"{folder}/")]
        assert any(kind in BUDGET[home] for home in homes), f"{name}: no budget for {kind}"


def test_the_reading_room_has_few_entries():
    entries = {name.split("/")[1] for name in tracked("refimpl")}
    assert len(entries) <= LARGEST["refimpl_entries"]
