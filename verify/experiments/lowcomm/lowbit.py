"""LoCo's compensation and quantised reduce-scatters: the claims bound to their implementations."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import gcd
from typing import Any

import numpy as np

from commbounds.verify.experiments.lowcomm.outer import exact, family
from commbounds.verify.space import RANKS, Of, Space, nothing, rationals
from commbounds.verify.study import Outcome

# --- LoCo --------------------------------------------------------------------------------------------------------

Followed = tuple[list[Fraction], list[Fraction], Fraction]


def followed(
    implementation: Any, P: int, outerrounds: int, fresh: Fraction, gradient: Callable[[int, Any], Any], bits: int,
    **kept: float,
) -> Followed:  # fmt: skip
    """All compensations of a run, what is owed at its end, and the largest code that was asked for, in steps.

    The step is the number of workers, so that their average is exact. `gradient` tells of a round and the compensations
    before it, (P, 3), what the workers add.
    """
    error, owed, largest, errors = np.zeros((P, 3)), [Fraction(0)] * 3, Fraction(0), [Fraction(0)]
    for t in range(outerrounds):
        g = gradient(t, error)
        after, _ = implementation(np.stack([g, error], axis=1), float(P), bits, float(fresh), **kept)
        largest = max(largest, *(abs(a + b) / P for a, b in zip(exact(g), exact(error), strict=True)))
        mean = [sum(column, Fraction(0)) / P for column in zip(*map(exact, g), strict=True)]
        owed = [a + (b - c) / P for a, b, c in zip(owed, mean, exact(after[-1, 0]), strict=True)]
        error = after[:, 1]
        errors += [abs(v) / P for v in exact(error)]
    return errors, owed, largest


def _compensated(
    implementation: Any, P: int, outerrounds: int, fresh: Fraction, bits: int, data: str, seed: int
) -> Followed:
    """Gradients of all workers and three entries: quarters of a step, or what compensates for the compensation."""
    drawn = np.random.default_rng([seed, outerrounds]).integers(-12, 13, (outerrounds, P, 3)) / 4
    offered = {"half": 0.5, "one over": 2.0 ** (bits - 1)}.get(data)

    def gradient(t: int, error: Any) -> Any:
        return P * drawn[t] if offered is None else P * offered - error

    return followed(implementation, P, outerrounds, fresh, gradient, bits)


def most_kept(found: Followed, room: Fraction) -> Outcome:
    """The largest compensation, in steps."""
    return Outcome(max(found[0]), {"largest_code": found[2], "room": room})


def most_owed(found: Followed, room: Fraction) -> Outcome:
    """What is owed at the end at most."""
    return Outcome(max(map(abs, found[1])), {"largest_code": found[2], "room": room})


_RUNS = Space(
    nothing,
    {
        "P": RANKS,
        "bits": (4, 2),
        "fresh": rationals(1, "1/2", "1/4", "3/4"),
        "outerrounds": (1, 2, 3, 4),
        "data": ("half", "one over", "drawn"),
    },
    options=("fresh", "data"),
)
_LOCO = family(
    "loco_round", _RUNS, lambda bits: {"room": Fraction(2 ** (bits - 1) - 1) + Fraction(1, 2)}, _compensated, arrays=2
)
_WHOLE: dict[str, Any] = {"P": (1, 2), "outerrounds": (1, 3)}
_PARTS: dict[str, Any] = {"P": (1, 3), "fresh": rationals("1/4", "1/2"), "outerrounds": (1, 4)}


def _reset(implementation: Any, tensors: int, reset_after: int, passes: int) -> int:
    return int((implementation(tensors, reset_after, passes) > 0).sum())


_MODELS = family(
    "resets",
    Space(
        nothing,
        {
            "tensors": range(1, 9),
            "reset_after": range(9),
            "passes": (
                Of("T + 1", lambda reset_after: reset_after + 1),
                Of("2 T + 3", lambda reset_after: 2 * reset_after + 3),
            ),
        },
        combined=(("tensors", "reset_after", "passes"),),
    ),
    lambda tensors, reset_after: {"shared_turns": gcd(tensors, reset_after + 1)},
)

# --- quantised reduce-scatters -----------------------------------------------------------------------------------


def _across(way: str, implementation: Any, P: int, n: int, pernode: int) -> int:
    _, traffic = implementation(np.ones((P, n)), 1.0, way=way, node=pernode)
    return int(traffic.phases["across"].sent.max())


def _stack(P: int, n: int, data: str, seed: int) -> Any:
    """Quarters of a step; or what is off by as much as it can be."""
    if data == "half":
        return np.full((P, n), 0.5)
    if data == "nodes of four":
        return np.tile(np.array([[0.5], [0.5], [0.5], [2.5]]), (P // 4, n))
    if data == "rising":  # the h-th rank of block b, beginning with rank b + 1, has h/2
        width = n // P
        return np.array([[((p - 1 - e // width) % P + 1) / 2 for e in range(n)] for p in range(P)])
    return np.random.default_rng([seed, P, n]).integers(-20, 21, (P, n)) / 4


def _off(way: str, implementation: Any, x: Any, P: int, pernode: int, bits: int) -> Outcome:
    blocks, _ = implementation(x, 1.0, bits, way, pernode)
    sums = [sum(column, Fraction(0)) for column in zip(*map(exact, x), strict=True)]
    off = max(abs(a - b) for a, b in zip(exact(blocks), sums, strict=True))
    return Outcome(off, {"largest_code": Fraction(float(abs(x).max())) + P, "room": 2 ** (bits - 1) - 1})


def _elsewhere(reorder: bool, implementation: Any, P: int, n: int, pernode: int) -> int:
    """Blocks whose sums are multiples of the second step, and differ: how many ranks have another's."""
    stack = np.tile(np.repeat(np.arange(1.0, P + 1), n // P), (P, 1))
    blocks, _ = implementation(stack, 1.0, 8, "hierarchical", pernode, reorder=reorder)
    expected = P * np.repeat(np.arange(1.0, P + 1)[:, None], n // P, axis=1)
    return int((blocks != expected).any(axis=1).sum())


_NODES = {
    "P": RANKS,
    "pernode": (1, Of("P", lambda P: P), 2, 3, 4),
    "n": (Of("P", lambda P: P), Of("2 P", lambda P: 2 * P)),
}
_UNEVEN = "Nodes of other sizes: ranks are not divided so."
_CLUSTERS = family(
    "quantised_reduce_scatter",
    Space(nothing, _NODES, combined=(("P", "pernode", "n"),)).without(_UNEVEN, lambda P, pernode: P % pernode > 0),
)
_STACK_SPACE = (
    Space(_stack, {**_NODES, "bits": (8, 3), "data": ("half", "rising", "drawn", "nodes of four")}, options=("data",))
    .without(_UNEVEN, lambda P, pernode: P % pernode > 0)
    .without("Nodes of four where P is not so divided.", lambda P, data: data == "nodes of four" and P % 4 > 0)
)
_STACKS = family("quantised_reduce_scatter", _STACK_SPACE, arrays=2)


def _over_ranks(data: str, label: str, ranks: range) -> list[Any]:
    return [_STACKS.over("P", ranks, label, data=data)]


_FOURS = [_CLUSTERS.over("P", range(4, 33, 4), "nodes of four", pernode=4)]
_NODE: dict[str, Any] = {"data": ["nodes of four"], "pernode": [4]}

LOWBIT_STUDIES = (
    *_LOCO.studies(most_kept, "loco.compensation", extremal=_LOCO.every(**_WHOLE)),
    *_LOCO.studies(most_kept, "loco.cut_off"),
    *_LOCO.studies(
        most_owed,
        "loco.late",
        extremal=_LOCO.every(**_PARTS),
        curves=[
            _LOCO.over(
                "outerrounds",
                range(1, 15),
                "weight 1/4, gradients of half a step less the compensation",
                fresh=Fraction(1, 4),
            )
        ],
    ),
    *_LOCO.studies(most_kept, "loco.cut_once", extremal=_LOCO.every(data=["one over"], **_WHOLE)),
    *_LOCO.studies(
        most_owed,
        "loco.late_cut",
        extremal=_LOCO.every(data=["one over"], bits=(4, 2), **_PARTS),
        curves=[
            _LOCO.over(
                "outerrounds", range(1, 11), "weight 1/4, one code too many", fresh=Fraction(1, 4), data="one over"
            )
        ],
    ),
    *_LOCO.studies(most_owed, "loco.late_at_once"),
    *_LOCO.studies(most_owed, "loco.late_ef14", extremal=_LOCO.every(**_WHOLE)),
    *_MODELS.studies(_reset, "loco.resets", "loco.resets_all"),
    *_CLUSTERS.studies(partial(_across, "hierarchical"), "qgz.across", curves=_FOURS),
    *_CLUSTERS.studies(partial(_across, "one-hop"), "qgz.across_one_hop", curves=_FOURS),
    *_STACKS.studies(
        partial(_off, "one-hop"),
        "qgz.one_hop",
        extremal=_STACKS.every(P=(1, 4, 6)),
        curves=_over_ranks("half", "entries of half a step", range(1, 9)),
    ),
    *_STACKS.studies(partial(_off, "hierarchical"), "qgz.two_hops", extremal=_STACKS.every(P=(4, 8), **_NODE)),
    *_STACKS.studies(
        partial(_off, "ring"),
        "qgz.ring",
        extremal=_STACKS.every(P=(2, 4, 6), data=["rising"]),
        curves=_over_ranks("rising", "the worst for a ring", range(2, 9)),
    ),
    *_CLUSTERS.studies(partial(_elsewhere, True), "qgz.order"),
    *_CLUSTERS.studies(partial(_elsewhere, False), "qgz.in_a_row"),
)
