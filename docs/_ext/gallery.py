"""The directives of the gallery: the papers' figures as `python -m bench figure` measured them.

```{paper-figures}               a section for each figure: picture, what one sees, claims, numbers
```

```{paper-figure} V-fig14        the same of one, without a heading
```

```{paper-items}                 every figure and table of the papers, with its command
```

```{paper-claims}                every headline claim, with what became of it
```

```{paper-verdict} V-io-59         what was found of a claim, and the figure that shows it
```

docs/results.toml says what each shows and claims; docs/results holds what was measured.
"""

import json
import sys
from pathlib import Path

from docutils import nodes
from folding import folded
from sphinx.util.docutils import SphinxDirective
from tables import table_of

from bench.figures import catalogue
from refimpl.lab.apps.papers import LETTERS, TITLES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = Path(__file__).parents[1]
RESULTS = DOCS / "results"
WORDS = {"fig": "Figure", "tab": "Table", "thm": "Theorem"}


def known():
    """Return docs/results.toml."""
    return tomllib.loads((DOCS / "results.toml").read_text(encoding="utf-8"))


def result_of(id):
    """Return what `python -m bench figure` wrote about a figure."""
    return json.loads((RESULTS / f"{id}.json").read_text(encoding="utf-8"))


def shown_by():
    """Return the figure that shows each item of the papers: {"J-fig2": "I-fig2", ..}."""
    return {
        name: figure.id
        for figure in catalogue.known().values()
        for name in (figure.id, *figure.also)
    }


def title_of(item):
    """Return "V-fig14" as "VLDB'24 Figure 14"."""
    letter, _, rest = item.partition("-")
    (paper,) = (paper for paper, one in LETTERS.items() if one == letter)
    return f"{TITLES[paper]} {WORDS[rest[:3]]} {rest[3:]}"


def anchor(id):
    """Return the name of the place of a figure in the gallery."""
    return f"figure-{id.lower()}"


def inline(words):
    """Return the nodes of a text in which backticks mark code."""
    parts = words.split("`")
    return [
        nodes.literal(text=part) if number % 2 else nodes.Text(part)
        for number, part in enumerate(parts)
    ]


def text(words):
    """Return a paragraph."""
    return nodes.paragraph("", "", *inline(words))


def made_table(titles, lines, widths=None):
    """Return a table of words, and of nodes."""
    rows = [
        [cell if isinstance(cell, nodes.Node) else inline(cell) for cell in line] for line in lines
    ]
    return table_of(titles, widths or [1] * len(titles), rows, ["results"])


def link(words, id):
    """Return a link to the place of a figure in the gallery."""
    return nodes.reference("", words, refuri=f"figures.html#{anchor(id)}", internal=True)


def body_of(id):
    """Return the nodes that show a figure."""
    result = result_of(id)
    about = {one["id"]: one for one in known()["figure"]}[id]
    found = [
        nodes.image(
            uri=f"results/{id}.svg",
            alt=f"{result['title']}. {about['sees']}",
            classes=["measured-figure"],
        ),
        text(about["sees"]),
    ]
    claims = [
        (
            f"{one['says']} ({one['where']})",
            one["ours"],
            one["outcome"] + (f": {one['because']}" if one["because"] else ""),
        )
        for one in result["verdicts"]
    ]
    found.append(made_table(("the paper", "here", "so it"), claims, (5, 5, 4)))
    if "lacking" in about:
        found.append(text(about["lacking"]))
    found += [folded("The numbers", made_table(result["titles"], result["table"]))]
    machine, settings = result["machine"], result["settings"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    data = f"data {settings['data']}, " if settings["data"] else ""
    noisy = " Other programs ran meanwhile." if result["noisy"] else ""
    facts = (
        f"; {data}{settings['impl']}, up to {machine['threads']} threads of an "
        f"{machine['processor']}, BLAS {', '.join(machine['blas'])}, {versions}; {result['date']}, "
        f"{result['seconds']:.0f} s.{noisy}"
    )
    last = nodes.paragraph("", "", nodes.literal(text=result["command"]), nodes.Text(facts))
    return [*found, last]


def verdict_of(claim):
    """Return the figure that judges a claim, and its verdict."""
    found = {one["claim"]: (id, one) for id in catalogue.ABOUT for one in result_of(id)["verdicts"]}
    return found[claim]


class OfResults(SphinxDirective):
    """A directive whose page is made again when the results are others."""

    def run(self):
        """Note what the page is made of; return its nodes."""
        for path in (DOCS / "results.toml", *sorted(RESULTS.glob("*.json"))):
            self.env.note_dependency(str(path))
        return self.made()


class PaperFigures(OfResults):
    """A section for each figure."""

    def made(self):
        """Return the sections."""
        sections = []
        for id, figure in catalogue.known().items():
            names = [title_of(name) for name in (id, *figure.also)]
            section = nodes.section(ids=[anchor(id)], names=[anchor(id)])
            section += nodes.title("", f"{figure.title}: {', '.join(names)}")
            section += body_of(id)
            sections.append(section)
        return sections


class PaperFigure(OfResults):
    """One figure, without a heading."""

    required_arguments = 1

    def made(self):
        """Return its nodes."""
        return body_of(self.arguments[0])


class PaperVerdict(OfResults):
    """What was found of a claim."""

    required_arguments = 1

    def made(self):
        """Return a paragraph."""
        id, one = verdict_of(self.arguments[0])
        words = f"{one['ours'][0].upper()}{one['ours'][1:]}. The claim {one['outcome']} ("
        return [nodes.paragraph("", "", *inline(words), link(id, id), nodes.Text(")."))]


class PaperItems(OfResults):
    """Every figure and table of the papers."""

    def made(self):
        """Return the table."""
        shown, lines = shown_by(), []
        for item in known()["item"]:
            if "illustration" in item:
                lines.append((title_of(item["id"]), f"a drawing: {item['illustration']}", ""))
                continue
            id = shown[item["id"]]
            command = nodes.literal(text=f"python -m bench figure {item['id']}")
            lines.append((title_of(item["id"]), link(catalogue.load(id).title, id), command))
        return [made_table(("in the paper", "here", "command"), lines, (3, 5, 4))]


class PaperClaims(OfResults):
    """Every headline claim of the papers."""

    def made(self):
        """Return the table."""
        lines = []
        for claim in known()["headlines"]:
            id, one = verdict_of(claim)
            said = f"{one['says']} ({one['where']})"
            lines.append((said, one["ours"], one["outcome"], link(id, id)))
        return [made_table(("the claim", "here", "so it", "figure"), lines, (5, 5, 2, 1))]


def setup(app):
    """Register the directives."""
    app.add_directive("paper-figures", PaperFigures)
    app.add_directive("paper-figure", PaperFigure)
    app.add_directive("paper-verdict", PaperVerdict)
    app.add_directive("paper-items", PaperItems)
    app.add_directive("paper-claims", PaperClaims)
    return {"parallel_read_safe": True}
