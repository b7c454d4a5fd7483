"""Gossip, push-sum and restarts beside their definitions: the spaces of their cases."""

from collections.abc import Callable
from functools import partial
from math import isqrt
from typing import Any

import numpy as np

from commbounds.collectives.gossip.mixing import TOPOLOGIES
from commbounds.verify.data import IDLE, stack_of
from commbounds.verify.definition import Definition, Given, called, chosen
from commbounds.verify.definitions import gossip
from commbounds.verify.space import RANKS, TILES, Of, Space, sizes

DATA = ("opposed", "normal", "of all sizes", "zeros", "ties", "subnormal")
RATES = {"most": 0.8, "few": 0.4}
"""How many peers take part, or links work, on average."""


def _links(rng: np.random.Generator, rate: str | None, topology: str, P: int, rounds: int, start: int) -> Any:
    if rate is None:
        return None
    shapes = [TOPOLOGIES[topology](P, start + t).shape for t in range(rounds)]
    return [rng.random(shape) < RATES[rate] for shape in shapes]


def _gossip(
    P: int, n: int, data: str, dtype: str, topology: str, rounds: int | None, start: int | None, alive: str | None,
    delivered: str | None, missing: str | None, seed: int,
) -> Given:  # fmt: skip
    rng, times = np.random.default_rng(seed), 1 if rounds is None else rounds
    part = None if alive is None else rng.random((times, P)) < RATES[alive]
    links = _links(rng, delivered, topology, P, times, start or 0)
    options = chosen(topology=topology, rounds=rounds, start=start, missing=missing)
    return Given({"stack": stack_of(data, P, n, dtype, seed)}, options, chosen(alive=part, delivered=links))


def _of_links(space: Space) -> Space:
    return space.without(
        "a torus needs a square number of peers", lambda P, topology: topology == "torus" and isqrt(P) ** 2 != P
    ).without("two shifts need three peers, or one", lambda P, topology: topology == "two-peer" and P == 2)


GOSSIP = _of_links(
    Space(
        _gossip,
        {
            "P": (*RANKS, 16, 17),
            "n": (1, 2, Of("P + 3", lambda P: P + 3)),
            "data": DATA,
            "dtype": ("float32", "float64"),
            "topology": tuple(TOPOLOGIES),
            "rounds": (None, 0, 1, 3, 9),
            "start": (None, 0, 1, 6),
            "alive": (None, *RATES),
            "delivered": (None, *RATES),
            "missing": (None, "self", "renormalise"),
        },
        options=("dtype", "topology", "rounds", "start", "alive", "delivered", "missing"),
        combined=(("topology", "rounds", "start", "missing"), ("topology", "alive", "delivered", "missing")),
        hiding={"n": TILES[1::2], "rounds": (2, 17), "start": (2, 3, 9), "data": tuple(IDLE)},
    )
).search(P=(1, 20), rounds=(0, 10), start=(0, 10))


def _push(
    P: int, n: int, data: str, dtype: str, topology: str, rounds: int | None, weights: str | None, start: int | None,
    delivered: str | None, lost: str | None, seed: int,
) -> Given:  # fmt: skip
    rng, times = np.random.default_rng(seed), 1 if rounds is None else rounds
    held = None if weights is None else rng.random(P) + 0.01
    links = _links(rng, delivered, topology, P, times, start or 0)
    options = chosen(topology=topology, rounds=rounds, weights=held, start=start, lost=lost)
    return Given({"stack": stack_of(data, P, n, dtype, seed)}, options, chosen(delivered=links))


PUSH = _of_links(
    Space(
        _push,
        {
            "P": (*RANKS, 16, 17),
            "n": (1, 2, Of("P + 3", lambda P: P + 3)),
            "data": DATA,
            "dtype": ("float32", "float64"),
            "topology": tuple(TOPOLOGIES),
            "rounds": (None, 0, 1, 3, 9),
            "weights": (None, "drawn"),
            "start": (None, 0, 1, 6),
            "delivered": (None, *RATES),
            "lost": (None, "kept", "gone"),
        },
        options=("dtype", "topology", "rounds", "weights", "start", "delivered", "lost"),
        combined=(("topology", "rounds", "start", "lost"), ("topology", "rounds", "delivered", "lost")),
        hiding={"n": TILES[1::2], "rounds": (2, 17), "start": (2, 3, 9), "data": tuple(IDLE)},
    )
).search(P=(1, 20), rounds=(0, 10), start=(0, 10))


def _restart(
    P: int, n: int, data: str, dtype: str, alive: str | None, p: float | str | None, cap: int | None, seed: int
) -> Given:
    rng = np.random.default_rng(seed)
    attempts = rng.random((9 if alive == "more than cap" else cap or 6, P)) < 0.6
    if alive == "the last":
        attempts[-1] = True
    drawn: dict[str, Any] = {"alive": attempts} if alive else {} if p in (None, 0.0, 1.0) else {"seed": seed}
    if p == "drawn":
        p = float(np.random.default_rng(seed).random(P).min())
    return Given({"stack": stack_of(data, P, n, dtype, seed)}, chosen(p=p, cap=cap), drawn)


RESTARTS = Space(
    _restart,
    {
        "P": RANKS,
        "n": sizes(16, *TILES),
        "data": DATA,
        "dtype": ("float32", "float64"),
        "alive": (None, "some", "the last", "more than cap"),
        "p": (None, 0.0, 0.3, 0.9, 1.0, "drawn"),
        "cap": (None, 1, 2, 7),
    },
    combined=(("P", "alive", "p", "cap"),),
).search(P=(1, 12), n=(1, 40))


def _unlinked(make: Callable[..., Given], *options: None) -> list[Given]:
    """Numbers of peers that are no square, or between which there are no two shifts."""
    return [
        make(P, 3, "normal", "float32", topology, 1, *options, 1)
        for topology, ranks in (("torus", (2, 3, 5, 8)), ("two-peer", (2,)))
        for P in ranks
    ]


DEFINITIONS = {
    "allreduce_with_restarts": Definition(
        RESTARTS, called(("result", "attempts", "done"), "traffic"), gossip.restarted, refused={"alive": (np.True_,)}
    ),
    "gossip": Definition(
        GOSSIP, called("result", "traffic"), gossip.gossiped, examples=partial(_unlinked, _gossip, *[None] * 4)
    ),
    "push_sum": Definition(
        PUSH, called(("sums", "weights"), "traffic"), gossip.pushed, examples=partial(_unlinked, _push, *[None] * 4)
    ),
}
