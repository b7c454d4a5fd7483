"""Potentials of DIANA, MARINA, DASHA and EF21-P after one step on quadratics; whole runs of MARINA."""

import math
from fractions import Fraction
from functools import partial
from math import comb
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.experiments.feedback.runs import lifted, root, square
from commbounds.verify.experiments.variance_reduced.enumeration import (
    HALF,
    WAYS,
    WHOLE,
    Bowls,
    as_found,
    averaged,
    choices,
    every_way,
    halved,
    mean_square,
    own_row,
    ranks_mean,
    total,
)
from commbounds.verify.family import Family, Rounded, rounded_square
from commbounds.verify.space import RANKS, Of, Space, nothing, sizes

Values = dict[str, Any]


def _bowls(P: int, n: int, curvature: str, apart: float, exact: bool, seed: int) -> Array:
    """Curvatures, linear parts, which add up to zero, and P + 1 points.

    Curvatures are quarters, or all one; two workers' are `apart`, where one may be negative, but no mean. The rest are
    small integers times 16. All are other numbers if they are not exact.
    """
    rng = np.random.default_rng([seed, P, n, 9])
    d = rng.integers(1, 5, (P, n)) / 4.0 if exact else rng.uniform(0.05, 1.0, (P, n))
    d = np.ones((P, n)) if curvature == "one" else d
    if apart and P > 1:
        d[0] += apart
        d[1] -= apart
        d[1] += np.maximum(0.0, -d.mean(axis=0)) * P
    c, points = (
        16.0 * rng.integers(-4, 5, shape) if exact else rng.standard_normal(shape) for shape in ((P, n), (P + 1, n))
    )
    c[-1] -= c.sum(axis=0)
    return np.concatenate([d, c, points])


def _known(x: Array, P: int, n: int, k: int, stepsize: Fraction, exact: bool) -> Values:
    """The functions, a point, a vector for every rank, and constants; and how often entries are rounded."""
    bowls = Bowls(lifted(x[:P], exact), lifted(x[P : 2 * P], exact))
    roundings = 0 if exact else 6 * P + n + comb(n, k) ** P + 32
    return {
        "bowls": bowls, "at": x[2 * P], "rows": x[2 * P + 1 :], "omega": Fraction(n, k) - 1,
        "gamma": stepsize if exact else float(stepsize), "smoothness": bowls.of_average[1],
        "smoothness_apart": root(averaged([value**2 for value in bowls.of_workers])), "roundings": roundings,
    }  # fmt: skip


def _floats(bowls: Bowls, at: Array) -> Array:
    return np.asarray(bowls.gradients(at), np.float64)


def _norm(*arrays: Any) -> float:
    """Of all of them together."""
    return math.sqrt(sum(float(square(a)) for a in arrays))


def _rounded(value: Any, roundings: int, reach: float) -> Rounded:
    """A potential is the squared norm of vectors put together, which are rounded on the way; `reach` is their size."""
    return rounded_square(value, roundings, reach, reach**2)


_GAMMAS = (*(Fraction(*pair) for pair in ((1, 4), (1, 32), (1, 8), (3, 16), (1, 2), (1, 1))),)
_OTHER = Of("1/10, but 1/16 in exact arithmetic", lambda exact: Fraction(1, 16) if exact else Fraction(1, 10))
_EXACT = Of(
    "binary fractions hold 1/P, k/n and n/k", lambda P, n, k: all(map(halved, map(Fraction, (1, k, n), (P, n, k))))
)
_AXES: Values = {
    "P": RANKS,
    "n": (2, 1, 3, 4),
    "k": (1, WHOLE, HALF),
    "keep": ("random",),
    "curvature": ("drawn", "one"),
    "apart": (0.0,),
    "exact": (_EXACT, False),
}


def _space(**axes: tuple[Any, ...]) -> Space:
    space = Space(_bowls, {**_AXES, **axes, "stepsize": (*_GAMMAS, _OTHER)})
    space = space.without(WAYS, lambda P, n, k: comb(n, k) ** P > 64)
    return space.including(space.at(P=9, stepsize=Fraction(1, 8)))


# --- DIANA -----------------------------------------------------------------------------------------------------------


def _of_diana(
    x: Array, P: int, n: int, k: int, stepsize: Fraction, weight: Fraction, shifts: str, exact: bool
) -> Values:
    """Shifts are right, turned round about the point, or anything; or anything at the minimiser."""
    known = _known(x, P, n, k, stepsize, exact)
    bowls, at, c = known["bowls"], known["at"] * (shifts != "at best"), x[P : 2 * P]
    g = _floats(bowls, lifted(at, exact))
    held = {"right": c, "turned": 2 * c - g}.get(shifts, known["rows"])
    mu, _ = bowls.of_average
    return {
        **known, "at": at, "g": g, "held": held, "leastconvexity": mu, "largest_smoothness": max(bowls.of_workers),
        "to_minimiser": square(lifted(at, exact)), "shift_error": mean_square(lifted(held, exact) - bowls.linear),
        "a": weight if exact else float(weight),
    }  # fmt: skip


def _after_diana(
    implementation: Any, at: Array, g: Array, held: Array, bowls: Bowls, gamma: Any, weight: Fraction,
    P: int, n: int, k: int, seed: int, exact: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """Expected squared distance from the minimiser, and of the shifts."""
    near, errors, start = [], [], lifted(at, exact)
    for state in every_way(implementation, list(choices(P, n, k)), k, float(weight), g, held, ranks_mean(held)):
        near.append(square(start - gamma * own_row(state.estimate, seed, exact)))
        errors.append(mean_square(lifted(state.shifts, exact) - bowls.linear))
    return averaged(near), averaged(errors)


def _near(sharp: bool, found: Any, facts: Values, P: int, gamma: Any, a: Any, exact: bool, roundings: int) -> Rounded:
    near, errors = found
    omega = facts["omega"] if exact else float(facts["omega"])
    c = gamma**2 * omega / (P * a * (1 - a * (1 + omega))) if sharp else 4 * gamma**2 * omega * (1 + omega) / P
    moved = 4 * (1 + float(omega)) * _norm(facts["g"], facts["held"], facts["bowls"].linear)
    return _rounded(near + c * errors, roundings, _norm(facts["at"]) + (float(gamma) + float(c) ** 0.5) * moved)


def _largest(P: int, n: int, k: int, weight: Fraction) -> Fraction:
    """1/(1 + omega/(P (1 - a (1 + omega)))), for curvatures that are one."""
    omega = Fraction(n, k) - 1
    return 1 / (1 + omega / (P * (1 - weight * (1 + omega))))


def _share(part: int, exactly: int = 0) -> Of:
    label = f"k/({part} n)" + (f", but k/({exactly} n) in exact arithmetic" if exactly else "")
    return Of(label, lambda n, k, exact: Fraction(k, n * ((exact and exactly) or part)))


_PARTS = (_share(1), _share(2), _share(4), _share(5, 8))
_SHIFTS = _space(weight=_PARTS, shifts=("any", "right", "turned", "at best"))
_AT_LARGEST = _SHIFTS.every(
    P=(1, 2), n=(2, 4), curvature=["one"], exact=[False], shifts=["right"],
    weight=[Of("3 k/(4 n)", lambda n, k: Fraction(3 * k, 4 * n))], stepsize=[Of("the largest", _largest)],
)  # fmt: skip
_AT_BEST = _SHIFTS.every(P=(1, 2), n=(2, 4), curvature=["one"], shifts=["at best"], weight=_PARTS[1:3])
_ALIKE = _SHIFTS.every(
    P=(1, 2), curvature=["one"], stepsize=_GAMMAS, weight=_PARTS[:3], shifts=["turned", "right"], seed=[2]
)
_DIANA = Family(
    "variance_reduced.diana", "diana_step", _SHIFTS.including(*_AT_LARGEST, *_AT_BEST, *_ALIKE), _of_diana, _after_diana
)


def _over_steps(family: Family, *steps: Fraction, **fixed: Any) -> list[Any]:
    return [family.over("stepsize", steps, "P = 2, n = 2, k = 1", P=2, n=2, k=1, seed=3, **fixed)]


_STEPS = sorted(_GAMMAS)[:4]

# --- MARINA and DASHA ------------------------------------------------------------------------------------------------


def _of_tracking(
    x: Array, P: int, n: int, k: int, stepsize: Fraction, weight: Fraction, parts: str, exact: bool
) -> Values:
    """Aligned parts are off by gamma L_i/a of the estimate: then turns are -a times what they are off by."""
    known = _known(x, P, n, k, stepsize, exact)
    bowls, at, own = known["bowls"], known["at"], known["rows"]
    if parts == "aligned":
        off = float(stepsize) / float(weight) * x[:P]
        # grad f = 1 - mean of what the parts are off by
        at = (1.0 - ranks_mean(off)) / ranks_mean(x[:P])
        own = _floats(bowls, at) + off
    start, held = lifted(at, exact), lifted(own, exact)
    slopes, new = bowls.gradients(start), start - known["gamma"] * ranks_mean(held)
    before, after = _floats(bowls, start), _floats(bowls, new)
    return {
        **known, "own": own, "before": before, "new": new, "after": after,
        "mean_smoothness": averaged(bowls.of_workers), "excess_before": bowls.excess(start),
        "squared_slope": square(ranks_mean(slopes)), "estimate_gap": square(ranks_mean(held) - ranks_mean(slopes)),
        "part_gap": mean_square(held - slopes),
        "reach": 8 * float(1 + known["omega"]) * _norm(start, new, own, before, after),
    }  # fmt: skip


def _marina(
    implementation: Any, bowls: Bowls, before: Array, own: Array, new: Array, after: Array, gamma: Any,
    full_probability: Fraction, P: int, n: int, k: int, seed: int, exact: bool, roundings: int, reach: float,
) -> Rounded:  # fmt: skip
    p = full_probability if exact else float(full_probability)
    mean, estimate = ranks_mean(lifted(after, exact)), ranks_mean(own)

    turned = every_way(implementation, list(choices(P, n, k)), k, False, after, before, estimate)
    first, *others = (
        square(own_row(result, seed, exact) - mean)
        for result in (implementation(after, before, estimate, k, True)[0], *turned)
    )
    error = p * first + (1 - p) * averaged(others)
    paid = gamma / (2 * p)
    return _rounded(bowls.excess(new) + paid * error, roundings, (1 + float(paid) ** 0.5) * reach)


def _dasha(
    implementation: Any, bowls: Bowls, before: Array, own: Array, new: Array, after: Array, gamma: Any, omega: Fraction,
    weight: Fraction, P: int, n: int, k: int, seed: int, exact: bool, roundings: int, reach: float,
) -> Rounded:  # fmt: skip
    mean, estimates, parts = ranks_mean(lifted(after, exact)), [], []
    ways = list(choices(P, n, k))
    for state in every_way(implementation, ways, k, float(weight), after, before, own, ranks_mean(own)):
        estimates.append(square(own_row(state.estimate, seed, exact) - mean))
        parts.append(mean_square(lifted(state.own, exact) - lifted(after, exact)))
    o: Any = omega if exact else float(omega)
    first = gamma * (2 * o + 1) ** 2 / (2 * (4 * o + 1))
    second = gamma * o * (2 * o + 1) / ((4 * o + 1) * P)
    measured = bowls.excess(new) + first * averaged(estimates) + second * averaged(parts)
    return _rounded(measured, roundings, (1 + float(first) ** 0.5 + float(second) ** 0.5) * reach)


_TRACKED = _space(apart=(0.0, 1.0, 2.0, 8.0), weight=(Of("k/(2 n - k)", lambda n, k: Fraction(k, 2 * n - k)),),
                  parts=("drawn",))  # fmt: skip
_COINS = _TRACKED.replaced(full_probability=tuple(Fraction(1, q) for q in (2, 1, 4, 3, 20)))
_LARGEST_STEPS = [
    _COINS.at(P=P, k=1, curvature="one", stepsize=Fraction(1, 2), full_probability=Fraction(1, q))
    for P, q in ((1, 3), (2, 5))
]
"""L = 1, omega = 1: gamma = 1/2 has gamma + gamma^2 (1 - p)/(p P) = 1."""
_MARINA = Family("variance_reduced.marina", "marina_step", _COINS.including(*_LARGEST_STEPS), _of_tracking, _marina)


def _spread(P: int, apart: float) -> float:
    """Mean square of the curvatures: of two workers of P they are 1 + apart and 1 - apart, of the others one."""
    return 1 + 2 * apart**2 / P if P > 1 else 1.0


def _dasha_limit(P: int, n: int, k: int, apart: float) -> Fraction:
    """The largest gamma with gamma + gamma^2 (L~)^2 2 omega (2 omega + 1)/P <= 1."""
    omega = n / k - 1
    s = _spread(P, apart) * 2 * omega * (2 * omega + 1) / P
    gamma = 1.0 if s == 0 else (-1 + (1 + 4 * s) ** 0.5) / (2 * s)
    return Fraction(gamma * (1 - 1e-15)).limit_denominator(2**40)


def _code_gamma(L: float, P: int, n: int, k: int, apart: float) -> Fraction:
    """1/(L + L~ sqrt(omega (4 omega + 1)/P)), a little less."""
    omega = n / k - 1
    return Fraction((1 - 1e-14) / (L + (_spread(P, apart) * omega * (4 * omega + 1) / P) ** 0.5)).limit_denominator(
        2**45
    )


def _mean_gamma(P: int, n: int, k: int, apart: float) -> Fraction:
    """The same with the mean of the workers' constants, which the code has."""
    L = (P - 2 + 2 * max(1.0, apart)) / P if P > 1 else 1.0
    return _code_gamma(L, P, n, k, apart)


_LIMIT = Of("the largest", _dasha_limit)
_BY_CODE = (Of("the code's, of the average", partial(_code_gamma, 1.0)), Of("the code's", _mean_gamma))
_ALIGNED = [
    _TRACKED.at(P=P, n=n, k=k, apart=apart, curvature="one", exact=False, parts="aligned", stepsize=stepsize)
    for stepsize in (_LIMIT, *_BY_CODE)
    for apart, P, n, k in (
        (0.0, 1, 2, 1), (0.0, 2, 2, 1), (8.0, 2, 2, 1), (3.0, 2, 3, 1), (2.0, 2, 3, 2), (0.0, 1, 3, 2), (1.0, 2, 2, 1),
        (20.0, 2, 3, 1), (1.0, 2, 3, 2), (3.0, 2, 3, 2), (0.0, 3, 2, 1), (1.0, 3, 2, 1), (5.0, 3, 2, 1),
    )
]  # fmt: skip
_DASHA = Family(
    "variance_reduced.dasha", "dasha_step", _TRACKED.replaced(exact=(False,)).including(*_ALIGNED), _of_tracking, _dasha
)
"""Its weight is no binary fraction."""
_TENTHS = [Fraction(j, 20) for j in (1, 2, 4, 6, 8)]

# --- a run of MARINA -------------------------------------------------------------------------------------------------


def _run(
    implementation: Any, bowls: Bowls, at: Array, gamma: Any, omega: Fraction, full_probability: Fraction,
    P: int, n: int, k: int, rounds: int, seed: int, exact: bool, roundings: int,
) -> Rounded:  # fmt: skip
    """All coins and all choices of some steps, from the gradient on."""
    p: Any = full_probability if exact else float(full_probability)
    x = lifted(at, exact)
    states = [(p * 0 + 1, x, np.asarray(ranks_mean(bowls.gradients(x)), np.float64))]
    ways, reach = list(choices(P, n, k)), 0.0
    for _ in range(rounds):
        reached = []
        for chance, point, estimate in states:
            before, new = _floats(bowls, point), point - gamma * lifted(estimate, exact)
            after = _floats(bowls, new)
            reach = max(reach, _norm(point, new, estimate, before, after))
            turned = every_way(implementation, ways, k, False, after, before, estimate)
            whole, _ = implementation(after, before, estimate, k, True)
            reached.append((chance * p, new, np.asarray(whole[seed % P])))
            reached += [(chance * ((1 - p) / len(ways)), new, np.asarray(result[seed % P])) for result in turned]
        states = reached
    off = [
        chance * (lifted(estimate, exact) - ranks_mean(bowls.gradients(point))) for chance, point, estimate in states
    ]
    return rounded_square(square(total(off)), roundings * rounds + len(off) * (not exact), 8 * float(1 + omega) * reach)


_RUNS = Family(
    "variance_reduced.marina",
    "marina_step",
    _COINS.replaced(rounds=(1, 2, 3)).without(
        "Runs that can go more than 300 ways, as all are gone through.",
        lambda P, n, k, rounds: (1 + comb(n, k) ** P) ** rounds > 300,
    ),
    _known,
    searched=False,
)

# --- EF21-P ----------------------------------------------------------------------------------------------------------


def _of_primal(x: Array, P: int, n: int, k: int, stepsize: Fraction, model: str, exact: bool) -> Values:
    """In flat cases the turn is (1/q - 1) times the distance of weights and model, and away from the model."""
    known = _known(x, P, n, k, stepsize, exact)
    bowls, at, held, L = known["bowls"], known["at"], known["rows"][-1], known["smoothness"]
    if model == "flat":
        held = np.full(n, 16.0)
        at = held - float(stepsize) * float(L) * held / (1 / (1 - k / n) ** 0.5 - 1)
    start, seen = lifted(at, exact), lifted(held, exact)
    gradients = bowls.gradients(seen)
    return {
        **known, "at": at, "held": held, "gradients": np.asarray(gradients, np.float64), "kept_share": Fraction(k, n),
        "excess_before": bowls.excess(start), "squared_slope": square(ranks_mean(bowls.gradients(start))),
        "model_gap": square(seen - start), "weights_turn": square(known["gamma"] * ranks_mean(gradients)),
        "reach": 8 * _norm(at, held, gradients),
    }  # fmt: skip


def _after_primal(
    implementation: Any, gradients: Array, at: Array, held: Array, k: int, stepsize: Fraction, seed: int, exact: bool
) -> tuple[Array, Array]:
    state, _ = implementation(gradients, at, held, k, float(stepsize))
    return lifted(state.weights, exact), own_row(state.model, seed, exact)


def _model_gap(found: tuple[Array, Array], roundings: int, reach: float) -> Rounded:
    return _rounded(square(found[1] - found[0]), roundings, reach)


def _potential(found: tuple[Array, Array], facts: Values, roundings: int, reach: float) -> Rounded:
    weights, model = found
    q = root(1 - facts["kept_share"])
    paid = facts["gamma"] * facts["smoothness"] ** 2 / (2 * (1 - q))
    measured = facts["bowls"].excess(weights) + paid * square(model - weights)
    return _rounded(measured, roundings, (1 + float(paid) ** 0.5) * reach)


def _primal_limit(n: int, k: int) -> Fraction:
    """The largest step size of L = 1."""
    q = (1 - k / n) ** 0.5
    s = (q / (1 - q)) ** 2
    gamma = 1.0 if s == 0 else (-1 + (1 + 4 * s) ** 0.5) / (2 * s)
    return Fraction(gamma * (1 - 1e-15)).limit_denominator(2**45)


def _primal_words(implementation: Any, P: int, n: int, k: int) -> int:
    x = np.ones((P, n))
    return int(implementation(x, x[0], x[0] + 1.0, k, 0.5)[1].sent.max())


_MODELS = Space(
    _bowls,
    {
        **_AXES,
        "n": (4, 1, 2, 5, 9),
        "k": (WHOLE, Of("n - n // 4", lambda n: n - n // 4), 1),
        "exact": (
            Of(
                "1/P and the root of 1 - k/n are binary",
                lambda P, n, k: halved(Fraction(1, P)) and 4 * k in (3 * n, 4 * n),
            ),
            False,
        ),
        "stepsize": (*_GAMMAS, _OTHER),
        "model": ("drawn", "flat"),
    },
).without("Flat starts at k = n, where nothing is left out.", lambda n, k, model: model == "flat" and k == n)
_FLAT = _MODELS.every(
    n=(4, 9), k=[1, Of("n - n // 4", lambda n: n - n // 4), Of("n // 2 + 1", lambda n: n // 2 + 1)],
    curvature=["one"], model=["flat"], exact=[False], stepsize=[Of("the largest", _primal_limit)],
)  # fmt: skip
_PRIMAL = Family(
    "variance_reduced.ef21p", "primal_step", _MODELS.including(*_FLAT), _of_primal, _after_primal, arrays=2
)
_SENT = Family(
    "variance_reduced.ef21p",
    "primal_step",
    Space(nothing, {"P": RANKS, "n": sizes(8, 30), "k": (1, WHOLE, HALF)}),
    arrays=4,
    searched=False,
)

DESCENTS = (
    *_DIANA.studies(partial(_near, False), "rate", curves=_over_steps(_DIANA, *_STEPS, weight=_PARTS[0])),
    *_DIANA.studies(
        partial(_near, False), "code_step", curves=_over_steps(_DIANA, *_STEPS, weight=_PARTS[0], shifts="turned")
    ),
    *_DIANA.studies(
        partial(_near, True),
        "rate_sharp",
        extremal=_DIANA.of([*_AT_LARGEST, *_AT_BEST]),
        curves=_over_steps(_DIANA, *_STEPS, weight=_PARTS[1]),
    ),
    *_MARINA.studies(
        as_found, "descent", curves=_over_steps(_MARINA, *_TENTHS, exact=False, full_probability=Fraction(1, 4))
    ),
    *_MARINA.studies(
        as_found,
        "descent_sharp",
        extremal=_MARINA.of(_LARGEST_STEPS),
        curves=_over_steps(_MARINA, *_TENTHS, exact=False, full_probability=Fraction(1, 4)),
    ),
    *_RUNS.studies(_run, "mean_error"),
    *_DASHA.studies(
        as_found, "descent", extremal=_DASHA.of(_ALIGNED[:6]), curves=_over_steps(_DASHA, *_TENTHS, exact=False)
    ),
    *_DASHA.studies(
        as_found, "mean_step", "code_step", "code_step_alike", curves=_over_steps(_DASHA, *_TENTHS, exact=False)
    ),
    *_PRIMAL.studies(
        _model_gap,
        "gap",
        extremal=_PRIMAL.of(_FLAT),
        curves=[
            _PRIMAL.over("kept_share", range(1, 9), "P = 2", by="k", P=2, n=8, exact=False, stepsize=_OTHER, seed=3)
        ],
    ),
    *_PRIMAL.studies(
        _potential,
        "descent",
        extremal=_PRIMAL.of(_FLAT),
        curves=[_PRIMAL.over("stepsize", _TENTHS, "P = 2", P=2, n=4, k=3, exact=False, seed=3)],
    ),
    *_SENT.studies(_primal_words, "words", curves=[_SENT.over("P", (2, 3, 4, 6, 8, 12, 16), n=100, k=10)]),
)
