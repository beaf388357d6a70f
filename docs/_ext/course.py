"""What the site has for a course, made from refimpl/lab/apps/course and the pages of docs/learn.

exercise-names              the names of all exercises, level by level
exercise-check uniform 0    what `check` says of the first of an exercise's known mistakes
exercise-level 2            a section for each exercise of a level, hints and solution folded; the
                            section of an exercise has the target exercise-NAME
page-questions              every question of the pages' "Questions and answers", folded
exercise-sheets             the exercises of each page, without hints and answers
sheet-answers               their answers
"""

import re
import tempfile
from pathlib import Path

from docutils import nodes
from generated import box, code, extension, folded, plain
from learn_pages import DOCS, from_root, pages, questions

from refimpl.lab.apps.course.checking import Asker, check
from refimpl.lab.apps.course.exercises import LEVELS, TITLES, exercises, find
from refimpl.lab.apps.course.feedback import lines_on

PAPER = re.compile(
    r'With pen and paper:\n\n(.*?)<details class="folded"><summary>Answers</summary>\n(.*?)</det',
    re.S,
)


def section_of(exercise):
    """Return the section of an exercise."""
    page = exercise.page
    if (DOCS / f"{page}.md").is_file():
        page = f"{{doc}}`/{page}`"
    refuses = ". Bad arguments are to be refused, too." if exercise.refuses else "."
    folds = []
    for name in exercise.write:
        signature, docstring = exercise.task(name)
        folds.append(folded(f"What {name} does", code(f"{signature}\n\n{docstring}", "text")))
    for number, hint in enumerate(exercise.hints, 1):
        folds.append(folded(f"Hint {number}", plain(hint)))
    beside = f"{plain(exercise.beside)} {{source}}`{exercise.reference}`"
    folds.append(folded("A solution", f"{code(exercise.code)}\n{beside}"))
    did = "\n".join(f"- It {plain(one.did)}." for one in exercise.mistakes)
    folds.append(folded("What often goes wrong", did))
    parts = [
        f"(exercise-{exercise.name})=\n## `{exercise.name}`",
        f"**{plain(exercise.title)}** {plain(exercise.place)}; explained in {page}{refuses}",
        code(f"minibatch-gnn exercise start {exercise.name}", "text"),
        box("exercise-folds", "\n".join(folds)),
    ]
    return "\n\n".join(parts)


def exercise_names():
    """Return the names of all exercises, a line a level."""
    lines = []
    for level, (title, inside) in enumerate(zip(TITLES, LEVELS, strict=True), 1):
        links = " ".join(f'<a href="#exercise-{n}"><code>{n}</code></a>' for n in inside)
        lines.append(f"- **{level}, {title}:** {links}\n")
    return box("exercise-names", "".join(lines))


def exercise_check(name, number):
    """Return the answer of `exercise check` to a solution with a known mistake."""
    exercise = find(name)
    file = f"{exercise.name}.py"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, file)
        path.write_text(exercise.with_mistake(int(number)), encoding="utf-8")
        with Asker(exercise, path) as asker:
            said = lines_on(exercise, file, check(exercise, asker))
    asked = code(f"minibatch-gnn exercise check {file}", "text")
    return f"{asked}\n{box('worked-output', code(chr(10).join(said), 'text'))}"


def exercise_level(level):
    """Return the sections of a level."""
    sections = [section_of(one) for one in exercises().values() if one.level == int(level)]
    head = f"(level-{level})=\n# Level {level}: {TITLES[int(level) - 1]}"
    return "\n\n".join([head, *sections])


def name_sections(app, doctree):
    """Give sections the ids exercise-NAME, in which docutils makes hyphens of underscores."""
    for section in doctree.findall(nodes.section):
        for name in section["names"]:
            if name.startswith("exercise-") and name not in section["ids"]:
                section["ids"].insert(0, name)


def page_questions():
    """Return each question as a line that opens its answer."""
    made = []
    for page, title, found in questions():
        made.append(f"**[{title}](/{page}.md#questions-and-answers)**\n")
        for question, answer in found:
            summary = re.sub(r"\{\w+\}`([^`]*)`|[`$\\]", r"\1", question)
            made.append(folded(summary, from_root(answer, page)))
    return "\n".join(made)


def sheets():
    """Yield (title, page, names of exercises, questions on paper, answers) of each page."""
    for page, title, text in pages():
        part = text.partition("\n## Exercises\n")[2].partition("\n## ")[0]
        found = PAPER.search(part)
        if found:
            names = re.findall(r"exercises\.md#exercise-(\w+)", part)
            yield title, page, names, *(from_root(found[k], page).strip() for k in (1, 2))


def exercise_sheets():
    """Return the sheets: what is to be programmed, and what is to be worked out on paper."""
    made = []
    for title, page, names, asked, _ in sheets():
        made.append(f"# {title}\n\nThe page: [](/{page}.md). To be programmed:\n")
        for exercise in map(find, names):
            made.append(
                f"- `minibatch-gnn exercise start {exercise.name}`: {plain(exercise.title)} "
                f"({plain(exercise.place)})"
            )
        made.append(f"\nWith pen and paper:\n\n{asked}\n")
    return "\n".join(made)


def sheet_answers():
    """Return the answers of the sheets, with the code of the solutions."""
    made = []
    for title, _, names, _, answers in sheets():
        made.append(f"# {title}\n\n{answers}\n")
        made += [f"**`{name}`**\n\n{code(find(name).code)}" for name in names]
    return "\n".join(made)


setup = extension(
    exercise_names,
    exercise_check,
    exercise_level,
    page_questions,
    exercise_sheets,
    sheet_answers,
    doctree_read=name_sections,
)
