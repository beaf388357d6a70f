"""From the JSON file of a run to one Markdown table, under what it was measured on."""

import json
from collections import defaultdict

# limit, what of a Part it limits, where that happens, scale, unit
MEMORY = (
    ("triad", "bytes", "footprint", 1e9, "GB/s"),
    ("random reads", "random", "table", 1e6, "M/s"),
)
GEMM = ("flops", None, 1e9, "GFLOP/s")


NOTE = (
    "Medians; ~ where the middle half of the rounds spreads over more than a quarter of it. "
    "Below 1 ms, the checks and the start of threads count. Rates and limits are those of one "
    "thread; pairs are 1 / 2 threads. ! above 1: the limit was disturbed; repeat the run."
)


RECORDED = ("build", "threads", "pools", "cores", "numpy", "scipy")
RECORDED += ("load_per_core", "share_of_others", "noisy")
LIMIT_KEYS = ("limit", "unit", "amount", "footprint", "threads")
KERNEL_KEYS = ("kernel", "input", "package", "threads", "work")


class ReportError(Exception):
    """A file that is no saved run."""


def load(path):
    """Return the content of a file that ``python -m bench run`` wrote.

    Raises
    ------
    ReportError
        If there is no such file, or it is something else.
    """
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReportError(f"cannot read {path}: {error.strerror} (python -m bench run)") from error
    except ValueError as error:
        raise ReportError(f"{path} is not JSON: {error}") from error
    try:
        _ = run["datetime"], [run["machine_info"][key] for key in RECORDED]
        for one in run["benchmarks"]:
            _ = one["stats"]["median"], one["stats"]["min"], one["stats"]["iqr"]
            info = one["extra_info"]
            _ = [info[key] for key in (LIMIT_KEYS if "limit" in info else KERNEL_KEYS)]
    except (KeyError, TypeError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else "another structure"
        raise ReportError(f"{path} was not written by python -m bench run: {what}") from error
    return run


def render(run):
    """Return the report as Markdown."""
    limits = Limits(run["benchmarks"])
    rows = defaultdict(dict)
    for one in run["benchmarks"]:
        info = one["extra_info"]
        if "kernel" in info:
            who = (info["package"], info["threads"])
            rows[info["kernel"], info["input"]][who] = one
    threads = run["machine_info"]["threads"]
    lines = [*header(run), "", *table(rows, limits, threads), "", NOTE, ""]
    lines += limits.tables(threads)
    return "\n".join(lines) + "\n"


def header(run):
    """Return what was measured on, as a list of lines."""
    info = run["machine_info"]
    build, commit = info["build"], run.get("commit_info", {})
    cpu = info.get("cpu", {}).get("brand_raw", info.get("processor", "unknown processor"))
    load = "unknown" if info["load_per_core"] is None else f"{info['load_per_core']:.2f} a core"
    others = "unknown" if info["share_of_others"] is None else f"{info['share_of_others']:.0%}"
    openmp = f"OpenMP {build['openmp']}" if build["openmp"] else "no OpenMP"
    dirty = " with uncommitted changes" if commit.get("dirty") else ""
    lines = [
        f"- Machine: {cpu}, {info['cores']} cores, {info['system']} {info['machine']}",
        f"- Date: {run['datetime'][:16].replace('T', ' ')}; "
        f"commit {str(commit.get('id', 'unknown'))[:11]}{dirty}",
        f"- Versions: Python {info['python_version']}, NumPy {info['numpy']}, "
        f"SciPy {info['scipy']}",
        f"- Build: {build['compiler']}, {build['simd']}, {openmp}; BLAS: {blas(info['pools'])}",
        f"- Threads: {', '.join(map(str, info['threads']))}, for OpenMP and BLAS alike; "
        "refimpl runs on 1",
        f"- Load before the run: {load}; share of the cores that others used during it: {others}",
    ]
    if info["noisy"]:
        lines.append("- **Noisy: other programs were running. Do not quote these times.**")
    return lines


def blas(pools):
    """Return the BLAS libraries in use."""
    names = {
        f"{pool['internal_api']} {pool.get('version')} {pool.get('architecture', '')}".strip()
        for pool in pools
        if pool.get("user_api") == "blas"
    }
    return ", ".join(sorted(names)) or "unknown"


def table(rows, limits, threads):
    """Return the lines of the table, a kernel and an input each."""
    titles = ["kernel", "input", "refimpl ms"]
    titles += [f"fastimpl ms, {t} thread{'s' if t > 1 else ''}" for t in threads]
    titles += ["speed-up", "achieved", "limit", "fraction of limit"]
    lines = line_of(titles), line_of(["---"] * 2 + ["---:"] * (len(titles) - 2))
    return [*lines, *(line_of(row(*key, runs, limits, threads)) for key, runs in rows.items())]


def line_of(cells):
    return "| " + " | ".join(cells) + " |"


def row(kernel, text, runs, limits, threads):
    """Return the cells of one row; the rate and the limit are those of one thread."""
    reference = runs.get(("refimpl", 1))
    fast = [runs.get(("fastimpl", t)) for t in threads]
    cells = [kernel, text, milliseconds(reference), *map(milliseconds, fast)]
    ratios = [
        speed_up(reference["stats"]["median"] / one["stats"]["median"]) if reference else "-"
        for one in fast
        if one
    ]
    cells.append(" / ".join(ratios) if reference and ratios else "-")
    bounds = [limits.bound(one) for one in fast if one]
    if not bounds or bounds[0] is None:
        return [*cells, "-", "-", "-"]
    achieved, limit, unit, name = bounds[0]
    fractions = " / ".join(fraction(b[0] / b[1]) for b in bounds if b)
    return [
        *cells,
        f"{significant(achieved)} {unit}",
        f"{significant(limit)} {unit} {name}",
        fractions,
    ]


def milliseconds(one):
    """Return a median, marked where half of the rounds lie further apart than a quarter of it."""
    if one is None:
        return "-"
    stats = one["stats"]
    mark = "~" if stats["iqr"] > stats["median"] / 4 else ""
    return mark + significant(1e3 * stats["median"])


def fraction(x):
    """Return a fraction of a limit; the marked ones cannot be, and the report says why."""
    return "<0.01" if x < 0.005 else f"{x:.2f}" + ("!" if x > 1.005 else "")


def speed_up(ratio):
    return f"{significant(ratio, 2)}x"


def significant(x, digits=3):
    """Return x with about that many digits and without an exponent."""
    whole = len(str(int(abs(x))))
    if abs(x) >= 1:
        return f"{x:,.{max(0, digits - whole)}f}"
    return f"{float(f'{x:.{digits}g}'):.10f}".rstrip("0").rstrip(".") or "0"


class Limits:
    """The limits that a run measured: the best round of each, as the machine can do no more."""

    def __init__(self, benchmarks):
        self.rates = defaultdict(dict)  # (limit, threads) -> {footprint: rate}
        self.units, self.shapes = {}, {}
        for one in benchmarks:
            info = one["extra_info"]
            if "limit" not in info:
                continue
            measured = self.rates[info["limit"], info["threads"]]
            rate = info["amount"] / one["stats"]["min"]
            size = info["footprint"]
            if rate > measured.get(size, 0):
                measured[size] = rate
                shape = "x".join(map(str, info.get("shape", [])))
                self.shapes[info["limit"], info["threads"]] = shape
            self.units[info["limit"]] = info["unit"]

    def rate(self, name, threads, footprint):
        """Return the rate at the largest measured size not above `footprint`, or None.

        More threads can do what fewer did, even if something else ran while they were measured.
        """
        found = []
        for (limit, used), measured in self.rates.items():
            if limit == name and used <= threads:
                size = max((s for s in measured if s <= footprint), default=min(measured))
                found.append(measured[size])
        return max(found, default=None)

    def bound(self, one):
        """Return (achieved rate, limit, unit, name) of the limit that takes longest, or None."""
        info = one["extra_info"]
        found, threads, dtype = None, info["threads"], info["work"][0]["dtype"]
        dtype = next((p["dtype"] for p in info["work"] if p["flops"]), dtype)
        for name, amount, size, scale, unit in (*MEMORY, (f"GEMM {dtype}", *GEMM)):
            parts = [(p[amount] / scale, p.get(size, 0)) for p in info["work"] if p[amount]]
            rates = [self.rate(name, threads, where) for _, where in parts]
            if not parts or None in rates:
                continue
            total = sum(todo for todo, _ in parts)
            least = sum(todo / rate for (todo, _), rate in zip(parts, rates, strict=True))
            if found is None or least > found[0]:
                found = least, total / one["stats"]["median"], total / least, unit, name
        return found and found[1:]

    def tables(self, threads):
        """Return the lines of the tables of limits."""
        if not self.rates:
            return ["No limits were measured in this run."]
        titles = ["limit", "size", *(f"{t} thread{'s' if t > 1 else ''}" for t in threads)]
        lines = ["Limits of this machine, best round of the same run:", ""]
        lines += [line_of(titles), line_of(["---"] * 2 + ["---:"] * len(threads))]
        for name, unit in self.units.items():
            for size in sorted(self.rates[name, threads[0]]):
                rates = [self.rates[name, t].get(size) for t in threads]
                where = binary(size) if size else self.shapes[name, threads[0]]
                cells = ["-" if r is None else f"{significant(r)} {unit}" for r in rates]
                lines.append(line_of([name, where, *cells]))
        return lines


def binary(size):
    """Return a number of bytes that is a power of two."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} GiB"
