"""The directive that puts each line of a paper's algorithm, in our words, beside its code.

```{paper-beside-code} jpdc21:2
```

The words are those of docs/paraphrases.toml, the code that of `paper_lines`. With the option `fold`
it is closed at first, under the words of the option; with `from`, the lines before that one are.
"""

from docutils import nodes
from folding import folded_part_of
from kernel_marks import in_kernels
from paper_lines import (
    DOCS,
    PACKAGES,
    TITLES,
    beside_code,
    load_algorithms,
    load_paraphrases,
    statement,
)
from source_pages import link_to, numbered_code
from sphinx.util.docutils import SphinxDirective


class PaperBesideCode(SphinxDirective):
    """Rows of two cells: what lines of the paper say, with their errata; and their code."""

    required_arguments = 1
    option_spec = {"fold": str, "from": int}

    def run(self):
        key = self.arguments[0]
        try:
            rows, words = beside_code(key), load_paraphrases()[key]
        except (KeyError, ValueError) as error:
            raise self.error(f"paper-beside-code: {error}") from error
        for name in ("algorithms.toml", "paraphrases.toml"):
            self.env.note_dependency(str(DOCS / name))
        algorithm, path = load_algorithms()[key], None
        paper = f"{TITLES[algorithm['paper']]} Algorithm {algorithm['number']}"
        head = nodes.container("", classes=["beside-row", "beside-head"])
        head += nodes.paragraph("", f"{paper}, in our words")
        head += nodes.paragraph("", "the code that is this line")
        block, before = nodes.container("", head, classes=["beside"]), []
        first = self.options.get("from", 1)
        for row in rows:
            said = nodes.container(classes=["beside-said"])
            for line in row.lines:
                said += self.said(key, line, words[str(line.number)], algorithm)
            said.children[-1] += self.kernels(algorithm, [line.number for line in row.lines])
            if row.errata:
                gists = nodes.inline("", f" {'; '.join(map(str, row.errata))}")
                gists["classes"].append("beside-erratum")
                said.children[-1].append(gists)
            done = nodes.container(classes=["beside-code"])
            for code in row.code:
                if code.path != path:
                    path = code.path
                    self.env.note_dependency(str(PACKAGES / path))
                    place = link_to(self.env, path, 0, path)
                    done += nodes.paragraph("", "", place, classes=["code-place"])
                done += self.code(code)
            shown = nodes.container("", said, done, classes=["beside-row"])
            if row.lines[-1].number < first:
                before.append(shown)
            else:
                block += shown
        if before:
            block.insert(1, folded_part_of(f"Lines 1 to {first - 1}", *before))
        if algorithm["silent"]:
            block += nodes.paragraph("", silent(algorithm["silent"]), classes=["beside-silent"])
        return [folded_part_of(self.options["fold"], block)] if "fold" in self.options else [block]

    def said(self, key, line, words, algorithm):
        """Return the paragraph of one line of the paper; its anchor is as "jpdc21-2-line-4"."""
        target = f"{key.replace(':', '-')}-line-{line.number}"
        number = nodes.strong("", str(line.number), classes=["beside-number"])
        (paragraph,) = self.parse_text_to_nodes(words)
        paragraph["ids"].append(target)
        paragraph.insert(0, [number, nodes.Text(" ")])
        if line.same_as:
            others = ", ".join(map(str, line.same_as))
            note = f" (line {others} of JPDC'21)"
            paragraph += nodes.inline("", note, classes=["beside-same"])
        return paragraph

    def kernels(self, algorithm, numbers):
        """Return a link, the letter C, to each kernel that is some lines: its name is the title."""
        shown = []
        for place in in_kernels(algorithm, numbers):
            self.env.note_dependency(str(PACKAGES / place.path))
            link = link_to(self.env, place.path, place.row, "C")
            name = place.name or place.path.rpartition("/")[2]
            link["reftitle"] = f"in Cython: {name}, row {place.row}"
            shown += [nodes.Text(" "), link]
        return shown

    def code(self, code):
        """Return a line of code, as a whole statement, whose number leads to the source."""
        text = statement(code.path, code.row)
        block = numbered_code(text, text, path=code.path, rows=[code.row])
        block["language"] = "python"
        self.set_source_info(block)
        return block


def silent(numbers):
    """Say which lines have no code."""
    shown = [str(number) for number in numbers]
    listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    if len(shown) == 1:
        return f"Line {listed} ends a block or is a comment."
    return f"Lines {listed} end blocks, wait for other processors, or are comments."


def setup(app):
    app.add_directive("paper-beside-code", PaperBesideCode)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
