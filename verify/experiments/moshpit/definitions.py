"""Averaging in groups and Moshpit SGD beside their definitions: the spaces of their cases."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.moshpit import initial_keys
from commbounds.collectives.moshpit.random_partitions import READINGS
from commbounds.verify.data import stack_of
from commbounds.verify.definition import Definition, Given, called, chosen, with_generator
from commbounds.verify.definitions import moshpit
from commbounds.verify.differences import Said
from commbounds.verify.space import RANKS, TILES, Of, Space, sizes
from commbounds.verify.vectors.collectives import special_stacks

Generator = np.random.Generator

RATES = {"most": 0.8, "few": 0.4, "nobody": 0.0}
"""How many peers take part, on average."""


def _part(rng: Generator, rate: str | None, *shape: int) -> Any:
    return None if rate is None else rng.random(shape) < RATES[rate]


# --- one group, one round ----------------------------------------------------------------------------------------

GROUPS: Mapping[str, Callable[[Generator, int], Array]] = {
    "one": lambda _rng, N: np.zeros(N, np.int64),
    "every other": lambda _rng, N: np.arange(N) % 2,
    "alone": lambda _rng, N: np.arange(N)[::-1],
    "absent": lambda rng, N: rng.integers(-2, 2, N),
    "far labels": lambda rng, N: rng.choice((70, -1, 3, 2**40), N),
    "nobody": lambda _rng, N: np.full(N, -1),
    "narrow": lambda rng, N: rng.integers(0, 3, N).astype(np.int8),
}
"""(rng, N) -> labels."""


def _group(P: int, n: int, data: str, dtype: str, groups: str, receives: str | None, seed: int) -> Given:
    rng = np.random.default_rng(seed)
    inputs = {"stack": stack_of(data, P, n, dtype, seed), "groups": GROUPS[groups](rng, P)}
    return Given(inputs, chosen(receives=_part(rng, receives, P)))


def _special() -> list[Given]:
    stacks = [stack for _, stack, flags in special_stacks() if "refused" not in flags]
    return [Given({"stack": a.astype(kind), "groups": np.zeros(len(a), int)}) for a in stacks for kind in ("f4", "f8")]


GROUP = (
    Space(
        _group,
        {
            "P": RANKS,
            "n": sizes(16, *TILES),
            "data": ("opposed", "normal", "of all sizes", "ties", "over", "zeros"),
            "dtype": ("float32", "float64"),
            "groups": tuple(GROUPS),
            "receives": (None, "most", "few"),
        },
        options=("data", "dtype", "groups", "receives"),
    )
    .without("infinite in float32.", lambda data, dtype: data == "over" and dtype == "float32")
    .search(P=(1, 12), n=(1, 40))
)

# --- keys and grids ----------------------------------------------------------------------------------------------


def _keyed(
    P: int, n: int, dtype: str, M: int, d: int, rounds: int, slots: str | None, keys: str,
    alive: str | None, rule: str | None, seed: int,
) -> Given:  # fmt: skip
    rng, inputs = np.random.default_rng(seed), {"stack": stack_of("opposed", P, n, dtype, seed)}
    if keys != "initial":
        inputs["keys"] = rng.integers(0, M if keys == "drawn" else 1, (P, d - 1))
    shape = rounds, M ** (d - 1), M
    orders = rng.permuted(np.broadcast_to(np.arange(M), shape), axis=2) if slots == "given" else slots
    drawn = {"seed": seed} if slots in (None, "sample") else {}
    options = chosen(M=M, d=d, rounds=rounds, rule=rule)
    return Given(inputs, options, chosen(slots=orders, alive=_part(rng, alive, rounds, P)) | drawn)


def _moshpit(implementation: Any, given: Given) -> Said:
    inputs, options = dict(given.inputs), dict(given.parameters)
    d = options.pop("d", None)
    if "keys" not in inputs:
        inputs["keys"] = initial_keys(len(inputs["stack"]), options["M"], d)
    return called(("result", "keys"), "traffic")(implementation, Given(inputs, options, given.randomness))


KEYS = (
    Space(
        _keyed,
        {
            "P": RANKS,
            "n": (1, 2, Of("P + 3", lambda P: P + 3)),
            "dtype": ("float32", "float64"),
            "M": (1, 2, 3),
            "d": (1, 2, 3),
            "rounds": (0, 1, 4, 7),
            "slots": (None, "sample", "rank", "given"),
            "keys": ("drawn", "initial", "equal"),
            "alive": (None, *RATES),
            "rule": (None, "skip", "abort"),
        },
        options=("dtype", "M", "d", "rounds", "slots", "alive", "rule"),
        periods=("d",),
        combined=(("d", "rounds", "alive", "rule"),),
    )
    .without(
        "the grid must hold all peers where they begin with its cells",
        lambda P, M, d, keys: keys == "initial" and M**d < P,
    )
    .hidden_by(M=(4, 5), rounds=(12,), n=TILES[1::2])
    .search(P=(1, 12), M=(1, 4), rounds=(0, 8))
)


def _cells(
    P: int, n: int, dtype: str, d: int, wider: int, cells: str, rounds: int,
    start: int | None, alive: str | None, rule: str | None, seed: int,
) -> Given:  # fmt: skip
    rng = np.random.default_rng(seed)
    M = next(M for M in range(1, P + 1) if M**d >= P) + wider
    numbers = rng.permutation(M**d)[:P] if cells == "drawn" else np.arange(P)
    inputs = {
        "stack": stack_of("opposed", P, n, dtype, seed),
        "cells": np.stack(np.unravel_index(numbers, (M,) * d), 1),
    }
    options = chosen(M=M, rounds=rounds, start=start, rule=rule)
    return Given(inputs, options, chosen(alive=_part(rng, alive, rounds, P)))


CELLS = Space(
    _cells,
    {
        "P": RANKS,
        "n": (1, 2, Of("P + 3", lambda P: P + 3)),
        "dtype": ("float32", "float64"),
        "d": (1, 2, 3),
        "wider": (0, 1),
        "cells": ("in order", "drawn"),
        "rounds": (0, 1, 4, 7),
        "start": (None, 0, 1, 5),
        "alive": (None, *RATES),
        "rule": (None, "skip", "abort"),
    },
    options=("dtype", "d", "wider", "rounds", "start", "alive", "rule"),
    periods=("d",),
    combined=(("d", "rounds", "alive", "rule"),),
    hiding={"start": (2, 3, 4, 7, 12), "rounds": (12,), "n": TILES[1::2]},
).search(P=(1, 12), start=(0, 9), rounds=(0, 8))

# --- random groups -----------------------------------------------------------------------------------------------


def _choices(rng: Generator, reading: str | None, N: int, r: int, refused: bool) -> list[int]:
    ranges = READINGS[reading or "cut"].ranges(N, r)
    if reading == "occupied":
        used = r - 1 if refused and r > 1 else r  # the last group is empty where that is to be refused
        return [int(c) for c in rng.permutation([*range(used), *rng.integers(0, used, N - used)])]
    numbers = [int(rng.choice((0, size - 1, int(rng.integers(size))))) for size in ranges]
    return [*numbers[:-1], ranges[-1]] if refused else numbers


def _random(
    P: int, n: int, dtype: str, r: int, rounds: int | None, reading: str | None, sizes: str | None, choices: str,
    alive: str | None, rule: str | None, receives: str | None, seed: int,
) -> Given:  # fmt: skip
    rng, times, r = np.random.default_rng(seed), 1 if rounds is None else rounds, min(r, P)
    cuts = [0, *sorted(rng.choice(np.arange(1, P), r - 1, replace=False).tolist()), P]
    given = [b - a for a, b in pairwise(cuts)] if sizes else None
    gets = _part(rng, receives, times, P)
    options = chosen(r=r, rounds=rounds, reading=reading, sizes=given, rule=rule, receives=gets)
    drawn = (
        {"seed": seed}
        if choices == "drawn"
        else {"choices": [_choices(rng, reading, P, r, choices == "refused") for _ in range(times)]}
    )
    return Given(
        {"stack": stack_of("opposed", P, n, dtype, seed)}, options, drawn | chosen(alive=_part(rng, alive, times, P))
    )


RANDOM = Space(
    _random,
    {
        "P": RANKS,
        "n": (1, 2, Of("P + 3", lambda P: P + 3)),
        "dtype": ("float32", "float64"),
        "r": (
            1,
            Of("P", lambda P: P),
            Of("min(2, P)", lambda P: min(2, P)),
            Of("(P + 1) // 2", lambda P: (P + 1) // 2),
        ),
        "rounds": (None, 0, 3),
        "reading": (None, *READINGS),
        "sizes": (None, "uneven"),
        "choices": ("given", "drawn", "refused"),
        "alive": (None, "most", "few"),
        "rule": (None, "skip", "abort"),
        "receives": (None, "most", "few"),
    },
    options=("dtype", "r", "rounds", "reading", "sizes", "choices", "alive", "rule", "receives"),
    combined=(("P", "rounds", "alive", "rule"), ("alive", "rule", "receives")),
    hiding={"rounds": (1, 8), "n": TILES[1::2]},
)


def _many() -> list[Given]:
    """So many peers that the number of set partitions takes more than 62 bits; draws just too large and just not."""
    options = [{"r": 4, "reading": reading, "rounds": 2} for reading in ("blocks", "partitions")]
    cases = [Given({"stack": stack_of("ties", 40, 3, seed=7)}, given, {"seed": 5}) for given in options]
    for given in options:
        (size,) = moshpit.ranges_of(given["reading"], 40, 4)
        cases.append(replace(cases[0], parameters=given, randomness={"dictated": [size, size - 1, size + 1, 0]}))
    # numbers that take whole bytes, and the first bit of another
    whole = [(stack_of("ties", N, 3, seed=7), options[i]) for N, i in ((34, 0), (46, 0), (30, 1), (41, 1))]
    return [*cases, *(Given({"stack": stack}, given, {"seed": 5}) for stack, given in whole)]


def _in_groups(implementation: Any, given: Given) -> Said:
    dictated = given.randomness.get("dictated")
    drawn = with_generator(given.randomness) if dictated is None else {"rng": moshpit.Dictated(dictated)}
    result, traffic = implementation(**given.inputs, **given.parameters, **drawn)
    return {"result": result, "traffic": traffic}


def _regrouped(
    P: int, n: int, dtype: str, M: int, rounds: int | None, orders: str, alive: str | None, seed: int
) -> Given:
    rng, times = np.random.default_rng(seed), 1 if rounds is None else rounds
    part = _part(rng, alive, times, P)
    there = [np.arange(P) if part is None else np.flatnonzero(part[t]) for t in range(times)]
    drawn: dict[str, Any] = {"seed": seed}
    if orders == "given":
        drawn = {"orders": [rng.permutation(peers).tolist() for peers in there]}
    options = chosen(M=M, rounds=rounds)
    return Given({"stack": stack_of("opposed", P, n, dtype, seed)}, options, drawn | chosen(alive=part))


REGROUPED = Space(
    _regrouped,
    {
        "P": (*RANKS, 11, 15),
        "n": (1, 2, Of("P + 3", lambda P: P + 3)),
        "dtype": ("float32", "float64"),
        "M": (1, 2, 3, 4, Of("P", lambda P: P), Of("P + 1", lambda P: P + 1)),
        "rounds": (None, 0, 1, 3),
        "orders": ("given", "drawn"),
        "alive": (None, *RATES),
    },
    hiding={"rounds": (8,), "n": TILES[1::2]},
).search(P=(1, 14), M=(1, 8))

# --- many trials, and descents -----------------------------------------------------------------------------------


def _trials(
    P: int, n: int, data: str, dtype: str, kind: str, M: int, d: int | None, rounds: int, trials: int, p: float | None,
    rule: str | None, first: int | None, seed: int,
) -> Given:  # fmt: skip
    fits = M if kind != "random" else min(M, P)
    while kind != "random" and fits ** (d or 2) < P:
        fits += 1
    options = chosen(kind=kind, M=fits, rounds=rounds, trials=trials, d=d, p=p, rule=rule, first=first)
    return Given({"stack": stack_of(data, P, n, dtype, seed)}, options, {"seed": 2**40 * seed + 11})


def _tried(implementation: Any, given: Given) -> Said:
    seed = given.randomness["seed"]
    return {"distortions": implementation(**given.inputs, **given.parameters, seed=seed)}


TRIALS = Space(
    _trials,
    {
        "P": RANKS,
        "n": (1, 3, 9),
        "data": ("eighths", "of all sizes"),
        "dtype": ("float32", "float64"),
        "kind": ("random", "fixed", "keys"),
        "M": (1, 2, 3),
        "d": (None, 1, 2, 3),
        "rounds": (1, 2, 7),
        "trials": (1, 5),
        "p": (None, 0.25, 0.75),
        "rule": (None, "skip", "abort"),
        "first": (None, 0, 5),
    },
    options=("dtype", "kind", "M", "d", "p", "rule"),
    periods=("d",),
    combined=(("kind", "d", "rounds", "p", "rule"),),
    hiding={"data": ("alike",), "M": (4,), "first": (1, 2, 3), "trials": (2, 3, 9), "n": (17, 33, 65)},
)
_CROWDED = {"P": (4, 8, 9), "kind": ("keys",), "d": (2, 3), "rule": (None, "abort")}
TRIALS = TRIALS.including(*TRIALS.every(**_CROWDED, rounds=(7,), trials=(5,), p=(0.25,)))
"""Where failures leave more peers with one key than there are chunks."""


def _rare_draws() -> list[Given]:
    """Draws that are as likely as a failure; cells whose shuffle draws anew, or just does not, or for a peer."""
    peers, many = np.array([[1.0], [3.0]]), np.arange(40.0)[:, np.newaxis] ** 2
    cells = {"kind": "fixed", "M": 64, "rounds": 3, "trials": 1, "p": 0.5}
    drawn = moshpit.Numbers(5, 0)
    drawn.shuffled([0, 1])
    ties = {"kind": "fixed", "M": 2, "d": 1, "rounds": 1, "trials": 1, "p": (drawn.next() >> 11) / 2**53}
    return [
        *(Given({"stack": many}, {**cells, "first": first}, {"seed": 0}) for first in (2488, 88754, 2109710)),
        Given({"stack": peers}, ties, {"seed": 5}),
        Given({"stack": peers}, {"kind": "random", "M": 3, "rounds": 1, "trials": 1}, {"seed": 5}),
    ]


GRADIENTS: Mapping[str, Callable[[Array], Array]] = {
    "identity": lambda x: x,
    "steeper by peer": lambda x: x * np.arange(1, 1 + len(x), dtype=x.dtype)[:, None],
}
"""Of all peers at their points, by name."""


def _descent(
    P: int, n: int, data: str, dtype: str, gradient: str, gamma: float, rounds: int, period: int | None, times: int,
    groups: str, seed: int,
) -> Given:  # fmt: skip
    rng = np.random.default_rng(seed)
    inputs = {"points": stack_of(data, P, n, dtype, seed), "noise": rng.standard_normal((rounds, P, n)).astype(dtype)}
    labels = [[GROUPS[groups](rng, P) for _ in range(times)] for _ in range(rounds // (period or 1))]
    options = chosen(gradient=gradient, gamma=gamma, period=period)
    return Given(inputs, options | ({"groups": labels} if labels else {}))


def _local(implementation: Any, given: Given) -> Said:
    gradient = GRADIENTS[given.parameters["gradient"]]
    trajectory, traffic = implementation(**given.inputs, **{**given.parameters, "gradient": gradient})
    return {
        "trajectory": trajectory,
        "traffic": traffic,
        "whose memory": "the caller's" if np.shares_memory(trajectory.points, given.inputs["points"]) else "its own",
    }


DESCENTS = Space(
    _descent,
    {
        "P": RANKS,
        "n": (1, 2, Of("P + 3", lambda P: P + 3)),
        "data": ("ties", "opposed", "normal", "zeros", "cancelling"),
        "dtype": ("float32", "float64"),
        "gradient": tuple(GRADIENTS),
        "gamma": (0.5, 0.1),
        "rounds": (0, 1, 3, 11),
        "period": (None, 1, 2, 3),
        "times": (0, 1, 3),
        "groups": ("one", "every other", "absent", "far labels", "nobody"),
    },
    options=("dtype", "rounds", "period", "times", "groups"),
    periods=("period",),
    combined=(("rounds", "period", "times", "groups"),),
    hiding={"period": (4, 5), "n": TILES[1::2]},
).search(rounds=(0, 9), period=(1, 4))
DESCENTS = DESCENTS.including(*DESCENTS.every(P=(2, 5, 9), rounds=(11,), period=(4, 5), times=(1, 3), groups=("one",)))
"""Where the longer periods come round twice, and peers are averaged each time."""


def _deep() -> list[Given]:
    """One peer in a grid of 64 dimensions, and in one too many."""
    alone = {"stack": np.array([[1.5, -2.0]])}
    return [Given(alone, {"M": 1, "d": d, "rounds": 2}, {"slots": "rank"}) for d in (64, 65)]


DEFINITIONS = {
    "group_average": Definition(GROUP, called("result", "traffic"), moshpit.averaged, examples=_special),
    "moshpit": Definition(
        KEYS,
        _moshpit,
        moshpit.moshpit_twin,
        examples=_deep,
        own={"slots": "ranks agree on who meets whom: slots that make the same groups are taken, and only keys differ"},
    ),
    "grid_average": Definition(CELLS, called("result", "traffic"), moshpit.grid, refused={"start": (-1,)}),
    "random_groups": Definition(
        RANDOM,
        _in_groups,
        moshpit.in_random_groups,
        examples=_many,
        together=("reading must not be 'slots' where ranks are apart",),
    ),
    "regrouping": Definition(REGROUPED, called("result", "traffic"), moshpit.in_new_groups),
    "group_trials": Definition(TRIALS, _tried, moshpit.tried, examples=_rare_draws, takes_seed=True),
    "moshpit_sgd": Definition(DESCENTS, _local, moshpit.descended),
}
