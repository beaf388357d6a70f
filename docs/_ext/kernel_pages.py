"""Directives of the pages of docs/kernels, with the name of a kernel.

kernel-about         where it comes from, its vectors, the links to what explains it
kernel-cases         what is required and refused, the flags of its vectors; with the cases of each

The tables of cases are folded.
"""

import re
from functools import cache

from algorithms import pages_of_algorithms
from api_reference import path_of
from generated import box, extension, folded, plain, table

from refimpl.lab.apps.conformance import requirements, vectors
from refimpl.lab.apps.conformance.report import NAMES

MOST_CASES = 5


@cache
def files():
    """Return a dict from the name of each kernel to its file of vectors."""
    return {file["function"]: file for file in vectors.load()}


def kernel_about(kernel):
    """Return a paragraph: where a kernel comes from, and what asks it."""
    file = files()[kernel]
    source, cases, compare = file["source"], file["cases"], file["compare"]
    place = source["place"]
    if source["paper"] != "common":
        place = f"{NAMES[source['paper']]} {place}"
    if source["lines"]:
        several = re.search("[-,]", source["lines"])
        place += f", {'lines' if several else 'line'} {source['lines'].replace('-', '–')}"
    parts = [f"*{place}*", *learned(source), f"reference {{py:obj}}`{path_of(kernel)}`"]
    errors = sum("error" in case for case in cases)
    parts.append(f"{len(cases)} cases, {errors} of them errors")
    within = f"floats within {compare.get('atol', 0):g} + {compare.get('rtol', 0):g} × their size"
    parts.append(within if compare["rule"] == "close" else "compared exactly")
    if any("states" in case for case in cases):
        parts.append("with states")
    if file["writes"]:
        parts.append("writes into " + ", ".join(f"`{name}`" for name in file["writes"]))
    return box("kernel-about", " · ".join(parts))


def learned(source):
    """Return links to the pages that explain the algorithms a file of vectors is from."""
    if not source["place"].startswith("Algorithm"):
        return []
    taught = pages_of_algorithms()
    keys = [f"{source['paper']}:{number}" for number in re.findall("[0-9]+", source["place"])]
    pages = {taught[key]: key for key in reversed(keys) if key in taught}
    return [f"[explained](/{page}.md#{key.replace(':', '-')})" for page, key in pages.items()]


def kernel_cases(kernel):
    """Return three folded tables, each row with its cases: requirements, refusals, flags.

    The first row of refusals that is so says the error.
    """
    file = files()[kernel]
    required = [(f"`{name}`", plain(says), of) for name, says, of in requirements.of_kernel(kernel)]
    flags = [
        (f"`{flag}`", plain(meaning), [one["id"] for one in file["cases"] if flag in one["flags"]])
        for flag, meaning in file["flags"].items()
    ]
    overlooked = "what a port that fails there has overlooked"
    tables = (
        ("{}", "requirement", ("requirement", "", "cases"), required),
        ("What is refused: {}", "row", ("error", "when", "cases"), requirements.refusals(kernel)),
        ("{} of its cases", "flag", ("flag", overlooked, "cases"), flags),
    )
    made = []
    for summary, word, titles, rows in tables:
        cells = [(name, words, some(cases)) for name, words, cases in rows]
        text = table(titles, cells, (), "kernel-table")
        made.append(folded(summary.format(counted(rows, word)), text))
    return "\n".join(made)


def counted(rows, word):
    """Return how many rows there are, in words."""
    return f"{len(rows)} {word}{'' if len(rows) == 1 else 's'}"


def some(cases):
    """Return the names of cases, of many the first."""
    named = ", ".join(f"`{case}`" for case in cases[:MOST_CASES])
    more = len(cases) - MOST_CASES
    return f"{named} and {more} more" if more > 0 else named


setup = extension(kernel_about, kernel_cases)
