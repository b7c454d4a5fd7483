"""What certificates prove of estimates: scales that follow from the codes, drawn levels, drawn entries."""

from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import (
    at_most_each,
    independent_of,
    kept_products,
    over_all,
    over_histories,
    proved_by,
    uncorrelated,
)
from commbounds.theory.model import Goal
from commbounds.theory.quantities import k, n, norm2, s
from commbounds.theory.rotations.models_transform import HALF_WAY, Goals, length, named, of_length
from commbounds.theory.rotations.terms import centroid_ratio, minor, smallest_entry
from commbounds.theory.subset_laws import two_seats

_a, _b, _q, _scale, _inner, _code = sp.symbols("a b q scale inner code", positive=True)
_total, _padding, _mean_square = sp.symbols("total padding mean_square", nonnegative=True)
_inner_square, _code_sum, _code_square = sp.symbols("inner_square code_sum code_square", positive=True)
_low, _high, _width, _w, _products = sp.symbols("low high width w products", real=True)
_up, _slack = sp.symbols("up slack", nonnegative=True)

# --- scales that follow from the codes -------------------------------------------------------------------------------

_TWO_ENTRIES = {"a": _a, "b": _b}
_plus, _minus = sp.symbols("plus minus", nonnegative=True)
_ROWS = {"all places": _plus + _minus - length, "two rows are orthogonal": _plus - _minus}
_SUM = (
    *kept_products(),
    Goal("half of the places", _plus - length / 2, equal=True, zero=_ROWS),
    Goal("sum of the magnitudes", _plus * (_a + _b) + _minus * (_a - _b) - length * _a, equal=True, zero=_ROWS),
)
_ESTIMATE = (_a**2 + _b**2) / (length * _a) * length


def _two_sparse_bias(bound: Any) -> tuple[Goal, ...]:
    at = bound.subs(minor, _b / _a)
    return (
        *_SUM,
        Goal("the smaller entry", at - _b / _a, equal=True, positive=_TWO_ENTRIES),
        Goal("the larger entry", at - (_ESTIMATE - _a) / _a, given={"a >= b": _a - _b},
             positive={**_TWO_ENTRIES, "length": length}),
    )  # fmt: skip


def _two_sparse_error(estimate: Any) -> Goals:
    def goals(bound: Any) -> tuple[Goal, ...]:
        square = _a**2 + _b**2
        return (
            *_SUM,
            Goal(
                "error",
                bound.subs(minor, _b / _a) - ((estimate - _a) ** 2 + _b**2) / square,
                equal=True,
                positive={**_TWO_ENTRIES, "length": length, "square": square},
            ),
        )

    return goals


def _projected(bound: Any) -> tuple[Goal, ...]:
    return (
        *kept_products(),
        Goal(
            "inner product",
            bound - (_scale * _inner / norm2**2 - 1),
            equal=True,
            positive={"norm": norm2},
            zero={"the scale": _scale * _inner - norm2**2},
        ),
    )


def _one_sparse(bound: Any) -> tuple[Goal, ...]:
    error = (_scale * _code * length - _a) ** 2
    inner = length * _code * _a
    scales = {
        "unbiased": (_scale * inner - _a**2) / _a,
        "biased": (_scale * length * (length * _code**2) - inner) / (length * _code),
    }
    return *kept_products(), *(
        Goal(name, bound * _a**2 - error, equal=True, positive={"a": _a, "code": _code, "length": length},
             zero={"the scale": sp.cancel(scale)})
        for name, scale in scales.items()
    )  # fmt: skip


def _magnitudes() -> tuple[Goal, ...]:
    """That magnitudes add up to no less than the root of their squares, which the transform multiplies by `length`."""
    one, square, total = sp.symbols("one square sum_of_magnitudes", nonnegative=True)
    known = {"those before": total**2 - square, "one": one, "their sum": total}
    return *kept_products(), Goal("one more magnitude", (total + one) ** 2 - square - one**2, given=known)


def _worst_draw(bound: Any) -> tuple[Goal, ...]:
    estimate = length**2 * (_q / _total) ** 2
    return (
        *_magnitudes(),
        Goal(
            "error",
            of_length(bound) * _q - (estimate - _q - _padding),
            given={"norms": _total**2 - length * _q, "padding": _padding},
            positive={"length": length, "q": _q, "total": _total},
        ),
    )


def _worst_draw_biased(bound: Any) -> tuple[Goal, ...]:
    error = _q - _total**2 / length**2 - _padding
    return (
        *_magnitudes(),
        Goal(
            "error",
            of_length(bound) * _q - error,
            given={"norms": _total**2 - length * _q, "padding": _padding},
            positive={"length": length, "q": _q},
        ),
    )


_SZAREK = {"Szarek": 2 * _mean_square - length**2 * _q, "padding": _padding}


def _half(bound: Any) -> tuple[Goal, ...]:
    error = _q - _mean_square / length**2 - _padding
    return (Goal("mean error", bound * _q - error, given=_SZAREK, positive={"length": length}),)


def _half_of_codes(bound: Any) -> tuple[Goal, ...]:
    spread = 4 * centroid_ratio / (1 + centroid_ratio) ** 2
    positive = {"length": length, "ratio": centroid_ratio, "1 + ratio": 1 + centroid_ratio, "code_square": _code_square}
    return (
        Goal(
            "a draw",
            _inner_square / (length * _code_square) - spread * _total**2 / length**2,
            given={
                "Chebyshev": length**2 * _inner_square - _code_sum**2 * _total**2,
                "Polya and Szego": _code_sum**2 * (1 + centroid_ratio) ** 2
                - 4 * centroid_ratio * length * _code_square,
                "total^2": _total**2,
            },
            positive=positive,
        ),
        Goal(
            "mean error",
            bound * _q - (_q - spread * _mean_square / length**2 - _padding),
            given=_SZAREK,
            positive=positive,
        ),
    )


_DRAWS = "every n, every x in R^n but zero, every draw, in real arithmetic"
_MEANS = "every n, every x in R^n but zero, in real arithmetic, by Szarek's inequality"
_PAIR = (
    "For two entries of magnitudes a > b rotated ones are a + b at `plus` places, where two rows of H have one sign, "
    "and a - b at `minus` others, half of all as rows are orthogonal, in magnitude, with the signs of the larger "
    "entry, so that their magnitudes add up to `length` a, and D H of the signs is `length` at the place of a and zero "
    "elsewhere. "
)
_PADDING = "What is on the padding, `padding`, is dropped. "

FITTED = (
    named(
        "drive.two_sparse_bias",
        _PAIR + "Times the scale, ||x||^2 over that sum, it is the estimate, in every draw: off by (a^2 + b^2)/a - a, "
        "and by b. Over a.",
        "every n, every x in R^n with two nonzero entries of different magnitudes, in real arithmetic",
        _two_sparse_bias,
    ),
    named(
        "drive.two_sparse_error",
        _PAIR + "Times the scale, ||x||^2 over that sum, it is the estimate.",
        "every n, every x in R^n with two nonzero entries of different magnitudes, in real arithmetic",
        _two_sparse_error(_ESTIMATE),
    ),
    named(
        "drive.two_sparse_error_biased",
        _PAIR + "Times the scale, that sum over length^2, it is the estimate.",
        "every n, every x in R^n with two nonzero entries of different magnitudes, in real arithmetic",
        _two_sparse_error(length * _a / length**2 * length),
    ),
    *(
        named(
            f"{name}.projection",
            "`inner` is the inner product of the codes with the rotated vector, that of D H codes with x; times the "
            "scale, ||x||^2 over it, ||x||^2 is left. Over ||x||^2, less one.",
            _DRAWS,
            _projected,
        )
        for name in ("drive", "eden")
    ),
    *(
        named(
            f"{name}.one_sparse",
            "One entry a: all rotated entries have its magnitude and codes of one magnitude, `code`, so that the "
            "estimate is scale code length, at its place. Either scale: ||x||^2 over the inner product of codes and "
            "rotated vector, length code a; or that product over length ||codes||^2.",
            "every n, every x in R^n with one nonzero entry, every draw, in real arithmetic",
            _one_sparse,
        )
        for name in ("drive", "eden")
    ),
    named(
        "drive.worst_draw",
        "`q` is ||x||^2, `total` the sum of the rotated magnitudes, at least the norm: total^2 >= length q. The "
        "estimate has the squared norm length^2 (q/total)^2 and the inner product q with x. " + _PADDING,
        _DRAWS,
        _worst_draw,
    ),
    named(
        "drive.worst_draw_biased",
        "`q` is ||x||^2, `total` the sum of the rotated magnitudes, at least the norm: total^2 >= length q. The "
        "estimate is a projection, which leaves q - total^2/length^2. " + _PADDING,
        _DRAWS,
        _worst_draw_biased,
    ),
    named(
        "drive.contraction",
        "`q` is ||x||^2, `mean_square` the mean square of the sum of the rotated magnitudes, `length` times at least q/"
        "2 times `length`: its mean is that of one magnitude times `length`, which is at least the root of q/2 by "
        "Szarek's inequality, cited and not proved here. The estimate is a projection. " + _PADDING,
        _MEANS,
        _half,
    ),
    named(
        "eden.contraction",
        "In a draw `inner_square` is the square of the inner product of codes and rotated vector, `code_sum` and "
        "`code_square` are the sums of the codes' magnitudes and squares, `total` that of the rotated magnitudes; the "
        "estimate is a projection, which takes inner_square/(length code_square) off q = ||x||^2. Magnitudes and codes "
        "are ordered alike, so that length inner >= code_sum total (Chebyshev's sum inequality), and codes are within "
        "a factor `centroid_ratio` (Polya and Szego). The mean of total^2 is as for rotations.drive.contraction. "
        + _PADDING,
        _MEANS,
        _half_of_codes,
    ),
)

# --- drawn levels and drawn entries ----------------------------------------------------------------------------------


def _branch(bound: Any, zero: bool) -> Any:
    """The bound with its Max, of zero and something, replaced by one of them."""
    return bound.replace(
        lambda e: isinstance(e, sp.Max), lambda e: next((a for a in e.args if bool(a.is_zero) is zero), e.args[0])
    )


def _level_mean(bound: Any) -> tuple[Goal, ...]:
    up, step = (_w - _low) / (_high - _low), {"step": _high - _low}
    h, error, errors = sp.symbols("h error errors", real=True)
    drawn = (1 - up, error + h * (_low - _w)), (up, error + h * (_high - _w))
    return (
        Goal("a rotated entry", bound - (_low * (1 - up) + _high * up - _w), equal=True, positive=step),
        *over_histories("an entry's error, one more rotated entry", drawn, {errors: error}, errors, positive=step),
    )


def _levels(bound: Any) -> tuple[Goal, ...]:
    some, none = (of_length(_branch(bound, zero)) for zero in (False, True))
    variance = (length - 2) * (_width / s) ** 2 / 4
    each, total = sp.symbols("variance_of_one total", nonnegative=True)
    return (
        HALF_WAY,
        *uncorrelated(each),
        *at_most_each("rotated entries between levels", each, length - 2, total),
        *kept_products(),
        Goal("one entry, which is a level", none, equal=True),
        Goal(
            "two and more",
            some * _q - length * variance / length**2,
            given={
                "length >= 2": length - 2,
                "squares of the least and the largest": length * _q - _low**2 - _high**2,
                "(low + high)^2": (_low + _high) ** 2,
            },
            positive={"length": length, "s": s},
            zero={"width": _width - (_high - _low)},
        ),
    )


def _levels_shrunk(bound: Any) -> tuple[Goal, ...]:
    omega = (length / 2 - 1) / s**2
    error = (omega - _slack) / (1 + omega) ** 2 + (omega / (1 + omega)) ** 2
    some, none = (of_length(_branch(bound, zero)) for zero in (False, True))
    return (
        *proved_by("mean", _level_mean(sp.S.Zero)),
        *proved_by("variance", _levels(sp.Max(0, omega))),
        Goal("one entry", none, equal=True),
        Goal("two and more", some - error, given={"slack": _slack},
             positive={"s": s, "2 s^2 (1 + omega)": length - 2 + 2 * s**2}),
    )  # fmt: skip


_V = length / k - 1
_ALONE = {"length": length, "k": k, "length - 1": length - 1}
_WEIGHTS = (
    Goal("squares of the weights", k / length * (length / k - 1) ** 2 + 1 - k / length - _V, equal=True,
         positive=_ALONE),
)  # fmt: skip
_NO_SUM = {"weights add up to zero": _V + (length - 1) * _products}
_SPREAD = (length * _V - length * _products) / length**2


def _signed_sum() -> tuple[Goal, ...]:
    """What the square of the sum of w_j h_j is in the mean, place by place; and that entries' errors add up."""
    h, so_far, count, own = sp.symbols("h so_far count own", real=True)

    def square(total: Any, places: Any) -> Any:
        return _V * places + _products * (total**2 - places)

    more = square(so_far + h, count + 1) - square(so_far, count) - (_V * h**2 + 2 * _products * h * so_far)
    return (
        *_WEIGHTS,
        Goal("sum of the weights", k * (length / k - 1) - (length - k), equal=True, positive=_ALONE),
        *two_seats(length),
        Goal("square of the sum, one more place", more, equal=True, positive=_ALONE, zero={"a sign": h**2 - 1}),
        *kept_products(),
        *independent_of("signs"),
        *uncorrelated(sp.Symbol("variance_of_one", nonnegative=True)),
        *over_all(lambda others, of, entries: others - (_q * entries - of), (_q - own, own, sp.S.One),
                  case="entries, others' squares: ", equal=True),
    )  # fmt: skip


def _sketched(each: Any, positive: Any = None) -> Goals:
    def goals(bound: Any) -> tuple[Goal, ...]:
        positive_ = {**_ALONE, **(positive or {})}
        return (
            *_signed_sum(),
            Goal("error", of_length(bound) - each * _SPREAD, equal=True, positive=positive_, zero=_NO_SUM),
        )

    return goals


def _sketch_shrunk(bound: Any) -> tuple[Goal, ...]:
    omega = (n - 1) * _V / (length - 1)
    error = omega / (1 + omega) ** 2 + (1 - 1 / (1 + omega)) ** 2
    whole = sp.together(1 + omega).as_numer_denom()[0]
    unbiased = Goal("a rotated entry", k / length * (length / k) - 1, equal=True, positive=_ALONE)
    variance = proved_by("variance", _sketched(n - 1)(omega))
    return (
        unbiased,
        *variance,
        Goal("shrunk", of_length(bound) - error, equal=True, positive={**_ALONE, "1 + omega": whole}),
    )


_TWO = "every n >= 2, every x in R^n but zero, every k from 1 to the padded length, in real arithmetic"
_ENTRIES = (
    "With w_j = length/k - 1 where the rotated entry j is drawn and -1 elsewhere, an entry is off by the sum over the "
    "others, l, of x_l times the mean of w_j h_j over j, h a row of H with as many +1 as -1; signs make different l "
    "uncorrelated. The w_j add up to zero, so that their squares, V = length/k - 1 in the mean, and the mean "
    "`products` of two of them have V + (length - 1) products = 0; and the square of the sum of w_j h_j is length V - "
    "length products in the mean. "
)

DRAWN = (
    named(
        "rotateddithering.unbiased",
        "A rotated entry `w` between the levels `low` and `high` becomes `high` with probability (w - low)/(high - "
        "low): its mean, less itself. One that is a level stays. An entry's error is a sum over rotated ones, of h "
        "times theirs, h of D H: one after another.",
        "every n, every x in R^n, every s >= 1, in real arithmetic",
        _level_mean,
    ),
    named(
        "rotateddithering.variance",
        "`length` - 2 rotated entries are f of the way between two levels, of which the distance is width/s, and have "
        "the variance f (1 - f) of its square; the least and the largest entry, `low` and `high`, are levels, and the "
        "squares of both are at most the rotated vector's, length q, q = ||x||^2. D H multiplies the squared norm by "
        "`length`, and the result is divided by it squared. Either branch of the Max.",
        "every n, every x in R^n but zero, every s >= 1, every draw of the signs, in real arithmetic",
        _levels,
    ),
    named(
        "rotateddithering.shrunk_contraction",
        "Unbiased, with the variance omega - slack, omega = (length/2 - 1)/s^2 and slack >= 0 as goals of "
        "rotations.rotateddithering.variance show: divided by 1 + omega it has the variance over its square, and the "
        "bias omega/(1 + omega). One entry is a level.",
        "every n, every x in R^n but zero, every s >= 1, in real arithmetic",
        _levels_shrunk,
    ),
    named(
        "hadamardsketch.unbiased",
        "A rotated entry is sent with probability k/length, times length/k, and D H is linear.",
        "every n, every x in R^n, every k from 1 to the padded length, in real arithmetic",
        lambda bound: (Goal("a rotated entry", bound - (k / length * (length / k) - 1), equal=True),),
    ),
    named(
        "hadamardsketch.variance",
        _ENTRIES + "Summed over the n - 1 others of every entry; over ||x||^2.",
        _TWO,
        _sketched(n - 1),
    ),
    named(
        "hadamardsketch.entry_variance",
        _ENTRIES + "For the entry that is smallest the others have the largest square.",
        _TWO,
        _sketched((norm2**2 - smallest_entry**2) / norm2**2, {"norm": norm2}),
    ),
    named(
        "hadamardsketch.shrunk_contraction",
        "Unbiased, with the variance omega = (length/k - 1)(n - 1)/(length - 1), as goals of "
        "rotations.hadamardsketch.variance show: divided by 1 + omega, that over its square, and the square of the "
        "bias.",
        _TWO,
        _sketch_shrunk,
    ),
)
