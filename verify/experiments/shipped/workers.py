"""Claims about what workers do together: Perm-K, Rand-K with one seed, Deep Gradient Compression."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import sympy as sp
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.verify.experiment import Budget
from commbounds.verify.inputs import among, whole
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
    return _stack(draw(whole(1, 4)), draw(whole(1, 4)), draw(among(_FAMILIES)), draw(whole(0, 2**20)))


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


def _gradients(P: int, T: int, n: int, k: int, factor: str, masking: bool, seed: int) -> Case:
    rng = np.random.default_rng([seed, P, T, n])
    odd = P // (P & -P)  # so that means are exact
    x = odd * rng.integers(-4, 5, (P, T * n)).astype(np.float64)
    return Case({"P": P, "T": T, "n": n, "k": k, "factor": factor, "masking": masking, "seed": seed}, x)


def _stepped(implementation: Any, case: Case) -> Any:
    s = case.settings
    return implementation(case.array, s["T"], s["k"], float(Fraction(s["factor"])), s["masking"])


def _momenta(case: Case) -> Array:
    """(T, P, n): the momenta of dense SGD."""
    s = case.settings
    gradients = case.array.reshape(s["P"], s["T"], s["n"]).transpose(1, 0, 2)
    u, momenta = np.zeros_like(gradients[0]), []
    for gradient in gradients:
        u = float(Fraction(s["factor"])) * u + gradient
        momenta.append(u)
    return np.array(momenta)


def _dgc_values(case: Case) -> dict[str, Any]:
    return {**{name: case.settings[name] for name in ("P", "n", "k")}, "dgcsteps": case.settings["T"]}


def _of_run(measure: Callable[[Any, Case], float], implementation: Any, case: Case) -> Outcome:
    run, _ = case.once(_stepped, implementation)
    return Outcome(Fraction(measure(run, case)), _dgc_values(case), active=case.settings["factor"] != "0")


def _unsent(run: Any, case: Case) -> float:
    rest = len(case.array) * run.updates.sum(axis=0) + run.accumulated.sum(axis=0) - _momenta(case).sum(axis=(0, 1))
    return float(np.abs(rest).max())


def _from_momentum(run: Any, case: Case) -> float:
    return float(np.abs(run.updates - _momenta(case).mean(axis=1)).max())


def _from_plain(run: Any, case: Case) -> float:
    s = case.settings
    return float(np.abs(run.updates - case.array.reshape(s["P"], s["T"], s["n"]).mean(axis=0)).max())


def _steps_words(implementation: Any, case: Case) -> Outcome:
    _, traffic = case.once(_stepped, implementation)
    return Outcome(int(traffic.sent.sum()), _dgc_values(case), active=case.settings["P"] > 1)


def _some_steps(level: int) -> Iterator[Case]:
    for P, n, T in itertools.product((1, 2, 4), (1, 2, 3), (1, 2, 4, *((6,) if level else ()))):
        for k, factor, masking in itertools.product(range(1, n + 1), ("0", "1/2", "1/4"), (True, False)):
            yield _gradients(P, T, n, k, factor, masking, 0)
    for P, k, masking in itertools.product((3, 5), (1, 4), (True, False)):
        yield _gradients(P, 9, 4, k, "1/2", masking, 0)


def _of_dgc(statement: str, trial: Any, cases: Sequence[Case]) -> Study:
    return Study(
        f"shipped.dgc_steps.{statement}",
        "dgc_steps",
        trial,
        grid=_some_steps,
        curves=[over("P" if statement == "words" else "dgcsteps", "two workers, four entries", cases)],
        enumerated="up to 4 workers, 3 entries, 4 steps, every k, with and without masking; gradients of whole "
        "numbers; 3 and 5 workers over 9 steps",
    )


def _waiting(delay: int, factor: str, P: int, later: int = 2) -> Case:
    """One gradient of the first entry, and a larger second one while it has to wait."""
    rows = np.zeros((delay + 1 + later, 2))
    rows[0, 0] = 1.0
    rows[:delay, 1] = 64.0
    x = np.tile(rows.ravel(), (P, 1))
    settings = {"P": P, "T": len(rows), "n": 2, "k": 1, "factor": factor, "masking": True, "delay": delay}
    return Case(settings, x)


def _applied(implementation: Any, case: Case) -> Outcome:
    run, _ = case.once(_stepped, implementation)
    values = {"momentum": Fraction(case.settings["factor"]), "delay": case.settings["delay"]}
    return Outcome(Fraction(float(run.updates[:, 0].sum())), values, active=case.settings["factor"] != "0")


def _delays(level: int) -> Iterator[Case]:
    for delay, factor, P in itertools.product(range(6 + 4 * level), ("0", "1/2", "1/4"), (1, 2)):
        yield _waiting(delay, factor, P)
    yield _waiting(7, "1/2", 8)


def _dense(masking: bool) -> list[Case]:
    return [_gradients(2, T, 4, 4, "1/2", masking, 1) for T in (1, 2, 3, 5, 8)]


_SPARSE = [_gradients(2, T, 4, 1, "1/2", False, 1) for T in (1, 2, 4, 8, 16)]
_MASKED = [_gradients(2, T, 4, 1, "1/2", True, 1) for T in (1, 2, 4, 8, 16)]

WORKERS = studies(
    _of_permk("unbiased", _mean_bias),
    _of_permk("error", partial(_mean_error, _permuted)),
    _of_permk("identical", _worst_error),
    _of_permk("never_worse", partial(_mean_error, _permuted), extremal=_opposed),
    _of_permk("words", partial(_words, _permuted)),
    _of_shared("error", partial(_mean_error, _subsets)),
    _of_shared("divided", partial(_mean_error, _subsets), extremal=_alike),
    _of_shared("words", partial(_words, _subsets)),
    _of_dgc("conserved", partial(_of_run, _unsent), _SPARSE),
    _of_dgc("conserved_masked", partial(_of_run, _unsent), _MASKED),
    _of_dgc("dense_unmasked", partial(_of_run, _from_momentum), _dense(False)),
    _of_dgc("dense_momentum", partial(_of_run, _from_momentum), _dense(True)),
    _of_dgc("dense_plain", partial(_of_run, _from_plain), _dense(True)),
    Study(
        "shipped.dgc_steps.delayed",
        "dgc_steps",
        _applied,
        grid=_delays,
        curves=[over("delay", "factor 1/2", [_waiting(d, "1/2", 2) for d in range(8)])],
        enumerated="up to five steps of waiting, three factors",
    ),
    _of_dgc("words", _steps_words, [_gradients(P, 3, 4, 2, "1/2", True, 1) for P in (1, 2, 4, 8)]),
)
"""The studies by the name of their claim."""
