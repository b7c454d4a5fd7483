"""What certificates prove of changes of sign and factors: outcome by outcome, each with the probability that it had."""

from typing import Any

import sympy as sp

from commbounds.theory.model import Goal, Model
from commbounds.theory.quantities import k, n
from commbounds.theory.shipped.models_draws import Goals, model_of
from commbounds.theory.shipped.terms import keep

_x = sp.Symbol("x", real=True)
_c, _a, _sum, _p, _room, _count = sp.symbols("c a sum p room count", positive=True)
_total = sp.Symbol("total", real=True)


def _times(gain: Any, turned: Any, **positive: Any) -> Goals:
    """That what is sent of an entry, `gain` times it, turns with it; the gain and its chance are those of before."""

    def goals(bound: Any) -> tuple[Goal, ...]:
        off = gain * (turned * _x) - turned * (gain * _x)
        return (Goal("an outcome", bound - off, equal=True, positive=positive),)

    return goals


def _by_shares(turned: Any) -> Goals:
    """`room` over `sum` times a magnitude, both multiplied by the factor's own, is the probability `p` that it was."""

    def goals(bound: Any) -> tuple[Goal, ...]:
        size = sp.Symbol("size_of_factor", positive=True)
        chance = {"the probability before": _p * _sum - _room * _a}
        sizes = {"sum": _sum, "factor": _c, "p": _p}
        return (
            Goal("one or more", _room * size * _a - size * _sum - size * (_room * _a - _sum), equal=True),
            Goal("the probability", _room * (size * _a) / (size * _sum) - _p, equal=True, positive=sizes, zero=chance),
            Goal("an outcome", bound - (turned * _x / _p - turned * (_x / _p)), equal=True, positive=sizes),
        )

    return goals


def _of_groups(bound: Any) -> tuple[Goal, ...]:
    off = (_c * _total) / _count - _c * (_total / _count)
    return (Goal("a group's mean", bound - off, equal=True, positive={"count": _count}),)


def _model(name: str, words: str, factor: str, goals: Goals) -> Model:
    return model_of(name, words, f"every x in R^n{factor}, every n, in real arithmetic", goals)


_LINEAR = "The draw does not depend on x, and a sent entry is a multiple of x. "
_SHARED = (
    "An entry is kept with a probability p, `room` times its magnitude `a` over their `sum`, or 1, which goes by such "
    "ratios as well, and is then x/p. "
)
_SIGN, _FACTOR, _ANY = "Of -x.", "The claim is for c x.", ", every c > 0"

SYMMETRIES = (
    *(
        _model(f"{name}.{statement}", _LINEAR + words, factor, _times(gain, turned, **sizes))
        for name, gain, sizes in (("replacementrandk", n / k, {"k": k}), ("bernoullilazy", 1 / keep, {"keep": keep}))
        for statement, words, factor, turned in (
            ("sign_symmetry", _SIGN, "", sp.Integer(-1)),
            ("scale_equivariance", _FACTOR, _ANY, _c),
        )
    ),
    *(
        _model(f"atomic.{statement}", _SHARED + words, factor, _by_shares(turned))
        for statement, words, factor, turned in (
            ("sign_symmetry", _SIGN, "", sp.Integer(-1)),
            ("scale_equivariance", _FACTOR, _ANY, _c),
        )
    ),
    _model(
        "twomeans.scale_equivariance",
        "Signs stay, and so do the groups; the entries of one, `count` of them, add up to c times `total`.",
        _ANY,
        _of_groups,
    ),
)
