"""The files of test vectors: made from refimpl, checked, and read."""

import copy
import fnmatch
import inspect
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import refimpl
from refimpl import Graph
from refimpl._support.untrusted_files import reading
from refimpl._support.whole_files import replacing
from refimpl.lab.apps.conformance.case import ERRORS, FLAGS, PAPERS, Case, Kernel, Rule
from refimpl.lab.apps.conformance.cases import kernels
from refimpl.lab.apps.conformance.checking import check_kernel
from refimpl.lab.apps.conformance.compare import first_difference
from refimpl.lab.apps.conformance.encode import (
    UNSEEN,
    Arrays,
    JsonObject,
    archives_in,
    dumps,
    encode,
    fields_of,
    inline,
)
from refimpl.lab.backend import find

FORMAT = "minibatch-gnn-vectors/1"
FOLDER = Path(__file__).parent / "vectors"


def apply(function: Callable[..., Any], args: dict[str, Any]) -> Any:
    """Call `function` with all arguments by their names, `*parts` as one list.

    With `calls`, pairs of a method and its arguments, `function` makes an object: what its methods
    return is the result.
    """
    return prepared(function, args, copy.deepcopy)()


def prepared(
    function: Callable[..., Any],
    args: dict[str, Any],
    kept: Callable[[Any], Any] = lambda result: result,
) -> Callable[[], Any]:
    """Return a function without arguments that does what `apply` does.

    `kept` makes of what a method returns what is kept of it: a later method may change it.
    """
    args, listed = dict(args), []
    calls = args.pop("calls", None)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            listed = args.pop(name)
    if calls is None:
        return lambda: function(*listed, **args)

    def call() -> list[Any]:
        made = function(*listed, **args)
        return [kept(getattr(made, method)(**rest)) for method, rest in calls]

    return call


def filled(function: Callable[..., Any], args: dict[str, Any]) -> dict[str, Any]:
    """Return `args` and, after them, the defaults of the arguments that are not in it."""
    parameters = inspect.signature(function).parameters.values()
    given = [p for p in parameters if p.default is not p.empty and p.name not in UNSEEN]
    defaults = {p.name: p.default for p in given}
    return {**args, **{name: value for name, value in defaults.items() if name not in args}}


def render(kernel: Kernel) -> dict[str, bytes]:
    """Return the files of a kernel's vectors: a dict from name to content.

    Raises
    ------
    ValueError
        If the kernel or a case is not as it must be, or a result worked out by hand is not what
        refimpl returns.
    """
    check_kernel(kernel)
    used = sorted({flag for case in kernel.cases for flag in _flags(case)})
    known = {**FLAGS, **kernel.flags}
    arrays = Arrays(f"{kernel.name}.npz")
    cases = [dumps(_case(kernel, case, arrays)) for case in kernel.cases]
    head = {
        "format": FORMAT,
        "function": kernel.name,
        "source": {"paper": kernel.paper, "place": kernel.place, "lines": kernel.lines},
        "compare": {"rule": kernel.compare.rule, **kernel.compare._asdict()},
        "writes": list(kernel.writes),
        "flags": {flag: known[flag] for flag in used},
    }
    files = {f"{kernel.name}.json": file_of(head, cases)}
    if arrays.arrays:
        files[arrays.file] = _npz(arrays.arrays)
    return files


def file_of(head: JsonObject, cases: Iterable[str]) -> bytes:
    """Return the content of a file of vectors: `cases` are lines of JSON."""
    lines = [f"{json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    return "\n".join(["{", *lines, '"cases": [', ",\n".join(cases), "]}", ""]).encode()


def _npz(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return an npz file of arrays: the same bytes with every version of Python and NumPy."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")  # dated 1980
            member.create_system, member.external_attr = 3, 0o644 << 16
            content = io.BytesIO()
            np.lib.format.write_array(content, array, version=(1, 0), allow_pickle=False)
            archive.writestr(member, content.getvalue())
    return file.getvalue()


def _case(kernel: Kernel, case: Case, arrays: Arrays) -> JsonObject:
    where = f"{kernel.name}/{case.id}"
    function = find(refimpl, kernel.name)
    args = filled(function, case.args)
    line: JsonObject = {"id": case.id, "flags": _flags(case)}
    if case.working:
        line["working"] = case.working
    line["args"] = {name: encode(value, arrays) for name, value in args.items()}
    args = copy.deepcopy(args)
    if case.error is not None:
        _must_raise(where, function, args, ERRORS[case.error])
        return {**line, "error": case.error}
    answer = {"result": apply(function, args)}
    if kernel.writes:
        answer["changed"] = {name: args[name] for name in kernel.writes}
    _check_working(where, kernel, case, answer)
    if kernel.states is not None:
        answer["states"] = kernel.states(**copy.deepcopy(case.args))
    return {**line, **_encoded(answer, arrays)}


def _flags(case: Case) -> list[str]:
    """Return a case's flags, and SELF_LOOP where it is answered for a graph that has one."""
    looped = case.error is None and _has_loop(case.args)
    return [*case.flags, *["SELF_LOOP"] * looped]


def _has_loop(value: Any) -> bool:
    if isinstance(value, Graph):
        return value.self_loops
    fields = fields_of(value)
    parts = value if isinstance(value, list | tuple) and fields is None else (fields or {}).values()
    return any(map(_has_loop, parts))


def _encoded(answer: dict[str, Any], arrays: Arrays | None = None) -> JsonObject:
    """Return result, changed and states as JSON; the latter two are a plain object and a list."""
    line = {"result": encode(answer["result"], arrays)}
    if "changed" in answer:
        line["changed"] = encode(answer["changed"], arrays)["fields"]
    if "states" in answer:
        line["states"] = [encode(state, arrays)["fields"] for state in answer["states"]]
    return line


def _must_raise(
    where: str, function: Callable[..., Any], args: dict[str, Any], kind: type[Exception]
) -> None:
    try:
        apply(function, args)
    except kind:
        return
    raise ValueError(f"{where}: refimpl raised no {kind.__name__}")


def _check_working(where: str, kernel: Kernel, case: Case, answer: dict[str, Any]) -> None:
    """Raise ValueError unless refimpl says what was worked out by hand."""
    if (case.result is None) != (not case.working):
        raise ValueError(f"{where}: a result typed in and its working go together")
    if case.result is None:
        return
    parts = {"result": case.result}
    if kernel.writes:
        parts = {"result": case.result["returned"], "changed": case.result["changed"]}
    for part, worked in parts.items():
        found = first_difference(encode(answer[part]), encode(worked), kernel.compare, part)
        if found:
            raise ValueError(f"{where}: refimpl differs from the working, {found} by hand")


def write(folder: Path = FOLDER) -> tuple[list[str], list[str]]:
    """Write all files into `folder`, then remove vectors of what is no kernel.

    The files of a kernel stay as they are where `check` finds them the same, or the same up to
    rounding.

    Returns
    -------
    written, kept : lists of str
        Names of files.

    Raises
    ------
    ValueError
        As `render`, or if a file stands where one is to go and holds no vectors; nothing is
        written then.
    """
    before = ours(folder)
    kept: list[str] = []
    written: dict[str, bytes] = {}
    for kernel in kernels().values():
        files = _named(kernel)
        for name, content in files.items():
            path = folder / name
            if path.exists() and name not in before and path.read_bytes() != content:
                raise ValueError(f"{path} is no file of vectors: it would be lost")
        if any(verdict == "stale" for verdict, _ in _compare(folder, files, kernel.compare)):
            written |= files
        else:
            kept += files
    for name, content in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with replacing(folder / name) as file:
            file.write(content)
    for name in before - written.keys() - set(kept):
        (folder / name).unlink()
    return sorted(written), sorted(kept)


def ours(folder: Path = FOLDER) -> set[str]:
    """Return the names in `stored` of files that hold vectors, of this or another version.

    A JSON file says so itself, and names the npz file beside it.
    """
    names = stored(folder)
    found = set()
    for name in (name for name in names if name.endswith(".json")):
        text = (folder / name).read_text(encoding="utf-8", errors="replace")
        try:
            form = json.loads(text)["format"]
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
        if str(form).startswith(FORMAT.partition("/")[0] + "/"):
            beside = f"{name[:-5]}.npz"
            found |= {name, beside} if f'"npz":"{Path(beside).name}"' in text else {name}
    return found & names


def stored(folder: Path = FOLDER) -> set[str]:
    """Return the names of the vectors in `folder`: a set of "paper/name"."""
    found = (path for paper in PAPERS for path in (folder / paper).glob("*.*"))
    names = {path.relative_to(folder).as_posix() for path in found if path.is_file()}
    return {name for name in names if name.endswith((".json", ".npz"))}


def check(folder: Path = FOLDER) -> dict[str, list[str]]:
    """Make all vectors again and compare them with the files.

    Returns
    -------
    dict
        "same", "rounding" (a kernel whose floats may be rounded otherwise, by another BLAS or
        processor, and are) and "stale": names of files, the last with what is wrong.
    """
    verdicts: dict[str, list[str]] = {"same": [], "rounding": [], "stale": []}
    unknown = ours(folder)
    for kernel in kernels().values():
        unknown -= {f"{kernel.paper}/{kernel.name}{end}" for end in (".json", ".npz")}
        try:
            files = _named(kernel)
        except Exception as error:  # whatever a changed reference raises
            verdicts["stale"].append(f"{kernel.name}: {type(error).__name__}: {error}")
            continue
        found = _compare(folder, files, kernel.compare)
        for name, (verdict, said) in zip(files, found, strict=True):
            verdicts[verdict].append(f"{name}: {said}" if said else name)
    verdicts["stale"] += [f"{name}: there is no such kernel" for name in sorted(unknown)]
    return verdicts


def _named(kernel: Kernel) -> dict[str, bytes]:
    """Return the files of a kernel by the names that they have in the folder."""
    return {f"{kernel.paper}/{name}": content for name, content in render(kernel).items()}


def _compare(folder: Path, files: dict[str, bytes], rule: Rule) -> list[tuple[str, str | None]]:
    """Return which list of `check` each file of a kernel belongs to, and what is wrong with it."""
    there = {name: (folder / name).is_file() for name in files}
    same = [there[name] and (folder / name).read_bytes() == files[name] for name in files]
    if all(same):
        return [("same", None) for _ in files]
    found = _difference(folder, files, rule) if all(there.values()) else None
    changed = ("stale", found) if found else ("rounding", None)
    verdicts: list[tuple[str, str | None]] = []
    for name, alike in zip(files, same, strict=True):
        missing = "stale", "missing"
        verdicts.append(("same", None) if alike else changed if there[name] else missing)
    return verdicts


def _difference(folder: Path, files: dict[str, bytes], rule: Rule) -> str | None:
    """Return how a kernel's files, JSON first, differ from those in `folder`, or None: rounding."""
    name, *_ = files
    path = folder / name

    def made(beside: str) -> Any:
        return np.load(io.BytesIO(files[f"{path.parent.name}/{beside}"]))

    try:
        old = inline(json.loads(path.read_bytes()), archives_in(path.parent))
        found = _change(old, inline(json.loads(files[name]), made), rule)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return "is no file of vectors"
    return "written in another way" if found is None and rule.rule == "exact" else found


def _change(old: JsonObject, new: JsonObject, rule: Rule) -> str | None:
    """Return what changed but for rounding, or None."""
    before = {case["id"]: case for case in old.pop("cases")}
    after = {case["id"]: case for case in new.pop("cases")}
    if old != new or list(before) != list(after):
        return "its head or its list of cases changed"
    for name, case in after.items():
        pair = _as_list(before[name]), _as_list(case)
        # both ways: a part that only the second has is no difference to `first_difference`
        found = first_difference(*pair, rule, name) or first_difference(*pair[::-1], rule, name)
        if found:
            return found
    return None


def _as_list(case: JsonObject) -> list[list[Any]]:
    """Return a case as a list that can be compared."""
    named = {"args", "changed"}
    return [[k, {"fields": case[k]} if k in named else case[k]] for k in sorted(case)]


def fits(pattern: str, kernel: str, case: str) -> bool:
    """Say whether a case, of the kernel "paper/name", matches a pattern as `load` takes them."""
    name = kernel.split("/")[1]
    names = kernel, name, f"{kernel}/{case}", f"{name}/{case}"
    return any(fnmatch.fnmatchcase(name, pattern) for name in names)


def load(folder: Path = FOLDER, patterns: Sequence[str] = ("*",)) -> list[JsonObject]:
    """Return the files of vectors that match one of `patterns`, as dicts, long arrays written out.

    Parameters
    ----------
    folder : Path
    patterns : sequence of str
        Of "paper/kernel", or of "paper/kernel/case"; the paper may be left out. `*` stands for
        anything. A file has only the cases that match.

    Raises
    ------
    ValueError
        If a file is damaged; it is named.
    """
    files = []
    for name in sorted(name for name in stored(folder) if name.endswith(".json")):
        kernel, path = name.removesuffix(".json"), folder / name
        with reading(path, "test vectors") as opened:
            file = json.load(opened)
            file["cases"] = [
                case for case in file["cases"] if any(fits(p, kernel, case["id"]) for p in patterns)
            ]
            file["cases"] = [inline(case, archives_in(path.parent)) for case in file["cases"]]
        if file["cases"]:
            files.append(file)
    return files
