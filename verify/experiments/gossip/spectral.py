"""Studies of how fast gossip shrinks the distortion: small integers exactly, others with their rounding."""

from collections.abc import Iterator
from math import isqrt
from typing import Any

import numpy as np

from commbounds.array_types import Floats
from commbounds.collectives.gossip.mixing import TOPOLOGIES
from commbounds.verify.experiments.moshpit.averaging import distortions
from commbounds.verify.family import Family, FamilyStudy
from commbounds.verify.space import Space
from commbounds.verify.study import Case, Curve, Outcome

_EPS = float(np.finfo(np.float64).eps)


def neighbours(topology: str, N: int) -> int:
    """To how many peers everybody sends in a round."""
    return int(TOPOLOGIES[topology](N, 0).shape[1])


def _vectors(topology: str, N: int, rounds: int, data: str | int, seed: int) -> Floats:
    if data in ("eigenvector", "eigenvector by rows"):
        angle = 2 * np.pi * np.arange(N) / N
        if topology == "torus":
            places = np.divmod(np.arange(N), isqrt(N))
            angle = 2 * np.pi * places[data == "eigenvector"] / isqrt(N)
        column = (-1.0) ** np.arange(N) if topology == "exponential" else np.cos(angle)
        return np.asarray(column[:, None], np.float64)
    if isinstance(data, str):
        return np.random.default_rng([seed, N]).standard_normal((N, 2))
    # small integers, one by one: vector number `data` in base 3, times what makes every mean a whole number
    scale = float((neighbours(topology, N) + 1) ** rounds)
    digits = [data // 3**i % 3 - 1 for i in range(N)]
    return np.array(digits, np.float64)[:, None] * scale


def _shrinking(implementation: Any, topology: str, N: int, rounds: int, data: str | int, x: Floats) -> Outcome:
    """D_T / D_0, exactly for small integers."""
    result, _ = implementation(x, topology, rounds)
    if isinstance(data, int):
        return Outcome(distortions(result)[0] / distortions(x)[0], {})
    centred = x - x.mean(axis=0)
    start, left = np.square(centred).sum() / N, np.square(result - result.mean(axis=0)).sum() / N
    # every entry of the result is off by at most eps/2 times its largest summand for each of k + 1 operations a round,
    # and the mean that is taken away by N of them; D changes by 2 sqrt(D) error + error^2
    error = (rounds * (neighbours(topology, N) + 1) + N) * _EPS * float(np.abs(x).max()) * np.sqrt(x.shape[1])
    slack = (2 * np.sqrt(left) * error + error**2) / start + 8 * N * _EPS * left / start
    return Outcome(float(left / start), {}, float(slack))


def _spectral(
    topology: str, small: tuple[int, ...], large: tuple[int, ...], drawn: Any, most: int = 64
) -> tuple[FamilyStudy, ...]:
    """Of few peers all vectors of small integers or every few, of more the second eigenvector and random ones."""
    axes = {"topology": (topology,), "N": small, "rounds": (1, 3, 8, 2), "data": ("normal",)}
    space = Space(_vectors, axes).search(N=drawn, rounds=(0, 12))
    family = Family("gossip", "gossip", space, exact=False)

    def points(seed: int) -> Iterator[tuple[float, list[Case]]]:
        """Random vectors, and the second eigenvector."""
        for T in (T for T in (1, 2, 4, 8, 16, 32, 64) if most >= T):
            rows = [space.at(N=64, rounds=T, seed=seed, data=data) for data in ("normal", "eigenvector")]
            yield T, [family.case(row) for row in rows]

    def numbers(N: int, level: int) -> range:
        few = 100 + 2000 * level > 3**N
        return range(3**N) if few else range(1, 3**N, 3**N // (20 + 200 * level))

    waves = ("eigenvector", "eigenvector by rows")[: 1 + (topology == "torus")]
    return family.studies(
        _shrinking,
        f"{topology}.distortion",
        grid=family.every(N=small, rounds=(1, 2), data=numbers),
        enumerated="vectors of entries -1, 0, 1 on small graphs: all of them up to four peers, every few beyond",
        extremal=family.every(N=large, rounds=(1, 3, 8), data=waves),
        curves=[Curve("rounds", "N = 64; worst: second eigenvector", points, typical=1)],
    )


SPECTRAL_STUDIES = (
    *_spectral("ring", (1, 2, 3, 4, 5, 6), (2, 4, 5, 8, 33), (2, 39)),
    *_spectral("torus", (4, 9), (9, 16, 25, 64), (16, 25, 36, 49)),
    *_spectral("exponential", (1, 2, 3, 4, 5, 8), (4, 8, 64), (16, 32, 64, 128), most=16),
)
"""One study for every bound by a second eigenvalue."""
