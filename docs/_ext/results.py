"""What was measured, on pages and slides. The build warns of what is not there.

paper-figures           a section for each figure: picture, what one sees, claims, numbers
paper-figure V-fig14    the same of one, without a heading
paper-verdict CLAIM ..  claims, what was found of each, and the figure that shows it
claim V-io-59           of a slide: what a paper says, what was found, the outcome; content takes
                        the place of what was found
outcomes CLAIM ..       a table of claims with their outcomes
bars                    bars, a line each: `label = ID; CELL; ..; COLUMN`
kernel-report SIZE ..   a table of the times of kernels on inputs of these sizes
kernel-losses           a table of the kernels in which another is faster
report-machine          what the kernels were measured on

Roles: `outcome` CLAIM; `measured` GROUP / NAME, milliseconds of an implementation by the group's
name in `pytest bench`, "spmm medium-128_float32 / fastimpl", or GROUP / speed-up, of fastimpl over
refimpl; `result` ID; CELL; ..; COLUMN, a cell of a figure's table: of the row that has these cells,
under this column's title. `layers=2` is a cell of one column, `COLUMN > NAME` what stands behind
"NAME: " in brackets; `result-lead` leaves out the brackets.
"""

from html import escape

from docutils import nodes
from generated import box, extension, folded, plain, raw, table
from stored_results import (
    PACKAGES,
    known,
    measured,
    number_in,
    result,
    result_lead,
    result_of,
    run,
    shares_of,
    verdict_of,
)

from bench.figures import experiment
from bench.markdown import ratio, significant
from bench.report import facts_of, is_noisy, losses, names_of, rows_of, title_of
from refimpl.lab.apps.papers import LETTERS, TITLES

OUTCOMES = {  # from those that fail on; their classes
    "does not hold here": "not",
    "holds weaker": "weaker",
    "holds": "holds",
    "cannot be tested here": "untested",
}
PAPERS = {letter: paper for paper, letter in LETTERS.items()}
WORDS = {"fig": "Figure", "tab": "Table", "thm": "Theorem"}


def item_title(item):
    """Return "V-fig14" as "VLDB'24 Figure 14"."""
    letter, _, rest = item.partition("-")
    return f"{TITLES[PAPERS[letter]]} {WORDS[rest[:3]]} {rest[3:]}"


def link(words, id):
    """Return a link to the place of a figure in the gallery."""
    return f"[{words}](/figures.md#figure-{id.lower()})"


def paper_figure(id):
    """Return a figure: the picture, what one sees, the claims, the numbers, the command."""
    (words,) = (one for one in known()["figure"] if one["id"] == id)
    stored = result_of(id)
    alt = " ".join(f"{stored['title']}. {words['sees']}".split())
    claims = [
        (
            plain(f"{one['says']} ({one['where']})"),
            plain(one["ours"]),
            plain(one["outcome"] + (f": {one['because']}" if one["because"] else "")),
        )
        for one in stored["verdicts"]
    ]
    numbers = [map(plain, line) for line in stored["table"]]
    machine, settings = stored["machine"], stored["settings"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    data = f"data {settings['data']}, " if settings["data"] else ""
    noisy = " Other programs ran meanwhile." if stored["noisy"] else ""
    facts = (
        f"; {data}{settings['impl']}, up to {machine['threads']} threads of an "
        f"{machine['processor']}, BLAS {', '.join(machine['blas'])}, {versions}; {stored['date']}, "
        f"{stored['seconds']:.0f} s.{noisy}"
    )
    parts = [
        f"```{{image}} /results/{id}.svg\n:alt: {alt}\n:class: measured-figure\n```",
        plain(words["sees"]),
        table(("the paper", "here", "verdict"), claims, (5, 5, 4), "claims"),
        plain(words.get("lacking", "")),
        folded("The numbers", table(map(plain, stored["titles"]), numbers, (), "results")),
        f"`{stored['command']}`{plain(facts)}",
    ]
    return "\n\n".join(parts)


def paper_figures():
    """Return a section for each figure."""
    sections = []
    for id, figure in experiment.known().items():
        names = ", ".join(map(item_title, (id, *figure.also)))
        head = f"(figure-{id.lower()})=\n# {plain(figure.title)}: {names}"
        sections.append(f"{head}\n\n{paper_figure(id)}")
    return "\n\n".join(sections)


def paper_verdict(claims):
    """Return a paragraph for each claim, with what was found of it."""
    made = []
    for id, one in map(verdict_of, claims.split()):
        paper, _, place = one["where"].partition(" ")
        text = plain(f"{TITLES[PAPERS[paper]]} {place} claims: {one['says']}. Here: {one['ours']}.")
        made.append(f"{text} The claim **{one['outcome']}** ({link(id, id)}).")
    return "\n\n".join(made)


def outcome(claim):
    """Return what became of a claim, in its own colour."""
    found = verdict_of(claim)[1]["outcome"]
    return nodes.inline("", found, classes=["outcome", OUTCOMES[found]])


def claim(id, content):
    """Return what a paper says, what was found here, and the outcome."""
    _, found = verdict_of(id)
    says = found["says"][0].upper() + found["says"][1:]
    parts = [
        f":::{{container}} said\n**Paper** {plain(says)} ({plain(found['where'])})\n:::",
        f":::{{container}} ours\n**Here**\n\n{content or plain(found['ours'])}\n:::",
        f"**Verdict** {{outcome}}`{id}`",
    ]
    return box("claim", "\n\n".join(parts))


def outcomes(claims):
    """Return a table of claims with their outcomes."""
    rows = [(plain(verdict_of(id)[1]["says"]), f"{{outcome}}`{id}`") for id in claims.split()]
    return table(("the paper says", "here"), rows, (5, 2), "outcomes")


def bars(content, *, log=None, strong=""):
    """Return a table in which each number has its bar."""
    lines = [line.partition("=") for line in content.splitlines() if line.strip()]
    found = [(name.strip(), result_lead(address)) for name, _, address in lines]
    shares = shares_of([number_in(text) for _, text in found], log=log is not None)
    rows = "".join(
        f"<tr{' class=strong' if name == strong else ''}><th scope='row'>{escape(name)}</th>"
        f"<td><span class='bar' style='--share: {share:.4f}'></span> {escape(text)}</td></tr>"
        for (name, text), share in zip(found, shares, strict=True)
    )
    return [raw(f'<table class="bars">{rows}</table>')]


def kernel_report(sizes):
    """Return a table of the inputs of some sizes."""
    found = [row for row in rows_of(run()) if row.size in sizes.split()]
    peers, rows = [name for name in names_of(found) if name not in PACKAGES], []
    for row in found:
        times = [row.times.get(name) for name in PACKAGES]
        speed_up, share = row.speed_up(*reversed(PACKAGES)), row.share()
        others = [
            f"{title_of(name)} {significant(1e3 * row.times[name].median)}"
            for name in peers
            if name in row.times
        ]
        cells = [
            f"{row.kernel}, {row.input}",
            *(significant(1e3 * time.median) if time else "-" for time in times),
            ratio(speed_up) if speed_up else "-",
            ", ".join(others) or "-",
            "-" if share is None else f"{share:.0%}",
        ]
        rows.append(map(plain, cells))
    titles = ("kernel", "refimpl ms", "fastimpl ms", "speed-up", "peers, ms", "limit")
    return table(titles, rows, (9, 3, 3, 3, 5, 2))


def kernel_losses():
    """Return a table of the kernels in which another is faster."""
    rows = [
        (plain(f"{row.kernel}, {row.input}"), plain(title_of(other)), f"{slower:.2f}")
        for row, other, slower in losses(rows_of(run()))
    ]
    return table(("kernel", "is faster", "times as fast"), rows, (5, 2, 2))


def report_machine():
    """Return a table of what the kernels were measured on."""
    warning = "**Other programs were running: do not quote these times.**"
    made = table(("", "of this run"), [map(plain, row) for row in facts_of(run())], (1, 4))
    return f"{made}\n{warning if is_noisy(run()) else ''}\n"


setup = extension(
    paper_figures,
    paper_figure,
    paper_verdict,
    claim,
    outcomes,
    bars,
    kernel_report,
    kernel_losses,
    report_machine,
    roles=[measured, result, result_lead, outcome],
)
