"""What certificates prove of blocks that end at 4 or 6, and of sums of table numbers and of codes."""

from itertools import pairwise
from typing import Any

import sympy as sp

from commbounds.theory.blockformats.models_blocks import E2M1, named
from commbounds.theory.finite_laws import over_all, share_of_squares
from commbounds.theory.model import Goal, in_range

_a, _six, _least, _chosen = sp.symbols("a six least chosen", nonnegative=True)
_sum, _code, _scale, _places, _ranks, _index = sp.symbols("sum code scale places ranks index", real=True)
_step = sp.Symbol("step", positive=True)
_OF_SIX, _OF_FOUR = sp.Rational(4119, 6823), sp.Rational(2704, 6823)


def _borders(last: int) -> dict[Any, Any]:
    """By the magnitudes up to which they are the nearest: the elements of a block that ends at `last`, over that."""
    elements = [e for e in E2M1 if e <= last]
    ends = [(a + b) / 2 for a, b in pairwise(elements)] + [sp.Integer(last)]
    return {end / last: element / last for element, end in zip(elements, ends, strict=True)}


def _either(bound: Any) -> tuple[Goal, ...]:
    """What an entry loses, weighed over both ends, between the half-way points of either."""
    six, four = _borders(6), _borders(4)
    ends = sorted({sp.Integer(0), *six, *four})
    goals = []
    for low, high in pairwise(ends):
        near = [next(value for end, value in borders.items() if high <= end) for borders in (six, four)]
        lost = _OF_SIX * (_a - near[0]) ** 2 + _OF_FOUR * (_a - near[1]) ** 2
        goals.append(Goal(f"from {low} to {high}", bound * _a**2 + bound / 15 - lost, given=in_range(_a, low, high)))
    less = {"six": _six - _least, "four": _chosen - _least}
    weighed = _OF_SIX * _six + _OF_FOUR * _chosen - _least
    share, squares, lost, count = sp.symbols("share squares lost count", nonnegative=True)
    entries = share * squares + share / 15 * count - lost
    return (
        Goal("the less of two", weighed, given=less),
        *goals,
        *over_all(lambda of, off, number: share * of + share / 15 * number - off, (squares, lost, sp.S.One),
                  case="entries: "),
        Goal("a block", share * (squares + 1) - lost,
             given={"other entries": entries, "15 at most": 15 - count, "share": share}),
        *share_of_squares("blocks"),
    )  # fmt: skip


def _less_of_two(bound: Any) -> tuple[Goal, ...]:
    return (Goal("a block", bound * _six - _least, given={"the less of two": _six - _least}),)


def _codes(bound: Any) -> tuple[Goal, ...]:
    more = (_sum + _code) * _scale - (_sum * _scale + _code * _scale)
    return (Goal("one more rank", bound - more, equal=True),)


def _tables(bound: Any) -> tuple[Goal, ...]:
    """Of `ranks` table numbers that sum up to `sum`; g = `places`."""

    def read(total: Any, count: Any) -> Any:
        return (2 * total - count * _places) * _step

    more = read(_sum + _index, _ranks + 1) - (read(_sum, _ranks) + read(_index, 1))
    return (Goal("no rank", bound - read(0, 0), equal=True), Goal("one more rank", bound - more, equal=True))


ENDS = (
    named(
        "fouroversix.no_worse",
        "`least` is the less of a block's two errors, of which one is that with 6, `six`. Added up over the blocks.",
        "every n, every block, every x in R^n, in real arithmetic",
        _less_of_two,
    ),
    named(
        "fouroversix.contraction",
        "In units of a block's largest entry, which is exact with 6 and with 4 for its element. `least` is the less of "
        "the two errors, `six` and `chosen` those with 6 and 4: it is at most 4119/6823 of the one and 2704/6823 of "
        "the other. Any other entry a loses at most bound a^2 + bound/15, weighed so, between any two neighbouring "
        "half-way points. With up to 15 of them that is the bound times all squares.",
        "every n, every block of at most 16 entries, every x in R^n but zero whose scales are exact, in real "
        "arithmetic",
        _either,
    ),
    named(
        "homomorphic.sums",
        "A rank more adds `code` to the sum of the codes, and code times `scale` to the sum of what they stand for.",
        "every number of ranks, all codes, every shared scale",
        _codes,
    ),
    named(
        "table.sums",
        "The table numbers of some `ranks` add up to `sum`, and stand for (2 sum - g ranks) times the range over g, g "
        "= `places`; a rank more has the number `index`.",
        "every number of ranks, every table, every range that is shared",
        _tables,
    ),
)
