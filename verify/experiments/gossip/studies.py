"""Gossip averaging, push-sum and all-reduce with restarts: the claims bound to their implementations."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.collectives.gossip.mixing import TOPOLOGIES
from commbounds.verify.experiments.gossip.restarts import RESTART_STUDIES
from commbounds.verify.experiments.gossip.spectral import SPECTRAL_STUDIES, neighbours
from commbounds.verify.experiments.moshpit.averaging import (
    distortions,
    identity,
    mean_of,
    mean_shift,
    settings,
    some_vectors,
    whole_numbers,
)
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.study import Case, Outcome, Study, over, studies

_EPS = float(np.finfo(np.float64).eps)


def _hops(N: int) -> int:
    return (N - 1).bit_length()


# --- averages over inputs, exactness -----------------------------------------------------------------------------


def _iid(topology: str, implementation: Any, case: Case) -> Outcome:
    N, rounds = case.settings["N"], case.settings["rounds"]
    x = identity(N, (neighbours(topology, N) + 1) ** rounds)
    result, _ = implementation(x, topology, rounds)
    return Outcome(sum(distortions(result)) / Fraction(sum(distortions(x))), {"N": N, "rounds": rounds})


def _exact(implementation: Any, case: Case) -> Outcome:
    N, hops = case.settings["N"], _hops(case.settings["N"])
    result, _ = implementation(identity(N, 2**hops), "one-peer", hops, start=hops * case.settings.get("sweep", 0))
    return Outcome(sum(distortions(result)), {"N": N, "rounds": hops}, active=N > 1)


# --- the mean ----------------------------------------------------------------------------------------------------


def _renormalised(implementation: Any, case: Case) -> Outcome:
    """One round with the given peers down."""
    N, topology = case.settings["N"], case.settings["topology"]
    k = neighbours(topology, N)
    scale = int(np.lcm.reduce(np.arange(1, k + 2)))
    alive = np.array([case.settings["alive"] >> i & 1 for i in range(N)], np.bool_)
    x = identity(N, scale)
    result, _ = implementation(x, topology, 1, alive=alive[None], missing="renormalise")
    return Outcome(mean_shift(x, result), {"N": N})


def _every_failure(level: int) -> Iterator[Case]:
    for topology, sizes in (("ring", (1, 2, 3, 4, 5, 6)), ("torus", (1, 4, 9)[: 2 + (level > 0)])):
        for N in sizes:
            for alive in range(2**N):
                yield settings(topology=topology, N=N, alive=alive)
    for seed in range(20):
        yield settings(topology="torus", N=9, alive=int(np.random.default_rng(seed).integers(2**9)))


def _links_of_round(case: Case) -> Any:
    """To whom the peers of a case send, (N, k), which of these links work, and which peers are there."""
    N, topology = case.settings["N"], case.settings["topology"]
    targets = TOPOLOGIES[topology](N, 0)
    bits = case.settings.get("broken", 0)
    works = np.array([not bits >> i & 1 for i in range(targets.size)], np.bool_).reshape(targets.shape)
    alive = np.array([case.settings["alive"] >> i & 1 for i in range(N)], np.bool_)
    return targets, works, alive


def _one_way_links(_implementation: Any, case: Case) -> dict[str, int]:
    """How many links do not deliver while the same link the other way does."""
    targets, works, alive = _links_of_round(case)
    N = len(alive)
    heard = np.zeros((N, N), np.int64)
    for h in range(targets.shape[1]):
        np.add.at(heard, (np.arange(N), targets[:, h]), works[:, h] & alive & alive[targets[:, h]])
    return {"oneway": int(np.abs(heard - heard.T).sum()) // 2}


def _own_instead(implementation: Any, case: Case) -> Outcome:
    """One round with the given peers down and links broken."""
    targets, works, alive = _links_of_round(case)
    N = len(alive)
    x = identity(N, int(np.lcm.reduce(np.arange(1, targets.shape[1] + 2))))
    result, _ = implementation(x, case.settings["topology"], 1, alive=alive[None], delivered=[works], missing="self")
    return Outcome(mean_shift(x, result), {"N": N}, active=not (works.all() and alive.all()))


def _every_loss(level: int) -> Iterator[Case]:
    yield from _every_failure(level)
    for N in (1, 2, 3, *((4,) if level else ())):  # two links of every peer: 2^(2 N) ways
        for broken in range(2 ** (2 * N)):
            yield settings(topology="ring", N=N, alive=2**N - 1, broken=broken)
    for N, topology in ((5, "ring"), (8, "ring"), (4, "torus"), (9, "torus")):
        targets = TOPOLOGIES[topology](N, 0)
        for seed in range(8):  # links that break both ways, and some peers down
            rng = np.random.default_rng([seed, N])
            cut = np.triu(rng.random((N, N)) < 0.4)
            lost = (cut | cut.T)[np.arange(N)[:, None], targets].ravel()
            alive = int(rng.integers(2**N)) if seed % 2 else 2**N - 1
            yield settings(topology=topology, N=N, alive=alive, broken=sum(1 << int(i) for i in np.flatnonzero(lost)))


def _one_way(implementation: Any, case: Case) -> Outcome:
    """E ||shift||^2 of a round on a ring, over all ways for links to break."""
    N, loss, x = case.settings["N"], Fraction(case.settings["loss"]), some_vectors(case.settings["N"], 2, 1, 3)
    targets = TOPOLOGIES["ring"](N, 0)
    total = Fraction(0)
    for lost, moved in enumerate(case.once(_shifts_of_ring, implementation)):
        down = lost.bit_count()
        total += loss**down * (1 - loss) ** (targets.size - down) * moved
    squares = np.square(x[:, None, :] - x[targets]).sum()
    return Outcome(total, {"N": N, "loss": loss, "roughness": Fraction(int(squares), N)})


def _shifts_of_ring(implementation: Any, case: Case) -> list[Fraction]:
    """Squared distance that the mean moves, for every set of links that break."""
    N, moved = case.settings["N"], []
    x = some_vectors(N, 2, 1, 3)
    for broken in range(2 ** (2 * N)):
        works = np.array([not broken >> i & 1 for i in range(2 * N)], np.bool_).reshape(N, 2)
        moved.append(mean_shift(x, implementation(x, "ring", 1, delivered=[works], missing="self")[0]))
    return moved


def _lossy_rings(level: int) -> Iterator[Case]:
    for N in range(1, 6):
        for loss in ("0", "1/3", "1") if N < 4 or level else ("1/5",):
            yield settings(N=N, loss=loss)


def _push(lost: str, implementation: Any, case: Case) -> Outcome:
    """How far the weighted mean of the estimates moves, for the given broken links."""
    N, rounds, x, delivered = _links(case, 2)
    (sums, weights), _ = implementation(x, case.settings["topology"], rounds, delivered=delivered, lost=lost)
    held, scale = whole_numbers(np.asarray(weights, np.float64))
    estimates = [Fraction(int(held.sum()), scale * N)]
    after = [total / estimates[0] for total in mean_of(sums)]
    shift = sum(((a - b) ** 2 for a, b in zip(after, mean_of(x), strict=True)), Fraction(0))
    return Outcome(shift, {"N": N}, active=not all(works.all() for works in delivered))


def _links(case: Case, n: int) -> tuple[int, int, Any, Any]:
    """Peers, rounds, vectors of n entries, and which links work: bit by bit, or drawn."""
    N, rounds, topology = (case.settings[key] for key in ("N", "rounds", "topology"))
    shapes = [TOPOLOGIES[topology](N, t).shape for t in range(rounds)]
    if "seed" in case.settings:
        rng = np.random.default_rng(case.settings["seed"])
        delivered = [rng.random(shape) >= case.settings["loss"] for shape in shapes]
    else:
        bits = iter(case.settings["works"] >> i & 1 == 1 for i in range(sum(a * b for a, b in shapes)))
        delivered = [np.array([next(bits) for _ in range(a * b)], np.bool_).reshape(a, b) for a, b in shapes]
    share = neighbours(topology, N) + 1
    return N, rounds, some_vectors(N, n, 1, share**rounds), delivered


def _every_link(level: int) -> Iterator[Case]:
    # shares of one half are exact; three peers and more rounds make 2^9 ways and beyond
    for N, rounds in ((1, 1), (2, 1), (2, 2), (3, 2), (4, 2), (5, 1), (8, 1), *(((3, 3), (5, 2)) if level else ())):
        for works in range(2 ** (N * rounds if N > 1 else 0)):
            yield settings(topology="one-peer", N=N, rounds=rounds, works=works)


def _numbers(_implementation: Any, case: Case) -> dict[str, Any]:
    """The peers' numbers, for hypotheses."""
    return {"x": _links(case, 1)[2]}


def _ranges(implementation: Any, case: Case) -> Outcome:
    N, rounds, x, delivered = _links(case, 1)
    (sums, weights), _ = implementation(x, case.settings["topology"], rounds, delivered=delivered)
    estimates, start = sums[:, 0] / weights, float(np.ptp(x))
    # a share is rounded once, a sum of k + 1 shares k times, a ratio once more; both ends of the range
    slack = 2 * (rounds * (neighbours(case.settings["topology"], N) + 2) + 2) * _EPS * float(np.abs(x).max()) / start
    return Outcome(float(np.ptp(estimates) / start), {"N": N, "rounds": rounds}, slack)


def _lossy() -> st.SearchStrategy[Case]:
    return st.builds(
        lambda N, rounds, topology, loss, seed: settings(N=N, rounds=rounds, topology=topology, loss=loss, seed=seed),
        integers(1, 12),
        integers(0, 6),
        sampled_from(("one-peer", "ring", "exponential")),
        sampled_from((0.0, 0.2, 0.9)),
        integers(0, 2**20),
    )


def _all_broken(_budget: Any) -> Iterator[Case]:
    for N, topology in itertools.product((2, 5), ("one-peer", "ring", "exponential")):
        yield settings(N=N, rounds=3, topology=topology, loss=1.0, seed=0)


# --- words -------------------------------------------------------------------------------------------------------


def _words(topology: str, implementation: Any, case: Case) -> Outcome:
    N, n, rounds = (case.settings[key] for key in ("N", "n", "rounds"))
    _, traffic = implementation(np.ones((N, n)), topology, rounds)
    return Outcome(int(traffic.sent.max()), {"N": N, "n": n, "rounds": rounds}, active=rounds > 0)


def _word_cases(topology: str, level: int) -> Iterator[Case]:
    sizes = (4, 9, 16) if topology == "torus" else range(2, 10 + level)
    for N, n, rounds in itertools.product(sizes, (1, 3), range(4)):
        yield settings(N=N, n=n, rounds=rounds)


def _sends(statement: str, topology: str, subject: str = "gossip") -> Study:
    return Study(
        f"gossip.{statement}.words",
        subject,
        partial(_words, topology),
        grid=partial(_word_cases, topology),
        enumerated="up to 16 peers, 3 entries and 3 rounds",
        curves=[over("n", "N = 16, four rounds", (settings(N=16, n=n, rounds=4) for n in (1, 4, 16, 64, 256)))],
    )


def _gossip(statement: str, trial: Any, grid: Any, enumerated: str, **options: Any) -> Study:
    subject = options.pop("subject", "gossip")
    return Study(f"gossip.{statement}", subject, trial, grid=grid, enumerated=enumerated, **options)


_UNIT = "a unit vector for every peer"

EXPERIMENTS = studies(
    *SPECTRAL_STUDIES,
    _gossip(
        "ring.iid",
        partial(_iid, "ring"),
        lambda level: (settings(N=N, rounds=T) for N in range(1, 9) for T in range(5 + level)),
        f"up to 8 peers and 4 rounds; {_UNIT}",
        curves=[over("rounds", "N = 16", (settings(N=16, rounds=T) for T in (0, 1, 2, 4, 8)))],
    ),
    _gossip(
        "one_peer.factor",
        partial(_iid, "one-peer"),
        lambda level: (
            settings(N=N, rounds=T) for N in (*range(1, 9), 16, 32)[: 9 + level] for T in range(_hops(N) + 2)
        ),
        f"up to 16 peers, every number of rounds; {_UNIT}",
        curves=[over("rounds", "N = 16", (settings(N=16, rounds=T) for T in range(5)))],
    ),
    _gossip(
        "one_peer.exact",
        _exact,
        lambda level: (settings(N=N, sweep=s) for N in (*range(1, 9), 16, 32, 64)[: 10 + level] for s in range(2)),
        f"up to 32 peers; {_UNIT}",
    ),
    _gossip(
        "one_peer.any_number", _exact, lambda _level: (settings(N=N) for N in range(1, 9)), f"up to 8 peers; {_UNIT}"
    ),
    _gossip(
        "mean.own_instead",
        _own_instead,
        _every_loss,
        "all failures of peers on rings of up to 6 and the torus of 4, of links on rings of up to 3, some on others; "
        + _UNIT,
        known=_one_way_links,
    ),
    _gossip(
        "mean.one_way",
        _one_way,
        _lossy_rings,
        "all ways for links to break, rings of up to 5",
        curves=[
            over(
                "loss", "a ring of three", (settings(N=3, loss=loss) for loss in ("0", "1/8", "1/4", "1/2", "3/4", "1"))
            )
        ],
    ),
    _gossip(
        "mean.renormalised",
        _renormalised,
        _every_failure,
        f"all failures on rings of up to 6 and the torus of 4, some on that of 9; {_UNIT}",
    ),
    _gossip(
        "push_sum.mean",
        partial(_push, "kept"),
        _every_link,
        "all ways for links to break, up to 8 peers and 2 rounds",
        subject="push_sum",
    ),
    _gossip(
        "push_sum.losing",
        partial(_push, "gone"),
        _every_link,
        "all ways for links to break, up to 8 peers and 2 rounds",
        subject="push_sum",
    ),
    Study(
        "gossip.push_sum.range",
        "push_sum",
        _ranges,
        corpus=lambda _budget: iter(()),
        cases=_lossy,
        extremal=_all_broken,
        known=_numbers,
        curves=[
            over(
                "rounds",
                "N = 12, one peer, 20 % link loss",
                (settings(N=12, rounds=t, topology="one-peer", loss=0.2, seed=0) for t in range(0, 21, 2)),
            )
        ],
    ),
    *RESTART_STUDIES,
    _sends("ring", "ring"),
    _sends("torus", "torus"),
    _sends("exponential", "exponential"),
    _sends("one_peer", "one-peer"),
    _sends("push_sum", "one-peer", "push_sum"),
)
