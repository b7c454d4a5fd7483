"""What certificates about gossip, push-sum and restarts prove."""

from collections.abc import Mapping
from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import orthonormal_parts, over_all, over_histories, share_of_squares
from commbounds.theory.model import Goal, Model, Step, by_claim, extents, recurrence, vectors
from commbounds.theory.moshpit.models_grid import by_size_of_sets, variance_of_factor, whole_mean
from commbounds.theory.moshpit.models_groups import second_moment
from commbounds.theory.moshpit.terms import N, cap, failure, loss, ring_walks, roughness, rounds
from commbounds.theory.quantities import index_bits, n

_c, _other, _second = sp.symbols("c c' c_1", real=True)
"""Cosines of a mode's angles, and that of 2 pi/N (of 2 pi/m on a torus)."""
_start, _now = sp.symbols("start now", nonnegative=True)
_bits = sp.Symbol("bits", integer=True, positive=True)
_x, _y, _s, _e = vectors("x y s e")
_parts = sp.Symbol("parts", integer=True, positive=True)


def _modes(bound: Any, shrinks: Any, name: str = "one more round", **conditions: Any) -> Goal:
    """That a mode's square, multiplied by `shrinks` in a round, stays below the bound's share of that at the start."""
    given = {"up to here": bound * _start - _now, "now": _now, **conditions.pop("given", {})}
    return Goal(name, bound.subs(rounds, rounds + 1) * _start - shrinks * _now, given=given, **conditions)


def _at_start(bound: Any) -> Goal:
    return Goal("no round", bound.subs(rounds, 0) - 1, equal=True)


def _neighbours(cosine: Any, weight: Any) -> Goal:
    """That cosine/weight is the share of one axis in an eigenvalue: the addition theorem, `x` and `y` cos and sin."""
    sine = sp.Symbol("sine", real=True)
    one_on, one_back = _x * cosine - _y * sine, _x * cosine + _y * sine
    return Goal("neighbours", (one_on + one_back) / weight - 2 * cosine * _x / weight, equal=True)


_SQUARES = (*orthonormal_parts(), *share_of_squares("modes"))
"""That the squares of orthogonal modes, each of which shrinks, come to the squared distance from the mean."""


def _ring(bound: Any) -> tuple[Goal, ...]:
    bound = bound.subs(sp.cos(2 * sp.pi / N), _second)
    value = (1 + 2 * _c) / 3
    few = {"all modes are the second": _c - _second}
    given = {"c >= -1": 1 + _c, "c <= c_1": _second - _c, "c_1 >= 0": _second}
    alike = Goal("two or three peers", bound.subs(rounds, 1) - value**2, equal=True, zero=few)
    return (
        *_SQUARES,
        _at_start(bound),
        _neighbours(_c, 3),
        alike,
        _modes(bound, value**2, "four peers or more", given=given),
    )


def _torus(bound: Any) -> tuple[Goal, ...]:
    bound = bound.subs(sp.cos(2 * sp.pi / sp.sqrt(N)), _second)
    value = (1 + 2 * _c + 2 * _other) / 5
    given = {
        "c >= -1": 1 + _c, "c' >= -1": 1 + _other, "c <= c_1": _second - _c, "c' <= 1": 1 - _other,
        "c_1 >= 0": _second,
    }  # fmt: skip
    three = {_c: sp.Rational(-1, 2), _second: sp.Rational(-1, 2)}
    one = bound.subs(rounds, 1).subs(three)
    return (
        *_SQUARES,
        _at_start(bound),
        _neighbours(_c, 5),
        Goal("side 3, one angle 0", one - value.subs(three).subs(_other, 1) ** 2, given={}),
        Goal("side 3, no angle 0", one - value.subs(three).subs(_other, sp.Rational(-1, 2)) ** 2, given={}),
        _modes(bound, value**2, "side 4 or more", given=given),
    )


def _exponential(bound: Any) -> tuple[Goal, ...]:
    bound = bound.subs(index_bits(N), _bits)
    terms, size = sp.symbols("terms size", nonnegative=True)
    longer = Goal(
        "one more unit vector, times terms",
        terms * ((terms + 1) ** 2 - (_s + _e) ** 2),
        given={"up to here": terms**2 - _s**2, "terms": terms},
        zero={"a unit vector": _e**2 - 1},
        vectors=(_s, _e),
        hints=(_s - terms * _e,),
    )
    left = {"bits - 1 unit vectors": (_bits - 1) ** 2 - size, "size": size, "bits >= 1": _bits - 1}
    return (
        *_SQUARES,
        _at_start(bound),
        longer,
        _modes(bound, size / (_bits + 1) ** 2, given=left, positive={"bits + 1": _bits + 1}),
    )


def _ring_iid(bound: Any) -> tuple[Goal, ...]:
    returns = sp.Symbol("returns", positive=True)
    ahead, back = sp.symbols("ahead:3", nonnegative=True), sp.symbols("back:3", nonnegative=True)
    mirrored = {f"{a} = {b}": a - b for a, b in zip(ahead, back, strict=True)}
    left = (returns - 1 / N) / (1 - 1 / N)
    return (
        Goal("the law stays symmetric", sum(ahead) / 3 - sum(back) / 3, equal=True, zero=mirrored),
        Goal("there and back", ahead[0] * back[0] - ahead[0] ** 2, equal=True, zero=mirrored),
        Goal("factor", bound.subs(ring_walks(N, 2 * rounds), returns) - left, equal=True, positive={"N - 1": N - 1}),
    )


def _neighbouring_sets() -> tuple[Goal, ...]:
    """That the peers behind one, as many as the shift, and those behind the peer that far away, are different."""
    shift, own, theirs = sp.symbols("shift own theirs", integer=True, nonnegative=True)
    known = {"theirs": theirs, "own": own, "own < shift": shift - 1 - own, "theirs < shift": shift - 1 - theirs}
    return (
        Goal("another place", shift + theirs - own - 1, given=known),
        Goal("not once around", N - 1 - (shift + theirs - own), given={**known, "twice the shift": N - 2 * shift}),
    )


def _one_peer_factor(bound: Any) -> tuple[Goal, ...]:
    return *_neighbouring_sets(), *by_size_of_sets(variance_of_factor(bound), 2)


def _one_peer_exact(bound: Any) -> tuple[Goal, ...]:
    return *_neighbouring_sets(), *whole_mean(bound, sp.Integer(2), _bits)


def _own_instead(bound: Any) -> tuple[Goal, ...]:
    works = sp.Symbol("works", nonnegative=True)
    counted = works * _y + (1 - works) * _x, works * _x + (1 - works) * _y
    moved = (sum(counted) - _x - _y) / (_parts * N)
    x, y = sp.symbols("entry_of_x entry_of_y")
    counted_there = (works * y + (1 - works) * x) + (works * x + (1 - works) * y)
    return (
        Goal("one link", bound - moved**2, equal=True, vectors=(_x, _y)),
        *over_all(lambda after, before: after - before, (counted_there, x + y), case="links: ", equal=True),
    )


def _one_way(bound: Any) -> tuple[Goal, ...]:
    squares = sp.Symbol("squares", nonnegative=True)
    x, y, total = vectors("x y total")
    shift = (loss * (1 - loss) * squares + loss**2 * total**2) / (3 * N) ** 2
    links = {"all links": squares - N * roughness, "they add up to zero": total**2}
    mean, ones, gone, one = sp.symbols("mean ones gone one")
    fates = (loss, gone + one), (1 - loss, gone)
    return (
        *over_histories("one more vector", fates, {mean: gone, ones: one}, mean + loss * ones),
        second_moment(loss),
        Goal("one more link, both ways", (total + (x - y) + (y - x)) ** 2, equal=True, zero={"before": total**2},
             vectors=(x, y, total)),
        Goal("shift of the mean", bound - shift, equal=True, positive={"N": N}, zero=links, vectors=(total,)),
    )  # fmt: skip


def _push_sum_mean(bound: Any) -> tuple[Goal, ...]:
    broken, working = sp.symbols("broken working", integer=True, nonnegative=True)
    moved = (1 + broken + working) * _x / _parts - _x
    zero = {"a share for oneself and one for every target": _parts - (1 + broken + working)}
    shares, whole = sp.symbols("shares whole")
    return (
        Goal("shares", bound - moved**2, equal=True, positive={"parts": _parts}, zero=zero, vectors=(_x,)),
        *over_all(lambda after, before: after - before, (shares, whole), case="peers: ", equal=True),
    )


def _push_sum_range(bound: Any) -> tuple[Goal, ...]:
    low, high, value, total, other = sp.symbols("low high value total other", real=True)
    share, weight, other_weight = sp.symbols("share weight other_weight", positive=True)
    below, above = {"below": high * weight - total}, {"above": total - low * weight}
    return (
        Goal(
            "one more share: not above",
            high * (weight + share) - (total + share * value),
            given={**below, "value <= high": high - value, "share": share},
        ),
        Goal(
            "one more share: not below",
            total + share * value - low * (weight + share),
            given={**above, "value >= low": value - low, "share": share},
        ),
        Goal(
            "range",
            bound * (high - low) - (total / weight - other / other_weight),
            given={**below, "other above": other - low * other_weight},
            positive={"weight": weight, "other weight": other_weight},
        ),
    )


_success = (1 - failure) ** N
_WORKS = {"1 - failure": 1 - failure}


def _attempts(bound: Any) -> tuple[Goal, ...]:
    return (
        Goal("the first attempt, and what follows", bound - (1 + (1 - _success) * bound), equal=True, positive=_WORKS),
    )


def _restarts(bound: Any) -> tuple[Goal, ...]:
    shown = bound - (1 - _success) * (1 + bound)
    return (Goal("what follows the first attempt", shown, equal=True, positive=_WORKS),)


def _capped(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, cap, 0, lambda attempts, _: 1 + (1 - _success) * attempts, positive=_WORKS)


def _sends(words: Any) -> Any:
    """Goals of a claim that a peer sends so many words in every round."""
    return lambda bound: recurrence(bound.subs(index_bits(N), _bits), rounds, 0, lambda sent, _: sent + words)


_LAW = "every stack of vectors, real arithmetic"
_MODES = (
    "The weights make a matrix that commutes with shifts: the vectors of the peers are a sum of orthogonal modes, each "
    "of which a round multiplies by its eigenvalue; D_T is the sum of their squares. `start` and `now` are a mode's "
    "square at the start and after T rounds: induction on T. "
)


def _traffic(name: str, words: Any, why: str) -> Model:
    return Model(
        claim=f"gossip.{name}.words",
        words=f"Counted: {why} in every round. Induction on the rounds.",
        scope="every N >= 2 of the topology, every n and T, no link broken",
        goals=_sends(words),
    )


MODELS = by_claim(
    Model(
        claim="gossip.ring.distortion",
        words=_MODES + "Its eigenvalue is (1 + 2 c)/3, c the cosine of a multiple of 2 pi/N that is not 0: `x` and `y` "
        "are the cosine and the sine of a peer's place, so that its neighbours add up to 2 c x. -1 <= c <= c_1, the "
        "cosine of 2 pi/N, which is not negative for N >= 4; two or three peers have one such mode, or two with c = "
        "c_1.",
        scope=f"every N >= 2, every T, {_LAW}",
        goals=_ring,
    ),
    Model(
        claim="gossip.torus.distortion",
        words=_MODES + "Its eigenvalue is (1 + 2 c + 2 c')/5, c and c' the cosines of multiples of 2 pi/m, not both 0; "
        "say that of c is not, by symmetry. -1 <= c <= c_1, the cosine of 2 pi/m, and -1 <= c' <= 1; c_1 >= 0 for m >= "
        "4. For m = 3 the cosines are -1/2, and 1 for the angle 0.",
        scope=f"every N = m^2, m >= 3, every T, {_LAW}",
        goals=_torus,
    ),
    Model(
        claim="gossip.exponential.distortion",
        words=_MODES
        + "N = 2^bits; the eigenvalue is the mean of bits + 1 complex numbers of modulus one: 1 for the own "
        "vector, and the characters of the shifts 1, 2, ..., N/2. For mode k = 2^a (odd) that of N/2^(a+1) is -1 and "
        "cancels the 1; the others, bits - 1 in number, add up to bits - 1 in modulus at most, their squared modulus "
        "being `size`: induction over unit vectors `e` of the plane, `s` the sum of `terms` of them.",
        scope=f"every N = 2^d >= 2, every T, {_LAW}",
        goals=_exponential,
    ),
    Model(
        claim="gossip.ring.iid",
        words="A peer's vector is the sum of the inputs with the law of a walk of T steps as weights. Its variance is "
        "the sum of their squares; as the law is symmetric (`ahead` and `back` are the probabilities of three places "
        "in a row and of their mirror images), that is the probability to return after 2 T steps. The mean of all has "
        "the variance 1/N.",
        scope="every N >= 2, every T, real arithmetic",
        goals=_ring_iid,
    ),
    Model(
        claim="gossip.one_peer.factor",
        words="Shifts are 1, 2, 4, ..., half of N at most: a peer has the mean of as many peers up to itself as the "
        "next shift says, and the peer that far away of others: the variance is halved. The mean of all has the "
        "variance 1/N, so the expected distortion is v - 1/N, of 1 - 1/N at the start: v by the claim is shown to be 1 "
        "and then halved. Induction on T.",
        scope="every N = 2^d >= 2, every T <= d, real arithmetic",
        goals=_one_peer_factor,
    ),
    Model(
        claim="gossip.one_peer.exact",
        words="A peer's vector is a weighted sum of the initial ones: `held` equal weights. Shifts are 1, "
        "2, 4, ..., half of N at most: they are of as many peers up to itself as the next shift says, and those of the "
        "peer that far away are others. A round doubles `held` and halves the weights, "
        "which add up to one. After log2 N = bits rounds their squared distance from the weights of the mean is zero.",
        scope=f"every N = 2^d, {_LAW}",
        goals=_one_peer_exact,
    ),
    Model(
        claim="gossip.mean.own_instead",
        words="Links come in pairs, one each way, that both work or both do not, `works` = 1 or 0: peer x counts y or "
        "x, peer y counts x or y, with the weight 1/parts. The pair adds the same to the sum over the peers.",
        scope=f"every ring and torus, every set of links that break both ways, every T, {_LAW}",
        goals=_own_instead,
    ),
    Model(
        claim="gossip.mean.one_way",
        words="A lost vector moves the mean by (x_j - x_i)/(3 N); these differences add up to zero over all links, two "
        "by two. The second moment of a sum of vectors x, each there with probability l, is l (1 - l) sum ||x||^2 + "
        "l^2 ||sum x||^2: one more vector adds 2 l <x, l total> + l ||x||^2, by independence. `squares` is the sum "
        "over all links.",
        scope=f"every N, every l, one round, {_LAW}",
        goals=_one_way,
    ),
    Model(
        claim="gossip.push_sum.mean",
        words="`x` is what a peer has, sum or weight. It is cut into `parts` equal shares: one stays, those of working "
        "links move to another peer, those of broken ones stay. So sums and weights over all peers are what they were, "
        "and their ratio is the weighted mean of the estimates.",
        scope=f"every graph, every set of links that break, every T, {_LAW}",
        goals=_push_sum_mean,
    ),
    Model(
        claim="gossip.push_sum.range",
        words="A new estimate is total/weight, the sums over the shares that arrive of share times the sender's "
        "estimate, `value`, and of shares of weights; all estimates were between `low` and `high`. Induction over the "
        "shares; then the difference of any two new estimates, total/weight and other/other_weight.",
        scope="every graph, every set of links that break, shares kept or gone, every T, real arithmetic",
        goals=_push_sum_range,
    ),
    Model(
        claim="gossip.restarts.attempts",
        words="All N peers are present with probability (1 - p)^N, independently. The first attempt is made; if it "
        "fails, as many as from the start are expected further on. For p < 1 that has one finite solution.",
        scope="every N, every p < 1",
        goals=_attempts,
    ),
    Model(
        claim="gossip.restarts.restarts",
        words="As gossip.restarts.attempts: if the first attempt fails, one restart is made, and as many more are "
        "expected as from the start.",
        scope="every N, every p < 1",
        goals=_restarts,
    ),
    Model(
        claim="gossip.restarts.capped",
        words="With no attempt allowed none is made; with one more the first is made, and if it fails those that are "
        "allowed further on. Induction on the cap.",
        scope="every N, every p < 1, every cap",
        goals=_capped,
    ),
    _traffic("ring", 2 * n, "n words to each of two neighbours"),
    _traffic("torus", 4 * n, "n words to each of four neighbours"),
    _traffic("exponential", _bits * n, "n words to each of bits = ceil(log2 N) peers"),
    _traffic("one_peer", n, "n words to one peer"),
    _traffic("push_sum", n + 1, "n words and a weight to one peer"),
)

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "gossip.ring.distortion": {"up to here": "no round"},
    "gossip.torus.distortion": {"up to here": "no round"},
    "gossip.exponential.distortion": {"up to here": "no round"},
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""

EXTENTS = extents(
    "gossip",
    {
        (): (
            "push_sum.range restarts.attempts restarts.restarts restarts.capped one_peer.factor mean.own_instead "
            "push_sum.mean mean.one_way one_peer.exact ring.distortion torus.distortion exponential.distortion"
        ),
        (Step.SYMMETRY, Step.INDEPENDENCE): "ring.iid",
    },
    by_definition="ring.words torus.words exponential.words one_peer.words push_sum.words",
)
