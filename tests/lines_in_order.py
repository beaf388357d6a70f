"""The order of the papers' lines in the code that bears their numbers."""

import ast
from collections import defaultdict

from docs_ext import paper_lines

from refimpl.lab.apps import papers


def numbers_in_order(marks_there, prefix):
    """Return the lines of one algorithm that some Marks name, in the order of the code."""
    return [number for mark in marks_there if mark.prefix == prefix for number in mark.lines]


def innermost(source, row):
    """Return the qualified name of the function or class that a row of a module stands in."""
    return ".".join(
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and node.lineno <= row <= (node.end_lineno or 0)
    )


def sequences():
    """Yield (algorithm, place, lines in the order of the code) of every function with marks.

    Bare marks by the functions that docs/algorithms.toml lists, a class being one; marks with a
    prefix by the class that the algorithm lists, otherwise by the innermost function.
    """
    algorithms = paper_lines.load_algorithms()
    for key, algorithm in algorithms.items():
        for place in algorithm.get("functions", ()):
            numbers = numbers_in_order(paper_lines.marks(paper_lines.source_of(place)[2]), None)
            if numbers:
                yield key, place, numbers
    for path, source in paper_lines.whole_reference():
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        by_place = defaultdict(list)
        for mark in paper_lines.marks(source):
            if mark.prefix is not None:
                place = f"{module}:{innermost(source, mark.row)}"
                listed = algorithms[papers.algorithm_of(mark.prefix)].get("functions", ())
                around = [one for one in listed if place.startswith(f"{one}.")]
                by_place[(around or [place])[0], mark.prefix].append(mark)
        for (place, prefix), found in by_place.items():
            yield papers.algorithm_of(prefix), place, numbers_in_order(found, prefix)


def too_late(numbers):
    """Return the lines that stand behind one that is printed below them, in their order."""
    return [n for k, n in enumerate(numbers) if any(before > n for before in numbers[:k])]


def excuses(key, place):
    """Return a dict from lines of an algorithm to why their marks in a function are elsewhere."""
    return {
        line: entry["why"]
        for entry in paper_lines.load_algorithms()[key].get("out_of_order", ())
        if entry["where"] == place
        for line in entry["lines"]
    }


def check_order(key, place, numbers):
    """Raise ValueError unless the lines ascend, but for those with a reason, all of them needed."""
    reasons = excuses(key, place)
    late = too_late([n for n in numbers if n not in reasons])
    if late:
        raise ValueError(f"{key}: in {place} lines {late} stand behind later ones: {numbers}")
    for line in reasons:
        others = reasons.keys() - {line}
        if not too_late([n for n in numbers if n not in others]):
            raise ValueError(f"{key}: in {place} line {line} needs no reason: {numbers}")
