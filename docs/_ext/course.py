"""What the site has for a course, made from refimpl/lab/apps/course.

exercise-names              the names of all exercises, level by level
exercise-level 2            a section for each exercise of a level, hints and solution folded; the
                            section of an exercise has the target exercise-NAME
"""

from docutils import nodes
from generated import box, code, extension, folded, plain
from paper_lines import DOCS

from refimpl.lab.apps.course.exercises import LEVELS, TITLES, exercises


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


setup = extension(
    exercise_names,
    exercise_level,
    doctree_read=name_sections,
)
