"""What certificates about EF21M and ARC-Top-K inside it prove; vectors as in `commbounds.theory.feedback.models`."""

from collections.abc import Mapping
from typing import Any

import sympy as sp

from commbounds.theory.feedback import terms as t
from commbounds.theory.feedback.momentum import MOMENTUM_CLAIMS
from commbounds.theory.finite_laws import never_negative, noisy_squares, square_of_mean
from commbounds.theory.model import Goal, untied, vectors
from commbounds.theory.quantities import P, alpha

_a, _d, _turn, _new = vectors("a d turn new")
_slope, _estimate, _momentum_now = vectors("slope_at_x estimate momentum")
_after = sp.Symbol("after")
_slopes, _shifts, _lag_sum, _momentum_lags, _own_lags = sp.symbols("slopes shifts lags momentum_lags own_lags")
_RHS: Mapping[str, Any] = {claim.name: claim.relation.rhs for claim in MOMENTUM_CLAIMS}
_ETA: Mapping[str, Any] = {"eta": t.eta}
_ALPHA: Mapping[str, Any] = {"alpha": alpha}
_GAMMA: Mapping[str, Any] = {"gamma": t.stepsize}
_AT_MOST: Mapping[str, Any] = {"1 - eta": 1 - t.eta}
_KEEPS = {"1 - alpha": 1 - alpha}
_OWN = (1 - t.eta) * t.own_lag + (1 - t.eta) ** 2 / t.eta * t.smoothness_apart**2 * t.shift + t.eta**2 * t.variance
"""Of the workers' own momenta: as of their average, with L~ and without 1/P."""


def _follows(bound: Any, name: str, lag: Any, smoothness: Any, noise: Any) -> Goal:
    """That a momentum follows its gradient: d is h - grad, turn is grad - grad+."""
    noisy = t.eta**2 * noise
    return Goal(
        name,
        bound.subs(lag, _d**2) - _new**2,
        given={
            "new lag: (1 - eta)^2 ||d + turn||^2 + eta^2 noise - ||new||^2": (1 - t.eta) ** 2 * (_d + _turn) ** 2
            + noisy
            - _new**2,
            "turn: smoothness^2 ||x+ - x||^2 - ||turn||^2": smoothness**2 * t.shift - _turn**2,
            **_AT_MOST,
        },
        positive={**_ETA, **({"P": P} if noise.has(P) else {})},
        vectors=(_d, _turn, _new),
        hints=(t.eta * _d - (1 - t.eta) * _turn,),
    )


def _momentum(bound: Any) -> tuple[Goal, ...]:
    return *noisy_squares(t.variance), _follows(bound, "momentum", t.momentum_lag, t.smoothness, t.variance / P)


def _own_momenta() -> Goal:
    return _follows(_OWN, "own momenta", t.own_lag, t.smoothness_apart, t.variance)


def _contracts(bound: Any) -> tuple[Goal, ...]:
    lags = bound.subs({t.lag: _a**2, t.own_lag: _d**2})
    return *noisy_squares(t.variance), _lags(lags, t.smoothness_apart, t.variance)


def _lags(bound: Any, smoothness: Any, noise: Any) -> Goal:
    """That estimates follow their momenta: a is h - g, d is grad - h, turn is grad+ - grad."""
    moved = t.eta * (_d + _turn)
    return Goal(
        "lag",
        bound - _new**2,
        given={
            "new lag: (1 - alpha)(||a + eta (d + turn)||^2 + eta^2 noise) - ||new||^2": (1 - alpha)
            * ((_a + moved) ** 2 + t.eta**2 * noise)
            - _new**2,
            "turn: smoothness^2 ||x+ - x||^2 - ||turn||^2": smoothness**2 * t.shift - _turn**2,
            "noise": noise,
            **_KEEPS,
        },
        positive={**_ETA, **_ALPHA, **({"P": P} if noise.has(P) else {})},
        vectors=(_a, _d, _turn, _new),
        hints=(alpha * _a - 2 * moved, _d - _turn, _d + _turn, _a),
    )


def _descent(bound: Any) -> tuple[Goal, ...]:
    lags = {t.mean_lag: (_estimate - _momentum_now) ** 2, t.momentum_lag: (_momentum_now - _slope) ** 2}
    return (
        Goal(
            "descent",
            bound.subs({t.slope: _slope**2, t.shift: t.stepsize**2 * _estimate**2, **lags}) - _after,
            given={
                "L-smooth: f - <grad f, step> + L/2 ||step||^2 - f+": t.gap
                - t.stepsize * _slope * _estimate
                + t.smoothness / 2 * t.stepsize**2 * _estimate**2
                - _after,
                "1 - 2 L gamma": 1 - 2 * t.smoothness * t.stepsize,
            },
            positive=_GAMMA,
            vectors=(_slope, _estimate, _momentum_now),
            hints=(_estimate, _estimate - 2 * _momentum_now + _slope),
        ),
    )


_SUMS = {t.lag: _lag_sum, t.momentum_lag: _momentum_lags, t.own_lag: _own_lags, t.shift: _shifts}
_OF_AVERAGES = {t.own_lag: t.momentum_lag, t.smoothness_apart: t.smoothness, t.variance: t.variance / P}
"""What the workers' lags, smoothness and noise are where the averages are compressed."""


def _summed(rhs: Any, lag: Any) -> Any:
    """A lemma about what a step makes of `lag`, summed: the first, and what the steps make of all, less all."""
    return lag + rhs.subs({**_SUMS, t.variance: t.horizon * t.variance}, simultaneous=True) - _SUMS[lag]


def _rate(bound: Any, apart: Any, lemmas: Mapping[str, tuple[Any, Any]]) -> tuple[Goal, ...]:
    """From the lemmas, each with its weight, to the bound; the workers' smoothness is `apart`. Cleared of quotients."""
    left = (
        1 / (2 * t.stepsize**2)
        - 16 * apart**2 / alpha**2 * (t.eta**2 + (1 - t.eta) ** 2)
        - 2 * (1 - t.eta) ** 2 * t.smoothness**2 / t.eta**2
    )
    fallen = _RHS["feedback.ef21m.descent"].subs(
        {t.slope: _slopes, t.shift: _shifts, t.mean_lag: _lag_sum, t.momentum_lag: _momentum_lags}, simultaneous=True
    )
    slow, fast = t.smoothness * t.stepsize, apart * t.stepsize
    in_eta, in_alpha = {"eta - 3 L gamma": t.eta - 3 * slow}, {"alpha - 8 L~ gamma": alpha - 8 * fast}
    squares = {"square of alpha": alpha**2 / 64 - fast**2, "square of eta": t.eta**2 / 9 - slow**2}
    sizes = {**_GAMMA, **_ALPHA, **_ETA}
    common = (t.stepsize * alpha * t.eta) ** 2 * P
    known = {f"{weight} {name}": common * weight * lemma for name, (weight, lemma) in lemmas.items()}
    return (
        *never_negative("steps and workers"),
        Goal("half step", 1 - 2 * slow, given={**in_eta, **_AT_MOST, "L gamma": slow}),
        Goal("square of alpha", squares["square of alpha"], given={**in_alpha, "L~ gamma": fast}),
        Goal("square of eta", squares["square of eta"], given={**in_eta, "L gamma": slow}),
        Goal("step size", left, given={**squares, **_AT_MOST}, positive=sizes),
        Goal(
            "sum",
            common * (t.horizon * bound - _slopes),
            given={
                **known,
                "2/gamma descents": common * 2 / t.stepsize * fallen,
                "shifts": _shifts,
                "step size": common * left,
            },
        ),
    )


def _ef21m_bound(bound: Any) -> tuple[Goal, ...]:
    return (
        *_momentum(_RHS["feedback.ef21m.momentum"]),
        _own_momenta(),
        *_contracts(_RHS["feedback.ef21m.lag"])[-1:],
        *square_of_mean(),
        *_descent(_RHS["feedback.ef21m.descent"]),
        *_rate(
            bound,
            t.smoothness_apart,
            {
                "momenta": (2 / t.eta, _summed(_RHS["feedback.ef21m.momentum"], t.momentum_lag)),
                "own momenta": (16 * t.eta / alpha**2, _summed(_OWN, t.own_lag)),
                "lags": (4 / alpha, _summed(_RHS["feedback.ef21m.lag"], t.lag)),
            },
        ),
    )


def _arc_bound(bound: Any) -> tuple[Goal, ...]:
    momentum = _RHS["feedback.ef21m.momentum"]
    lag = _RHS["feedback.ef21m.lag"].subs(_OF_AVERAGES, simultaneous=True)
    return (
        *_momentum(momentum),
        _lags(lag.subs({t.lag: _a**2, t.momentum_lag: _d**2}), t.smoothness, t.variance / P),
        *_descent(_RHS["feedback.ef21m.descent"]),
        *_rate(
            bound.subs(t.mean_lag, t.lag),
            t.smoothness,
            {
                "momenta": (2 / t.eta + 16 * t.eta / alpha**2, _summed(momentum, t.momentum_lag)),
                "lags": (4 / alpha, _summed(lag, t.lag)),
            },
        ),
    )


_WORDS = (
    "'momentum': d is h - grad f, turn is grad f(x) - grad f(x+), of the averages; 'own momenta' the same of all "
    "workers. 'lag': a is h - g, d is grad - h, turn is grad+ - grad. "
)
_NOISE = "every independent noise of mean zero and variance at most sigma^2 per worker"
_WORKERS = "every number of workers, every dimension"
_REAL = "in real arithmetic"

MOMENTUM_MODELS = (
    untied(
        claim="feedback.ef21m.momentum",
        words="d is h - grad f(x), turn is grad f(x) - grad f(x+), new is h+ - grad f(x+) = (1 - eta)(d + turn) + eta "
        "noise, of the averages; the noise is independent of the rest, and its average has variance sigma^2/P at most.",
        scope=f"{_WORKERS}, every L-smooth f, every eta in (0, 1], {_NOISE}, {_REAL}",
        goals=_momentum,
    ),
    untied(
        claim="feedback.ef21m.lag",
        words="Vectors of all workers: a is h - g, d is grad - h, turn is grad+ - grad. What is compressed is a + eta "
        "(d + turn) + eta noise, and new is what is left of it; the noise is independent of the rest.",
        scope=f"{_WORKERS}, every compressor with ||C(x) - x||^2 <= (1 - alpha)||x||^2, every alpha in (0, 1], every "
        f"L_i-smooth f_i, L~^2 the mean of their squares, every eta in (0, 1], {_NOISE}, {_REAL}",
        goals=_contracts,
    ),
    untied(
        claim="feedback.ef21m.descent",
        words="slope_at_x is grad f(x), momentum and estimate are the averages of h and g; the weights move by -gamma "
        "times the estimate.",
        scope=f"{_WORKERS}, every L-smooth f, every step size up to 1/(2 L), {_REAL}",
        goals=_descent,
    ),
    untied(
        claim="feedback.ef21m.bound",
        words=f"{_WORDS}'descent' as feedback.ef21m.descent. In 'sum' slopes, shifts, lags, momentum_lags and own_lags "
        "are sums over the T steps, of which the four lemmas speak: the first lag, and what T - 1 steps make of the "
        "others, is at most what T steps make; the average's g - h is at most the mean of the workers'. f >= f*.",
        scope=f"{_WORKERS}, every compressor with ||C(x) - x||^2 <= (1 - alpha)||x||^2, every alpha in (0, 1], every "
        f"L-smooth f bounded below of L_i-smooth f_i, L~^2 the mean of their squares, every eta in (0, 1], {_NOISE}, "
        f"every step size up to alpha/(8 L~) and eta/(3 L), any number of steps, {_REAL}",
        goals=_ef21m_bound,
    ),
    untied(
        claim="feedback.arc.bound",
        words=f"{_WORDS}All vectors are the averages over the workers, which ARC-Top-K compresses as one; their noise "
        "has variance sigma^2/P at most. In 'sum' slopes, shifts, lags and momentum_lags are sums over the T steps, of "
        "which the lemmas speak; lag is the first ||g - h||^2 of the averages. f >= f*.",
        scope=f"{_WORKERS}, every compression of the average with ||C(x) - x||^2 <= (1 - alpha)||x||^2, every alpha in "
        f"(0, 1], every L-smooth f bounded below, every eta in (0, 1], {_NOISE}, every step size up to alpha/(8 L) and "
        f"eta/(3 L), any number of steps, {_REAL}",
        goals=_arc_bound,
    ),
)
