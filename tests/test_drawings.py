"""Figures of docs/_drawings: each builds, can be read by ear, and shows true numbers."""

import inspect
import itertools
import re
import sys
from collections import Counter
from fractions import Fraction
from xml.etree import ElementTree

import numpy as np
import pytest
from docs_ext import DOCS

import refimpl

sys.path.append(str(DOCS))

import _drawings  # noqa: E402
from _drawings.svg import KINDS, Panel  # noqa: E402

DRAWINGS = _drawings.drawings()
FOR_SLIDES = {name for name, made in DRAWINGS.items() if "lecture" in made.__module__}
PHONE = 390  # no panel of a page is wider: words would be too small
SVG = "{http://www.w3.org/2000/svg}"
NEIGHBOURS = {0: [1, 2, 3], 1: [0, 2], 2: [0, 1], 3: [0, 4], 4: [3, 5], 5: [4]}


def panels(name, **options):
    """Return (Panel, its tree) of each panel of a drawing."""
    return [
        (panel, ElementTree.fromstring(panel.markup(f"{name}-{k}")))
        for k, panel in enumerate(DRAWINGS[name](**options).panels)
    ]


def words_of(tree):
    """Return the words that are drawn, in their order."""
    return [text.text or "" for text in tree.iter(f"{SVG}text")]


@pytest.mark.parametrize("name", DRAWINGS)
def test_every_drawing_is_xml_with_a_title_and_a_text(name):
    drawing = DRAWINGS[name]()
    assert len(drawing.title.split()) > 4
    for panel, tree in panels(name):
        assert tree.find(f"{SVG}title").text == panel.title
        text = tree.find(f"{SVG}desc").text
        assert len(text.split()) > 4 and (
            re.search(r"\d", text) or panel.role == "group" or name in FOR_SLIDES
        )
        by = {part.get("id") for part in tree if part.get("id")}
        assert {tree.get("aria-labelledby"), tree.get("aria-describedby")} == by


@pytest.mark.parametrize("name", DRAWINGS)
def test_every_drawing_fits_on_a_phone_with_legible_words(name):
    for panel, tree in panels(name):
        assert panel.width <= PHONE or name in FOR_SLIDES  # tests of the decks measure these
        for text in tree.iter(f"{SVG}text"):
            assert float(text.get("font-size")) >= 11
            assert 0 <= float(text.get("x")) <= panel.width
            assert 0 < float(text.get("y")) <= panel.height + 4


@pytest.mark.parametrize("name", DRAWINGS)
def test_colours_are_classes_that_the_style_sheet_has(name):
    css = (DOCS / "_static" / "drawings.css").read_text()
    for _, tree in panels(name):
        for part in tree.iter():
            assert part.get("style") is None and part.get("fill") is None
            for kind in (part.get("class") or "").split():
                plain = kind in ("drawing", "on-plain", "d-head-line", "d-line")
                assert plain or f".{kind}" in css, kind


def test_kinds_differ_in_lightness():
    """Light and dark: a figure can be read in grey."""
    css = (DOCS / "_static" / "drawings.css").read_text()
    light, dark = css.index(":root"), css.index("@media")
    for start, end in ((light, css.index("body[data-theme")), (css.index("body[data-theme"), dark)):
        found = dict(re.findall(r"--drawing-(paper|strong|warm|soft): #(\w{6})", css[start:end]))
        grey = sorted(
            sum(w * int(hex[k : k + 2], 16) for w, k in ((0.3, 0), (0.59, 2), (0.11, 4)))
            for hex in found.values()
        )
        assert len(found) == 4
        assert min(b - a for a, b in itertools.pairwise(grey)) > 15
    assert set(KINDS) == {"plain", "strong", "warm", "soft", "gone"}


def test_every_drawing_is_on_a_page_and_every_learn_page_has_one():
    sources = (page for page in sorted(DOCS.rglob("*.md")) if "_build" not in page.parts)
    pages = {page: page.read_text() for page in sources}
    shown = {
        name
        for text in pages.values()
        for name in re.findall(r"\{(?:drawing|panels)\} ([\w-]+)", text)
    }
    assert shown == set(DRAWINGS)
    for page, text in pages.items():
        if page.parent.name == "learn" and page.stem not in ("index", "notation"):
            assert "```{drawing} " in text, page.name


def test_names_are_not_taken_twice_and_options_are_known():
    for function in DRAWINGS.values():
        assert all(
            p.default is not p.empty for p in inspect.signature(function).parameters.values()
        )
    with pytest.raises(KeyError):
        DRAWINGS["cleanup"](form="tiles")


def test_markup_of_strange_words():
    panel = Panel(10, 10, 'a < "b"', "c & d")
    panel.words(1, 2.25, "<e> & 'f'")
    tree = ElementTree.fromstring(panel.markup("x"))
    assert tree.find(f"{SVG}title").text == 'a < "b"' and words_of(tree) == ["<e> & 'f'"]


def test_frontier_steps_are_a_walk_by_the_draws_they_show():
    """By a plain list and the definition: no code of the samplers."""
    FS, sample = None, set()
    found = panels("frontier-steps")
    assert len(found) == 5
    for number, (_, tree) in enumerate(found):
        words = words_of(tree)
        now = list(map(int, re.findall(r"\d", words[1])))
        assert FS is None or now == FS
        FS = now
        sample |= set(FS)
        if number == 4:
            assert words[-1] == "sample " + ", ".join(map(str, sorted(sample)))
            return
        draw, _, last, slot = map(int, re.findall(r"\d+", words[-2]))
        leaves, comes = map(int, re.findall(r"\d+", words[-1]))
        sums = list(itertools.accumulate(len(NEIGHBOURS[v]) for v in FS))
        assert last == sums[-1] - 1
        assert slot == sum(total <= draw for total in sums)
        assert FS[slot] == leaves and comes in NEIGHBOURS[leaves]
        FS[slot] = comes


def test_the_law_of_a_step_has_every_entry_once():
    ((_, tree),) = panels("law-of-a-step")
    words = words_of(tree)
    entries = [tuple(map(int, re.findall(r"\d", word))) for word in words if "\u2192" in word]
    assert entries == [(v, w) for v in (0, 4) for w in NEIGHBOURS[v]]
    assert "node 0: 3/5" in words and "node 4: 2/5" in words


@pytest.mark.parametrize("form, owner", [("slots", [4, 4, 4, 4]), ("pins", [1, 1, 0, 0])])
def test_the_dashboard_after_its_cleanup_is_that_worked_by_hand(form, owner):
    """Node 4 at entries 0 and 1, and, added, at 2 and 3; before, it stood at 3 and 4."""
    before, moved, added = panels("cleanup", form=form)
    rows = {"slots": 3, "pins": 1}[form]

    def owned(tree):
        """The first row: what stands in its eight cells."""
        cells = words_of(tree)[1 + 8 :]
        return cells[1:9]

    assert owned(before[1]) == ["", "", "", str(owner[0]), str(owner[1]), "", "", ""]
    assert owned(moved[1]) == [str(owner[0]), str(owner[1]), *[""] * 6]
    assert owned(added[1]) == [*map(str, owner), *[""] * 4]
    free = [words_of(tree)[-1] for _, tree in (before, moved, added)]
    assert free == ["free from 7: 1", "free from 2: 6", "free from 4: 4"]
    assert len(words_of(added[1])) == 1 + 8 + rows * 9 + 1 + 2 + 1


def test_the_transpose_puts_every_value_where_the_dense_one_has_it():
    A, value = np.zeros((6, 6), int), itertools.count(10)
    for v, near in NEIGHBOURS.items():
        for u in near:
            A[v, u] = next(value)
    ((_, tree),) = panels("transpose")
    values = [int(word) for word in words_of(tree) if re.fullmatch(r"[12]\d", word)]
    assert values[:12] == A[A > 0].tolist()
    assert values[12:] == [int(A[u, v]) for v, near in NEIGHBOURS.items() for u in near]


def test_the_alias_table_adds_up_to_the_law():
    ((_, tree),) = panels("alias-table")
    law, degree = Counter(), {v: len(near) for v, near in NEIGHBOURS.items()}
    boxes = list(tree.iter(f"{SVG}rect"))
    names = [word for word in words_of(tree) if re.fullmatch(r"\d-\d", word)]
    for box, name in zip(boxes, names, strict=True):
        law[name] += float(box.get("height")) / 108 / 6
    for name, share in law.items():
        u, v = map(int, name.split("-"))
        assert share == pytest.approx(
            float(Fraction(1, degree[u]) + Fraction(1, degree[v])) / 6, abs=3e-3
        )


def test_what_one_node_needs_is_what_a_search_finds():
    ((panel, _),) = panels("layers-needed")
    need, told = {0}, []
    for layer in (3, 2, 1, 0):
        told.append(f"layer {layer}: nodes {sorted(need)}")
        need = need.union(*(NEIGHBOURS[v] for v in need))
    assert panel.text == "; ".join(told)


def test_neighbourhoods_grow_as_a_search_on_lists_says():
    ((panel, _),) = panels("neighbourhood-growth")
    graph = refimpl.load_dataset("communities").graph
    means = []
    for layers in (1, 2):
        counts = []
        for root in range(50):
            met = edge = {root}
            for _ in range(layers):
                edge = {int(u) for v in edge for u in graph.indices[graph.start[v] : graph.end[v]]}
                met = met | edge
            counts.append(len(met))
        means.append(sum(counts) / 50)
    found = re.findall(r"(\d) layers: ([\d,]+) with all", panel.text)
    assert [int(n.replace(",", "")) for _, n in found[1:3]] == [round(mean) for mean in means]
    assert found[0] == ("0", "1")


def test_rounds_share_no_link_and_carry_everything():
    """Each GPU hangs on a switch, each switch on the host: a way is up, perhaps over, and down."""
    carried = []
    for panel, _ in panels("gpus-and-rounds"):
        pairs = [tuple(map(int, pair.split(" \u2192 "))) for pair in panel.text.split("; ")]
        used = Counter()
        for source, target in pairs:
            used.update([("up", source), ("down", target)])
            if source // 2 != target // 2:
                used.update([("switch up", source // 2), ("switch down", target // 2)])
        assert max(used.values()) == 1
        carried += pairs
    assert sorted(carried) == [(a, b) for a in range(4) for b in range(4) if a != b]
    assert len(panels("gpus-and-rounds")) == 5


def test_the_policy_by_hand():
    ((panel, _),) = panels("policy")
    assert panel.text == (
        "node 1, norm 0.1, computed: admitted; node 2, norm 0.2, read: stays; "
        "node 3, norm 0.5, read: evicted; node 0, norm 0.9, computed: not kept"
    )


def test_the_ring_buffer_by_hand():
    """Slots of (node, stamp) after each iteration, and where the header stands."""
    by_hand = [
        ([(2, 0), (3, 0)], 2),
        ([(2, 0), (1, 1)], 2),
        ([(2, 0), (1, 1)], 2),
        ([(2, 3), (1, 1)], 1),
        ([(2, 3), (1, 4)], 2),
    ]
    for (panel, tree), (slots, head) in zip(panels("ring-buffer"), by_hand, strict=True):
        found = re.findall(r"embedding of node (\d), stamp (\d)", panel.text)
        assert [tuple(map(int, pair)) for pair in found] == slots
        assert panel.text.endswith(f"The header is at slot {head}.")
        assert words_of(tree)[-4:-1] == ["x of 2", "x of 1", "x of 0"]


def test_pruning_by_hand():
    before, after = panels("pruned")
    assert "5 features loaded" in words_of(before[1])
    assert "end of layer 1: 3, 5, 7, 9" in words_of(before[1])
    assert "4 features loaded" in words_of(after[1])
    assert "end of layer 1: 3, 5, 7, 7" in words_of(after[1])


def test_pools_take_the_time_that_the_page_says():
    """Four steps of t_s = 2 and t_u = 1: 4 (2 + 1), 4 (2 / 2 + 1), and 2 + 4 max(2 / 2, 1)."""
    ends = [int(words_of(tree)[-2]) for _, tree in panels("pool-timeline")]
    assert ends == [12, 8, 6]


def test_the_model_of_eta_is_what_samplers_count():
    """Where no node is cut short; the printed dots are means, the curve is an expectation."""
    ((panel, _),) = panels("eta-tradeoff")
    counted = {
        float(eta): float(cost) for eta, cost in re.findall(r"eta ([\d.]+): (\d+\.\d)", panel.text)
    }
    deg = refimpl.lab.data.karate().degrees()
    d_e = float((deg**2).sum() / deg.sum())
    for eta in (2.0, 3.0, 4.0, 6.0):
        assert counted[eta] == pytest.approx(eta + (2 + 1 / (eta - 1)) * d_e, rel=0.03)


def test_columns_of_features_are_one_lane_s_in_one_round():
    for panel, tree in panels("feature-parts"):
        rounds = [
            list(map(int, re.findall(r"\d", row)))
            for row in re.findall(r"parts ([\d, ]+)", panel.text)
        ]
        assert sorted(itertools.chain(*rounds)) == list(range(6))
        lanes = [int(word) for word in words_of(tree) if re.fullmatch(r"\d", word)][:12:2]
        assert lanes == [
            next(row.index(part) for row in rounds if part in row) for part in range(6)
        ]


def test_shapes_of_the_training_step():
    ((_, tree),) = panels("sage-step")
    shapes = [
        word.rpartition(": ")[2] for word in words_of(tree) if "\u00d7" in word and ": " in word
    ]
    assert shapes[:2] == ["4 \u00d7 2", "4 \u00d7 2"] and shapes.count("4 \u00d7 1") == 2


def test_pins_lead_to_tiles_and_columns():
    ((_, tree),) = panels("pins-and-tiles")
    words = words_of(tree)
    assert "tile 0: node 0" in words and "pins 0 to 2" in words
    assert "tile 1: node 4" in words and "pins 3 to 4" in words
    assert "column 1: start 3," in words


def test_the_course_graph_has_its_degrees():
    ((panel, tree),) = panels("course-graph")
    for v, near in NEIGHBOURS.items():
        assert f"node {v} has degree {len(near)}" in panel.text
    assert len(list(tree.iter(f"{SVG}line"))) == sum(map(len, NEIGHBOURS.values())) // 2


def test_the_map_leads_to_every_page_of_the_course():
    links = [a.get("href") for _, tree in panels("concept-map") for a in tree.iter(f"{SVG}a")]
    known = {f"page:learn/{page.stem}" for page in (DOCS / "learn").glob("*.md")}
    assert set(links) == known - {f"page:learn/{name}" for name in ("index", "why", "notation")}
    assert len(links) == len(set(links))
