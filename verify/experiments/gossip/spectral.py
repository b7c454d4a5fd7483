"""Studies of how fast gossip shrinks the distortion: small integers exactly, others with their rounding."""

import itertools
from collections.abc import Iterator
from functools import partial
from math import isqrt
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Floats
from commbounds.collectives.gossip.mixing import TOPOLOGIES
from commbounds.verify.experiments.moshpit.averaging import distortions, settings
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.study import Case, Curve, Outcome, Study

_EPS = float(np.finfo(np.float64).eps)


def neighbours(topology: str, N: int) -> int:
    """To how many peers everybody sends in a round."""
    return int(TOPOLOGIES[topology](N, 0).shape[1])


def _input(case: Case) -> Floats:
    N, kind, topology = case.settings["N"], case.settings["input"], case.settings["topology"]
    if kind in ("eigenvector", "eigenvector by rows"):
        angle = 2 * np.pi * np.arange(N) / N
        if topology == "torus":
            places = np.divmod(np.arange(N), isqrt(N))
            angle = 2 * np.pi * places[kind == "eigenvector"] / isqrt(N)
        column = (-1.0) ** np.arange(N) if topology == "exponential" else np.cos(angle)
        return np.asarray(column[:, None], np.float64)
    if kind == "normal":
        return np.random.default_rng([case.settings["seed"], N]).standard_normal((N, 2))
    # small integers, one by one: vector number `kind` in base 3, times what makes every mean a whole number
    scale = float((neighbours(topology, N) + 1) ** case.settings["rounds"])
    digits = [kind // 3**i % 3 - 1 for i in range(N)]
    return np.array(digits, np.float64)[:, None] * scale


def _vectors(_implementation: Any, case: Case) -> dict[str, Any]:
    """The peers' vectors, for hypotheses."""
    return {"x": case.once(_input)}


def _shrinking(implementation: Any, case: Case) -> Outcome:
    """D_T / D_0, exactly for small integers."""
    topology, N, rounds = (case.settings[key] for key in ("topology", "N", "rounds"))
    x = case.once(_input)
    values = {"N": N, "rounds": rounds}
    if isinstance(case.settings["input"], int):
        start = distortions(x)[0]
        result, _ = implementation(x, topology, rounds)
        return Outcome(distortions(result)[0] / start, values)
    result, _ = implementation(x, topology, rounds)
    centred = x - x.mean(axis=0)
    start, left = np.square(centred).sum() / N, np.square(result - result.mean(axis=0)).sum() / N
    # every entry of the result is off by at most eps/2 times its largest summand for each of k + 1 operations a round,
    # and the mean that is taken away by N of them; D changes by 2 sqrt(D) error + error^2
    error = (rounds * (neighbours(topology, N) + 1) + N) * _EPS * float(np.abs(x).max()) * np.sqrt(x.shape[1])
    return Outcome(
        float(left / start), values, float((2 * np.sqrt(left) * error + error**2) / start + 8 * N * _EPS * left / start)
    )


def _small_vectors(topology: str, level: int) -> Iterator[Case]:
    sizes = {"ring": (1, 2, 3, 4, 5, 6), "torus": (4, 9), "exponential": (1, 2, 3, 4, 5, 8)}[topology]
    for N, rounds in itertools.product(sizes, (1, 2)):
        inputs = range(3**N) if 100 + 2000 * level > 3**N else range(1, 3**N, 3**N // (20 + 200 * level))
        for number in inputs:
            yield settings(topology=topology, N=N, rounds=rounds, input=number)


def _eigenvectors(topology: str, _budget: Any) -> Iterator[Case]:
    sizes = {"ring": (2, 4, 5, 8, 33), "torus": (9, 16, 25, 64), "exponential": (4, 8, 64)}[topology]
    for N, rounds in itertools.product(sizes, (1, 3, 8)):
        yield settings(topology=topology, N=N, rounds=rounds, input="eigenvector")
        if topology == "torus":
            yield settings(topology=topology, N=N, rounds=rounds, input="eigenvector by rows")


def _random_vectors(topology: str) -> st.SearchStrategy[Case]:
    sizes = {"ring": tuple(range(2, 40)), "torus": (9, 16, 25, 36), "exponential": (2, 4, 8, 16, 32)}[topology]
    return st.builds(
        lambda N, rounds, seed: settings(topology=topology, N=N, rounds=rounds, input="normal", seed=seed),
        sampled_from(sizes),
        integers(0, 12),
        integers(0, 2**20),
    )


def _over_rounds(topology: str, seed: int) -> Iterator[tuple[float, list[Case]]]:
    """Random vectors, and the second eigenvector."""
    for T in (1, 2, 4, 8, 16, 32, 64)[: 5 if topology == "exponential" else None]:
        held = {"topology": topology, "N": 64, "rounds": T, "seed": seed}
        yield T, [settings(**held, input=kind) for kind in ("normal", "eigenvector")]


def _spectral(topology: str) -> Study:
    shown = "vectors of entries -1, 0, 1 on small graphs: all of them up to four peers, every few beyond"
    return Study(
        f"gossip.{topology}.distortion",
        "gossip",
        _shrinking,
        grid=partial(_small_vectors, topology),
        enumerated=shown,
        corpus=lambda _budget: iter(()),
        cases=partial(_random_vectors, topology),
        known=_vectors,
        extremal=partial(_eigenvectors, topology),
        curves=[Curve("rounds", "N = 64; worst: second eigenvector", partial(_over_rounds, topology), typical=1)],
    )


SPECTRAL_STUDIES = (_spectral("ring"), _spectral("torus"), _spectral("exponential"))
"""One study for every bound by a second eigenvalue."""
