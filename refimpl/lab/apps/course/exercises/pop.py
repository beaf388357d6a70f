"""Take a random node off the Dashboard of pins and tiles."""

TITLE = "Take a random node off the Dashboard of pins and tiles."
FRAME = "pin_tile"
FUNCTION = "pin_tile"
PAGE = "learn/pin_tile"
REFERENCE = "refimpl.samplers.pin_tile:Dashboard.pop_frontier"
BESIDE = "The reference writes NULL into all entries of the tile at once, as a slice."
STEPPER = ("pin_tile", "21", "22")
WRITE = ("pop",)
GIVEN = ("Board", "clean_up", "push", "pin_tile")
HINTS = (
    "Draw an entry at least once, and again as long as board.DB says NULL there; count the draws.",
    "What board.DB says at the entry is the tile: board.start, board.end, board.slot and "
    "board.node have the rest.",
    "Rounds of a pop: its tries divided by `lanes`, rounded up, `math.ceil(tries / lanes)`.",
)
MISTAKES = (
    (
        "    for k in range(board.start[tile], board.end[tile]):\n        board.DB[k] = NULL\n",
        "    board.DB[entry] = NULL\n",
        "sets only the entry to NULL that was hit, and not all of the tile",
        "after step",
    ),
    (
        "    board.IA_live[board.slot[tile]] = False\n",
        "",
        "leaves the column live, so that a clean-up keeps it",
        "after step",
    ),
    (
        "    board.IA_live[board.slot[tile]] = False\n",
        "    board.IA_live[tile] = False\n",
        "takes the tile's number for that of its column",
        "after step",
    ),
    (
        'len(board.DB) if probe_range == "capacity" else board.IA_start[-1]',
        "len(board.DB)",
        "probes the whole Dashboard, where `probe_range` says the used part",
        "Probes fall on the entries in front of the end of the last column only",
    ),
    (
        "math.ceil(tries / lanes)",
        "tries // lanes",
        "does not count the last round where it is not full",
        "",
    ),
    (
        "    while board.DB[entry] == NULL:\n        entry = probe.below(limit)\n",
        "    while board.DB[entry] == NULL:\n        entry = (entry + 1) % limit\n",
        "goes on to the next entry where nobody owns one: nodes behind a gap then come too often",
        "A probe hits an entry that nobody owns",
    ),
)
