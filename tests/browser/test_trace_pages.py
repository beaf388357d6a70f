"""The pages of `minibatch-gnn trace` in a browser: what is drawn at each step is the trace."""

import re
from pathlib import Path

import pytest

from refimpl.lab.apps.stepper.changes import value_text
from refimpl.lab.apps.stepper.page import page as html_page
from refimpl.lab.apps.stepper.page import page_data
from refimpl.lab.apps.stepper.places import shown
from refimpl.lab.apps.stepper.recipes import recipes

pytestmark = pytest.mark.runs

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

RECIPES = recipes()
SIZE = {"width": 1280, "height": 720}
READ = (Path(__file__).parent / "read_page.js").read_text().partition("\n")[2].rstrip()
KEEP_READING = f"""() => {{
  const read = {READ};
  window.seen = [read()];
  const watch = new MutationObserver(() => window.seen.push(read()));
  watch.observe(document.body, {{ attributeFilter: ["data-step"] }});
}}"""
SLIDE = f"""(values) => {{
  const [slider, read] = [document.getElementById("slider"), {READ}];
  return values.map((value) => {{
    slider.value = value;
    slider.dispatchEvent(new Event("input"));
    return read();
  }});
}}"""


class Opened:
    """A recipe's page in a tab, with what the tab complained about and asked for."""

    def __init__(self, browser, folder, recipe, **context):
        self.recording = recipe.record()
        self.recipe, self.data = recipe, page_data(recipe, self.recording)
        self.path = folder / f"{recipe.name}.html"
        self.path.write_text(html_page(recipe, self.recording), encoding="utf-8")
        self.every = list(range(len(self.recording.steps)))
        self.shown = shown(recipe, self.recording)
        self.tab = browser.new_page(**{"viewport": SIZE, **context})
        self.tab.set_default_timeout(10_000)
        self.messages, self.requests = [], []
        self.tab.on("console", lambda message: self.messages.append(message.text))
        self.tab.on("pageerror", lambda error: self.messages.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.goto(self.path.as_uri())

    def read(self):
        return self.tab.evaluate(READ)

    def step(self):
        return int(self.tab.evaluate("document.body.dataset.step"))

    def show_every_line(self):
        self.tab.get_by_label("every line").check()

    def expected(self, i):
        """Return what the page must draw at step i, from the trace."""
        states = self.recording.state(i)
        before = self.recording.state(i - 1) if i else {}
        return {
            panel.id: drawn(panel, states.get(panel.id), before.get(panel.id))
            for panel in self.recipe.panels
        }

    def is_quiet(self):
        assert self.messages == []
        assert [url for url in self.requests if not url.startswith("data:")] == [self.path.as_uri()]


@pytest.fixture
def opened(browser, tmp_path):
    tabs = []

    def open_page(recipe, **context):
        tabs.append(Opened(browser, tmp_path, recipe, **context))
        return tabs[-1]

    yield open_page
    for tab in tabs:
        tab.tab.close()


def drawn(panel, state, before):
    """Return a panel's state as read_page.js reads it from the page."""
    if panel.kind == "graph":
        return drawn_graph(panel, state or {"roles": {}, "notes": {}, "edges": []})
    if state is None:
        return None
    if panel.kind == "counters":
        return {name: str(value) for name, value in state.items()}
    if panel.kind == "array":
        old = dict(before or [])
        return [
            [name, drawn_cells(cells, old.get(name, []))]
            for name, cells in state
            if any(cells for _, cells in state)
        ]
    old = {value_text(row[0][0]): row for row in before or []}
    return [drawn_cells(row, old.get(value_text(row[0][0]), [])) for row in state]


def drawn_cells(cells, before):
    shown = []
    for i, (value, group, mark) in enumerate(cells):
        old = before[i] if i < len(before) else None
        changed = old is None or old[0] != value or bool(mark and mark != old[2])
        shown.append([value_text(value), None if group is None else group % 8, mark, changed])
    return shown


def drawn_graph(panel, state):
    letters = {role: letter for role, (letter, _) in panel.fixed["roles"].items()}
    used = {frozenset(edge) for edge in state["edges"]}
    if panel.fixed["directed"]:
        used = {tuple(edge) for edge in state["edges"]}
    kind = tuple if panel.fixed["directed"] else frozenset
    return {
        "nodes": {
            node: [letters.get(state["roles"].get(node), ""), state["notes"].get(node, "")]
            for node in panel.fixed["positions"]
        },
        "edges": sorted(edge for edge in panel.fixed["edges"] if kind(edge) in used),
    }


def is_the_trace(opened, seen, i, numbers):
    """The page `seen` shows step i, one of `numbers`: its code, pictures, errata and sentence."""
    step = opened.data["steps"][i]
    function = opened.data["functions"][step["function"]]
    assert seen["step"] == str(i)
    assert seen["function"] == function["name"]
    lines = [li for li in function["lines"] if step["first"] <= li["number"] <= step["last"]]
    assert lines and [row[0] for row in seen["now"]] == [line["paper"] for line in lines]
    for (_, text), line in zip(seen["now"], lines, strict=True):
        assert text.split() == f"{line['text']} {'; '.join(line['errata'])}".split()
    assert seen["panels"] == opened.expected(i), f"step {i + 1}"
    place, count = numbers.index(i) + 1, len(numbers)
    assert seen["where"] == f"Step {place} of {count}: {step['where']}."
    assert seen["gist"] == step["gist"]
    told = step["said"] or ("" if step["telling"] else "Nothing drawn changes.")
    assert seen["news"] == told
    assert numbers is opened.every or "Nothing drawn" not in seen["news"]
    assert (seen["slider"], seen["count"]) == (str(place), f"{place} of {count}")
    assert seen["current_line_visible"] and seen["controls_visible"], f"step {i + 1}"
    assert seen["said_fits"], (seen["gist"], seen["where"], seen["news"])
    assert not seen["scrolls"] and not seen["is_wide"], "the page itself must not scroll"


@pytest.mark.parametrize("every", [False, True], ids=["telling", "every"])
@pytest.mark.parametrize("name", RECIPES)
def test_every_step_there_and_back_is_the_trace(opened, name, every):
    page = opened(RECIPES[name])
    numbers = page.every if every else page.shown
    if every:
        page.show_every_line()
    page.tab.keyboard.press("Home")
    page.tab.evaluate(KEEP_READING)
    for key in ("ArrowRight", "ArrowLeft"):
        for _ in numbers:  # once more than there are steps: there it stays
            page.tab.keyboard.press(key)
    seen = page.tab.evaluate("seen")
    assert [int(now["step"]) for now in seen] == [*numbers, *reversed(numbers[:-1])]
    for now in seen:
        is_the_trace(page, now, int(now["step"]), numbers)
    page.is_quiet()


@pytest.mark.parametrize("name", RECIPES)
def test_every_step_is_reached_by_the_slider(opened, name):
    page = opened(RECIPES[name])
    for numbers in (page.shown, page.every):
        assert page.tab.locator("#slider").get_attribute("max") == str(len(numbers))
        places = range(len(numbers))
        order = [*places[1::2], *places[::2]]  # not one after another
        seen = page.tab.evaluate(SLIDE, [place + 1 for place in order])
        for now, place in zip(seen, order, strict=True):
            is_the_trace(page, now, numbers[place], numbers)
        page.show_every_line()
    page.is_quiet()


@pytest.mark.parametrize("name", RECIPES)
def test_lines_so_far_grow_with_the_steps(opened, name):
    """A counter's line has a point for each step at which the counter was there."""
    page = opened(RECIPES[name])
    panels = [panel.id for panel in page.recipe.panels if panel.kind == "counters"]
    for i in (page.every[0], page.every[-1] // 2, page.every[-1]):
        page.tab.evaluate("i => go(i)", i)
        for panel in panels:
            points = page.read()["points"][panel]
            states = [page.recording.state(k).get(panel, {}) for k in range(i + 1)]
            assert points == {
                counter: sum(counter in state for state in states) for counter in states[-1]
            }


@pytest.fixture
def pin_tile(opened):
    return opened(RECIPES["pin_tile"])


def test_buttons_keys_and_lists_lead_to_their_step(pin_tile):
    tab, numbers = pin_tile.tab, pin_tile.shown
    first, last = numbers[0], numbers[-1]

    def press(name):
        tab.get_by_role("button", name=name, exact=True).click(force=True)  # disabled or not
        return pin_tile.step()

    assert [press("Forward"), press("Forward"), press("Back")] == [*numbers[1:3], numbers[1]]
    assert [press("Last step"), press("Forward")] == [last, last]
    assert [press("First step"), press("Back")] == [first, first]
    for key, step in [("End", last), ("Home", first), ("ArrowRight", numbers[1])]:
        tab.keyboard.press(key)
        assert pin_tile.step() == step
    tab.keyboard.press("ArrowLeft")
    assert pin_tile.step() == first
    listed = tab.get_by_label("Go to").locator("option").all_inner_texts()
    steps = pin_tile.recording.steps
    names = [pin_tile.recording.functions[steps[i].function].name for i in numbers]
    for text in listed:
        place, function = text.split()
        assert names[int(place) - 1].removesuffix(".__init__").endswith(function)
    assert [text.split()[1] for text in listed].count("cleanup") == 1
    tab.get_by_label("Go to").select_option(index=2)
    second = int(listed[2].split()[0]) - 1
    assert pin_tile.step() == numbers[second]
    tab.get_by_label("Step", exact=True).focus()
    tab.keyboard.press("ArrowRight")  # the slider's own key: one step, not two
    assert pin_tile.step() == numbers[second + 1]
    pin_tile.is_quiet()


@pytest.mark.parametrize("every", [False, True])
def test_page_keys_go_to_the_next_change(pin_tile, every):
    if every:
        pin_tile.show_every_line()
    numbers = pin_tile.every if every else pin_tile.shown
    panels = [step.panels for step in pin_tile.recording.steps]
    changes = [i for i in numbers[1:] if panels[i] != panels[i - 1]]
    pin_tile.tab.keyboard.press("Home")
    seen = []
    while pin_tile.step() != numbers[-1]:
        pin_tile.tab.keyboard.press("PageDown")
        seen.append(pin_tile.step())
    assert seen == sorted({*changes, numbers[-1]})
    seen = []
    while pin_tile.step() != numbers[0]:
        pin_tile.tab.keyboard.press("PageUp")
        seen.append(pin_tile.step())
    assert seen == [*reversed([i for i in changes if i != numbers[-1]]), numbers[0]]


def test_play_runs_to_the_end_and_can_be_paused(pin_tile):
    tab = pin_tile.tab
    live = tab.locator("#said")
    tab.get_by_label("Speed").select_option("5 a second")
    tab.locator("#code").focus()
    tab.keyboard.press("Space")
    steps = "|".join(str(i) for i in pin_tile.shown[2:8])
    playwright.expect(tab.locator("body")).to_have_attribute(
        "data-step", re.compile(f"^({steps})$")
    )
    assert live.get_attribute("aria-live") == "off"  # nobody could listen that fast
    tab.keyboard.press("Space")
    assert tab.evaluate("timer === null")
    assert live.get_attribute("aria-live") == "polite"
    tab.evaluate("i => go(i)", pin_tile.shown[-2])
    tab.get_by_role("button", name="Play").click()
    playwright.expect(tab.get_by_role("button", name="Play")).to_have_text("Play")
    assert pin_tile.step() == pin_tile.shown[-1]
    tab.get_by_role("button", name="Play").press("Space")  # one press of the button, not two
    assert tab.evaluate("timer !== null") and pin_tile.step() == pin_tile.shown[0]


def test_focus_goes_from_top_to_bottom(pin_tile):
    order = []
    for _ in range(12):
        pin_tile.tab.keyboard.press("Tab")
        order.append(
            pin_tile.tab.evaluate("document.activeElement.id || document.activeElement.tagName")
        )
    assert order == [
        "SUMMARY",
        "code",
        "panels",
        "first",
        "back",
        "play",
        "forward",
        "last",
        "slider",
        "every",
        "speed",
        "calls",
    ]


def test_a_screen_reader_finds_names_and_tables(pin_tile):
    tab = pin_tile.tab
    hit = next(
        i
        for i, step in enumerate(pin_tile.data["steps"])
        if "probe at DB" in step["said"] and pin_tile.recording.state(i)["graph"]["roles"]
    )
    tab.evaluate("i => go(i)", hit)
    status = tab.get_by_role("status")
    assert status.count() == 1 and status.get_attribute("aria-atomic") == "true"
    assert "Algorithm 4 line 5" in status.inner_text()
    DB = tab.get_by_role("table", name="Dashboard DB, 0 to 7")
    assert DB.get_by_role("rowheader").all_inner_texts() == ["DB"]
    assert DB.get_by_role("columnheader").count() == 9
    assert tab.get_by_role("region", name="Pictures").count() == 1
    picture = tab.get_by_role("img", name="Graph").get_attribute("aria-label")
    assert "frontier: 0, 4" in picture
    assert tab.locator("[aria-current=step]").count() == 1
    tab.get_by_text("About and keys").click()
    assert tab.locator(".sheet").is_visible()
    tab.keyboard.press("Escape")
    assert not tab.locator(".sheet").is_visible()


def test_the_address_opens_a_step(pin_tile):
    """Whether it tells something or not; without one the page begins at the paper's line 1."""
    first, last = pin_tile.shown[0], pin_tile.every[-1]
    hidden = next(i for i in range(first, last) if i not in pin_tile.shown)
    for address, step in [
        ("", first),
        ("#60", 59),
        ("#1", 0),
        (f"#{hidden + 1}", hidden),
        ("#99999", last),
        ("#x", first),
    ]:
        pin_tile.tab.goto("about:blank")
        pin_tile.tab.goto(pin_tile.path.as_uri() + address)
        assert pin_tile.step() == step
    pin_tile.tab.evaluate(f"location.hash = '{hidden + 1}'")
    body = pin_tile.tab.locator("body")
    playwright.expect(body).to_have_attribute("data-step", str(hidden))
    place = sum(i < hidden for i in pin_tile.shown)
    assert pin_tile.tab.locator("#where").inner_text().startswith(f"Beside step {place} of ")
    assert pin_tile.tab.locator("#news").inner_text() == "Nothing drawn changes."
    pin_tile.tab.keyboard.press("ArrowRight")
    assert pin_tile.step() == pin_tile.shown[place]
    pin_tile.tab.evaluate(f"location.hash = '{hidden + 1}'")
    pin_tile.tab.evaluate(f"go({hidden})")
    pin_tile.tab.keyboard.press("ArrowLeft")
    assert pin_tile.step() == pin_tile.shown[place - 1]


@pytest.mark.parametrize("width", [360, 390])
@pytest.mark.parametrize("name", RECIPES)
def test_a_phone_shows_every_step(opened, name, width):
    """Nothing is clipped sideways; the line that runs, a picture that changed, and all buttons."""
    page = opened(RECIPES[name], viewport={"width": width, "height": 700})
    places = range(1, len(page.shown) + 1)
    for seen in page.tab.evaluate(SLIDE, list(places)):
        i = int(seen["step"])
        assert not seen["is_wide"] and not seen["scrolls"], f"step {i + 1}"
        assert seen["current_begins_in_view"] and seen["controls_visible"], f"step {i + 1}"
        assert seen["said_fits"] and seen["panes"]["code"] >= 90 and seen["panes"]["panels"] >= 180
        assert seen["changed_visible"], f"step {i + 1}"
        assert seen["panes"]["sideways"] <= 1 and seen["panes"]["code_sideways"] <= 1
    page.is_quiet()


def test_text_never_becomes_markup(opened):
    """Data with a script in it, in every place that a recipe fills, is shown as it is."""
    evil = "</script><script>window.run = 1</script><img src=x onerror='window.run = 2'>{{css}}"
    recipe = RECIPES["frontier"]
    recipe = recipe._replace(
        name="evil",
        title=evil,
        about=evil,
        panels=tuple(panel._replace(title=evil, help=evil) for panel in recipe.panels),
    )
    page = opened(recipe)
    assert page.tab.locator("h1").inner_text() == evil
    assert page.tab.locator("h3").first.inner_text() == evil
    assert evil in page.tab.locator("#about-text").text_content()
    assert page.tab.evaluate("window.run") is None
    page.is_quiet()


def test_the_policy_of_the_page_forbids_all_else(pin_tile):
    """Neither a script from elsewhere nor a request is let through."""
    pin_tile.tab.evaluate(
        """() => { const s = document.createElement("script"); s.textContent = "window.run = 1";
        document.body.append(s); return fetch("http://127.0.0.1:9/").catch(() => 0); }"""
    )
    assert pin_tile.tab.evaluate("window.run") is None
    assert pin_tile.messages and all("Content Security Policy" in m for m in pin_tile.messages)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(opened, scheme):
    """WCAG 2.2, 1.4.3: 4.5 to 1 for text."""
    page = opened(RECIPES["pin_tile"], color_scheme=scheme)
    groups = [f"--g{i}" for i in range(8)]
    pairs = [("--ink", back) for back in ("--paper", "--band", "--now", *groups)]
    pairs += [("--soft", "--paper"), ("--soft", "--band"), ("--s0", "--band")]
    pairs += [("--soft", "--now"), *[("--mark", back) for back in ("--paper", *groups)]]
    style = "name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()"
    colour = {name: page.tab.evaluate(style, name) for pair in pairs for name in pair}
    assert luminance(colour["--paper"]) > 0.9 if scheme == "light" else True
    low = {pair: contrast(*map(colour.get, pair)) for pair in pairs}
    assert {pair: ratio for pair, ratio in low.items() if ratio < 4.5} == {}
    assert len({colour[group] for group in groups}) == 8
