"""The directives of the page of exercises, made from refimpl/lab/apps/course.

exercise-names              the names of all exercises, level by level
exercise-check uniform 0    what `check` says of the first of an exercise's known mistakes
exercise-level 2            a section for each exercise of a level, hints and solution folded

The section of an exercise has the target exercise-NAME.
"""

import tempfile
from pathlib import Path

from docutils import nodes
from generated import directive, folded, plain
from paper_lines import DOCS

from refimpl.lab.apps.course.checking import Asker, check
from refimpl.lab.apps.course.exercises import LEVELS, TITLES, exercises, find
from refimpl.lab.apps.course.feedback import lines_on


def code(source, language="python"):
    """Return a block of code."""
    return f"`````{{code-block}} {language}\n{source.rstrip()}\n`````\n"


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
    did = [f"- It {plain(one.did)}." for one in exercise.mistakes]
    folds.append(folded("What often goes wrong", "\n".join(did)))
    return "\n".join(
        [
            f"(exercise-{exercise.name})=",
            f"## `{exercise.name}`\n",
            f"**{plain(exercise.title)}** {plain(exercise.place)}; explained in {page}{refuses}\n",
            code(f"minibatch-gnn exercise start {exercise.name}", "text"),
            "::::::::{container} exercise-folds",
            *folds,
            "::::::::\n",
        ]
    )


def exercise_names():
    """Return the names of all exercises, a line a level."""
    lines = []
    for level, (title, inside) in enumerate(zip(TITLES, LEVELS, strict=True), 1):
        links = " ".join(f'<a href="#exercise-{n}"><code>{n}</code></a>' for n in inside)
        lines.append(f"- **{level}, {title}:** {links}\n")
    return f":::{{container}} exercise-names\n{''.join(lines)}:::\n"


def exercise_check(name, number):
    """Return what is said of a solution with one of the known mistakes."""
    exercise = find(name)
    file = f"{exercise.name}.py"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, file)
        path.write_text(exercise.with_mistake(int(number)), encoding="utf-8")
        with Asker(exercise, path) as asker:
            said = lines_on(exercise, file, check(exercise, asker))
    asked, answer = code(f"minibatch-gnn exercise check {file}", "text"), "\n".join(said)
    return f"{asked}\n::::{{container}} worked-output\n{code(answer, 'text')}::::\n"


def exercise_level(level):
    """Return the sections of a level."""
    title = dict(enumerate(TITLES, 1))[int(level)]
    sections = [section_of(one) for one in exercises().values() if one.level == int(level)]
    return "\n".join([f"(level-{level})=", f"# Level {level}: {title}\n", *sections])


def name_sections(app, doctree):
    """Give sections the ids exercise-NAME, in which docutils makes hyphens of underscores."""
    for section in doctree.findall(nodes.section):
        for name in section["names"]:
            if name.startswith("exercise-") and name not in section["ids"]:
                section["ids"].insert(0, name)


def setup(app):
    for made in (exercise_names, exercise_check, exercise_level):
        app.add_directive(made.__name__.replace("_", "-"), directive(made))
    app.connect("doctree-read", name_sections)
    app.add_css_file("exercises.css")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
