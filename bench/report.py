"""From the JSON file of a run to one Markdown table, under what it was measured on."""

import json
from collections import defaultdict

UNITS = {"triad": ("bytes", 1e9, "GB/s"), "random reads": ("random", 1e6, "M/s")}
GEMM = ("flops", 1e9, "GFLOP/s")


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
        _ = run["datetime"], run["machine_info"]["build"], run["machine_info"]["threads"]
        for one in run["benchmarks"]:
            _ = one["stats"]["median"], one["stats"]["min"], one["stats"]["iqr"]
            info = one["extra_info"]
            _ = (info["limit"], info["amount"]) if "limit" in info else (info["kernel"],)
    except (KeyError, TypeError) as error:
        raise ReportError(f"{path} was not written by python -m bench run: no {error}") from error
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
    lines = [*header(run), "", *table(rows, limits, threads), "", *limits.tables(threads)]
    return "\n".join(lines) + "\n"


def header(run):
    """Return what was measured on, as a list of lines."""
    info = run["machine_info"]
    build, commit = info["build"], run.get("commit_info", {})
    cpu = info.get("cpu", {}).get("brand_raw", info.get("processor", "unknown processor"))
    load = info["load_per_core"]
    openmp = f"OpenMP {build['openmp']}" if build["openmp"] else "no OpenMP"
    dirty = " with uncommitted changes" if commit.get("dirty") else ""
    lines = [
        f"- Machine: {cpu}, {info['cores']} cores, {info['system']} {info['machine']}",
        f"- Date: {run['datetime'][:16].replace('T', ' ')}; commit "
        f"{str(commit.get('id'))[:10]}{dirty}",
        f"- Versions: Python {info['python_version']}, NumPy {info['numpy']}, "
        f"SciPy {info['scipy']}",
        f"- Build: {build['compiler']}, {build['simd']}, {openmp}; BLAS: {blas(info['pools'])}",
        f"- Threads: {', '.join(map(str, info['threads']))}, for OpenMP and BLAS alike; "
        "refimpl runs on 1",
        f"- Load before the run: {'unknown' if load is None else f'{load:.2f} a core'}",
    ]
    if info["noisy"]:
        lines.append("- **Noisy: the machine was busy and the run was forced. Do not quote.**")
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
    fractions = " / ".join(f"{b[0] / b[1]:.2f}" for b in bounds if b)
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
        """Return the rate at the largest measured size not above `footprint`, or None."""
        measured = self.rates.get((name, threads))
        if not measured:
            return None
        size = max((s for s in measured if s <= footprint), default=min(measured))
        return measured[size]

    def bound(self, one):
        """Return (achieved rate, limit, unit, name) of the limit that takes longest, or None."""
        info = one["extra_info"]
        work, found = info["work"], None
        gemm = f"GEMM {work['dtype']}"
        for name, size in (("triad", "footprint"), ("random reads", "table"), (gemm, "flops")):
            amount, scale, unit = UNITS.get(name, GEMM)
            todo = work[amount] / scale
            limit = self.rate(name, info["threads"], work[size] if name in UNITS else 0)
            if todo and limit and (found is None or todo / limit > found[0]):
                found = todo / limit, todo / one["stats"]["median"], limit, unit, name
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
