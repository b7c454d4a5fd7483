"""What certificates about sketches prove."""

import itertools
from collections.abc import Callable
from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import mean, over_all, over_histories, proved_by
from commbounds.theory.model import Goal, Model, Step, by_claim, extents, in_range, vectors
from commbounds.theory.quantities import P, k, n, norm2
from commbounds.theory.sketched import terms as t

_square, _added, _chance, _first, _kept = sp.symbols("square added chance first kept", nonnegative=True)
_whole, _rest, _half = sp.symbols("whole rest half", nonnegative=True)
_alone, _missed = sp.symbols("alone missed", nonnegative=True)
_sums, _unsent, _sent, _update, _gradient = sp.symbols("sums unsent sent update gradient", real=True)
_x, _y, _s, _u, _v = sp.symbols("x y s u v", real=True)
_block, _entry_block = sp.symbols("block entry_block", nonnegative=True)
_CELLS = {"c": t.cells}
_BY_SYMMETRY = "Errors of rows are independent; one turns with the entry's own sign, and is as often above as below. "


def _squared(bound: Any, square: Any) -> Any:
    return bound.xreplace({norm2**2: square})


def _variance(bound: Any) -> tuple[Goal, ...]:
    more = _squared(bound, _square + _added) - _squared(bound, _square)
    x, u = vectors("error_before one_more")
    errors, shared = sp.symbols("errors shared", nonnegative=True)
    half = 1 / (2 * t.cells)
    fates = (half, (x + u) ** 2), (half, (x - u) ** 2), (1 - 2 * half, x**2)
    stated = errors + shared / t.cells
    return (
        *over_histories("a counter and a sign", fates, {errors: x**2, shared: u**2}, stated, (x, u), positive=_CELLS),
        Goal("no other entry", _squared(bound, t.entry**2), equal=True, positive=_CELLS),
        Goal("one more entry", more - _added / t.cells, equal=True, positive=_CELLS),
    )


_OF_ENTRY = (norm2**2 - t.entry**2) / t.cells
"""What sketched.row.variance says."""


def _all_errors() -> tuple[Goal, ...]:
    """What the entries' errors come to: a c-th of the number of entries times the square, less their own squares."""
    return over_all(
        lambda errors, own, count: errors - (_square * count - own) / t.cells,
        ((_square - _x**2) / t.cells, _x**2, sp.S.One),
        case="entries: ",
        positive=_CELLS,
        equal=True,
    )


def _variance_bound(bound: Any) -> tuple[Goal, ...]:
    exact = (_square - t.entry**2) / t.cells
    return (
        *proved_by("exact", _variance(_OF_ENTRY)),
        Goal("the entry's own", _squared(bound, _square) - exact, given={"entry": t.entry}, positive=_CELLS),
    )


def _error(bound: Any) -> tuple[Goal, ...]:
    exact = (n * _square - _square) / (t.cells * _square)
    return (
        *proved_by("of one entry", _variance(_OF_ENTRY)),
        *_all_errors(),
        Goal("all entries", bound - exact, equal=True, positive={"c": t.cells, "square": _square}),
    )


def _norm(bound: Any) -> tuple[Goal, ...]:
    more = _squared(bound, _square + _added) - _squared(bound, _square)
    return (
        Goal("no entry", _squared(bound, sp.Integer(0)), equal=True),
        Goal("one more entry", more - _added, equal=True),
    )


def _over_rows(rows: int, off: Any, value: Callable[[int], Any]) -> Any:
    """Expected value of the middle one of so many signs, each -1 or 1 with probability off/2, else zero."""
    chances = {-1: off / 2, 0: 1 - off, 1: off / 2}
    return sp.Add(
        *(
            value(sorted(signs)[(rows - 1) // 2]) * sp.prod([chances[s] for s in signs])
            for signs in itertools.product(chances, repeat=rows)
        )
    )


def _own_sign() -> tuple[Goal, ...]:
    """That a row is off to either side equally often: turned by the entry's own sign, what is above is below.

    ``above`` and ``below`` are, of one outcome of all else, whether the error is above or below with this sign.
    """
    above, below, ups, downs = sp.symbols("above below ups downs", nonnegative=True)
    half = sp.Rational(1, 2)
    return tuple(
        goal
        for side, fates in (("above", (above, below)), ("below", (below, above)))
        for goal in over_histories(
            f"own sign, {side}", tuple((half, fate) for fate in fates), {ups: above, downs: below}, (ups + downs) / 2
        )
    )


def _tail(bound: Any, r: int) -> tuple[Goal, ...]:
    return *_own_sign(), Goal("tail", bound.subs(t.rows, r) - _over_rows(r, t.row_off, abs), equal=True)


def _of_three(bound: Any) -> tuple[Goal, ...]:
    exact = t.other**2 * _over_rows(3, 1 / t.cells, abs)
    return *_own_sign(), Goal("square", bound - exact, equal=True, positive=_CELLS)


def _lower(bound: Any) -> tuple[Goal, ...]:
    exact = t.other * _over_rows(2, 1 / t.cells, int)
    return *_own_sign(), Goal("the smaller of two", bound + exact, equal=True, positive=_CELLS)


def _row_tail(bound: Any) -> tuple[Goal, ...]:
    markov = (_square - t.entry**2) / t.cells - t.tolerance**2 * _square * _chance
    chance, error, level = sp.symbols("chance_of_one error_squared level", nonnegative=True)

    def statement(squares: Any, offs: Any) -> Any:
        return squares - level * offs

    return (
        *proved_by("the mean square", _variance(_OF_ENTRY)),
        Goal("an outcome that is off", statement(chance * error, chance),
             given={"its square is no less than the level": error - level, "chance": chance}),
        *over_all(statement, (chance * error, chance), case="off: "),
        *over_all(statement, (chance * error, sp.S.Zero), case="not off: "),
        Goal(
            "Chebyshev",
            bound - _chance,
            given={"Markov's inequality": markov, "the entry's own square": t.entry**2},
            positive={**_CELLS, "tolerance": t.tolerance, "square": _square},
        ),
    )  # fmt: skip


def _collision(bound: Any) -> tuple[Goal, ...]:
    p = _whole * t.cells + _rest
    exact = (_rest * (_whole + 1) ** 2 + (t.cells - _rest) * _whole**2) / p**2
    found = bound.xreplace({sp.Mod(t.prime, t.cells): _rest}).xreplace({t.prime: p})
    return (Goal("pairs in one class", found - exact, equal=True, positive={**_CELLS, "p": p}),)


def _sign_mean(bound: Any) -> tuple[Goal, ...]:
    p = 2 * _half + 1
    exact = ((_half + 1) - _half) / p
    return (Goal("residues", bound.xreplace({t.prime: p}) - exact, equal=True, positive={"p": p}),)


def _sign_pair(bound: Any) -> tuple[Goal, ...]:
    p = 2 * _half + 1
    exact = ((_half + 1) ** 2 + _half**2 - 2 * _half * (_half + 1)) / p**2
    return (Goal("pairs of residues", bound.xreplace({t.prime: p}) - exact, equal=True, positive={"p": p}),)


def _one_cell(bound: Any) -> tuple[Goal, ...]:
    error = (k * _square - _first) + (_square - _first)
    return (
        *proved_by("of one entry", _variance(_OF_ENTRY)),
        *_all_errors(),
        Goal("error", bound - error / _square, given={"first": _first}, positive={"square": _square}),
    )


def _second_round(bound: Any) -> tuple[Goal, ...]:
    error = (_square - _kept) / _square
    return (Goal("error", bound - error, given={"kept": _kept}, positive={"square": _square}),)


def _growth(bound: Any) -> tuple[Goal, ...]:
    after = t.cell_before - t.together * t.cell_before
    return (Goal("counter", bound + after, equal=True),)


def _one_round(bound: Any) -> tuple[Goal, ...]:
    blocks = {"blocks": P * _block - t.rows * t.cells}
    return (Goal("words", bound - 2 * (P - 1) * _block, equal=True, positive={"P": P}, zero=blocks),)


def _two_rounds(bound: Any) -> tuple[Goal, ...]:
    blocks = {"blocks": P * _block - t.rows * t.cells, "blocks of entries": P * _entry_block - t.candidates}
    sent = 2 * (P - 1) * _block + 2 * (P - 1) * _entry_block
    return (Goal("words", bound - sent, equal=True, positive={"P": P}, zero=blocks),)


def _linear(bound: Any) -> tuple[Goal, ...]:
    """A counter of one entry more: `s` is its sign, `x` and `y` the entry of either vector."""
    before = _u * _first + _v * _kept - _sums
    after = _u * (_first + _s * _x) + _v * (_kept + _s * _y) - (_sums + _s * (_u * _x + _v * _y))
    return (Goal("one more entry", bound + after, equal=True, zero={"up to here": before}),)


def _median_variance(bound: Any) -> tuple[Goal, ...]:
    q = t.row_off
    row = (_square - t.entry**2) / t.cells
    return (
        *_own_sign(),
        Goal("off as often as one row at most", q - _over_rows(3, q, abs), given=in_range(q)),
        Goal("that of one row", _squared(bound, _square) - row, equal=True, positive=_CELLS),
    )


def _parity(bound: Any) -> tuple[Goal, ...]:
    def mean(chances: dict[int, Any]) -> Any:
        return sp.Add(
            *(
                sorted(errors)[1] * sp.prod([chances[e] for e in errors])
                for errors in itertools.product(chances, repeat=3)
            )
        )

    def errors(count: int) -> dict[int, Any]:
        """The sum of all signs but the entry's own, times that; the product of all is one."""
        found: dict[int, Any] = {}
        for signs in itertools.product((1, -1), repeat=count - 1):
            if sp.prod(signs) == 1:  # the entry's own is +1
                found[sum(signs)] = found.get(sum(signs), 0) + sp.Rational(1, 2 ** (count - 2))
        return found

    return tuple(
        Goal(f"{count} entries", bound.subs(n, count) - sp.Abs(mean(errors(count))), equal=True) for count in (4, 6)
    )


def _one_entry(bound: Any) -> tuple[Goal, ...]:
    """Half of the error is the probability that one of the zeros, one less than entries, shares the counter."""
    zeros = sp.Symbol("zeros", nonnegative=True)
    own, missed, false = sp.symbols("own missed false", real=True)
    at = bound.subs(n, zeros + 1)
    longer = at.subs(zeros, zeros + 1) / 2
    free = (1 - 1 / t.cells) * (1 - at / 2)
    return (
        Goal("no zero", at.subs(zeros, 0), equal=True, positive=_CELLS),
        Goal("one more zero", longer - (1 - free), equal=True, positive=_CELLS),
        Goal("shared, or not", mean(((at / 2, missed + false), (1 - at / 2, sp.S.Zero))) - at * own**2, equal=True,
             zero={"the entry is missed": missed - (own - 0) ** 2, "a zero is taken for it": false - (0 - own) ** 2}),
    )  # fmt: skip


def _level_exact(bound: Any) -> tuple[Goal, ...]:
    """`alone` is the probability that no smaller one shares the cell of one row."""
    power: Any = (1 - 1 / t.cells) ** t.smaller
    at = bound.xreplace({power: _alone})
    more = at.subs(t.rows, t.rows + 1) - (1 - (1 - at) * (1 - _alone))
    return (
        Goal("no smaller one", power.subs(t.smaller, 0) - 1, equal=True, positive=_CELLS),
        Goal(
            "one more of them",
            power.subs(t.smaller, t.smaller + 1) - (1 - 1 / t.cells) * power,
            equal=True,
            positive=_CELLS,
        ),
        Goal("one row", at.subs(t.rows, 1) - _alone, equal=True),
        Goal("one more row", more, equal=True),
    )


def _level_under(bound: Any) -> tuple[Goal, ...]:
    least = {"its own level is in every of its cells": t.level - _missed}
    return (Goal("the least of a cell", bound - _missed, given=least),)


def _conserves(bound: Any) -> tuple[Goal, ...]:
    """One counter: sums of what came, what is kept and what was sent."""
    before = _sums - _unsent - _sent
    after = (_sums + _gradient) - (_unsent + _gradient - _update) - (_sent + _update)
    return (Goal("one more step", bound + after, equal=True, zero={"up to here": before}),)


def _same(bound: Any) -> tuple[Goal, ...]:
    """One counter, `x`, and the sign of the entry that is recovered of it, `s`."""
    signs = {"a sign": _s**2 - 1}
    return (Goal("a counter", bound + _x - _s * (_s * _x), equal=True, zero=signs),)


MODELS = by_claim(
    Model(
        claim="sketched.hashes.collision",
        words="p = whole c + rest. Pairs of values modulo p are uniform, as pairs of coefficients are; of the c "
        "classes modulo c, rest have whole + 1 values and the others whole.",
        scope="every prime p, every c",
        goals=_collision,
    ),
    Model(
        claim="sketched.hashes.sign_mean",
        words="p = 2 half + 1: half + 1 residues are even, sign -1, and half are odd; the value is uniform.",
        scope="every odd prime",
        goals=_sign_mean,
    ),
    Model(
        claim="sketched.hashes.sign_pair",
        words="p = 2 half + 1. Values of a random cubic at two places are independent and uniform.",
        scope="every odd prime",
        goals=_sign_pair,
    ),
    Model(
        claim="sketched.table.norm",
        words="`square` is the squared norm of the entries before, `added` that of one more: as its sign is "
        "independent of all others, it adds its square to its counter's. Induction; then over the counters.",
        scope="every vector, every c; exact arithmetic",
        goals=_norm,
    ),
    Model(
        claim="sketched.row.variance",
        words="`square` is the squared norm of the entries before, `added` the square of one more, which with "
        "probability 1/c shares the counter; its sign is independent. Induction on the other entries.",
        scope="every vector, every c; exact arithmetic",
        goals=_variance,
    ),
    Model(
        claim="sketched.row.variance_bound",
        words="`square` is the squared norm; the error is that of sketched.row.variance.",
        scope="every vector, every c; exact arithmetic",
        goals=_variance_bound,
        checked_by=("sketched.row.variance_bound", "sketched.row.variance"),
    ),
    Model(
        claim="sketched.row.error",
        words="`square` is the squared norm; the errors of sketched.row.variance are added up over the entries.",
        scope="every vector but zero, every n and c; exact arithmetic",
        goals=_error,
        checked_by=("sketched.row.error", "sketched.row.variance"),
    ),
    Model(
        claim="sketched.row.tail",
        words="`square` is the squared norm, `chance` that of being off: the mean of the squared error is at least the "
        "level times it, outcome by outcome; goals of sketched.row.variance show its mean.",
        scope="every vector but zero, every c, every positive tolerance; exact arithmetic",
        goals=_row_tail,
        checked_by=("sketched.row.tail", "sketched.row.variance"),
    ),
    Model(
        claim="sketched.median.tail",
        words=_BY_SYMMETRY
        + "A row is off to either side with half of q. The median is off where the middle one of the "
        "rows is: summed over all 3^r cases.",
        scope="every vector but zero, every c and tolerance, r in {r}; exact arithmetic",
        goals=_tail,
        instances=({"r": 1}, {"r": 3}, {"r": 5}),
    ),
    Model(
        claim="sketched.median.of_three",
        words=_BY_SYMMETRY + "With one other entry an error is it, its negative or zero, with probabilities 1/(2 c), "
        "1/(2 c) and 1 - 1/c: summed over all 27 cases.",
        scope="every vector of two entries, every c; exact arithmetic",
        goals=_of_three,
    ),
    Model(
        claim="sketched.median.lower_bias",
        words=_BY_SYMMETRY + "With one other entry an error is it, its negative or zero, with probabilities 1/(2 c), "
        "1/(2 c) and 1 - 1/c: the mean of the smaller of two, over all 9 cases, is negative.",
        scope="every vector of two entries, every c; exact arithmetic",
        goals=_lower,
    ),
    Model(
        claim="sketched.recovery.one_cell",
        words="All estimates have the counter's magnitude, so the first k are kept: `first` is the sum of their "
        "squares, `square` that of all. The error of each is the square of all others, as in sketched.row.variance.",
        scope="every vector but zero, every k <= n, one counter; exact arithmetic",
        goals=_one_cell,
        checked_by=("sketched.recovery.one_cell", "sketched.row.variance"),
    ),
    Model(
        claim="sketched.recovery.second_round",
        words="`kept` is the sum of the squares of the entries kept, which are exact, `square` that of all.",
        scope="every sum but zero, every sketch, k and K; exact arithmetic",
        goals=_second_round,
    ),
    Model(
        claim="sketched.fetchsgd.growth",
        words="The counter, its sign taken as positive, less the estimate of each of the h recovered entries, which is "
        "the counter with the entry's sign, times that sign; h >= 1, so what is left is not positive.",
        scope="every sketch of one row, every h >= 1; exact arithmetic",
        goals=_growth,
    ),
    Model(
        claim="sketched.words.one_round",
        words="A ring all-reduce takes 2 (P - 1) steps, in each of which a rank sends a block of r c/P words.",
        scope="every P, r and c such that P divides r c",
        goals=_one_round,
    ),
    Model(
        claim="sketched.words.two_rounds",
        words="Two ring all-reduces, of blocks of r c/P and of K/P words.",
        scope="every P, r, c and K such that P divides r c and K",
        goals=_two_rounds,
    ),
    Model(
        claim="sketched.table.linear",
        words="A counter of `first` and `kept`, of either vector, and of their combination, `sums`, before one more "
        "entry. Induction on the entries.",
        scope="every two vectors and factors, every sketch; exact arithmetic",
        goals=_linear,
    ),
    Model(
        claim="sketched.median.variance",
        words=_BY_SYMMETRY + "For every number, the middle one of three rows has at least this error at most as often "
        "as one row: so is the mean square, an integral over these probabilities.",
        scope="every vector, every c; exact arithmetic",
        goals=_median_variance,
        checked_by=("sketched.median.variance", "sketched.row.variance"),
    ),
    Model(
        claim="sketched.median.parity",
        words="Errors of a row, with their probabilities, over all signs whose product is one; the mean of the middle "
        "one of three, over all cases.",
        scope="four and six ones in one counter; exact arithmetic",
        goals=_parity,
    ),
    Model(
        claim="sketched.recovery.one_entry",
        words="If a zero shares the entry's counter, the first such zero is recovered, and the error is the entry's "
        "square twice; else none. Induction on the zeros.",
        scope="every entry but zero, every number of zeros before it, every c; exact arithmetic",
        goals=_one_entry,
    ),
    Model(
        claim="sketched.minmax.under",
        words="`missed` is what is recovered: of some row the least level of the entry's cell, where its own is, too.",
        scope="all levels, every sketch",
        goals=_level_under,
    ),
    Model(
        claim="sketched.minmax.exact",
        words="A row is exact where no smaller one shares the cell. Rows are independent, and so are entries of a row: "
        "induction on either.",
        scope="every number of smaller levels, every r and c",
        goals=_level_exact,
    ),
    Model(
        claim="sketched.fetchsgd.conserves",
        words="A counter: `sums` of all gradients' sketches, `unsent` and `sent` of all updates, before a step. "
        "Induction.",
        scope="all gradients, every sketch, every k; exact arithmetic",
        goals=_conserves,
    ),
    Model(
        claim="sketched.fetchsgd.same",
        words="A recovered entry, alone in its counter, is the counter times its sign, whose sketch is the counter: "
        "what is subtracted leaves zero. What a step begins with is the same, by induction on the steps.",
        scope="all gradients, every sketch of one row, every k, every number of steps; exact arithmetic",
        goals=_same,
    ),
)

EXTENTS = extents(
    "sketched",
    {
        (): (
            "hashes.collision hashes.sign_pair recovery.one_entry fetchsgd.same fetchsgd.growth minmax.exact "
            "row.variance_bound row.variance row.error recovery.one_cell median.lower_bias median.of_three median.tail "
            "row.tail"
        ),
        (Step.LIMIT,): "median.variance",
    },
    by_definition="recovery.second_round words.one_round words.two_rounds",
    every_case="median.tail",
)
