"""Pictures of message-flow graphs: the nodes of each layer, what is computed, read and loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from refimpl.lab.apps.stepper.recipe import graph_picture, graph_state

if TYPE_CHECKING:
    from refimpl.block import MFG

RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"  # a layer as a superscript
ROLES = {
    "computed": ("c", "computed"),
    "cached": ("h", "cached"),
    "needed": ("n", "needed"),
    "loaded": ("l", "loaded"),
    "dead": ("x", "dead"),
    "sampled": ("s", "sampled"),
}


def name(layer: int, node: int) -> str:
    """Return the name of a node in a layer: 4 with a raised 1 is node 4 in layer 1."""
    return f"{node}{RAISED[layer]}"


def flow_edges(mfg: MFG, layer: int) -> list[tuple[str, str]]:
    """Return the (source, node) pairs of a layer; each node is its own source as well."""
    block, above, below = mfg.blocks[layer - 1], mfg.nodes[layer], mfg.nodes[layer - 1]
    pairs = []
    for row, v in enumerate(above.tolist()):
        columns = block.indices[block.start[row] : block.end[row]]
        for u in dict.fromkeys([v, *below[columns].tolist()]):
            pairs.append((name(layer - 1, u), name(layer, v)))
    return pairs


def flow_picture(
    layers: Sequence[Sequence[int]],
    edges: Iterable[tuple[str, str]],
    roles: Mapping[str, tuple[str, str]] = ROLES,
    *,
    faint: bool = False,
) -> dict[str, Any]:
    """Return the picture of the nodes of some layers, the last on top."""
    columns = {v: x for x, v in enumerate(sorted({v for nodes in layers for v in nodes}))}
    top = len(layers) - 1
    places = {
        name(layer, v): (columns[v], 1.6 * (top - layer))
        for layer, nodes in enumerate(layers)
        for v in nodes
    }
    return graph_picture(places, edges, roles, faint=faint)


def flow_state(
    mfg: MFG,
    live: Mapping[int, NDArray[Any]],
    comp: Mapping[int, NDArray[Any]],
    *,
    loaded: bool = False,
    hits: Iterable[tuple[int, int]] = (),
    edges: list[tuple[str, str]] | None = None,
) -> dict[str, Any]:
    """Return the state of a message-flow graph.

    Parameters
    ----------
    mfg : MFG
    live, comp : dict of int to bool array
        Which rows of a layer are needed, and computed, as far as that is known.
    loaded : bool
        Whether the features are loaded.
    hits : iterable of (layer, node)
        Those that the cache has.
    edges : list of (source, node), optional
        Those in use; default: all that lead to what is computed, or may be.
    """
    roles = {}
    for layer, nodes in enumerate(mfg.nodes):
        for row, v in enumerate(nodes.tolist()):
            role = "sampled"
            if layer in live:
                role = "needed" if live[layer][row] else "dead"
                if role == "needed" and layer in comp:
                    role = "computed" if comp[layer][row] else "cached"
                if role == "needed" and layer == 0 and loaded:
                    role = "loaded"
            roles[name(layer, v)] = role
    if edges is None:
        every = [edge for layer in range(1, len(mfg.nodes)) for edge in flow_edges(mfg, layer)]
        edges = [(u, v) for u, v in every if roles[v] in ("computed", "sampled", "needed")]
    notes = {name(layer, v): "hit" for layer, v in hits}
    return graph_state(roles, notes=notes, edges=edges)


def by_layer(found: Sequence[Any], top: int) -> dict[int, NDArray[Any]]:
    """Return layer -> array of what `prune_mfg` has found so far: the last is of layer `top`."""
    return {top - k: np.asarray(array) for k, array in enumerate(reversed(found))}
