"""Goals about sums over entries, and over the outcomes of a finite law, so that neither stands in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import sympy as sp

from commbounds.theory.model import Goal

Draws = Sequence[tuple[Any, Any]]
"""What one draw may bring: probabilities, and what is added."""

_NONE: Mapping[str, Any] = MappingProxyType({})


def mean(draws: Draws) -> Any:
    """The expectation of what a draw adds."""
    return sum(chance * added for chance, added in draws)


def after_draw(before: Any, outcomes: Any, draws: Draws) -> Any:
    """The sum over all outcomes, of chance times value, after one more draw.

    Parameters
    ----------
    before : sympy expression
        That sum before.
    outcomes : sympy expression
        The sum of the chances before.
    draws : sequence of pairs
        Of the draw.
    """
    return sum(chance * (before + outcomes * added) for chance, added in draws)


def over_entries(
    statement: Callable[[Any, Any, Any], Any],
    square: Any,
    draws: Draws,
    whole: tuple[Any, Any],
    claimed: Callable[[Any], Any],
    case: str = "",
    positive: Mapping[str, Any] = _NONE,
) -> tuple[Goal, ...]:
    """The goals by which a statement about every entry is one about all, in the mean over all outcomes.

    Induction on the entries. An outcome of all entries but the last is followed by every outcome of the last, with the
    product of the chances; ``outcomes`` is the sum of all chances.

    Parameters
    ----------
    statement : function
        Of a number of entries, the sum of their squares, and their expected error: not negative, and linear.
    square : sympy expression
        Of one entry.
    draws : sequence of pairs
        What becomes of one entry: probabilities and squared errors.
    whole : pair of sympy expression
        The number of entries and the sum of their squares in the end.
    claimed : function
        Of the expected error in the end: what the claim says is not negative.
    case : str
        What the goals' names begin with.
    positive : mapping from str to sympy expression
        What is known to be positive, by name.
    """
    entries, squares, error, outcomes = sp.symbols("entries squares error outcomes", nonnegative=True)
    zero = {"all outcomes before": outcomes - 1}
    given = {"entries before": statement(entries, squares, error), "this entry": statement(1, square, mean(draws))}
    more = statement(entries + 1, squares + square, after_draw(error, outcomes, draws))
    return (
        Goal(f"{case}no entry", statement(0, 0, 0), equal=True, positive=positive),
        Goal(f"{case}all outcomes", after_draw(outcomes, 0, draws) - 1, equal=True, positive=positive, zero=zero),
        Goal(f"{case}one more entry", more, given=given, positive=positive, zero=zero),
        Goal(f"{case}all entries", claimed(error) - statement(*whole, error), equal=True, positive=positive),
    )


def shown_by_entries(*goals: str, case: str | Sequence[str] = "") -> dict[str, tuple[str, ...]]:
    """What ``SHOWN_BY`` says of `over_entries`, where these goals show the statement about one entry."""
    cases = (case,) if isinstance(case, str) else tuple(case)
    return {"entries before": tuple(f"{name}no entry" for name in cases), "this entry": goals}


def of_the_largest(number: Any, others: Any, kept: Any, rest: Any) -> tuple[dict[str, Any], tuple[Goal, ...]]:
    """That `number` squares, none below a threshold, add up to `kept`, and `others`, none above it, to `rest`.

    Returns
    -------
    conditions : dict
        By name, what follows.
    goals : tuple of Goal
        The inductions by which it does.
    """
    level, count, total, square = sp.symbols("level count total square", nonnegative=True)
    kept_before, rest_before = {"before": total - count * level}, {"before": count * level - total}
    return {"each kept is no less than a level": kept - number * level, "no other is more": others * level - rest}, (
        Goal("one more is kept", total + square - (count + 1) * level,
             given={**kept_before, "no less than the level": square - level}),
        Goal("one more is not", (count + 1) * level - (total + square),
             given={**rest_before, "no more than the level": level - square}),
    )  # fmt: skip


def over_subsets(share: Callable[[Any, Any], Any], kept: Any, left: Any) -> tuple[Goal, ...]:
    """That of all subsets of k of n entries the mean sum is `share` of the sum over all entries, x by x.

    An entry x adds `kept` x to what a subset with it has, and `left` x to what one without it has. Induction on the
    entries: the subsets of k of n are those of k of the others, and those of k - 1 of the others with the last.

    Parameters
    ----------
    share : function
        Of n and k.
    kept, left : sympy expression
        What an entry adds, over itself.
    """
    n, k = sp.symbols("n k", integer=True, positive=True)
    further, without, having, total, x = sp.symbols("further without having total x")
    rows = {
        "subsets of k + 1, over those of k": (k + 1) * further - (n - 1 - k) * without,
        "subsets of k, over those of k - 1": k * without - (n - k) * having,
    }
    before = without * share(n - 1, k) * total + having * share(n - 1, k - 1) * total
    positive = {"n": n, "n - 1": n - 1}
    return (
        Goal("how many subsets, one more entry", (k + 1) * (further + without) - (n - k) * (without + having),
             equal=True, zero=rows),
        Goal("the only entry", share(sp.S.One, sp.S.One) - kept, equal=True),
        Goal("no subset has the only entry", share(sp.S.One, sp.S.Zero) - left, equal=True),
        Goal("one more entry",
             before + (without * left + having * kept) * x - (without + having) * share(n, k) * (total + x),
             equal=True, positive=positive, zero={name: e for name, e in rows.items() if not e.has(further)}),
    )  # fmt: skip


def rising_together() -> tuple[Goal, ...]:
    """That two functions which rise in every one of independent variables have a mean product of no less than means'.

    Harris' inequality, by induction on the variables, and on the outcomes of the last: an outcome of some `chance` has
    the means `own_f` and `own_g`, given it, and the mean product `own_product`, which is no less by the same for fewer
    variables. ``f``, ``g``, ``product`` and ``means`` are the sums, of chance times these and times own_f own_g, over
    the outcomes before.
    """
    chances, f, g, product, means = sp.symbols("chances f g product means", real=True)
    chance, own_f, own_g, own_product = sp.symbols("chance own_f own_g own_product", real=True)
    other, other_f, other_g = sp.symbols("other other_f other_g", real=True)
    apart = means + chances * own_f * own_g - own_f * g - own_g * f
    signs = {"chances": chances, "chance": chance}
    fewer = {"fewer variables": own_product - own_f * own_g}
    return (
        Goal(
            "another outcome and the last",
            (means + other * other_f * other_g) + (chances + other) * own_f * own_g
            - own_f * (g + other * other_g) - own_g * (f + other * other_f),
            given={
                "outcomes before and the last": apart,
                "other": other,
                "both rise in the last variable": (own_f - other_f) * (own_g - other_g),
            },
        ),
        Goal(
            "mean products, one more outcome",
            (product + chance * own_product) - (means + chance * own_f * own_g),
            given={"outcomes before, mean products": product - means, **signs, **fewer},
        ),
        Goal(
            "one more outcome of the last variable",
            (chances + chance) * (product + chance * own_product) - (f + chance * own_f) * (g + chance * own_g),
            given={
                "outcomes before": chances * product - f * g,
                "outcomes before, mean products": product - means,
                "all outcomes before and this one": apart,
                **signs,
                **fewer,
            },
        ),
    )  # fmt: skip
