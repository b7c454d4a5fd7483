"""Studies of TopkDSA's words and of the lower bound: they depend on the input."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.collectives import Traffic
from commbounds.collectives.cuts import even_cuts
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.sparse.cases import (
    RANKS,
    SMALL_STACKS,
    by_hand,
    data,
    drawn,
    every_small_stack,
    neighbour,
    over_ranks,
    study,
    trial,
)
from commbounds.verify.study import Case, Study, over

_DSA = "topk_dsa"
_Measure = Callable[[Case, Any, Traffic], Any]
_Cases = Callable[[Budget], Iterator[Case]]

# --- words that depend on the input ------------------------------------------------------------------------------


def _path(_case: Case, _result: Any, traffic: Traffic) -> int:
    return data(traffic).critical_path


def _mean(_case: Case, _result: Any, traffic: Traffic) -> Fraction:
    received = data(traffic).received
    return Fraction(int(received.sum()), received.size)


def _most(_case: Case, _result: Any, traffic: Traffic) -> int:
    return int(data(traffic).received.max())


def _least(_case: Case, _result: Any, traffic: Traffic) -> int:
    return int(data(traffic).received.min())


def _gathered(_case: Case, _result: Any, traffic: Traffic) -> Fraction:
    received = traffic.only("allgather", "dense").received
    return Fraction(int(received.sum()), received.size)


def _union(_case: Case, result: Any, _traffic: Traffic) -> dict[str, Any]:
    return {"union": len({i for s in result.selected for i in s.tolist()})}


def _support(case: Case, result: Any, _traffic: Traffic) -> dict[str, Any]:
    """Entries of the sum, and those of them that one of several ranks brought already."""
    assert case.x is not None
    chosen = np.zeros_like(case.x)
    for x, own, indices in zip(case.x, chosen, result.selected, strict=True):
        own[indices] = x[indices]
    shared = np.count_nonzero(chosen, axis=0) > 1
    brought = shared & (result.update != 0) & np.any(chosen == result.update, axis=0)
    return {"nonzeros": int(np.count_nonzero(result.update)), "coincidences": int(np.count_nonzero(brought))}


def _ones_from(P: int, n: int, k: int, family: str, first: Callable[[int], int], **options: Any) -> Case:
    """Every rank holds k ones, in a row from `first` of the rank."""
    x = np.zeros((P, n))
    for p in range(P):
        x[p, first(p) : first(p) + k] = 1.0 + p
    return Case({"P": P, "n": n, "k": k, **options, "family": family}, x)


def _all_in_region_zero(P: int, c: int, n: int | None = None, **options: Any) -> Case:
    """Every rank holds `c` ones at the beginning; P regions of them, or `n` entries."""
    return _ones_from(P, n or P * c, c, "all ranks fill region 0", lambda _p: 0, **options)


def _disjoint_in_region_zero(P: int, k: int) -> Case:
    return _ones_from(P, P * P * k, k, "disjoint, all in region 0", lambda p: p * k, allgather="ring")


def _own_regions(P: int, c: int, k: int, **options: Any) -> Case:
    return _ones_from(P, P * c, k, "own regions", lambda p: p * c, **options)


def _identical_even(P: int, a: int, c: int, longer: int = 0, **options: Any) -> Case:
    """All ranks hold the first `a` entries of every region, of `c` entries; the first `longer` have one more."""
    cuts = even_cuts(P * c + longer, P)
    x = np.zeros((P, P * c + longer))
    x[:, (cuts[:-1, None] + np.arange(a)).ravel()] = 1.0
    return Case({"P": P, "n": x.shape[1], "k": P * a, **options, "family": "identical, even"}, x)


def _region_study(
    claim: str,
    measure: _Measure,
    *choices: dict[str, Any],
    values: Any = None,
    extremal: _Cases | None = None,
    worst: Callable[[int], list[Case]] | None = None,
    relative: bool = False,
    subject: str = _DSA,
    attacked: bool = False,
) -> Study:
    return study(
        f"sparse.{claim}",
        subject,
        trial(measure, values),
        grid=every_small_stack(*choices),
        corpus=by_hand(*choices),
        cases=drawn(*choices),
        mutate=neighbour if attacked else None,
        extremal=extremal,
        enumerated=SMALL_STACKS,
        curves=over_ranks(256, 16, "own regions", worst=worst, relative=relative, **choices[0]),
    )


def _sizes(make: Callable[..., Case], *sizes: tuple[Any, ...], **options: Any) -> _Cases:
    return lambda _budget: (make(*size, **options) for size in sizes)


_RING = {"switch": "model", "allgather": "ring"}
_BRUCK = {"switch": "model", "allgather": "bruck"}
_NEVER = {"switch": "never"}


def _identical_grid(level: int) -> Iterator[Case]:
    for P in range(1, 33 if level else 17):
        for a in (1, 2, 3):
            for allgather in ("ring", "bruck", "recursive-doubling"):
                yield _identical_even(P, a, 2 * a + 1, a % P, allgather=allgather)


def _identical() -> Study:
    return study(
        "sparse.topkdsa.identical",
        _DSA,
        trial(_path),
        grid=_identical_grid,
        enumerated="P = 1..16, 1, 2, 3 of 3, 5, 7 entries of every region, some one longer, every all-gather",
        curves=[over("P", "k = 4P, n = 9P", (_identical_even(P, 4, 9) for P in RANKS))],
    )


def _crowded(P: int) -> list[Case]:
    """All ranks' 16 entries among the first of 256."""
    return [_ones_from(P, 256, 16, "all ranks alike", lambda _p: 0, **_RING)]


REGIONS = (
    _region_study(
        "topkdsa.upper_any_split",
        _path,
        _RING,
        _BRUCK,
        extremal=_sizes(_all_in_region_zero, *((P, 1, 1) for P in (2, 3, 5, 8, 16)), **_RING),
        worst=_crowded,
        attacked=True,
    ),
    _region_study(
        "topkdsa.upper_even",
        _path,
        _RING,
        extremal=_sizes(_all_in_region_zero, (3, 2), (4, 5), (5, 3), (8, 4), (16, 10), **_RING),
        worst=_crowded,
        attacked=True,
    ),
    _region_study(
        "topkdsa.upper",
        _path,
        _RING,
        extremal=lambda _budget: iter(
            (
                *(_disjoint_in_region_zero(P, k) for P, k in ((3, 1), (4, 2), (8, 3), (12, 1))),
                *(_all_in_region_zero(P, 2, P + 1, **_RING) for P in (4, 5, 8)),
            )
        ),
        worst=_crowded,
        attacked=True,
    ),
    _region_study("topkdsa.lower_any_density", _mean, _RING),
    _region_study(
        "topkdsa.lower_with_switch",
        _mean,
        _RING,
        extremal=lambda _budget: iter(
            (*(_identical_even(P, 2, 9) for P in (2, 3, 8, 13)), *(_own_regions(P, 4, 4) for P in (2, 3, 4)))
        ),
        attacked=True,
    ),
    _identical(),
    _region_study("topkdsa.gathered", _gathered, _RING, values=_union, relative=True),
    _region_study(
        "topkdsa.code_switch",
        _gathered,
        {"switch": "code"},
        values=_union,
        extremal=_sizes(_identical_even, (2, 1, 3), (3, 2, 6), (7, 3, 9), switch="code"),
        relative=True,
    ),
    _region_study(
        "lower_bound.mean",
        _mean,
        _NEVER,
        values=_support,
        extremal=_sizes(_own_regions, (2, 3, 2), (5, 4, 4), (8, 6, 1), **_NEVER),
        relative=True,
        attacked=True,
    ),
    _region_study(
        "lower_bound.most",
        _most,
        _NEVER,
        values=_support,
        extremal=_sizes(_own_regions, (2, 3, 2), (5, 4, 4), (8, 6, 1), **_NEVER),
        relative=True,
    ),
    _region_study("lower_bound.every_rank", _least, {}, values=_support, subject="gaussiank_allreduce", relative=True),
)
