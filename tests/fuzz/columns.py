"""Tables of nodes and edges: small valid ones, ways of damaging their columns, what they mean."""

import tempfile
from pathlib import Path

import numpy as np

import refimpl
from refimpl.lab.data.convert import convert

N = 9
TITLES = (
    *("id", "node", "name", "label", "y", "class", "split", "train_mask", "val_mask", "test_mask"),
    *(
        "source",
        "target",
        "src",
        "dst",
        "u",
        "v",
        "weight",
        "w",
        "x",
        "Unnamed: 0",
        "",
        " ID ",
        "A",
    ),
)
CELLS = (
    *("", "a1", "a9", "zz", "-1", "0", "1", "2", "nan", "NA", "None", "inf", "1e400", "True", "x"),
    *("train", "Valid", "dev", "tset", " test ", "0.5", '"', '"a', "1;2", "1,2", "\t", "9" * 40),
)


def columns_of_nodes(masks):
    """Return the columns of a table of nodes, by title."""
    columns = {
        "id": [f"a{v}" for v in range(N)],
        "x": [v / 2 for v in range(N)],
        "label": ["pq"[v % 2] for v in range(N)],
        "height": [v % 4 for v in range(N)],
    }
    parts = [("train", "train", "val", "test", "")[v % 5] for v in range(N)]
    if not masks:
        return columns | {"split": parts}
    return columns | {
        f"{part}_mask": [int(one == part) for one in parts] for part in ("train", "val", "test")
    }


def write_tables(folder):
    """Write pairs of tables: with a split, with masks and weights, with tabs and weights."""
    edges = {
        "source": [f"a{v}" for v in range(N)],
        "target": [f"a{v * 2 % (N - 1)}" for v in range(N)],
    }
    weights = {"weight": [v * 2 % 5 + 1 for v in range(N)], **edges}
    for name, masks, held, separator in (
        ("plain", False, edges, ","),
        ("masks", True, weights, ";"),
        ("tabs", False, weights, "\t"),
    ):
        place = folder / name
        place.mkdir(parents=True)
        for file, columns in (("edges", held), ("nodes", columns_of_nodes(masks))):
            rows = [list(columns), *zip(*columns.values(), strict=True)]
            lines = [separator.join(map(str, row)) for row in rows]
            (place / f"{file}.csv").write_text("\n".join(lines) + "\n")


# ---- damage ------------------------------------------------------------------------------------


def cells_of(data):
    """Return the cells of a table, and what separates them."""
    text = data.decode()
    separator = max(",;\t", key=text.count)
    return [line.split(separator) for line in text.splitlines()], separator


def on_cells(change):
    """Return a way of damaging bytes of one that changes rows of cells."""

    def way(data, rng):
        rows, separator = cells_of(data)
        return "".join(separator.join(row) + "\n" for row in change(rows, rng)).encode()

    return way


def shuffled(rows, rng):
    """Put the columns in another order."""
    order = rng.sample(range(len(rows[0])), len(rows[0]))
    return [[row[i] for i in order] for row in rows]


def renamed(rows, rng):
    """Give a column another title."""
    rows[0][rng.randrange(len(rows[0]))] = rng.choice(TITLES)
    return rows


def swapped(rows, rng):
    """Let two columns change titles."""
    i, j = rng.choices(range(len(rows[0])), k=2)
    rows[0][i], rows[0][j] = rows[0][j], rows[0][i]
    return rows


def without_titles(rows, rng):
    """Leave the first line out."""
    return rows[1:]


def dropped(rows, rng):
    """Leave a column out."""
    i = rng.randrange(len(rows[0]))
    return [row[:i] + row[i + 1 :] for row in rows]


def doubled(rows, rng):
    """Write a column twice, perhaps under another title."""
    i, title = rng.randrange(len(rows[0])), rng.choice((*TITLES, rows[0][0]))
    return [[*row, title if at == 0 else row[i]] for at, row in enumerate(rows)]


def numbered(rows, rng):
    """Put the number of each row in front, as pandas does."""
    return [[str(at - 1) if at else "", *row] for at, row in enumerate(rows)]


def changed(rows, rng):
    """Write something else in one cell, or in a whole column."""
    i, cell = rng.randrange(len(rows[0])), rng.choice(CELLS)
    some = rows[1:] if rng.random() < 0.3 else [rng.choice(rows)]
    for row in some:
        row[i] = cell
    return rows


def moved_rows(rows, rng):
    """Write the rows in another order, one of them twice or not at all."""
    body = rng.sample(rows[1:], len(rows) - 1)
    return [rows[0], *body[rng.randrange(2) :], *body[: rng.randrange(2)]]


def separated(data, rng):
    """Separate cells by another character."""
    rows, separator = cells_of(data)
    return data.replace(separator.encode(), rng.choice((b",", b";", b"\t", b" ", b"|", b", ")))


COLUMNS = (
    *map(on_cells, (shuffled, renamed, swapped, without_titles, dropped, doubled)),
    *map(on_cells, (numbered, changed, changed, moved_rows)),
    separated,
)


# ---- meaning -----------------------------------------------------------------------------------


def load_tables(folder):
    """Load two tables, also with their columns and rows in another order, and converted.

    All have to be the same data set, or be refused.
    """
    found = refimpl.load_dataset(folder / "edges.csv", features=folder / "nodes.csv")
    with tempfile.TemporaryDirectory() as other:
        made = Path(other, "made")
        convert(folder / "edges.csv", made, features=folder / "nodes.csv")
        compare(found, refimpl.load_dataset(made), "converted")
        for name in ("edges", "nodes"):
            data = (folder / f"{name}.csv").read_bytes()
            Path(other, f"{name}.csv").write_bytes(turned(data, name == "edges"))
        try:
            again = refimpl.load_dataset(
                Path(other, "edges.csv"), features=Path(other, "nodes.csv")
            )
        except ValueError:
            return found  # without titles the order is all that tells columns apart
        compare(found, again, "with columns in another order")
    return found


def turned(data, rows_too):
    """Return a table with its columns, and its rows if asked for, in reverse; quoted ones as is."""
    if b'"' in data:
        return data
    rows, separator = cells_of(data)
    if len({len(row) for row in rows}) != 1:
        return data
    rows = [rows[0], *(rows[:0:-1] if rows_too else rows[1:])]
    return "".join(separator.join(row[::-1]) + "\n" for row in rows).encode()


def compare(one, two, how):
    """Raise RuntimeError unless two data sets are the same except for the order of features."""
    same = {
        "names": np.array_equal(one.node_names, two.node_names),
        "labels": np.array_equal(one.labels, two.labels),
        "classes": one.class_names == two.class_names,
        "graph": np.array_equal(one.graph.indices, two.graph.indices),
        "features": sorted(one.features.T.tolist()) == sorted(two.features.T.tolist()),
        "weights": np.array_equal(weights_of(one), weights_of(two)),
        **{part: np.array_equal(getattr(one, part), getattr(two, part)) for part in PARTS},
    }
    if not all(same.values()):
        raise RuntimeError(f"{how} it has other {min(same, key=same.get)}")


def weights_of(data):
    """Return the weights of the entries of a graph, 1 where it has none."""
    return getattr(data.graph, "weights", np.ones(data.graph.e))


PARTS = ("train", "val", "test")
