"""The result of a run as Markdown."""

from bench.markdown import milliseconds, significant, table, threads_title

STEP_TITLES = (
    "model",
    "mean degree",
    "hidden",
    "threads",
    "ours, ms",
    "PyG, ms",
    "hand-written torch, ms",
    "faster peer / ours",
    "dense products alone, ms",
    "ours / dense",
    "faster peer / dense",
    "GF/s: OpenBLAS",
    "GF/s: torch's BLAS",
)
PRODUCT_TITLES = (
    "mean degree",
    "threads",
    "fastimpl, ms",
    "SciPy, ms",
    "best of torch, ms",
    "by",
    "best of both / ours",
    "traffic limit, ms",
    "ours / limit",
)
MEMORY_TITLES = (
    "model",
    "mean degree",
    "hidden",
    "ours, MiB",
    "PyG, MiB",
    "hand-written torch, MiB",
    "faster peer's / ours",
)


def render(result):
    """Yield the tables of `measure`'s result."""
    if result["steps"]:
        yield (
            "A training step of 2 layers and a classifier, float32, medians of "
            f"{result['rounds']} rounds in turns:"
        )
        yield from ["", *table(STEP_TITLES, map(step_row, result["steps"])), ""]
        yield (
            "The dense products alone are the faster of SciPy's BLAS on its own threads and the "
            "layers' own calls; `~` marks medians whose middle half spreads over more than a "
            "quarter of them."
        )
        yield ""
    if result["products"]:
        yield from products(result["products"])
    if result["memory"]:
        yield (
            "Largest growth of resident memory over two steps, "
            f"{threads_title(result['memory'][0]['threads'])}:"
        )
        faster = {step_key(one): faster_peer(one["times"]) for one in result["steps"]}
        rows = (memory_row(one, faster[step_key(one)]) for one in result["memory"])
        yield from ["", *table(MEMORY_TITLES, rows)]


def products(found):
    """Yield the tables of the sparse x dense products."""
    first = found[0]
    yield f"Sparse x dense alone, n = {first['s']:,}, {first['width']} columns, float32:"
    yield from ["", *table(PRODUCT_TITLES, map(product_row, found), left=0), ""]
    yield (
        "The traffic limit is reading the matrix and X once and writing the result once, at the "
        f"triad bandwidth of the same run ({', '.join(bandwidths(found))}). SciPy uses one "
        "thread. All of torch's ways, ms:"
    )
    yield from ["", *ways(found), ""]


def step_row(one):
    """Return the cells of a step."""
    times = one["times"]
    ours, peer = times["ours"].median, times[faster_peer(times)].median
    alone = min(("dense, SciPy", "dense, fastimpl"), key=lambda name: times[name].median)
    dense = times[alone].median
    flops = 2e-9 * one["dense_macs"]
    return [
        *(one[name] for name in ("model", "degree", "hidden", "threads")),
        *(milliseconds(times[who]) for who in ("ours", "PyG", "torch")),
        f"{peer / ours:.2f}",
        milliseconds(times[alone]),
        f"{ours / dense:.2f}",
        f"{peer / dense:.2f}",
        f"{flops / dense:.1f}",
        f"{flops / times['dense, torch'].median:.1f}",
    ]


def faster_peer(times):
    return min(("PyG", "torch"), key=lambda who: times[who].median)


def torch_ways(times):
    """Return the names of torch's ways."""
    return [name for name in times if name not in ("fastimpl", "SciPy")]


def product_row(one):
    """Return the cells of a sparse x dense product."""
    times = one["times"]
    best = min(torch_ways(times), key=lambda way: times[way].median)
    ours, other = times["fastimpl"].median, times[best].median
    traffic = 8 * one["s"] * one["width"] + 8 * one["e"] + 8 * one["s"]
    limit = traffic / one["triad"]
    return [
        one["degree"],
        one["threads"],
        *(milliseconds(times[name]) for name in ("fastimpl", "SciPy", best)),
        best,
        f"{min(other, times['SciPy'].median) / ours:.2f}",
        significant(1e3 * limit),
        f"{ours / limit:.2f}",
    ]


def bandwidths(products):
    """Return the triad bandwidth of every number of threads, in words."""
    best: dict = {}
    for one in products:
        best[one["threads"]] = max(one["triad"], best.get(one["threads"], 0))
    return [f"{rate / 1e9:.1f} GB/s on {threads}" for threads, rate in best.items()]


def ways(products):
    """Return a table of all of torch's ways."""
    titles = [f"degree {one['degree']}, {threads_title(one['threads'])}" for one in products]
    rows = (
        [way, *(milliseconds(one["times"][way]) for one in products)]
        for way in torch_ways(products[0]["times"])
    )
    return table(["way", *titles], rows)


def step_key(one):
    return one["model"], one["degree"], one["hidden"]


def memory_row(one, peer):
    """Return the cells of a step's memory; `peer` is the faster one."""
    grown = one["bytes"]
    ratio = f"{grown[peer] / grown['ours']:.2f}" if grown["ours"] else "-"
    cells = (f"{grown[who] / 2**20:.1f}" for who in ("ours", "PyG", "torch"))
    return [*step_key(one), *cells, ratio]
