"""Goals about all subsets of so many entries, and about all orders of them, so that neither stands in words."""

from collections.abc import Callable
from typing import Any

import sympy as sp

from commbounds.theory.model import Goal


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


def over_pairs_of_subsets() -> tuple[Goal, ...]:
    """That of all subsets of k of n entries the mean square of the sum is that of pairs that are drawn alike.

    ``k/n`` of the sum of squares, and ``k (k - 1)/(n (n - 1))`` of the sum of the products of different entries.
    Induction on the entries, see `over_subsets`, from two.
    """
    n, k = sp.symbols("n k", integer=True, positive=True)
    without, having, total, squares, x, y = sp.symbols("without having total squares x y")

    def square(entries: Any, kept: Any, sums: Any, of: Any) -> Any:
        return kept / entries * of + kept * (kept - 1) / (entries * (entries - 1)) * (sums**2 - of)

    before = without * square(n - 1, k, total, squares)
    before += having * (square(n - 1, k - 1, total, squares) + 2 * x * (k - 1) / (n - 1) * total + x**2)
    after = (without + having) * square(n, k, total + x, squares + x**2)
    two = {0: sp.S.Zero, 1: (x**2 + y**2) / 2, 2: (x + y) ** 2}
    return (
        *(
            Goal(f"{kept} of two entries", square(2, sp.Integer(kept), x + y, x**2 + y**2) - value, equal=True)
            for kept, value in two.items()
        ),
        Goal("products, one more entry", before - after, equal=True,
             positive={"n": n, "n - 1": n - 1, "n - 2": n - 2},
             zero={"subsets of k, over those of k - 1": k * without - (n - k) * having}),
    )  # fmt: skip


def two_seats(ranks: Any) -> tuple[Goal, ...]:
    """That of `ranks` numbers in any order two different places have the mean product of two different numbers.

    Of all `orders` so many have one number in one place, `first`, and two numbers in two places, `both`; the products
    of two different ones add up to the square of the `total` less the squares.
    """
    orders, first, both = sp.symbols("orders first both", positive=True)
    total, x = sp.symbols("total x", commutative=False)
    squares, pairs = sp.symbols("squares pairs", real=True)
    known: dict[str, Any] = {
        "positive": {f"{ranks}": ranks, f"{ranks} - 1": ranks - 1, "orders": orders},
        "zero": {f"{ranks} for the first": orders - ranks * first, "for the second": first - (ranks - 1) * both},
    }
    return (
        Goal("one in one place", first / orders - 1 / ranks, equal=True, **known),
        Goal("two in two places", both / orders - 1 / (ranks * (ranks - 1)), equal=True, **known),
        Goal("products of two, one more", pairs + 2 * total * x - ((total + x) ** 2 - squares - x**2), equal=True,
             zero={"products before": pairs - (total**2 - squares)}, vectors=(total, x)),
    )  # fmt: skip
