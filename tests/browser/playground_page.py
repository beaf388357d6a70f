"""The playground in a tab: what is typed, what it shows, and what `refimpl` says to that."""

import contextlib
import io
from urllib.parse import quote

import numpy as np

import refimpl
from refimpl.lab.backend import find

GO = """address => new Promise((resolve) => {
  addEventListener("hashchange", () => setTimeout(resolve), { once: true });
  location.hash = address;
})"""
SHOWN = """() => {
  const { result, state } = playground;
  const list = (array) => (array ? Array.from(array, Number) : null);
  const text = (selector) => document.querySelector(selector).textContent;
  const rows = (selector) => [...document.querySelectorAll(`${selector} tbody tr`)]
    .map((row) => [...row.cells].map((cell) => cell.textContent));
  const found = { error: text("#pg-error"), notice: text(".pg-notice"), said: text(".pg-said"),
    python: text(".pg-code pre"), run: state.run, step: state.step, last: result?.last ?? null,
    costs: rows(".pg-numbers"), iterations: rows(".pg-iterations") };
  if (result?.kind === "sampler") {
    const { nodes, popped, pushed, counters } = result.sample;
    Object.assign(found, { nodes: list(nodes), popped: list(popped), pushed: list(pushed) });
    Object.assign(found, { counters: { ...counters } });
  }
  if (result?.kind === "neighbours") found.layers = result.mfg.nodes.map(list);
  if (result?.kind === "cache") found.cache = result.now;
  return found;
}"""
SAMPLERS = ("frontier", "dashboard", "pin_tile", "bucket")
WALK = ("m", "n", "deg_cap", "include")
BOARD = (*WALK, "eta", "lanes", "probe_range", "overflow")
OPTIONS = {"frontier": WALK, "bucket": WALK, "dashboard": BOARD, "pin_tile": BOARD}


def address(run, n, edges, settings):
    """Return what stands behind "#" for a state, settings as they are typed."""
    parts = {"run": run, "nodes": n, "edges": ",".join(f"{u}-{v}" for u, v in edges), **settings}
    return "&".join(f"{name}={quote(str(value), safe=',;')}" for name, value in parts.items())


def typed(text):
    """Return the number that a text is: an int, a float, or None of nothing."""
    if not text:
        return None
    return int(text) if text.lstrip("-").isdigit() else float(text)


def said_by_refimpl(run, n, edges, settings):
    """Return what the reference makes of the same settings: a dict, or the error that it raises."""
    u, v = np.array(edges, np.int64).reshape(-1, 2).T
    graph = refimpl.graph.from_edges(u, v, n, symmetrize=True)
    make = {"neighbours": neighbours, "cache": cache}.get(run, sampled)
    try:
        return make(run, graph, settings)
    except (ValueError, TypeError) as error:
        return str(error)


def sampled(run, graph, settings):
    seed, number = typed(settings["seed"]), typed(settings["sample"])
    main, probe = (refimpl.streams.key(seed, 0, number, stream) for stream in (0, 1))
    texts = ("include", "probe_range", "overflow")
    options = {
        name: settings[name] if name in texts else typed(settings[name]) for name in OPTIONS[run]
    }
    sample = find(refimpl, run)(graph, main, probe, **options)
    arrays = {name: getattr(sample, name).tolist() for name in ("nodes", "popped", "pushed")}
    return {**arrays, "counters": sample.counters._asdict()}


def neighbours(run, graph, settings):
    fanouts = [typed(settings[f"fanout{i + 1}"]) for i in range(typed(settings["layers"]))]
    name = {"seed": typed(settings["seed"]), "epoch": 0, "batch": typed(settings["sample"])}
    roots = np.array([int(v) for v in settings["roots"].split(",") if v], np.int64)
    mfg = refimpl.sample_mfg(graph, roots, fanouts, mode=settings["mode"], **name)
    return {"layers": [nodes.tolist() for nodes in mfg.nodes]}


def cache(run, graph, settings):
    """Return the rows of the table of iterations, and the buffer after the last."""
    number = {
        name: typed(settings[name])
        for name in ("batch_size", "p_grad", "t_stale", "floats", "iterations", "seed")
    }
    fanouts = typed(settings["fanout_roots"]), typed(settings["fanout_below"])
    held = refimpl.BidirectionalCache(
        graph.n,
        2,
        2,
        1,
        number["floats"],
        t_stale=number["t_stale"],
        dtype="float64",
        header=settings["header"],
        overflow=settings["full"],
    )
    held.fill(np.zeros((graph.n, 2)), refimpl.history.degree_hotness(graph))
    train = np.array([int(v) for v in settings["train"].split(",")])
    batches, rows = [], []
    while len(batches) < number["iterations"]:
        size, epoch = number["batch_size"], len({e for e, *_ in batches})
        cut = refimpl.samplers.epoch_batches(train, size, number["seed"], epoch)
        batches += [(epoch, batch, roots) for batch, roots in enumerate(cut)]
    for i, (epoch, batch, roots) in enumerate(batches[: number["iterations"]]):
        name = {"seed": number["seed"], "epoch": epoch, "batch": batch, "mode": settings["mode"]}
        mfg = refimpl.sample_mfg(graph, roots, fanouts, **name)
        rows.append(one_iteration(graph, held, settings, mfg, i, number))
    back, used = held.entries.back, held.entries.back >= 0
    slots = [
        {"node": int(v), "stamp": int(t)} if there else None
        for v, t, there in zip(back, held.entries.stamp, used, strict=True)
    ]
    return {"iterations": rows, "slots": slots, "head": held.head, "used": held.hwm}


def one_iteration(graph, held, settings, mfg, i, number):
    slots = held.lookup(1, mfg.nodes[1], i)
    roots, lost = mfg.nodes[2], held.lost
    live = refimpl.history.prune_layers(mfg, [slots >= 0, np.zeros(len(roots), np.bool_)])
    inputs, ids = (mfg.nodes[l][live.order[l]] for l in (0, 1))
    kept = int(held.feature_mask(inputs).sum())
    held.begin_update(i)
    rows, computed = np.full((len(ids), 2), float(i)), live.computed[0]
    options: dict = {"control": "random", "key": refimpl.streams.key(number["seed"], 7, i, 1)}
    score = np.zeros(len(ids))
    if settings["scores"]:
        given = [[float(x) for x in row.split()] for row in settings["scores"].split(";")]
        score, options = np.array(given[min(i, len(given) - 1)])[ids], {}
    done = refimpl.policy_update(
        held, 1, ids, score, computed, rows, i, p=number["p_grad"], **options
    )
    read = int((~computed).sum())
    of = ", ".join(map(str, roots.tolist()))
    counts = [len(inputs) - kept, kept, read, done.admitted, done.evicted, held.lost - lost]
    return [str(x) for x in (i, of, len(mfg.nodes[0]), *counts)]


def run_lines(code):
    """Run the lines of Python that the page shows; return their names and what they print."""
    names: dict = {}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, names)
    return names, out.getvalue()
