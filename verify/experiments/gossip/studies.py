"""Gossip averaging, push-sum and all-reduce with restarts: the claims bound to their implementations."""

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from commbounds.array_types import Floats, Mask
from commbounds.collectives.gossip.mixing import TOPOLOGIES
from commbounds.collectives.traffic import Traffic
from commbounds.verify.experiments.gossip.restarts import RESTART_STUDIES
from commbounds.verify.experiments.gossip.spectral import SPECTRAL_STUDIES, neighbours
from commbounds.verify.experiments.moshpit.averaging import (
    distortions,
    identity,
    mean_of,
    mean_shift,
    some_vectors,
    whole_numbers,
)
from commbounds.verify.family import Family, FamilyStudy, Rounded
from commbounds.verify.space import RANKS, Of, Space, nothing, rationals
from commbounds.verify.study import Outcome, chained, studies

Averaging = Callable[..., tuple[Floats, Traffic]]
PushSum = Callable[..., tuple[tuple[Floats, Floats], Traffic]]
_EPS = float(np.finfo(np.float64).eps)


def _hops(N: int) -> int:
    return (N - 1).bit_length()


def _bits(number: int, count: int) -> Mask:
    """The binary digits of a number, the last first."""
    return np.array([number >> i & 1 for i in range(count)], np.bool_)


# --- rounds without failures -------------------------------------------------------------------------------------


def _averaged(implementation: Averaging, topology: str, N: int, rounds: int, start: int) -> tuple[Floats, Floats]:
    """A unit vector for every peer, times what makes every mean a whole number: before and after."""
    x = identity(N, (neighbours(topology, N) + 1) ** rounds)
    return x, implementation(x, topology, rounds, start=start)[0]


def _factor(found: tuple[Floats, Floats]) -> Fraction:
    before, after = (sum(distortions(x)) for x in found)
    return Fraction(after) / before


def _left(found: tuple[Floats, Floats], N: int) -> Outcome:
    return Outcome(sum(distortions(found[1])), {}, active=N > 1)


def _words(implementation: Averaging, topology: str, N: int, n: int, rounds: int) -> Outcome:
    _, traffic = implementation(np.ones((N, n)), topology, rounds)
    return Outcome(int(traffic.sent.max()), {}, active=rounds > 0)


_ROUNDS = Space(nothing, {"topology": ("ring",), "N": RANKS, "n": (1,), "rounds": (0,), "start": (0,)})
_GOSSIP, _PUSH_SUM = (
    Family("gossip", subject, _ROUNDS, run=_averaged, searched=False) for subject in ("gossip", "push_sum")
)
_UNIT = "a unit vector for every peer"
_IN_TURN = _GOSSIP.every(
    topology=["one-peer"],
    N=lambda level: (*RANKS, 16, 32, 64)[: 11 + level],
    rounds=lambda N: [_hops(N)],
    start=lambda rounds: (0, rounds),
)


def _sends(statement: str, topology: str, family: Family = _GOSSIP) -> tuple[FamilyStudy, ...]:
    sizes = (4, 9, 16) if topology == "torus" else RANKS
    return family.studies(
        _words,
        f"{statement}.words",
        grid=family.every(topology=[topology], N=sizes, n=(1, 3), rounds=range(4)),
        corpus=None,
        enumerated="up to 16 peers, 3 entries and 3 rounds",
        curves=[family.over("n", (1, 4, 16, 64, 256), "N = 16, four rounds", topology=topology, N=16, rounds=4)],
    )


# --- the mean ----------------------------------------------------------------------------------------------------


def _links(topology: str, N: int, alive: int | str, broken: int | str, seed: int) -> dict[str, Any]:
    """Which links work, which peers are there, and how many links do not deliver while the other way they do."""
    rng, targets = np.random.default_rng([seed, N]), TOPOLOGIES[topology](N, 0)
    there = rng.random(N) < 0.5 if isinstance(alive, str) else _bits(alive, N)
    if isinstance(broken, str):
        cut = np.triu(rng.random((N, N)) < 0.4)
        works = ~(cut | cut.T)[np.arange(N)[:, None], targets]
    else:
        works = ~_bits(broken, targets.size).reshape(targets.shape)
    heard = np.zeros((N, N), np.int64)
    for h in range(targets.shape[1]):
        np.add.at(heard, (np.arange(N), targets[:, h]), works[:, h] & there & there[targets[:, h]])
    return {"works": works, "there": there, "oneway": int(np.abs(heard - heard.T).sum()) // 2}


def _shift(missing: str, implementation: Averaging, topology: str, N: int, works: Mask, there: Mask) -> Outcome:
    """One round with the given peers down and links broken."""
    x = identity(N, int(np.lcm.reduce(np.arange(1, works.shape[1] + 2))))
    result, _ = implementation(x, topology, 1, alive=there[None], delivered=[works], missing=missing)
    return Outcome(mean_shift(x, result), {}, active=not (works.all() and there.all()))


_ALL = Of("2^N - 1, all", lambda N: 2**N - 1)
_LOSSES = (
    Space(
        nothing,
        {"topology": ("ring", "torus"), "N": (*RANKS, 16), "alive": (_ALL, "drawn"), "broken": ("both ways", 0)},
    )
    .without("A torus of no square.", lambda topology, N: topology == "torus" and N not in (1, 4, 9, 16))
    .without("Nothing is lost.", lambda N, alive, broken: alive == 2**N - 1 and not broken)
)
_MIXED = Family("gossip", "gossip", _LOSSES, _links, arrays=4, searched=False)
_EVERY_FAILURE = _MIXED.every(
    topology=("ring", "torus"),
    N=lambda topology, level: (1, 4, 9)[: 2 + (level > 0)] if topology == "torus" else range(1, 7),
    alive=lambda N: range(2**N),
    broken=[0],
)
# two links of every peer
_EVERY_LOSS = _MIXED.every(
    topology=["ring"], N=lambda level: range(1, 4 + (level > 0)), broken=lambda N: range(2 ** (2 * N))
)


@lru_cache(maxsize=1 << 6)
def _shifts_of_ring(implementation: Averaging, N: int) -> list[Fraction]:
    """Squared distance that the mean moves, for every set of links that break."""
    x, moved = some_vectors(N, 2, 1, 3), []
    for broken in range(2 ** (2 * N)):
        works = ~_bits(broken, 2 * N).reshape(N, 2)
        moved.append(mean_shift(x, implementation(x, "ring", 1, delivered=[works], missing="self")[0]))
    return moved


def _one_way(implementation: Averaging, N: int, loss: Fraction) -> Outcome:
    """E ||shift||^2 of a round on a ring, over all ways for links to break."""
    x, targets, total = some_vectors(N, 2, 1, 3), TOPOLOGIES["ring"](N, 0), Fraction(0)
    for lost, moved in enumerate(_shifts_of_ring(implementation, N)):
        down = lost.bit_count()
        total += loss**down * (1 - loss) ** (targets.size - down) * moved
    squares = np.square(x[:, None, :] - x[targets]).sum()
    return Outcome(total, {"roughness": Fraction(int(squares), N)})


_RINGS = Family(
    "gossip",
    "gossip",
    Space(nothing, {"N": (1, 2, 3, 4, 5), "loss": rationals(0, "1/3", "1/5", 1)}),
    searched=False,
)

# --- push-sum ----------------------------------------------------------------------------------------------------


def _vectors(topology: str, N: int, n: int, rounds: int) -> Floats:
    return some_vectors(N, n, 1, (neighbours(topology, N) + 1) ** rounds)


def _delivered(topology: str, N: int, rounds: int, loss: float, works: int | str, seed: int) -> dict[str, Any]:
    """Which links work in each round: bit by bit, or drawn."""
    shapes = [TOPOLOGIES[topology](N, t).shape for t in range(rounds)]
    ends = np.cumsum([0, *(a * b for a, b in shapes)])
    drawn = np.random.default_rng(seed).random(ends[-1]) >= loss
    links = drawn if isinstance(works, str) else _bits(works, int(ends[-1]))
    parts = zip(itertools.pairwise(ends), shapes, strict=True)
    return {"delivered": [links[begin:end].reshape(shape) for (begin, end), shape in parts]}


def _moved(lost: str, implementation: PushSum, x: Floats, topology: str, N: int, delivered: list[Mask]) -> Outcome:
    """How far the weighted mean of the estimates moves, for the given broken links."""
    (sums, weights), _ = implementation(x, topology, len(delivered), delivered=delivered, lost=lost)
    held, scale = whole_numbers(np.asarray(weights, np.float64))
    estimate = Fraction(int(held.sum()), scale * N)
    after = [total / estimate for total in mean_of(sums)]
    shift = sum(((a - b) ** 2 for a, b in zip(after, mean_of(x), strict=True)), Fraction(0))
    return Outcome(shift, {}, active=not all(works.all() for works in delivered))


def _range(implementation: PushSum, x: Floats, topology: str, N: int, rounds: int, delivered: list[Mask]) -> Rounded:
    (sums, weights), _ = implementation(x, topology, rounds, delivered=delivered)
    estimates, start = sums[:, 0] / weights, float(np.ptp(x))
    # a share is rounded once, a sum of k + 1 shares k times, a ratio once more; both ends of the range
    slack = 2 * (rounds * (neighbours(topology, N) + 2) + 2) * _EPS * float(np.abs(x).max()) / start
    return Rounded(float(np.ptp(estimates) / start), slack)


_PUSHED = Space(
    _vectors,
    {
        "topology": ("one-peer", "ring", "exponential"),
        "N": RANKS,
        "n": (1,),
        "rounds": (1, 0, 2, 3, 6),
        "loss": (0.2, 0.0, 0.9),
        "works": ("drawn",),
    },
)
_RANGES = Family("gossip", "push_sum", _PUSHED.search(N=(1, 12), rounds=(0, 6)), _delivered, exact=False)
# shares of one half are exact
_HALVES = Family("gossip", "push_sum", _PUSHED.replaced(topology=("one-peer",), n=(2,)), _delivered, searched=False)
_LENGTHS = {1: (1,), 2: (1, 2), 3: (2, 3), 4: (2,), 5: (1, 2), 8: (1,)}
"""Rounds by peers; three peers and more rounds make 2^9 ways and beyond."""
_EVERY_LINK = _HALVES.every(
    N=_LENGTHS,
    rounds=lambda N, level: [rounds for rounds in _LENGTHS[N] if level or N * rounds < 9],
    works=lambda N, rounds: range(2 ** (N * rounds if N > 1 else 0)),
)
_OF_MASS: dict[str, Any] = {
    "grid": chained(_EVERY_LINK, _HALVES.grid),
    "enumerated": "all ways for links to break, up to 8 peers and 2 rounds, and some up to 9 peers and 6 rounds",
}

EXPERIMENTS = studies(
    *SPECTRAL_STUDIES,
    *_GOSSIP.studies(
        _factor,
        "ring.iid",
        grid=_GOSSIP.every(topology=["ring"], N=RANKS, rounds=lambda level: range(5 + level)),
        corpus=None,
        enumerated=f"up to 9 peers and 4 rounds; {_UNIT}",
        curves=[_GOSSIP.over("rounds", (0, 1, 2, 4, 8), "N = 16", topology="ring", N=16)],
    ),
    *_GOSSIP.studies(
        _factor,
        "one_peer.factor",
        grid=_GOSSIP.every(
            topology=["one-peer"],
            N=lambda level: (*RANKS, 16, 32)[: 10 + level],
            rounds=lambda N: range(_hops(N) + 2),
        ),
        corpus=None,
        enumerated=f"up to 16 peers, every number of rounds; {_UNIT}",
        curves=[_GOSSIP.over("rounds", range(5), "N = 16", topology="one-peer", N=16)],
    ),
    *_GOSSIP.studies(
        _left,
        "one_peer.exact",
        "one_peer.any_number",
        grid=_IN_TURN,
        corpus=None,
        enumerated=f"up to 32 peers, from the first shift and once more; {_UNIT}",
    ),
    *_MIXED.studies(
        partial(_shift, "self"),
        "mean.own_instead",
        grid=chained(_EVERY_FAILURE, _EVERY_LOSS, _MIXED.grid),
        enumerated="all failures of peers on rings of up to 6 and the torus of 4, of links on rings of up to 3, some "
        f"on others; {_UNIT}",
    ),
    *_RINGS.studies(
        _one_way,
        "mean.one_way",
        enumerated="all ways for links to break, rings of up to 5",
        curves=[_RINGS.over("loss", rationals(0, "1/8", "1/4", "1/2", "3/4", 1), "a ring of three", N=3)],
    ),
    *_MIXED.studies(
        partial(_shift, "renormalise"),
        "mean.renormalised",
        grid=chained(_EVERY_FAILURE, _MIXED.grid),
        enumerated=f"all failures on rings of up to 6 and the torus of 4, some on others; {_UNIT}",
    ),
    *_HALVES.studies(partial(_moved, "kept"), "push_sum.mean", **_OF_MASS),
    *_HALVES.studies(partial(_moved, "gone"), "push_sum.losing", **_OF_MASS),
    *_RANGES.studies(
        _range,
        "push_sum.range",
        extremal=_RANGES.every(topology=("one-peer", "ring", "exponential"), N=(2, 5), rounds=[3], loss=[1.0]),
        curves=[
            _RANGES.over(
                "rounds", range(0, 21, 2), "N = 12, one peer, 20 % link loss", topology="one-peer", N=12, loss=0.2
            )
        ],
    ),
    *RESTART_STUDIES,
    *_sends("ring", "ring"),
    *_sends("torus", "torus"),
    *_sends("exponential", "exponential"),
    *_sends("one_peer", "one-peer"),
    *_sends("push_sum", "one-peer", _PUSH_SUM),
)
