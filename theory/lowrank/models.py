"""What certificates about low-rank compression prove."""

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

from commbounds.theory.feedback.terms import horizon, reach
from commbounds.theory.finite_laws import against_others, chebyshev, norm_of_a_sum, orthonormal_parts, proved_by
from commbounds.theory.model import Goal, Model, Step, by_claim, extents, recurrence, vectors
from commbounds.theory.quantities import absdet, m, n, r

_q, _rho = sp.symbols("q rho", positive=True)
_kept, _rest, _captured, _total = sp.symbols("kept rest captured total", nonnegative=True)
_larger, _smaller, _uu, _vv, _det = sp.symbols("larger smaller uu vv det", nonnegative=True)
_sent, _error = vectors("sent error")
_a, _b, _t2, _c = sp.symbols("a b t2 c", positive=True)
_s, _x, _y, _expected = sp.symbols("s x y expected", nonnegative=True)
_gradients, _messages, _residual, _gradient, _message = sp.symbols("gradients messages residual gradient message")

_VALUES = "q = min(m, n) singular values. "
_MATRIX = "every m by n matrix but zero, every r from 1 to min(m, n), in real arithmetic"


def _of_q(bound: Any) -> Any:
    return bound.xreplace({sp.Min(m, n): _q})


def _of_rho(bound: Any) -> Any:
    """The bound in rho, the root of 1 - r/min(m, n)."""
    return bound.xreplace({1 - r / sp.Min(m, n): _rho**2})


def _truncated(bound: Any) -> tuple[Goal, ...]:
    show = _of_q(bound) * (_kept + _rest) - _rest
    return (
        *orthonormal_parts(),
        *against_others(r, _q - r, _kept, _rest),
        Goal("contraction", show, given={"each kept >= each other": (_q - r) * _kept - r * _rest}, positive={"q": _q}),
    )


def _leverage(of: Any, other: Any) -> Any:
    """Of a row with weight `of` and Gram entry uu, next to one with weight `other` and vv, given all others."""
    return (of * _uu + of * other * _det) / (1 + of * _uu + other * _vv + of * other * _det)


def _powersgd(bound: Any) -> tuple[Goal, ...]:
    weights = {"larger - smaller": _larger - _smaller, "larger": _larger, "smaller": _smaller}
    forms = {"uu": _uu, "vv": _vv, "det": _det}
    ones = [1 + a * _uu + b * _vv + a * b * _det for a, b in ((_larger, _smaller), (_smaller, _larger))]
    return (
        Goal(
            "leverages have the order of the singular values",
            _leverage(_larger, _smaller) - _leverage(_smaller, _larger),
            given={**weights, **forms},
            positive={"first denominator": ones[0], "second denominator": ones[1]},
        ),
        *chebyshev(),
        Goal(
            "contraction",
            _of_q(bound) * _total - (_total - _captured),
            given={"sum over pairs of (s_i - s_j) (l_i - l_j)": _q * _captured - r * _total},
            positive={"q": _q},
        ),
    )  # fmt: skip


def _nonexpansive(bound: Any) -> tuple[Goal, ...]:
    return (
        Goal(
            "projection",
            bound * (_sent + _error) ** 2 - _error**2,
            zero={"<sent, error> = 0": _sent * _error},
            vectors=(_sent, _error),
            hints=(_sent, _error),
        ),
    )


def _cauchy(c: Any) -> Goal:
    """The integrand of E 1/(1 + c^2 t^2), t Cauchy-distributed, times pi (1 - c^2), in t2 = t^2."""
    whole = (1 - c**2) / ((1 + c**2 * _t2) * (1 + _t2))
    return Goal("partial fractions", whole - (1 / (1 + _t2) - c**2 / (1 + c**2 * _t2)), equal=True)


def _determinant(bound: Any) -> tuple[Goal, ...]:
    leverage = _a / (_a + _b)
    error = _a**2 * (1 - leverage) + _b**2 * leverage
    mean = (1 - _c) / (1 - _c**2)
    return (
        _cauchy(_c),
        Goal("leverage", leverage - mean.subs(_c, _b / _a), equal=True, positive={"a is not b": (_a**2 - _b**2) ** 2}),
        Goal("error", bound.subs(absdet, _a * _b) - error, equal=True),
    )


def _telescoping(bound: Any) -> tuple[Goal, ...]:
    lost = _gradients - _messages - _residual
    after = (_gradients + _gradient) - (_messages + _message) - (_residual + _gradient - _message)
    return (
        Goal("first", bound - lost.subs({_gradients: 0, _messages: 0, _residual: 0}), equal=True),
        Goal("step", bound - after, equal=True, zero={"lost before": lost}),
    )


_BELOW_ONE = {"1 - rho": 1 - _rho}
_series = _rho * (1 - _rho**horizon) / (1 - _rho) * reach


def _steps(bound: Any, **given: Any) -> tuple[Goal, ...]:
    return (
        norm_of_a_sum(),
        *recurrence(_series, horizon, 0, lambda norm, _: _rho * (norm + reach), positive=_BELOW_ONE),
        Goal("bound", _of_rho(bound) - _series**2, given=given, positive=_BELOW_ONE),
    )


def _limit(bound: Any) -> tuple[Goal, ...]:
    power = _rho**horizon
    return _steps(bound, power=power, below_one=1 - power, square=(_rho * reach) ** 2)


def _two(bound: Any) -> tuple[Goal, ...]:
    area = _s**2 / 3 + _x**2 + _y**2 - (_s * _y + _x * _y)
    return (
        Goal("area", area, hints=(2 * _s - 3 * _y, 2 * _x - _y)),
        Goal("first", bound, given={"M**2": reach**2}),
        Goal("step", bound - (_expected / 3 + reach**2), given={"before": bound - _expected}),
    )


def _equal(bound: Any) -> tuple[Goal, ...]:
    trace = 3 - (4 * 2 + _t2) / (4 + _t2)  # of the residual of step 2, in c: p's less that of its projection
    mean = (1 - _c) / (1 - _c**2)
    squared = {reach: sp.sqrt(2) * _c}
    sums = {1: _c**2, 2: _c * 2 * _c, 3: _c**2 + _c * _c * (1 + mean.subs(_c, 2))}
    return (
        _cauchy(sp.Integer(2)),
        Goal("trace", trace - (1 + 1 / (1 + 4 / _t2)), equal=True),
        *(
            Goal(f"step {count}", bound.subs(horizon, count).subs(squared) - value, equal=True)
            for count, value in sums.items()
        ),
    )


def _grows(first: Callable[[Any], Any], start: int) -> Callable[[Any], tuple[Goal, ...]]:
    """That the bound is at least the square of what begins so and grows by M in every step."""
    projected = proved_by("a step keeps no more", _nonexpansive(sp.S.One))

    def goals(bound: Any) -> tuple[Goal, ...]:
        norm = first(reach) + (horizon - start) * reach
        return (
            *projected,
            norm_of_a_sum(),
            *recurrence(norm, horizon, first(reach), lambda norm, _: norm + reach, start),
            Goal("bound", _of_rho(bound) - norm**2),
        )

    return goals


_CONTRACTED = (
    "rho^2 = 1 - r/min(m, n). Let N be the root of the expected squared norm of the residual e: by "
    "lowrank.powersgd.contraction, given the past, and as a sum's is no more than those of its parts, N+ <= rho (N + "
    "M). Induction: N is at most rho (1 - rho^t)/(1 - rho) M, and the square of that at most the bound. For r = "
    "min(m, n) the residual is 0. "
)
_REAL = "in real arithmetic"

MODELS = by_claim(
    Model(
        claim="lowrank.lowrank.contraction",
        words=_VALUES + "`kept` is the sum of the r largest of their squares, `rest` that of the q - r others, the "
        "squared error: the sum of s u v^T with orthonormal u and v has the squared norm of all s^2. None of the r is "
        "below a level, and no other above it: (q - r) kept >= r rest.",
        scope=_MATRIX,
        goals=_truncated,
    ),
    Model(
        claim="lowrank.powersgd.contraction",
        words=_VALUES + "With s_i = sigma_i^2, `total` is their sum and `captured` that of s_i l_i, l_i expected "
        "leverages of the rows of diag(sigma) G, which sum to r (for M of rank below r all is captured). Let u, v be "
        "rows i and j of G and B the Gram matrix of the weighted others (plus a multiple of the identity that goes to "
        "0, where it is singular): with uu = u'B^-1 u, vv = v'B^-1 v and det = uu vv - (u'B^-1 v)^2 >= 0, the leverage "
        "of i is (s_i uu + s_i s_j det)/(1 + s_i uu + s_j vv + s_i s_j det), and with u and v exchanged, which are "
        "alike in law, that of j is the same with the weights exchanged: so s_i >= s_j implies l_i >= l_j. Then "
        "(s_i - s_j) (l_i - l_j) >= 0 for all pairs, which sum to q captured - r total.",
        scope=_MATRIX + ", a Gaussian sketch",
        goals=_powersgd,
    ),
    Model(
        claim="lowrank.powersgd.nonexpansive",
        words="`sent` is the orthogonal projection of M's columns, `error` the rest: orthogonal to each other.",
        scope="every m by n matrix but zero, every r and every sketch, in real arithmetic",
        goals=_nonexpansive,
    ),
    Model(
        claim="lowrank.powersgd.determinant",
        words="a and b are the singular values. The leverage of a is 1/(1 + c^2 t^2) with c = b/a and t, a quotient of "
        "two normals, Cauchy-distributed. By the partial fractions, as 1/(1 + t^2) integrates to pi and c^2/(1 + c^2 "
        "t^2) to c pi, its mean is (1 - c)/(1 - c^2) (c = 1: by continuity). The rest of a^2 and b^2 is the error.",
        scope="every matrix of two singular values a, b > 0, r = 1, a Gaussian sketch, in real arithmetic",
        goals=_determinant,
    ),
    Model(
        claim="lowrank.powersgd_ef14.telescoping",
        words="One entry: gradients and messages are summed over the steps before; a step leaves the residual "
        "residual + gradient - message. Induction on the steps.",
        scope="every number of steps, every gradient and sketch, in real arithmetic",
        goals=_telescoping,
    ),
    Model(
        claim="lowrank.powersgd_ef14.steps",
        words=_CONTRACTED,
        scope=f"every number of steps t, every m, n and r < min(m, n), gradients of norm at most M, {_REAL}",
        goals=lambda bound: _steps(bound),
        checked_by=("lowrank.powersgd_ef14.steps", "lowrank.powersgd.contraction"),
    ),
    Model(
        claim="lowrank.powersgd_ef14.residual",
        words=_CONTRACTED + "0 <= rho^t <= 1.",
        scope=f"every number of steps, every m, n and r < min(m, n), gradients of norm at most M, {_REAL}",
        goals=_limit,
        checked_by=("lowrank.powersgd_ef14.residual", "lowrank.powersgd.contraction"),
    ),
    Model(
        claim="lowrank.powersgd_ef14.two",
        words="The residual s u v' has rank one; x and y are the parts of the gradient along v and across it, "
        "|x|^2 + |y|^2 <= M^2. By lowrank.powersgd.determinant the expected squared norm of the next one is the area "
        "|(s u + x) ^ y| <= s |y| + |x| |y|, which is at most s^2/3 + M^2. Induction on the steps for the expectation "
        "`expected`, from 0.",
        scope=f"every number of steps, matrices of two singular values, r = 1, gradients of norm at most M, {_REAL}",
        goals=_two,
        checked_by=("lowrank.powersgd_ef14.two", "lowrank.powersgd.determinant"),
    ),
    Model(
        claim="lowrank.powersgd_ef14.equal",
        words="The gradient is c times the identity of the plane, M^2 = 2 c^2. Step 1 leaves c times a projection of "
        "rank one. Then e + g has singular values c and 2 c: by lowrank.powersgd.determinant, step 2 leaves their "
        "product. Its sketch has the direction (1, t), t Cauchy-distributed, what is sent the direction (2, t): the "
        "trace of the residual, in c, is 1 + 1/(1 + 4/t^2), where 1/t is Cauchy-distributed as well, with mean "
        "(1 - 2)/(1 - 2^2) of the fraction. The residual has rank one, so the product of the singular values of step "
        "3 is det(e + c) = c^2 + c tr e.",
        scope=f"steps 1, 2 and 3, r = 1, every constant gradient of two equal singular values, {_REAL}",
        goals=_equal,
        checked_by=("lowrank.powersgd_ef14.equal", "lowrank.powersgd.determinant"),
    ),
    Model(
        claim="lowrank.powersgd_ef14.warm_start_growth",
        words="A projection keeps no more than there is, and a sum is no longer than its parts: the norm of the "
        "residual grows by at most M a step, from 0: at most t M, whose square is at most the bound.",
        scope=f"every number of steps, every matrix, rank and first sketch, gradients of norm at most M, {_REAL}",
        goals=_grows(lambda reach: sp.S.Zero, 0),
    ),
    Model(
        claim="lowrank.powersgd_ef14.warm_start_gaussian",
        words="rho^2 = 1 - r/min(m, n). Step 1 leaves a root mean square of at most rho M, by "
        "lowrank.powersgd.contraction; a projection keeps no more than there is, and root mean squares of a sum are no "
        "more than those of its parts: it grows by at most M in every later one: at most (t - 1 + rho) M, whose "
        "square is at most the bound.",
        scope=f"every number of steps, every m, n and r <= min(m, n), gradients of norm at most M, {_REAL}",
        goals=_grows(lambda reach: _rho * reach, 1),
    ),
)

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {"lowrank.powersgd_ef14.two": {"before": "first"}}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""

EXTENTS = extents(
    "lowrank",
    {
        (): "lowrank.contraction powersgd.nonexpansive powersgd_ef14.warm_start_growth",
        (Step.CLAIM,): "powersgd_ef14.steps powersgd_ef14.residual powersgd_ef14.warm_start_gaussian",
        (Step.EXPECTATION, Step.CLAIM): "powersgd_ef14.two",
        (Step.EXPECTATION, Step.LIMIT): "powersgd.determinant",
        (Step.CLAIM, Step.LIMIT): "powersgd_ef14.equal",
        (Step.SYMMETRY, Step.EXPECTATION, Step.SPECTRUM): "powersgd.contraction",
    },
)
