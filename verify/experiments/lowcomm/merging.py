"""Merges with a quorum, and random pairs: the claims bound to their implementations."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from math import lcm
from operator import mul
from typing import Any

import numpy as np

from commbounds.verify.experiments.lowcomm.outer import LONE, exact, family
from commbounds.verify.space import RANKS, Of, Space, nothing, rationals

# --- quorums -----------------------------------------------------------------------------------------------------


def _quorum_words(implementation: Any, P: int, n: int, quorum: int) -> int:
    return max(
        int(implementation(np.ones((P, n)), np.ones(P), np.isin(np.arange(P), there))[1].sent.max())
        for there in itertools.combinations(range(P), quorum)
    )


def _share(divisor: str, implementation: Any, P: int, quorum: int, heavytokens: int, heavy: int) -> Fraction:
    """The mean weight of the worker with more tokens over all quorums, for unit vectors."""
    tokens = np.ones(P)
    tokens[heavy] = heavytokens
    scale = lcm(heavytokens + quorum - 1, quorum, (heavytokens + P - 1) * quorum)
    total, quorums = Fraction(0), list(itertools.combinations(range(P), quorum))
    for there in quorums:
        merged, _ = implementation(np.eye(P) * scale, tokens, np.isin(np.arange(P), there), divisor=divisor)
        total += exact(merged[-1, heavy])[0]
    return total / (scale * len(quorums))


def _stragglers(implementation: Any, arrive_first: Fraction, arrive_second: Fraction) -> Fraction:
    """Two workers with the numbers 0 and 2, in a quorum of whoever arrives."""
    p, q = arrive_first, arrive_second
    mean = certain = Fraction(0)
    for first, second in ((True, False), (False, True), (True, True)):
        chance = (p if first else 1 - p) * (q if second else 1 - q)
        merged, _ = implementation([[0.0], [2.0]], [1, 1], [first, second])
        mean, certain = mean + chance * exact(merged[0])[0], certain + chance
    return abs(mean / certain - 1) / 2


_QUORUM = (
    1,
    Of("P", lambda P: P),
    Of("P // 2, at least 1", lambda P: max(P // 2, 1)),
    Of("P - 1, at least 1", lambda P: max(P - 1, 1)),
)
_WORDS = family("quorum_merge", Space(nothing, {"P": RANKS, "n": (1, 3), "quorum": _QUORUM}))
_QUORUMS = family(
    "quorum_merge",
    Space(
        nothing,
        {"P": RANKS, "quorum": _QUORUM, "heavytokens": (1, 2, 5), "heavy": (0, Of("P - 1", lambda P: P - 1))},
        options=("quorum", "heavytokens"),
    ),
)
_CHANCES = rationals("1/8", "1/3", "1/2", 1)
_ARRIVING = family("quorum_merge", Space(nothing, {"arrive_first": _CHANCES, "arrive_second": _CHANCES}))

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


def _pair_words(implementation: Any, P: int, n: int) -> int:
    return int(implementation(np.ones((P, 3, n)), np.arange(P))[1].sent.max())


def _whole(rows: Any) -> tuple[list[list[int]], int]:
    """The columns as whole numbers, over a power of two."""
    columns = [[v.as_integer_ratio() for v in column] for column in rows.T.tolist()]
    scale = max(divisor for column in columns for _, divisor in column)
    return [[number * (scale // divisor) for number, divisor in column] for column in columns], scale


def _products(a: tuple[list[list[int]], int], b: tuple[list[list[int]], int]) -> Fraction:
    """Products of the distances from the averages, added up: of P rows P sum(u v) - sum(u) sum(v), over P."""
    (us, first), (vs, second) = a, b
    P = len(us[0])
    total = sum(P * sum(map(mul, u, v)) - sum(u) * sum(v) for u, v in zip(us, vs, strict=True))
    return Fraction(total, P * first * second)


def _moments(
    implementation: Any, P: int, pairpull: Fraction, pairmomentum: Fraction, *starts: tuple[float, float]
) -> list[list[Fraction]]:
    """Squares of slow weights, products with momenta, squares of momenta; after a round, over all pairs.

    Of each start, which are columns of one run: how large slow weights and momenta are in it.
    """
    x = np.stack([np.arange(P) ** 2, np.arange(P) % 2], axis=1).astype(np.float64)
    start = _products(_whole(x), _whole(x))
    weights, velocities = (np.hstack([size * x for size in sizes]) for sizes in zip(*starts, strict=True))
    workers = np.stack([weights, velocities, 0 * weights], axis=1)
    found, orders = [[Fraction(0)] * 3 for _ in starts], list(matchings(tuple(range(P))))
    for order in orders:
        after, _ = implementation(workers, order, float(pairmomentum), 0.75, float(pairpull))
        for at, total in enumerate(found):
            w, v = (_whole(after[:, part, 2 * at : 2 * at + 2]) for part in (0, 1))
            more = _products(w, w), _products(w, v), _products(v, v)
            total[:] = [a + b for a, b in zip(total, more, strict=True)]
    return [[value / (len(orders) * start) for value in total] for total in found]


def _of_weights(implementation: Any, P: int, pairpull: Fraction, pairmomentum: Fraction) -> list[Fraction]:
    return _moments(implementation, P, pairpull, pairmomentum, (1.0, 0.0))[0]


def _together(implementation: Any, P: int, pairpull: Fraction, pairmomentum: Fraction) -> int:
    """Whether the map of the three moments has all eigenvalues inside the unit circle, by Jury's conditions."""
    starts = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0))
    of_weights, of_momenta, both = _moments(implementation, P, pairpull, pairmomentum, *starts)
    of_products = [b - a - c for a, b, c in zip(of_weights, both, of_momenta, strict=True)]
    (a, b, c), (d, e, f), (g, h, i) = zip(of_weights, of_products, of_momenta, strict=True)
    first = -(a + e + i)
    second = a * e - b * d + a * i - c * g + e * i - f * h
    last = -(a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g))
    return int(
        abs(last) < 1
        and 1 + first + second + last > 0
        and 1 - first + second - last > 0
        and abs(last * last - 1) > abs(last * first - second)
    )


_PAIRED = Space(
    nothing, {"P": RANKS, "pairpull": rationals(1, "1/2", "3/2", 0, 2), "pairmomentum": rationals(0)}
).without(LONE, lambda P: P == 1)
_MANY = "More than {} ways to pair P workers, as all are gone through."
_WORKERS = family("noloco_round", _PAIRED.without(_MANY.format(105), lambda P: P > 8), run=_of_weights)
_PULLS = rationals(0, "1/4", "1/2", "3/4", "7/8", 1, "5/4", "3/2", "7/4", "15/8", 2, "9/4", "5/2", 3)
_PULLED = _PAIRED.replaced(pairpull=_PULLS, pairmomentum=rationals(0, "1/4", "1/2", "3/4")).without(
    _MANY.format(15), lambda P: P > 6
)
_AS_IN_CODE = _PULLED.every(P=range(2, 7), pairpull=rationals(0.7), pairmomentum=rationals(0.5, 0.9))
_STABLE = family("noloco_round", _PULLED.including(*_AS_IN_CODE), run=_together)
_PAIR_WORDS = family("noloco_round", Space(nothing, {"P": RANKS, "n": (1, 4)}))


def _weights_left(found: list[Fraction]) -> Fraction:
    return found[0]


MERGING_STUDIES = (
    *_WORDS.studies(_quorum_words, "quorum.words"),
    *_QUORUMS.studies(
        partial(_share, "arrived"),
        "quorum.share",
        curves=[_QUORUMS.over("quorum", range(1, 6), "five workers, one of 5 tokens", P=5, heavytokens=5)],
    ),
    *_QUORUMS.studies(partial(_share, "arrived"), "quorum.unbiased", "quorum.equal_tokens"),
    *_QUORUMS.studies(partial(_share, "expected"), "quorum.expected_divisor"),
    *_ARRIVING.studies(_stragglers, "quorum.stragglers"),
    *_PAIR_WORDS.studies(_pair_words, "noloco.words"),
    *_WORKERS.studies(_weights_left, "noloco.even", "noloco.odd"),
    *_WORKERS.studies(
        _weights_left,
        "noloco.half",
        extremal=_WORKERS.every(P=(3, 5)),
        curves=[_WORKERS.over("P", range(2, 8), "all pairs")],
    ),
    *_WORKERS.studies(
        _weights_left,
        "noloco.pull",
        curves=[_WORKERS.over("pairpull", rationals(*(g / 4 for g in range(10))), "four workers", P=4)],
    ),
    *_STABLE.studies(lambda found: found, "noloco.stable", "noloco.range"),
)
