"""The result of a run as Markdown."""

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
    """Return the report of `measure`'s result."""
    lines = [*header(result), ""]
    if result["steps"]:
        lines += ["A training step of 2 layers and a classifier, float32:", ""]
        lines += [*table(STEP_TITLES, map(step_row, result["steps"])), ""]
        lines += [
            "The dense products alone are the faster of SciPy's BLAS on its own threads and the "
            "layers' own calls; `~` marks medians whose middle half spreads over more than a "
            "quarter of them.",
            "",
        ]
    if result["products"]:
        first = result["products"][0]
        lines += [f"Sparse x dense alone, n = {first['s']:,}, {first['width']} columns, float32:"]
        lines += ["", *table(PRODUCT_TITLES, map(product_row, result["products"])), ""]
        lines += [
            "The traffic limit is reading the matrix and X once and writing the result once, at "
            "the triad bandwidth of the same run "
            f"({', '.join(bandwidths(result['products']))}). SciPy uses one thread. All of "
            "torch's ways, ms:",
            "",
            *ways(result["products"]),
            "",
        ]
    if result["memory"]:
        threads = result["memory"][0]["threads"]
        lines += [
            f"Largest growth of resident memory over two steps, {threads} threads:",
            "",
        ]
        faster = {step_key(one): faster_peer(one["times"]) for one in result["steps"]}
        rows = (memory_row(one, faster[step_key(one)]) for one in result["memory"])
        lines += [*table(MEMORY_TITLES, rows), ""]
    return "\n".join(lines)


def header(result):
    """Return what was measured on, as a list of lines."""
    machine, ours, theirs = result["machine"], *result["versions"].values()
    build, others = ours["build"], machine["share_of_others"]
    noisy = " **The machine was busy.**" if machine["noisy"] else ""
    return [
        f"- Machine: {machine['processor']}, {machine['cores']} cores, {machine['system']}",
        f"- Date: {machine['date']}; commit {machine['commit']}; "
        f"medians of {machine['rounds']} rounds, in turns",
        f"- Ours: Python {ours['Python']}, NumPy {ours['NumPy']}, SciPy {ours['SciPy']}; "
        f"{build['compiler']}, {build['simd']}, OpenMP {build['openmp'] or 'off'}; "
        f"BLAS {', '.join(ours['BLAS'])}",
        f"- Peers: Python {theirs['Python']}, torch {theirs['torch']}, torch_geometric "
        f"{theirs['torch_geometric']}; BLAS {theirs['BLAS']}, {theirs['capability']}",
        f"- Load before the run: {machine['load_per_core']:.2f} a core; share of the cores that "
        f"others used during it: {'unknown' if others is None else f'{others:.0%}'}{noisy}",
    ]


def table(titles, rows):
    """Return the lines of a table."""
    return [line(titles), line(["---"] * len(titles)), *map(line, rows)]


def line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def step_row(one):
    """Return the cells of a step."""
    times = one["times"]
    ours, peer = times["ours"]["median"], times[faster_peer(times)]["median"]
    alone = min(("dense, SciPy", "dense, fastimpl"), key=lambda name: times[name]["median"])
    dense = times[alone]["median"]
    flops = 2e-9 * one["dense_macs"]
    return [
        *(one[name] for name in ("model", "degree", "hidden", "threads")),
        *(milliseconds(times[who]) for who in ("ours", "PyG", "torch")),
        f"{peer / ours:.2f}",
        milliseconds(times[alone]),
        f"{ours / dense:.2f}",
        f"{peer / dense:.2f}",
        f"{flops / dense:.1f}",
        f"{flops / times['dense, torch']['median']:.1f}",
    ]


def faster_peer(times):
    return min(("PyG", "torch"), key=lambda who: times[who]["median"])


def torch_ways(times):
    """Return the names of torch's ways."""
    return [name for name in times if name not in ("fastimpl", "SciPy")]


def product_row(one):
    """Return the cells of a sparse x dense product."""
    times = one["times"]
    best = min(torch_ways(times), key=lambda way: times[way]["median"])
    ours, other = times["fastimpl"]["median"], times[best]["median"]
    traffic = 8 * one["s"] * one["width"] + 8 * one["e"] + 8 * one["s"]
    limit = traffic / one["triad"]
    return [
        one["degree"],
        one["threads"],
        *(milliseconds(times[name]) for name in ("fastimpl", "SciPy", best)),
        best,
        f"{min(other, times['SciPy']['median']) / ours:.2f}",
        f"{1e3 * limit:.2f}",
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
    titles = [f"degree {one['degree']}, {one['threads']} threads" for one in products]
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


def milliseconds(times):
    """Return a median, marked where half of the rounds lie further apart than a quarter of it."""
    mark = "~" if times["iqr"] > times["median"] / 4 else ""
    return f"{mark}{1e3 * times['median']:.3g}"
