"""Figures of the lecture on FreshGNN that the pages do not have."""

from _drawings.svg import Drawing, Panel


def bottleneck():
    """Return where features are, and how they come to where they are needed."""
    panel = Panel(620, 200, "Where features are", "Features in memory that is large and far; a narrow way; the processor that computes.")  # fmt: skip
    panel.box(10, 30, 190, 140, "soft", ["features of", "all nodes", "(large, far)"], size=19)
    panel.box(420, 30, 190, 140, "strong", ["one minibatch", "(fast, small)"], size=19)
    for k, y in enumerate((72, 100, 128)):
        panel.arrow(204, y, 416, y, "thick" if k == 1 else "thin")
    panel.words(310, 50, "rows of L hops", size=19)
    panel.words(310, 156, "in every iteration", size=17, kind="muted")
    return Drawing("Loading features", [panel])


def sides():
    """Return the messages of a two-sided and of a one-sided fetch between two devices."""
    panels = []
    for name, arrows in (
        ("two-sided", (("node numbers", 1), ("packs the rows", 0), ("rows", -1))),
        ("one-sided", (("reads by address", -1),)),
    ):
        panel = Panel(300, 236, name, f"{name}: " + ", then ".join(words for words, _ in arrows))
        panel.words(150, 12, name, size=20, kind="bold")
        panel.words(48, 42, "needs", size=17)
        panel.words(252, 42, "owns", size=17)
        for x in (48, 252):
            panel.line(x, 58, x, 226)
        for k, (words, way) in enumerate(arrows):
            y = 92 + 54 * k
            if way == 0:
                panel.box(186, y - 18, 112, 34, "warm", "packs rows", size=16)
                continue
            a, b = (52, 248) if way > 0 else (248, 52)
            panel.arrow(a, y, b, y + 18, "thick")
            panel.words(150, y - 14, words, size=16)
        panels.append(panel)
    return Drawing("Two ways to fetch rows", panels)


def ahead():
    """Return what can be done before the cache is known, and what cannot."""
    panels = []
    for name, lanes in (
        ("in turn", {0: (("sample 1", 0, 2, "soft"), ("prune, load, train 1", 2, 5, "strong"), ("sample 2", 5, 7, "soft"), ("prune ..", 7, 9, "strong"))}),
        ("sampled ahead", {0: (("sample 1", 0, 2, "soft"), ("sample 2", 2, 4, "soft"), ("sample 3", 4, 6, "soft")), 1: (("prune, load, train 1", 2, 5, "strong"), ("prune, load, train 2", 5, 8, "strong"))}),
    ):  # fmt: skip
        rows = 1 + max(lanes)
        panel = Panel(640, 34 + 48 * rows, f"Timeline, {name}", f"{name}: {'; '.join(w for bars in lanes.values() for w, *_ in bars)}")  # fmt: skip
        panel.words(4, 12, name, anchor="start", size=18, kind="bold")
        for lane, bars in lanes.items():
            for words, start, end, kind in bars:
                panel.box(4 + start * 70, 28 + lane * 48, (end - start) * 70 - 4, 40, kind, words, size=16)
        panels.append(panel)
    return Drawing("Sampling waits for nothing", panels)


DRAWINGS = {"bottleneck": bottleneck, "two-and-one-sided": sides, "sampled-ahead": ahead}
