"""docs/algorithms.toml: every printed line has its mark in the reference, every mark its line."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import lines_in_order
import pytest
from docs_ext import DOCS, paper_lines

from refimpl.lab.apps.papers import Gist

ALGORITHMS = paper_lines.load_algorithms()
PAPERS = {"ipdps19": 6, "jpdc21": 8, "vldb24": 1}  # how many numbered algorithms each has
ERRATA = paper_lines.read_errata()
TESTS = Path(__file__).parent


def test_every_numbered_algorithm_is_listed():
    listed = sorted((a["paper"], a["number"]) for a in ALGORITHMS.values())
    assert listed == [(p, i + 1) for p, count in sorted(PAPERS.items()) for i in range(count)]


@pytest.mark.parametrize("key", ALGORITHMS)
def test_every_line_has_a_mark_and_every_mark_a_line(key):
    """Or it is silent: "end for" and the like. A restated algorithm has the other's code."""
    lines = paper_lines.paper_lines(key)
    assert [line.number for line in lines] == list(range(1, ALGORITHMS[key]["lines"] + 1))
    assert all(line.code or line.number in ALGORITHMS[key]["silent"] for line in lines)


@pytest.mark.parametrize(
    "key, place, numbers",
    [pytest.param(*found, id=" ".join(found[:2])) for found in lines_in_order.sequences()],
)
def test_lines_stand_in_the_papers_order(key, place, numbers):
    """Those of each function; a line may stand elsewhere only where an entry says why."""
    lines_in_order.check_order(key, place, numbers)


def test_reasons_for_another_order_name_a_function_with_marks():
    known = {(key, place) for key, place, _ in lines_in_order.sequences()}
    for key, algorithm in ALGORITHMS.items():
        for entry in algorithm.get("out_of_order", ()):
            assert (key, entry["where"]) in known
            assert len(entry["why"].split()) > 4 and "#" not in entry["why"]


def test_a_line_out_of_order_and_a_reason_too_many_are_noticed(monkeypatch):
    place = "refimpl.graph.transpose:transpose_perm"
    lines_in_order.check_order("jpdc21:6", place, [1, 2, 2, 5])
    with pytest.raises(ValueError, match=r"lines \[3\] stand behind"):
        lines_in_order.check_order("jpdc21:6", place, [1, 4, 3, 5])
    monkeypatch.setattr(lines_in_order, "excuses", lambda key, place: {4: "there is a reason"})
    lines_in_order.check_order("jpdc21:6", place, [1, 4, 3, 5])
    with pytest.raises(ValueError, match="line 4 needs no reason"):
        lines_in_order.check_order("jpdc21:6", place, [1, 3, 4, 5])


ITERATIONS = {  # one iteration of training: the function that is whole, and its lines
    "refimpl.history.iteration:fresh_iteration": ("vldb24:1", range(5, 21), 13),
    "refimpl.training.graph_iteration:graph_iteration": ("jpdc21:1", range(3, 16), 8),
}


@pytest.mark.parametrize("place", ITERATIONS)
def test_one_iteration_is_one_function_in_the_papers_order(place):
    """Lines 5 to 20 of FreshGNN's algorithm, 3 to 15 of JPDC'21's; `pytest -s` shows them."""
    key, printed, _ = ITERATIONS[place]
    path, first, source = paper_lines.source_of(place)
    rows = source.splitlines()
    found = paper_lines.marks(source)
    numbers = lines_in_order.numbers_in_order(found, None)
    silent = ALGORITHMS[key]["silent"]
    assert sorted(set(numbers)) == [n for n in printed if n not in silent]
    assert numbers == sorted(numbers) and not lines_in_order.excuses(key, place)
    for mark in found:
        print(f"{mark.lines[0]:2} {path}:{first + mark.row - 1} {rows[mark.row - 1].strip()}")


@pytest.mark.parametrize("place", ITERATIONS)
def test_two_lines_of_an_iteration_that_change_places_are_noticed(place):
    """Each line of the function with the next that is another line of the paper."""
    key, _, pairs = ITERATIONS[place]
    source = paper_lines.source_of(place)[2]
    marks = [mark for mark in paper_lines.marks(source) if mark.lines and mark.prefix is None]
    swapped = 0
    for mark, after in zip(marks, marks[1:], strict=False):
        if mark.lines == after.lines:
            continue
        rows = source.splitlines()
        first, second = (rows[m.row - 1].strip() for m in (mark, after))
        rows[mark.row - 1] = rows[mark.row - 1].replace(first, second)
        rows[after.row - 1] = rows[after.row - 1].replace(second, first)
        changed = paper_lines.marks("\n".join(rows))
        with pytest.raises(ValueError, match=rf"lines \[.*{mark.lines[0]}"):
            lines_in_order.check_order(key, place, lines_in_order.numbers_in_order(changed, None))
        swapped += 1
    assert swapped == pairs


SAMPLED = "refimpl.training.sampled_iteration:sampled_iteration"


def iteration_statements(source):
    """Return the statements of an iteration, the docstring and what it returns apart."""
    (tree,) = ast.parse(source).body
    return [ast.unparse(part) for part in tree.body[1:] if not isinstance(part, ast.Return)]


def statements_from_the_features_on(place):
    """Return the statements of an iteration of FreshGNN from line 11 on, but for the last two."""
    (tree,) = ast.parse(paper_lines.source_of(place)[2]).body
    statements = [ast.unparse(part) for part in tree.body]
    first = next(n for n, part in enumerate(statements) if part.startswith("H = "))
    return statements[first:-2]


def test_lazy_draws_change_nothing_behind_line_10():
    """The iteration with lazy draws goes on as `fresh_iteration`, on blocks by another name."""
    whole, _ = ITERATIONS
    lazy = statements_from_the_features_on("refimpl.history.lazy_iteration:lazy_fresh_iteration")
    as_printed = statements_from_the_features_on(whole)
    assert lazy == [part.replace("live.blocks[l - 1]", "blocks[l]") for part in as_printed]
    assert len(lazy) > 5


def check_sampled_iteration(source):
    """Raise ValueError unless an iteration has the order of `graph_iteration` and of its marks.

    Only the minibatch differs, and that each layer has a matrix of its own.
    """
    marks = [int(number) for number in re.findall(r"  # H2:(\d+)(?:-\d+)?$", source, re.M)]
    if marks != [1, 8, 9, 10]:
        raise ValueError(f"lines of Hamilton et al. 2017, Algorithm 2: {marks}")
    graph = iteration_statements(paper_lines.source_of(next(reversed(ITERATIONS)))[2])
    sampled = [one.replace("A[l - 1]", "A") for one in iteration_statements(source)]
    names = [one.partition(" = ")[0].strip("()") for one in sampled[:3]]
    if names != ["mfg, A", "X", "Y, node_weights"] or sampled[3:] != graph[4:]:
        raise ValueError(f"not the statements of graph_iteration: {sampled}")


def test_sampled_neighbors_are_trained_on_in_the_papers_order():
    check_sampled_iteration(paper_lines.source_of(SAMPLED)[2])


def test_two_lines_of_the_sampled_iteration_that_change_places_are_noticed():
    """Each line with the next of the same depth."""
    source = paper_lines.source_of(SAMPLED)[2]
    rows = source.splitlines()
    begin = rows.index(next(row for row in rows if row.startswith("    mfg, A = ")))
    swapped = 0
    for k in range(begin, len(rows) - 2):
        one, other = rows[k : k + 2]
        if all(row.strip() and row.startswith("    ") and row[4] != " " for row in (one, other)):
            if one.endswith(":") or other.endswith(":"):
                continue  # a block
            changed = "\n".join([*rows[:k], other, one, *rows[k + 2 :]])
            with pytest.raises(ValueError, match="lines of Hamilton|not the statements"):
                check_sampled_iteration(changed)
            swapped += 1
    assert swapped == 3


def test_no_algorithm_is_in_the_workshop():
    """Each numbered algorithm is in refimpl/<topic>; refimpl/lab only calls them."""
    for key, algorithm in ALGORITHMS.items():
        for place in algorithm.get("functions", ()):
            assert place.startswith("refimpl.") and not place.startswith("refimpl.lab."), key


def test_algorithms_in_more_than_one_function_say_why():
    """And no other: "one algorithm is one function in one file" holds for those."""
    for key, algorithm in ALGORITHMS.items():
        if "same_as" not in algorithm:
            places = {
                (code.path, owner(code))
                for line in paper_lines.paper_lines(key)
                for code in line.code
            }
            assert (len(places) > 1) == ("split" in algorithm), (key, places)
            assert "split" not in algorithm or len(algorithm["split"].split()) > 4


def owner(code):
    """Return the function or class of a file that a line of code stands in."""
    source = dict(paper_lines.whole_reference())[code.path]
    return lines_in_order.innermost(source, code.row).partition(".")[0]


def test_a_restated_algorithm_maps_to_lines_with_code():
    for algorithm in ALGORITHMS.values():
        if "same_as" in algorithm:
            other = ALGORITHMS[f"jpdc21:{algorithm['same_as']}"]
            there = {line for _, line in algorithm["line_pairs"]}
            assert there <= set(range(1, other["lines"] + 1)) - set(other["silent"])


def test_a_lost_mark_is_noticed(monkeypatch):
    """The checks above can fail: take one mark away, or add one too many."""
    source_of = paper_lines.source_of
    path, row, source = source_of("refimpl.graph.transpose:transpose_perm")
    numbers = [n for mark in paper_lines.marks(source) for n in mark.lines]
    assert numbers == [1, 2, 3, 4, 5, 6, 7, 8, 11]
    seven = "# 7 E-A3: the permutation, not values"
    for changed, message in (
        (source.replace(f"  {seven}", ""), r"lines without a mark: \[7\]"),
        (source.replace(f"  {seven}", "  # 7 12"), r"marks without a line: \[12\]"),
    ):
        monkeypatch.setattr(paper_lines, "source_of", lambda place, s=changed: (path, row, s))
        with pytest.raises(ValueError, match=message):
            paper_lines.paper_lines("jpdc21:6")


def check_paraphrases(found):
    """Raise ValueError unless all lines that are not silent have words, and no others have."""
    if unknown := set(found) - set(ALGORITHMS):
        raise ValueError(f"paraphrases of {sorted(unknown)}, which are no algorithms")
    for key, algorithm in ALGORITHMS.items():
        printed = set(range(1, algorithm["lines"] + 1)) - set(algorithm["silent"])
        said = {int(number) for number in found.get(key, {})}
        for what, lines in (
            ("lines without words", printed - said),
            ("words without a line", said - printed),
        ):
            if lines:
                raise ValueError(f"{key}: {what}: {sorted(lines)}")


def test_every_line_has_words_and_all_words_a_line():
    check_paraphrases(paper_lines.load_paraphrases())


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda words: words["jpdc21:2"].pop("4"), r"jpdc21:2: lines without words: \[4\]"),
        (lambda words: words["jpdc21:2"].update({"8": "end"}), r"words without a line: \[8\]"),
        (lambda words: words["vldb24:1"].update({"23": "more"}), r"words without a line: \[23\]"),
        (lambda words: words.pop("ipdps19:6"), r"ipdps19:6: lines without words: \[1, 2, 3, 4, 5"),
        (lambda words: words.update({"jpdc21:9": {}}), r"\['jpdc21:9'\], which are no algorithms"),
    ],
)
def test_words_too_few_and_too_many_are_noticed(change, message):
    words = paper_lines.load_paraphrases()
    change(words)
    with pytest.raises(ValueError, match=message):
        check_paraphrases(words)


def test_words_are_not_the_papers():
    """Sentences of our own: none is printed code, or says twice in a row the same."""
    for key, lines in paper_lines.load_paraphrases().items():
        said = list(lines.values())
        assert all(
            len(words.split()) >= 2 and not re.search("\u2190|<-|:=", words) for words in said
        )
        assert all(a != b for a, b in pairwise(said)), key


@pytest.mark.parametrize("key", ALGORITHMS)
def test_rows_beside_the_code_have_every_line_once(key):
    rows = paper_lines.beside_code(key)
    shown = [line.number for row in rows for line in row.lines]
    silent = ALGORITHMS[key]["silent"]
    assert shown == [n for n in range(1, ALGORITHMS[key]["lines"] + 1) if n not in silent]
    for row in rows:
        assert row.code and all(code in line.code for code in row.code for line in row.lines)


def test_a_call_that_stands_for_many_lines_is_shown_once():
    """`board = Dashboard(..)` is lines 2 to 19 of JPDC'21 Algorithm 3."""
    shown = [code.code for row in paper_lines.beside_code("jpdc21:3") for code in row.code]
    assert sum(code.startswith("board = Dashboard(") for code in shown) == 1
    assert sum(code.startswith("self.IA_live = np.zeros") for code in shown) == 2  # lines 3, 12


def test_errata_stand_with_their_lines():
    """Their gists where the code has them, and ids of those whose place is the line."""
    rows = {
        line.number: [str(gist) for gist in row.errata]
        for row in paper_lines.beside_code("jpdc21:3")
        for line in row.lines
    }
    assert rows[23] == ['E-B8: without the printed "+ 1"']
    assert "E-B21" in rows[14]
    first = paper_lines.beside_code("ipdps19:1")
    assert ["E-A1"] in [[str(gist) for gist in row.errata] for row in first]


@pytest.mark.parametrize(
    "start, shown",
    [
        (
            "def pop_frontier(self, probe: Stream, lanes: Int, l",
            "def pop_frontier(self, probe: Stream, lanes: Int, limit: int) -> int:",
        ),
        (
            "gnn.adam_step(",
            "gnn.adam_step(W, G, adam.m[name], adam.v[name], adam.t, lr=adam.lr)",
        ),
        (
            "out = self.gnn.sage_forward(",
            "out = self.gnn.sage_forward(\n"
            '    A, X, W["W_neigh"], W["W_self"], order, b=W.get("b"), **self.options\n)',
        ),
        ("while idx_pop == NULL:", "while idx_pop == NULL:"),
    ],
)
def test_a_line_of_code_is_shown_as_a_whole_statement(start, shown):
    """Without its comment, and indented as in the function around it."""
    places = [
        (path, row)
        for path, source in paper_lines.whole_reference()
        for row, text in enumerate(source.splitlines(), start=1)
        if text.strip().startswith(start)
    ]
    assert shown in {paper_lines.statement(*place).strip() for place in places}


def test_marks():
    marks = paper_lines.marks(
        "x = 1  # J8:10 E-F9: first; in, first out\n"
        "y = 2  # 3 of them\n"
        "z = 3  # 4-5 I3:6 7\n"
        "# E-B4: no node twice; E-B5: all of them\n"
        "u = 4  # E-B6 is no mark\n"
        "v = 5  # 8 E-B7: the last\n"
        "w = 6  # 9 E-B7 E-B8\n"
    )
    assert [tuple(mark) for mark in marks] == [
        (1, "J8", [10], [Gist("E-F9", "first; in, first out")]),
        (3, None, [4, 5], []),
        (3, "I3", [6, 7], []),
        (
            6,
            None,
            [8],
            [
                Gist("E-B4", "no node twice"),
                Gist("E-B5", "all of them"),
                Gist("E-B7", "the last"),
            ],
        ),
    ]


def gat_equations():
    """Return the (number, equation) pairs of docs/models.md, and those of `gat_backward`."""
    section = (DOCS / "models.md").read_text().split("\n### GAT\n")[1].split("\n### ")[0]
    code = paper_lines.source_of("refimpl.layers.gat:gat_backward")[2]
    return (
        re.findall(r"^\| GAT\.(\d+) \| `(.+?)` \| .+ \|$", section, re.M),
        re.findall(r"  # GAT\.(\d+): (.+)$", code, re.M),
    )


def test_each_line_of_gat_backward_is_an_equation_of_the_page():
    """The same equations under the same numbers, in order, each on a line of code."""
    page, code = gat_equations()
    assert [int(number) for number, _ in page] == list(range(1, 22))
    assert code == page


@pytest.mark.parametrize("key", ALGORITHMS)
def test_every_algorithm_has_its_page(key):
    """With its code, its lines in our words, its errata and an example that is worked there."""
    target = f"({key.replace(':', '-')})="
    pages = [p.read_text() for p in (DOCS / "learn").glob("*.md")]
    (page,) = [text for text in pages if re.search(f"^{re.escape(target)}$", text, re.M)]
    assert re.search(rf"^```{{paper-beside-code}} {key}$", page, re.M)
    errata = [line.split() for line in re.findall(r"^```{errata-of} (.*)$", page, re.M)]
    assert any(key in keys for keys in errata)
    assert "```{worked-example}" in page
    algorithm = ALGORITHMS[key]
    if "same_as" in algorithm:
        algorithm = ALGORITHMS[f"jpdc21:{algorithm['same_as']}"]
    shown = " ".join(re.findall(r"^```{reference-code} (.*)$", page, re.M)).split()
    for place in algorithm["functions"]:
        assert any(
            place == s or place.startswith(f"{s}.") or s.startswith(f"{place}.") for s in shown
        )
