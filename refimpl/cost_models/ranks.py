"""What a step costs on several ranks that average their gradients: a model, this project's own.

Premises of the model, in which a step's parts follow one another:

- every rank computes for equally long, whatever the number of ranks;
- a message begins to arrive after the latency, and no two of a rank overlap; the bytes of a rank
  then pass its link one after another, in both directions at once, at the bandwidth;
- no link but a rank's own ever is the bottleneck, and nobody waits for a slower rank but as far as
  messages and bytes are those of the rank that has the most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refimpl.cost_models import _arguments
from refimpl.hints import FloatOrArray, Numbers


class ExchangeCounts(NamedTuple):
    """What every rank sends in a step, as `gradient_exchange` counts it.

    Attributes
    ----------
    numbers : gradients and sums that it sends, and as many that it receives
    messages : likewise
    additions : of two numbers, that it does
    """

    numbers: FloatOrArray
    messages: FloatOrArray
    additions: FloatOrArray


@_arguments.model
def gradient_exchange(parameters: Numbers, ranks: Numbers) -> ExchangeCounts:
    """Count what averaging the gradients of all ranks sends: ``2 ceil(P / R) (R - 1)`` numbers.

    The P parameters are cut into R slices of ``ceil(P / R)``, zeros behind the last. Every rank
    sends each other rank that one's slice of its own sum of gradients, adds the R that it then
    has of its own slice along a fixed binary tree, and sends the result to all others. An MPI may
    pass on messages in another way. Not in the papers.

    Parameters
    ----------
    parameters : whole number P >= 1
    ranks : whole number R >= 1
        Premise: the workers of each make one part of the tree, as where one has one worker.

    Returns
    -------
    ExchangeCounts
        float64; all 0 for one rank.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number or out of range.
    """
    parameters, ranks = _arguments.whole("parameters", parameters), _arguments.whole("ranks", ranks)
    width = np.ceil(parameters / ranks)
    return ExchangeCounts(2 * width * (ranks - 1), 2 * (ranks - 1), width * (ranks - 1))


@_arguments.model
def parallel_step_seconds(
    compute: Numbers, messages: Numbers, sent: Numbers, *, latency: Numbers, bandwidth: Numbers
) -> FloatOrArray:
    """Return ``compute + latency messages + sent / bandwidth``: the seconds of a step of a rank.

    Not in the papers. Premises: ranks compute for equally long, messages do not overlap one
    another or the computing, and nothing but a rank's own link is ever the bottleneck.

    Parameters
    ----------
    compute : number >= 0
        Seconds of a step without messages.
    messages : number >= 0
        That a rank waits for.
    sent : number >= 0
        Bytes through its link, of the busier direction.
    latency : number >= 0
        Seconds.
    bandwidth : number above 0
        Bytes a second.

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number or out of range.
    """
    compute = _arguments.at_least("compute", compute, 0)
    waiting = _arguments.at_least("latency", latency, 0) * _arguments.at_least(
        "messages", messages, 0
    )
    moving = _arguments.at_least("sent", sent, 0) / _arguments.above("bandwidth", bandwidth, 0)
    return compute + waiting + moving


@_arguments.model
def parallel_speedup(ranks: Numbers, alone: Numbers, together: Numbers) -> FloatOrArray:
    """Return ``ranks * alone / together``: how many times as many minibatches a second.

    Each of `ranks` ranks has one minibatch a step, which takes all of them `together` seconds, and
    a rank by itself `alone`. At most `ranks` where `together` is at least `alone`. Not in the
    papers.

    Parameters
    ----------
    ranks : whole number >= 1
    alone, together : numbers above 0
        Seconds of a step, as from `parallel_step_seconds`.

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number or out of range.
    """
    alone, together = _arguments.above("alone", alone, 0), _arguments.above("together", together, 0)
    return _arguments.whole("ranks", ranks) * alone / together
