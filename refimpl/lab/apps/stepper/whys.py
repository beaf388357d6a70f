"""Why a line did what it did, in a sentence with its numbers."""

import inspect
from collections.abc import Callable

Lines = dict[str, Callable[..., str]]  # how a line begins -> what makes its sentence
Table = dict[str, Lines]  # the name of a function -> its lines


class Whys:
    """The sentences that a recipe has for the lines of its functions.

    A sentence is made by a function whose parameters are called as variables of the reference
    function are, or of one that called it:
    ``lambda weight, v_new, board: f"weight {weight[v_new]} > free {board.free()}"``. It is asked
    once the line has run, of a line that calls traced functions when the last of them is back, and
    of a line "def" when the function is entered. A variable that there is not yet is None. `taken`
    says of a loop or an if whether what stands under it is done next. An empty sentence says
    nothing.

    Parameters
    ----------
    functions : list of Function
    table : mapping of str to (mapping of str to callable)
        The name of a function -> how a line of it begins -> what makes its sentence. Where two
        lines begin alike, behind `` # `` stand the paper's lines that it is, as ``13``.

    Raises
    ------
    ValueError
        If there is no such function, or not one statement alone begins so.
    """

    def __init__(self, functions, table):
        self._of = {}
        numbers = {function.name: number for number, function in enumerate(functions)}
        for name, lines in table.items():
            if name not in numbers:
                raise ValueError(f"why is of {name}, which is not followed")
            for begin, say in lines.items():
                line = line_beginning(functions[numbers[name]], begin)
                body = functions[numbers[name]].bodies.get(line, (0, 0))
                self._of[numbers[name], line] = say, list(inspect.signature(say).parameters), body

    def say(self, number, line, next_line, stack):
        """Return why a line of function number `number` did what it did; "" if nobody knows."""
        if (number, line) not in self._of:
            return ""
        say, names, (first, last) = self._of[number, line]
        known = {"taken": first <= next_line <= last}
        return say(*(known[name] if name in known else stack.local(name) for name in names))


def line_beginning(function, begin):
    """Return the number of the one line of a function with which a statement begins so."""
    first = {first for first, _ in function.statements.values()}
    text, _, papers = begin.partition(" # ")
    found = [
        line.number
        for line in function.lines
        if (line.number in first or line is function.lines[0])
        and line.text.strip().startswith(text)
        and (not papers or papers in [lines for _, lines in line.marks])
    ]
    if len(found) != 1:
        raise ValueError(f"{len(found)} lines of {function.name} begin with {begin!r}, not one")
    return found[0]


def listed(values, most=8):
    """Return some values as words: "0, 3 and 4"."""
    words = [str(value) for value in values]
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} more"]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def counted(number, one, many=None):
    """Return "1 pin", "2 pins"."""
    return f"{number} {one if number == 1 else many or one + 's'}"
