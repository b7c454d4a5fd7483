"""What certificates prove of one sum in any order of additions, on which others rest."""

from typing import Any

import sympy as sp

from commbounds.theory.dense.terms import unit
from commbounds.theory.model import Goal
from commbounds.theory.quantities import P

left, right, further, others = sp.symbols("left right further others", nonnegative=True)
rounding, loss = sp.symbols("rounding loss", nonnegative=True)
BELOW_ONE = {"loss < 1": 1 - loss}


def in_loss(bound: Any, u: Any = unit) -> Any:
    """The bound with unit/(1 + unit) as a symbol."""
    return sp.cancel(sp.together(bound.subs(u, loss / (1 - loss))))


def named(*symbols: Any) -> dict[str, Any]:
    """That symbols are not negative, by their names."""
    return {str(symbol): symbol for symbol in symbols}


def order_of_additions(bound: Any) -> tuple[Goal, ...]:
    """That a sum by any tree is off by no more than the bound, a function of P, times the sum of its magnitudes."""

    def off(terms: Any) -> Any:
        return in_loss(bound.subs(P, terms))

    first, second, v = off(1 + further), off(1 + others), loss
    given = {
        "of the exact sum": v * ((1 + first) * left + (1 + second) * right) - rounding,
        "no more than the left operand": (1 + first) * left - rounding,
        "no more than the right operand": (1 + second) * right - rounding,
        **named(v, left, right, further, others),
    }
    show = off(2 + further + others) * (left + right) - first * left - second * right - rounding
    cases = (
        ("of like numbers", 1, {"not so few left": further - v * others, "not so few right": others - v * further}),
        ("many more left", 1 + v * further, {"many more": v * further - others}),
        ("many more right", 1 + v * others, {"many more": v * others - further}),
    )
    return (
        Goal("one term", off(sp.Integer(1)), equal=True),
        *(
            Goal(name, sp.expand(times * show), given={**given, **case}, positive=BELOW_ONE)
            for name, times, case in cases
        ),
    )
