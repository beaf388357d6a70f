"""The directives of a course: its weeks, its exercise sheets, and their answers.

```{syllabus}           a line a week: topic | pages of docs/learn | deck: parts; of its lecture
Frontiers | why frontier | sampling: Why sample at all; Frontier sampling by hand
```
```{exercise-sheets}    the exercises of each page of the course, without hints and answers
```{sheet-answers}      their answers
"""

import re

from deck_source import DECKS, read_deck
from exercise_list import code
from generated import directive, plain, table
from page_questions import from_root, pages

from refimpl.lab.apps.course.exercises import find

PAPER = re.compile(r"With pen and paper:\n\n(.*?)````\{fold\} Answers\n(.*?)````", re.S)


def syllabus(content):
    """Return a table of the weeks; each page and each part of a deck is in one week."""
    left = {(name, part.title): part.minutes for name in DECKS for part in read_deck(name).parts}
    unread = [page for page, _, text in pages() if "## Summary" in text]
    rows = []
    for week, line in enumerate(content.splitlines(), 1):
        topic, read, shown = (cell.strip() for cell in line.split("|"))
        for page in read.split():
            unread.remove(f"learn/{page}")
        deck, _, titles = (one.strip() for one in shown.partition(":"))
        parts = [(deck, title.strip()) for title in titles.split(";") if titles]
        minutes = sum(left.pop(part) for part in parts)
        links = " ".join(f"[](/learn/{page}.md)" for page in read.split())
        names = "; ".join(title for _, title in parts)
        lecture = f"[{read_deck(deck).cover.title}](/lectures/{deck}.md): {names}" if parts else ""
        rows.append((week, plain(topic), links, lecture, minutes or ""))
    if left or unread:
        raise ValueError(f"no week has {', '.join([*unread, *(title for _, title in left)])}")
    return table(("week", "topic", "read", "show", "minutes"), rows, (1, 4, 5, 6, 1))


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
    for title, page, names, questions, _ in sheets():
        made.append(f"# {title}\n\nThe page: [](/{page}.md). To be programmed:\n")
        for exercise in map(find, names):
            made.append(
                f"- `minibatch-gnn exercise start {exercise.name}`: {plain(exercise.title)} "
                f"({plain(exercise.place)})"
            )
        made.append(f"\nWith pen and paper:\n\n{questions}\n")
    return "\n".join(made)


def sheet_answers():
    """Return the answers of the sheets, with the code of the solutions."""
    made = []
    for title, _, names, _, answers in sheets():
        made.append(f"# {title}\n\n{answers}\n")
        for exercise in map(find, names):
            made.append(f"**`{exercise.name}`**\n\n{code(exercise.code)}")
    return "\n".join(made)


def setup(app):
    for made in (syllabus, exercise_sheets, sheet_answers):
        app.add_directive(made.__name__.replace("_", "-"), directive(made))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
