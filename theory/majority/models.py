"""What certificates about the majority vote prove."""

from collections.abc import Mapping
from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import over_all, proved_by
from commbounds.theory.majority.terms import GAUSS, flip, gauss, inverting, snr, tieloss, vote_error, votebits
from commbounds.theory.model import Goal, Model, Step, by_claim, cases, extents, in_range, recurrence
from commbounds.theory.quantities import P, choose, n

# --- bytes -------------------------------------------------------------------------------------------------------

_full, _over, _left = sp.symbols("full over left", integer=True, nonnegative=True)
_long, _short = sp.symbols("long short", integer=True, nonnegative=True)
_ballot = sp.Symbol("ballot", integer=True, nonnegative=True)
_message = sp.ceiling(votebits * n / 8)
_voters = {"P >= 2": P - 2}


def _worker(bound: Any) -> tuple[Goal, ...]:
    whole, begun = bound.xreplace({_message: _full}), bound.xreplace({_message: _full + 1})
    bits = {"bits": votebits * n - 8 * _full - _over}
    spare = 8 * begun - votebits * n
    return (
        Goal("whole bytes", 8 * whole - votebits * n, equal=True, zero={**bits, "over = 0": _over}),
        Goal("a byte begun: enough", spare, given={"over <= 7": 7 - _over}, zero=bits),
        Goal("a byte begun: none to spare", 7 - spare, given={"over >= 1": _over - 1}, zero=bits),
    )


def _one_more_rank(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound.xreplace({_message: _ballot}), P, 0, lambda sent, _: sent + _ballot, start=1)


def _server(bound: Any) -> tuple[Goal, ...]:
    others = bound.xreplace({_message: _ballot}) - _ballot
    return *_one_more_rank(bound), Goal("a worker sends no more", others, given={"ballot": _ballot, **_voters})


def _shards(bound: Any) -> tuple[Goal, ...]:
    short, over = sp.floor(n / P), sp.Mod(n, P)
    lengths = {sp.ceiling(votebits * (short + 1) / 8): _long, sp.ceiling(votebits * short / 8): _short}
    equal, unequal = (each.xreplace({**lengths, over: _left + 1}) for each in cases(bound, sp.Eq(over, 0)))
    of_long = _left * _long + (P - _left - 1) * _short + (P - 1) * _long
    of_short = (_left + 1) * _long + (P - _left - 2) * _short + (P - 1) * _short
    return (
        *over_all(lambda sent, longs, shorts: sent - _long * longs - _short * shorts, (_long, sp.S.One, sp.S.Zero),
                  case="another longer block: ", equal=True),
        *over_all(lambda sent, longs, shorts: sent - _long * longs - _short * shorts, (_short, sp.S.Zero, sp.S.One),
                  case="another shorter block: ", equal=True),
        Goal("equal blocks", equal - (P - 1) * _short - (P - 1) * _short, equal=True),
        Goal("the owner of a longer block", unequal - of_long, equal=True),
        Goal("the owner of a shorter block", unequal - of_short, given={"a longer message": _long - _short, **_voters}),
    )  # fmt: skip


def _shards_against_ring(bound: Any) -> tuple[Goal, ...]:
    return (Goal("bytes", bound.subs(n, 8 * P * _short) - 2 * (P - 1) * _short, equal=True),)


# --- one worker --------------------------------------------------------------------------------------------------

_half_width, _root = sp.symbols("a w", positive=True)
_three = {"w**2 = 3": _root**2 - 3}


def _branch(expression: Any, number: int) -> Any:
    """An expression with a branch of each Piecewise in it, and w for the root of three."""
    chosen = sp.sympify(expression, strict=True).replace(lambda e: e.is_Piecewise, lambda e: e.args[number].expr)
    return chosen.xreplace({sp.sqrt(3): _root})


def _worker_gauss(bound: Any) -> tuple[Goal, ...]:
    wide, flat = _branch(bound, 0), _branch(bound, 1)
    wrong = (1 - 1 / _half_width) / 2
    mean = sp.Rational(2, 27)
    steep = snr**3 / (12 * _root)
    positive = {"a": _half_width, "S": snr, "w": _root}
    outside = {"a >= 1": _half_width - 1}
    weak = {"S <= 2/w": 2 - _root * snr}
    return (
        Goal(
            "strong signal, wide noise",
            wide + mean * (_half_width**2 - 3 / snr**2) - wrong,
            given=outside,
            positive=positive,
            hints=(2 * _half_width - 3,),
        ),
        Goal("strong signal, narrow noise", wide + mean * (_half_width**2 - 3 / snr**2), positive=positive),
        Goal(
            "weak signal, wide noise",
            flat + steep * (_half_width**2 - 3 / snr**2) - wrong,
            given={**outside, **weak},
            positive=positive,
            zero=_three,
            hints=(_half_width * snr - _root, _half_width * snr * _root - 3),
        ),
        Goal(
            "weak signal, narrow noise",
            flat + steep * (_half_width**2 - 3 / snr**2),
            given=weak,
            positive=positive,
            zero=_three,
        ),
    )


# --- the vote ----------------------------------------------------------------------------------------------------

_at, _below, _before, _claimed = sp.symbols("at below before claimed", nonnegative=True)
_more = sp.Symbol("Q", nonnegative=True)
_odds = {"at": _at, "below": _below, **in_range(tieloss)}
_swing = (1 - tieloss) * _at + tieloss * _below
"""By how much a worker's wrong vote makes the vote's error more probable than his right one."""


def _even_worker(bound: Any) -> tuple[Goal, ...]:
    ways, evenly, beyond = sp.symbols("ways evenly beyond", nonnegative=True)
    just, short = ways * evenly * flip, ways * evenly * (1 - flip)
    claimed = bound.subs(vote_error(P - 1, 0, 0, flip, 0), beyond + just)
    error = beyond + just * flip + (just * (1 - flip) + short * flip) / 2
    return (Goal("the last worker", claimed - error, equal=True),)


def _sharp(bound: Any) -> tuple[Goal, ...]:
    bound = bound.subs(vote_error(P, 0, 0, gauss(snr), tieloss), _claimed)
    fewer, more = _before + flip * _swing, _before + _more * _swing
    given = {"Q >= q": _more - flip, "up to here": bound - more, **_odds}
    return (
        Goal("all workers", bound - _claimed, equal=True),
        Goal("one of them less often", bound - fewer, given=given),
    )


def _half(bound: Any) -> tuple[Goal, ...]:
    error, mirrored, wrong, right, tied = sp.symbols("error mirrored wrong right tied", nonnegative=True)
    more = (_before + (1 - flip) * _swing) - (_before + flip * _swing)
    all_turned = (wrong + tied / 2) + (right + tied / 2) - 1
    given = {"A >= P - A": error - mirrored}
    return (
        Goal("one more inverts", more, given={"q <= 1/2": sp.Rational(1, 2) - flip, **_odds}),
        Goal("all invert", all_turned, equal=True, zero={"outcomes": wrong + right + tied - 1}),
        Goal("at least half", error - bound, given=given, zero={"all invert": error + mirrored - 1}),
    )


_off, _lead, _variance = sp.symbols("off lead variance", nonnegative=True)
_edge, _spread = sp.symbols("e k", nonnegative=True)
_scale = sp.Symbol("R", positive=True)


def _signal() -> tuple[Goal, ...]:
    """That 2 e >= k S for k^2 = q (1 - q) = 1/4 - e^2, by Gauss' bound on q = 1/2 - e, squared."""
    ratio = sp.Symbol("z", positive=True)
    strong, weak = (sp.Rational(1, 2) - _branch(GAUSS, number) for number in (0, 1))
    deviation = {"k**2 = q (1 - q)": _spread**2 + _edge**2 - sp.Rational(1, 4)}
    shown = 4 * _edge**2 - snr**2 * (sp.Rational(1, 4) - _edge**2)
    by_gauss = ratio * _edge - sp.expand(ratio * strong.subs(snr, sp.sqrt(ratio)))
    return (
        Goal(
            "weak signal",
            4 * _edge**2 - snr**2 * _spread**2,
            given={"Gauss": _edge - weak, "e": _edge, "S": snr, "w": _root},
            zero={**_three, **deviation},
        ),
        Goal(
            "strong signal, times z**2",
            ratio**2 * shown.subs(snr, sp.sqrt(ratio)),
            given={"Gauss, times z": by_gauss, "z >= 4/3": 3 * ratio - 4},
        ),
    )


def _cantelli(bound: Any, ahead: Any) -> tuple[Goal, ...]:
    """The vote's bound, where half the votes less the mean of the wrong ones is `ahead` P e."""
    variance, lead = _scale**2 * _spread**2, ahead * _scale**2 * _edge
    tail = (lead**2 * variance + variance**2) / (lead**2 + variance) ** 2
    wrong = (_lead * _off + _variance) ** 2 - (_lead**2 + _variance) ** 2
    total = _spread**2 + (_scale * ahead * _edge) ** 2
    return (
        Goal("a wrong vote", wrong, given={"off >= lead": _off - _lead, "lead": _lead, "variance": _variance}),
        *_signal(),
        Goal(
            "the mean of the squares",
            bound.subs(P, _scale**2) - tail,
            given={"signal": 2 * _edge - _spread * snr, "k": _spread},
            positive={"R": _scale, "S": snr, "(lead**2 + variance)/P": total, "c": ahead},
            hints=(_spread - _scale * ahead * _edge,),
        ),
    )


def _bound(bound: Any) -> tuple[Goal, ...]:
    return _cantelli(bound, sp.Integer(1))


def _inverting(bound: Any) -> tuple[Goal, ...]:
    ahead = sp.Symbol("c", positive=True)
    return _cantelli(bound.subs(inverting, (1 - ahead) * P / 2), ahead)


def _distortion(bound: Any) -> tuple[Goal, ...]:
    size, mean, vote = sp.symbols("y m t", real=True)
    entry = bound * size**2 - (mean * vote - size) ** 2 - 4 * mean * (size - mean)
    given = {"y": size, "m": mean, "t >= -1": 1 + vote, "t <= 1": 1 - vote}
    share, *one = sp.symbols("share square error off")
    return (
        Goal("an entry", entry, given=given, hints=(size - mean, mean)),
        *over_all(lambda squares, errors, off: share * squares - errors - 4 * mean * off, one, case="entries: "),
    )


_plus, _minus, _tied = sp.symbols("plus minus tied", nonnegative=True)
_turned = {"all signs turned": _plus - _minus}


def _drift(bound: Any) -> tuple[Goal, ...]:
    ways = sp.Symbol("ways", nonnegative=True)
    even, odd = (bound.xreplace({sp.Mod(P, 2): sp.Integer(rest)}) for rest in (0, 1))
    patterns = {"ways to tie": _tied * 2**P - ways}
    each = sp.Symbol("chance_of_one", nonnegative=True)
    return (
        *proved_by("patterns of signs", recurrence(2**P, P, 1, lambda patterns, _: patterns + patterns)),
        *over_all(lambda plus, minus: plus - minus, (each, each), case="a pattern and its opposite: ", equal=True),
        *over_all(lambda tied, of: tied * 2**P - of, (2**-P, sp.S.One), case="patterns that tie: ", equal=True),
        Goal(
            "even",
            even.xreplace({choose(P, P / 2): ways}) - (_plus + _tied - _minus),
            equal=True,
            positive={"2**P": 2**P},
            zero={**_turned, **patterns},
        ),
        Goal("odd", odd - (_plus - _minus), equal=True, zero=_turned),
    )


def _fair(bound: Any) -> tuple[Goal, ...]:
    return (
        Goal("a coin", bound - (_plus + _tied / 2 - _minus - _tied / 2), equal=True, zero=_turned),
        Goal("abstention", bound - (_plus + 0 * _tied - _minus), equal=True, zero=_turned),
    )


_OTHERS = (
    "For the votes of all others `at` is the probability that half of all votes are wrong without this worker's, "
    "`below` that one less is (for odd numbers, that wrong ones are one short of a majority, and zero): its wrong vote "
    "makes the vote's error larger by (1 - tau) at + tau below than a right one. "
)
_CANTELLI = (
    "`off` is how many more votes are wrong than in the mean, `variance` = P q (1 - q), `lead` = c P e half the votes "
    "less that mean, with e = 1/2 - q. Where the vote may be wrong, off >= lead, so that ((lead off + "
    "variance)/(lead^2 + variance))^2 >= 1: its mean is no less than the probability, and off has mean zero. P = R^2, "
    "k^2 = q (1 - q). By Gauss' bound, majority.worker.gauss, 2 e >= k S: two cases, S <= 2/w with w the root of "
    "three, z = S^2 >= 4/3. "
)

MODELS = by_claim(
    Model(
        claim="majority.server.worker",
        words="n ballots take votebits n = 8 full + over bits, and a message the least number of whole bytes that hold "
        "them: two cases, over = 0 and 1 <= over <= 7. A worker sends a ballot and receives a vote of that length.",
        scope="every n, ballots of any number of bits, every P >= 2",
        goals=_worker,
    ),
    Model(
        claim="majority.server.busiest",
        words="`ballot` is the length of a message. One more worker gets one more vote from the server: induction on "
        "P, from one rank. A worker sends one ballot.",
        scope="every n, ballots of any number of bits, every P",
        goals=_server,
    ),
    Model(
        claim="majority.all_gather.busiest",
        words="`ballot` is the length of a message. A rank passes on all ballots but that of the next one; one more "
        "rank has one more ballot. Induction on P, from one rank.",
        scope="every n, ballots of any number of bits, every P",
        goals=_one_more_rank,
    ),
    Model(
        claim="majority.shards.busiest",
        words="`long` and `short` are the lengths of messages about blocks of floor(n/P) + 1 entries, of which there "
        "are n mod P, and of floor(n/P). A rank sends its ballots on all blocks but its own, and the vote on its own "
        "to all others. n mod P is 0 or left + 1: owners of longer blocks send what is claimed, the others no more.",
        scope="every n and P, ballots of any number of bits",
        goals=_shards,
    ),
    Model(
        claim="majority.shards.thirty_two",
        words="n = 8 P short: every block has 8 short entries, and a message about it `short` bytes; a rank sends P - "
        "1 ballots and P - 1 votes.",
        scope="every multiple n of 8 P, every P, a bit a ballot",
        goals=_shards_against_ring,
    ),
    Model(
        claim="majority.worker.gauss",
        words="A symmetric unimodal law is a mixture of uniform laws on [-a, a] (Khinchin), a = 0 for an atom; in "
        "units of |g| the variance is E a^2/3 = 1/S^2, and a sign is wrong with probability (1 - 1/a)/2 if a >= 1, "
        "else 0. The claim is the mean over a of an inequality with a multiple of a^2 - 3/S^2, whose mean is zero, "
        "added to the bound. For S > 2/w the first branch, w the root of three, for S <= 2/w the second.",
        scope="every S > 0, every symmetric unimodal law of finite variance",
        goals=_worker_gauss,
    ),
    Model(
        claim="majority.vote.even_worker",
        words="Among the P - 1 others, an odd number, P/2 are wrong with probability `just` = C q x and P/2 - 1 with "
        "`short` = C (1 - q) x, C = C(P - 1, P/2), x = (q (1 - q))^(P/2 - 1); `beyond` is the probability of more. The "
        "claim's error is beyond + just. With the last worker the vote is wrong if it is wrong too at `just`, and with "
        "half the probability if it makes a tie.",
        scope="every even P, every q",
        goals=_even_worker,
    ),
    Model(
        claim="majority.vote.sharp",
        words=_OTHERS + "`before` is the error if it votes right. Let the workers, one after another, be wrong with "
        "probability Q, Gauss' bound, in place of q <= Q: `claimed` is the error when all are, by definition, and by "
        "induction backwards it is no less with one of them fewer.",
        scope="every P, every S > 0, every symmetric unimodal law of finite variance, every rule for ties",
        goals=_sharp,
    ),
    Model(
        claim="majority.vote.bound",
        words=_CANTELLI + "Here c = 1.",
        scope="every P, every S > 0, every symmetric unimodal law of finite variance, every rule for ties",
        goals=_bound,
        checked_by=("majority.vote.law",),
    ),
    Model(
        claim="majority.adversaries.inverting",
        words=_CANTELLI + "A of the P workers are wrong with probability 1 - q: c = 1 - 2 A/P.",
        scope="every P, every A < P/2, every S > 0, every symmetric unimodal law of finite variance, every rule for "
        "ties",
        goals=_inverting,
        checked_by=("majority.vote.law",),
    ),
    Model(
        claim="majority.adversaries.half",
        words=_OTHERS + "`before` is the error if it votes right, with probability 1 - q, or q if it inverts: the "
        "error e(A) grows with the number of those. If all invert, what was right is wrong, and fair ties are ties: "
        "e(A) + e(P - A) = 1, `error` and `mirrored`. As A >= P - A, error >= mirrored.",
        scope="every P, every A >= P/2, every q <= 1/2",
        goals=_half,
    ),
    Model(
        claim="majority.vote.distortion",
        words="`y` is the magnitude of an entry of the average, `m` the mean magnitude, `t` the vote times the entry's "
        "sign. Over all entries y - m adds up to zero, so that the multiple of it that is taken away does nothing.",
        scope="every P and n, every stack whose average is not zero, every rule for ties, real arithmetic",
        goals=_distortion,
    ),
    Model(
        claim="majority.ties.drift",
        words="`plus`, `minus` and `tied` are the probabilities of majorities and of a tie: negating all signs negates "
        "the majority, and of the 2^P equally likely patterns `ways` = C(P, P/2) are ties, none for odd P. Ties are "
        "+1.",
        scope="every P",
        goals=_drift,
    ),
    Model(
        claim="majority.ties.fair",
        words="`plus`, `minus` and `tied` are the probabilities of majorities and of a tie: negating all signs negates "
        "the majority. A tie is +1 or -1 equally often, or 0.",
        scope="every P, every symmetric law, zeros included",
        goals=_fair,
    ),
)

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {"majority.vote.sharp": {"up to here": "all workers"}}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""

EXTENTS = extents(
    "majority",
    {
        (): "server.worker vote.distortion ties.drift shards.busiest",
        (Step.COUNTING,): "vote.even_worker",
        (Step.SYMMETRY, Step.INDEPENDENCE): "adversaries.half",
        (Step.INDEPENDENCE, Step.CLAIM): "vote.sharp",
        (Step.EXPECTATION, Step.LEMMA): "worker.gauss",
        (Step.INDEPENDENCE, Step.EXPECTATION, Step.CLAIM): "vote.bound adversaries.inverting",
    },
    by_definition="server.busiest shards.thirty_two all_gather.busiest",
)
