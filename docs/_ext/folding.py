"""What is folded: shown when its line is clicked, and by what a link leads to within it.

```{fold} The proof        a directive: its content, under this line
```
"""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class folded_part(nodes.General, nodes.Element):
    """A part of a page that is closed at first; `summary` is the line that opens it."""


def folded_part_of(summary, *parts):
    """Return a node that shows others when it is opened."""
    node = folded_part("", *parts)
    node["summary"] = summary
    return node


class Fold(SphinxDirective):
    """Fold the content; the argument is the line that opens it."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self):
        node = folded_part_of(self.arguments[0], *self.parse_content_to_nodes())
        self.set_source_info(node)
        return [node]


def visit(translator, node):
    summary = translator.encode(node["summary"])
    translator.body.append(f'<details class="folded"><summary>{summary}</summary>\n')


def depart(translator, node):
    translator.body.append("</details>\n")


def setup(app):
    app.add_node(folded_part, html=(visit, depart))
    app.add_directive("fold", Fold)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
