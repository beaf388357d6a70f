"""Time every kernel beside the peers that can be imported; write one HTML page.

A FILE that `pytest bench --benchmark-json FILE` wrote becomes a page without another run.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from statistics import geometric_mean
from string import Template
from typing import NamedTuple

from bench.markdown import ratio, significant
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.machine import MAX_LOAD, MAX_OTHERS

HERE = Path(__file__).parent
PACKAGES = "refimpl", "fastimpl"
PEERS = {  # implementation -> the module that it needs
    "bench.peers.scipy_kernels": "scipy",
    "bench.peers.torch_kernels": "torch",
    "bench.peers.pyg_kernels": "torch_geometric",
}
WIDTH, BAR = 320, 15  # of the bars of a row, in pixels
DIGITS = 5  # of a round's seconds, in a saved run


class Timing(NamedTuple):
    """Seconds of the rounds of an implementation."""

    median: float
    least: float
    most: float
    rounds: int


class Row(NamedTuple):
    """A kernel on an input: its topic, what limits it, a `Timing` for each implementation."""

    topic: str
    group: str
    kernel: str
    input: str
    size: str
    limit: str
    limit_seconds: float | None
    times: dict[str, Timing]

    def speed_up(self, name, over):
        """Return how many times faster one implementation is than another; None without both."""
        both = name in self.times and over in self.times
        return self.times[over].median / self.times[name].median if both else None

    def share(self):
        """Return the limit's time over the fastest implementation's, or None."""
        if self.limit_seconds is None:
            return None
        return self.limit_seconds / min(time.median for time in self.times.values())


def rows_of(run):
    """Return the `Row` of each kernel and input of a run, in its order."""
    found = {}
    for one in run["benchmarks"]:
        told, stats = one["extra_info"], one["stats"]
        topic = Path(one["fullname"].partition("::")[0]).stem.removeprefix("test_")
        facts = topic, one["group"], told["kernel"], told["input"], told["size"]
        limit = told.get("limit", "-"), told.get("limit_seconds")
        row = found.setdefault(one["group"], Row(*facts, *limit, {}))
        times = stats["median"], stats["min"], stats["max"], stats["rounds"]
        row.times[one["params"]["impl"]] = Timing(*times)
    return list(found.values())


def names_of(rows):
    """Return the implementations of a run, the baseline first."""
    return list(dict.fromkeys(name for row in rows for name in row.times))


def title_of(name):
    """Return how a table names an implementation."""
    return name.removeprefix("bench.peers.").removesuffix("_kernels")


def facts_of(run):
    """Return [(what, text), ..]: what a run was measured on."""
    machine, commit = run["machine_info"], run.get("commit_info") or {}
    told = machine["minibatch_gnn"]
    revision = (commit.get("id") or "unknown")[:11] + ("-dirty" if commit.get("dirty") else "")
    found = [
        ("Processor", f"{machine['processor']}, {machine['cpu']['count']} cores"),
        ("System", f"{machine['system']} {machine['machine']}"),
        ("BLAS", ", ".join(told["blas"])),
        ("Threads", str(told["threads"])),
        ("Python", machine["python_version"]),
        ("NumPy", told["numpy"]),
        ("SciPy", told["scipy"]),
        ("minibatch-gnn", f"{told['version']}, commit {revision}"),
    ]
    for name, build in told["builds"].items():
        words = (f"{what} {text}" for what, text in build.items() if text)
        found.append((f"Build of {name}", ", ".join(words)))
    for name, versions in told.get("peers", {}).items():
        words = ", ".join(f"{what} {text}" for what, text in versions.items())
        found.append((f"Peer {title_of(name)}", words))
    before, others = (run["load"][key] for key in ("before", "share_of_others"))
    load = "unknown" if before is None else f"{before:.2f} a core before the run"
    share = "" if others is None else f"; other programs used {others:.0%} of the cores"
    return [
        *found,
        ("Date", run["datetime"][:16].replace("T", " ") + " UTC"),
        ("Load", load + share),
    ]


def is_noisy(run):
    """Whether other programs were running, so that no time should be quoted."""
    load = run["load"]
    return (load["before"] or 0) > MAX_LOAD or (load["share_of_others"] or 0) > MAX_OTHERS


def losses(rows, name="fastimpl"):
    """Return [(row, other, ratio), ..]: where another implementation is faster, the worst first."""
    found = []
    for row in rows:
        for other in row.times:
            slower = row.speed_up(other, name)
            if slower is not None and other != name and slower > 1:
                found.append((row, other, slower))
    return sorted(found, key=lambda one: -one[2])


def page(run):
    """Return a run as an HTML page that needs no other file."""
    rows = rows_of(run)
    sections = []
    for topic in dict.fromkeys(row.topic for row in rows):
        of = [row for row in rows if row.topic == topic]
        main = [row for row in of if row.size != "tiny"]
        tiny = [row for row in of if row.size == "tiny"]
        sections.append(f"<h2>{escape(topic.replace('_', ' ').capitalize())}</h2>{table(main)}")
        if tiny:
            folded = f"<details><summary>Tiny inputs</summary>{table(tiny)}</details>"
            sections.append(folded)
    noise = "<p class=noisy>Other programs were running: do not quote these times.</p>"
    facts = "".join(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in facts_of(run))
    return Template((HERE / "report.html").read_text(encoding="utf-8")).substitute(
        facts=facts,
        noise=noise if is_noisy(run) else "",
        summary=summary(rows),
        sections="".join(sections),
        run=compact(run).replace("</", "<\\/"),
    )


def summary(rows):
    """Return the speed-ups in a sentence, and where fastimpl is slower, as HTML."""
    first, *others = names_of(rows)
    lines = []
    for name in others:
        found = [row.speed_up(name, first) for row in rows if row.size != "tiny"]
        found = [x for x in found if x is not None]
        if found:
            lines.append(
                f"<li><b>{escape(title_of(name))}</b> over {escape(first)}: {ratio(min(found))} to "
                f"{ratio(max(found))}, geometric mean {ratio(geometric_mean(found))}, "
                f"{len(found)} inputs that are not tiny</li>"
            )
    lost = "".join(
        f"<li>{escape(row.kernel)}, {escape(row.input)}: {escape(title_of(other))} is "
        f"{x:.2f} times as fast</li>"
        for row, other, x in losses(rows)
    )
    lost = f"<h2>Where fastimpl is slower</h2><ul>{lost}</ul>" if lost else ""
    return f"<ul>{''.join(lines)}</ul>{lost}"


def table(rows):
    """Return a table of bars as HTML: a row for each kernel and input."""
    if not rows:
        return ""
    head = "<tr><th>kernel<th>median ms, range of the rounds<th>speed-up<th>limit<th>share</tr>"
    return f"<table>{head}{''.join(map(table_row, rows))}</table>"


def table_row(row):
    """Return a row of the table."""
    first = next(iter(row.times))
    ups = [(name, row.speed_up(name, first)) for name in row.times if name != first]
    ups = "<br>".join(f"{ratio(x)} {escape(title_of(name))}" for name, x in ups)
    share = row.share()
    meter = "-" if share is None else f"{share:.0%}<br><meter value={min(share, 1):.3f}></meter>"
    return (
        f"<tr><td><b>{escape(row.kernel)}</b><br>{escape(row.input)}<td>{bars(row)}"
        f"<td>{ups}<td>{escape(row.limit)}<td>{meter}</tr>"
    )


def bars(row):
    """Return the medians as bars in SVG, each with a line from the least to the largest round."""
    top, parts = max(time.median for time in row.times.values()), []
    for at, (name, time) in enumerate(row.times.items()):
        y, scale = at * BAR, WIDTH / 2 / top
        ends = time.least * scale, min(time.most * scale, WIDTH / 2)
        where = max(time.median * scale, ends[1]) + 6
        words = f"{significant(1e3 * time.median)} {escape(title_of(name))}"
        parts.append(
            f'<rect class=b{at} y="{y + 2}" width="{time.median * scale:.1f}" height="{BAR - 4}"/>'
            f'<path d="M{ends[0]:.1f} {y + BAR / 2}H{ends[1]:.1f}"/>'
            f'<text x="{where:.1f}" y="{y + BAR - 4}">{words}</text>'
        )
    size = f'width="{WIDTH}" height="{BAR * len(row.times)}"'
    return f"<svg role=img {size}>{''.join(parts)}</svg>"


def compact(run):
    """Return a run as JSON, each round's seconds with a few digits."""
    benchmarks = []
    for one in run["benchmarks"]:
        data = [float(f"{seconds:.{DIGITS}g}") for seconds in one["stats"]["data"]]
        benchmarks.append({**one, "stats": {**one["stats"], "data": data}})
    return json.dumps({**run, "benchmarks": benchmarks}, separators=(",", ":"))


def loaded(path):
    """Return a saved run.

    Raises
    ------
    UserError
        If the file is none.
    """
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
        rows_of(run), facts_of(run)
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = f"{path} is no file of `pytest bench --benchmark-json`"
        raise UserError(f"{what}: {error!r}") from error
    return run


def importable():
    """Return the implementations that can be timed here: both packages, and the peers."""
    peers = [name for name, needs in PEERS.items() if importlib.util.find_spec(needs)]
    return [*PACKAGES, *peers]


def measured(names, words):
    """Run `pytest bench`; return its exit status and the run as it saved it, or None."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "run.json")
        command = [sys.executable, "-m", "pytest", str(HERE), "-n", "0", "-q", "--benchmark-quiet"]
        command += ["--impl", ",".join(names), "--benchmark-json", str(file)]
        status = subprocess.run([*command, *words], cwd=HERE.parent).returncode
        text = file.read_text(encoding="utf-8") if file.exists() else ""
    return status, json.loads(text) if text else None


def parser_of(name, about):
    """Return a parser with the options of a run."""
    parser = argparse.ArgumentParser(prog=f"python -m bench {name}", description=about)
    parser.add_argument("--threads", default="1", help="of OpenMP and BLAS (default: 1)")
    parser.add_argument("--strict", action="store_true", help="refuse a busy machine")
    return parser


def words_of(options):
    """Return the options of a run for pytest."""
    return ["--threads", options.threads, *(["--strict"] if options.strict else [])]


def main(arguments):
    """Run the command line; return its exit status."""
    parser = parser_of("report", __doc__)
    parser.add_argument("file", nargs="?", type=Path, help="saved run to show; none is measured")
    parser.add_argument(
        "--out", type=Path, default=Path("report.html"), help="HTML file (default: report.html)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="JSON file for the run")
    parser.add_argument("-k", metavar="TEXT", default="", help="only these kernels, as in pytest")
    options = parser.parse_args(arguments)
    status = 0
    try:
        if options.file:
            run = loaded(options.file)
        else:
            status, run = measured(importable(), [*words_of(options), "-k", options.k])
    except UserError as error:
        print(f"python -m bench report: {error}", file=sys.stderr)
        return 2
    if run is None:
        return status or 1
    options.out.write_text(page(run), encoding="utf-8")
    if options.json:
        options.json.write_text(compact(run) + "\n", encoding="utf-8")
    print(f"wrote {options.out}")
    return status
