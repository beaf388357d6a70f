"""Close the gaps of the Dashboard of pins and tiles."""

TITLE = "Close the gaps of the Dashboard of pins and tiles."
FRAME = "pin_tile"
FUNCTION = "pin_tile"
PAGE = "learn/pin_tile"
REFERENCE = "refimpl.samplers.pin_tile:Dashboard.cleanup"
BESIDE = "The reference writes the index over itself, as a column never moves to the right."
STEPPER = ("pin_tile", "21", "22")
WRITE = ("clean_up",)
GIVEN = ("Board", "pop", "push", "pin_tile")
HINTS = (
    "Make DB and the index anew, in lists of your own, and put them in the place of the old ones "
    "at the end.",
    "Go through the columns from the left, past those that are not live. The next one begins where "
    "the one before ended: the last number of the new IA_start.",
    "Three things follow the column: board.start[tile], board.end[tile] and board.slot[tile].",
)
MISTAKES = (
    (
        "        board.start[tile], board.end[tile] = first, last\n",
        "",
        "moves the pins and the index, but not the tile's own start and end, as it is printed",
        "after step",
    ),
    (
        "        board.slot[tile] = len(IA_tile)\n",
        "",
        "does not tell the tile which column is its own now",
        "after step",
    ),
    (
        "        if not board.IA_live[i]:\n            continue\n",
        "",
        "moves the columns that are not in use as well, so that nothing gets free",
        "What is pushed does not fit behind the last column",
    ),
    (
        'board.counts["moved"] += IA_start[-1]',
        'board.counts["moved"] += len(IA_tile)',
        "counts the columns that move, and not their entries",
        "counters.moved",
    ),
    (
        "DB = [NULL] * len(board.DB)",
        "DB = list(board.DB)",
        "leaves the old pins behind the columns that moved",
        "after step",
    ),
)
