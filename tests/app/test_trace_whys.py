"""Why each step of a stepper is as it is: the sentences, and what is stepped over without one."""

import math
import re
from functools import cache

import pytest

from refimpl.lab.apps.stepper.course import EDGES, ETA, SEED, M, N
from refimpl.lab.apps.stepper.functions import functions_of
from refimpl.lab.apps.stepper.page import page_data
from refimpl.lab.apps.stepper.places import shown
from refimpl.lab.apps.stepper.recipes import recipes
from refimpl.lab.apps.stepper.recorder import record
from refimpl.lab.apps.stepper.whys import counted, listed
from refimpl.streams import key, uniform

pytestmark = pytest.mark.runs

RECIPES = recipes()
LONGEST = 125  # letters of a sentence: two lines on a phone
ROUGH = re.compile(
    r"\bNone\b|nan|\barray\(|np\.|  |^\W|[:,;]$|\b1 (pins|entries|nodes|columns|rows|edges)\b"
)
OF_ITSELF = {  # lines of the papers that decide and compute nothing
    "draw = partial(self.gnn.sample_many, graph, sampler, as_seed(rng))",
}
NEIGHBOURS = [sorted({*e} - {v} for e in EDGES if v in e) for v in range(6)]
NEIGHBOURS = [[other for (other,) in near] for near in NEIGHBOURS]
MAIN, PROBE = (key(SEED, 0, 0, s) for s in range(2))


@cache
def recorded(name, seed=None):
    """Return the Recording of a recipe, made once."""
    return RECIPES[name].record(seed)


def text_of(recording, step):
    """Return the first line of the statement of a step."""
    lines = recording.functions[step.function].lines
    return next(line.text.strip() for line in lines if line.number == step.line)


def whys(name, begin, function=None):
    """Return the sentences of the lines that begin so, in their order."""
    recording = recorded(name)
    return [
        step.why
        for step in recording.steps
        if step.why
        and text_of(recording, step).startswith(begin)
        and function in (None, recording.functions[step.function].name)
    ]


# What is told, and what is stepped over


@pytest.mark.parametrize("name", RECIPES)
def test_every_line_of_the_papers_says_why(name):
    recording, silent = recorded(name), set()
    run = {(step.function, step.line) for step in recording.steps}
    said = {(step.function, step.line) for step in recording.steps if step.why}
    for number, line in sorted(run - said):
        function = recording.functions[number]
        _, last = function.statements[line]
        rows = [row for row in function.lines if line <= row.number <= last]
        marked = [id for row in rows for id, _ in row.marks if id in RECIPES[name].algorithms]
        if marked and not rows[0].text.strip().startswith("def "):
            silent.add(rows[0].text.strip())
    assert silent <= OF_ITSELF


@pytest.mark.parametrize("name", RECIPES)
def test_a_sentence_is_short_and_has_no_rough_ends(name):
    for step in recorded(name).steps:
        assert len(step.why) <= LONGEST, step.why
        assert not ROUGH.search(step.why), step.why


@pytest.mark.parametrize("name", RECIPES)
def test_no_step_that_is_shown_tells_nothing(name):
    """Of all steps a good part tells nothing; of those that are shown by default none."""
    recipe, recording = RECIPES[name], recorded(name)
    steps = page_data(recipe, recording)["steps"]
    numbers = shown(recipe, recording)
    assert [k for k in numbers if not (steps[k]["why"] or steps[k]["said"])] == []
    assert 20 < len(numbers) < len(steps)
    told = [k for k, step in enumerate(steps) if step["telling"]]
    assert [k for k in told if k >= numbers[0]] == numbers
    hidden = set(range(numbers[0], len(steps))) - set(numbers)
    assert not any(steps[k]["why"] or steps[k]["said"] for k in hidden)


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("frontier", "FS = main.pick"),
        ("pin_tile", "d = graph.weight_sum"),
        ("dashboard", "d = graph.weight_sum"),
        ("transpose", "indptr, indices ="),
        ("partition", "Q = max(1, min("),
        ("pool", "self.waiting: deque"),
        ("cache", "mfg = checked_mfg"),
        ("pruning", "mfg = checked_mfg"),
        ("iteration", "roots = gnn.samplers.epoch_batches"),
    ],
)
def test_a_page_begins_at_the_papers_first_line_that_runs_or_where_the_recipe_says(name, begin):
    recording = recorded(name)
    first = shown(RECIPES[name], recording)[0]
    assert text_of(recording, recording.steps[first]).startswith(begin)
    begin = page_data(RECIPES[name], recording)["begin"]
    assert begin <= first and not any(map(recording.tells, range(begin, first)))


# The numbers of the frontier's sentences, worked out on a plain list


def draw(k, c, n):
    """Return draw c of a stream as it is shown, and as a number below n."""
    return f"{uniform(k, c):.4f}", math.floor(uniform(k, c) * n)


def roots():
    """Return the roots: each draw takes one of the nodes that are left."""
    left, taken = list(range(6)), []
    for c in range(M):
        place = c + math.floor(uniform(MAIN, c) * (6 - c))
        left[c], left[place] = left[place], left[c]
        taken.append(left[c])
    return taken


def test_each_choice_of_the_frontier_is_as_it_says():
    FS, seen = roots(), set(roots())
    expected = {begin: [] for begin in ("cumulative", "slot", "u_new", "FS[slot]", "Vs.add", "u =")}
    for i in range(N - M):
        degrees = [len(NEIGHBOURS[v]) for v in FS]
        sums = [sum(degrees[: k + 1]) for k in range(M)]
        expected["cumulative"].append(f"degrees {listed(degrees)}: running sums {listed(sums)}")
        u, number = draw(PROBE, i, sums[-1])
        slot = next(k for k in range(M) if number < sums[k])
        expected["slot"].append(f"{u} × {sums[-1]} → {number}, below {sums[slot]}: slot {slot}")
        v = FS[slot]
        expected["u ="].append(f"slot {slot} has node {v}, of degree {degrees[slot]}")
        u, number = draw(MAIN, M + i, degrees[slot])
        new = NEIGHBOURS[v][number]
        expected["u_new"].append(
            f"{u} × {degrees[slot]} → {number}: neighbour number {number} of node {v}, which has "
            f"{listed(NEIGHBOURS[v])}, is node {new}"
        )
        FS[slot] = new
        seen.add(new)
        expected["FS[slot]"].append(f"node {new} takes slot {slot}: the frontier is {listed(FS)}")
        expected["Vs.add"].append(f"include is “pushed”: {len(seen)} different nodes so far")
    for begin, sentences in expected.items():
        assert whys("frontier", begin) == sentences, begin
    assert whys("frontier", "FS = main") == [
        f"m = 2 of 6 nodes, none twice: roots {listed(roots())}"
    ]
    steps = [f"step {i} of n − m = 4, from 0 on" for i in range(4)]
    assert whys("frontier", "for _ in") == [*steps, "all n − m = 4 steps are made"]


# The numbers of the pin-and-tile Dashboard's, worked out on a list of columns


class Columns:
    """A Dashboard as a list of [tile, first entry, length, live], and the sentences it expects."""

    def __init__(self, capacity, nodes):
        self.capacity, self.columns, self.node_of, self.said = capacity, [], {}, {}
        for tile, v in enumerate(nodes):
            self.append(tile, v)

    def say(self, line, sentence):
        self.said.setdefault(line, []).append(sentence)

    def used(self):
        return sum(length for _, _, length, _ in self.columns)

    def append(self, tile, v):
        self.columns.append([tile, self.used(), len(NEIGHBOURS[v]), True])
        self.node_of[tile] = v

    def owner(self, entry):
        for i, (_, first, length, live) in enumerate(self.columns):
            if live and first <= entry < first + length:
                return i
        return None

    def pop(self, c):
        """Probe from draw c on; return the tile popped and the number of the next draw."""
        while True:
            shown, entry = draw(PROBE, c, self.capacity)
            self.say("idx =", f"draw {c} of probe is {shown}: × {self.capacity} → entry {entry}")
            c, i = c + 1, self.owner(entry)
            if i is not None:
                break
            self.say("if self.DB", f"entry {entry} is nobody's: again")
        tile, first, length, _ = self.columns[i]
        self.say("if self.DB", f"entry {entry} is a pin of tile {tile}: hit")
        self.say("pin = int", f"entry {entry} leads to tile {tile}")
        self.say(
            "v_pop, start", f"tile {tile} says node {self.node_of[tile]}, {span(first, length)}"
        )
        self.say("self.DB[start:end] = N", f"{counted(length, 'pin')} of tile {tile} cleared")
        self.columns[i][3] = False
        return tile, c

    def clean_up(self):
        live, self.columns = [c for c in self.columns if c[3]], []
        for tile, _, length, _ in live:
            first = self.used()
            self.say(
                "DB_new[k", f"pins of tile {tile} go to {span(first, length)}, as many as it had"
            )
            self.columns.append([tile, first, length, True])
        self.say(
            "self.IA_start[j], self.IA_live[j:]",
            f"{counted(len(live), 'column')} of {self.used()} entries; no other is live",
        )


def span(first, length):
    return f"entry {first}" if length == 1 else f"entries {first} to {first + length - 1}"


def test_each_step_of_the_dashboard_is_as_it_says():
    board, c = Columns(math.ceil(ETA * M * sum(map(len, NEIGHBOURS)) / 6), roots()), 0
    assert board.capacity == 8
    for i in range(N - M):
        tile, c = board.pop(c)
        v = board.node_of[tile]
        board.say("v_pop, pin", f"node {v} leaves; its tile {tile} has no pins now")
        _, number = draw(MAIN, M + i, len(NEIGHBOURS[v]))
        new = NEIGHBOURS[v][number]
        need, free = len(NEIGHBOURS[new]), board.capacity - board.used()
        if need > free:
            board.say("if weight", f"weight {need} > free {free}: clean up")
            board.clean_up()
        else:
            board.say("if weight", f"weight {need} ≤ free {free}: it fits")
        first = board.used()
        board.append(tile, new)
        column = len(board.columns) - 1
        board.say(
            "end = start", f"weight {need}, free {board.capacity - first}: {span(first, need)}"
        )
        board.say(
            "self.node[pin]", f"tile {tile} is node {new}'s: {span(first, need)}, column {column}"
        )
        board.say("self.DB[start:end] = p", f"{counted(need, 'pin')} to tile {tile}")
    for begin, sentences in board.said.items():
        assert whys("pin_tile", begin) == sentences, begin
    assert whys("pin_tile", "capacity = planned") == ["η m d = 2 × 2 × 2 → 8 entries"]


def test_both_dashboards_say_the_same_of_their_room():
    for begin in ("if weight", "v_new =", "capacity = max", "d = graph"):
        assert whys("pin_tile", begin) == whys("dashboard", begin) != []


# How a sentence comes about

HERE = __name__


def outer(limit):
    last = 0
    for x in (1, 2):
        last = inner(x)
    if last > limit:
        last = 0
    return last


def inner(x):
    y = 2 * x
    y += 0
    return y


def twins(x):
    x = x + 1
    x = x + 1
    x -= 2
    return x


def broken(x):
    y = x / 0
    y += 1
    return y


def said(call, names, why, **options):
    recording = record(call, [f"{HERE}:{name}" for name in names], lambda stack: {}, why, **options)
    return [(step.event, step.why) for step in recording.steps if step.why]


def test_a_sentence_is_made_when_the_line_has_run():
    """Of a line that calls, when the call is back; of a loop or an if, what comes next is known."""
    why = {
        "outer": {
            "def outer": lambda limit: f"up to {limit}",
            "for x": lambda x, taken: f"x is {x}" if taken else f"{x} was the last",
            "last = inner": lambda last: f"got {last}",
            "if last": lambda taken: "too much" if taken else "fine",
        },
        "inner": {"y =": lambda y, limit, no_such: f"y is {y}, {limit} and {no_such}"},
    }
    assert said(lambda: outer(3), ["outer", "inner"], why) == [
        ("call", "up to 3"),
        ("line", "x is 1"),
        ("line", "y is 2, 3 and None"),
        ("return", "got 2"),
        ("line", "x is 2"),
        ("line", "y is 4, 3 and None"),
        ("return", "got 4"),
        ("line", "2 was the last"),
        ("line", "too much"),
    ]
    assert said(
        lambda: outer(9), ["outer"], why={"outer": {"if last": why["outer"]["if last"]}}
    ) == [("line", "fine")]


def test_an_empty_sentence_and_a_line_that_fails_say_nothing():
    assert said(lambda: inner(1), ["inner"], {"inner": {"y =": lambda: ""}}) == []
    sentences = []
    why = {"broken": {"y =": lambda: sentences.append("said") or "said"}}
    with pytest.raises(ZeroDivisionError):
        said(lambda: broken(1), ["broken"], why)
    assert sentences == []


@pytest.mark.parametrize(
    ("why", "message"),
    [
        ({"nobody": {}}, "why is of nobody, which is not followed"),
        ({"inner": {"z =": str}}, "0 lines of inner begin with 'z =', not one"),
        ({"twins": {"x =": str}}, "2 lines of twins begin with 'x =', not one"),
        ({"inner": {"y = # 7": str}}, "0 lines of inner begin with 'y = # 7', not one"),
    ],
)
def test_a_line_that_is_not_there_is_told(why, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        said(lambda: None, ["inner", "twins"], why)


def test_lines_that_begin_alike_are_told_apart_by_the_papers():
    place = "refimpl.samplers.pin_tile:Dashboard.__init__"
    (function,) = functions_of({place: "jpdc21:4"})
    assert sum(line.text.strip() == "for i in range(m):" for line in function.lines) == 2
    assert len(whys("pin_tile", "for i in range(m)", "Dashboard.__init__")) == 2 * (M + 1)


def test_only_the_calls_of_one_function_are_followed():
    def both():
        return inner(1), outer(0)

    names = ["outer", "inner"]
    why = {"inner": {"y =": lambda y: f"y is {y}"}}
    calls = said(both, names, why)
    assert [sentence for _, sentence in calls] == ["y is 2", "y is 2", "y is 4"]
    calls = said(both, names, why, callers={"inner": "outer"})
    assert [sentence for _, sentence in calls] == ["y is 2", "y is 4"]
    assert said(both, names, why, callers={"inner": "outer", "outer": "inner"}) == []


def test_words():
    assert [listed([]), listed([1]), listed([1, 2]), listed("abc")] == [
        "",
        "1",
        "1 and 2",
        "a, b and c",
    ]
    assert listed(range(9), most=4) == "0, 1, 2 and 6 more"
    assert [counted(1, "pin"), counted(2, "pin"), counted(0, "entry", "entries")] == [
        "1 pin",
        "2 pins",
        "0 entries",
    ]
