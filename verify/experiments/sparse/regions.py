"""Studies of TopkDSA's words and of the lower bound: they depend on the input."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives import Traffic
from commbounds.collectives.cuts import even_cuts
from commbounds.verify.experiments.sparse.cases import (
    ALONG,
    GATHERS,
    Ran,
    Rows,
    family_of,
    mean_received,
    neighbour,
    on_small_stacks,
    over_ranks,
    stacked,
)
from commbounds.verify.family import Family, FamilyStudy
from commbounds.verify.space import Of
from commbounds.verify.study import Outcome

# --- cases -------------------------------------------------------------------------------------------------------

_ALIKE, _APART, _OWN, _EVEN = "all ranks alike", "disjoint, all in region 0", "regions' beginnings", "identical, even"
_PLACES: Mapping[str, Callable[[int, int, int, int], Array]] = {
    _ALIKE: lambda p, P, n, k: np.arange(k),
    _APART: lambda p, P, n, k: p * k + np.arange(k),
    _OWN: lambda p, P, n, k: p * (n // P) + np.arange(k),
    _EVEN: lambda p, P, n, k: even_cuts(n, P)[:-1, None] + np.arange(k // P),
}
"""Where rank p holds its k nonzeros: from the beginning, one after another, in its own region, in all regions."""


def _placed(P: int, n: int, data: str | Rows, k: int, seed: int) -> Array:
    if not isinstance(data, str) or data not in _PLACES:
        return stacked(P, n, data, seed)
    x = np.zeros((P, n))
    for p in range(P):
        x[p, _PLACES[data](p, P, n, k).ravel()] = 1.0 + p
    return x


def _family(subject: str = "topk_dsa", **options: Any) -> Family:
    return family_of(subject, _placed, **options)


_MODEL = _family(switch=("model",))
_RING = replace(_family(switch=("model",), allgather=("ring",)), arrays=2)
_CODE = _family(switch=("code",))
_NEVER = _family(switch=("never",))


def _rows(family: Family, data: str, *sizes: tuple[int, int, int]) -> list[dict[str, Any]]:
    """Some (P, n, k)."""
    return [family.space.at(P=P, n=n, data=data, k=k) for P, n, k in sizes]


# --- words that depend on the input ------------------------------------------------------------------------------


def _data(found: Ran) -> Traffic:
    """Words of entries and of dense blocks, without the announcements of sizes."""
    return found.traffic.only("split", "allgather", "dense")


def _path(found: Ran) -> int:
    return _data(found).critical_path


def _mean(found: Ran) -> Fraction:
    return mean_received(_data(found))


def _gathered(found: Ran) -> Outcome:
    union = {"union": np.unique(np.concatenate(found.result.selected)).size}
    return Outcome(mean_received(found.traffic.only("allgather", "dense")), union)


def _over_support(words: Callable[[Ran], Any], found: Ran, x: Array) -> Outcome:
    """Besides, entries of the sum, and those of them that one of several ranks brought already."""
    chosen, update = np.zeros_like(x), found.result.update
    for row, own, indices in zip(x, chosen, found.result.selected, strict=True):
        own[indices] = row[indices]
    shared = np.count_nonzero(chosen, axis=0) > 1
    brought = shared & (update != 0) & np.any(chosen == update, axis=0)
    entries = {"nonzeros": int(np.count_nonzero(update)), "coincidences": int(np.count_nonzero(brought))}
    return Outcome(words(found), entries)


# --- studies -----------------------------------------------------------------------------------------------------


def _studied(
    family: Family,
    measure: Callable[..., Any],
    *claims: str,
    extremal: list[dict[str, Any]] | None = None,
    attacked: bool = True,
    worst: tuple[str, ...] = (),
    relative: bool = False,
) -> tuple[FamilyStudy, ...]:
    return family.studies(
        measure,
        *claims,
        extremal=family.of(extremal) if extremal else None,
        mutate=neighbour if attacked else None,
        curves=over_ranks(family, 256, 16, "own regions", *worst, relative=relative),
        **on_small_stacks(family),
    )


_SUPPORT: dict[str, Any] = {"extremal": _rows(_NEVER, _OWN, (2, 6, 2), (5, 20, 4), (8, 48, 1)), "relative": True}

REGIONS = (
    *_studied(
        _MODEL, _path, "topkdsa.upper_any_split", worst=(_ALIKE,),
        extremal=_rows(_MODEL, _ALIKE, *((P, 1, 1) for P in (2, 3, 5, 8, 16))),
    ),
    *_studied(
        _RING, _path, "topkdsa.upper_even", worst=(_ALIKE,),
        extremal=_rows(_RING, _ALIKE, (3, 6, 2), (4, 20, 5), (5, 15, 3), (8, 32, 4), (16, 160, 10)),
    ),
    *_studied(
        _RING, _path, "topkdsa.upper", worst=(_ALIKE,),
        extremal=[
            *_rows(_RING, _APART, (3, 9, 1), (4, 32, 2), (8, 192, 3), (12, 144, 1)),
            *_rows(_RING, _ALIKE, (4, 5, 2), (5, 6, 2), (8, 9, 2)),
        ],
    ),
    *_studied(_MODEL, _mean, "topkdsa.lower_any_density", attacked=False),
    *_studied(
        _MODEL, _mean, "topkdsa.lower_with_switch",
        extremal=[
            *_rows(_MODEL, _EVEN, (2, 18, 4), (3, 27, 6), (8, 72, 16), (13, 117, 26)),
            *_rows(_MODEL, _OWN, (2, 8, 4), (3, 12, 4), (4, 16, 4)),
        ],
    ),
    *_MODEL.studies(
        _path,
        "topkdsa.identical",
        corpus=None,
        cases=None,
        grid=_MODEL.every(
            P=lambda level: range(1, 33 if level else 17),
            k=lambda P: (P, 2 * P, 3 * P),
            n=lambda P, k: [2 * k + P + k // P % P],
            allgather=GATHERS,
            data=[_EVEN],
        ),
        enumerated="P = 1..16, 1, 2, 3 of 3, 5, 7 entries of every region, some one longer, every all-gather",
        curves=[
            _MODEL.over(
                "P", ALONG, "k = 4P, n = 9P", data=_EVEN, n=Of("9 P", lambda P: 9 * P), k=Of("4 P", lambda P: 4 * P)
            )
        ],
    ),
    *_studied(_MODEL, _gathered, "topkdsa.gathered", attacked=False, relative=True),
    *_studied(
        _CODE, _gathered, "topkdsa.code_switch", attacked=False, relative=True,
        extremal=_rows(_CODE, _EVEN, (2, 6, 2), (3, 18, 6), (7, 63, 21)),
    ),
    *_studied(_NEVER, partial(_over_support, _mean), "lower_bound.mean", **_SUPPORT),
    *_studied(_NEVER, partial(_over_support, lambda found: int(_data(found).received.max())), "lower_bound.most",
              attacked=False, **_SUPPORT),
    *_studied(
        family_of("gaussiank_allreduce"), partial(_over_support, lambda found: int(_data(found).received.min())),
        "lower_bound.every_rank", attacked=False, relative=True,
    ),
)  # fmt: skip
