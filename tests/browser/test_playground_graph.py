"""The playground's graph, links and looks: drawn, pasted, restored, at every width and colour."""

import re

import pytest
from playground_page import GO, SHOWN, run_lines

pytestmark = pytest.mark.runs

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

RUNS = ("frontier", "dashboard", "pin_tile", "bucket", "neighbours", "cache")
GRAPH = "() => [playground.state.graph.n, playground.state.graph.edges.map(String)]"
COURSE = ["0,1", "0,2", "0,3", "1,2", "3,4", "4,5"]


class Drawing:
    """The drawing in a tab: its nodes, and places in it from 0 to 1000 by 0 to 640."""

    def __init__(self, page):
        self.tab = page.tab
        self.box = self.tab.locator(".pg-canvas").bounding_box()
        self.tab.locator(".pg-canvas").scroll_into_view_if_needed()

    def graph(self):
        return self.tab.evaluate(GRAPH)

    def tool(self, name):
        self.tab.get_by_role("radio", name=name, exact=True).check(force=True)

    def to(self, x, y):
        self.box = self.tab.locator(".pg-canvas").bounding_box()
        return self.box["x"] + x * self.box["width"] / 1000, self.box["y"] + y * self.box[
            "height"
        ] / 640

    def node(self, v):
        box = self.tab.locator(f'[data-node="{v}"] circle').bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drag(self, *places):
        mouse = self.tab.mouse
        mouse.move(*places[0])
        mouse.down()
        for place in places[1:]:
            mouse.move(*place, steps=5)
        mouse.up()

    def notice(self):
        return self.tab.locator(".pg-notice").inner_text()


def test_a_graph_is_drawn_with_a_pointer(visit):
    page = visit("playground.html")
    drawing = Drawing(page)
    page.tab.mouse.click(*drawing.to(690, 130))
    assert drawing.graph() == [7, COURSE] and drawing.notice() == "Node 6 is new."
    drawing.drag(drawing.node(6), drawing.node(3))
    assert drawing.graph() == [7, [*COURSE[:4], "3,4", "3,6", "4,5"]]
    drawing.drag(drawing.node(3), drawing.node(6))  # it is there: nothing happens
    assert len(drawing.graph()[1]) == 7
    drawing.drag(drawing.node(5), drawing.to(880, 100), drawing.node(5))
    assert "5,5" in drawing.graph()[1]
    drawing.drag(drawing.node(5), drawing.to(880, 100))  # into nothing
    drawing.drag(drawing.node(5), drawing.node(5))  # a press that goes nowhere is no loop
    assert len(drawing.graph()[1]) == 8
    drawing.tool("Move")
    drawing.drag(drawing.node(5), drawing.to(900, 500))
    x, y = page.tab.evaluate("playground.state.graph.at[5]")
    assert abs(x - 900) < 4 and abs(y - 500) < 4 and len(drawing.graph()[1]) == 8
    drawing.tool("Erase")
    page.tab.mouse.click(
        *(sum(ends) / 2 for ends in zip(drawing.node(3), drawing.node(4), strict=True))
    )
    assert "3,4" not in drawing.graph()[1]
    page.tab.mouse.click(*drawing.node(0))
    assert drawing.graph() == [6, ["0,1", "2,5", "3,4", "4,4"]]
    assert "moved up" in drawing.notice()
    shown = page.tab.evaluate(SHOWN)
    assert run_lines(shown["python"])[0]["sample"].nodes.tolist() == shown["nodes"]
    page.is_quiet()


def test_a_graph_is_drawn_from_the_keyboard(visit):
    page = visit("playground.html")
    drawing, keyboard = Drawing(page), page.tab.keyboard
    page.tab.locator('[data-node="0"]').focus()

    def focused():
        return int(page.tab.evaluate("document.activeElement.dataset.node"))

    def press(*keys):
        for key in keys:
            keyboard.press(key)

    press("ArrowRight")
    assert focused() == 3
    press("ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowUp")
    assert focused() == 1
    press("Enter")
    assert drawing.notice().startswith("From node 1")
    press("ArrowRight", "ArrowRight", "Enter")
    assert focused() == 3 and "1,3" in drawing.graph()[1]
    press("Enter", "ArrowLeft", "ArrowLeft", "ArrowUp")
    press("ArrowRight", "Enter") if focused() != 1 else press("Enter")
    press("Enter", "Escape")  # begun, and given up
    count = len(drawing.graph()[1])
    press("Enter", "Enter")  # a loop, and away again
    assert len(drawing.graph()[1]) == count + 1
    press("Enter", "Enter")
    assert len(drawing.graph()[1]) == count
    before = page.tab.evaluate("playground.state.graph.at")
    v = focused()
    press("Shift+ArrowDown")
    after = page.tab.evaluate("playground.state.graph.at")
    assert after[v] == [before[v][0], before[v][1] + 25] and focused() == v
    press("n")
    assert drawing.graph()[0] == 7 and focused() == 6
    press("Delete")
    assert drawing.graph()[0] == 6 and focused() == 5
    for _ in range(6):
        press("Delete")
    assert drawing.graph() == [1, []] and drawing.notice() == "A graph has at least one node."
    page.is_quiet()


PASTED = [
    ("0-1 1-2", "", [3, ["0,1", "1,2"]]),
    ("0-1, 1-2; 2-2", "5", [5, ["0,1", "1,2", "2,2"]]),
    ("# comment\n0 1\n1\t2\n", "0", [3, ["0,1", "1,2"]]),
    ("[(0, 1), (1, 2), (2, 0)]", "", [3, ["0,1", "0,2", "1,2"]]),
    ("1 -> 0\n0 -- 1\n0,1", "", [2, ["0,1"]]),
    ("", "4", [4, []]),
]
NOT_PASTED = [
    ("a b", "", "Line 1 of the edges is not understood"),
    ("0-1\n0 1 2", "", "Line 2 of the edges is not understood"),
    ("0-1-2", "", "Line 1 of the edges"),
    ("0-200", "", "This page draws at most 200 nodes, numbered from 0: 201 are too many."),
    ("", "", "A graph has at least one node."),
    ("0-1", "x", "The number of nodes must be a whole number."),
    ("<img src=x onerror=alert(1)>", "", "Line 1 of the edges is not understood"),
]


def paste(page, edges, nodes):
    page.tab.get_by_label("nodes, at least").fill(nodes)
    page.tab.get_by_label(re.compile("^edges, such as")).fill(edges)
    page.tab.get_by_role("button", name="Use these edges").click()
    return page.tab.evaluate(GRAPH), page.tab.locator(".pg-graph-text .pg-error").inner_text()


def test_edges_are_pasted(visit):
    page = visit("playground.html")
    for edges, nodes, graph in PASTED:
        assert paste(page, edges, nodes) == (graph, "")
    for edges, nodes, said in NOT_PASTED:
        graph, error = paste(page, edges, nodes)
        assert error.startswith(said) and graph == PASTED[-1][2], edges
    assert paste(page, "0-1", "")[1] == ""
    page.tab.get_by_label("an example").select_option("a star of 8")
    assert page.tab.evaluate(GRAPH) == [8, [f"0,{v}" for v in range(1, 8)]]
    for option in page.tab.get_by_label("an example").locator("option").all_inner_texts()[1:]:
        page.tab.get_by_label("an example").select_option(option)
        assert page.tab.evaluate(SHOWN)["error"] == ""
    page.is_quiet()


def test_large_graphs_are_drawn_and_the_page_stays_within_its_window(visit):
    edges = " ".join(f"{v}-{(7 * v + 1) % 200}" for v in range(200))
    page = visit("playground.html")
    assert paste(page, edges, "")[0][0] == 200
    page.tab.get_by_role("radio", name="Pins and tiles").check(force=True)
    page.tab.get_by_label("m, nodes in the frontier", exact=True).fill("60")
    page.tab.get_by_label("n, budget of nodes", exact=True).fill("2000")
    assert page.tab.evaluate(SHOWN)["last"] == 1940
    page.fits()
    page.is_quiet()


STATE = """() => { const { graph, ...state } = playground.state;
  return { ...state, n: graph.n, edges: graph.edges, at: graph.at }; }"""


@pytest.mark.parametrize("run", RUNS)
def test_a_link_restores_the_whole_state(visit, run):
    """Of a graph that was drawn, settings that were typed, a step, and what was counted."""
    page = visit("playground.html")
    tab, title = page.tab, {"pin_tile": "Pins and tiles", "bucket": "Buckets"}.get(run)
    name = title or {"cache": "FreshGNN's cache"}.get(run, run.capitalize())
    tab.get_by_role("radio", name=name, exact=True).check(force=True)
    tab.mouse.click(*Drawing(page).to(690, 130))
    tab.locator('[data-node="6"]').press("Shift+ArrowUp")
    typed = {"train": "1,2", "scores": "", "p_grad": "0.25"} if run == "cache" else {"seed": "12"}
    for setting, text in typed.items():
        tab.locator(f"#pg-{setting}").fill(text)
    if run != "cache":
        tab.get_by_role("radio", name="nodes", exact=True).check(force=True)
        tab.get_by_role("button", name="Draw 10,000 samples").click()
        stop = tab.get_by_role("button", name="Stop")
        playwright.expect(stop).to_be_disabled(timeout=60_000)
    tab.get_by_role("button", name="Step forward").click()
    link, state = tab.get_by_label("link", exact=True).input_value(), tab.evaluate(STATE)
    playwright.expect(tab).to_have_url(link)
    other = visit(f"playground.html#{link.partition('#')[2]}")
    if run != "cache":
        assert state["drawn"] == 10_000
        stop = other.tab.get_by_role("button", name="Stop")
        playwright.expect(stop).to_be_disabled(timeout=60_000)
    unset = {name for name, text in state["set"].items() if f"{name}=" not in link}
    restored = other.tab.evaluate(STATE)
    for found in (state, restored):
        found["set"] = {name: x for name, x in found["set"].items() if name not in unset}
    assert restored == state
    shown = [one.tab.evaluate(SHOWN) for one in (page, other)]
    assert [{**one, "notice": ""} for one in shown][0] == shown[1]
    texts = [one.tab.locator(".pg-histogram").all_inner_texts() for one in (page, other)]
    assert texts[0] == texts[1]
    other.is_quiet()


BAD = [
    ("run=dance", 'run is "dance"'),
    ("m=two", 'm is "two", which is no number'),
    ("m=", "m is empty"),
    ("colour=red", 'nothing here is called "colour"'),
    ("m=2&m=3", "m stands there twice"),
    ("seed=%E0%A4%A", "seed has a % that begins no letter"),
    ("nodes=0", "A graph has at least one node"),
    ("nodes=9999", "at most 200 nodes"),
    ("nodes=3&edges=0-1-2", "Line 1 of the edges"),
    ("nodes=3&edges=<b>0</b>", "Line 1 of the edges"),
    ("nodes=2&at=1.2", '"at" must have 2 places'),
    ("nodes=1&at=9999.1", '"at" must have 1 places'),
    ("step=-1", 'step is "-1"'),
    ("drawn=1e9", 'drawn is "1e9"'),
    ("include=both", 'include is "both"'),
    ("show=<script>", 'show is "<script>"'),
]


def test_bad_addresses_are_refused_in_a_sentence(visit):
    page = visit(f"playground.html#{BAD[0][0]}")
    for k, (address, said) in enumerate(BAD):
        if k:
            page.tab.evaluate(GO, address)
        notice = page.tab.locator(".pg-notice").inner_text()
        assert notice.startswith("The address is not understood: ") and said in notice, address
        assert notice.endswith("This is the course's run.")
        assert page.tab.evaluate(GRAPH) == [6, COURSE]
        assert page.tab.evaluate(SHOWN)["nodes"] == [0, 3, 4, 5]
    page.tab.evaluate(GO, "m=9")
    assert page.tab.locator(".pg-notice").inner_text() == ""
    assert "at most the number of nodes" in page.tab.evaluate(SHOWN)["error"]
    page.is_quiet()


def test_a_heading_in_the_address_is_no_state(visit):
    page = visit("playground.html#the-address")
    assert page.tab.evaluate(SHOWN)["notice"] == ""
    assert page.tab.evaluate("location.hash") == "#the-address"
    page.is_quiet()


def test_the_names_in_the_address_are_documented(visit):
    """Each name that a state writes stands in the table of the page, and no other."""
    page = visit("playground.html")
    listed = set(page.tab.locator("table.docutils td:first-child code").all_inner_texts())
    names = {"run", "nodes", "edges", "at", "step", "show", "drawn"}
    assert listed == names | set(page.tab.evaluate("Object.keys(playground.state.set)"))


def test_back_to_the_courses_run(visit):
    page = visit("playground.html#run=cache&nodes=3&edges=0-1&iterations=2&scores=")
    page.tab.get_by_role("button", name="Back to the course's run").click()
    assert page.tab.evaluate(GRAPH) == [6, COURSE]
    assert page.tab.evaluate(SHOWN)["run"] == "frontier"
    page.is_quiet()


STEPS = {run: f"run={run}&step=2" for run in RUNS}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", ["desktop", "phone"])
@pytest.mark.parametrize("run", RUNS)
def test_it_fits_and_is_accessible(visit, run, width, dark):
    drawn = "" if run == "cache" else "&drawn=2000"
    page = visit(f"playground.html#{STEPS[run]}{drawn}", width=width, dark=dark)
    stop = page.tab.get_by_role("button", name="Stop", include_hidden=True)
    playwright.expect(stop).to_be_disabled(timeout=60_000)
    page.fits()
    page.is_quiet()
    page.is_accessible()


def test_an_error_is_accessible(visit):
    page = visit("playground.html#run=pin_tile&eta=1")
    page.fits()
    page.is_accessible()


def test_a_screen_reader_finds_its_way(visit):
    tab = visit("playground.html#run=pin_tile&step=1").tab
    assert tab.get_by_role("group", name="Graph: 6 nodes, 6 edges").count() == 1
    node = tab.get_by_role("button", name=re.compile("^Node 4, in the frontier. Neighbours: 3, 5."))
    assert node.count() == 1
    said = tab.locator(".pg-said")
    assert said.get_attribute("role") == "status" and "node 0, which leaves" in said.inner_text()
    entries = tab.get_by_role("list", name="Dashboard DB").get_by_role("listitem")
    assert "entry 3: tile 1, node 4" in entries.all_inner_texts()[3]
    assert tab.get_by_role("table", name="Costs").get_by_role("row").count() == 10
    assert tab.get_by_role("table", name="How often each set of nodes is sampled").count() == 1
    slider = tab.get_by_role("slider", name="Step", exact=True)
    assert slider.get_attribute("aria-valuetext") == "step 1 of 4"
    assert tab.get_by_role("slider").count() == 6


def test_focus_goes_through_the_page_in_order(visit):
    tab = visit("playground.html").tab
    tab.get_by_role("radio", name="Frontier", exact=True).focus()
    order = []
    for _ in range(14):
        tab.keyboard.press("Tab")
        order.append(tab.evaluate(
            "(document.activeElement.id || document.activeElement.getAttribute('aria-label')"
            " || document.activeElement.textContent || document.activeElement.value).slice(0, 24)"
        ))  # fmt: skip
    assert order[:6] == ["draw", "How to draw", "Node 0, in the frontier.", "Step", "Step forward",
                         "m, nodes in the frontier"]  # fmt: skip
    assert order[6] == "pg-m" and "pg-seed" in order
