"""The page of exercises: made from the code, its commands run, its anchors are kept."""

import re
import shlex

import pytest
from docs_ext import DOCS

from refimpl.lab.apps.cli import main
from refimpl.lab.apps.course.exercises import LEVELS, exercises, names

pytestmark = pytest.mark.runs

PAGE = (DOCS / "exercises.md").read_text()


@pytest.fixture(scope="module")
def sections():
    """Return the section of each exercise as Markdown."""
    pytest.importorskip("sphinx", reason="Sphinx is not installed")
    from course import section_of

    return {name: section_of(exercise) for name, exercise in exercises().items()}


def test_the_commands_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^    minibatch-gnn (.*)$", PAGE, re.M)
    assert {command.split()[1] for command in commands} == {
        "list",
        "start",
        "check",
        "hint",
        "solution",
    }
    for command in commands:
        wanted = 1 if " check " in command else 0  # nothing is written yet
        assert main(shlex.split(command)) == wanted, capsys.readouterr().err


def test_every_level_is_on_the_page():
    levels = re.findall(r"^```\{exercise-level\} (\d)$", PAGE, re.M)
    assert levels == [str(level) for level in range(1, len(LEVELS) + 1)]
    assert "```{exercise-names}" in PAGE


def test_the_answer_on_the_page_is_what_the_command_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    solution = exercises()["transpose_perm"].with_mistake(0)
    (tmp_path / "transpose_perm.py").write_text(solution, encoding="utf-8")
    assert main(["exercise", "check", "transpose_perm.py"]) == 1
    shown = re.search(r"\{container\} worked-output\n```\{code-block\} text\n(.*?)```", PAGE, re.S)
    assert shown[1] == capsys.readouterr().out


def test_no_exercise_is_typed_on_the_page():
    """But for those that the commands begin with."""
    typed = {name for name in names() if re.search(rf"\b{name}\b", PAGE)}
    assert typed <= {"uniform", "transpose_perm", "floyd", "below"}


def test_sections_have_their_anchors(sections):
    for name, section in sections.items():
        assert section.startswith(f"(exercise-{name})=\n## `{name}`\n")


@pytest.mark.parametrize("name", names())
def test_hints_solution_and_mistakes_are_folded(name, sections):
    exercise, section = exercises()[name], sections[name]
    hidden = "\n".join(re.findall(r"^<details .*?^</details>$", section, re.M | re.S))
    plain = re.sub(r"^<details .*?^</details>$", "", section, flags=re.M | re.S)
    assert exercise.title in plain.replace("\\", "") and f"exercise start {name}" in plain
    assert exercise.code.strip() in hidden
    for words in (*exercise.hints, *(mistake.did for mistake in exercise.mistakes)):
        part = max(words.split("`"), key=len)  # of text or of code
        assert part in hidden.replace("\\", "") and part not in plain
