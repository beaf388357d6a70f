"""FreshGNN's cache as a whole: embeddings and features in one buffer, from both ends."""

from arrays import FLOATS, all_within, has_shape, is_switch, named
from forms import Array, as_dtype, is_integer
from freshgnn import MOST, valid_slot, write_entry

SIZES = ("n", "d", "h", "layers", "floats", "start_iter")


class BidirectionalCache:
    def __init__(
        self,
        n,
        d,
        h,
        layers,
        floats,
        t_stale,
        dtype,
        header,
        overflow,
        staleness,
        start_iter,
        refill,
    ):
        self.n, self.d, self.h, self.dtype = n, d, h, dtype
        self.t_stale, self.staleness, self.start_iter = t_stale, staleness, start_iter
        self.header, self.overflow, self.refill = header, overflow, refill
        self.slots = floats // h  # embeddings that the buffer has room for
        self.most = min(n, floats // d)  # features that it has room for
        self.buffer = [0.0] * floats
        self.rank = [MOST] * n  # of a node, by hotness; nothing is filled in yet
        slot_of = Array([[-1] * n for _ in range(layers)], "int32", [layers, n])
        back, stamp = [-1] * self.slots, [0] * self.slots
        rows = Rows(self.buffer, h)
        self.entries = named(
            "Entries",
            rows=rows,
            slot_of=slot_of,
            back=back,
            stamp=stamp,
        )
        self.head = 0  # the slot that the header is at; `slots` behind the last
        self.used = 0  # embeddings were ever written to the slots below
        self.top = 0  # the same, since features came back
        self.cycle = -1  # its number
        self.X = None
        self.admitted = self.dropped = self.lost = 0

    # Ages

    def oldest(self, i):
        """The lowest stamp of an entry that iteration i may read."""
        if self.t_stale is None or self.staleness == "header_only":
            return 0
        return i - self.t_stale

    def is_worth(self, s, i):
        """Whether iteration i + 1 may read what slot s holds, or i wrote it."""
        oldest = min(self.oldest(i + 1), i)
        return self.entries.back[s] >= 0 and self.entries.stamp[s] >= oldest

    # Features, from the right end

    def feature_rows(self):
        """How many are held: those that fit beside the slots in use."""
        return min(self.most, (len(self.buffer) - self.used * self.h) // self.d)

    def feature_at(self, v):
        return len(self.buffer) - (self.rank[v] + 1) * self.d

    def fill(self, X, hotness):
        order = sorted(range(self.n), key=lambda v: (-hotness[v], v))
        for r in range(self.n):
            self.rank[order[r]] = r
        self.copy_features(X, 0, self.feature_rows())
        if self.refill:
            self.X = X

    def copy_features(self, X, first, last):
        for v in range(self.n):
            if first <= self.rank[v] < last:
                for c in range(self.d):
                    self.buffer[self.feature_at(v) + c] = as_dtype(self.dtype, X[v][c])

    def fetch_features(self, ids):
        rows, hit = [], []
        for v in ids:
            held = self.rank[v] < self.feature_rows()
            at = self.feature_at(v)
            rows.append(self.buffer[at : at + self.d] if held else [0.0] * self.d)
            hit.append(held)
        return [rows, hit]

    # Embeddings, from the left end

    def lookup(self, layer, ids, i):
        return [valid_slot(self.entries, layer, v, self.oldest(i)) for v in ids]

    def read(self, slots):
        return [self.entries.rows[s] for s in slots]

    def evict(self, layer, ids, i):
        count = 0
        for v in ids:
            s = valid_slot(self.entries, layer, v, 0)  # of any age
            if s >= 0:
                if self.is_worth(s, i):
                    count += 1
                self.entries.back[s] = -1
            self.entries.slot_of[layer - 1][v] = -1
        return count

    def admit(self, layer, ids, values, i, take=None):
        first, last = self.with_room(layer, ids, i)
        for v in ids[first:last]:
            s = valid_slot(self.entries, layer, v, 0)
            if s >= 0:
                self.entries.back[s] = -1  # its old entry: the slot is free
        slots = self.next_slots(last - first, first, i)
        for s in slots:
            if self.is_worth(s, i):
                self.lost += 1
        for j in range(first, last):
            value = values[j if take is None else take[j]]
            write_entry(self.entries, layer, ids[j], slots[j - first], value, i)
        self.admitted += last - first
        self.dropped += len(ids) - (last - first)
        return last - first

    # The header: which slots are next

    def begin_update(self, i):
        if self.t_stale is None:
            return
        cycle = (i - self.start_iter) // max(self.t_stale, 1)
        if cycle == self.cycle:
            return
        self.cycle = cycle
        if self.header == "cycle":
            self.head = 0  # as printed
        if self.refill:
            self.bring_features_back(i)

    def with_room(self, layer, ids, i):
        """Which of `ids` are written: those from first to last."""
        count = len(ids)
        if self.overflow == "wrap":
            return max(count - self.slots, 0), count
        if self.header == "cycle":
            return 0, min(count, self.slots - self.head)
        room = self.slots - self.used
        for s in range(self.used):
            if not self.is_worth(s, i):
                room += 1
        for j in range(count):
            s = valid_slot(self.entries, layer, ids[j], 0)
            if s >= 0 and self.is_worth(s, i):
                room += 1  # a node's own slot becomes free
            if j >= room:
                return 0, j
        return 0, count

    def next_slots(self, count, passed, i):
        """The next slots, all different; the header moves behind the last."""
        if self.header == "cycle":
            slots = [(self.head + passed + k) % self.slots for k in range(count)]
        else:
            once_round = list(range(self.head, self.used))
            once_round += range(min(self.head, self.used))
            free = [s for s in once_round if not self.is_worth(s, i)]
            new = list(range(self.used, self.slots))  # cost features
            others = [s for s in once_round if self.is_worth(s, i)]  # lose entries
            slots = (free + new + others)[:count]
        if count > 0:
            self.head = slots[-1] + 1
            self.top = max(self.top, max(slots) + 1)
            self.used = max(self.used, self.top)
        return slots

    def bring_features_back(self, i):
        """Copy features where the last cycle wrote nothing; begin at slot 0."""
        before = self.feature_rows()
        self.used, self.head, self.top = self.top, 0, 0
        after = self.feature_rows()
        if self.header == "continue":
            first = self.used
        elif after > before:  # as printed, entries stay that no feature overwrites
            first = min(self.slots, (len(self.buffer) - after * self.d) // self.h)
        else:
            first = self.slots
        for s in range(first, self.slots):
            if self.is_worth(s, i):
                self.lost += 1
            self.entries.back[s] = -1
        self.copy_features(self.X, before, after)

    def state(self):
        back = self.entries.back
        stamp = list(self.entries.stamp)
        for s in range(self.slots):
            if back[s] < 0:
                stamp[s] = -1
        return {
            "head": self.head,
            "feature_rows": self.feature_rows(),
            "slot_of": [list(row) for row in self.entries.slot_of],
            "back": list(back),
            "stamp": stamp,
            "admitted": self.admitted,
            "dropped": self.dropped,
            "lost": self.lost,
        }


class Rows:
    """The embeddings of a buffer: row s is its numbers s h to (s + 1) h."""

    def __init__(self, buffer, h):
        self.buffer, self.h = buffer, h

    def __getitem__(self, s):
        return self.buffer[s * self.h : (s + 1) * self.h]

    def __setitem__(self, s, row):
        self.buffer[s * self.h : (s + 1) * self.h] = row


def check_BidirectionalCache(
    n,
    d,
    h,
    layers,
    floats,
    t_stale,
    dtype,
    header,
    overflow,
    staleness,
    start_iter,
    refill,
    calls,
):
    sizes = (n, d, h, layers, floats, start_iter)
    yield (
        "type",
        "`n`, `d`, `h`, `layers`, `floats` or `start_iter` is no integer",
        not all(map(is_integer, sizes)),
    )
    yield (
        "type",
        "`t_stale` is neither null nor an integer",
        not (t_stale is None or is_integer(t_stale)),
    )
    yield "type", "`dtype` is not `float32` or `float64`", dtype not in FLOATS
    yield "type", "`refill` is neither true nor false", not is_switch(refill)
    yield (
        "value",
        "`n` or `start_iter` is not in [0, 2**31)",
        not (0 <= n <= MOST and 0 <= start_iter <= MOST),
    )
    yield "value", "`d` or `h` is not in [1, 2**31)", not (1 <= d <= MOST and 1 <= h <= MOST)
    yield "value", "`layers` is not in [0, 2**10]", not 0 <= layers <= 2**10
    yield "value", "`floats` is not in [0, 2**48]", not 0 <= floats <= 2**48
    yield "value", "2**31 embeddings or more would fit", floats // h > MOST
    yield "value", "`t_stale` is not in [0, 2**31)", not (t_stale is None or 0 <= t_stale <= MOST)
    yield "value", "`header` is not `continue` or `cycle`", header not in ("continue", "cycle")
    yield "value", "`overflow` is not `wrap` or `drop`", overflow not in ("wrap", "drop")
    yield (
        "value",
        "`staleness` is not `stamp` or `header_only`",
        staleness not in ("stamp", "header_only"),
    )
    for method, given in calls:
        yield (
            "value",
            "in a call `layer` is not in 1 .. layers",
            "layer" in given and not 1 <= given["layer"] <= layers,
        )
        yield (
            "value",
            "in a call an id is no node",
            "ids" in given and not all_within(given["ids"], 0, n),
        )
        yield (
            "value",
            "`X` of `fill` is not n rows of d numbers, or `hotness` not n numbers",
            method == "fill"
            and not (has_shape(given["X"], n, d) and has_shape(given["hotness"], n)),
        )
        yield (
            "value",
            "a slot of `read` is none",
            method == "read" and not all_within(given["slots"], 0, floats // h),
        )
        yield (
            "value",
            "`values` of `admit` has not one row of h numbers for each id",
            "values" in given and not has_shape(given["values"], len(given["ids"]), h),
        )
        yield (
            "value",
            "`i` of `begin_update` is below `start_iter`",
            method == "begin_update" and given["i"] < start_iter,
        )
