"""The directive of the page of questions.

```{page-questions}    every question of the pages' "Questions and answers", folded, page by page
```
"""

import re
from pathlib import Path

from generated import directive, folded

DOCS = Path(__file__).parents[1]
PART = re.compile(r"^## Questions and answers\n(.*?)(?=^## |\Z)", re.M | re.S)
ASKED = re.compile(r"^\*\*(.+?\?)\*\* (.*?)(?=^\*\*|\Z)", re.M | re.S)


def pages():
    """Yield (page without its ending, title, text) of the pages of the course, in its order."""
    course = (DOCS / "learn" / "index.md").read_text(encoding="utf-8")
    for name in re.search(r":hidden:\n(.*?)```", course, re.S)[1].split():
        text = (DOCS / "learn" / f"{name}.md").read_text(encoding="utf-8")
        yield f"learn/{name}", re.search(r"^# (.*)$", text, re.M)[1], text


def questions():
    """Yield (page without its ending, title, list of (question, answer)), in the course's order."""
    for page, title, text in pages():
        found = [pair for part in PART.findall(text) for pair in ASKED.findall(part)]
        if found:
            yield page, title, found


def from_root(text, page):
    """Return an answer with its links as seen from any page."""
    text = re.sub(r"\]\((?=\w+\.md)", f"](/{Path(page).parent}/", text)
    text = text.replace("](#", f"](/{page}.md#").replace("](../", "](/")
    return text.replace("{doc}`../", "{doc}`/")


def page_questions():
    """Return each question as a line that opens its answer."""
    made = []
    for page, title, found in questions():
        made.append(f"**[{title}](/{page}.md#questions-and-answers)**\n")
        for question, answer in found:
            summary = re.sub(r"\{\w+\}`([^`]*)`|[`$\\]", r"\1", question)
            made.append(folded(summary, from_root(answer, page)))
    return "\n".join(made)


def setup(app):
    app.add_directive("page-questions", directive(page_questions))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
