"""Goals about sums over entries, and over the outcomes of a finite law, so that neither stands in words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import sympy as sp

from commbounds.theory.model import Goal, recurrence

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


def against_others(number: Any, others: Any, kept: Any, rest: Any) -> tuple[Goal, ...]:
    """That `others` times what `number` largest ones come to is no less than `number` times what the others do."""
    largest, goals = of_the_largest(number, others, kept, rest)
    counts = {"number": number, "others": others}
    return *goals, Goal("over all pairs", others * kept - number * rest, given={**largest, **counts})


def orthonormal_parts() -> tuple[Goal, ...]:
    """That squares of coordinates in an orthonormal system come to the squared norm, of all or of those that are left.

    ``x`` is the sum over those before, ``w`` one more element, ``y`` another. Singular values are coordinates: with
    orthonormal u, and orthonormal v, the elements u v^T are orthonormal.
    """
    x, w, y = sp.symbols("x w y", commutative=False)
    value, squares = sp.symbols("value squares", nonnegative=True)
    return (
        Goal("no product with one more", (x + value * w) * y, equal=True, vectors=(x, w, y),
             zero={"those before": x * y, "orthonormal": w * y}),
        Goal("squared norm, one more value", (x + value * w) ** 2 - squares - value**2, equal=True, vectors=(x, w),
             zero={"squared norm before": x**2 - squares, "no product": x * w, "of norm one": w**2 - 1}),
    )  # fmt: skip


def kept_products() -> tuple[Goal, ...]:
    """That a Hadamard transform of signed vectors multiplies inner products, and so squares, by its length.

    Signs change no product of two entries; each of `halvings` steps takes pairs to their sums and differences, in one
    vector (a, b) and in the other (c, e). So different rows, the transforms of unit vectors, are orthogonal.
    """
    a, b, c, e, sign, before = sp.symbols("a b c e sign before", real=True)
    halvings = sp.Symbol("halvings", integer=True, nonnegative=True)
    return proved_by(
        "transform",
        (
            Goal("signs", sign * a * (sign * c) - a * c, equal=True, zero={"a sign": sign**2 - 1}),
            Goal("two entries", (a + b) * (c + e) + (a - b) * (c - e) - 2 * (a * c + b * e), equal=True),
            *over_all(lambda made, had: made - 2 * had, (2 * before, before), case="pairs: ", equal=True),
            *recurrence(2**halvings, halvings, 1, lambda so_far, _: 2 * so_far),
        ),
    )


def chebyshev() -> tuple[Goal, ...]:
    """Chebyshev's sum inequality: products of two sequences in one order are, in the mean, no less than the means'.

    One after another. ``products``, ``first`` and ``second`` are the sums over those before.
    """
    products, first, second, count = sp.symbols("products first second count", nonnegative=True)
    a, b, a_before, b_before = sp.symbols("a b a_before b_before", real=True)

    def alike(products: Any, first: Any, second: Any, count: Any) -> Any:
        return products - a * second - b * first + count * a * b

    more = alike(products + a_before * b_before, first + a_before, second + b_before, count + 1)
    before = alike(products, first, second, count)
    return (
        Goal("products of differences, one more before", more,
             given={"those before": before, "in one order": (a - a_before) * (b - b_before)}),
        Goal("sum of products, one more", (count + 1) * (products + a * b) - (first + a) * (second + b),
             given={"those before": count * products - first * second, "products of differences": before}),
    )  # fmt: skip


def uncorrelated(variance: Any) -> tuple[Goal, ...]:
    """That vectors which have no inner product in the mean, and a `variance` each, add up `variance` times weights^2.

    For every history of weights, vectors are elements of a space whose inner product is the mean over their own law;
    ``weights`` is the mean of the sum of squared weights, vector by vector and history by history.
    """
    x, u = sp.symbols("x u", commutative=False)
    weight = sp.Symbol("weight_of_one", real=True)
    size, weights = sp.symbols("size weights", nonnegative=True)
    return over_histories(
        "one more uncorrelated vector",
        ((sp.S.One, (x + weight * u) ** 2),),
        {size: x**2, weights: weight**2},
        size + variance * weights,
        vectors=(x, u),
        zero={"uncorrelated": x * u, "variance": u**2 - variance},
    )


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


def over_all(
    statement: Callable[..., Any],
    one: Sequence[Any],
    totals: Sequence[Any] = (),
    claimed: Any = None,
    case: str = "",
    positive: Mapping[str, Any] = _NONE,
    equal: bool = False,
) -> tuple[Goal, ...]:
    """The goals by which a statement about every one of many things is one about their sums: one after another.

    Parameters
    ----------
    statement : function
        Of sums over things: linear, and not negative.
    one : sequence of sympy expression
        The statement's arguments, for one thing.
    totals : sequence of sympy expression
        The same for all things, where the claim has other letters for them.
    claimed : sympy expression
        What the claim says is not negative; without one, the statement of the totals.
    case : str
        What the goals' names begin with.
    positive : mapping from str to sympy expression
        What is known to be positive, by name.
    equal : bool
        Whether the statement is that what it gives is zero.
    """
    before = [sp.Symbol(f"before_{number}", real=True) for number in range(len(one))]
    given = {f"{case}those before": statement(*before)}
    if (own := sp.expand(statement(*one))) != 0:
        given[f"{case}this one"] = own
    more = statement(*(b + o for b, o in zip(before, one, strict=True)))
    nonnegative, zero = ({}, given) if equal else (given, {})
    goals = (
        Goal(f"{case}none", statement(*(sp.S.Zero for _ in one)), equal=True, positive=positive),
        Goal(f"{case}one more", more, equal=equal, given=nonnegative, positive=positive, zero=zero),
    )
    if claimed is None:
        return goals
    return (*goals, Goal(f"{case}all", claimed - statement(*totals), equal=True, positive=positive))


def over_histories(
    name: str,
    after: Draws,
    means: Mapping[Any, Any],
    stated: Any,
    vectors: Sequence[Any] = (),
    zero: Mapping[str, Any] = _NONE,
    positive: Mapping[str, Any] = _NONE,
) -> tuple[Goal, ...]:
    """That a mean after a step, over all histories and all fates in it, is what is stated of means before it.

    Histories are taken up one after another. Each is followed by every fate, which is independent of it: with the
    product of the chances. So it is for every law of histories, of however many, and neither linearity of the
    expectation nor independence stands in words.

    Parameters
    ----------
    name : str
        What the goals' names begin with.
    after : sequence of pairs
        The fates of a step: their chances, and the value after it in one history.
    means : mapping from symbol to sympy expression
        The means before the step, by what is averaged in one history.
    stated : sympy expression
        Of those symbols, linear.
    vectors : sequence of symbol
        Vectors of one history.
    zero, positive : mapping from str to sympy expression
        What is known of every history, or of the chances.
    """
    chance, summed = sp.symbols("chance summed", nonnegative=True)
    step = {symbol: symbol + chance * value for symbol, value in means.items()}
    show = summed + chance * mean(after) - stated.xreplace(step)
    before = {f"{name}: histories before": summed - stated}
    return (
        Goal(f"{name}: all fates", sum(share for share, _ in after) - 1, equal=True, positive=positive),
        Goal(f"{name}: no history", stated.xreplace(dict.fromkeys(means, sp.S.Zero)), equal=True, positive=positive),
        Goal(f"{name}: one more history", show, equal=True, vectors=vectors, zero={**before, **zero},
             positive=positive),
    )  # fmt: skip


def independent_of(name: str) -> tuple[Goal, ...]:
    """That a product with what is drawn independently, and has no mean, has none either: draw by draw, for vectors.

    ``x`` is of one history, ``u`` one outcome of the draw, ``drawn`` the sum of chance times outcome before it.
    """
    x, u, drawn = sp.symbols("x u drawn", commutative=False)
    chance, product, products = sp.symbols("chance product products", real=True)
    before = {"outcomes before": product - x * drawn}
    return (
        Goal(f"{name}: one more outcome", product + chance * x * u - x * (drawn + chance * u), equal=True,
             zero=before, vectors=(x, u, drawn)),
        Goal(f"{name}: all outcomes", product, equal=True, zero={**before, "no mean": x * drawn},
             vectors=(x, drawn)),
        Goal(f"{name}: one more history", products + chance * product, equal=True,
             zero={"histories before": products, "no product in one history": product}),
    )  # fmt: skip


def share_of_squares(name: str, equal: bool = False) -> tuple[Goal, ...]:
    """That errors which are at most, or are, a share of the squares add up to that share of their sum: one by one."""
    share, square, error = sp.symbols("share_of_each square error", nonnegative=True)
    one = (square, share * square if equal else error)
    return over_all(lambda squares, errors: share * squares - errors, one, case=f"{name}: ", equal=equal)


def at_most_each(name: str, most: Any, times: Any, total: Any, positive: Mapping[str, Any] = _NONE) -> tuple[Goal, ...]:
    """That `times` messages, ranks or steps of at most `most` each come to `times` `most`: one after another.

    Parameters
    ----------
    name : str
        What the goals' names begin with.
    most, times, total : sympy expression
        The most of one, their number, and what they come to.
    positive : mapping from str to sympy expression
        What is known to be positive, by name.
    """
    of_one = sp.Symbol("of_one", nonnegative=True)
    return over_all(
        lambda amount, many: many * most - amount,
        (of_one, sp.S.One),
        (total, times),
        times * most - total,
        case=f"{name}: ",
        positive=positive,
    )


def at_least_each(
    name: str, least: Any, times: Any, total: Any, positive: Mapping[str, Any] = _NONE
) -> tuple[Goal, ...]:
    """That `times` ranks or terms of at least `least` each come to `times` `least`: see `at_most_each`."""
    of_one = sp.Symbol("of_one", real=True)

    def statement(amount: Any, many: Any) -> Any:
        return amount - many * least

    return over_all(statement, (of_one, sp.S.One), (total, times), statement(total, times), f"{name}: ", positive)


def part_of_all(name: str) -> tuple[Goal, ...]:
    """That different ones of what is not negative come to no more than all of them: one by one, chosen or not."""
    size = sp.Symbol("size_of_one", nonnegative=True)
    chosen, others = ((size, size), (size, sp.S.Zero))
    return tuple(
        goal
        for case, one in (("chosen", chosen), ("not chosen", others))
        for goal in over_all(lambda whole, part: whole - part, one, case=f"{name}, {case}: ")
    )


def relative_errors() -> tuple[Goal, ...]:
    """That terms which are each off by at most a share of their size are, together, off by that share of all sizes."""
    share, sizes, size, errors, off = sp.symbols("share_of_each sizes size errors off", real=True)
    given = {"terms before": share * sizes - errors, "its factor": share - off, "size": size}
    return (
        Goal("terms: none", share * sizes - errors, equal=True, zero={"sizes": sizes, "errors": errors}),
        Goal("terms: one more", share * (sizes + size) - (errors + size * off), given=given),
    )


def never_negative(name: str) -> tuple[Goal, ...]:
    """That what is never negative has a mean that is not: outcome by outcome."""
    chance, value, total = sp.symbols("chance value total", real=True)
    given = {"outcomes before": total, "never negative": value, "chance": chance}
    return (Goal(f"{name}: one more outcome", total + chance * value, given=given),)


def norm_of_a_sum() -> Goal:
    """That norms add up to no less than the norm of a sum: of vectors, or, root mean squares, of random ones.

    The inner product is that of vectors, or its mean over any law: Minkowski's inequality. Times both norms, which
    are positive; without one of the vectors there is nothing to show.
    """
    x, u = sp.symbols("x u", commutative=False)
    first, second = sp.symbols("norm_x norm_u", positive=True)
    return Goal(
        "norm of a sum",
        ((first + second) ** 2 - (x + u) ** 2) * first * second,
        given={
            "x is no longer": first**2 - x**2,
            "u is no longer": second**2 - u**2,
            "square": (second * x - first * u) ** 2,
        },
        positive={"norm of x": first, "norm of u": second},
        vectors=(x, u),
    )


def proved_by(name: str, goals: Sequence[Goal]) -> tuple[Goal, ...]:
    """Another claim's goals, about the formula that it has, so that what rests on it need not cite it."""
    return tuple(replace(goal, name=f"{name}: {goal.name}") for goal in goals)


def drawn_next(name: str, average: Any) -> tuple[Goal, ...]:
    """That what is drawn next adds, where the past says that it counts, `average` times the mean of what counts.

    In one past, of some ``chance``, it counts ``counts`` times, whatever comes next: ``added`` is the sum over the
    outcomes of the draw, each with its ``share``, whose sum with the values is ``drawn``. ``number`` and ``amount`` are
    the sums over the pasts before. The joint law is the product of the two.
    """
    share, value, drawn, added = sp.symbols("share value drawn added", real=True)
    chance, counts, number, amount = sp.symbols("chance counts number amount", real=True)
    before = {"outcomes before": added - counts * drawn}
    return (
        Goal(f"{name}: one more outcome", added + share * counts * value - counts * (drawn + share * value), equal=True,
             zero=before),
        Goal(f"{name}: all outcomes", added - average * counts, equal=True,
             zero={**before, "its mean": drawn - average}),
        Goal(f"{name}: one more past", amount + chance * added - average * (number + chance * counts), equal=True,
             zero={"pasts before": amount - average * number, "in one past": added - average * counts}),
    )  # fmt: skip


def square_of_mean(name: str = "square of a mean") -> tuple[Goal, ...]:
    """That a mean of squares is no less than the square of the mean: over any weights, of vectors in any dimension."""
    x, u = sp.symbols("x u", commutative=False)
    weights, squares = sp.symbols("weights squares", nonnegative=True)
    weight = sp.Symbol("weight_of_one", positive=True)
    apart = weights * squares - x**2
    more = (weights + weight) * (squares + weight * u**2) - (x + weight * u) ** 2
    return (
        Goal(f"{name}: the first", more.subs({weights: 0, squares: 0, x: 0}), equal=True, vectors=(u,)),
        Goal(
            f"{name}: one more, times the weights before",
            weights * more,
            given={
                "those before, times all weights": (weights + weight) * apart,
                "square, times its weight": weight * (weights * u - x) ** 2,
            },
            vectors=(x, u),
        ),
    )


def under_tangents(name: str = "f at a mean") -> tuple[Goal, ...]:
    """That a convex function at the mean is no more than its mean: over any weights, by the tangent at the mean.

    ``values``, ``weights`` and ``x`` are the sums, of weight times value, weight, and weight times point less the mean;
    ``f_mean`` and ``slope`` are value and slope at the mean.
    """
    x, u, slope = sp.symbols("x u slope", commutative=False)
    values, value, f_mean = sp.symbols("values value f_mean", real=True)
    weights, weight = sp.symbols("weights weight_of_one", nonnegative=True)
    return (
        Goal(
            f"{name}: one more point",
            values + weight * value - (weights + weight) * f_mean - slope * (x + weight * u),
            given={
                "those before": values - weights * f_mean - slope * x,
                "tangent, times the weight": weight * (value - f_mean - slope * u),
            },
            vectors=(x, u, slope),
        ),
        Goal(
            f"{name}: all points",
            values - weights * f_mean,
            given={"all": values - weights * f_mean - slope * x},
            zero={"the mean": slope * x},
            vectors=(x, slope),
        ),
    )


def about_means(name: str = "about the means") -> tuple[Goal, ...]:
    """That products about the means add up to all products less that of the means, times the number: one after another.

    ``products`` and ``about`` are the sums of the products of two vectors each, as they are and about ``m`` and ``k``;
    with the vectors ``a`` and ``b`` for one thing, and ``A`` and ``B`` for the sums of all.
    """
    a, b, m, k, A, B = sp.symbols("a b m k A B", commutative=False)
    products, about, count = sp.symbols("products about count", real=True)
    apart = about - products + m * B + A * k - count * m * k
    more = apart + (a - m) * (b - k) - a * b + m * b + a * k - m * k
    means = {"the mean of one": (A - count * m) * k, "the mean of the other": m * (B - count * k)}
    return (
        Goal(f"{name}: one more", more, equal=True, zero={"those before": apart}, vectors=(a, b, m, k, A, B)),
        Goal(f"{name}: all", about - products + count * m * k, equal=True, zero={"all": apart, **means},
             vectors=(m, k, A, B)),
    )  # fmt: skip


def square_with_noise() -> tuple[Goal, ...]:
    """That a noise which is drawn independently of the rest, and has no mean, adds its own mean square to a square."""
    x, u = sp.symbols("x u", commutative=False)
    size = sp.Symbol("size_of_noise", nonnegative=True)
    none = {"<x, noise>": x * u, "size of the noise": u**2 - size}
    return (
        *independent_of("noise"),
        Goal("square with noise", (x + u) ** 2 - x**2 - size, equal=True, zero=none, vectors=(x, u)),
    )


def noisy_squares(variance: Any) -> tuple[Goal, ...]:
    """What noises add to a square: drawn independently of the rest and of each other, with no mean and a `variance`."""
    return *square_with_noise(), *uncorrelated(variance)
