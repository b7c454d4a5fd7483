"""Claims about what workers do together: Perm-K, Rand-K with one seed, Deep Gradient Compression."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import sympy as sp
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.verify.experiment import Budget
from commbounds.verify.family import Family
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.space import RANKS, Of, Space
from commbounds.verify.study import Case, Outcome, Study, over, studies

Array = NDArray[Any]

# --- stacks of small whole numbers --------------------------------------------------------------------------------


def _stack(P: int, n: int, family: str, seed: int = 0, **given: Any) -> Case:
    """A stack of whole numbers, so small that sums are exact."""
    rng = np.random.default_rng([seed, P, n])
    if family == "equal":
        x = np.tile(rng.integers(-3, 4, n), (P, 1))
    elif family == "cancelling":
        x = np.outer((-1.0) ** np.arange(P), 1 + np.arange(n))
    elif family == "apart":
        x = rng.integers(-3, 4, (P, n))
    else:  # one common vector and a little of one's own
        x = np.tile(rng.integers(1, 4, n), (P, 1)) * 2 + rng.integers(-1, 2, (P, n))
    return Case({"P": P, "n": n, "family": family, "seed": seed, **given}, x.astype(np.float64))


_FAMILIES = ("apart", "equal", "cancelling", "alike")


def _exact_values(case: Case) -> dict[str, Any]:
    """P, n and the norms, exact."""
    x = [[Fraction(v) for v in row] for row in case.array.tolist()]
    P = len(x)
    mean = [sum(column, Fraction(0)) / P for column in zip(*x, strict=True)]
    square = sum(v * v for v in mean)
    norm = sp.sqrt(sp.Rational(square.numerator, square.denominator))
    return {"P": P, "n": len(mean), "sumsq": sum(v * v for row in x for v in row), "norm2bar": norm, "mean": mean}


# --- Perm-K -------------------------------------------------------------------------------------------------------


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


def _permuted(implementation: Any, case: Case) -> list[tuple[Fraction, Array, int]]:
    """(probability, all ranks' means, words) for every map."""
    results = []
    for owners, chance in owner_maps(*case.array.shape):
        mean, traffic = implementation(case.array, owners=list(owners))
        results.append((chance, np.asarray(mean), int(traffic.sent.sum())))
    return results


def _subsets(implementation: Any, case: Case) -> list[tuple[Fraction, Array, int]]:
    """The same for every set of k entries."""
    sets = list(itertools.combinations(range(case.array.shape[1]), case.settings["k"]))
    results = []
    for places in sets:
        mean, traffic = implementation(case.array, case.settings["k"], places=list(places))
        results.append((Fraction(1, len(sets)), np.asarray(mean), int(traffic.sent.sum())))
    return results


def _off(row: Sequence[float], mean: Sequence[Fraction]) -> Fraction:
    return sum(((Fraction(v) - m) ** 2 for v, m in zip(row, mean, strict=True)), Fraction(0))


def _mean_error(drawn: Any, implementation: Any, case: Case) -> Outcome:
    """Of the rank that is worst off, expected."""
    values = case.once(_exact_values)
    outcomes = case.once(drawn, implementation)
    errors = [
        sum((p * _off(means[r], values["mean"]) for p, means, _ in outcomes), Fraction(0)) for r in range(values["P"])
    ]
    return Outcome(max(errors), {**values, **case.settings}, active=values["P"] > 1 or drawn is _subsets)


def _worst_error(implementation: Any, case: Case) -> Outcome:
    values = case.once(_exact_values)
    worst = max(_off(row, values["mean"]) for _, means, _ in case.once(_permuted, implementation) for row in means)
    return Outcome(worst, values, active=values["P"] > 1)


def _mean_bias(implementation: Any, case: Case) -> Outcome:
    values = case.once(_exact_values)
    outcomes, P, n = case.once(_permuted, implementation), values["P"], values["n"]
    gaps = [
        abs(sum((p * Fraction(means[r, j]) for p, means, _ in outcomes), Fraction(0)) - values["mean"][j])
        for r in range(P)
        for j in range(n)
    ]
    return Outcome(max(gaps), values, active=P > 1)


def _words(drawn: Any, implementation: Any, case: Case) -> Outcome:
    values = {**case.once(_exact_values), **case.settings}
    words = {count for _, _, count in case.once(drawn, implementation)}
    return Outcome(max(words), values, active=values["P"] > 1)


def _small(level: int) -> Iterator[Case]:
    shapes = [(1, 2), (2, 1), (2, 2), (2, 3), (3, 2), (3, 3), (2, 4), (4, 2), (4, 3)]
    shapes += [(3, 4), (5, 3)] if level else []
    for (P, n), family, seed in itertools.product(shapes, _FAMILIES, (0, 1)):
        yield _stack(P, n, family, seed)


@st.composite
def _drawn(draw: st.DrawFn) -> Case:
    return _stack(draw(integers(1, 4)), draw(integers(1, 4)), draw(sampled_from(_FAMILIES)), draw(integers(0, 2**20)))


def _opposed(_budget: Budget) -> Iterator[Case]:
    for P, n in ((2, 1), (2, 3), (4, 2)):
        yield _stack(P, n, "cancelling")


def _alike(_budget: Budget) -> Iterator[Case]:
    for P, n in ((2, 2), (4, 2)):
        yield _stack(P, n, "equal", 1, k=1)


_CURVED = [_stack(P, 3, "alike", 5) for P in (1, 2, 3, 4, 5, 6, 8)]


def _of_permk(statement: str, trial: Any, **options: Any) -> Study:
    cases = [_stack(P, 3, "equal", 1) for P in (2, 3, 4, 5)] if statement == "identical" else _CURVED
    return Study(
        f"shipped.permk_mean.{statement}",
        "permk_mean",
        trial,
        grid=_small,
        cases=_drawn,
        curves=[over("P", "three entries", cases)],
        enumerated="up to 4 workers and 4 entries, small whole numbers, every permutation and turn",
        **options,
    )


# --- Rand-K with one seed -------------------------------------------------------------------------------------------


def _dyadic(n: int, k: int, P: int) -> bool:
    """Whether n/(k P) is a float, so that results are exact."""
    return Fraction(n, k * P).denominator & (Fraction(n, k * P).denominator - 1) == 0


def _small_sets(level: int) -> Iterator[Case]:
    for P, n in itertools.product((1, 2, 3, 4), (1, 2, 3, 4, *((5, 6) if level else ()))):
        for k, family in itertools.product(range(1, n + 1), _FAMILIES):
            if _dyadic(n, k, P):
                yield _stack(P, n, family, 1, k=k)
    for (P, n, k), family in itertools.product(((3, 6, 2), (5, 5, 1), (8, 3, 2)), _FAMILIES):
        yield _stack(P, n, family, 1, k=k)


_SETS = [_stack(P, 4, "alike", 3, k=2) for P in (1, 2, 4, 8)]


def _of_shared(statement: str, trial: Any, **options: Any) -> Study:
    axis = "k" if statement == "error" else "P"
    cases = [_stack(2, 4, "alike", 3, k=k) for k in (1, 2, 4)] if statement == "error" else _SETS
    return Study(
        f"shipped.shared_randk_mean.{statement}",
        "shared_randk_mean",
        trial,
        grid=_small_sets,
        curves=[over(axis, "four entries", cases)],
        enumerated="up to 4 workers and 4 entries, small whole numbers, every set of k entries; up to 8 workers with "
        "more",
        **options,
    )


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
    _of_permk("unbiased", _mean_bias),
    _of_permk("error", partial(_mean_error, _permuted)),
    _of_permk("identical", _worst_error),
    _of_permk("never_worse", partial(_mean_error, _permuted), extremal=_opposed),
    _of_permk("words", partial(_words, _permuted)),
    _of_shared("error", partial(_mean_error, _subsets)),
    _of_shared("divided", partial(_mean_error, _subsets), extremal=_alike),
    _of_shared("words", partial(_words, _subsets)),
    *_of_dgc("conserved", _unsent, 1, False),
    *_of_dgc("conserved_masked", _unsent, 1, True),
    *_of_dgc("dense_unmasked", _from_momentum, 4, False),
    *_of_dgc("dense_momentum", _from_momentum, 4, True),
    *_of_dgc("dense_plain", _from_plain, 4, True),
    *WAITING.studies(_applied, "delayed", curves=[WAITING.over("delay", range(8), "factor 1/2")]),
    *DGC.studies(_steps_words, "words", curves=[_BY_RANKS]),
)
"""The studies by the name of their claim."""
