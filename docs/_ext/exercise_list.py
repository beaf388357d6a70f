"""The directives of the page of exercises, made from refimpl/lab/apps/course.

```{exercise-table}              every exercise in a row
```

```{exercise-level} 2            a section for each exercise of a level, hints and solution folded
```

The section of an exercise has the id exercise-NAME.
"""

import ast

from docutils import nodes
from gallery import inline, made_table
from paper_lines import DOCS, PACKAGES, source_of
from source_pages import link_to
from sphinx.util.docutils import SphinxDirective

from refimpl.lab.apps.course.checking import place_in_papers
from refimpl.lab.apps.course.exercises import LEVELS, TITLES, exercises

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
    begin = f'<details class="exercise-fold"><summary>{summary}</summary>'
    return [
        nodes.raw("", begin, format="html"),
        *inside,
        nodes.raw("", "</details>", format="html"),
    ]


def page_link(exercise):
    """Return a link to the page that explains an exercise, by its heading."""
    path = DOCS / f"{exercise.page}.md"
    heading = path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
    return nodes.reference("", heading, refuri=f"{exercise.page}.html", internal=True)


def asked(exercise):
    """Return the docstrings of what is to be written, without the indentation."""
    tree = ast.parse(exercise.template)
    functions = [node for node in tree.body if getattr(node, "name", "") in exercise.write]
    return [(node.name, ast.get_docstring(node)) for node in functions]


def section_of(exercise):
    """Return the section of an exercise."""
    id = anchor(exercise.name)
    section = nodes.section(ids=[id], names=[id])
    section += nodes.title("", "", nodes.literal(text=exercise.name))
    about = nodes.paragraph("", "", nodes.strong(text=exercise.title), nodes.Text(" "))
    about += [nodes.Text(f"{place_in_papers(exercise)}; explained in "), page_link(exercise)]
    about += nodes.Text(". Bad arguments are to be refused, too." if exercise.refuses else ".")
    section += [about, code(f"minibatch-gnn exercise start {exercise.name}", "text")]
    for name, words in asked(exercise):
        section += fold(f"What <code>{name}</code> does", code(words, "text"))
    for number, hint in enumerate(exercise.hints, 1):
        section += fold(f"Hint {number}", text(hint))
    path, row, _ = source_of(exercise.reference)
    beside = text(f"{exercise.beside} ")
    beside += link_to(path, row, exercise.reference.replace(":", "."), here=False)
    section += fold("A solution", code(exercise.code), beside)
    did = [nodes.list_item("", text(f"It {one.did}.")) for one in exercise.mistakes]
    section += fold("What often goes wrong", nodes.bullet_list("", *did))
    return section


class OfExercises(SphinxDirective):
    """A directive whose page is made again when an exercise is another."""

    def note(self):
        """Note what the page is made of."""
        for path in sorted(FOLDER.rglob("*.py")):
            self.env.note_dependency(str(path))


class ExerciseTable(OfExercises):
    """Every exercise in a row."""

    def run(self):
        self.note()
        rows = []
        for name, exercise in exercises().items():
            shown, uri = nodes.literal(text=name), f"#{anchor(name)}"
            link = nodes.reference("", "", shown, refuri=uri, internal=True)
            rows.append((str(exercise.level), link, exercise.title, place_in_papers(exercise)))
        return [made_table(("level", "exercise", "what you write", "from"), rows, (1, 4, 8, 4))]


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
    app.add_directive("exercise-table", ExerciseTable)
    app.add_directive("exercise-level", ExerciseLevel)
    app.connect("doctree-read", name_anchors)
    app.add_css_file("exercises.css")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
