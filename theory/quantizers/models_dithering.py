"""What certificates about quantisers with equidistant levels prove."""

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import Draws, after_draw, mean, over_all, over_entries, proved_by
from commbounds.theory.model import Goal, Model, cases, vectors
from commbounds.theory.quantities import itembits, n, norm1, norm2, norminf, s
from commbounds.theory.quantizers.dithering import MAX_OMEGA, QSGD_OMEGA, TERN_OMEGA

_w = sp.Symbol("w", positive=True)
_ratio = sp.Symbol("ratio", positive=True)
_f, _up = sp.symbols("f up", nonnegative=True)
_level = sp.Symbol("level", nonnegative=True)
_value, _low, _high, _slack = sp.symbols("value low high slack", nonnegative=True)
_log, _slope, _bits = sp.symbols("log2 slope bits", nonnegative=True)
_magnitude, _squares = sp.symbols("magnitude squares", nonnegative=True)

_LARGE = sp.Ge(n, 4 * s**2)
_FRACTION = {"f": _f, "1 - f": 1 - _f}
_ENTRIES = "w is the root of n. a_i = s |x_i|/||x||, whose squares sum to s^2, and a = level + f with f in [0, 1]. "
_SUMMED = (
    "For every entry (bound - L) s^2/n + L a^2 - variance >= 0. Induction on the entries: an outcome of those before "
    "is followed by both of the next, with the product of the chances, `outcomes` is the sum of all chances, `squares` "
    "and `error` those of the squares and of chance times error. So bound s^2 is at least the expected squared error, "
    "and that is s^2 times the relative one. "
)
UNBIASED = (
    "An entry `value` between neighbouring levels `low` and `high` becomes `high` with probability (value - low)/"
    "(high - low), else `low`; its mean less itself. One that is a level stays. "
)


def unbiased(bound: Any) -> tuple[Goal, ...]:
    """The mean of an entry that is `low`, or `high` with probability (value - low)/(high - low), less the entry."""
    up = (_value - _low) / (_high - _low)
    return (
        Goal(
            "entry", bound - (_low * (1 - up) + _high * up - _value), equal=True, positive={"high - low": _high - _low}
        ),
    )


def shrunk(bound: Any, omega: Any, positive: Mapping[str, Any], name: str = "shrunk") -> Goal:
    """What variance omega - slack and bias omega/(1 + omega) of C/(1 + omega) add up to, against the bound."""
    error = (omega - _slack) / (1 + omega) ** 2 + (omega / (1 + omega)) ** 2
    return Goal(name, bound - error, given={"slack": _slack}, positive=positive)


def unbiased_model(name: str, scope: str) -> Model:
    """The model of a claim that a quantiser is unbiased."""
    claim = f"quantizers.{name}.unbiased"
    return Model(claim, UNBIASED, scope, unbiased)


def _divided() -> Goal:
    """That C/(1 + omega) has these variance and bias, where C - x has no mean, given x, and variance omega - slack."""
    x, error = vectors("x error")
    omega = sp.Symbol("omega", nonnegative=True)
    of_x = (omega - _slack) / (1 + omega) ** 2 + (omega / (1 + omega)) ** 2
    return Goal(
        "divided by 1 + omega",
        ((x + error) / (1 + omega) - x) ** 2 - of_x * x**2,
        equal=True,
        positive={"1 + omega of any": 1 + omega},
        zero={"unbiased": x * error, "variance": error**2 - (omega - _slack) * x**2},
        vectors=(x, error),
    )


def shrunk_model(
    name: str,
    words: str,
    scope: str,
    goals: Callable[[Any], tuple[Goal, ...]],
    variance: Callable[[], tuple[Goal, ...]],
) -> Model:
    """The model of a claim about the contraction of a quantiser divided by one plus its variance factor.

    Parameters
    ----------
    name, words, scope : str
        The quantiser's name, and of the model.
    goals : function
        Of the claim's bound: that this is what bias and variance add up to.
    variance : function
        The goals that the quantiser has this variance.
    """
    claim = f"quantizers.{name}.shrunk_contraction"

    def all_goals(bound: Any) -> tuple[Goal, ...]:
        known = (*proved_by("unbiased", unbiased(sp.S.Zero)), *proved_by("variance", variance()))
        return (*known, _divided(), *goals(bound))

    return Model(
        claim,
        "The quantiser is unbiased, its relative variance omega - slack, slack >= 0, by the goals about them. "
        "Divided by 1 + omega it has the variance divided by (1 + omega)^2 and the bias omega/(1 + omega). " + words,
        scope,
        all_goals,
        (claim, f"quantizers.{name}.variance"),
    )


def _of_w(bound: Any) -> Any:
    return bound.subs(n, _w**2)


def _qsgd_cases(bound: Any) -> tuple[tuple[str, Any, dict[str, Any]], ...]:
    large, small = cases(bound, _LARGE)
    return ("n >= 4 s^2", _of_w(large), {"w - 2 s": _w - 2 * s}), ("n < 4 s^2", _of_w(small), {})


def _two_levels(a: Any) -> Draws:
    """What becomes of `a` = level + f, whose level is the next with probability f: chances and squared errors."""
    level = a - _f
    return (1 - _f, (level - a) ** 2), (_f, (level + 1 - a) ** 2)


def _per_entry(name: str, bound: Any, multiplier: Any, known: Mapping[str, Any], hints: Any) -> tuple[Goal, ...]:
    """The inequality for an entry between levels 0 and 1, for one between others, and for all entries."""

    def statement(entries: Any, squares: Any, error: Any) -> Any:
        return (bound - multiplier) * s**2 / _w**2 * entries + multiplier * squares - error

    goals, positive, a = [], {"w": _w, "s": s}, _level + _f
    for where, of, more in (("level 0", _f, {}), ("level >= 1", 1 + _level + _f, {"level": _level})):
        show = statement(1, of**2, mean(_two_levels(of)))
        goals.append(
            Goal(f"{name}, {where}", show, given={**_FRACTION, **more, **known}, positive=positive, hints=hints)
        )
    whole = over_entries(
        statement, a**2, _two_levels(a), (_w**2, s**2), lambda error: bound * s**2 - error, f"{name}, ", positive
    )
    return *goals, *whole


def _qsgd_variance(bound: Any) -> tuple[Goal, ...]:
    (large, of_large, given), (small, of_small, _) = _qsgd_cases(bound)
    return (
        *_per_entry(large, of_large, _w / (2 * s) - 1, given, (_w * _f - s,)),
        *_per_entry(small, of_small, 0, {}, (2 * _f - 1,)),
    )


def _qsgd_printed(bound: Any) -> tuple[Goal, ...]:
    goals: list[Goal] = []
    for least in bound.args if isinstance(bound, sp.Min) else (bound,):
        multiplier = _of_w(least) / 2 if least.has(sp.sqrt(n)) else 0
        goals += _per_entry(str(least), _of_w(least), multiplier, {}, (_w * _f - s, 2 * _f - 1))
    return tuple(goals)


def _qsgd_shrunk(bound: Any) -> tuple[Goal, ...]:
    omegas = cases(QSGD_OMEGA, _LARGE)
    return tuple(
        shrunk(least, _of_w(omega), {"w": _w, "s": s, "n + 4 s^2": _w**2 + 4 * s**2}, name)
        for (name, least, _), omega in zip(_qsgd_cases(bound), omegas, strict=True)
    )


def _qsgd_support(bound: Any) -> tuple[Goal, ...]:
    def branch(least: Any) -> tuple[Goal, ...]:
        multiplier, a, of_w = _w / (2 * s) if least.has(s) else 0, _value, _of_w(least)
        given, positive = {"1 - up": 1 - _up, "value - up": a - _up}, {"w": _w, "s": s}

        def statement(entries: Any, squares: Any, sent: Any) -> Any:
            return (of_w - multiplier * s**2) / _w**2 * entries + multiplier * squares - sent

        draws, whole = ((1 - _up, 0), (_up, 1)), (_w**2, s**2)
        return (
            Goal(str(least), statement(1, a**2, _up), given=given, positive=positive, hints=(s - _w * a,)),
            *over_entries(statement, a**2, draws, whole, lambda sent: of_w - sent, f"{least}, ", positive),
        )

    return tuple(goal for least in (bound.args if isinstance(bound, sp.Min) else (bound,)) for goal in branch(least))


def _qsgd_elias(bound: Any) -> tuple[Goal, ...]:
    least = bound.xreplace({sp.log(1 + s / sp.sqrt(n)): _log * sp.log(2)})
    mean = 1 + s / _w
    tangent = 2 + 2 * _log + 2 * _slope * (1 + _value - mean) / mean
    show = (_of_w(least) - itembits) / _w**2 + _slope / mean * (_w / s) * (_value**2 - s**2 / _w**2) - _bits
    positive = {"w": _w, "s": s, "w + s": _w + s}
    known = {"concavity": sp.cancel((tangent - _bits) * (_w + s)), "slope": _slope}
    whole, logarithm, low, high, total = sp.symbols("whole logarithm low_bits high_bits total_bits", nonnegative=True)
    multiplier = sp.cancel(_slope / mean * _w / s)
    levels = {level: (_w + s) * tangent.subs(_value, level) for level in (_level, _level + 1)}
    below = {"low": levels[_level] - (_w + s) * low, "high": levels[_level + 1] - (_w + s) * high}
    over_levels = sp.expand((_w + s) * tangent.subs(_value, _level + _f) - (_w + s) * ((1 - _f) * low + _f * high))

    def statement(entries: Any, of: Any, bits: Any) -> Any:
        return (_of_w(least) - itembits) / _w**2 * entries + multiplier * (of - s**2 / _w**2 * entries) - bits

    return (
        Goal("bits of a level", sp.cancel(levels[_level] - (_w + s) * (2 + 2 * whole)), positive=positive, given={
            "rounded down": (_w + s) * (logarithm - whole),
            "tangent": sp.cancel(levels[_level] / 2 - (_w + s) * (1 + logarithm))}),
        Goal("both levels", sp.cancel(over_levels), positive=positive,
             given={**{name: sp.cancel(e) for name, e in below.items()}, **_FRACTION}),
        Goal("entry", show, given=known, positive=positive, hints=(_w * _value - s,)),
        *over_all(statement, (sp.S.One, _value**2, _bits), (_w**2, s**2, total),
                  _of_w(least) - itembits - total, "entries: ", positive),
    )  # fmt: skip


_ROOT = sp.sqrt(1 + (n - 1) / s**2)


def _max_per_entry(bound: Any, levels: Any) -> tuple[Goal, ...]:
    """For an entry other than the largest; `ratio` is the root in the bound, n - 1 = s^2 (ratio^2 - 1)."""
    others = levels**2 * (_ratio**2 - 1)

    def statement(entries: Any, squares: Any, error: Any) -> Any:
        return bound * levels**2 / others * entries + bound * squares - error

    goals, a = [Goal("n = 1", bound.subs(_ratio, 1))], _level + _f
    positive = {"ratio - 1": _ratio - 1, "ratio + 1": _ratio + 1, "s": s}
    for where, of, more in (("level 0", _f, {}), ("level >= 1", 1 + _level + _f, {"level": _level})):
        show = statement(1, of**2, mean(_two_levels(of)))
        hints = ((_ratio + 1) * _f - 1,)
        goals.append(Goal(where, show, given={**_FRACTION, **more}, positive=positive, hints=hints))
    rest = sp.Symbol("rest", nonnegative=True)
    whole = over_entries(
        statement, a**2, _two_levels(a), (others, rest), lambda error: bound * (levels**2 + rest) - error,
        positive=positive,
    )  # fmt: skip
    return *goals, *whole


def _max_variance(bound: Any) -> tuple[Goal, ...]:
    return _max_per_entry(bound.xreplace({_ROOT: _ratio}), s)


def _tern_variance(bound: Any) -> tuple[Goal, ...]:
    return tuple(goal for goal in _max_per_entry(bound.xreplace({sp.sqrt(n): _ratio}), 1) if goal.name != "level >= 1")


def _tern_error(bound: Any) -> tuple[Goal, ...]:
    total = bound.subs(norm2, sp.sqrt(_squares)) * _squares
    more = total.subs({norm1: norm1 + _magnitude, _squares: _squares + _magnitude**2}, simultaneous=True)
    up = _magnitude / norminf
    draws = (up, (norminf - _magnitude) ** 2), (1 - up, _magnitude**2)
    error, outcomes = sp.symbols("error outcomes")
    zero, known = {"all outcomes before": outcomes - 1}, {"norminf": norminf}
    more -= after_draw(error, outcomes, draws)
    return (
        Goal("no entry", total.subs({norm1: 0, _squares: 0}), equal=True),
        Goal("all outcomes", after_draw(outcomes, 0, draws) - 1, equal=True, positive=known, zero=zero),
        Goal("one more entry", more, equal=True, positive=known, zero={**zero, "entries before": error - total}),
    )


def _max_shrunk(root: Any, omega: Any) -> Callable[[Any], tuple[Goal, ...]]:
    def goals(bound: Any) -> tuple[Goal, ...]:
        known = {root: _ratio}
        return (shrunk(bound.xreplace(known), omega.xreplace(known), {"ratio + 1": _ratio + 1}),)

    return goals


_EVERY = "every x in R^n but zero, every n >= 1 and s >= 1, in real arithmetic"
_LARGEST = (
    "a_i = s |x_i|/max|x|: the largest is s, where the variance is 0. `ratio` is the root in the bound, so that "
    "n - 1 = s^2 (ratio^2 - 1), and ratio > 1 where n > 1. For each of the n - 1 other entries a = level + f: "
    "bound s^2/(n - 1) + bound a^2 is at least its variance f (1 - f). Induction on these entries: an outcome of those "
    "before is followed by both of the next, with the product of the chances, `outcomes` is the sum of all chances. So "
    "bound times the sum of the squares of all a_i, s^2 and `rest`, is at least the expected squared error. Where "
    "n = 1 the bound need only not be negative. "
)

DITHERING = (
    unbiased_model("qsgd", "every x in R^n, every n >= 1 and s >= 1, in real arithmetic"),
    Model(
        claim="quantizers.qsgd.variance",
        words=_ENTRIES + "An entry's level is level or level + 1, with variance f (1 - f). " + _SUMMED + "Where "
        "n >= 4 s^2, L = w/(2 s) - 1 >= 0; else L = 0.",
        scope=_EVERY,
        goals=_qsgd_variance,
    ),
    Model(
        claim="quantizers.qsgd.variance_printed",
        words=_ENTRIES + "An entry's level is level or level + 1, with variance f (1 - f). " + _SUMMED + "For each "
        "branch of the Min: L is half of the one with a root, 0 for the other.",
        scope=_EVERY,
        goals=_qsgd_printed,
    ),
    Model(
        claim="quantizers.qsgd.second_moment",
        words="The second moment of an unbiased quantiser is 1 plus its relative variance: bound - 1 in place of the "
        "bound of quantizers.qsgd.variance. " + _ENTRIES + _SUMMED,
        scope=_EVERY,
        goals=lambda bound: _qsgd_variance(sp.piecewise_fold(bound - 1)),
    ),
    shrunk_model(
        "qsgd", "w is the root of n; either case of omega.", _EVERY, _qsgd_shrunk, lambda: _qsgd_variance(QSGD_OMEGA)
    ),
    *(
        Model(
            claim=f"quantizers.qsgd.{statement}",
            words="w is the root of n; `value` is a = s |x|/||x|| of an entry, whose squares sum to s^2, and `up` "
            "the probability that its level is not 0: at most 1, and at most a. For every entry (bound - L s^2)/n + L "
            "a^2 - up >= 0; by induction on the entries, as an outcome of those before is followed by both of the "
            "next, the bound is at least the expected number of them. L = w/(2 s), or 0 for the bound "
            "n. " + more + "All levels of x = 0 are 0.",
            scope="every x in R^n, every n >= 1 and s >= 1, in real arithmetic",
            goals=_qsgd_support,
        )
        for statement, more in (("support", "Both branches of the Min. "), ("support_printed", ""))
    ),
    Model(
        claim="quantizers.qsgd.elias",
        words="w is the root of n, `value` a = s |x|/||x|| of an entry, whose squares sum to s^2, and the mean of its "
        "level L. `bits` is what it takes in expectation: at most 2 + 2 E log2(1 + L), as level l takes a sign and 2 "
        "floor(log2(1 + l)) + 1 bits. The logarithm is concave, so it is below its tangent at 1 + s/w, where it is "
        "`log2` and has the slope `slope`/(1 + s/w), slope = 1/ln 2: E log2(1 + L) <= log2 + slope (a - s/w)/(1 + s/w) "
        "(times w + s). For every entry (bound - itembits)/n + K (a^2 - s^2/n) - bits >= 0 with K = slope w/(s (1 + "
        "s/w)); summed over the entries, the bound is at least itembits and all bits.",
        scope=_EVERY,
        goals=_qsgd_elias,
    ),
    unbiased_model("maxdithering", "every x in R^n, every n >= 1 and s >= 1, in real arithmetic"),
    Model(claim="quantizers.maxdithering.variance", words=_LARGEST, scope=_EVERY, goals=_max_variance),
    shrunk_model(
        "maxdithering",
        "`ratio` is the root in omega.",
        _EVERY,
        _max_shrunk(_ROOT, MAX_OMEGA),
        lambda: _max_variance(MAX_OMEGA),
    ),
    unbiased_model("terngrad", "every x in R^n, every n >= 1, in real arithmetic"),
    Model(
        claim="quantizers.terngrad.error",
        words="The claim, times norm2^2, which is `squares`. Induction on the entries, norminf being what it is at the "
        "end: one of magnitude `magnitude` becomes norminf with probability magnitude/norminf, else 0, after any "
        "outcome of those before; `outcomes` is the sum of all chances before, `error` that of chance times error.",
        scope="every x in R^n but zero, every n >= 1, in real arithmetic",
        goals=_tern_error,
    ),
    Model(
        claim="quantizers.terngrad.variance",
        words=_LARGEST + "Here s = 1: the other entries are between levels 0 and 1.",
        scope="every x in R^n but zero, every n >= 1, in real arithmetic",
        goals=_tern_variance,
    ),
    shrunk_model(
        "terngrad",
        "`ratio` is the root of n.",
        "every x in R^n but zero, every n >= 1, in real arithmetic",
        _max_shrunk(sp.sqrt(n), TERN_OMEGA),
        lambda: _tern_variance(TERN_OMEGA),
    ),
)
