"""The directives of the page of exercises, made from refimpl/lab/apps/course.

```{exercise-names}              the names of all exercises, level by level
```

```{exercise-check} uniform 0    what `check` says of the first of an exercise's known mistakes
```

```{exercise-level} 2            a section for each exercise of a level, hints and solution folded
```

The section of an exercise has the id exercise-NAME.
"""

import tempfile
from pathlib import Path

from docutils import nodes
from gallery import inline
from paper_lines import DOCS, PACKAGES, source_of
from source_pages import link_to
from sphinx.util.docutils import SphinxDirective

from refimpl.lab.apps.course.checking import Asker, check
from refimpl.lab.apps.course.exercises import LEVELS, TITLES, exercises, find
from refimpl.lab.apps.course.feedback import lines_on

FOLDER = PACKAGES / "refimpl" / "lab" / "apps" / "course"


def anchor(name):
    """Return the id of an exercise's section."""
    return f"exercise-{name}"


def text(words):
    """Return a paragraph in which backticks mark code."""
    return nodes.paragraph("", "", *inline(words))


def code(source, language="python"):
    """Return a block of code."""
    block = nodes.literal_block(source, source.rstrip("\n"))
    block["language"] = language
    return block


def fold(summary, *inside):
    """Return nodes that are shown when their summary is clicked on."""
    begin = f"<details><summary>{summary}</summary>"
    return [
        nodes.raw("", begin, format="html"),
        *inside,
        nodes.raw("", "</details>", format="html"),
    ]


def page_link(exercise):
    """Return a link to the page that explains an exercise, by its heading."""
    path = DOCS / f"{exercise.page}.md"
    if not path.is_file():
        return nodes.Text(exercise.page)
    heading = path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
    return nodes.reference("", heading, refuri=f"{exercise.page}.html", internal=True)


def section_of(exercise):
    """Return the section of an exercise."""
    id = anchor(exercise.name)
    section = nodes.section(ids=[id], names=[id])
    section += nodes.title("", "", nodes.literal(text=exercise.name))
    about = nodes.paragraph("", "", nodes.strong(text=exercise.title), nodes.Text(" "))
    about += [nodes.Text(f"{exercise.place}; explained in "), page_link(exercise)]
    about += nodes.Text(". Bad arguments are to be refused, too." if exercise.refuses else ".")
    section += [about, code(f"minibatch-gnn exercise start {exercise.name}", "text")]
    folds = []
    for name in exercise.write:
        signature, docstring = exercise.task(name)
        words = code(f"{signature}\n\n{docstring}", "text")
        folds += fold(f"What <code>{name}</code> does", words)
    for number, hint in enumerate(exercise.hints, 1):
        folds += fold(f"Hint {number}", text(hint))
    path, row, _ = source_of(exercise.reference)
    beside = text(f"{exercise.beside} ")
    beside += link_to(path, row, exercise.reference.replace(":", "."), here=False)
    folds += fold("A solution", code(exercise.code), beside)
    did = [nodes.list_item("", text(f"It {one.did}.")) for one in exercise.mistakes]
    folds += fold("What often goes wrong", nodes.bullet_list("", *did))
    section += nodes.container("", *folds, classes=["exercise-folds"])
    return section


class OfExercises(SphinxDirective):
    """A directive whose page is made again when an exercise is another."""

    def note(self):
        """Note what the page is made of."""
        for path in sorted([*FOLDER.rglob("*.py"), *FOLDER.rglob("*.toml")]):
            self.env.note_dependency(str(path))


class ExerciseNames(OfExercises):
    """The names of all exercises, a line a level."""

    def run(self):
        self.note()
        lines = []
        for level, (title, inside) in enumerate(zip(TITLES, LEVELS, strict=True), 1):
            line = nodes.paragraph("", "", nodes.strong(text=f"{level}, {title}: "))
            for name in inside:
                shown = nodes.literal(text=name)
                line += nodes.reference("", "", shown, refuri=f"#{anchor(name)}", internal=True)
                line += nodes.Text(" ")
            lines.append(nodes.list_item("", line))
        return [nodes.bullet_list("", *lines, classes=["exercise-names"])]


class ExerciseCheck(OfExercises):
    """What is said of a solution with one of the known mistakes."""

    required_arguments = 2

    def run(self):
        self.note()
        exercise, number = find(self.arguments[0]), int(self.arguments[1])
        file = f"{exercise.name}.py"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, file)
            path.write_text(exercise.with_mistake(number), encoding="utf-8")
            with Asker(exercise, path) as asker:
                said = lines_on(exercise, file, check(exercise, asker))
        shown = nodes.container("", code("\n".join(said), "text"), classes=["worked-output"])
        return [nodes.container("", code(f"minibatch-gnn exercise check {file}", "text"), shown)]


class ExerciseLevel(OfExercises):
    """The sections of a level."""

    required_arguments = 1

    def run(self):
        self.note()
        level = int(self.arguments[0])
        if not 1 <= level <= len(LEVELS):
            raise self.error(f"exercise-level: there are {len(LEVELS)} levels, got {level}")
        section = nodes.section(ids=[f"level-{level}"], names=[f"level-{level}"])
        section += nodes.title("", f"Level {level}: {TITLES[level - 1]}")
        section += [section_of(one) for one in exercises().values() if one.level == level]
        return [section]


def name_anchors(app, doctree):
    """Let [..](exercises.md#exercise-NAME) be a link on Markdown pages."""
    slugs = app.env.metadata[app.env.docname].get("myst_slugs")
    for section in doctree.findall(nodes.section):
        for id in section["ids"]:
            if slugs is not None and id.startswith("exercise-"):
                slugs[id] = (None, id, section.next_node(nodes.title).astext())


def setup(app):
    app.add_directive("exercise-names", ExerciseNames)
    app.add_directive("exercise-check", ExerciseCheck)
    app.add_directive("exercise-level", ExerciseLevel)
    app.connect("doctree-read", name_anchors)
    app.add_css_file("exercises.css")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
