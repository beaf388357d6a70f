"""The directives of the gallery: the papers' figures as `python -m bench figure` measured them.

paper-figures            a section for each figure: picture, what one sees, claims, numbers
paper-figure V-fig14     the same of one, without a heading
paper-items              every figure and table of the papers, with its command
paper-verdict V-io-59    what was found of a claim, and the figure that shows it
claims-by-outcome        every headline claim under what became of it, those that fail first

docs/results.toml says what each shows and claims; docs/results holds what was measured.
"""

import json
import sys
from pathlib import Path

from generated import directive, folded, plain, table

from bench.figures import experiment
from refimpl.lab.apps.papers import LETTERS, TITLES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = Path(__file__).parents[1]
RESULTS = DOCS / "results"
OUTCOMES = ("does not hold here", "holds weaker", "holds", "cannot be tested here")
WORDS = {"fig": "Figure", "tab": "Table", "thm": "Theorem"}


def known():
    """Return docs/results.toml."""
    return tomllib.loads((DOCS / "results.toml").read_text(encoding="utf-8"))


def result_of(id):
    """Return what `python -m bench figure` wrote about a figure."""
    return json.loads((RESULTS / f"{id}.json").read_text(encoding="utf-8"))


def about(id):
    """Return what docs/results.toml says of a figure."""
    found = {one["id"]: one for one in known()["figure"]}
    if id not in found:
        raise ValueError(f"there is no figure {id!r}")
    return found[id]


def verdict_of(claim):
    """Return the figure that judges a claim, and its verdict."""
    for id in experiment.ABOUT:
        for verdict in result_of(id)["verdicts"]:
            if verdict["claim"] == claim:
                return id, verdict
    raise ValueError(f"there is no claim {claim!r}")


def title_of(item):
    """Return "V-fig14" as "VLDB'24 Figure 14"."""
    letter, _, rest = item.partition("-")
    (paper,) = (paper for paper, one in LETTERS.items() if one == letter)
    return f"{TITLES[paper]} {WORDS[rest[:3]]} {rest[3:]}"


def link(words, id):
    """Return a link to the place of a figure in the gallery."""
    return f"[{words}](/figures.md#figure-{id.lower()})"


def alternative(id):
    """Return what a picture shows, in one line, for those who do not see it."""
    return " ".join(f"{result_of(id)['title']}. {about(id)['sees']}".split())


def paper_figure(id):
    """Return a figure: the picture, what one sees, the claims, the numbers, the command."""
    result, words = result_of(id), about(id)
    image = f"```{{image}} /results/{id}.svg\n:alt: {alternative(id)}\n:class: measured-figure\n```"
    claims = [
        (
            plain(f"{one['says']} ({one['where']})"),
            plain(one["ours"]),
            plain(one["outcome"] + (f": {one['because']}" if one["because"] else "")),
        )
        for one in result["verdicts"]
    ]
    judged = table(("the paper", "here", "verdict"), claims, (5, 5, 4), "claims")
    numbers = [map(plain, line) for line in result["table"]]
    shown = folded("The numbers", table(map(plain, result["titles"]), numbers, (), "results"))
    machine, settings = result["machine"], result["settings"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    data = f"data {settings['data']}, " if settings["data"] else ""
    noisy = " Other programs ran meanwhile." if result["noisy"] else ""
    facts = (
        f"; {data}{settings['impl']}, up to {machine['threads']} threads of an "
        f"{machine['processor']}, BLAS {', '.join(machine['blas'])}, {versions}; {result['date']}, "
        f"{result['seconds']:.0f} s.{noisy}"
    )
    lacking = plain(words.get("lacking", ""))
    last = f"`{result['command']}`{plain(facts)}"
    return "\n\n".join([image, plain(words["sees"]), judged, lacking, shown, last])


def paper_figures():
    """Return a section for each figure."""
    sections = []
    for id, figure in experiment.known().items():
        names = ", ".join(title_of(name) for name in (id, *figure.also))
        head = f"(figure-{id.lower()})=\n# {plain(figure.title)}: {names}"
        sections.append(f"{head}\n\n{paper_figure(id)}")
    return "\n\n".join(sections)


def paper_verdict(claim):
    """Return a paragraph: what was found of a claim."""
    id, one = verdict_of(claim)
    ours = plain(one["ours"][0].upper() + one["ours"][1:])
    return f"{ours}. The claim {one['outcome']} ({link(id, id)})."


def paper_items():
    """Return a table of every figure and table of the papers."""
    figures = experiment.known().values()
    shown = {name: figure.id for figure in figures for name in (figure.id, *figure.also)}
    lines = []
    for item in known()["item"]:
        if "illustration" in item:
            lines.append((title_of(item["id"]), f"a drawing: {plain(item['illustration'])}", ""))
            continue
        id = shown[item["id"]]
        title = link(plain(experiment.load(id).title), id)
        lines.append((title_of(item["id"]), title, f"`python -m bench figure {item['id']}`"))
    return table(("in the paper", "here", "command"), lines, (3, 5, 4), "results")


def claims_by_outcome():
    """Return the headline claims in a list for each outcome, from the failed to the held."""
    found = [verdict_of(claim) for claim in known()["headlines"]]
    made = []
    for outcome in OUTCOMES:
        lines = [
            f"- {plain(one['says'])} ({plain(one['where'])}). Here: {plain(one['ours'])} "
            f"({link(id, id)})."
            for id, one in found
            if one["outcome"] == outcome
        ]
        if lines:
            made.append(f"**{outcome[0].upper()}{outcome[1:]}: {len(lines)} of {len(found)}.**\n")
            made += [*lines, ""]
    return "\n".join(made)


def setup(app):
    for made in (
        paper_figures,
        paper_figure,
        paper_verdict,
        paper_items,
        claims_by_outcome,
    ):
        app.add_directive(made.__name__.replace("_", "-"), directive(made))
    return {"parallel_read_safe": True}
