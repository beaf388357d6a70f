"""What the cases that fail have in common, and the cases that pass have not."""

from refimpl.lab.apps.conformance.encode import number
from refimpl.lab.apps.course.differences import is_array, is_list

LARGE = 2**53
MANY = 10**6
MOST = 2  # facts that are told
OMITTED = {"WORKED", "LARGE_WORD"}  # flags that say nothing to who writes Python
COUNTED = "the right answer's "
WEAK = " is neither 0 nor 1"  # which much else may explain better
GIVEN, LACKING = " is given", " is not given"


def facts(file, case):
    """Return what holds for a case: a dict from a clause, such as "m is 1", to itself or a flag's.

    The flags of the case come first, then what can be seen in its arguments, then what is counted
    in the right answer.
    """
    found = [_flag(file, flag) for flag in case["flags"] if flag not in OMITTED]
    for name, value in case["args"].items():
        found += _of_argument(name, value)
    found += _of_result(case)
    return list(dict.fromkeys(found))


def _flag(file, flag):
    return f"{flag}: {file['flags'][flag]}"


def _of_argument(name, value):
    """Yield what is to be said of an argument."""
    value = number(value)
    if isinstance(value, bool) or (isinstance(value, str) and value):
        yield f"{name} is {_shown(value)}"
    elif value is None:
        yield f"{name}{LACKING}"
    elif isinstance(value, int | float):
        large = isinstance(value, int) and value >= LARGE
        yield f"{name} is 2**53 or more" if large else f"{name} is a single number"
        if MANY <= abs(value) < LARGE:
            yield f"{name} is a very large number"
        elif not large:
            yield f"{name} is {value}" if value in (0, 1) else f"{name}{WEAK}"
            if value:
                yield f"{name} is not 0"
    elif is_array(value):
        yield from _of_array(name, value)
    elif is_list(value):
        yield f"{name} is empty" if not value else f"{name} is not empty"
        yield f"{name} has {_count(len(value))}"
    elif isinstance(value, dict) and "graph" in value:
        yield from _of_graph(name, value["graph"])
    elif isinstance(value, dict):
        kind = value.get("type")
        if kind:
            yield f"{name} is of type {kind}"
        if kind == "Block":
            yield from _of_block(name, value["fields"])
        for part, inner in value["fields"].items():
            if kind != "Block":
                yield from _of_argument(f"{name}.{part}", inner)
    if value is not None and not isinstance(value, bool | str | int | float):
        yield f"{name}{GIVEN}"


def _shown(value):
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


def _count(items):
    return f"{items} item" if items == 1 else f"{items} items"


def _of_array(name, value):
    if value["shape"]:
        yield f"{name} is an array"
    data = [number(x) for x in value["data"]]
    yield f"{name} is empty" if not data else f"{name} is not empty"
    if value["dtype"] == "float32":
        yield f"{name} is float32"
    if len(set(data)) < len(data):
        yield f"{name} has equal numbers"
    if any(isinstance(x, int) and not isinstance(x, bool) and x >= LARGE for x in data):
        yield f"{name} has numbers of 2**53 or more"
    if len(value["shape"]) == 1 and sorted(map(float, data)) != [float(x) for x in data]:
        yield f"{name} does not ascend"


def _of_graph(name, graph):
    indptr, indices = (_ids(graph[part]) for part in ("indptr", "indices"))
    rows = [indices[a:b] for a, b in zip(indptr, indptr[1:], strict=False)]
    if any(v in row for v, row in enumerate(rows)):
        yield f"{name} has a self-loop"
    if not rows:
        yield f"{name} has no nodes"
        return
    if not indices:
        yield f"{name} has no edges"
    else:
        yield f"{name} has edges"
        if not all(rows):
            yield f"{name} has a node without neighbours"
    if len(set(map(len, rows))) > 1:
        yield f"{name} has nodes of different degrees"


def _of_block(name, block):
    start, end = (_ids(block[part]) for part in ("start", "end"))
    if any(a == b for a, b in zip(start, end, strict=True)):
        yield f"{name} has an empty row"
    if any(b < a for b, a in zip(end, [*start[1:], len(_ids(block["indices"]))], strict=True)):
        yield f"{name} has entries that belong to no row"


def _ids(value):
    return value["data"] if is_array(value) else value


def _of_result(case):
    """Yield which counters of the right answer are above 0."""
    result = case.get("result")
    parts = result.get("fields", {}) if isinstance(result, dict) else {}
    counters = parts.get("counters")
    if isinstance(counters, dict):
        for name, value in counters["fields"].items():
            if number(value) > 0:
                yield f"{COUNTED}{name} is above 0"


def shared(file, failing, passing):
    """Return what sets the failing cases apart, as sentences.

    Parameters
    ----------
    file : dict
        Of vectors.
    failing, passing : lists of cases
    """
    if not failing or not passing:
        return []
    bad, good = ([facts(file, case) for case in cases] for cases in (failing, passing))
    said = {fact for one in (*bad, *good) for fact in one}
    moot = {fact for fact in said if fact.replace(GIVEN, LACKING) not in said}
    moot = {fact for fact in moot if fact.endswith(GIVEN)}
    bad, good = ([[f for f in one if f not in moot] for one in some] for some in (bad, good))
    in_all = [fact for fact in bad[0] if all(fact in one for one in bad)]
    apart = [fact for fact in in_all if not any(fact in one for one in good)]
    if apart:
        counted = [fact for fact in apart if fact.startswith(COUNTED)]
        apart = [fact for fact in apart if fact not in counted[1:]]
        apart = [fact for fact in apart if not fact.endswith(WEAK)] or apart[:1]
        several = f"the {len(failing)} failing cases share"
        who = several if len(failing) > 1 else "the failing case has"
        return [f"What {who}, and no passing one: {fact}" for fact in apart[:MOST]]
    only = [fact for fact in good[0] if all(fact in one for one in good)]
    only = [fact for fact in only if not any(fact in one for one in bad)]
    if only:
        who = "the passing cases share" if len(passing) > 1 else "the passing case has"
        return [f"What {who}, and no failing one: {fact}" for fact in only[:MOST]]
    if len(failing) > 1:
        rest = {fact: sum(fact in one for one in good) for fact in in_all}
        rest = {fact: n for fact, n in rest.items() if n <= len(good) / 4}
        best = sorted(rest, key=lambda fact: rest[fact])[:1]
        return [
            f"What the {len(failing)} failing cases share, and only {rest[fact]} of {len(good)} "
            f"passing ones: {fact}"
            for fact in best
        ]
    return []
