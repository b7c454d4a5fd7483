"""What certificates prove of sums of table numbers, of roundings hop after hop, and of shared microexponents."""

from typing import Any

import sympy as sp

from commbounds.theory.blockformats.adaptive import microdigits
from commbounds.theory.blockformats.hops import (
    bothgaps,
    cutplace,
    finestep,
    halvings,
    hopgrowth,
    hopnoise,
    tablenoise,
    tableroom,
)
from commbounds.theory.blockformats.models_blocks import named
from commbounds.theory.blockformats.terms import elementbits
from commbounds.theory.finite_laws import (
    kept_products,
    mean,
    over_all,
    over_histories,
    proved_by,
    relative_errors,
    share_of_squares,
    square_with_noise,
)
from commbounds.theory.model import Goal, in_range
from commbounds.theory.quantities import P, block, n

_below, _above, _before, _after, _noise = sp.symbols("below above before after noise", nonnegative=True)
_share, _place, _gap, _fine, _part = sp.symbols("share place gap fine part", nonnegative=True)
_top, _off, _unit, _power, _next = sp.symbols("top off unit power next", nonnegative=True)
_level, _step, _first, _second, _sent, _entry = sp.symbols("level step first second sent entry", real=True)
_factor, _up, _down = sp.symbols("factor up down", nonnegative=True)
_w = hopnoise
_GAP = {"the gap": _below + _above}
_ONE = sp.Integer(1)

# --- tables ----------------------------------------------------------------------------------------------------------


def _table_unbiased(bound: Any) -> tuple[Goal, ...]:
    chance = _below / (_below + _above)
    coarse = (1 - chance) * (_level - _below) + chance * (_level + _above)
    fine = (1 - _part) * (_level - _part * _step) + _part * (_level + (1 - _part) * _step)
    levels = sp.Symbol("levels")
    table = (1 - chance, _level - _below), (chance, _level + _above)
    multiples = (1 - _part, _level - _part * _step), (_part, _level + (1 - _part) * _step)
    return (
        *over_histories("a rank's draw", table, {levels: _level}, levels, positive=_GAP),
        *over_histories("a rank's first draw", multiples, {levels: _level}, levels),
        Goal("to the table", bound + coarse - _level, equal=True, positive=_GAP),
        Goal("to the fine grid", bound + fine - _level, equal=True),
    )


def _table_variance(bound: Any) -> tuple[Goal, ...]:
    chance = _below / (_below + _above)
    one = chance * (1 - chance) * (_below + _above) ** 2
    more = bound.subs(tablenoise, _before + _below * _above) - bound.subs(tablenoise, _before)
    return (
        *square_with_noise(),
        Goal("no rank", bound.subs(tablenoise, 0), equal=True),
        Goal("one more rank", more - one, equal=True, positive=_GAP),
    )


def _nested(bound: Any) -> tuple[Goal, ...]:
    """Places `place` and `place + fine` above the number below, `part` of the way between them."""
    at = _place + _part * _fine
    up = ((1 - _part) * _place + _part * (_place + _fine)) / _gap
    more = bound.subs(tablenoise, _before + at * (_gap - at)) - bound.subs(tablenoise, _before)
    return (
        *square_with_noise(),
        Goal("no rank", bound.subs(tablenoise, 0), equal=True),
        Goal("one more rank", more - up * (1 - up) * _gap**2, equal=True, positive={"the gap": _gap}),
    )


def _at_a_number(bound: Any) -> tuple[Goal, ...]:
    down, up = cutplace * finestep, (1 - cutplace) * finestep
    lower, higher = (1 - cutplace) * down / _below, cutplace * up / _above
    positive = {"below": _below, "above": _above}
    moved = ((lower, -_below), (higher, _above), (1 - lower - higher, sp.S.Zero))
    squares = mean(tuple((chance, move**2) for chance, move in moved))
    return (
        Goal("both stages: the mean", mean(moved), equal=True, positive=positive),
        Goal("both stages", bound.subs(bothgaps, _below + _above) - squares, equal=True, positive=positive),
    )


def _even_sums(bound: Any) -> tuple[Goal, ...]:
    same = {"one sum of indices": _first - _second}
    return (Goal("one sum of numbers", bound + _step * _first - _step * _second, equal=True, zero=same),)


def _beyond(bound: Any) -> tuple[Goal, ...]:
    squares = {"their squares": 1 - tableroom**2 * _share}
    return (
        *kept_products(),
        *over_all(lambda squares, far: squares - tableroom**2 * far, (_entry**2, _ONE), case="far entries: "),
        Goal("share", bound - _share, given=squares, positive={"range": tableroom}),
    )


# --- hops ------------------------------------------------------------------------------------------------------------


def _thinning() -> tuple[Goal, ...]:
    """That a rounding, of what is kept with probability 1/(1 + w), adds w times the square, whatever is rounded."""
    kept, positive, mean = 1 / (1 + _w), {"1 + w": 1 + _w}, sp.Symbol("mean")
    squares = (kept, (_sent / kept) ** 2), (1 - kept, sp.S.Zero)
    values = (kept, _sent / kept), (1 - kept, sp.S.Zero)
    return (
        *over_histories("a rounding's square", squares, {mean: _sent**2}, (1 + _w) * mean, positive=positive),
        *over_histories("a rounding", values, {mean: _sent}, mean, positive=positive),
        *square_with_noise(),
    )


def _hop_unbiased(bound: Any) -> tuple[Goal, ...]:
    kept = 1 / (1 + _w)
    return (Goal("a rounding", bound + kept * (_sent / kept) - _sent, equal=True, positive={"1 + w": 1 + _w}),)


def _ring_law(bound: Any) -> tuple[Goal, ...]:
    def arrived(ranks: Any) -> Any:
        """The variance of what arrives, before it is rounded."""
        return (bound.subs(P, ranks) - _w * ranks**2) / (1 + _w)

    positive = {"w": _w, "1 + w": 1 + _w}
    return (
        *_thinning(),
        Goal("one rank", arrived(_ONE), equal=True, positive=positive),
        Goal("one more", arrived(P + 1) - (1 + _w) * arrived(P) - _w * P**2, equal=True, positive=positive),
    )


def _butterfly_law(bound: Any) -> tuple[Goal, ...]:
    def arrived(times: Any) -> Any:
        return (bound.subs(halvings, times) - _w * 4**times) / (1 + _w)

    positive = {"1 + w": 1 + _w, "w is not two": (2 - _w) ** 2}
    step = arrived(halvings + 1) - (2 + _w) * arrived(halvings) - _w * 4**halvings
    return (
        *_thinning(),
        Goal("one rank", arrived(sp.Integer(0)), equal=True, positive=positive),
        Goal("twice as many", step, equal=True, positive=positive),
    )


def _butterfly_bounded(bound: Any) -> tuple[Goal, ...]:
    """`power` is ((2 + w)/4)^L."""
    share = _w + _w * (1 + _w) * (1 - _power) / (2 - _w)
    given = {"w": _w, "1 + w": 1 + _w, "power": _power}
    law = 4**halvings * _w + _w * (1 + _w) * (4**halvings - (2 + _w) ** halvings) / (2 - _w)
    return (
        *proved_by("law", _butterfly_law(law)),
        Goal("below the limit", bound - share, given=given, positive={"2 - w": 2 - _w}),
    )


def _mxfp4_ring(bound: Any) -> tuple[Goal, ...]:
    each = bound.subs(hopgrowth, 1)
    grown = sp.Rational(25, 24) * _noise + _next
    square, own = sp.symbols("square own_variance", nonnegative=True)
    return (
        *(
            Goal(f"between {c} and {d}", each * _entry**2 - (_entry - c) * (d - _entry), hints=(_entry - middle,))
            for c, d, middle in ((3, 4, sp.Rational(84, 25)), (4, 6, sp.Rational(24, 5)))
        ),
        *share_of_squares("outcomes of a rounding"),
        *square_with_noise(),
        Goal("a rounding", (1 + each) * _before + each * _next - _after, given={"its variance": each * square - own},
             zero={"independent": _after - _before - own, "what arrived": square - _next - _before}),
        Goal("no rank", bound.subs(hopgrowth, 0), equal=True),
        Goal(
            "one more rank",
            bound.subs(hopgrowth, grown) - _after,
            given={
                "up to here": bound.subs(hopgrowth, _noise) - _before,
                "a rounding": (1 + each) * _before + each * _next - _after,
            },
        ),
    )  # fmt: skip


def _hop_bytes(bound: Any) -> tuple[Goal, ...]:
    each = elementbits / 8 + 1 / block
    ring = 2 * (P - 1) * (n / P) * each
    ranks = {"ranks": _power, "block": block}
    halved = bound.subs(P, 2 * _power) - bound.subs(P, _power) - 2 * (n / (2 * _power)) * each
    return (
        Goal("a ring", bound - ring, equal=True, positive={"P": P, "block": block}),
        Goal("one rank", bound.subs(P, 1), equal=True, positive={"block": block}),
        Goal("twice as many by halves", halved, equal=True, positive=ranks),
    )


def _nearest_error(bound: Any) -> tuple[Goal, ...]:
    """`up` and `down` are 6/5 and 3/4 to the power of the roundings, one more than halvings."""
    (alone,) = (argument for argument in bound.args if not argument.has(halvings))
    (grown,) = (argument for argument in bound.args if argument.has(halvings))
    (power,) = grown.atoms(sp.Pow)
    most, up, down = grown.xreplace({power: _up}), sp.Rational(6, 5), sp.Rational(3, 4)
    more = {"up": _up - up**2, "down": down**2 - _down}
    return (
        *relative_errors(),
        Goal("the power at first", power.subs(halvings, 0) - up, equal=True),
        Goal("one more", power.subs(halvings, halvings + 1) - up * power, equal=True),
        Goal("one rounding up", alone - (up - 1)),
        Goal("one rounding down", alone - (1 - down)),
        Goal("two roundings", up**2 + down**2 - 2),
        Goal("and more", up * _up + down * _down - 2, given={"up to here": _up + _down - 2, **more}),
        Goal("an entry grows", most - (_factor - 1), given={"at most": _up - _factor}),
        Goal("an entry shrinks", most - (1 - _factor), given={"at least": _factor - _down, "both": _up + _down - 2}),
    )


def _micro_maximum(bound: Any) -> tuple[Goal, ...]:
    share = bound.xreplace({2**-microdigits: _unit})
    return (
        Goal("rounded", share * _top - _off, given={"half a step": _unit - _off, "top": _top - 1, "unit": _unit}),
        Goal("cut off", share * _top - (_top - 2 + 2 * _unit), given={"top": 2 - _top, **in_range(_unit)}),
    )


HOPS = (
    named(
        "table.unbiased",
        "A level is `below` above one number and `above` below the next; in two stages it is `part` of a step above "
        "one multiple, and that becomes a number likewise. Ranks add up.",
        "every table, every number of steps and of ranks, all levels in the range",
        _table_unbiased,
    ),
    named(
        "table.variance",
        "A level is `below` above one number and `above` below the next. Ranks are independent: one more of them.",
        "every table, every number of ranks, all levels in the range",
        _table_variance,
    ),
    named(
        "table.two_stages_nested",
        "In one gap of the table, the multiples lie `place` and `place` + `fine` above its lower end, and the level "
        "`part` of the way between them. What it becomes is either end. Ranks are independent.",
        "every table, every fine step that divides its gaps, every number of ranks, all levels in the range",
        _nested,
    ),
    named(
        "table.at_a_number",
        "`below` and `above` are the gaps before and after the number. The first stage takes it down or up to a "
        "multiple, and the second takes that to the number before it, or after it, with the share of the gap as its "
        "chance, or back: three outcomes.",
        "every table, every fine step that is at most the gaps, every number of the table but the ends",
        _at_a_number,
    ),
    named(
        "table.index_sums_of_even",
        "Numbers are `step` times their indices; `first` and `second` are sums of indices of all ranks.",
        "every number of ranks, every such table",
        _even_sums,
    ),
    named(
        "table.beyond",
        "Rotations keep the squared norm: d times the mean square, of which a share of the entries has t^2 each.",
        "every vector but zero, every rotation, every range",
        _beyond,
    ),
    named(
        "multihop.unbiased",
        "What is sent is kept with probability 1/(1 + w), over which it is divided: given what was sent before, its "
        "mean is what arrived. Induction over the hops.",
        "all entries, every number of ranks, either way, every w",
        _hop_unbiased,
    ),
    named(
        "multihop.ring_law",
        "A rounding of what arrived, of variance V and mean S, adds w (V + S^2); then an entry is added. Induction "
        "over the ranks, and one rounding more.",
        "every number of ranks, every w",
        _ring_law,
    ),
    named(
        "multihop.butterfly_law",
        "One of two independent partial sums of variance V, each of P/2 entries, is rounded. Induction over the "
        "halvings, and one rounding more.",
        "every number of halvings, every w but 2",
        _butterfly_law,
    ),
    named(
        "multihop.butterfly_bounded",
        "The law that goals of blockformats.multihop.butterfly_law show, over 4^L, with ((2 + w)/4)^L as `power`.",
        "every number of halvings, every w below 2",
        _butterfly_bounded,
    ),
    named(
        "multihop.mxfp4_ring",
        "`entry` is what arrived, in units of its scale: between 3 and 6. Up to `before` of variance, `after` after "
        "one more rank and rounding, over the square of an entry; `next` is the square of the number of ranks.",
        "every number of ranks, every entry whose sums have scales in E8M0",
        _mxfp4_ring,
    ),
    named(
        "multihop.bytes",
        "Round a ring P - 1 parts are sent twice. By halves n/2, n/4, ... entries are: `power` ranks, and twice as "
        "many.",
        "every number of ranks (a power of two, by halves), every length of whole blocks and bytes",
        _hop_bytes,
    ),
    named(
        "multihop.nearest_error",
        "A rounding multiplies with a number between 3/4 and 6/5, so that an entry is multiplied by `factor`, between "
        "the powers `down` and `up` of these. The error is at most the sum of |factor - 1| times magnitudes.",
        "all entries whose sums have scales in E8M0, every number of halvings",
        _nearest_error,
    ),
    named(
        "microexponents.maximum",
        "The largest entry in units of its power of two, `unit` = 2^-m, half of its step; next to two it is cut off a "
        "step below.",
        "every vector whose blocks have normal largest entries, every number of digits, every block",
        _micro_maximum,
    ),
)
