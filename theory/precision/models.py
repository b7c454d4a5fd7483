"""What certificates about sums in narrow formats prove: a sum by any tree, addition by addition, and its casts."""

from collections.abc import Mapping
from typing import Any

import sympy as sp

from commbounds.theory.dense.node_schedules import nodes
from commbounds.theory.dense.terms import ceil_log2, unit
from commbounds.theory.finite_laws import (
    at_most_each,
    over_all,
    over_histories,
    part_of_all,
    proved_by,
    relative_errors,
)
from commbounds.theory.model import CASE, Goal, Model, Step, by_claim, extents, recurrence
from commbounds.theory.precision.bounds import any_order, any_tree, compounded
from commbounds.theory.precision.models_orders import (
    BELOW_ONE,
    in_loss,
    left,
    loss,
    named,
    order_of_additions,
    others,
    right,
    rounding,
)
from commbounds.theory.precision.ordering_terms import add_depth
from commbounds.theory.precision.split_models import MODELS as SPLIT
from commbounds.theory.precision.terms import addends, least, random_bits, wire_unit
from commbounds.theory.quantities import P

_depth, _inner, _outer = sp.symbols("depth inner outer", nonnegative=True)
_casts, _each, _cast = sp.symbols("casts each cast", nonnegative=True)
_error = sp.Symbol("error", real=True)

_ROUNDED = (
    "The error of an addition to nearest is at most loss = unit/(1 + unit) of the exact sum of its operands, and at "
    "most either operand, as the other one is a float; nothing overflows. "
)
_OVER = "every input whose sums do not overflow, "


def _running(bound: Any) -> tuple[Goal, ...]:
    goals: list[Goal] = []
    given = {"no more than the term": right - rounding, **named(left, right)}
    for side in bound.args if isinstance(bound, sp.Min) else (bound,):
        if side.has(P):
            goals += order_of_additions(side)
        else:
            show = sp.expand(side * (left + right) - side * left - rounding)
            goals.append(Goal("no more than the magnitudes", show, given=given))
    return tuple(goals)


def _compounding(name: str, now: Any, then: Any, loss: Any) -> tuple[Goal, ...]:
    """A factor within 1 - now and 1 + now, times 1 + error, |error| <= loss, is within 1 - then and 1 + then."""
    given = {"loss + error": loss + _error, "loss - error": loss - _error, "loss": loss, "now": now}
    return (
        Goal(f"{name}: not larger", 1 + then - (1 + now) * (1 + _error), given=given, positive=BELOW_ONE),
        Goal(
            f"{name}: not smaller",
            (1 - now) * (1 + _error) - (1 - then),
            given={**given, "what is left": 1 - now},
            positive=BELOW_ONE,
        ),
    )


def _written(bound: Any, u: Any = unit) -> Any:
    """The bound with (1 + rate)^times - 1 written out, and u/(1 + u) as a symbol."""
    in_loss = bound.replace(compounded, lambda rate, times: (1 + rate) ** times - 1).subs(u, loss / (1 - loss))
    powers = in_loss.replace(
        lambda e: e.is_Pow and e.exp.free_symbols,
        lambda e: sp.expand_power_exp(sp.cancel(sp.together(e.base)) ** e.exp),
    )
    return sp.expand_mul(powers)


def _tree(bound: Any) -> tuple[Goal, ...]:
    def off(additions: Any) -> Any:
        return _written(bound.xreplace({ceil_log2: additions}))

    return (
        *relative_errors(),
        *proved_by("terms", recurrence(2**_depth, _depth, 1, lambda terms, _: terms + terms)),
        Goal("no addition", off(sp.Integer(0)), equal=True),
        *_compounding("an addition", off(_depth), off(_depth + 1), loss),
    )


def _hierarchical(bound: Any) -> tuple[Goal, ...]:
    def off(inner: Any, outer: Any) -> Any:
        sizes = {P: sp.expand((1 + inner) * (1 + outer)), nodes: 1 + outer}
        return _written(bound.replace(compounded, lambda rate, times: compounded(rate, sp.cancel(times.subs(sizes)))))

    now = off(_inner, _outer)
    return (
        *relative_errors(),
        Goal("no addition", off(sp.Integer(0), sp.Integer(0)), equal=True),
        *_compounding("an addition within", now, off(_inner + 1, _outer), loss),
        *_compounding("an addition between", now, off(_inner, _outer + 1), loss),
    )


def _stochastic(bound: Any) -> tuple[Goal, ...]:
    def off(additions: Any) -> Any:
        return sp.expand_mul(
            bound.subs(P, 1 + additions).replace(
                compounded, lambda rate, times: sp.expand_power_exp((1 + rate) ** times) - 1
            )
        )

    return (
        *relative_errors(),
        Goal("no addition", off(sp.Integer(0)), equal=True),
        *_compounding("an addition", off(_depth), off(_depth + 1), 2 * unit),
    )


def _few_bits(bound: Any) -> tuple[Goal, ...]:
    """A term's factor, addition by addition: in every history it is `factor`, and both fates of a rounding follow."""
    factor, more, factors, additional = sp.symbols("factor more factors additional", real=True)
    up, share, gap, excess, most, chance, words = sp.symbols("up share gap excess most chance words", nonnegative=True)

    def off(additions: Any) -> Any:
        written = bound.subs(P, 1 + additions).replace(compounded, lambda rate, times: (1 + rate) ** times - 1)
        return sp.expand(sp.expand_power_exp(written.subs(random_bits, sp.log(words, 2))))

    fates = ((up, factor * (1 + (1 - share) * gap)), (1 - up, factor * (1 - share * gap)))
    sides = {"above": 1, "below": -1}
    return (
        *relative_errors(),
        *proved_by("every draw", _stochastic(any_tree(P - 1, unit, "stochastic"))),
        *over_histories("an addition", fates, {factors: factor, additional: more}, factors + additional,
                        zero={"more": more - factor * (up - share) * gap}),
        Goal("excess", 2 * unit - words * (up - share) * gap,
             given={"at least the share": up - share, "less than a word more": 1 - words * (up - share),
                    "a gap": 2 * unit - gap, **named(gap, unit)}),
        *(Goal(f"one history, {side}", most * 2 * unit - sign * words * factor * excess,
               given={"excess": 2 * unit - words * excess, "excess at least 0": excess, "above": most - factor,
                      "below": most + factor, **named(words, unit, most)}) for side, sign in sides.items()),
        *(goal for side, sign in sides.items() for goal in over_all(
            lambda share, more, sign=sign: 2 * unit * most * share - sign * words * more, (chance, chance * more),
            case=f"all histories, {side}: ")),
        Goal("no addition", off(sp.S.Zero), equal=True),
        Goal("one addition more", words * (off(_depth + 1) - off(_depth)) - 2 * unit * (1 + 2 * unit) ** _depth,
             equal=True, positive=named(words)),
    )  # fmt: skip


def _average(bound: Any) -> tuple[Goal, ...]:
    def off(additions: Any) -> Any:
        return _written(bound.subs(add_depth, additions), wire_unit)

    first, second, normal, half = sp.symbols("first second normal half", nonnegative=True)
    two_normal = {"one": first - normal, "another": second - normal, "unit <= 1": 1 - 2 * loss}
    return (
        *relative_errors(),
        *_compounding("the division", sp.Integer(0), off(sp.Integer(0)), loss),
        *_compounding("an addition", off(_depth), off(_depth + 1), loss),
        Goal("a quotient below the normal range", loss * (first + second + others) - rounding,
             given={**two_normal, **named(loss, others, normal), "half a smallest number": half - rounding},
             zero={"unit times the smallest normal": (1 - loss) * half - loss * normal}, positive=BELOW_ONE),
        Goal("divided behind", off(_depth + 1) - (off(_depth) + loss), given={**named(loss), "now": off(_depth)}),
    )  # fmt: skip


def _once(bound: Any) -> tuple[Goal, ...]:
    off = in_loss(any_order(P, unit))
    show = sp.cancel(sp.together(bound.subs({unit: loss / (1 - loss), wire_unit: _cast / (1 - _cast)})))
    given = {"the last rounding": _cast * (1 + off) * left - rounding, "P >= 1": P - 1}
    positive = {**BELOW_ONE, "cast < 1": 1 - _cast}
    goal = sp.expand(show * left - off * left - rounding)
    return (Goal("rounded once", goal, given={**given, **named(loss, _cast, left)}, positive=positive),)


def _wider(bound: Any) -> tuple[Goal, ...]:
    off = in_loss(any_order(P, unit))
    given = {"the casts": loss * addends + P * least / 2 - _casts, "P >= 1": P - 1, **named(loss, addends, _casts)}
    show = sp.expand(in_loss(bound) - _casts - off * (addends + _casts))
    rounded, size = sp.symbols("rounded size", nonnegative=True)
    return (
        *proved_by("a sum", order_of_additions(any_order(P, unit))),
        *over_all(
            lambda casts, sizes, count: loss * sizes + count * least / 2 - casts,
            (rounded, size, sp.S.One),
            case="terms: ",
        ),
        Goal("cast and added", show, given=given, positive=BELOW_ONE),
    )


def _quotients(bound: Any) -> tuple[Goal, ...]:
    given = {"P quotients": P * _each - _casts, "half a smallest number": least / 2 - _each, "P": P}
    one, other = sp.symbols("multiple other_multiple", integer=True)
    total = sp.Symbol("total", real=True)
    return (
        *at_most_each("quotients", _each, P, _casts),
        *part_of_all("shares in a partial sum"),
        Goal("sums of smallest numbers", total - (one + other) * least, equal=True,
             zero={"a sum of two multiples": total - one * least - other * least}),
        Goal("summed", bound - _casts, given=given),
    )  # fmt: skip


_FACTOR = (
    "is between 1 - g(h) and 1 + g(h), where g is the bound as a function of h: a factor in that range, times 1 + "
    "error, is in the next; where 1 - g(h) is negative no factor is below it, as none is negative. So the error of the "
    "sum is at most g(h) times the sum of the magnitudes. "
)

MODELS = by_claim(
    Model(
        "precision.any.sure",
        f"{_ROUNDED}By induction on the additions: a sum of 1 + further terms, whose magnitudes add up to left, is off "
        "by at most g(1 + further) left, where g is the bound as a function of P; so is one of 1 + others terms and "
        "right. They are added with the error `rounding`. The goals show that the sum is off by at most g(2 + further "
        "+ others) (left + right), in three cases that cover all; in two of them times a positive number.",
        f"{_OVER}every order of additions by any tree, every P, every unit < 1",
        order_of_additions,
    ),
    Model(
        "precision.running.sure",
        f"{_ROUNDED}The bound is the smaller of two. The first as for precision.any.sure: a running sum is one order. "
        "The second by induction on the additions: a running sum, whose magnitudes add up to left, is off by at most "
        "`second bound` times left; a term right is added, which is a float, so that `rounding` is at most right.",
        f"{_OVER}every P, every unit < 1",
        _running,
    ),
    Model(
        "precision.tree.sure",
        f"{_ROUNDED}Sums over as many terms are added: after h = ceil(log2 P) additions they have all, and no term "
        "passed more, each of which multiplies it by 1 + error, "
        f"|error| <= loss; one that it does not pass has error 0. By induction its factor {_FACTOR}",
        f"{_OVER}every P, every unit < 1",
        _tree,
    ),
    Model(
        "precision.hierarchical.sure",
        f"{_ROUNDED}A term passes at most `inner` = P/N - 1 additions within its node and `outer` = N - 1 between "
        "nodes, each of which multiplies it by 1 + error, |error| <= loss. By induction on h = inner + outer its "
        f"factor {_FACTOR}",
        f"{_OVER}every number of nodes and of ranks in each, every unit < 1",
        _hierarchical,
    ),
    Model(
        "precision.stochastic.running_sure",
        "An addition that is rounded to either neighbour multiplies the sum by 1 + error, |error| <= 2 unit, below the "
        "normal range too, where it is exact. A term passes at most h = P - 1 additions. By induction its factor "
        f"{_FACTOR}",
        f"{_OVER}every draw, every P, every unit",
        _stochastic,
    ),
    Model(
        "precision.stochastic.few_bits",
        "words = 2^r. An addition multiplies a term by 1 + (1 - share) gap with chance `up`, else by 1 - share gap: "
        "gap is that of the neighbours over the exact sum, 2 unit at most, and words up is the next whole number from "
        "words share on. Below zero the same holds with the signs changed. After h additions a term's factor is at "
        "most `most`, which is (1 + 2 unit)^h, for every draw. By induction on h <= P - 1 the factor's mean is off 1 "
        "by ((1 + 2 unit)^h - 1)/words at most.",
        f"{_OVER}every P, every unit, every number of bits",
        _few_bits,
    ),
    Model(
        "precision.average.error",
        "A term passes one division, whose quotient is normal or zero, and at most h additions. Each multiplies it "
        "by 1 + error, |error| <= loss = w/(1 + w). By induction on h, beginning with the division, its factor "
        f"{_FACTOR}Divided behind, a quotient below the normal range is off by `half` a smallest number, unit times "
        "the smallest `normal` one, at most. Then two terms at least are not zero, whose quotients are normal: it is "
        "off by no more than v times the average of the magnitudes.",
        f"{_OVER}whose quotients are normal or zero, every number of additions, every unit < 1",
        _average,
    ),
    Model(
        "precision.once.sure",
        "A sum of terms whose magnitudes add up to left is off by (P - 1) loss left at most (precision.any.sure), so "
        "that its own magnitude is at most (1 + (P - 1) loss) left. It is rounded to the wire's format once, by "
        "`rounding`, which is at most cast = w/(1 + w) of it.",
        f"{_OVER}none of which is below the wire's normal range, every P, every two units < 1",
        _once,
    ),
    Model(
        "precision.underflow.wider_input",
        "Every term is rounded by loss of itself or by half a smallest number at most, so by no more than both "
        "together; `casts` is what all are rounded by, and the rounded terms' magnitudes add up to addends + casts "
        "at most. Their sum is off by (P - 1) loss of that, as goals of precision.any.sure show.",
        f"{_OVER}every P, every unit < 1",
        _wider,
    ),
    Model(
        "precision.average.underflow_before",
        "Every one of P quotients is off by at most `each`, half a smallest number below the normal range, and their "
        "sums are exact there: multiples of the smallest number, up to the smallest normal one, are floats, and "
        "partial sums of the magnitudes are no more than all. What they are off by adds up to `casts` at most.",
        "every input whose shares add up to the smallest normal number at most, every P",
        _quotients,
    ),
    *SPLIT,
)
"""By claim."""

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "precision.any.sure": {
        "of the exact sum": "one term",
        "no more than the left operand": "one term",
        "no more than the right operand": "one term",
    },
    "precision.running.sure": {
        "of the exact sum": "one term",
        "no more than the left operand": "one term",
        "no more than the right operand": "one term",
    },
    "precision.tree.sure": {"now": "no addition", "what is left": CASE},
    "precision.hierarchical.sure": {"now": "no addition", "what is left": CASE},
    "precision.stochastic.running_sure": {"now": "no addition", "what is left": CASE},
    "precision.average.error": {"now": "the division: not larger", "what is left": CASE},
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""

EXTENTS = extents(
    "precision",
    {
        (): "any.sure running.sure tree.sure hierarchical.sure stochastic.running_sure stochastic.few_bits "
        "average.error split.step underflow.wider_input split.product split.gradient split.distance split.root",
        (Step.CLAIM,): "average.underflow_before",
    },
)
