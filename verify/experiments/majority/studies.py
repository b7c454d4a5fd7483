"""Claims about the majority vote: bytes, the vote's error, ties and whole stacks."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import sympy as sp

from commbounds.array_types import Array
from commbounds.collectives.majority import WAYS, ZEROS
from commbounds.collectives.traffic import Traffic
from commbounds.verify.family import Family, FamilyStudy, asked
from commbounds.verify.space import RANKS, Of, Settings, Space, nothing, rationals
from commbounds.verify.study import Curve, Outcome, chained, studies

Vote = Callable[..., tuple[Array, Traffic]]
_ROOT3, _ROOT6 = sp.sqrt(3), sp.sqrt(6)
_RULES: dict[str, Sequence[str]] = {"way": tuple(WAYS), "zeros": tuple(ZEROS)}


def _family(
    space: Space, facts: Callable[..., dict[str, Any]] | None, run: Callable[..., Any], **options: Any
) -> Family:
    return Family("majority", "majority_vote", space, facts, run, **options)


def _voted(implementation: Vote, x: Array, way: str, zeros: str, heads: bool = True) -> tuple[Array, Traffic]:
    """The votes of `x`, all coins heads or tails."""
    coins = np.full((len(x) + 1, x.shape[1]), heads) if zeros == "coin" else None
    votes, traffic = implementation(x, way, zeros, coins=coins)
    return votes, traffic


# --- bytes -------------------------------------------------------------------------------------------------------


def _moved(implementation: Vote, P: int, n: int, way: str, zeros: str) -> Traffic:
    return _voted(implementation, np.ones((P, n)), way, zeros)[1]


def _sent(found: Traffic) -> int:
    return int(found.sent.max())


def _of_workers(found: Traffic) -> int:
    """What ranks but the first send or receive."""
    return int(np.maximum(found.sent, found.received)[1:].max())


_SIZED = _family(
    Space(nothing, {"P": RANKS, "n": (1,), **_RULES}),
    lambda zeros: {"votebits": 2 if zeros == "abstain" else 1},
    _moved,
    searched=False,
)
_SIZES = _SIZED.every(
    P=lambda level: (*RANKS, 16)[: 9 + level], n=lambda P: sorted({1, 2, 7, 8, 9, 31, 64, 8 * P, 24 * P}), **_RULES
)


def _of_bytes(
    claim: str, curve: Curve, measure: Callable[[Traffic], int] = _sent, large: str = ""
) -> tuple[FamilyStudy, ...]:
    """Eight entries a rank, by the way given, are extremal."""
    extremal = _SIZED.every(P=(3, 4, 8, 33), n=lambda P: [8 * P], way=[large], zeros=["plus"])
    return _SIZED.studies(
        measure,
        claim,
        grid=_SIZES,
        corpus=None,
        extremal=extremal if large else None,
        curves=[curve],
        enumerated="up to 9 ranks and 216 entries, every way and every rule for zeros",
    )


def _over_ranks(way: str, n: int) -> Curve:
    return _SIZED.over("P", (2, 3, 4, 6, 8, 12, 16, 24, 32, 64), f"n = {n}", n=n, way=way)


_BYTES = (
    *_of_bytes("server.worker", _SIZED.over("n", (1, 4, 16, 64, 256, 1024, 4096), "eight workers", P=8), _of_workers),
    *_of_bytes("server.busiest", _over_ranks("server", 960)),
    *_of_bytes("server.thirty_two", _over_ranks("server", 1536), large="server"),
    *_of_bytes("shards.busiest", _over_ranks("shards", 1000)),
    *_of_bytes("shards.thirty_two", _over_ranks("shards", 1536), large="shards"),
    *_of_bytes("all_gather.busiest", _over_ranks("all-gather", 960)),
)

# --- the vote's error --------------------------------------------------------------------------------------------


def _flip(noise: str, r: Fraction, kept: Fraction) -> tuple[Any, Any]:
    """Probability of a wrong sign and signal-to-noise ratio, where r = |g| in units of the noise's width."""
    if noise == "uniform":  # on [-1, 1]
        return max(Fraction(0), (1 - r) / 2), _ROOT3 * r
    if noise == "spike":  # that with probability kept^2, else zero
        return kept**2 * max(Fraction(0), (1 - r) / 2), _ROOT3 * r / kept
    if noise == "triangle":  # density 1 - |x| on [-1, 1]
        return max(Fraction(0), 1 - r) ** 2 / 2, _ROOT6 * r
    if noise == "normal":  # of standard deviation 1
        return Fraction(math.erfc(float(r) / math.sqrt(2)) / 2), float(r)
    if noise == "laplace":
        return Fraction(math.exp(-math.sqrt(2) * float(r)) / 2), float(r)
    # skewed: 50 with probability 1/10, else -1; of mean 4.1 and variance 15.3^2
    return Fraction(9, 10), Fraction(41, 153)


_UNIMODAL = ("uniform", "spike", "triangle", "normal", "laplace")
_FEW = 10
"""Workers up to which every pattern of right and wrong signs is voted on."""


@lru_cache(maxsize=1 << 12)
def _lost(
    implementation: Vote, H: int, A: int, L: int, way: str, zeros: str, sign: int
) -> tuple[tuple[int, int, Fraction], ...]:
    """(wrong signs of honest workers, of inverting ones, share of such patterns on which the vote is wrong).

    Workers come in an order of their own in every column. Of more than ten, one pattern of each kind is taken.
    """
    if H + A <= _FEW:
        patterns = np.array(list(itertools.product((False, True), repeat=H + A)), np.bool_)
    else:
        kinds = itertools.product(range(H + 1), range(A + 1))
        patterns = np.array([np.concatenate([np.arange(H) < i, np.arange(A) < j]) for i, j in kinds])
    own = np.where(patterns, -sign, sign) * (1.0 + np.arange(H + A))
    own[:, H:] *= -1
    ballots = np.concatenate([own, np.full((len(own), L), -0.5 * sign)], axis=1)
    rng = np.random.default_rng([H, A, L])
    x = np.array([rng.permutation(row) for row in ballots]).T
    sides = (True, False) if zeros == "coin" else (True,)
    wrong = [(_voted(implementation, x, way, zeros, heads)[0] != sign).any(axis=0) for heads in sides]
    counts: dict[tuple[int, int], list[int]] = {}
    for pattern, *lost in zip(patterns, *wrong, strict=True):
        counts.setdefault((int(pattern[:H].sum()), int(pattern[H:].sum())), []).append(sum(map(int, lost)))
    return tuple((i, j, Fraction(sum(lost), len(lost) * len(sides))) for (i, j), lost in counts.items())


def _symbols(P: int, A: int, L: int, noise: str, r: Fraction, kept: Fraction, zeros: str, sign: int) -> dict[str, Any]:
    """What the formulas call the numbers of the case, and what the noise is like."""
    q, snr = _flip(noise, r, kept)
    ties = {"plus": Fraction(sign < 0), "coin": Fraction(1, 2), "abstain": Fraction(1)}[zeros]
    values = {"honest": P - A - L, "inverting": A, "lying": L, "flip": q, "tieloss": ties, "snr": snr}
    return {**values, "unimodal": noise in _UNIMODAL, "gradient": r}


def _symbols_of_any(A: int, L: int, settings: Settings) -> dict[str, Any]:
    """The same where those that lie are adversaries as those that invert."""
    return {**asked(_symbols, settings), "inverting": A + L}


@lru_cache(maxsize=1 << 13)
def _error(implementation: Vote, P: int, A: int, L: int, flip: Any, way: str, zeros: str, sign: int) -> Fraction:
    """The probability of a wrong vote, all signs of all workers enumerated."""
    H, error = P - A - L, Fraction(0)
    for i, j, lost in _lost(implementation, H, A, L, way, zeros, sign):
        of_honest = math.comb(H, i) * flip**i * (1 - flip) ** (H - i)
        error += lost * of_honest * math.comb(A, j) * flip**j * (1 - flip) ** (A - j)
    return error


def _vote_error(about: str, found: Fraction, settings: Settings, P: int, snr: Any) -> Outcome:
    """The error; it says something of adversaries that a claim is about where there are some."""
    # erfc and exp are good to an ulp or so, and the error changes at most P times as much as a worker's
    slack = 4 * P * float(np.finfo(float).eps) if isinstance(snr, float) else 0.0
    return Outcome(found, {}, slack, not about or settings[about] > 0)


def _all_alike(implementation: Vote, P: int, A: int, L: int, way: str, zeros: str, sign: int, flip: Any) -> Outcome:
    """The error where all workers have the same noise: two patterns, all wrong and all right."""
    of_wrong = {i: share for i, _, share in _lost(implementation, P, A, L, way, zeros, sign)}
    return Outcome((1 - flip) * of_wrong[0] + flip * of_wrong[P], {}, active=P > 1)


_VOTES = Space(
    nothing,
    {
        "P": (*RANKS, 16, 40),
        "A": (0, 1, Of("(P - 1) // 2", lambda P: (P - 1) // 2), Of("P // 2", lambda P: P // 2), Of("P", lambda P: P)),
        "L": (
            0,
            Of("one of the others", lambda P, A: min(1, P - A)),
            Of("half of the others", lambda P, A: (P - A) // 2),
            Of("the others", lambda P, A: P - A),
        ),
        "noise": (*_UNIMODAL, "skewed"),
        "r": rationals("1/2", "1/100", "1/4", "2/3", 1, 2, 4),
        "kept": rationals("1/2", "1/3", "2/3", 1),
        "sign": (1, -1),
        **_RULES,
        "exact": (Of("few workers, a rational law", lambda P, noise: P < _FEW and noise not in ("normal", "laplace")),),
    },
    options=("sign", "way", "zeros"),
).search(
    P=(1, 24),
    A=(Of("P // 4", lambda P: P // 4), Of("P - 1", lambda P: P - 1)),
    r=[Fraction(i, 16) for i in range(1, 41)],
    kept=[Fraction(i, 8) for i in range(1, 9)],
)
_TWO_THIRDS = Fraction(2, 3)
_WORST = [
    {"noise": noise, "r": Fraction(r), "kept": Fraction(kept)}
    for noise, r, kept in (
        ("uniform", "1/10", 1),
        ("uniform", "8/15", 1),
        ("uniform", "2/3", 1),
        ("spike", "2/3", "1/2"),
    )
]
"""Laws that attain Gauss' bound."""
_SPLITS = ((1, 0, 0), (2, 0, 0), (3, 0, 0), (3, 1, 0), (5, 2, 0), (8, 0, 0), (8, 3, 0), (30, 0, 1))
"""(workers, inverting, lying) that lose their ties under them."""
_BY_HAND = (
    *_VOTES.every(
        P=(1, 2, 3, 4, 9, 16),
        A=lambda P: sorted({0, (P - 1) // 2}),
        noise=("normal", "laplace"),
        r=_VOTES.axes["r"],
        zeros=lambda A: ["coin" if A else "abstain"],
    ),
    *_VOTES.every(P=(14, 15, 40), noise=("skewed", "uniform")),
    *_VOTES.every(P=(2, 4, 6, 10, 16), zeros=["coin"]),  # of ten and more, nine tenths are a worker fewer
    *(_VOTES.at(P=100, A=A, L=L, r=_TWO_THIRDS) for A, L in ((0, 44), (44, 0), (20, 24))),
    # majorities that are small for so many workers: there the numbers of adversaries, and q, weigh most
    _VOTES.at(P=200, r=Fraction(1, 1000)),
    _VOTES.at(P=298, L=148, r=Fraction(247, 250), zeros="abstain"),
    _VOTES.at(P=151, A=75, noise="spike", r=_TWO_THIRDS),
    _VOTES.at(P=58, A=28, noise="spike", r=_TWO_THIRDS, kept=Fraction(1, 7), zeros="abstain"),
    *(_VOTES.at(P=P, A=A, L=L, **law, zeros="abstain") for P, A, L in _SPLITS for law in _WORST),
)
ERRORS = _family(_VOTES.including(*_BY_HAND), _symbols, _error)
"""The probability of a wrong vote is what a run gives."""
_OF_ANY = replace(ERRORS, facts=_symbols_of_any)
_SIZES_OF_NOISE = {
    "uniform": rationals("1/10", "1/3", "1/2", "2/3", 1, "3/2"),
    "spike": rationals("1/4", "2/3", "3/4"),
    "triangle": rationals("1/4", "1/2"),
    "skewed": rationals(1),
}
"""Rational laws, but for roots in S."""
_EVERY_VOTE = ERRORS.every(
    P=lambda level: (1, 2, 3, 5, 8, *((4, 6, 7) if level else ())),
    A=lambda P: range(P + 1),
    L=lambda P, A: [L for L in range(P + 1 - A) if P <= 3 or A * L == 0 or A == L == 1],
    noise=_SIZES_OF_NOISE,
    r=lambda noise, P: _SIZES_OF_NOISE[noise] if P < 8 else _SIZES_OF_NOISE[noise][1::3],
    kept=lambda noise: rationals("1/3", "2/3") if noise == "spike" else rationals(1),
    zeros=ZEROS,
    sign=lambda zeros: {"plus": (1, -1), "coin": (1,), "abstain": (-1,)}[zeros],
    way=lambda P, A, L, sign: [WAYS[(P + A + L + sign) % len(WAYS)]],
)


def _of_errors(
    claim: str,
    curve: Curve,
    extremal: Sequence[Settings] = (),
    about: str = "",
    measure: Callable[..., Outcome] | None = None,
    family: Family = ERRORS,
) -> tuple[FamilyStudy, ...]:
    return family.studies(
        measure or partial(_vote_error, about),
        claim,
        grid=chained(_EVERY_VOTE, ERRORS.grid),
        corpus=ERRORS.corpus,
        cases=ERRORS.drawn,
        extremal=family.of(extremal) if extremal else None,
        curves=[curve],
        enumerated="1, 2, 3, 5 and 8 workers, all signs of all of them; inverting and lying ones among them",
    )


def _worst_noise(*P: int) -> list[Settings]:
    return [_VOTES.at(P=ranks, **law, zeros=zeros) for ranks in P for zeros in ("plus", "abstain") for law in _WORST]


def _two_alone(r: Fraction) -> list[Settings]:
    """Two workers that lose their ties, uniform noise on [-1/r, 1/r] times the gradient."""
    return _VOTES.every(P=[2], r=[r], zeros=["abstain"], way=WAYS, sign=(1, -1))


_workers = (1, 2, 3, 4, 5, 8, 9, 16, 25, 36, 64, 100)
_FIFTH = Fraction(1, 5)
_LYING = Of("11 P / 25", lambda P: P * 11 // 25)
_ERRORS = (
    *_of_errors("vote.law", ERRORS.over(
        "honest", [H + 3 for H in (0, 1, 2, 4, 8, 16, 32)], "uniform noise, S = 0.346; two more invert, one lies",
        by="P", A=2, L=1, r=_FIFTH, zeros="coin")),
    *_of_errors("vote.even_worker", ERRORS.over(
        "P", (2, 4, 6, 8, 16, 32), "uniform noise, S = 0.346", r=_FIFTH, zeros="coin")),
    *_of_errors("worker.gauss", ERRORS.over(
        "snr", [Fraction(S, 10) for S in (1, 2, 4, 6, 8, 10, 12, 15, 20, 30)], "normal noise",
        by="r", P=1, noise="normal"), _worst_noise(1)),
    *_of_errors("vote.sharp", ERRORS.over(
        "P", _workers, "normal noise, S = 1/4, ties lost", noise="normal", r=Fraction(1, 4), zeros="abstain"),
        _worst_noise(1, 2, 3, 8)),
    *_of_errors("vote.bound", ERRORS.over(
        "P", _workers, "uniform noise, S = 0.346, ties lost", r=_FIFTH, zeros="abstain"),
        _two_alone(Fraction(8, 15))),
    *_of_errors("vote.any_noise", ERRORS.over(
        "P", _workers, "50 with probability 1/10, else -1", noise="skewed", r=Fraction(1)),
        _VOTES.every(P=(15, 100), noise=["skewed"], r=rationals(1))),
    *_of_errors("vote.shared_noise", ERRORS.over(
        "P", _workers, "uniform noise, S = 0.346", r=_FIFTH), _VOTES.every(P=(40, 100)), measure=_all_alike),
    *_of_errors("adversaries.inverting", ERRORS.over(
        "inverting", range(0, 13, 2), "25 workers, uniform noise, S = 0.866", by="A", P=25), about="A"),
    *_of_errors("adversaries.negation_is_worst", ERRORS.over(
        "P", (25, 50, 75, 100, 150, 200), "44 % vote against the gradient; uniform noise, S = 1.155",
        L=_LYING, r=_TWO_THIRDS),
        _VOTES.every(P=(100, 200), L=[_LYING], r=[_TWO_THIRDS]), about="L", family=_OF_ANY),
    *_of_errors("adversaries.liars", ERRORS.over(
        "lying", [30 + L for L in range(0, 20, 3)], "30 honest workers, uniform noise, S = 1.155",
        by="P", L=Of("P - 30", lambda P: P - 30), r=_TWO_THIRDS),
        _two_alone(Fraction(1, 10000)), about="L"),
    *_of_errors("adversaries.half", ERRORS.over(
        "P", (2, 4, 6, 8, 16, 32), "half and one invert; uniform noise, S = 0.346",
        A=Of("P // 2 + 1", lambda P: P // 2 + 1), r=_FIFTH, zeros="coin"),
        _VOTES.every(P=(2, 4, 8), A=lambda P: [P // 2], zeros=["coin"]), about="A"),
)  # fmt: skip

# --- ties --------------------------------------------------------------------------------------------------------


def _all_votes(implementation: Vote, P: int, way: str, zeros: str, zero_entries: bool) -> Array:
    """The votes on all ballots, with all coins that matter, one column each: all equally likely."""
    ballots = itertools.product((1.0, -1.0, 0.0) if zero_entries else (1.0, -1.0), repeat=P)
    x = np.array(list(ballots)).T
    if zeros != "coin":
        votes, _ = implementation(x, way, zeros)
        return np.asarray(votes)
    coins = np.array(list(itertools.product((False, True), repeat=P + 1)))
    if not zero_entries:
        coins = coins[:2]  # a tie's coin alone
    tossed = np.tile(coins.T, x.shape[1])
    votes, _ = implementation(np.repeat(x, len(coins), axis=1), way, zeros, coins=tossed)
    return np.asarray(votes)


def _tied(measure: Callable[[Array], int | Fraction], found: Array, P: int, zero_entries: bool) -> Outcome:
    return Outcome(measure(found), {}, active=P % 2 == 0 or zero_entries)


def _different(votes: Array) -> int:
    return int(np.unique(votes).size)


def _mean(votes: Array) -> Fraction:
    return Fraction(int(votes[0].sum()), votes.shape[1])


_BALLOTS = _family(
    Space(nothing, {"P": RANKS, **_RULES, "zero_entries": (False, True)}), None, _all_votes, searched=False
)
_EVERY_BALLOT = _BALLOTS.every(P=RANKS, **_RULES, zero_entries=lambda P, level: (False, True)[: 1 + (P - level < 6)])


def _of_ties(
    claim: str,
    measure: Callable[[Array], int | Fraction],
    rule: str,
    ranks: Sequence[int],
    extremal: Sequence[int] = (),
) -> tuple[FamilyStudy, ...]:
    return _BALLOTS.studies(
        partial(_tied, measure),
        claim,
        grid=_EVERY_BALLOT,
        corpus=None,
        extremal=_BALLOTS.every(P=extremal, zeros=[rule]) if extremal else None,
        curves=[_BALLOTS.over("P", ranks, f"zeros: {rule}", zeros=rule)],
        enumerated="up to 5 workers, all signs, zeros too, and all coins; of 6 to 9 workers all signs",
    )


_TIES = (
    *_of_ties("ties.one_bit", _different, "abstain", range(1, 11), (2, 4)),
    *_of_ties("ties.broken", _different, "plus", range(1, 11), (1, 2, 5)),
    *_of_ties("ties.drift", _mean, "plus", range(1, 13)),
    *_of_ties("ties.fair", _mean, "coin", range(1, 11)),
)

# --- stacks ------------------------------------------------------------------------------------------------------

_KINDS: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "small integers": lambda rng, P, n: rng.integers(-2, 3, (P, n)).astype(np.float64),
    "signs": lambda rng, P, n: rng.choice((-1.0, 1.0), (P, n)),
    "one outvoted": lambda rng, P, n: np.where(np.arange(P)[:, None] == 0, P + 1.0, -1.0) * np.ones(n),
    "normal": lambda rng, P, n: rng.standard_normal((P, n)),
    "of all sizes": lambda rng, P, n: rng.standard_normal((P, n)) * 10.0 ** rng.integers(-30, 31, (P, n)),
    "subnormal": lambda rng, P, n: rng.standard_normal((P, n)) * 1e-318,
}
"""Stacks by name, simplest first."""


def _entries(P: int) -> tuple[float, ...]:
    """What the stacks of so many ranks are made of that are gone through."""
    return (0.0, 1.0, -1.0, 4.0, -4.0) if P < 5 else (4.0, -1.0)


def _stack(P: int, n: int, data: str, seed: int) -> Array:
    """A stack of that kind, or the one with this number."""
    if data in _KINDS:
        return _KINDS[data](np.random.default_rng([seed, P, n]), P, n)
    entries = _entries(P)
    return np.array([entries[seed // len(entries) ** i % len(entries)] for i in range(P * n)]).reshape(P, n)


def _scales(P: int, seed: int) -> dict[str, Array]:
    """A factor for every rank."""
    return {"scales": 10.0 ** np.random.default_rng(seed).uniform(-9, 9, (P, 1))}


def _both_votes(implementation: Vote, x: Array, way: str, zeros: str) -> Array:
    """The vote with all coins heads and with all tails: with other coins every entry is as in one of the two."""
    sides = (True, False)[: 1 + (zeros == "coin")]
    return np.array([_voted(implementation, x, way, zeros, heads)[0] for heads in sides])


def _overturned(implementation: Vote, x: Array, scales: Array, way: str, zeros: str, found: Array) -> int:
    after = _both_votes(implementation, scales * x, way, zeros)
    return int(np.count_nonzero((found != after).any(axis=(0, 1))))


def _distortion(x: Array, found: Array) -> Fraction:
    """In rational arithmetic, of rank 0's vote with the worst coins."""
    P, n = x.shape
    mean = [sum(map(Fraction, column), Fraction(0)) / P for column in x.T.tolist()]
    scale = sum(map(abs, mean)) / n
    pairs = zip(found[:, 0].T.tolist(), mean, strict=True)
    error = sum(max((scale * Fraction(v) - m) ** 2 for v in of_entry) for of_entry, m in pairs)
    return Fraction(error / sum(m * m for m in mean))


_STACKS = _family(
    Space(
        _stack,
        {
            "P": RANKS,
            "n": (3, 1, 8, 17, Of("P", lambda P: P), Of("3 P + 1", lambda P: 3 * P + 1)),
            "data": tuple(_KINDS),
            **_RULES,
        },
        combined=(("way", "zeros", "data"),),
    ).search(n=(1, 20)),
    _scales,
    _both_votes,
    exact=False,
    arrays=2,
)
_LENGTHS = {1: (1, 2), 2: (1, 2), 3: (1, 2), 5: (1,), 8: (1,)}
"""Entries by ranks; of three ranks two entries at larger budgets."""
_OF_STACKS: dict[str, Any] = {
    "grid": _STACKS.every(
        P=_LENGTHS,
        n=lambda P, level: _LENGTHS[P][: 1 + (P < 3 or level > 0)],
        data=["numbered"],
        seed=lambda P, n: range(len(_entries(P)) ** (P * n)),
        way=lambda seed: [WAYS[seed % len(WAYS)]],
        zeros=lambda seed: [ZEROS[seed // len(WAYS) % len(ZEROS)]],
    ),
    "enumerated": "every stack of 1 or 2 ranks and entries, or 3 ranks and one, of 0, 1, -1, 4 and -4, or of 5 or 8 "
    "ranks and an entry, of 4 and -1",
}

EXPERIMENTS = studies(
    *_BYTES,
    *_STACKS.studies(_overturned, "vote.scale", **_OF_STACKS),
    *_ERRORS,
    *_STACKS.studies(
        _distortion,
        "vote.no_expansion",
        "vote.distortion",
        extremal=_STACKS.every(P=(3, 5), n=(1, 3, 4), data=["one outvoted"]),
        curves=[_STACKS.over("P", (1, 2, 3, 5, 8, 16, 32), "one worker outvoted, n = 64", n=64, data="one outvoted")],
        **_OF_STACKS,
    ),
    *_TIES,
)
