"""The playground in Chromium: the samples of `refimpl`, every control, the exact law."""

import random
import re
from collections import Counter

import numpy as np
import oracles
import pytest
from playground_page import GO, SAMPLERS, SHOWN, address, run_lines, said_by_refimpl
from scipy.stats import chi2

import refimpl

pytestmark = pytest.mark.runs

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

EDGES = [(0, 1), (0, 2), (0, 3), (1, 2), (3, 4), (4, 5)]
SETTINGS = 200
WRONG = {  # by run: a setting that is out of range, as it is typed
    "frontier": [("m", "0"), ("m", "77"), ("n", "0"), ("n", "2.5"), ("m", "2.0"), ("deg_cap", "0")],
    "dashboard": [("eta", "1"), ("eta", "0.5"), ("lanes", "0"), ("m", "-3"), ("eta", "1e3")],
    "pin_tile": [("eta", "-2"), ("lanes", "1.5"), ("n", "99999"), ("deg_cap", "-1")],
    "bucket": [("m", "1e1"), ("deg_cap", "2.5"), ("seed", "-1"), ("seed", "18446744073709551616")],
    "neighbours": [("roots", "99"), ("roots", "0,0"), ("fanout1", "-2"), ("sample", "-1")],
    "cache": [("p_grad", "1.5"), ("t_stale", "-1"), ("floats", "-1"), ("batch_size", "0")],
}
OF_THE_PAGE = "on this page"  # what only the page refuses, for size


def random_graph(draw):
    """Return (nodes, edges): of any density, some with loops, hubs and isolated nodes, or none."""
    n = draw.choice([1, 2, 3, 5, 6, 8, 12, 20])
    count = draw.choice([0, n // 2, n, 2 * n])
    edges = [(draw.randrange(n), draw.randrange(n)) for _ in range(count)]
    if draw.random() < 0.3:
        edges += [(0, v) for v in range(1, n - draw.choice([0, 1]))]
    return n, sorted({(min(e), max(e)) for e in edges})


def random_settings(draw, run, n):
    """Return settings in range, as they are typed."""
    seed = draw.choice([str(draw.randrange(2**64)), str(draw.randrange(100))])
    if run == "cache":
        norms = "; ".join(" ".join(str(draw.randrange(4)) for _ in range(n)) for _ in range(3))
        some = draw.sample(range(n), draw.randint(1, n))
        return {
            "train": ",".join(map(str, some)),
            "batch_size": draw.randint(1, 4),
            "fanout_roots": draw.choice([-1, 0, 1, 2]),
            "fanout_below": draw.choice([-1, 1, 2]),
            "mode": draw.choice(["layered", "shared"]),
            "p_grad": draw.choice(["0", "0.25", "0.5", "0.9", "1"]),
            "t_stale": draw.choice(["", "0", "1", "3"]),
            "floats": draw.randint(0, 30),
            "header": draw.choice(["continue", "cycle"]),
            "full": draw.choice(["wrap", "drop"]),
            "iterations": draw.randint(1, 12),
            "scores": draw.choice(["", norms]),
            "seed": seed,
        }
    sample = str(draw.randrange(1000))
    if run == "neighbours":
        roots = draw.sample(range(n), draw.randint(0, min(n, 4)))
        fanouts = {f"fanout{i}": draw.randint(-1, 3) for i in (1, 2, 3)}
        rest = {"mode": draw.choice(["layered", "shared"]), "seed": seed, "sample": sample}
        return {"roots": ",".join(map(str, roots)), "layers": draw.randint(1, 3), **fanouts, **rest}
    m = draw.randint(1, n)
    common = {
        "m": m,
        "n": m + draw.choice([0, 1, 4, 12, 60]),
        "deg_cap": draw.choice(["", "", "1", "2", "100"]),
        "include": draw.choice(["pushed", "popped"]),
        "seed": seed,
        "sample": sample,
    }
    if run in ("frontier", "bucket"):
        return common
    board = {
        "eta": draw.choice(["1.01", "1.2", "2", "3.5"]),
        "lanes": draw.choice(["1", "3", "8", "16"]),
        "probe_range": draw.choice(["capacity", "used"]),
        "overflow": draw.choice(["truncate", "grow"]),
    }
    return {**common, **board}


def the_same(shown, want):
    """The page shows what the reference gives, and the lines in Python give it too."""
    assert shown["error"] == ""
    names, _ = run_lines(shown["python"])
    if "layers" in want:
        assert shown["layers"] == want["layers"]
        assert [nodes.tolist() for nodes in names["mfg"].nodes] == want["layers"]
    elif "slots" in want:
        assert shown["iterations"] == want["iterations"]
        parts = {name: shown["cache"][name] for name in ("slots", "head", "used")}
        assert parts == {name: want[name] for name in parts}
        assert names["cache"].head == want["head"] and names["cache"].hwm == want["used"]
    else:
        assert {name: shown[name] for name in want if name != "counters"} == {
            name: want[name] for name in want if name != "counters"
        }
        counters = {name: shown["counters"][name] for name in want["counters"]}
        assert counters == want["counters"] == names["sample"].counters._asdict()
        listed = ", ".join(map(str, want["nodes"]))
        assert shown["step"] != shown["last"] or shown["last"] == 0 or listed in shown["said"]
        assert shown["costs"][0][1] == f"{want['counters']['pops']:,}"


def test_the_same_sample_as_refimpl_for_200_random_settings(visit):
    draw, page = random.Random(17), visit("playground.html")
    runs = [*SAMPLERS, "neighbours", "cache"]
    met = Counter()
    for k in range(SETTINGS):
        run = runs[k % len(runs)]
        n, edges = random_graph(draw)
        settings = {name: str(x) for name, x in random_settings(draw, run, n).items()}
        if draw.random() < 0.25:
            settings.update([draw.choice(WRONG[run])])
        last = {"step": 99999} if run != "cache" else {"step": 199}
        page.tab.evaluate(GO, address(run, n, edges, {**settings, **last}))
        shown, want = page.tab.evaluate(SHOWN), said_by_refimpl(run, n, edges, settings)
        assert shown["run"] == run and shown["notice"] == ""
        if OF_THE_PAGE in shown["error"]:
            met["size"] += 1
        elif isinstance(want, str):
            met["refused"] += 1
            assert shown["python"] == "" and "out of range" in shown["said"]
            same = {want, want.replace("parts", "seed"), want.replace("parts", "sample")}
            assert shown["error"] in same | {want.replace("p must", "p_grad must")}
        else:
            met[run] += 1
            the_same(shown, want)
    assert met["refused"] > 20 and min(met[run] for run in runs) > 15
    page.is_quiet()


def test_it_opens_with_the_courses_run(visit):
    page = visit("playground.html")
    settings = {"m": "2", "n": "6", "deg_cap": "", "include": "pushed", "seed": "7", "sample": "0"}
    shown = page.tab.evaluate(SHOWN)
    the_same(shown, said_by_refimpl("frontier", 6, EDGES, settings))
    assert (shown["run"], shown["step"], shown["last"]) == ("frontier", 0, 4)
    assert "roots: 0, 4." in shown["said"]
    assert page.tab.locator(".pg-node").count() == 6
    page.is_quiet()


def test_a_step_is_that_of_the_log(visit):
    """Forward and back, by buttons and by the slider: the sentence names who leaves and comes."""
    for run in SAMPLERS:
        page = visit(f"playground.html#run={run}&seed=5")
        tab, shown = page.tab, page.tab.evaluate(SHOWN)
        log = list(zip(shown["popped"], shown["pushed"], strict=True))
        for i, (u, v) in enumerate(log, 1):
            tab.get_by_role("button", name="Step forward").click()
            said = tab.locator(".pg-said").inner_text()
            assert f"node {u}" in said and f"Its neighbour {v} comes" in said
            assert tab.locator(".pg-where").first.inner_text() == f"step {i} of {len(log)}"
        tab.get_by_role("button", name="Step back").click()
        assert tab.evaluate("playground.state.step") == len(log) - 1
        tab.get_by_label("Step", exact=True).fill("0")
        assert "the roots" in tab.locator(".pg-said").inner_text()
        assert tab.get_by_role("button", name="Step back").is_disabled()


BOARD = """() => [...document.querySelectorAll(".pg-cells")[0].querySelectorAll("li")].slice(1)
  .map((cell) => [...cell.children].slice(1).map((part) => part.textContent))"""


def test_the_frontier_is_that_of_the_learn_page(visit):
    """docs/learn/frontier.md prints the slots before each step of the same run, and the last."""
    page = visit("playground.html")
    learned = (page.site / "learn" / "frontier.html").read_text(encoding="utf-8")
    printed = re.findall(r"(?:FS|last frontier) \[(\d+), (\d+)\]", re.sub(r"<[^>]+>", "", learned))
    assert len(printed) == 5
    for step, slots in enumerate(printed):
        page.tab.evaluate(GO, f"step={step}")
        assert tuple(cell[1] for cell in page.tab.evaluate(BOARD)) == slots


def test_slots_are_those_that_the_reference_changes(visit):
    """Also where a node stands in several slots, or is its own neighbour."""
    edges = [(0, 0), (0, 1), (1, 1), (1, 2)]
    settings = {"m": "3", "n": "40", "deg_cap": "", "include": "pushed", "seed": "3", "sample": "0"}
    for run in ("frontier", "pin_tile", "bucket"):
        board = {"eta": "2", "lanes": "8", "probe_range": "capacity", "overflow": "grow"}
        typed = {**settings, **(board if run == "pin_tile" else {})}
        page = visit(f"playground.html#{address(run, 3, edges, typed)}")
        log = page.tab.evaluate(SHOWN)
        for step, (u, v) in enumerate(zip(log["popped"], log["pushed"], strict=True), 1):
            before = page.tab.evaluate("playground.result.frontier")
            page.tab.evaluate("step => playground.change({ step }, false)", step)
            after = page.tab.evaluate("playground.result.frontier")
            slot = page.tab.evaluate("playground.result.slot")
            assert before[slot] == u and [*before[:slot], v, *before[slot + 1 :]] == after
        page.is_quiet()


def test_the_dashboard_is_that_of_the_learn_page(visit):
    """docs/learn/dashboard.md prints these rows after the first addition of the same run."""
    page = visit("playground.html#run=dashboard&step=1")
    cells = page.tab.evaluate(BOARD)
    rows = [" ".join(cell[i] for cell in cells).replace("·", ".") for i in (1, 2, 3)]
    learned = (page.site / "learn" / "dashboard.html").read_text(encoding="utf-8")
    plain = re.sub(r"<[^>]+>", "", learned)
    for name, row in zip(("node", "offset", "column"), rows, strict=True):
        printed = {
            " ".join(line.split()[2:]) for line in plain.splitlines() if f"DB {name}" in line
        }
        assert row in printed, (name, row, printed)


TITLES = ("Frontier", "Dashboard", "Pins and tiles", "Buckets", "Neighbours", "FreshGNN's cache")
TYPED = {"roots": "1, 2", "train": "2, 1", "scores": "1 2 3 4 5 6"}


@pytest.mark.parametrize("run", TITLES)
def test_every_control_changes_the_state(visit, run):
    """Each field and slider: what is typed arrives, and the slider goes along."""
    page = visit("playground.html")
    page.tab.get_by_role("radio", name=run, exact=True).check(force=True)
    fields = page.tab.locator(".pg-settings:not(.pg-graph-text) .pg-field:visible [id^=pg-]")
    names = fields.evaluate_all("fields => fields.map((field) => field.id.slice(3))")
    assert "seed" in names and len(names) > 5
    for name in names:
        drive(page.tab, name)
    assert page.tab.evaluate(SHOWN)["error"] == ""
    page.is_quiet()


def drive(tab, name):
    """Set one setting to another value, by its field and by its slider."""
    state = "name => playground.state.set[name]"
    field, before = tab.locator(f"#pg-{name}"), tab.evaluate(state, name)
    if field.evaluate("field => field.tagName") == "SELECT":
        other = next(x for x in field.locator("option").all_inner_texts() if x != before)
        field.select_option(other)
        assert tab.evaluate(state, name) == other
        return
    field.fill(TYPED.get(name, "3"))
    assert tab.evaluate(state, name) == field.input_value() != before
    slider = tab.locator(f".pg-field:has(#pg-{name}) input[type=range]")
    if slider.count():
        assert slider.input_value() == ("1" if name == "p_grad" else "3")
        slider.fill("1.5" if name == "eta" else "1")
        assert tab.evaluate(state, name) == field.input_value() == slider.input_value()
    field.fill(before)


def test_what_is_wrong_is_said_where_it_stands(visit):
    page = visit("playground.html")
    field = page.tab.get_by_label("m, nodes in the frontier", exact=True)
    field.fill("9")
    alert = page.tab.locator("#pg-error")
    assert alert.inner_text() == "m must be at most the number of nodes (6), got 9"
    assert field.get_attribute("aria-invalid") == "true"
    assert field.get_attribute("aria-describedby") == alert.get_attribute("id")
    assert page.tab.locator(".pg-section:visible").count() == 1  # only what can be taken along
    field.fill("two")
    assert alert.inner_text() == "m must be a number, got 'two'"
    field.fill("2")
    assert alert.inner_text() == "" and field.get_attribute("aria-invalid") is None
    page.is_quiet()


LAWS = [
    ("frontier", EDGES, {"m": 2, "n": 6}),
    ("dashboard", EDGES, {"m": 2, "n": 6, "overflow": "grow", "eta": 1.2}),
    ("pin_tile", [(0, 0), (0, 1), (0, 2), (0, 3), (3, 4)], {"m": 2, "n": 5, "include": "popped"}),
    ("bucket", [(0, 1), (0, 2), (0, 3), (3, 4), (4, 4)], {"m": 3, "n": 5, "deg_cap": 2}),
]
TALLY = """() => [...playground.tally.counts].map(([set, times]) =>
  [Array.from(set, (one) => one.charCodeAt(0)), times])"""
LAW = """() => [...playground.law.law].map(([set, p]) =>
  [Array.from(set, (one) => one.charCodeAt(0)), p])"""


def drawn(page, name="Draw 10,000 samples"):
    page.tab.get_by_role("button", name=name).click()
    playwright.expect(page.tab.get_by_role("button", name="Stop")).to_be_disabled(timeout=60_000)


@pytest.mark.parametrize("run, edges, settings", LAWS)
def test_the_histogram_is_of_refimpls_samples_and_the_law_is_exact(visit, run, edges, settings):
    """Counts of 10,000 samples, the law, and chi-square, each worked out here another way."""
    import fastimpl

    page = visit(f"playground.html#{address(run, 6, edges, settings)}")
    drawn(page)
    u, v = np.array(edges).T
    graph = refimpl.graph.from_edges(u, v, 6, symmetrize=True)
    kernel = getattr(fastimpl, run)
    counts = Counter()
    for q in range(10_000):
        keys = (fastimpl.streams.key(7, 0, q, stream) for stream in (0, 1))
        counts[frozenset(kernel(graph, *keys, **settings).nodes.tolist())] += 1
    assert {frozenset(s): times for s, times in page.tab.evaluate(TALLY)} == counts
    options = {name: settings[name] for name in ("deg_cap", "include") if name in settings}
    law = oracles.frontier_law(graph, settings["m"], settings["n"], **options)
    found = {frozenset(s): p for s, p in page.tab.evaluate(LAW)}
    assert found.keys() == law.keys()
    assert all(abs(found[s] - law[s]) < 1e-12 for s in law)
    rare = {s for s, p in law.items() if 10_000 * p < 5}
    cells = [(counts[s], float(10_000 * p)) for s, p in law.items() if s not in rare]
    if rare:
        cells.append((sum(counts[s] for s in rare), float(10_000 * sum(law[s] for s in rare))))
    statistic = sum((seen - due) ** 2 / due for seen, due in cells)
    said = page.tab.locator(".pg-section p").filter(has_text="Chi-square").inner_text()
    p = chi2.sf(statistic, len(cells) - 1)
    assert f"{statistic:.2f} with {len(cells) - 1} degrees of freedom, p = {p:.3f}" in said
    shown_sets(page, counts, law)
    shown_nodes(page, counts, law)
    page.is_quiet()


ROWS = """() => [...document.querySelectorAll(".pg-histogram tbody tr")].map((row) =>
  [row.cells[0].textContent, row.cells[2].textContent, row.cells[3].textContent])"""


def shown_sets(page, counts, law):
    """The table has the likeliest sets; numbers in it are those of the counts and the law."""
    rows = page.tab.evaluate(ROWS)
    named = [row for row in rows if "other" not in row[0]]
    for name, seen, due in named:
        nodes = frozenset(map(int, name.split(", ")))
        assert (seen, due) == (f"{counts[nodes] / 10_000:.4f}", f"{float(law[nodes]):.4f}")
    assert len(named) == min(24, len(law))


def shown_nodes(page, counts, law):
    page.tab.get_by_role("radio", name="nodes", exact=True).check(force=True)
    for v, (name, seen, due) in enumerate(page.tab.evaluate(ROWS)):
        chance = float(sum(p for nodes, p in law.items() if v in nodes))
        share = sum(times for nodes, times in counts.items() if v in nodes) / 10_000
        assert name == f"node {v}"
        assert abs(float(seen) - share) < 6e-5 and abs(float(due) - chance) < 6e-5


def neighbours_law(graph, roots, fanouts, mode):
    """Return {input nodes: probability}, by going through all that can be drawn."""
    from fractions import Fraction
    from itertools import combinations

    law = {(frozenset(roots), frozenset(roots)): Fraction(1)}
    for fanout in fanouts:
        after = Counter()
        for (met, drawing), chance in law.items():
            ways = {met: chance}
            for v in drawing:
                near = oracles.neighbours(graph, v)
                f = len(near) if fanout < 0 else min(fanout, len(near))
                picks = list(combinations(near, f))
                more = Counter()
                for so_far, p in ways.items():
                    for pick in picks:
                        more[so_far | set(pick)] += p / len(picks)
                ways = more
            for all_met, p in ways.items():
                after[all_met, all_met - met if mode == "shared" else all_met] += p
        law = after
    outcome = Counter()
    for (met, _), p in law.items():
        outcome[met] += p
    return outcome


@pytest.mark.parametrize("mode", ["layered", "shared"])
def test_the_law_of_neighbours_is_exact(visit, mode):
    settings = {"roots": "0,4", "layers": 2, "fanout1": 1, "fanout2": 2, "mode": mode}
    edges = [(0, 0), *EDGES, (1, 4)]
    page = visit(f"playground.html#{address('neighbours', 7, edges, settings)}")
    drawn(page)
    u, v = np.array(edges).T
    graph = refimpl.graph.from_edges(u, v, 7, symmetrize=True)
    law = neighbours_law(graph, (0, 4), (1, 2), mode)
    found = {frozenset(s): p for s, p in page.tab.evaluate(LAW)}
    assert found.keys() == law.keys() and all(abs(found[s] - law[s]) < 1e-12 for s in law)
    counts = {frozenset(s): times for s, times in page.tab.evaluate(TALLY)}
    assert sum(counts.values()) == 10_000 and counts.keys() <= law.keys()
    roots = np.array([0, 4])
    for q in range(0, 50):
        mfg = refimpl.sample_mfg(graph, roots, (1, 2), seed=7, epoch=0, batch=q, mode=mode)
        assert frozenset(mfg.nodes[0].tolist()) in counts
    assert sum(counts.values()) == 10_000


def test_drawing_can_be_stopped_and_the_page_stays_awake(visit):
    page = visit("playground.html#drawn=1000000")
    tab = page.tab
    stop = tab.get_by_role("button", name="Stop")
    playwright.expect(stop).to_be_enabled()
    tab.get_by_role("button", name="Step forward").click()
    assert tab.evaluate("playground.state.step") == 1  # while samples are drawn
    stop.click()
    count = tab.evaluate("playground.tally.drawn")
    assert 0 < count < 1_000_000 and stop.is_disabled()
    tab.wait_for_timeout(100)
    assert tab.evaluate("playground.tally.drawn") == count
    assert f"{count:,} samples" in tab.locator(".pg-histogram ~ p").first.inner_text()
    tab.get_by_label("seed", exact=True).fill("8")
    assert tab.evaluate("playground.tally") is None
    page.is_quiet()


def test_where_a_node_is_drawn_changes_no_count(visit):
    """Moved from the keyboard or with the pointer; another edge makes another law."""
    page = visit("playground.html")
    tab = page.tab
    drawn(page)
    before = tab.evaluate("playground.state.graph.at")
    counts, law = tab.evaluate(TALLY), tab.evaluate(LAW)
    tab.locator("[data-node='0']").focus()
    tab.keyboard.press("Shift+ArrowUp")
    tab.get_by_role("radio", name="Move", exact=True).check(force=True)
    box = tab.locator("[data-node='5']").bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.mouse.down()
    tab.mouse.move(box["x"] - 40, box["y"] - 60, steps=3)
    tab.mouse.up()
    after = tab.evaluate("playground.state.graph.at")
    assert [v for v in range(6) if after[v] != before[v]] == [0, 5]
    assert tab.evaluate(TALLY) == counts and tab.evaluate(LAW) == law
    assert "10,000 samples" in tab.locator(".pg-histogram ~ p").first.inner_text()
    assert "drawn=10000" in tab.evaluate("playground.link.value")
    tab.locator("[data-node='5']").focus()
    for key in ("Enter", "ArrowLeft", "Enter"):
        tab.keyboard.press(key)
    assert tab.evaluate("playground.tally") is None and tab.evaluate(LAW) != law
    page.is_quiet()


def test_a_law_that_is_too_long_is_not_worked_out(visit):
    edges = [(u, v) for u in range(30) for v in range(u)]
    page = visit(f"playground.html#{address('frontier', 30, edges, {'m': 8, 'n': 40})}")
    said = page.tab.locator(".pg-histogram ~ p").first.inner_text()
    assert said.startswith("The exact law is not worked out: there are more than 200,000 cases.")
    drawn(page)
    assert len(page.tab.evaluate(ROWS)) == 25
    page.is_quiet()


def test_truncation_is_said(visit):
    star = [(0, v) for v in range(1, 6)]
    page = visit(f"playground.html#{address('pin_tile', 6, star, {'m': 3, 'n': 9, 'eta': 1.01})}")
    drawn(page)
    said = page.tab.locator(".pg-histogram ~ p").last.inner_text()
    assert "E-B22" in said and re.match(r"In [\d,]+ samples a node did not get all", said)
