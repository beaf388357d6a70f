"""Worked examples of the documentation: Python that runs when a page is built or tested."""

import contextlib
import io
import re
import traceback

FENCE = re.compile(r"^```\{worked-example\}[^\n]*\n(.*?)^```\s*$", re.M | re.S)


def run(code, namespace, name):
    """Run `code` in `namespace`, changing it; return what it prints.

    An exception is raised as RuntimeError that names the page `name` and the line of the code.
    """
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"<worked example of {name}>", "exec"), namespace)
    except Exception as error:
        places = traceback.extract_tb(error.__traceback__)
        rows = [place.lineno for place in places if place.filename.startswith("<worked example")]
        row = rows[-1] if rows else getattr(error, "lineno", 0)
        line = code.splitlines()[row - 1] if row else ""
        raise RuntimeError(
            f"a worked example of {name} fails in its line {row}, {line.strip()!r}: "
            f"{type(error).__name__}: {error}"
        ) from error
    return printed.getvalue()


def in_page(text):
    """Return the code of the worked examples of a MyST page, in order."""
    return [re.sub(r"\A(?:[ \t]*:[\w-]+:.*\n)+", "", code) for code in FENCE.findall(text)]
