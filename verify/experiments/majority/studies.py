"""Claims about the majority vote: bytes, the vote's error, ties and whole stacks."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import sympy as sp
from hypothesis import strategies as st

from commbounds.array_types import Array
from commbounds.collectives.majority import WAYS, ZEROS
from commbounds.collectives.traffic import Traffic
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.moshpit.averaging import settings
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.study import Case, Outcome, Study, over, studies

_ROOT3, _ROOT6 = sp.sqrt(3), sp.sqrt(6)

# --- bytes -------------------------------------------------------------------------------------------------------


def _voted(implementation: Any, x: Array, way: str, zeros: str, heads: bool = True) -> tuple[Array, Traffic]:
    """The votes of `x`, all coins heads or tails."""
    coins = np.full((len(x) + 1, x.shape[1]), heads) if zeros == "coin" else None
    votes, traffic = implementation(x, way, zeros, coins=coins)
    return votes, traffic


def _ballots(_implementation: Any, case: Case) -> dict[str, Any]:
    """The symbols of the claims about bytes."""
    bits = 2 if case.settings["zeros"] == "abstain" else 1
    return {"P": case.settings["P"], "n": case.settings["n"], "votebits": bits}


def _bytes(name: str, implementation: Any, case: Case) -> Outcome:
    P, n, way, zeros = (case.settings[key] for key in ("P", "n", "way", "zeros"))
    _, traffic = _voted(implementation, np.ones((P, n)), way, zeros)
    moved = np.maximum(traffic.sent, traffic.received)[1:] if name == "server.worker" else traffic.sent
    return Outcome(int(moved.max()), _ballots(implementation, case))


def _sizes(level: int) -> Iterator[Case]:
    for P, way, zeros in itertools.product((1, 2, 3, 4, 5, 8, *((7, 16) if level else ())), WAYS, ZEROS):
        for n in (1, 2, 7, 8, 9, 16, 24, 31, 64, 120):
            yield settings(P=P, n=n, way=way, zeros=zeros)


def _large(way: str, _budget: Budget) -> Iterator[Case]:
    for P in (3, 4, 8, 33):
        yield settings(P=P, n=8 * P, way=way, zeros="plus")


def _of_bytes(statement: str, axis: str, label: str, cases: Sequence[Case], **options: Any) -> Study:
    return Study(
        f"majority.{statement}",
        "majority_vote",
        partial(_bytes, statement),
        grid=_sizes,
        curves=[over(axis, label, cases)],
        known=_ballots,
        enumerated="up to 8 ranks and 120 entries, every way and every rule for zeros",
        **options,
    )


def _by_way(way: str, **ranks: Any) -> list[Case]:
    sizes = ranks.pop("n", [960])
    return [settings(P=P, n=n, way=way, zeros="plus") for P in ranks.pop("P", [8]) for n in sizes]


_RANKS = [2, 3, 4, 6, 8, 12, 16, 24, 32, 64]
_ENTRIES = [1, 4, 16, 64, 256, 1024, 4096]

_BYTES = (
    _of_bytes("server.worker", "n", "eight workers", _by_way("server", n=_ENTRIES)),
    _of_bytes("server.busiest", "P", "n = 960", _by_way("server", P=_RANKS)),
    _of_bytes("server.thirty_two", "P", "n = 1536", _by_way("server", P=_RANKS, n=[1536]),
              extremal=partial(_large, "server")),
    _of_bytes("shards.busiest", "P", "n = 1000", _by_way("shards", P=_RANKS, n=[1000])),
    _of_bytes("shards.thirty_two", "P", "n = 1536", _by_way("shards", P=_RANKS, n=[1536]),
              extremal=partial(_large, "shards")),
    _of_bytes("all_gather.busiest", "P", "n = 960", _by_way("all-gather", P=_RANKS)),
)  # fmt: skip

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
    implementation: Any, H: int, A: int, L: int, way: str, zeros: str, sign: int
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


def _symbols(case: Case) -> dict[str, Any]:
    """What the formulas call the numbers of the case."""
    P, A, L, zeros, sign = (case.settings[key] for key in ("P", "A", "L", "zeros", "sign"))
    q, snr = _flip(case.settings["noise"], *(Fraction(case.settings[key]) for key in ("r", "kept")))
    ties = {"plus": Fraction(sign < 0), "coin": Fraction(1, 2), "abstain": Fraction(1)}[zeros]
    return {"P": P, "honest": P - A - L, "inverting": A, "lying": L, "flip": q, "tieloss": ties, "snr": snr}


def _known_of_votes(name: str, _implementation: Any, case: Case) -> dict[str, Any]:
    """The symbols, and what the noise is like."""
    values = dict(case.once(_symbols))
    if name == "adversaries.negation_is_worst":  # those that lie are adversaries as those that invert
        values["inverting"] += values["lying"]
    return {**values, "unimodal": case.settings["noise"] in _UNIMODAL, "gradient": Fraction(case.settings["r"])}


def error(implementation: Any, case: Case) -> Fraction:
    """The probability of a wrong vote, all signs of all workers enumerated."""
    values = case.once(_symbols)
    H, A, L, q = (values[key] for key in ("honest", "inverting", "lying", "flip"))
    error = Fraction(0)
    for i, j, lost in _lost(implementation, H, A, L, *(case.settings[key] for key in ("way", "zeros", "sign"))):
        of_honest = math.comb(H, i) * q**i * (1 - q) ** (H - i)
        error += lost * of_honest * math.comb(A, j) * q**j * (1 - q) ** (A - j)
    return error


_ABOUT_LIARS = ("adversaries.negation_is_worst", "adversaries.liars")
"""Claims that say nothing new where no adversary lies; others about adversaries are about those that invert."""


def _vote_error(name: str, implementation: Any, case: Case) -> Outcome:
    values = _known_of_votes(name, implementation, case)
    # erfc and exp are good to an ulp or so, and the error changes at most P times as much as a worker's
    slack = 4 * values["P"] * float(np.finfo(float).eps) if isinstance(values["snr"], float) else 0.0
    active = not name.startswith("adversaries") or case.settings["L" if name in _ABOUT_LIARS else "A"] > 0
    return Outcome(case.once(error, implementation), values, slack, active)


def _all_alike(name: str, implementation: Any, case: Case) -> Outcome:
    """The error where all workers have the same noise: two patterns, all wrong and all right."""
    values = _known_of_votes(name, implementation, case)
    lost = _lost(implementation, *(case.settings[key] for key in ("P", "A", "L", "way", "zeros", "sign")))
    q = values["flip"]
    of_wrong = {i: share for i, _, share in lost}
    return Outcome((1 - q) * of_wrong[0] + q * of_wrong[values["P"]], values, active=values["P"] > 1)


def votes(P: int, A: int = 0, L: int = 0, noise: str = "uniform", r: str = "1/2", **given: Any) -> Case:
    """A case of P workers, A of them inverting and L lying."""
    how = {"kept": "1/2", "way": "server", "zeros": "plus", "sign": 1, **given}
    return settings(P=P, A=A, L=L, noise=noise, r=r, **how)


_NOISES = (
    *(("uniform", r, "1") for r in ("1/10", "1/3", "1/2", "2/3", "1", "3/2")),
    *(("spike", r, kept) for r in ("1/4", "2/3", "3/4") for kept in ("1/3", "2/3")),
    ("triangle", "1/4", "1"),
    ("triangle", "1/2", "1"),
    ("skewed", "1", "1"),
)
"""(noise, r, kept), all rational but for roots in S."""


def _every_vote(level: int) -> Iterator[Case]:
    ways = itertools.cycle(WAYS)
    for P in (1, 2, 3, 5, 8, *((4, 6, 7) if level else ())):
        splits = [(A, L) for A in range(P + 1) for L in range(P + 1 - A) if P <= 3 or A * L == 0 or A == L == 1]
        for (A, L), (noise, r, kept) in itertools.product(splits, _NOISES if P < 8 else _NOISES[1::3]):
            for zeros, sign in (("plus", 1), ("plus", -1), ("coin", 1), ("abstain", -1)):
                way = next(ways)
                yield votes(P, A, L, noise, r, kept=kept, zeros=zeros, sign=sign, way=way)


_WORST = (("uniform", "1/10", "1"), ("uniform", "8/15", "1"), ("uniform", "2/3", "1"), ("spike", "2/3", "1/2"))
"""(noise, r, kept) of laws that attain Gauss' bound."""
_SPLITS = ((1, 0, 0), (2, 0, 0), (3, 0, 0), (3, 1, 0), (5, 2, 0), (8, 0, 0), (8, 3, 0), (30, 0, 1))
"""(workers, inverting, lying) that lose their ties under them."""


def _votes_by_hand(_budget: Budget) -> Iterator[Case]:
    for P, noise, r in itertools.product((1, 2, 3, 4, 9, 16), ("normal", "laplace"), ("1/100", "1/4", "1", "2", "4")):
        yield votes(P, noise=noise, r=r, zeros="abstain")
        yield votes(P, A=(P - 1) // 2, noise=noise, r=r, zeros="coin")
    for noise, r in (("skewed", "1"), ("uniform", "1/2")):
        for P in (14, 15, 40):
            yield votes(P, noise=noise, r=r)
    for P in (10, 16):  # so many that nine tenths of them are a worker fewer
        yield votes(P, zeros="coin")
    for A, L in ((0, 44), (44, 0), (20, 24)):
        yield votes(100, A, L, r="2/3")
    # majorities that are small for so many workers: there the numbers of adversaries, and q, weigh most
    yield votes(200, r="1/1000")
    yield votes(298, L=148, r="247/250", zeros="abstain")
    yield votes(151, A=75, noise="spike", r="2/3")
    yield votes(58, A=28, noise="spike", r="2/3", kept="1/7", zeros="abstain")
    for (P, A, L), (noise, r, kept) in itertools.product(_SPLITS, _WORST):
        yield votes(P, A, L, noise, r, kept=kept, zeros="abstain")


@st.composite
def _drawn_votes(draw: st.DrawFn) -> Case:
    P = draw(integers(1, 24))
    A = draw(integers(0, P))
    L = draw(integers(0, P - A)) if draw(sampled_from((False, True))) else 0
    noise = draw(sampled_from((*_UNIMODAL, "skewed")))
    r, kept = Fraction(draw(integers(1, 40)), 16), Fraction(draw(integers(1, 8)), 8)
    how = {"zeros": draw(sampled_from(ZEROS)), "sign": draw(sampled_from((1, -1))), "way": draw(sampled_from(WAYS))}
    return votes(P, A, L, noise, str(r), kept=str(kept), **how)


def _worst_noise(P: Sequence[int], _budget: Budget) -> Iterator[Case]:
    for workers, zeros, (noise, r, kept) in itertools.product(P, ("plus", "abstain"), _WORST):
        yield votes(workers, noise=noise, r=r, kept=kept, zeros=zeros)


def _two_alone(r: str, _budget: Budget) -> Iterator[Case]:
    """Two workers that lose their ties, uniform noise on [-1/r, 1/r] times the gradient."""
    for way, sign in itertools.product(WAYS, (1, -1)):
        yield votes(2, r=r, zeros="abstain", way=way, sign=sign)


def _half(_budget: Budget) -> Iterator[Case]:
    for P in (2, 4, 8):
        yield votes(P, A=P // 2, zeros="coin")


def _refuting(*given: dict[str, Any]) -> Callable[[Budget], Iterator[Case]]:
    return lambda _budget: (votes(**each) for each in given)


def _of_errors(
    statement: str, axis: str, label: str, cases: Sequence[Case], extremal: Any = None, measure: Any = _vote_error
) -> Study:
    return Study(
        f"majority.{statement}",
        "majority_vote",
        partial(measure, statement),
        grid=_every_vote,
        corpus=_votes_by_hand,
        cases=_drawn_votes,
        extremal=extremal,
        curves=[over(axis, label, cases)],
        known=partial(_known_of_votes, statement),
        enumerated="1, 2, 3, 5 and 8 workers, all signs of all of them; inverting and lying ones among them",
    )


_workers = [1, 2, 3, 4, 5, 8, 9, 16, 25, 36, 64, 100]

_ERRORS = (
    _of_errors("vote.law", "honest", "uniform noise, S = 0.346; two more invert, one lies",
               [votes(H + 3, 2, 1, r="1/5", zeros="coin") for H in (0, 1, 2, 4, 8, 16, 32)]),
    _of_errors("vote.even_worker", "P", "uniform noise, S = 0.346",
               [votes(P, r="1/5", zeros="coin") for P in (2, 4, 6, 8, 16, 32)]),
    _of_errors("worker.gauss", "snr", "normal noise",
               [votes(1, noise="normal", r=f"{S}/10") for S in (1, 2, 4, 6, 8, 10, 12, 15, 20, 30)],
               partial(_worst_noise, (1,))),
    _of_errors("vote.sharp", "P", "normal noise, S = 1/4, ties lost",
               [votes(P, noise="normal", r="1/4", zeros="abstain") for P in _workers],
               partial(_worst_noise, (1, 2, 3, 8))),
    _of_errors("vote.bound", "P", "uniform noise, S = 0.346, ties lost",
               [votes(P, r="1/5", zeros="abstain") for P in _workers],
               partial(_two_alone, "8/15")),
    _of_errors("vote.any_noise", "P", "50 with probability 1/10, else -1",
               [votes(P, noise="skewed", r="1") for P in _workers],
               _refuting({"P": 15, "noise": "skewed", "r": "1"}, {"P": 100, "noise": "skewed", "r": "1"})),
    _of_errors("vote.shared_noise", "P", "uniform noise, S = 0.346",
               [votes(P, r="1/5") for P in _workers], _refuting({"P": 40}, {"P": 100}), _all_alike),
    _of_errors("adversaries.inverting", "inverting", "25 workers, uniform noise, S = 0.866",
               [votes(25, A) for A in range(0, 13, 2)]),
    _of_errors("adversaries.negation_is_worst", "P",
               "44 % vote against the gradient; uniform noise, S = 1.155",
               [votes(P, L=P * 11 // 25, r="2/3") for P in (25, 50, 75, 100, 150, 200)],
               _refuting({"P": 100, "L": 44, "r": "2/3"}, {"P": 200, "L": 88, "r": "2/3"})),
    _of_errors("adversaries.liars", "lying", "30 honest workers, uniform noise, S = 1.155",
               [votes(30 + L, L=L, r="2/3") for L in range(0, 20, 3)],
               partial(_two_alone, "1/10000")),
    _of_errors("adversaries.half", "P", "half and one invert; uniform noise, S = 0.346",
               [votes(P, A=P // 2 + 1, r="1/5", zeros="coin") for P in (2, 4, 6, 8, 16, 32)], _half),
)  # fmt: skip

# --- ties --------------------------------------------------------------------------------------------------------


def _every_ballot(P: int, entries: Sequence[float]) -> Array:
    return np.array(list(itertools.product(entries, repeat=P))).T


def _all_votes(implementation: Any, case: Case) -> Array:
    """The votes on all ballots, with all coins that matter, one column each: all equally likely."""
    P, way, zeros, zero_entries = (case.settings[key] for key in ("P", "way", "zeros", "zero_entries"))
    x = _every_ballot(P, (1.0, -1.0, 0.0) if zero_entries else (1.0, -1.0))
    if zeros != "coin":
        votes, _ = implementation(x, way, zeros)
        return np.asarray(votes)
    coins = np.array(list(itertools.product((False, True), repeat=P + 1)))
    if not zero_entries:
        coins = coins[:2]  # a tie's coin alone
    tossed = np.tile(coins.T, x.shape[1])
    votes, _ = implementation(np.repeat(x, len(coins), axis=1), way, zeros, coins=tossed)
    return np.asarray(votes)


def _of_all_votes(measure: Callable[[Array], Any], implementation: Any, case: Case) -> Outcome:
    P, undecided = case.settings["P"], case.settings["P"] % 2 == 0 or case.settings["zero_entries"]
    return Outcome(measure(case.once(_all_votes, implementation)), {"P": P}, active=undecided)


def _different(votes: Array) -> int:
    return int(np.unique(votes).size)


def _mean(votes: Array) -> Fraction:
    return Fraction(int(votes[0].sum()), votes.shape[1])


def _rules(level: int) -> Iterator[Case]:
    for P, way, zeros, zero_entries in itertools.product(range(1, 6 + level), WAYS, ZEROS, (False, True)):
        yield settings(P=P, way=way, zeros=zeros, zero_entries=zero_entries)
    for way, zeros in itertools.product(WAYS, ZEROS):
        yield settings(P=8, way=way, zeros=zeros, zero_entries=False)


def _of_ties(
    name: str, measure: Callable[[Array], Any], rule: str, ranks: Sequence[int], extremal: Sequence[int] = ()
) -> Study:
    def cases(numbers: Sequence[int]) -> list[Case]:
        return [settings(P=P, way="server", zeros=rule, zero_entries=False) for P in numbers]

    return Study(
        f"majority.{name}",
        "majority_vote",
        partial(_of_all_votes, measure),
        grid=_rules,
        extremal=(lambda _budget: iter(cases(extremal))) if extremal else None,
        curves=[over("P", f"zeros: {rule}", cases(ranks))],
        enumerated="up to 5 workers, all signs, zeros too, and all coins; of 8 workers all signs",
    )


_some = range(1, 11)
_TIES = (
    _of_ties("ties.one_bit", _different, "abstain", _some, (2, 4)),
    _of_ties("ties.broken", _different, "plus", _some, (1, 2, 5)),
    _of_ties("ties.drift", _mean, "plus", range(1, 13)),
    _of_ties("ties.fair", _mean, "coin", _some),
)

# --- stacks ------------------------------------------------------------------------------------------------------

_FAMILIES: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "small integers": lambda rng, P, n: rng.integers(-2, 3, (P, n)).astype(np.float64),
    "signs": lambda rng, P, n: rng.choice((-1.0, 1.0), (P, n)),
    "one outvoted": lambda rng, P, n: np.where(np.arange(P)[:, None] == 0, P + 1.0, -1.0) * np.ones(n),
    "normal": lambda rng, P, n: rng.standard_normal((P, n)),
    "of all sizes": lambda rng, P, n: rng.standard_normal((P, n)) * 10.0 ** rng.integers(-30, 31, (P, n)),
    "subnormal": lambda rng, P, n: rng.standard_normal((P, n)) * 1e-318,
}
"""Stacks by name, simplest first."""


def _stack_of(P: int, n: int, family: str, seed: int = 0, way: str = "server", zeros: str = "plus") -> Case:
    x = _FAMILIES[family](np.random.default_rng([seed, P, n]), P, n)
    return Case({"P": P, "n": n, "family": family, "seed": seed, "way": way, "zeros": zeros}, x)


_RULES = tuple(itertools.product(WAYS, ZEROS))


def _small_stacks(level: int) -> Iterator[Case]:
    rules = itertools.cycle(_RULES)
    every, two = (0.0, 1.0, -1.0, 4.0, -4.0), (4.0, -1.0)
    shapes = [((P, n), every) for P, n in ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1), *(((3, 2),) if level else ()))]
    for (P, n), values in (*shapes, ((5, 1), two), ((8, 1), two)):
        for entries in itertools.product(values, repeat=P * n):
            way, zeros = next(rules)
            x = np.array(entries).reshape(P, n)
            yield Case({"P": P, "n": n, "seed": 0, "way": way, "zeros": zeros}, x)


def _stacks_by_hand(_budget: Budget) -> Iterator[Case]:
    rules = itertools.cycle(_RULES)
    for (P, n), family in itertools.product(((1, 5), (2, 3), (3, 8), (5, 17), (8, 40)), _FAMILIES):
        for way, zeros in itertools.islice(rules, 4):
            yield _stack_of(P, n, family, way=way, zeros=zeros)


def _drawn_stacks() -> st.SearchStrategy[Case]:
    return st.builds(
        _stack_of,
        integers(1, 9),
        integers(1, 20),
        sampled_from(tuple(_FAMILIES)),
        integers(0, 2**20),
        sampled_from(WAYS),
        sampled_from(ZEROS),
    )


def _scales(case: Case) -> dict[str, Array]:
    """A factor for every rank."""
    P, seed = case.settings["P"], case.settings["seed"]
    return {"scales": 10.0 ** np.random.default_rng(seed).uniform(-9, 9, (P, 1))}


def _both_votes(implementation: Any, x: Array, case: Case) -> Array:
    """The vote with all coins heads and with all tails: with other coins every entry is as in one of the two."""
    way, zeros = case.settings["way"], case.settings["zeros"]
    return np.array(
        [_voted(implementation, x, way, zeros, heads)[0] for heads in (True, False)[: 1 + (zeros == "coin")]]
    )


def _own_votes(implementation: Any, case: Case) -> Array:
    return _both_votes(implementation, case.array, case)


def _overturned(implementation: Any, case: Case) -> Outcome:
    x, before = case.array, case.once(_own_votes, implementation)
    after = _both_votes(implementation, case.once(_scales)["scales"] * x, case)
    return Outcome(int(np.count_nonzero((before != after).any(axis=(0, 1)))), {"P": len(x), "n": x.shape[1]})


def _distortion(implementation: Any, case: Case) -> Outcome:
    P, n = case.array.shape
    return Outcome(case.once(_distorted, implementation), {"P": P, "n": n})


def _distorted(implementation: Any, case: Case) -> Fraction:
    """In rational arithmetic, of rank 0's vote with the worst coins."""
    x = case.array
    P, n = x.shape
    mean = [sum(map(Fraction, column), Fraction(0)) / P for column in x.T.tolist()]
    votes = case.once(_own_votes, implementation)[:, 0].T.tolist()
    scale = sum(map(abs, mean)) / n
    error = sum(max((scale * Fraction(v) - m) ** 2 for v in of_entry) for of_entry, m in zip(votes, mean, strict=True))
    return Fraction(error / sum(m * m for m in mean))


def _outvoted(_budget: Budget) -> Iterator[Case]:
    for P, n in ((3, 1), (3, 4), (5, 3)):
        yield _stack_of(P, n, "one outvoted")


def _of_stacks(name: str, trial: Any, **options: Any) -> Study:
    return Study(
        f"majority.{name}",
        "majority_vote",
        trial,
        grid=_small_stacks,
        corpus=_stacks_by_hand,
        cases=_drawn_stacks,
        enumerated="every stack of 1 or 2 ranks and entries, or 3 ranks and one, of 0, 1, -1, 4 and -4, or of 5 or 8 "
        "ranks and an entry, of 4 and -1",
        **options,
    )


def _of_outvoted(name: str) -> Study:
    cases = [_stack_of(P, 64, "one outvoted") for P in (1, 2, 3, 5, 8, 16, 32)]
    curve = over("P", "one worker outvoted, n = 64", cases)
    return _of_stacks(name, _distortion, extremal=_outvoted, curves=[curve])


EXPERIMENTS = studies(
    *_BYTES,
    _of_stacks("vote.scale", _overturned, known=lambda _implementation, case: case.once(_scales)),
    *_ERRORS,
    *map(_of_outvoted, ("vote.no_expansion", "vote.distortion")),
    *_TIES,
)
