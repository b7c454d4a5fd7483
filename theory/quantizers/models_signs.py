"""What certificates about signs prove."""

from collections.abc import Callable
from typing import Any

import sympy as sp

from commbounds.theory.model import Goal, Model
from commbounds.theory.quantities import n, norm1, norm2

_magnitude, _squares, _scale = sp.symbols("magnitude squares scale", nonnegative=True)
_zeros = sp.Symbol("zeros", nonnegative=True)


def _sign_error(bound: Any) -> tuple[Goal, ...]:
    total = bound.xreplace({norm2**2: _squares})
    more = total.subs({n: n + 1, norm1: norm1 + _magnitude, _squares: _squares + _magnitude**2}, simultaneous=True)
    entry = (_magnitude - 1) ** 2
    return (
        Goal("no entry", total.subs({n: 0, norm1: 0, _squares: 0}), equal=True),
        Goal("one more entry", more - total - entry, equal=True),
    )


def _scaled_error(zeros: Any) -> Any:
    scale = norm1 / n
    return norm2**2 - 2 * scale * norm1 + scale**2 * (n - zeros)


def _errors() -> tuple[Goal, ...]:
    """That entries that are off by |magnitude - scale|, zeros perhaps by 0, add up to squares - 2 c norm1 + c^2 n."""

    def total(norm: Any, squares: Any, entries: Any) -> Any:
        return squares - 2 * _scale * norm + _scale**2 * entries

    so_far = total(norm1, _squares, n - _zeros)
    return (
        Goal("no entry", total(0, 0, 0), equal=True),
        Goal(
            "one more entry",
            total(norm1 + _magnitude, _squares + _magnitude**2, n + 1 - _zeros)
            - so_far - (_magnitude - _scale) ** 2,
            equal=True,
        ),
        Goal("one more zero that stays", total(norm1, _squares, (n + 1) - (_zeros + 1)) - so_far, equal=True),
    )  # fmt: skip


def _error(bound: Any) -> tuple[Goal, ...]:
    return (*_errors(), Goal("error", bound * norm2**2 - _scaled_error(0), equal=True, positive={"n": n}))


def _contraction(bound: Any) -> tuple[Goal, ...]:
    products = sp.Symbol("products", nonnegative=True)
    given = {"products of different magnitudes": products, "zeros": _zeros, "norm1**2": norm1**2}
    zero = {"products": products - (norm1**2 - norm2**2)}
    before = {"products before": products - (norm1**2 - _squares)}
    more = products + 2 * norm1 * _magnitude - ((norm1 + _magnitude) ** 2 - (_squares + _magnitude**2))
    signs = {"products": products, "norm1": norm1, "magnitude": _magnitude}
    return (
        *_errors(),
        Goal("products, one more entry", more, equal=True, zero=before),
        Goal("products are not negative", products + 2 * norm1 * _magnitude, given=signs),
        Goal("error", bound * norm2**2 - _scaled_error(_zeros), given=given, positive={"n": n}, zero=zero),
    )


def _one_sparse(bound: Any) -> tuple[Goal, ...]:
    error = _magnitude - _magnitude / n
    return (Goal("error", bound * _magnitude**2 - error**2, equal=True),)


def other_sign() -> Goal:
    """That what has the sign of x, and a size that its sign bit does not change, is the opposite for -x."""
    bit, size, out, opposite = sp.symbols("bit size out opposite", real=True)
    signs = {"by the sign bit": out - (1 - 2 * bit) * size, "flipped": opposite - (1 - 2 * (1 - bit)) * size}
    return Goal("the other sign", out + opposite, equal=True, zero=signs)


def _again() -> Goal:
    """That the sign of what is 1, -1 or 0 is that number: times its magnitude, its sign is itself."""
    out, size, again = sp.symbols("out size again", real=True)
    one = {"magnitude of an outcome": (size - 1) * again, "sign times magnitude": again * size - out}
    return Goal("sign of an outcome", again - out, equal=True, zero=one)


def _kernel(shown: Goal) -> Callable[[Any], tuple[Goal, ...]]:
    return lambda bound: (Goal("every float32", bound, equal=True, run="sign.float32"), shown)


SIGNS = (
    Model(
        claim="quantizers.sign.error",
        words="Induction on the entries: the next has magnitude `magnitude` and the error |magnitude - 1|, also where "
        "it is zero, with sign +1. `squares` is norm2^2.",
        scope="every x in R^n, every n >= 1",
        goals=_sign_error,
    ),
    Model(
        claim="quantizers.scaledsign.error",
        words="With the scale c = norm1/n and sign(0) = 1 every entry has the error ||x_i| - c|, zeros too: by "
        "induction on the entries the squared errors add up to norm2^2 - 2 c norm1 + c^2 n.",
        scope="every x in R^n but zero, every n >= 1, in real arithmetic",
        goals=_error,
    ),
    Model(
        claim="quantizers.scaledsign.contraction",
        words="With the scale c = norm1/n every entry has the error ||x_i| - c|, except `zeros` zeros, whose error is "
        "0 where their sign is 0 (and zeros = 0 where it is 1): by induction on the entries the squared errors add up "
        "to norm2^2 - 2 c norm1 + c^2 (n - zeros). `products`, norm1^2 - norm2^2, is the sum of the products of the "
        "magnitudes of different entries, to which the next adds 2 norm1 magnitude. The claim, times norm2^2.",
        scope="every x in R^n but zero, every n >= 1, either sign of zero, in real arithmetic",
        goals=_contraction,
    ),
    Model(
        claim="quantizers.scaledsign.one_sparse",
        words="The entry of magnitude `magnitude` is replaced by the mean magnitude, an nth of it; zeros stay.",
        scope="every x in R^n with one nonzero entry, every n >= 1, in real arithmetic",
        goals=_one_sparse,
    ),
    *(
        Model(
            claim=f"quantizers.sign.{statement}",
            words="The kernel, on every finite float32: 1 or -1 by the sign bit, except for 0 and -0 what sign(0) is. "
            + why,
            scope="every finite float32 (all 2^32 bit patterns were run when the certificate was made, a check runs "
            "every 1021st)",
            goals=_kernel(shown),
        )
        for statement, why, shown in (
            ("sign_symmetry", "No entry is 0, and the sign bit is flipped.", other_sign()),
            ("sign_symmetry_ternary", "sign(0) = 0: the size of what is sent is 0 for zeros.", other_sign()),
            ("idempotence", "The sign of 1, -1 and, where it is an outcome, of 0 is that number.", _again()),
        )
    ),
)
