"""The limits of a run, and which of them binds a kernel."""

from collections import defaultdict

from refimpl.lab.apps.bench.markdown import binary, significant, table, threads_title

# limit, what of a Part it limits, where that happens, scale, unit
MEMORY = (
    ("triad", "bytes", "footprint", 1e9, "GB/s"),
    ("random reads", "random", "table", 1e6, "M/s"),
)
GEMM = ("flops", None, 1e9, "GFLOP/s")


class Limits:
    """What a run measured of the machine, as a list of `yardsticks.Limit`."""

    def __init__(self, measured):
        self.rates: dict = defaultdict(dict)  # (limit, threads) -> {footprint: rate}
        self.units, self.shapes = {}, {}
        for one in measured:
            rates = self.rates[one.name, one.threads]
            if one.rate > rates.get(one.footprint, 0):
                rates[one.footprint] = one.rate
                self.shapes[one.name, one.threads] = one.shape
            self.units[one.name] = one.unit

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

    def bound(self, work, threads, seconds):
        """Return (achieved rate, limit, unit, name) of the limit that takes longest, or None.

        `work` is a list of Parts, done in `seconds`.
        """
        dtype = next((part.dtype for part in work if part.flops), "float32")
        found = None
        for name, amount, size, scale, unit in (*MEMORY, (f"GEMM {dtype}", *GEMM)):
            parts = [
                (getattr(part, amount) / scale, getattr(part, size) if size else 0)
                for part in work
                if getattr(part, amount)
            ]
            rates = [self.rate(name, threads, where) for _, where in parts]
            if not parts or None in rates:
                continue
            total = sum(todo for todo, _ in parts)
            least = sum(todo / rate for (todo, _), rate in zip(parts, rates, strict=True))
            if found is None or least > found[0]:
                found = least, total / seconds, total / least, unit, name
        return found and found[1:]

    def tables(self, threads):
        """Return the lines of the tables of limits."""
        if not self.rates:
            return ["No limits were measured in this run."]
        rows = []
        for name, unit in self.units.items():
            for size in sorted({s for t in threads for s in self.rates[name, t]}):
                rates = [self.rates[name, t].get(size) for t in threads]
                where = binary(size) if size else self.shapes[name, threads[0]]
                cells = ["-" if r is None else f"{significant(r)} {unit}" for r in rates]
                rows.append([name, where, *cells])
        titles = ["limit", "size", *map(threads_title, threads)]
        title = "Limits of this machine, best round of the same run:"
        return [title, "", *table(titles, rows, left=2)]
