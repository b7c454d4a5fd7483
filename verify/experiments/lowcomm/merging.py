"""Merges with a quorum, and random pairs: the claims bound to their implementations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from math import lcm
from typing import Any

import numpy as np

from commbounds.verify.experiments.lowcomm.outer import exact, study
from commbounds.verify.experiments.moshpit.averaging import settings
from commbounds.verify.study import Case, Outcome, over

# --- quorums -----------------------------------------------------------------------------------------------------


def _quorum_words(implementation: Any, case: Case) -> Outcome:
    P, n, K = (case.settings[key] for key in ("P", "n", "quorum"))
    most = 0
    for there in itertools.combinations(range(P), K):
        _, traffic = implementation(np.ones((P, n)), np.ones(P), np.isin(np.arange(P), there))
        most = max(most, int(traffic.sent.max()))
    return Outcome(most, {"P": P, "n": n})


def _share(divisor: str, implementation: Any, case: Case) -> Outcome:
    """The mean weight of the worker with more tokens over all quorums, for unit vectors."""
    P, K, w, heavy = (case.settings[key] for key in ("P", "quorum", "heavytokens", "heavy"))
    tokens = np.ones(P)
    tokens[heavy] = w
    scale = lcm(w + K - 1, K, (w + P - 1) * K)
    total, quorums = Fraction(0), list(itertools.combinations(range(P), K))
    for there in quorums:
        merged, _ = implementation(np.eye(P) * scale, tokens, np.isin(np.arange(P), there), divisor=divisor)
        total += exact(merged[-1])[heavy]
    return Outcome(total / (scale * len(quorums)), {"P": P, "quorum": K, "heavytokens": w})


def _quorums(level: int) -> Iterator[Case]:
    for P in range(1, 5 + level):
        for K, w in itertools.product(range(1, P + 1), (1, 2, 5)):
            for heavy in sorted({0, P - 1}):
                yield settings(P=P, quorum=K, heavytokens=w, heavy=heavy)


def _stragglers(implementation: Any, case: Case) -> Outcome:
    """Two workers with the numbers 0 and 2, in a quorum of whoever arrives."""
    p, q = (Fraction(case.settings[key]) for key in ("arrive_first", "arrive_second"))
    mean = certain = Fraction(0)
    for first, second in ((True, False), (False, True), (True, True)):
        chance = (p if first else 1 - p) * (q if second else 1 - q)
        merged, _ = implementation([[0.0], [2.0]], [1, 1], [first, second])
        mean, certain = mean + chance * exact(merged[0])[0], certain + chance
    return Outcome(abs(mean / certain - 1) / 2, {"arrive_first": p, "arrive_second": q})


def _chances(_level: int) -> Iterator[Case]:
    for p, q in itertools.product(("1/8", "1/3", "1/2", "1"), repeat=2):
        yield settings(arrive_first=p, arrive_second=q)


# --- pairs -------------------------------------------------------------------------------------------------------


def matchings(ranks: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Orders of the ranks, one for every way to pair them off; of an odd number the last is left over.

    Examples
    --------
    >>> list(matchings((0, 1, 2)))
    [(1, 2, 0), (0, 2, 1), (0, 1, 2)]
    """
    if len(ranks) % 2:
        for alone in ranks:
            for order in matchings(tuple(rank for rank in ranks if rank != alone)):
                yield (*order, alone)
    elif not ranks:
        yield ()
    else:
        for partner in ranks[1:]:
            others = tuple(rank for rank in ranks[1:] if rank != partner)
            for order in matchings(others):
                yield (ranks[0], partner, *order)


def _pair_words(implementation: Any, case: Case) -> Outcome:
    P, n = case.settings["P"], case.settings["n"]
    _, traffic = implementation(np.ones((P, 3, n)), np.arange(P))
    return Outcome(int(traffic.sent.max()), {"n": n, "P": P})


def _centred(rows: Any) -> list[list[Fraction]]:
    columns = [exact(column) for column in np.asarray(rows).T]
    return [[v - sum(column, Fraction(0)) / len(column) for v in column] for column in columns]


def _products(a: Any, b: Any) -> Fraction:
    """Products of the distances from the averages, added up."""
    return sum(
        (u * v for x, y in zip(_centred(a), _centred(b), strict=True) for u, v in zip(x, y, strict=True)), Fraction(0)
    )


def _moments(implementation: Any, case: Case, weights: float, velocities: float) -> list[Fraction]:
    """Squares of slow weights, products with momenta, squares of momenta; after a round, over all pairs."""
    P, pull, momentum = (case.settings[key] for key in ("P", "pairpull", "pairmomentum"))
    x = np.stack([np.arange(P) ** 2, np.arange(P) % 2], axis=1).astype(np.float64)
    start = _products(x, x)
    workers = np.stack([weights * x, velocities * x, 0 * x], axis=1)
    found, orders = [Fraction(0)] * 3, list(matchings(tuple(range(P))))
    for order in orders:
        after, _ = implementation(workers, order, momentum, 0.75, pull)
        w, v = after[:, 0], after[:, 1]
        found = [a + b for a, b in zip(found, (_products(w, w), _products(w, v), _products(v, v)), strict=True)]
    return [total / (len(orders) * start) for total in found]


def _pair_values(case: Case) -> dict[str, Any]:
    return {"P": case.settings["P"], **{key: Fraction(case.settings[key]) for key in ("pairpull", "pairmomentum")}}


def _left(implementation: Any, case: Case) -> Outcome:
    return Outcome(case.once(_moments_of_weights, implementation)[0], _pair_values(case))


def _moments_of_weights(implementation: Any, case: Case) -> list[Fraction]:
    return _moments(implementation, case, 1.0, 0.0)


def _together(implementation: Any, case: Case) -> Outcome:
    """Whether the map of the three moments has all eigenvalues inside the unit circle, by Jury's conditions."""
    of_weights = case.once(_moments_of_weights, implementation)
    of_momenta = _moments(implementation, case, 0.0, 1.0)
    both = _moments(implementation, case, 1.0, 1.0)
    of_products = [b - a - c for a, b, c in zip(of_weights, both, of_momenta, strict=True)]
    (a, b, c), (d, e, f), (g, h, i) = zip(of_weights, of_products, of_momenta, strict=True)
    first = -(a + e + i)
    second = a * e - b * d + a * i - c * g + e * i - f * h
    last = -(a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g))
    stable = (
        abs(last) < 1
        and 1 + first + second + last > 0
        and 1 - first + second - last > 0
        and abs(last * last - 1) > abs(last * first - second)
    )
    return Outcome(int(stable), _pair_values(case))


def _workers(level: int) -> Iterator[Case]:
    for P in range(2, 6 + level):
        for pull in (1.0, 0.5, 1.5, 0.0, 2.0):
            yield settings(P=P, pairpull=pull, pairmomentum=0.0)


def _odd(_budget: Any) -> Iterator[Case]:
    return (settings(P=P, pairpull=1.0, pairmomentum=0.0) for P in (3, 5))


def _pulls(level: int) -> Iterator[Case]:
    for P, momentum in itertools.product((2, 3, 4, 5)[: 3 + level], (0.0, 0.25, 0.5, 0.75)):
        for pull in (0.0, 0.25, 0.5, 0.75, 0.875, 1.0, 1.25, 1.5, 1.75, 1.875, 2.0, 2.25, 2.5, 3.0):
            yield settings(P=P, pairpull=pull, pairmomentum=momentum)
    for P, momentum in itertools.product((2, 3, 4, 5, 6), (0.5, 0.9)):  # the authors' code
        yield settings(P=P, pairpull=0.7, pairmomentum=momentum)


_PAIRED = "all pairs of up to 5 workers; two vectors, no two workers alike"
_PULLED = "all pairs of up to 4 workers, momenta up to 3/4, pulls up to 3; of up to 6 as in the authors' code"

MERGING_STUDIES = (
    study(
        "quorum.words",
        "quorum_merge",
        _quorum_words,
        lambda _level: (settings(P=P, n=n, quorum=K) for P in (1, 2, 3, 4) for n in (1, 3) for K in range(1, P + 1)),
        "all quorums of up to 4 workers",
    ),
    study(
        "quorum.share",
        "quorum_merge",
        partial(_share, "arrived"),
        _quorums,
        "all quorums of up to 4 workers",
        curves=[
            over(
                "quorum",
                "five workers, one of 5 tokens",
                (settings(P=5, quorum=K, heavytokens=5, heavy=0) for K in range(1, 6)),
            )
        ],
    ),
    study("quorum.unbiased", "quorum_merge", partial(_share, "arrived"), _quorums, "all quorums of up to 4 workers"),
    study(
        "quorum.equal_tokens", "quorum_merge", partial(_share, "arrived"), _quorums, "all quorums of up to 4 workers"
    ),
    study(
        "quorum.expected_divisor",
        "quorum_merge",
        partial(_share, "expected"),
        _quorums,
        "all quorums of up to 4 workers",
    ),
    study("quorum.stragglers", "quorum_merge", _stragglers, _chances, "four probabilities each"),
    study(
        "noloco.words",
        "noloco_round",
        _pair_words,
        lambda _level: (settings(P=P, n=n) for P in (1, 2, 3, 4, 7) for n in (1, 4)),
        "up to 7 workers and 4 entries",
    ),
    study("noloco.even", "noloco_round", _left, _workers, _PAIRED),
    study("noloco.odd", "noloco_round", _left, _workers, _PAIRED),
    study(
        "noloco.half",
        "noloco_round",
        _left,
        _workers,
        _PAIRED,
        extremal=_odd,
        curves=[over("P", "all pairs", (settings(P=P, pairpull=1.0, pairmomentum=0.0) for P in range(2, 8)))],
    ),
    study(
        "noloco.pull",
        "noloco_round",
        _left,
        _workers,
        _PAIRED,
        curves=[
            over("pairpull", "four workers", (settings(P=4, pairpull=g / 4, pairmomentum=0.0) for g in range(0, 10)))
        ],
    ),
    study("noloco.stable", "noloco_round", _together, _pulls, _PULLED),
    study("noloco.range", "noloco_round", _together, _pulls, _PULLED),
)
