"""Studies of Gaussiank: what it moves, and how many entries its threshold lets pass."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.collectives import Traffic
from commbounds.verify.experiments.sparse.cases import (
    Ran,
    Rows,
    family_of,
    mean_received,
    neighbour,
    on_small_stacks,
    over_ranks,
    ran,
    stacked,
)
from commbounds.verify.family import Family, FamilyStudy, Rounded
from commbounds.verify.space import Of, Settings
from commbounds.verify.study import Case, Curve, Outcome

_EPS = float(np.finfo(np.float64).eps)
_SUBJECT = "gaussiank_allreduce"
_STACKS = family_of(_SUBJECT)

# --- words -------------------------------------------------------------------------------------------------------


def _words(read: Callable[[Traffic], int | Fraction], found: Ran) -> Outcome:
    """Of the all-gather alone."""
    sizes = [s.size for s in found.result.selected]
    return Outcome(read(found.traffic.only("allgather")), {"entries": sum(sizes), "fewest": min(sizes)})


# --- shares ------------------------------------------------------------------------------------------------------


def _normal(u: Any) -> Any:
    from scipy.special import ndtri

    return ndtri(u)


def _student(degrees: float, u: Any) -> Any:
    from scipy.special import stdtrit

    return stdtrit(degrees, u)


LAWS: dict[str, Callable[[Floats], Any]] = {
    "normal": _normal,
    "laplace": lambda u: -np.sign(u - 0.5) * np.log1p(-2 * np.abs(u - 0.5)) / math.sqrt(2),
    "student 3": partial(_student, 3),
    "student 2": partial(_student, 2),
    "student 1.5": partial(_student, 1.5),
}
"""Quantile functions; of variance one for the first two."""


@lru_cache(maxsize=64)
def quantiles(law: str, n: int) -> Floats:
    """The quantiles of (i - 1/2)/n, read-only."""
    x = np.asarray(LAWS[law]((np.arange(n) + 0.5) / n), dtype=np.float64)
    x.flags.writeable = False
    return x


_PAIRS = "opposite pairs and zeros"


def _vectors(P: int, n: int, data: str | Rows, k: int, scale: float, seed: int) -> Array:
    """Quantiles of a law, a stack, or as many opposite pairs as Chebyshev's inequality allows."""
    if data in LAWS:
        return np.tile(scale * quantiles(data, n), (P, 1))
    if data == _PAIRS:
        pairs = int(n / float(_normal(k / n / 2)) ** 2 / 2)
        return scale * np.repeat((1.0, -1.0, 0.0), (pairs, pairs, n - 2 * pairs))[None]
    return scale * stacked(P, n, data, seed)


def _units(x: Array, n: int, k: int, data: str) -> dict[str, Any]:
    return {"law": data, "mu": k / n, "z": -float(_normal(k / n / 2)), "sd": float(np.std(x[0]))}


def _share(found: Ran, n: int, k: int, mu: float, z: float) -> Rounded:
    # The mean, here and there, is off by at most n eps mean|x| <= n eps sd, the standard deviation and every quantile
    # by (n + 10) eps of themselves: the threshold by a share of (2n + 10)(1 + 1/z) eps at most. A share c of a
    # threshold of z standard deviations changes the tail P(|X| > t) by at most a share (z^2 + 2) c, for the normal law
    # and milder ones alike, and n/z^2 by a share 2c. Tails and bounds are at most 1/mu.
    slack = (z**2 + 2) * (1 + 1 / z) * (2 * n + 10) * _EPS / mu
    return Rounded(Fraction(int(found.result.selected[0].size), k), slack)


def _part(thousandths: int) -> Of:
    """So much of the n entries."""
    return Of(f"{thousandths} n / 1000", lambda n: min(n - 1, max(1, round(thousandths * n / 1000))))


_PARTS = tuple(map(_part, (1, 10, 20, 100, 300, 500, 990)))
_SIZES = (2, 3, 10, 101, 1000, 10_000)
_DENSITIES = (1, 2, 5, 10, 20, 50, 100, 200, 500)
_OPTIONS = {"adapt": ("none",), "allgather": ("bruck",)}


def _over_density(family: Family, n: int, label: str, thousandths: Sequence[int], *rows: Settings) -> Curve:
    """All rows but those of pairs are typical."""

    def points(_seed: int) -> Iterator[tuple[float, list[Case]]]:
        for part in thousandths:
            yield part / 1000, [family.case(family.space.at(n=n, k=_part(part), **row)) for row in rows]

    return Curve("k/n", label, points, typical=sum(row["data"] in LAWS for row in rows))


def _of_laws(claims: Sequence[str], *laws: str, long: bool = True) -> tuple[FamilyStudy, ...]:
    """Claims about quantiles of these laws, extremal where there are a million of the first."""
    family = family_of(_SUBJECT, _vectors, _units, n=_SIZES[:4], data=laws, k=_PARTS, scale=(1.0,), **_OPTIONS)
    parts = [_part(10 * percent) for percent in range(1, 100)]
    family = replace(family, space=family.space.search(n=(2, 400), k=parts))
    label, rows = f"quantiles ({', '.join(laws)}), n = 100000", [{"data": law} for law in laws]
    return family.studies(
        _share,
        *claims,
        corpus=family.every(n=lambda level: (*_SIZES, 100_000, *[1_000_000] * (level > 0)), data=laws, k=_PARTS),
        extremal=family.every(n=[1_000_000], k=(_PARTS[1], _PARTS[3], _PARTS[4])) if long else None,
        curves=[_over_density(family, 100_000, label, _DENSITIES, *rows)],
    )


# --- any vector --------------------------------------------------------------------------------------------------

_VECTORS = family_of(_SUBJECT, _vectors, _units, scale=(1.0, 2.0**-4), **_OPTIONS)
_QUANTILES = _VECTORS.space.every(P=[1], n=_SIZES, data=LAWS, k=_PARTS, scale=(1.0, 2.0**-4))
_ANY = replace(_VECTORS, space=_VECTORS.space.including(*_QUANTILES))


def _turned(implementation: Any, found: Ran, x: Array, k: int, settings: Settings) -> int:
    """Entries that are selected of x alone, or of -x alone."""
    others = ran(implementation, -x, k, settings).result.selected
    return sum(np.setxor1d(a, b).size for a, b in zip(found.result.selected, others, strict=True))


_WORDS = {"curves": over_ranks(_STACKS, 256, 16, "one rank", relative=True), **on_small_stacks(_STACKS)}

GAUSSIANK = (
    *_STACKS.studies(partial(_words, lambda words: int(words.received.max())), "gaussiank.received", **_WORDS),
    *_STACKS.studies(partial(_words, mean_received), "gaussiank.mean_received", **_WORDS),
    *_ANY.studies(
        _share,
        "gaussiank.any_input",
        mutate=neighbour,
        extremal=_ANY.every(n=[20_000], data=[_PAIRS], k=map(_part, (10, 20, 100, 200))),
        curves=[
            _over_density(
                _ANY, 20_000, "n = 20000", _DENSITIES[:-1],
                *({"data": law, "scale": scale} for scale in (1.0, -1.0) for law in LAWS), {"data": _PAIRS},
            )
        ],
    ),
    *_STACKS.studies(_turned, "gaussiank.sign_symmetry", **on_small_stacks(_STACKS)),
    *_of_laws(["gaussiank.heavy_tails"], "laplace", "student 3", "student 2", "student 1.5"),
    *_of_laws(["gaussiank.normal_least", "gaussiank.normal_most"], "normal"),
    *_of_laws(["gaussiank.laplace_least", "gaussiank.laplace_most"], "laplace"),
    *_of_laws(["gaussiank.student_least"], "student 3", long=False),
)  # fmt: skip
