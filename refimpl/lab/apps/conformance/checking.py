"""Is a Kernel as `case` describes it? Its files are made only if it is."""

import inspect
import math
import re
from collections.abc import Sequence

import refimpl
from refimpl._support import require
from refimpl.lab.apps.conformance.case import ERRORS, EXACT, FLAGS, PAPERS, Case, Close, Kernel
from refimpl.lab.backend import find, homes

ID = re.compile(r"[A-Za-z0-9_]+")  # of a case: a word that --only and --show take


def check_kernel(kernel: Kernel) -> None:
    """Raise ValueError unless a Kernel and its cases can be made files of.

    The error names the kernel, or "kernel/case", and the field.
    """
    if not isinstance(kernel.name, str) or kernel.name not in homes():
        raise ValueError(f"name must be a kernel of refimpl, got {require.shown(kernel.name)}")
    if not isinstance(kernel.paper, str) or kernel.paper not in PAPERS:
        raise ValueError(
            f"{kernel.name}: there is no paper {require.shown(kernel.paper)}: paper must be one of "
            f"{', '.join(PAPERS)}"
        )
    _line(kernel.name, "place", kernel.place, 'a place in the paper, such as "Algorithm 6"')
    if kernel.lines != "":
        _line(kernel.name, "lines", kernel.lines, 'lines such as "1-11", or ""')
    _check_rule(kernel)
    _check_flags(kernel)
    parameters = inspect.signature(find(refimpl, kernel.name)).parameters
    unknown = [x for x in _words(kernel.name, "writes", kernel.writes) if x not in parameters]
    if unknown:
        raise ValueError(f"{kernel.name}: writes must name arguments, got {unknown[0]!r}")
    if kernel.states is not None and not callable(kernel.states):
        raise ValueError(f"{kernel.name}: states must be a function or None")
    if not isinstance(kernel.cases, tuple | list):
        raise ValueError(f"{kernel.name}: cases must be a tuple of Case")
    for case in kernel.cases:
        _check_case(kernel, case)
    ids = [case.id for case in kernel.cases]
    if len(set(ids)) < len(ids):
        raise ValueError(f"{kernel.name}: two cases have one id")


def _line(where: str, name: str, value: object, accepted: str) -> None:
    """Raise ValueError unless a field is some words in one line."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError(f"{where}: {name} must be {accepted}, got {require.shown(value)}")


def _words(where: str, name: str, value: object) -> Sequence[str]:
    """Return a field if it is a tuple of words, or raise ValueError."""
    if not isinstance(value, tuple | list) or not all(isinstance(x, str) for x in value):
        raise ValueError(f"{where}: {name} must be a tuple of words, got {require.shown(value)}")
    return value


def _check_rule(kernel: Kernel) -> None:
    rule = kernel.compare
    if rule == EXACT:
        return
    if not isinstance(rule, Close) or rule.rule != "close":
        raise ValueError(f"{kernel.name}: compare must be EXACT or a Close, got {rule!r:.80}")
    for name in ("rtol", "atol"):
        value = getattr(rule, name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            value = math.nan
        if not 0 <= value < math.inf:
            raise ValueError(
                f"{kernel.name}: {name} of compare must be a finite number from 0, got "
                f"{require.shown(getattr(rule, name))}"
            )
    _line(kernel.name, "why of compare", rule.why, "some words")


def _check_flags(kernel: Kernel) -> None:
    flags = kernel.flags
    if not isinstance(flags, dict):
        raise ValueError(f"{kernel.name}: flags must be a dict of words to what they mean")
    for flag, meaning in flags.items():
        _line(kernel.name, "flags", flag, "words")
        _line(kernel.name, f"flags[{flag!r}]", meaning, "what the flag means")


def _check_case(kernel: Kernel, case: Case) -> None:
    if not isinstance(case, Case):
        raise ValueError(f"{kernel.name}: cases must be a tuple of Case, got {require.shown(case)}")
    if not isinstance(case.id, str) or not ID.fullmatch(case.id):
        raise ValueError(
            f"{kernel.name}: id of a case must be letters, digits and _, got "
            f"{require.shown(case.id)}"
        )
    where = f"{kernel.name}/{case.id}"
    if not isinstance(case.args, dict):
        raise ValueError(f"{where}: args must be a dict, got {require.shown(case.args)}")
    known = {**FLAGS, **kernel.flags}
    if unknown := [x for x in _words(where, "flags", case.flags) if x not in known]:
        raise ValueError(f"{where}: nothing explains the flag {unknown[0]}")
    if not isinstance(case.working, str):
        raise ValueError(f"{where}: working must be words, got {require.shown(case.working)}")
    if case.error is not None and case.error not in tuple(ERRORS):
        known_errors = " or ".join(map(repr, ERRORS))
        raise ValueError(
            f"{where}: error must be {known_errors} or None, got {require.shown(case.error)}"
        )
    if kernel.writes and case.result is not None:
        parts = case.result if isinstance(case.result, dict) else {}
        if parts.keys() != {"returned", "changed"} or not isinstance(parts["changed"], dict):
            raise ValueError(
                f'{where}: result must be {{"returned": value, "changed": {{name: value}}}} where '
                "the kernel writes"
            )
