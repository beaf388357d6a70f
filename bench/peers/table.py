"""The result of a run as Markdown: one table for each kind of job, ratios of times from one run."""

from bench.markdown import milliseconds, significant, table, threads_title
from bench.peers.jobs import IN_BFLOAT16, OURS, TOGETHER, WAYS, beside

LEGEND = (
    "`~`: the middle half spreads over more than a quarter of the median; `*`: timed once, being "
    "over 10 times as slow as the fastest; `-`: missing."
)
NOTES = {
    "subgraphs": (
        f"Ours draws {TOGETHER} subgraphs a call, a thread each, or one; the peers one after "
        "another. DGL's `SAINTSampler` and PyG's `GraphSAINTRandomWalkSampler` draw by our law "
        "(PyG's not where nodes have no neighbours: its walks leave them for others); "
        "their sizes are compared. PyG's `GraphSAINTEdgeSampler` makes a table of draws x entries, "
        "4 GB on the smallest of these graphs, and is left out. The rest is other work: "
        "littleballoffur, in Python over NetworKit, has a frontier without a cap on degrees that "
        "keeps only the edges it walked, and draws edges uniformly; its walks end in connected "
        "graphs only.",
    ),
    "neighbours": (
        "NeighborLoader lets a node draw once, in the hop behind the one that met it, as our mode "
        '"shared" does; DGL\'s blocks draw in each hop, as our mode "layered".',
    ),
    "steps": (
        "torch by hand has no autograd, products in our order and kept buffers; PyG and DGL are "
        "their layers and autograd. The dense products alone are the faster of SciPy's BLAS on its "
        "own threads and the layers' own calls. torch, autocast is autograd with the features in "
        "bfloat16 and MKL's sparse products in float32.",
    ),
    "inference": (
        "Ours is `Evaluation`, made beforehand as training does, without a bound on memory; torch "
        "by hand is the whole graph at once, in our order of products and kept buffers. PyG is its "
        "`GraphSAGE`, `GCN` and `GAT`: on the whole graph, and by their `inference` with a "
        "NeighborLoader of all neighbours, 1,024 nodes a batch.",
    ),
}

ROUNDED, AUTOCAST = IN_BFLOAT16


def render(result):
    """Yield the tables of `measure`'s result, each with what is missing from it."""
    yield (
        f"Medians of {result['rounds']} rounds in turns, ms; answers compared first. A ratio is a "
        f"peer's time over ours in this run, on this machine. {LEGEND}"
    )
    tables = {
        "subgraphs": subgraphs,
        "neighbours": neighbours,
        "products": products,
        "steps": steps,
        "inference": inference,
        "memory": memory,
    }
    for kind, lines in tables.items():
        if result[kind]:
            yield ""
            yield from lines(result[kind])
            yield from [line for note in NOTES.get(kind, ()) for line in ("", note)]
            if absent := missing(kind, result):
                yield from ["", f"Missing: {'; '.join(absent)}."]


def peer_lines(result):
    """Return who the peers are, for the header: their versions and backends, or why not."""
    lines = []
    for who in result["peers"]:
        if who in result["missing"]:
            lines.append(f"{who}: missing, {result['missing'][who]}")
        else:
            found = (f"{name} {version}" for name, version in result["versions"][who].items())
            lines.append(f"{who}: {', '.join(found)}")
    return lines


def missing(kind, result):
    """Return which ways of a kind of job were not measured, and why, in words."""
    who_else = dict.fromkeys(who for who, _ in WAYS[kind].values())
    words = [f"{who} ({result['missing'][who]})" for who in who_else if who in result["missing"]]
    where: dict = {}
    for one in result[kind]:
        for name, reason in one["lacking"].items():
            where.setdefault((name, reason), []).append(one["name"])
    for (name, reason), names in where.items():
        everywhere = len(names) == len(result[kind])
        words.append(
            f"{name}{'' if everywhere else f' for {len(names)} of {len(result[kind])}'} ({reason})"
        )
    return words


def present(kind, found):
    """Return the names of the ways that were timed, in their order."""
    return [name for name in WAYS[kind] if any(name in one["times"] for one in found)]


def cell(one, name):
    """Return a median in milliseconds, marked."""
    if name not in one["times"]:
        return "-"
    return milliseconds(one["times"][name]) + ("*" if name in one["once"] else "")


def ratio(one, name, ours=OURS):
    """Return a peer's time over ours."""
    if name not in one["times"]:
        return "-"
    return f"{one['times'][name].median / one['times'][ours].median:.2f}"


def fastest(one, kind):
    """Return the name of the fastest way that is not ours, or None."""
    others = (name for name in WAYS[kind] if name in one["times"])
    peers = [name for name in others if name not in (OURS, *IN_BFLOAT16)]
    return min(peers, key=lambda name: one["times"][name].median, default=None)


def best(one, kind):
    """Return the cells of the fastest peer: its name, its time over ours."""
    name = fastest(one, kind)
    return ["-", "-"] if name is None else [name, ratio(one, name)]


def subgraphs(found):
    """Yield the table of subgraphs: a row for each contestant, columns for the threads."""
    yield "Subgraphs: nodes, the entries among them and where each entry's opposite stands (ours):"
    first, more = by_threads(found)
    titles = ["graph", "sampler", "contestant", "nodes", "entries"]
    rows = []
    for key, one in first.items():
        for name in one["times"]:
            sizes = [f"{size:,.0f}" for size in one["sizes"][name]]
            times = [c for other in more[key] for c in (cell(other, name), ratio(other, name))]
            rows.append([one["graph"], one["sampler"], name, *sizes, *times])
    yield from ["", *table([*titles, *thread_titles(found)], rows, left=3)]


def neighbours(found):
    """Yield the table of batches of neighbours."""
    one = found[0]
    yield (
        f"Neighbours: Kronecker, 2^{one['scale']} nodes, {one['e']:,} entries; "
        f"{one['batch']:,} roots, fan-outs {list(one['fanouts'])}; times of a batch:"
    )
    _, more = by_threads(found)
    rows = []
    for name in one["times"]:
        cells = []
        for other in more[one["name"]]:
            cpu = significant(1e3 * other["cpu"][name])
            cells += [cell(other, name), cpu, ratio(other, name, beside(name))]
        rows.append([name, beside(name), f"{one['edges'][name]:,}", *cells])
    titles = ["contestant", "beside", "distinct edges", *thread_titles(found, ["CPU ms"])]
    yield from ["", *table(titles, rows, left=2)]


def by_threads(found):
    """Return {name: first result} and {name: results of each number of threads}."""
    more: dict = {}
    for one in found:
        more.setdefault(one["name"], []).append(one)
    return {name: of[0] for name, of in more.items()}, more


def thread_titles(found, more=()):
    """Return the titles of the columns of each number of threads."""
    counts = dict.fromkeys(one["threads"] for one in found)
    return [title for t in counts for title in (f"ms, {threads_title(t)}", *more, "over ours")]


def products(found):
    """Yield the table of the sparse x dense products."""
    first, names = found[0], present("products", found)
    yield f"Sparse x dense, n = {first['s']:,}, {first['width']} columns, float32:"
    titles = ["mean degree", "threads", *names, "fastest peer", "over ours"]
    rows = [
        [
            *(one["degree"], one["threads"]),
            *(cell(one, name) for name in names),
            *best(one, "products"),
            significant(1e3 * limit(one)),
            f"{one['times'][OURS].median / limit(one):.2f}",
        ]
        for one in found
    ]
    yield from ["", *table([*titles, "traffic limit", "ours over limit"], rows, left=0), ""]
    yield (
        "The traffic limit is reading the matrix and X once and writing the result once, at the "
        f"triad bandwidth of the same run ({', '.join(bandwidths(found))}). SciPy uses one thread."
    )


def limit(one):
    """Return the seconds of the least traffic of a product."""
    return (8 * one["s"] * one["width"] + 8 * one["e"] + 8 * one["s"]) / one["triad"]


def bandwidths(found):
    """Return the triad bandwidth of every number of threads, in words."""
    rates: dict = {}
    for one in found:
        rates[one["threads"]] = max(one["triad"], rates.get(one["threads"], 0))
    return [f"{rate / 1e9:.1f} GB/s on {threads}" for threads, rate in rates.items()]


def steps(found):
    """Yield the table of training steps."""
    names = present("steps", found)
    yield "A training step of 2 layers and a classifier, float32 but where a title says bfloat16:"
    titles = ["model", "n", "features", "mean degree", "hidden", "threads", *names]
    titles += ["fastest peer", "over ours", "autocast over ours, bfloat16"]
    titles += ["dense products alone", "ours over them", "GF/s: SciPy's BLAS", "GF/s: torch's"]
    yield from ["", *table(titles, [step_row(one, names) for one in found])]


def step_row(one, names):
    """Return the cells of a step."""
    times, flops = one["times"], 2e-9 * one["dense_macs"]
    alone = min(("dense, SciPy", "dense, fastimpl"), key=lambda name: times[name].median)
    theirs = times.get("dense, torch")
    return [
        *(one[name] for name in ("model", "s", "f", "degree", "hidden", "threads")),
        *(cell(one, name) for name in names),
        *best(one, "steps"),
        ratio(one, AUTOCAST, ROUNDED) if ROUNDED in times else "-",
        milliseconds(times[alone]),
        f"{times[OURS].median / times[alone].median:.2f}",
        f"{flops / times[alone].median:.1f}",
        f"{flops / theirs.median:.1f}" if theirs else "-",
    ]


def inference(found):
    """Yield the table of exact passes."""
    names, first = present("inference", found), found[0]
    yield (
        "The exact pass of 2 layers over all nodes, n = {s:,}, mean degree {degree}, {f} features, "
        "{hidden} hidden, {classes} logits, float32:".format(**first)
    )
    titles = ["model", "threads", *names, "fastest peer", "over ours"]
    rows = [
        [
            *(one["model"], one["threads"]),
            *(cell(one, name) for name in names),
            *best(one, "inference"),
        ]
        for one in found
    ]
    yield from ["", *table(titles, rows)]


def memory(found):
    """Yield the table of the memory of steps."""
    names = [name for name in WAYS["memory"] if any(name in one["bytes"] for one in found)]
    yield (
        "Largest growth of resident memory over two steps in a process of its own, MiB, "
        f"{threads_title(found[0]['threads'])}:"
    )
    rows = [
        [
            *(one[name] for name in ("model", "degree", "hidden")),
            *(f"{one['bytes'][n] / 2**20:.1f}" if n in one["bytes"] else "-" for n in names),
        ]
        for one in found
    ]
    yield from ["", *table(["model", "mean degree", "hidden", *names], rows)]
