"""Errors of quantised all-reduces against the ranks' groups: the claims bound to the collectives of flashcomm."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors import GroupQuantizer
from commbounds.verify import inputs
from commbounds.verify.family import Family, FamilyStudy
from commbounds.verify.space import RANKS, Of, Settings, Space, sizes
from commbounds.verify.study import Case, Curve, Outcome, Study

_EPS = float(np.finfo(np.float64).eps)
_HUGE = 2.0**64
"""More than any claim allows."""

# --- cases ------------------------------------------------------------------------------------------------------------

_BESIDE = {"half-way, and 2^-12": 2.0**-12, "half-way, and 2^-20": 2.0**-20}


def _stack(P: int, n: int, data: str, width: int, node: int, seed: int) -> Array:
    if data == "half-way":
        return np.tile([-1.5, 1.5, -1.0, -0.5], (P, 1))
    if data in _BESIDE:  # errors of half a step that add up, and a sum half-way between two of its levels
        half = np.array([[-1.5, 1.5, 0.0, -1.5], [-1.5, 1.5, _BESIDE[data] - 1.0, -1.5]])
        return np.concatenate([half, np.zeros((2, 4))], axis=1)
    if data == "half-way at every hop":
        # a large group at the first rank of its block, and half a step from later ones: every code is rounded down;
        # levels are one apart, from -top/2 to top/2, the entry 1/2 - e above the lowest level but one
        x, top, e = np.zeros((P, n)), 2**width - 1, 2.0**-20
        x[0, :3] = -top / 2, top / 2, 1.5 - e - top / 2
        x[[1, node] if node > 1 else slice(1, None), 2] = 0.5 - e
        return x
    return np.array([inputs.family(data, n, seed + p, 1.0, np.float64) for p in range(P)])


def _row(P: int, n: int, data: str, width: int = 2, **options: Any) -> Settings:
    return {"P": P, "n": n, "data": data, "width": width, "group": 4, **options}


# --- what is measured -------------------------------------------------------------------------------------------------


def _largest_of_groups(schedule: str, x: Array, settings: Settings) -> Array:
    """Sum over the ranks of the largest magnitude in the group of every entry."""
    count = {"oneshot": 1, "hierarchical": settings.get("node", 1)}.get(schedule, len(x))
    edges = np.cumsum([0, *(len(part) for part in np.array_split(np.arange(x.shape[1]), count))]).tolist()
    found, group = np.zeros(x.shape[1]), settings["group"]
    for first, end in itertools.pairwise(edges):
        for start in range(first, end, group):
            part = slice(start, min(start + group, end))
            found[part] = np.abs(x[:, part]).max(axis=1).sum()
    return found


def _own_entries(_schedule: str, x: Array, _settings: Settings) -> Array:
    return np.asarray(np.abs(x).sum(axis=0))


def _errors(schedule: str, implementation: Any, x: Array, compressor: Any, settings: Settings) -> Array:
    more: dict[str, Any] = {"node": settings["node"]} if schedule == "hierarchical" else {}
    if schedule == "twostep":
        more["second"] = GroupQuantizer(settings["second_width"], settings["group"], "float64")
    held = implementation(x, compressor, **more)[0].values
    return np.asarray(np.abs(held - x.sum(axis=0)).max(axis=0))


def _share(schedule: str, reference: Any, found: Array, x: Array, P: int, settings: Settings) -> Outcome:
    size = reference(schedule, x, settings)
    # every coding and reading rounds a difference, a quotient, a product and a sum, of sums of at most P entries
    slack = 8.0 * (P + 1) * P * _EPS * float(np.abs(x).max())
    error = np.where(found <= slack, 0.0, found)
    share = np.where(size > 0, error / np.where(size > 0, size, 1.0), np.where(error > 0, _HUGE, 0.0))
    at = int(np.argmax(share))
    return Outcome(float(share[at]), {}, slack / float(size[at]) if size[at] > 0 else 0.0)


# --- all --------------------------------------------------------------------------------------------------------------


def _points(family: Family, how: Settings, seed: int) -> Iterator[tuple[float, list[Case]]]:
    """Nine of normal entries, and all rows of so many ranks."""
    for P in (1, 2, 3, 4, 5, 8, 16):
        drawn = [family.space.at(P=P, n=512, width=4, group=32, seed=seed + 16 * i, **how) for i in range(9)]
        yield float(P), [family.case(row) for row in (*drawn, *family.space.covering()) if row["P"] == P]


def _facts(width: int, group: int) -> dict[str, Any]:
    return {"compressor": GroupQuantizer(width, group, "float64"), "first_width": width}


def _studies(
    schedule: str, by_hand: Iterable[Settings], tight: bool = False, how: Settings | None = None, **options: Any
) -> tuple[FamilyStudy, ...]:
    """The claim about an all-reduce, which cases by hand may attain; `how` says what curves are over."""
    axes = {
        "P": RANKS,
        "n": sizes(5, 33),
        "data": ("normal", "small integers", "student", "sparse"),
        "width": (1, 2, 4),
        "group": (4, 2, 7),
        "second_width": (Of("width", lambda width: width),),
        "node": (1,),
        **options,
    }
    space = Space(_stack, axes).search(n=(1, 8), data=tuple(inputs.FAMILIES), width=(1, 6), group=(1, 8))
    rows = [space.at(**row) for row in by_hand]
    family = Family(
        "precision",
        f"{schedule}_quantised_allreduce",
        space.including(*rows),
        _facts,
        partial(_errors, schedule),
        exact=False,
        arrays=3,
    )
    label = "random: normal entries, four bits, groups of 32"
    curve = Curve("P", label, partial(_points, family, how or {}), typical=9, relative=True)
    groups = partial(_share, schedule, _largest_of_groups)
    found = family.studies(groups, f"quantised.{schedule}", extremal=family.of(rows) if tight else None, curves=[curve])
    if schedule != "twostep":
        return found
    return (*found, *family.studies(partial(_share, schedule, _own_entries), "quantised.own_entries"))


_NODES = (
    1,
    Of("2, if P is even", lambda P: 2 - P % 2),
    Of("the largest of 1 to 4 that divides P", lambda P: max(k for k in (1, 2, 3, 4) if P % k == 0)),
)
_HOPS = "half-way at every hop"
QUANTISED: Sequence[Study] = (
    *_studies(
        "twostep",
        [_row(2, 8, data, second_width=2) for data in _BESIDE],
        tight=True,
        how={"second_width": 5},
        second_width=(1, 3, 8),
    ),
    *_studies("oneshot", [_row(P, 4, "half-way") for P in (1, 2, 5)], tight=True),
    *_studies("ring", [_row(P, 4 * P, _HOPS, width) for P in (1, 2, 3, 4) for width in (4, 6, 8)]),
    *_studies(
        "hierarchical",
        [_row(4, 16, _HOPS, width, node=2) for width in (4, 6, 8)],
        how={"node": _NODES[1]},
        node=_NODES,
    ),
)
"""In the order of the book."""
