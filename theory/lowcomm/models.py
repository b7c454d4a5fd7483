"""What certificates about low-communication training prove."""

from collections.abc import Mapping
from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import over_all, share_of_squares
from commbounds.theory.lowcomm.models_rounds import AVERAGED, OWED, ROUNDS, compensated
from commbounds.theory.lowcomm.terms import (
    arrive_first,
    arrive_second,
    decay,
    fresh,
    heavytokens,
    localsteps,
    outerlr,
    outermu,
    outerrounds,
    pairpull,
    pernode,
    quorum,
    residualsum,
    retained,
    retained_second,
)
from commbounds.theory.model import STAND_IN, Goal, Model, by_claim, extents, recurrence
from commbounds.theory.quantities import P
from commbounds.theory.subset_laws import two_seats

# --- the outer step ----------------------------------------------------------------------------------------------

_g, _m = sp.symbols("g m", real=True)
_FIRST = {"the first momentum is g": _m - _g}


def _gap(bound: Any) -> tuple[Goal, ...]:
    left = _g - outerlr * (_g + outermu * _m)
    return Goal("an entry", bound * _g**2 - left**2, equal=True, zero=_FIRST), *share_of_squares("entries", equal=True)


def _progress(bound: Any) -> tuple[Goal, ...]:
    one = Goal("an entry", bound * _g**2 - outerlr * (_g + outermu * _m) * _g, equal=True, zero=_FIRST)
    return one, *share_of_squares("entries", equal=True)


_FORGETS = {"1 - mu": 1 - outermu}


def _nesterov(bound: Any) -> tuple[Goal, ...]:
    return recurrence(
        bound,
        outerrounds,
        outerlr * (1 + outermu),
        lambda move, _: outerlr + outermu * move,
        start=1,
        positive=_FORGETS,
    )


def _ball(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, outerrounds, outerlr, lambda move, _: outerlr + outermu * move, start=1, positive=_FORGETS)


# --- local steps, merges and pairs -------------------------------------------------------------------------------

_x, _left, _left_second = sp.symbols("x left left_second", real=True)


def _limit(bound: Any) -> tuple[Goal, ...]:
    ends = {retained**localsteps: _left, retained_second**localsteps: _left_second}
    x = bound.xreplace(ends)
    average = (_left * x + 1 + _left_second * (x - 1)) / 2
    moves = {"left < 1": 1 - _left, "left_second < 1": 1 - _left_second}
    return (Goal("a fixed point", average - x, equal=True, positive={**moves, "both": 2 - _left - _left_second}),)


def _share(bound: Any) -> tuple[Goal, ...]:
    there = quorum / P
    return (Goal("weight", bound - there * heavytokens / (heavytokens + quorum - 1), equal=True),)


def _stragglers(bound: Any) -> tuple[Goal, ...]:
    first, second = arrive_first * (1 - arrive_second), arrive_second * (1 - arrive_first)
    somebody = first + second + arrive_first * arrive_second
    ahead = sp.Symbol("ahead", nonnegative=True)
    claimed = bound.xreplace({sp.Abs(arrive_first - arrive_second): ahead})
    off = (first - second) / (2 * somebody)
    arrives = {"somebody arrives": arrive_first + arrive_second - arrive_first * arrive_second}
    return (
        Goal("the first more often", claimed - off, equal=True, positive=arrives,
             zero={"ahead": ahead - arrive_first + arrive_second}),
        Goal("the second more often", claimed + off, equal=True, positive=arrives,
             zero={"ahead": ahead + arrive_first - arrive_second}),
    )  # fmt: skip


_square, _product = sp.symbols("D E", real=True)
_DISTINCT = {"products of distinct ranks": P * (P - 1) * _product + _square}
_SEVERAL = {"P": P, "P > 1": P - 1}


def _kept(pairs: Any, pull: Any) -> Any:
    """What is left of D, where so many pairs of two distinct ranks go so far to their means."""
    within = pairs * (_square / P - _product)
    return _square - pull * (2 - pull) * within


def _of_pairs(claimed: Any, pairs: Any, pull: Any, name: str) -> Goal:
    return Goal(name, claimed * _square - _kept(pairs, pull), equal=True, positive=_SEVERAL, zero=_DISTINCT)


def met() -> tuple[Goal, ...]:
    """That random pairs are of two distinct ranks, whose mean product is E: over all orders of the ranks."""
    products, total = sp.symbols("products total", real=True)
    known = {"of two places": P * (P - 1) * _product - products, "products": products - (total - _square)}
    return (
        *two_seats(P),
        Goal("products of distinct ranks", P * (P - 1) * _product + _square, equal=True,
             zero={**known, "all add up to zero": total}),
    )  # fmt: skip


def _even(bound: Any) -> tuple[Goal, ...]:
    return *met(), _of_pairs(bound, P / 2, sp.Integer(1), "all in pairs")


def _odd(bound: Any) -> tuple[Goal, ...]:
    return *met(), _of_pairs(bound, (P - 1) / 2, sp.Integer(1), "one left over")


def _half_is_left(bound: Any) -> tuple[Goal, ...]:
    left = bound * _square - _kept(P / 2, sp.Integer(1))
    return *_odd(bound), Goal("all in pairs", left, given={"D": _square}, positive=_SEVERAL, zero=_DISTINCT)


def _pulled(bound: Any) -> tuple[Goal, ...]:
    even, odd = (bound.xreplace({sp.Mod(P, 2): sp.Integer(rest)}) for rest in (0, 1))
    return (
        *met(),
        _of_pairs(even, P / 2, pairpull, "all in pairs"),
        _of_pairs(odd, (P - 1) / 2, pairpull, "one left over"),
    )


# --- residuals ---------------------------------------------------------------------------------------------------

_e, _after, _change, _sent = sp.symbols("e after change sent", real=True)
_ROUND = {"a round": _after - decay * _e - _change + _sent}


def _missing(bound: Any) -> tuple[Goal, ...]:
    grown = bound.subs(residualsum, residualsum + _e) - bound
    return (
        Goal("at first", bound.subs(residualsum, 0), equal=True),
        Goal("a round more", grown - ((_change - _sent) - (_after - _e)), equal=True, zero=_ROUND),
    )


def _late(bound: Any) -> tuple[Goal, ...]:
    most = fresh * bound
    later = most.subs(outerrounds, outerrounds + 1)
    return (
        Goal("what a round adds", fresh * (OWED - _e) - (_after - _e), equal=True, zero={"a round": _after - AVERAGED}),
        Goal("at first", most.subs(outerrounds, 0), equal=True),
        *compensated(most, later),
    )


# --- codes -------------------------------------------------------------------------------------------------------

_half = sp.Rational(1, 2)


def _one_hop(bound: Any) -> tuple[Goal, ...]:
    return (Goal("P codes", bound - P * _half, equal=True),)


def _two_hops(bound: Any) -> tuple[Goal, ...]:
    return (Goal("codes and sums", bound - P * _half - P / pernode * pernode * _half, equal=True),)


def _ring(bound: Any) -> tuple[Goal, ...]:
    return (
        *recurrence(bound, P, 0, lambda off, ranks: off + ranks * _half, start=1),
        *over_all(lambda steps, off: _half * steps - off, sp.symbols("ranks off"), case="codes: "),
    )


_WORDS_OF_PAIRS = (
    "About the average, `D` is the sum of the squared distances, and `E` the mean product of those of two distinct "
    "ranks: together with D they add up to the square of zero. Pairs are neighbouring places, which ranks take in any "
    "order: of all `orders` as many have a rank in a place, and of these as many another in the next. A pair has (x_i "
    "- x_j)^2/2 about its mean, D/P - E on average, of which (1 - gamma)^2 is left. "
)

MODELS = by_claim(
    Model(
        claim="lowcomm.diloco.first_round",
        words="An entry of the pseudo-gradient is g, the old anchor less the average; the momentum after the first "
        "round is g. Squares of entries are added up.",
        scope="all real parameters, every step and momentum",
        goals=_gap,
    ),
    Model(
        claim="lowcomm.diloco.progress",
        words="As for the first round; products of entries with the way to the average are added up.",
        scope="all real parameters, every step and momentum",
        goals=_progress,
    ),
    Model(
        claim="lowcomm.diloco.effective_step",
        words="In units of the pseudo-gradient m' = mu m + 1 and a round moves by eta (1 + mu m'); so the next one "
        "moves by eta + mu times as much.",
        scope="every round, every step, every momentum other than one",
        goals=_nesterov,
    ),
    Model(
        claim="lowcomm.diloco.ball_step",
        words="In units of the pseudo-gradient a round moves by eta m', m' = mu m + 1.",
        scope="every round, every step, every momentum other than one",
        goals=_ball,
    ),
    Model(
        claim="lowcomm.local.limit",
        words="`left` and `left_second` are q_1^H and q_2^H. Workers with minima at 0 and 1 end at left x and 1 + "
        "left_second (x - 1); x is the fixed point of their average. The map is affine, with a slope below one.",
        scope="every number of steps, all contracting steps",
        goals=_limit,
    ),
    Model(
        claim="lowcomm.quorum.share",
        words="All quorums of K of P are equally likely, so the worker is in K/P of them, and then has w of w + K - 1 "
        "tokens.",
        scope="every P >= K >= 1, every w",
        goals=_share,
    ),
    Model(
        claim="lowcomm.quorum.stragglers",
        words="Where one arrives alone the merge is off by 1/2 towards it; `ahead` is |p_1 - p_2|: two cases.",
        scope="all probabilities, not both zero",
        goals=_stragglers,
    ),
    Model(
        claim="lowcomm.noloco.even",
        words=_WORDS_OF_PAIRS + "There are P/2 pairs, and gamma = 1.",
        scope="every even P, all real slow weights",
        goals=_even,
    ),
    Model(
        claim="lowcomm.noloco.odd",
        words=_WORDS_OF_PAIRS + "There are (P - 1)/2 pairs, and gamma = 1; the one that is left over stays.",
        scope="every odd P >= 3, all real slow weights",
        goals=_odd,
    ),
    Model(
        claim="lowcomm.noloco.half",
        words=_WORDS_OF_PAIRS + "gamma = 1. Where one is left over one half is left; else no more.",
        scope="every P >= 2, all real slow weights",
        goals=_half_is_left,
    ),
    Model(
        claim="lowcomm.noloco.pull",
        words=_WORDS_OF_PAIRS + "There are P/2 pairs for even P, (P - 1)/2 for odd P.",
        scope="every P >= 2, every pull, all real slow weights",
        goals=_pulled,
    ),
    Model(
        claim="lowcomm.sparseloco.missing",
        words="Sums over the entries: `change` comes in, `sent` goes out, the residual `e` becomes `after`. What is "
        "missing grows by change - sent - (after - e), and the sum of residuals by e. Induction over the rounds.",
        scope="all messages, every decay, every number of rounds",
        goals=_missing,
    ),
    Model(
        claim="lowcomm.demo.missing",
        words="Sums over the entries: `change` is the gradient, `sent` what is transformed back, the momentum `e` "
        "becomes `after`. As for SparseLoCo.",
        scope="all messages, every decay, every number of rounds",
        goals=_missing,
    ),
    Model(
        claim="lowcomm.loco.late",
        words="In steps: `owed` = g + e - sent is the newest error, at most 1/2, and g - sent = owed - e; the "
        "compensation e becomes `after`. So phi times what is late grows as e does, and is e, which the bound's share "
        "of phi holds from above and from below: induction over the rounds, beginning with zero.",
        scope="every number of rounds, every weight 0 < phi <= 1, all gradients for which no code is cut off",
        goals=_late,
    ),
    Model(
        claim="lowcomm.qgz.one_hop",
        words="Each of P codes is off by half a step at most.",
        scope="every P, all vectors of which no code is cut off",
        goals=_one_hop,
    ),
    Model(
        claim="lowcomm.qgz.two_hops",
        words="Each of P codes is off by half a step at most, and each of the codes of P/X sums by half of X steps.",
        scope="every P, every X that divides it, all vectors of which no code is cut off",
        goals=_two_hops,
    ),
    Model(
        claim="lowcomm.qgz.ring",
        words="The code of a sum of h vectors is off by half of h steps at most; for P + 1 ranks there is one more, "
        "for h = P.",
        scope="every P, all vectors of which no code is cut off",
        goals=_ring,
    ),
    *ROUNDS,
)
"""By the claim's name."""

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "lowcomm.local.spread_bound": {"up to here": "one step"},
    **{f"lowcomm.loco.{name}": {"up to here": "at first"} for name in ("compensation", "late")},
    "lowcomm.e3m0.contraction": {"share": STAND_IN, "half-way": STAND_IN},
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""

EXTENTS = extents(
    "lowcomm",
    {
        (): (
            "diloco.effective_step diloco.ball_step local.limit quorum.stragglers loco.compensation loco.late "
            "loco.kept_compensation loco.kept_dead streaming.blend diloco.first_round diloco.progress "
            "local.drift_bound local.drift_sharp qgz.ring e3m0.contraction local.spread local.spread_bound noloco.even "
            "noloco.odd noloco.half noloco.pull demo.contraction sparseloco.residual loco.kept_late_rounds"
        )
    },
)
