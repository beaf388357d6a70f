"""The levels that a port may claim, their kernels, and which of them are reached."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from refimpl.lab.apps.conformance.runner import PASS, SKIP, Verdict
from refimpl.samplers.nodes import KERNELS

NAMES = {
    "core": """mix key uniform below pick_without_replacement floyd permutation alias_build
        transpose_perm induced_subgraph transpose_block""",
    "samplers": f"{' '.join(KERNELS)} sample_many",
    "layers": """row_norm add_self_loops sym_norm loop_norm block_norm spmm spmm_t feature_propagate
        dense_forward dense_backward sage_forward sage_backward gcn_forward gcn_backward
        mixhop_forward mixhop_backward gat_forward gat_backward rgcn_forward rgcn_backward dropout
        row_l2_forward row_l2_backward softmax_cross_entropy sigmoid_cross_entropy adam_step""",
    "freshgnn": """layer_sample epoch_batches sample_mfg sample_mfg_many gradient_norms
        select_stable BidirectionalCache cache_admit cache_lookup cache_read cache_fetch fair_share
        prune_mfg live_layers prune_layers gather_rows fetch_one_sided fetch_two_sided""",
    "loaders": "build_entry_table draw_rows relabel",  # of PyG, by weight and by time
}
LEVELS = {level: tuple(names.split()) for level, names in NAMES.items()}


class Standing(NamedTuple):
    """How far an implementation is in a level: `complete` of its `kernels` have every answer."""

    complete: int
    kernels: int

    @property
    def reached(self) -> bool:
        """Whether the level may be claimed."""
        return self.complete == self.kernels

    def __str__(self) -> str:
        return "reached" if self.reached else f"{self.complete} of {self.kernels}"


def is_complete(file: dict[str, Any], given: Mapping[tuple[str, str], str]) -> bool:
    """Say whether each case of a kernel passed; a case that must be refused may be skipped.

    `given` has the verdicts by kernel and case.
    """
    return all(
        given.get((file["function"], case["id"])) in ((PASS, SKIP) if "error" in case else (PASS,))
        for case in file["cases"]
    )


def standings(verdicts: list[Verdict], files: list[dict[str, Any]]) -> dict[str, Standing]:
    """Return {level: its Standing}, of the levels of which every case of `files` was asked.

    Parameters
    ----------
    verdicts : list of runner.Verdict
    files : list of dict
        From `vectors.load`: all of them.
    """
    given = {(v.kernel, v.case): v.verdict for v in verdicts}
    found = {}
    for level, kernels in LEVELS.items():
        inside = [file for file in files if file["function"] in kernels]
        if all(
            (file["function"], case["id"]) in given for file in inside for case in file["cases"]
        ):
            complete = sum(is_complete(file, given) for file in inside)
            found[level] = Standing(complete, len(inside))
    return found


def summary(standings: Mapping[str, Standing]) -> str:
    """Return the standings as one line."""
    reached = [level for level, standing in standings.items() if standing.reached]
    rest = [f"{level} ({found} kernels)" for level, found in standings.items() if not found.reached]
    said = f"levels reached: {', '.join(reached) or 'none'}"
    return said + (f"; not reached: {', '.join(rest)}" if rest else "")
