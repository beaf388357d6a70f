"""Theorem 1 of both papers: up to how many lanes the Dashboard sampler scales."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from refimpl.cost_models import _arguments
from refimpl.cost_models.sampling import expected_rounds, memory_factor, sample_cost
from refimpl.hints import FloatOrArray, Numbers


class ProofTerms(NamedTuple):
    """The quantities that the proof of Theorem 1 compares, in its order.

    Attributes
    ----------
    rounds : R(p), at most `exponential`
    exponential : 1 / (1 - exp(-p / eta)), at most `rational`
    rational : (eta + p) / p, at most `premise` where p is at most `theorem1_pmax`
    premise : eps d K / p
    serial : eta + d K, at least `serial_bound`
    serial_bound : d K
    """

    rounds: FloatOrArray
    exponential: FloatOrArray
    rational: FloatOrArray
    premise: FloatOrArray
    serial: FloatOrArray
    serial_bound: FloatOrArray


@_arguments.model
def theorem1_pmax(
    eps: Numbers, eta: Numbers, d: Numbers, version: Literal["ipdps", "jpdc"], *, rho: Numbers = 1.0
) -> FloatOrArray:
    """Return the most lanes for which Theorem 1 promises a speed-up of p / (1 + eps).

    ``floor(eps d K / rho - eta)``; below 1 it promises nothing. Theorem 1 of both papers, there
    for rho = 1, and for "Algorithm 2", which is the serial one: it is about Algorithm 3 (E-C2).
    With eps = 0.5 and eta = 3 it is 2.75 d - 3 in IPDPS'19, printed 2.25 d - 3 (E-C3).

    Parameters
    ----------
    eps : number above 0
    eta : number above 1
    d : number above 0
        Premise: every pop costs d / p, a real number. Whole lanes break it (E-C5); for them see
        `theorem1_pmax_lanes`.
    version : {"ipdps", "jpdc"}
    rho : number above 0
        c_rand / c_mem.

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number, out of range, or no version.
    """
    eps, d, rho = (
        _arguments.above("eps", eps, 0),
        _arguments.above("d", d, 0),
        _arguments.above("rho", rho, 0),
    )
    return np.floor(eps * d * memory_factor(eta, version) / rho - eta)


@_arguments.model
def theorem1_pmax_lanes(
    eps: Numbers, eta: Numbers, d: Numbers, version: Literal["ipdps", "jpdc"], *, rho: Numbers = 1.0
) -> FloatOrArray:
    """Return the most whole lanes for which a speed-up of p / (1 + eps) is sure (E-C5).

    ``floor((eps d K - rho eta + K) / (rho + K))``, from the proof of Theorem 1 with
    ceil(d / p) <= (d + p - 1) / p, which holds for whole degrees and for a mean over them.

    Parameters
    ----------
    eps, eta, d, version, rho
        As in `theorem1_pmax`, d the mean of whole degrees.

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number, out of range, or no version.
    """
    eps, d, rho = (
        _arguments.above("eps", eps, 0),
        _arguments.above("d", d, 0),
        _arguments.above("rho", rho, 0),
    )
    K = memory_factor(eta, version)
    return np.floor((eps * d * K - rho * np.asarray(eta) + K) / (rho + K))


@_arguments.model
def theorem1_speedup(
    p: Numbers,
    eta: Numbers,
    d: Numbers,
    version: Literal["ipdps", "jpdc"],
    *,
    rho: Numbers = 1.0,
    lanes_exact: bool = False,
) -> FloatOrArray:
    """Return the model's speed-up of p lanes over one, `sample_cost` at 1 over that at p.

    What Theorem 1 of both papers bounds from below.

    Parameters
    ----------
    p : whole number >= 1
    eta : number above 1
    d : number above 0
    version : {"ipdps", "jpdc"}
    rho : number above 0
        c_rand / c_mem.
    lanes_exact : bool
        As in `sample_cost`.

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number, out of range, or no version.
    """
    d, rho = _arguments.above("d", d, 0), _arguments.above("rho", rho, 0)
    one, many = (
        sample_cost(lanes, eta, d, 2, 1, version, c_rand=rho, lanes_exact=lanes_exact)
        for lanes in (1, p)
    )
    return one / many


@_arguments.model
def theorem1_steps(
    p: Numbers, eps: Numbers, eta: Numbers, d: Numbers, version: Literal["ipdps", "jpdc"]
) -> ProofTerms:
    """Return what the proof of Theorem 1 of both papers compares; d / p real, c_rand = c_mem.

    Parameters
    ----------
    p : whole number >= 1
    eps : number above 0
    eta : number above 1
    d : number above 0
    version : {"ipdps", "jpdc"}

    Returns
    -------
    ProofTerms

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number, out of range, or no version.
    """
    rounds = expected_rounds(p, eta)
    p, eps, eta, d = (
        _arguments.whole("p", p),
        _arguments.above("eps", eps, 0),
        np.asarray(eta),
        _arguments.above("d", d, 0),
    )
    dK = d * memory_factor(eta, version)
    return ProofTerms(rounds, 1 / (1 - np.exp(-p / eta)), (eta + p) / p, eps * dK / p, eta + dK, dK)
