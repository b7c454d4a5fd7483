"""What certificates about Ok-Topk SGD prove."""

from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import norm_of_a_sum, of_the_largest, over_all, proved_by
from commbounds.theory.model import Goal, Model, recurrence, untied, vectors
from commbounds.theory.oktopk.models_selection import mass
from commbounds.theory.oktopk.terms import before, eta, gap, horizon, missed, moment, move, smooth, xi
from commbounds.theory.quantities import P, k, n
from commbounds.theory.smooth_functions import between_parabolas

_gamma, _residual, _rest, _accumulated = sp.symbols("gamma residual rest accumulated", nonnegative=True)


def _with_gamma(bound: Any) -> Any:
    """The bound with gamma for sqrt(1 - k/n)."""
    return bound.xreplace({sp.sqrt(1 - k / n): _gamma})


_TRIANGLES = {
    "residual <= |A - TopK(A)| + |TopK(A) - u/P|": _rest + missed - _residual,
    "|A - TopK(A)| <= gamma |A|": _gamma * _accumulated - _rest,
    "|A| <= before + move": before + move - _accumulated,
    "gamma >= 0": _gamma,
}
_NORMS = (
    "A is the mean accumulated gradient, with norm `accumulated`; `rest` is that of A - TopK(A), which is at most "
    "gamma = sqrt(1 - k/n) times it: squares of no less than a level are kept, and no others. The mean residual is A - "
    "u/P, entry by entry, by conservation of mass: goals of oktopk.update.mass. "
)


def _norms() -> tuple[Goal, ...]:
    """That what Top-K leaves of A has at most gamma times A's norm, that the mean residual is A - u/P, and norms'."""
    kept, left = sp.symbols("kept left", nonnegative=True)
    accumulated, residuals, applied, average = sp.symbols("all_accumulated all_residuals applied average", real=True)
    sums = {"mass": accumulated - residuals - applied, "A": P * average - accumulated}
    known, goals = of_the_largest(k, n - k, kept, left)
    positive = {"n": n}
    return (
        *goals,
        Goal(
            "Top-K",
            n * ((1 - k / n) * (kept + left) - left),
            given={**known, "n >= k": n - k, "k": k},
            positive=positive,
        ),
        Goal(
            "its root",
            (_gamma * _accumulated - _rest) * (_gamma * _accumulated + _rest),
            given={"Top-K": (1 - k / n) * _accumulated**2 - _rest**2},
            positive=positive,
            zero={"gamma": _gamma**2 - (1 - k / n)},
        ),
        *proved_by("mass", mass(sp.S.Zero)),
        Goal("mean residual", residuals / P - (average - applied / P), equal=True, positive={"P": P}, zero=sums),
        norm_of_a_sum(),
    )


def _residual_missed(bound: Any) -> tuple[Goal, ...]:
    return *_norms(), Goal("residual", _with_gamma(bound) - _residual, given=_TRIANGLES)


def _residual_xi(bound: Any) -> tuple[Goal, ...]:
    zero = {"definition of xi": missed - xi * move}
    return *_norms(), Goal("residual", _with_gamma(bound) - _residual, given=_TRIANGLES, zero=zero)


def _gradient(bound: Any) -> tuple[Goal, ...]:
    size, nearer = sp.symbols("size nearer", nonnegative=True)  # bounds of residuals
    drop, away = sp.symbols("drop away", real=True)
    w, x = vectors("grad_w grad_x")
    grows = eta * moment * (_gamma + xi)
    most = grows / (1 - _gamma)
    positive = {"1 - gamma": 1 - _gamma, "eta": eta, "T": horizon, "L": smooth}
    at = _with_gamma(bound).subs(gap, horizon * drop)
    rest = at.subs(drop, 0)
    drops, squares = sp.symbols("drops squares", real=True)
    return (
        *proved_by("residual", _residual_xi(sp.sqrt(1 - k / n) * before + (sp.sqrt(1 - k / n) + xi) * move)),
        *proved_by("iterates", _iterates(sp.S.Zero)),
        *between_parabolas(smooth, -smooth),
        Goal(
            "residuals stay bounded",
            most - nearer,
            given={
                "oktopk.sgd.residual": _gamma * size + grows - nearer,
                "before: as much": grows - (1 - _gamma) * size,
                "gamma >= 0": _gamma,
            },
            positive=positive,
        ),
        Goal("none at first", most, given={"gamma": _gamma, "xi": xi, "M": moment}, positive=positive),
        Goal(
            "a step",
            at - w**2,
            given={
                "smoothness, f(x) - f(x') >= eta <grad f(x), G> - L eta^2 |G|^2/2": drop
                - eta * w * x
                + smooth * eta**2 * w**2 / 2,
                "smoothness, gradients differ by at most L |w - x|": smooth**2 * away - (w - x) ** 2,
                "|w - x| is the mean residual": grows**2 - (1 - _gamma) ** 2 * away,
                "|G| <= M": moment**2 - w**2,
            },
            positive=positive,
            vectors=(w, x),
            hints=(x,),
        ),
        *over_all(lambda fell, square, count: 2 / eta * fell + rest * count - square, (drop, squares, sp.S.One),
                  case="steps: ", positive=positive),
        Goal(
            "all steps",
            horizon * _with_gamma(bound) - squares,
            given={"the steps": 2 / eta * drops + rest * horizon - squares, "f stays above its infimum": gap - drops},
            positive=positive,
        ),
    )  # fmt: skip


def _iterates(bound: Any) -> tuple[Goal, ...]:
    w, x, w_next, x_next, before_, after, step, update = sp.symbols(
        "w x w_next x_next before_ after step update", real=True
    )
    zero = {
        "the claim before the step": w - x - before_,
        "Ok-Topk's step": w_next - (w - update),
        "plain step": x_next - (x - step),
        "conservation of mass, divided by P": update + after - before_ - step,
    }
    first = {"both begin at one point": w - x, "residuals begin at zero": before_}
    applied, left, held = sp.symbols("all_applied all_left all_held", real=True)
    means = {"update": P * update - applied, "after": P * after - left, "before": P * (before_ + step) - held}
    return (
        *proved_by("mass", mass(sp.S.Zero)),
        Goal("conservation of mass, divided by P", update + after - before_ - step, equal=True, positive={"P": P},
             zero={**means, "mass": held - left - applied}),
        Goal("first", w - x - before_ - bound, equal=True, zero=first),
        Goal("step", w_next - x_next - after - bound, equal=True, zero=zero),
    )  # fmt: skip


def _stalling(bound: Any) -> tuple[Goal, ...]:
    B = sp.Symbol("B", positive=True)
    given = {"B >= t + 1": B - horizon - 1, "t >= 1": horizon - 1}
    positive = {"eta": eta}
    larger = eta * B * horizon - eta * horizon
    return (
        *proved_by("x_0 on one rank", recurrence(eta * B * horizon, horizon, 0, lambda left, _: left + eta * B)),
        *proved_by("x_0 on the other", recurrence(-eta * B * horizon, horizon, 0, lambda left, _: left - eta * B)),
        *proved_by("x_1", recurrence(eta * horizon, horizon, 0, lambda left, _: left + eta)),
        *recurrence(bound * eta, horizon, eta, lambda missed, t: missed + eta, start=1),
        Goal("x_0 stays the larger entry on both ranks", larger - eta, given=given, positive=positive),
    )


DESCENT = (
    Model(
        claim="oktopk.sgd.iterate",
        words="One entry: w and x before and after a step, the ranks' mean residual before and after it, `step` the "
        "step size times the mean gradient, `update` u/P. Induction on the steps.",
        scope="all gradients, step sizes, P, k, thresholds and boundaries, every number of steps; exact arithmetic",
        goals=_iterates,
        checked_by=("oktopk.sgd.iterate", "oktopk.update.mass"),
    ),
    untied(
        claim="oktopk.sgd.residual",
        words=_NORMS + "xi times the norm `move` is what the update misses.",
        scope="all gradients, every n >= k >= 1 and P, where the mean gradient is not zero; exact arithmetic",
        goals=_residual_xi,
    ),
    untied(
        claim="oktopk.sgd.residual_missed",
        words=_NORMS,
        scope="all gradients, every n >= k >= 1 and P; exact arithmetic",
        goals=_residual_missed,
    ),
    Model(
        claim="oktopk.sgd.gradient",
        words="w are Ok-Topk's iterates, x = w - the mean residual makes plain steps with the gradient at w. `size` "
        "and `nearer` are norms of the mean residual before and after a step, bounded by induction, `away` the square "
        "of |w - x|; `grad_w` and `grad_x` are the gradients of f at w and x. f falls by `drop` in a step: summed over "
        "T steps and divided by T the bound on |grad_w|^2 has the mean of the drops, at most gap/T, in place of drop.",
        scope="every L-smooth f bounded below with exact gradients (not quadratics alone), every n >= k >= 1, every "
        "number of steps in each of which the realised ratio is at most xi; exact arithmetic",
        goals=_gradient,
        checked_by=("oktopk.sgd.gradient", "oktopk.sgd.residual", "oktopk.sgd.iterate"),
    ),
    Model(
        claim="oktopk.sgd.stall",
        words="After t steps the residuals are +-eta B t in x_0, on one rank and the other, and eta t in x_1, whose "
        "gradient stays 1: x_0 is selected, cancels, and nothing is applied. What is missed, eta t, grows by eta in "
        "every step, and eta is the norm of the plain step.",
        scope="every B > t, every t >= 1, every step size; exact arithmetic",
        goals=_stalling,
    ),
)
