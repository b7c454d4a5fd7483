"""Claims about what workers do together: Perm-K, Rand-K with one seed, Deep Gradient Compression."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from math import comb
from typing import Any

import numpy as np
import sympy as sp

from commbounds.array_types import Array
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, Of, Settings, Space
from commbounds.verify.study import Outcome, Study, studies

# --- stacks of small whole numbers --------------------------------------------------------------------------------


def _stack(P: int, n: int, family: str, seed: int) -> Array:
    """Whole numbers, so small that sums are exact."""
    rng = np.random.default_rng([seed, P, n])
    makers: dict[str, Callable[[], Array]] = {
        "apart": lambda: rng.integers(-3, 4, (P, n)),
        "equal": lambda: np.tile(rng.integers(-3, 4, n), (P, 1)),
        "cancelling": lambda: np.outer((-1.0) ** np.arange(P), 1 + np.arange(n)),
        # one common vector and a little of one's own
        "alike": lambda: np.tile(rng.integers(1, 4, n), (P, 1)) * 2 + rng.integers(-1, 2, (P, n)),
    }
    return makers[family]().astype(np.float64)


def _norms(x: Array) -> dict[str, Any]:
    """Exact."""
    rows = [[Fraction(v) for v in row] for row in x.tolist()]
    mean = [sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True)]
    square = sum(v * v for v in mean)
    norm = sp.sqrt(sp.Rational(square.numerator, square.denominator))
    return {"sumsq": sum(v * v for row in rows for v in row), "norm2bar": norm, "mean": mean}


# --- Perm-K, and Rand-K with one seed -----------------------------------------------------------------------------


@lru_cache(maxsize=64)
def owner_maps(P: int, n: int) -> tuple[tuple[tuple[int, ...], Fraction], ...]:
    """Every map of entries to ranks with its probability: all permutations, cut into blocks, and all turns."""
    blocks = np.array_split(np.arange(n), P)
    found: Counter[tuple[int, ...]] = Counter()
    for order in itertools.permutations(range(n)):
        for turn in range(P):
            owners = [0] * n
            for b, block in enumerate(blocks):
                for place in block:
                    owners[order[place]] = (b + turn) % P
            found[tuple(owners)] += 1
    total = sum(found.values())
    return tuple((owners, Fraction(times, total)) for owners, times in found.items())


Drawn = list[tuple[Fraction, Array, int]]
"""Of every draw the probability, all ranks' means, and the words."""


def _permuted(implementation: Any, x: Array) -> Drawn:
    made = ((chance, implementation(x, owners=list(owners))) for owners, chance in owner_maps(*x.shape))
    return [(chance, np.asarray(mean), int(traffic.sent.sum())) for chance, (mean, traffic) in made]


def _subsets(implementation: Any, x: Array, k: int) -> Drawn:
    """Every set of k entries."""
    made = [implementation(x, k, places=list(places)) for places in itertools.combinations(range(x.shape[1]), k)]
    return [(Fraction(1, len(made)), np.asarray(mean), int(traffic.sent.sum())) for mean, traffic in made]


def _off(row: Sequence[float], mean: Sequence[Fraction]) -> Fraction:
    return sum(((Fraction(v) - m) ** 2 for v, m in zip(row, mean, strict=True)), Fraction(0))


def _mean_error(found: Drawn, mean: list[Fraction], P: int, settings: Settings) -> Outcome:
    """Of the rank that is worst off, expected; ranks that end with the same all the time are worse off together."""
    off = cache(lambda row: _off(row, mean))
    ranks = {tuple(tuple(means[r].tolist()) for _, means, _ in found) for r in range(P)}
    errors = [sum((p * off(row) for (p, _, _), row in zip(found, rows, strict=True)), Fraction(0)) for rows in ranks]
    return Outcome(max(errors), {}, active=P > 1 or "k" in settings)


def _worst_error(found: Drawn, mean: list[Fraction], P: int) -> Outcome:
    rows = {tuple(row) for _, means, _ in found for row in means.tolist()}
    return Outcome(max(_off(row, mean) for row in rows), {}, active=P > 1)


def _mean_bias(found: Drawn, mean: list[Fraction], P: int, n: int) -> Outcome:
    gaps = [
        abs(sum((p * Fraction(means[r, j]) for p, means, _ in found), Fraction(0)) - mean[j])
        for r in range(P)
        for j in range(n)
    ]
    return Outcome(max(gaps), {}, active=P > 1)


def _words(found: Drawn, P: int) -> Outcome:
    return Outcome(max(count for _, _, count in found), {}, active=P > 1)


_FAMILIES = ("apart", "equal", "cancelling", "alike")
_STACKS = Space(
    _stack, {"P": (2, 1, *range(3, 10)), "n": (3, 1, 2, 4), "family": _FAMILIES}, combined=(("P", "n", "family"),)
).search(P=(1, 4))
_PERMK = Family("shipped.permk_mean", "permk_mean", _STACKS, _norms, _permuted)
_SETS = (
    _STACKS.replaced(
        n=(4, 1, 2, 3, Of("P", lambda P: P), Of("2 P", lambda P: 2 * P)),
        k=(
            1,
            Of("2, at most n", lambda n: min(n, 2)),
            Of("n - 1, at least 1", lambda n: max(n - 1, 1)),
            Of("n", lambda n: n),
        ),
    )
    .without("Gains n/(k P) that no float is.", lambda P, n, k: (q := Fraction(n, k * P).denominator) & (q - 1) != 0)
    .without("More than 300 sets, as all are gone through.", lambda n, k: comb(n, k) > 300)
)
_SHARED = Family("shipped.shared_randk_mean", "shared_randk_mean", _SETS, _norms, _subsets, arrays=2, searched=False)


def _of_permk(measure: Any, *statements: str, family: str = "alike", **options: Any) -> tuple[Study, ...]:
    ranks = (2, 3, 4, 5) if family == "equal" else (1, 2, 3, 4, 5, 6, 8)
    curve = _PERMK.over("P", ranks, "three entries", family=family, seed=5)
    return _PERMK.studies(measure, *statements, curves=[curve], **options)


def _of_shared(measure: Any, statement: str, axis: str = "P", **options: Any) -> tuple[Study, ...]:
    at: dict[str, Any] = {"n": 4, "family": "alike", "seed": 3}
    by_ranks = _SHARED.over("P", (1, 2, 4, 8), "four entries", k=2, **at)
    curve = _SHARED.over("k", (1, 2, 4), "four entries, two workers", P=2, **at) if axis == "k" else by_ranks
    return _SHARED.studies(measure, statement, curves=[curve], **options)


# --- Deep Gradient Compression ----------------------------------------------------------------------------------------

FACTORS = (Fraction(1, 2), Fraction(0), Fraction(1, 4))


def _gradients(P: int, n: int, dgcsteps: int, seed: int) -> Array:
    odd = P // (P & -P)  # so that means are exact
    x: Array = odd * np.random.default_rng([seed, P, dgcsteps, n]).integers(-4, 5, (P, dgcsteps * n)).astype(np.float64)
    return x


def _stepped(implementation: Any, x: Array, dgcsteps: int, k: int, momentum: Fraction, masking: bool) -> Any:
    return implementation(x, dgcsteps, k, float(momentum), masking)


def _plain(x: Array, dgcsteps: int, momentum: Fraction) -> dict[str, Array]:
    """(T, P, n): gradients, and the momenta of dense SGD."""
    gradients = x.reshape(len(x), dgcsteps, -1).transpose(1, 0, 2)
    momenta = [gradients[0]]
    for gradient in gradients[1:]:
        momenta.append(float(momentum) * momenta[-1] + gradient)
    return {"gradients": gradients, "momenta": np.array(momenta)}


DGC = Family(
    "shipped.dgc_steps",
    "dgc_steps",
    Space(
        _gradients,
        {
            "P": (2, *(P for P in RANKS if P != 2)),
            "n": (4, 1, 2, 3),
            "dgcsteps": (3, 1, 2, 4, 9),
            "k": (1, Of("n", lambda n: n), Of("max(n - 1, 1)", lambda n: max(n - 1, 1))),
            "momentum": FACTORS,
            "masking": (True, False),
        },
        combined=(("dgcsteps", "k", "momentum", "masking"), ("P", "n", "k", "masking")),
    ),
    _plain,
    _stepped,
    arrays=3,
    searched=False,
)


def _largest(values: Array, momentum: Fraction) -> Outcome:
    return Outcome(Fraction(float(np.abs(values).max())), {}, active=momentum != 0)


def _unsent(found: Any, P: int, momenta: Array, momentum: Fraction) -> Outcome:
    run, _ = found
    rest = P * run.updates.sum(axis=0) + run.accumulated.sum(axis=0) - momenta.sum(axis=(0, 1))
    return _largest(rest, momentum)


def _from_momentum(found: Any, momenta: Array, momentum: Fraction) -> Outcome:
    return _largest(found[0].updates - momenta.mean(axis=1), momentum)


def _from_plain(found: Any, gradients: Array, momentum: Fraction) -> Outcome:
    return _largest(found[0].updates - gradients.mean(axis=1), momentum)


def _steps_words(found: Any, P: int) -> Outcome:
    return Outcome(int(found[1].sent.sum()), {}, active=P > 1)


def _of_dgc(statement: str, measure: Any, k: int, masking: bool) -> tuple[Study, ...]:
    steps = (1, 2, 4, 8, 16) if k == 1 else (1, 2, 3, 5, 8)
    curve = DGC.over("dgcsteps", steps, "two workers, four entries", k=k, masking=masking, seed=1)
    return DGC.studies(measure, statement, curves=[curve])


_BY_RANKS = DGC.over("P", (1, 2, 4, 8), "four entries, three steps", k=2, seed=1)


def _waiting(delay: int, P: int) -> Array:
    """One gradient of the first entry, and a larger second one while it has to wait."""
    rows = np.zeros((delay + 3, 2))
    rows[0, 0] = 1.0
    rows[:delay, 1] = 64.0
    return np.tile(rows.ravel(), (P, 1))


WAITING = Family(
    "shipped.dgc_steps",
    "dgc_steps",
    Space(
        _waiting,
        {"P": (2, 1, *range(3, 10)), "delay": tuple(range(8)), "momentum": FACTORS, "masking": (True,)},
        combined=(("delay", "momentum"),),
    ),
    run=lambda implementation, x, delay, momentum: implementation(x, delay + 3, 1, float(momentum), True),
    searched=False,
)


def _applied(found: Any, momentum: Fraction) -> Outcome:
    return Outcome(Fraction(float(found[0].updates[:, 0].sum())), {}, active=momentum != 0)


WORKERS = studies(
    *_of_permk(_mean_bias, "unbiased"),
    *_of_permk(_mean_error, "error"),
    *_of_permk(_worst_error, "identical", family="equal"),
    *_of_permk(_mean_error, "never_worse", extremal=_PERMK.every(P=[2, 4], n=[1, 2, 3], family=["cancelling"])),
    *_of_permk(_words, "words"),
    *_of_shared(_mean_error, "error", "k"),
    *_of_shared(_mean_error, "divided", extremal=_SHARED.every(P=[2, 4], n=[2], family=["equal"], seed=[1])),
    *_of_shared(_words, "words"),
    *_of_dgc("conserved", _unsent, 1, False),
    *_of_dgc("conserved_masked", _unsent, 1, True),
    *_of_dgc("dense_unmasked", _from_momentum, 4, False),
    *_of_dgc("dense_momentum", _from_momentum, 4, True),
    *_of_dgc("dense_plain", _from_plain, 4, True),
    *WAITING.studies(_applied, "delayed", curves=[WAITING.over("delay", range(8), "factor 1/2")]),
    *DGC.studies(_steps_words, "words", curves=[_BY_RANKS]),
)
"""The studies by the name of their claim."""
