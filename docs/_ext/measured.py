"""Numbers of the page Measurements in sentences: the role `measured`.

{measured}`kernels / frontier / m=100 n=800 of n=10,000 e=150,000 / refimpl ms` is the number of the
table of the section "Kernels" whose row begins with these cells, in the column of that title.
{measured}`samplers-on-large-graphs: Kronecker / edge / 2 threads` looks only behind the bold line
that begins so. The build warns where there is no such number, or more than one: a sentence cannot
keep a number that the table has lost.
"""

from docutils import nodes
from measured_numbers import PAGE, number
from paper_lines import DOCS
from sphinx.util.docutils import SphinxRole


class Measured(SphinxRole):
    """See the module."""

    def run(self):
        path = [part.strip() for part in self.text.split(" / ")]
        source = DOCS / f"{PAGE}.md"
        self.env.note_dependency(str(source))
        try:
            text = number(source.read_text(encoding="utf-8"), path)
        except ValueError as error:
            return [], [self.inliner.reporter.error(f"measured: {error}", line=self.lineno)]
        return [nodes.inline("", text, classes=["measured"])], []


def setup(app):
    app.add_role("measured", Measured())
    return {"parallel_read_safe": True, "version": "1"}
