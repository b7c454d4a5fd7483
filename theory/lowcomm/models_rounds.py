"""What certificates prove of workers that drift apart, of merges, of compensation that is kept, and of codes."""

from collections.abc import Callable
from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import (
    about_means,
    against_others,
    at_most_each,
    orthonormal_parts,
    over_all,
    proved_by,
    share_of_squares,
    square_with_noise,
    uncorrelated,
)
from commbounds.theory.lowcomm.kept import keptstep
from commbounds.theory.lowcomm.terms import (
    amplitude_senders,
    blendweight,
    decay,
    fresh,
    heavytokens,
    localsteps,
    outerrounds,
    quorum,
    retained,
)
from commbounds.theory.model import Goal, Model, cases, recurrence, vectors
from commbounds.theory.quantities import P, chunk, k, n

Goals = Callable[[Any], tuple[Goal, ...]]

_half = sp.Rational(1, 2)
_x, _mean, _anchor, _left, _e, OWED, _rho, _rest = sp.symbols("x mean anchor left e owed rho rest", real=True)
_D, _S, _M, _q, _size, _average = sp.symbols("D S M q size average", nonnegative=True)
_vector, _more = vectors("vector more")
_ranks = {"P": P}

# --- workers apart ---------------------------------------------------------------------------------------------------


def _blend(bound: Any) -> tuple[Goal, ...]:
    after, centre = (blendweight * v + (1 - blendweight) * _anchor for v in (_x, _mean))
    one = Goal("an entry", bound * (_x - _mean) ** 2 - (after - centre) ** 2, equal=True)
    return one, *share_of_squares("entries", equal=True)


def _one_curvature(bound: Any) -> tuple[Goal, ...]:
    average = (_left * bound + 1 + _left * (bound - 1)) / 2
    return (Goal("a fixed point", average - bound, equal=True),)


_NOISE = *about_means(), *uncorrelated(sp.S.One), *square_with_noise()
"""What independent noises add to the workers' distances from their average."""


def _spread(bound: Any) -> tuple[Goal, ...]:
    flat, curved = cases(sp.piecewise_fold(bound), sp.Eq(retained**2, 1))
    noise, powers = 1 - 1 / P, {"q^2 is not one": (1 - retained**2) ** 2}
    first, step = recurrence(curved, localsteps, noise, lambda spread, _: retained**2 * spread + noise, start=1)
    return (
        *_NOISE,
        Goal("one step", first.show, equal=True, positive={**_ranks, **powers}),
        Goal("one step more", step.show, equal=True, positive={**_ranks, **powers}),
        Goal("one step, q^2 = 1", flat.subs(localsteps, 1) - noise, equal=True, positive=_ranks),
        Goal("one step more, q^2 = 1", flat.subs(localsteps, localsteps + 1) - flat - noise, equal=True,
             positive=_ranks),
    )  # fmt: skip


def _spread_bound(bound: Any) -> tuple[Goal, ...]:
    noise = 1 - 1 / P
    given = {"up to here": bound - _S, "q^2 <= 1": 1 - retained**2, "S": _S}
    return (
        *_NOISE,
        Goal("one step", bound.subs(localsteps, 1) - noise, positive=_ranks),
        Goal(
            "one step more",
            bound.subs(localsteps, localsteps + 1) - retained**2 * _S - noise,
            given=given,
            positive=_ranks,
        ),
    )


def _apart(bound: Any) -> tuple[Goal, ...]:
    """A worker that is `size` from the start at most, and its next step; the mean square S, and the mean's square M."""
    return (
        *about_means(),
        *at_most_each("workers", localsteps**2, P, P * _S, {"P": P}),
        Goal(
            "a step",
            (_size + 1) ** 2 - (_vector + _more) ** 2,
            given={"up to here": _size**2 - _vector**2, "a gradient": 1 - _more**2},
            positive={"size": _size},
            vectors=(_vector, _more),
            hints=(_vector - _size * _more,),
        ),
        Goal(
            "about the average",
            bound - (_S - _M),
            given={"from the start": localsteps**2 - _S, "M": _M, "H^2": localsteps**2},
        ),
    )


# --- merges and pairs ------------------------------------------------------------------------------------------------


def _equal_tokens(bound: Any) -> tuple[Goal, ...]:
    return (Goal("weight", bound - quorum / P / quorum, equal=True, positive={**_ranks, "K": quorum}),)


def _expected_divisor(bound: Any) -> tuple[Goal, ...]:
    tokens = P + heavytokens - 1
    weight = quorum / P * heavytokens / (tokens * quorum / P)
    return (Goal("weight", bound - weight, equal=True, positive={**_ranks, "K": quorum, "tokens": tokens}),)


# --- residuals and compensation --------------------------------------------------------------------------------------


def _residual(bound: Any) -> tuple[Goal, ...]:
    """In units of the largest change; q^2 of what is offered is left at most."""
    most, r = bound.subs(k, chunk * (1 - _q**2)), sp.Symbol("r", positive=True)
    sizes = {"beta q is not one": (1 - decay * _q) ** 2}
    ordered = {"each kept square >= each other": (chunk - k) * _kept - k * _others}
    return (
        *against_others(k, chunk - k, _kept, _others),
        Goal("a chunk", (1 - k / chunk) * (_kept + _others) - _others, given=ordered, positive={"chunk": chunk}),
        *share_of_squares("chunks"),
        Goal("at first", most.subs(outerrounds, 0), equal=True, positive=sizes),
        Goal(
            "a round more",
            most.subs(outerrounds, outerrounds + 1) - _q * (decay * most + 1),
            equal=True,
            positive=sizes,
        ),
        Goal(
            "what is offered",
            (decay * r + 1) ** 2 - (decay * _vector + _more) ** 2,
            given={"the residual": r**2 - _vector**2, "the change": 1 - _more**2, "beta": decay},
            positive={"r": r},
            vectors=(_vector, _more),
            hints=(_vector - r * _more,),
        ),
    )


_WEIGHT = {"phi": fresh, "1 - phi": 1 - fresh}
AVERAGED = (1 - fresh) * _e + fresh * OWED


def compensated(most: Any, later: Any) -> tuple[Goal, ...]:
    """That the compensation stays within `later` in one more round, where it was within `most`: on either side."""
    return tuple(
        Goal(
            name,
            later - sign * AVERAGED,
            given={**_WEIGHT, "up to here": most - sign * _e, "the newest error": _half - sign * OWED},
        )
        for name, sign in (("from above", 1), ("from below", -1))
    )


def _compensation(bound: Any) -> tuple[Goal, ...]:
    return Goal("at first", bound), *compensated(bound, bound)


def _late_whole(bound: Any) -> tuple[Goal, ...]:
    after = sp.Symbol("after", real=True)
    return (
        Goal("what a round adds", (OWED - _e) - (after - _e), equal=True, zero={"a round": after - OWED}),
        *(
            Goal(name, bound - sign * _e, given={"the newest error": _half - sign * _e})
            for name, sign in (("from above", 1), ("from below", -1))
        ),
    )


def _kept_compensation(bound: Any) -> tuple[Goal, ...]:
    """What the average becomes when it is rounded, rho further; from within half a step, and from above that."""
    goals = [
        Goal(
            f"from within half a step, {name}",
            bound - sign * (AVERAGED + _rho),
            given={
                **_WEIGHT,
                "before": _half - sign * _e,
                "the newest error": _half - sign * OWED,
                "rounded": keptstep / 2 - sign * _rho,
            },
        )
        for name, sign in (("above", 1), ("below", -1))
    ]
    outside = {**_WEIGHT, "before": _e - _half}
    return (
        *goals,
        Goal("no further than before", _e - AVERAGED, given={**outside, "the newest error": _half - OWED}),
        Goal(
            "not beyond the other end",
            bound + AVERAGED + _rho,
            given={**outside, "the newest error": _half + OWED, "rounded": keptstep / 2 + _rho},
        ),
    )


def _kept_dead(bound: Any) -> tuple[Goal, ...]:
    return tuple(
        Goal(
            f"rounded to zero, {name}",
            keptstep / 2 - sign * ((1 - fresh) * bound + fresh * OWED),
            given={"the newest error": _half - sign * OWED, "phi": fresh, "coarse": keptstep - fresh},
        )
        for name, sign in (("above", 1), ("below", -1))
    )


def _kept_late(bound: Any) -> tuple[Goal, ...]:
    """`average` is the last compensation before it is rounded, `rest` what all roundings before changed."""
    after = sp.Symbol("after", real=True)
    largest = (1 - fresh) * (1 + keptstep) / 2 + fresh / 2
    return (
        Goal("what a round adds", fresh * (OWED - _e) - (after - _rho - _e), equal=True,
             zero={"a round": after - AVERAGED - _rho}),
        Goal("the last average", largest - AVERAGED, given={
            **_WEIGHT, "before": (1 + keptstep) / 2 - _e, "the newest error": _half - OWED}),
        *proved_by("the compensation", _kept_compensation((1 + keptstep) / 2)),
        *over_all(lambda changed, rounds: rounds * keptstep / 2 + changed, (_rho, sp.S.One), case="roundings: "),
        Goal("all rounds", fresh * bound - (_average - _rest), given={
            "the last average": largest - _average, "roundings": (outerrounds - 1) * keptstep / 2 + _rest},
            positive={"phi": fresh}),
    )  # fmt: skip


# --- codes and values ------------------------------------------------------------------------------------------------

_count, _sum, _squares, _value = sp.symbols("count sum squares value", real=True)
_a, _u, _share = sp.symbols("a u share", nonnegative=True)


def _bin_sum(bound: Any) -> tuple[Goal, ...]:
    return (Goal("a bin", bound - (_count * (_sum / _count) - _sum), equal=True, positive={"count": _count}),)


def _bin_energy(bound: Any) -> tuple[Goal, ...]:
    mean = _sum / _count
    kept, lost = _count * mean**2, _squares - 2 * mean * _sum + _count * mean**2
    return (Goal("a bin", bound * _squares - kept - lost, equal=True, positive={"count": _count}),)


def _by_ranks(bound: Any) -> tuple[Goal, ...]:
    average = amplitude_senders * _value / P
    return (Goal("an amplitude", bound * average - amplitude_senders * _value / P, equal=True, positive=_ranks),)


def _by_senders(bound: Any) -> tuple[Goal, ...]:
    average, some = amplitude_senders * _value / P, {**_ranks, "senders": amplitude_senders}
    sent = amplitude_senders * _value / amplitude_senders
    return (Goal("an amplitude", bound * average - sent, equal=True, positive=some),)


def _third(bound: Any) -> tuple[Goal, ...]:
    return (
        Goal("rounded down", bound * _a - (_a - 1), given={"a <= 3/2": sp.Rational(3, 2) - _a}),
        Goal("rounded up", bound * _a - (2 - _a), given={"a >= 3/2": _a - sp.Rational(3, 2)}),
    )


def _three_exponents(bound: Any) -> tuple[Goal, ...]:
    """N - 1 times an entry's error is at most share (N - 1) a^2 + share, with a share of either branch at least.

    An entry between two powers, u and 2 u, is d away from the one that it becomes.
    """
    d, others, least = sp.Symbol("d", nonnegative=True), n - 1, sp.Rational(1, 128)
    branches = sorted(bound.args, key=lambda e: float(e.subs(n, 2)))
    lost, half_way = (_share * bottom - top for top, bottom in map(sp.fraction, map(sp.together, branches)))

    def excess(a: Any, off: Any) -> Any:
        return others * _share * a**2 + _share - others * off**2

    between = {
        "d below u/2": (_u - 2 * d) * (others * _share * _u**2 + _share),
        "u at most 1/2": d * _share * (1 - 4 * _u**2),
        "half-way": d * _u**2 * half_way,
        "concave in d": _u * others * (1 - _share) * d * (_u / 2 - d),
        "squares": (_u - 2 * d) * others * _share * _u**2,
    }
    squares, errors = sp.symbols("squares errors", nonnegative=True)
    added = others * _share * squares + _share * others - others * errors
    return (
        *over_all(lambda off, of, count: others * _share * of + _share * count - others * off,
                  (errors, squares, sp.S.One), case="entries: "),
        Goal("with the largest", others * (_share * (squares + 1) - errors), given={"other entries": added}),
        Goal("becomes zero", excess(_a, _a), given={
            "share": lost, "a <= 1/128": others * (1 - _share) * (least**2 - _a**2)}),
        Goal("becomes 1/64", excess(_a, 2 * least - _a), given={
            "share": lost, "a >= 1/128": others * _share * (_a**2 - least**2),
            "1/64 - a <= 1/128": others * (least**2 - (2 * least - _a) ** 2)}),
        Goal("becomes u", _u * excess(_u + d, d), given=between),
        Goal("becomes 2 u", _u * excess(2 * _u - d, d), given=between),
    )  # fmt: skip


_kept, _others = sp.symbols("kept others", nonnegative=True)


def _amplitudes(bound: Any) -> tuple[Goal, ...]:
    ordered = {"each kept square >= each other": (chunk - k) * _kept - k * _others}
    return (
        *orthonormal_parts(),
        *against_others(k, chunk - k, _kept, _others),
        Goal("a chunk", bound * (_kept + _others) - _others, given=ordered, positive={"chunk": chunk}),
        *share_of_squares("chunks"),
    )


_ANY_VALUES = "every number of values, all real values"


def _model(name: str, words: str, scope: str, goals: Goals) -> Model:
    claim = f"lowcomm.{name}"
    return Model(claim, words, scope, goals)


ROUNDS = (
    _model(
        "demo.contraction",
        "In a chunk `kept` is the sum of the amplitudes' k largest squares and `others` that of the rest: (chunk - k) "
        "kept >= k others, by a level between them. What is sent is transformed back, so that the squares of what is "
        "left are `others`, as the transform keeps squares, and those of the momentum kept + others. Summed over the "
        "chunks.",
        "every length, chunks that divide it, every k, every momentum but zero, real arithmetic",
        _amplitudes,
    ),
    _model(
        "streaming.blend",
        "An entry of a worker, `x`, and of the average, `mean`, become b x + (1 - b) anchor, where the new `anchor` is "
        "the same for all; squares are added up.",
        "every number of workers, every length of fragments, all real parameters, every b",
        _blend,
    ),
    _model(
        "local.one_curvature",
        "`left` is q^H of both workers, whose minima are at 0 and 1: they end at left x and 1 + left (x - 1).",
        "every number of steps, every contracting step",
        _one_curvature,
    ),
    _model(
        "local.spread",
        "In units of gamma sigma, of a worker's distance from the average: a step multiplies it by q, and adds "
        "independent noise of variance 1 - 1/P about the average's. Induction over the steps.",
        "every P, every number of steps, every real q",
        _spread,
    ),
    _model(
        "local.spread_bound",
        "`S` is the variance of lowcomm.local.spread up to here, of which a step leaves q^2. Induction over the steps.",
        "every P, every number of steps, every q in [-1, 1]",
        _spread_bound,
    ),
    *(
        _model(
            f"local.{name}",
            "In units of gamma G: a worker is `size` from the start at most, and `more` is its next step; so after H "
            "steps no worker is further than H. `S` is the mean of the squared distances from the start and `M` that "
            "of the average: about the average they have the mean square S - M.",
            "every dimension, every P, every number of steps, all gradients of norm G at most, a constant step size",
            _apart,
        )
        for name in ("drift_bound", "drift_sharp")
    ),
    _model(
        "quorum.equal_tokens",
        "All quorums of K of P are equally likely, so the worker is in K/P of them, and has then one of K tokens.",
        "every P >= K >= 1",
        _equal_tokens,
    ),
    _model(
        "quorum.expected_divisor",
        "The worker is in K/P of the quorums, and has then w over K/P of all P + w - 1 tokens.",
        "every P >= K >= 1, every w",
        _expected_divisor,
    ),
    _model(
        "sparseloco.residual",
        "In units of the largest change M: a residual e of norm at most r and a change c make beta e + c, of norm beta "
        "r + 1 at most. Top-K of every chunk leaves at most q^2 = 1 - k/chunk of its square: "
        "`kept` against `others`. Induction over the rounds.",
        "every length, chunks that divide it, every k, every beta with beta q other than one, every number of rounds",
        _residual,
    ),
    _model(
        "loco.compensation",
        "In steps: the compensation `e` becomes (1 - phi) e + phi owed, where the newest error, `owed`, is half a step "
        "at most. Induction over the rounds, from zero.",
        "every number of rounds, every weight phi up to 1, all gradients for which no code is cut off, real arithmetic",
        _compensation,
    ),
    _model(
        "loco.late_ef14",
        "As lowcomm.loco.compensation with phi = 1: the compensation becomes `owed`, and g - sent = owed - e adds up "
        "to the last compensation.",
        "every number of rounds, all gradients for which no code is cut off, real arithmetic",
        _late_whole,
    ),
    _model(
        "loco.kept_compensation",
        "As lowcomm.loco.compensation, and the average is rounded, by `rho`, to a multiple of kappa. From within half "
        "a step it goes kappa/2 beyond that at most. From above half a step, a multiple of kappa, the average is not "
        "further from zero on that side, and what is rounded to nearest passes no multiple of kappa. Likewise from "
        "below. Induction over the rounds, from zero.",
        "every number of rounds, every weight phi up to 1, every kappa, all gradients for which no code is cut off and "
        "the eight bits suffice, real arithmetic",
        _kept_compensation,
    ),
    _model(
        "loco.kept_dead",
        "The average of the compensation, zero up to here, and phi times the newest error is kappa/2 at most: it is "
        "rounded to zero, as ties are. Induction over the rounds.",
        "every number of rounds, every kappa >= phi, all gradients for which no code is cut off, real arithmetic",
        _kept_dead,
    ),
    _model(
        "loco.kept_late_rounds",
        "A round adds phi (owed - e) to phi times what is late, which is what the compensation changes by before it is "
        "rounded. In all that is the last average before it is rounded, `average`, less all roundings before it, "
        "`rest`, of which there are T - 1, of kappa/2 at most; the compensation before it is (1 + "
        "kappa)/2 at most, as goals of lowcomm.loco.kept_compensation show. Likewise with the other sign.",
        "every number of rounds, every weight phi up to 1, every kappa for which eight bits suffice, all gradients for "
        "which no code is cut off, real arithmetic",
        _kept_late,
    ),
    _model(
        "binned.sum",
        "A bin has `count` values, which add up to `sum`; each becomes sum/count. Added up over the bins.",
        _ANY_VALUES,
        _bin_sum,
    ),
    _model(
        "binned.energy",
        "As lowcomm.binned.sum; the squares of the values add up to `squares`. Added up over the bins.",
        _ANY_VALUES,
        _bin_energy,
    ),
    _model(
        "demo.by_ranks",
        "s workers send `value`; the sum is divided by P, and the average of the messages is s/P times it.",
        "every P >= s >= 1, every value but zero",
        _by_ranks,
    ),
    _model(
        "demo.by_senders",
        "s workers send `value`; the sum is divided by s, and the average of the messages is s/P times it.",
        "every P >= s >= 1, every value but zero",
        _by_senders,
    ),
    _model(
        "e3m0.relative_above",
        "In units of the power of two below it an entry is a, from 1 to 2, and becomes 1 up to 3/2 and 2 from there "
        "on. Entries of 1/64 of the largest have such powers on both sides.",
        "all vectors of entries that are zero or at least 1/64 of the largest, real arithmetic",
        _third,
    ),
    _model(
        "e3m0.contraction",
        "In units of the largest entry, which is exact. Among n - 1 others, of magnitude a each, those up to 1/128 "
        "become zero, from there to 1/64 they become that, and above they become the nearer one of two powers, u and 2 "
        "u, of which u is at most 1/2: d away, at most u/2. `share` <= 1 is the bound, the larger branch. n - 1 times "
        "the error of each is at most share (n - 1) a^2 + share: added up, the bound times all squares.",
        "every n, every vector but zero, real arithmetic",
        _three_exponents,
    ),
)
