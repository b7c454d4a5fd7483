"""Bit planes and spikes: the claims bound to their implementations."""

from typing import Any

import numpy as np

from commbounds.array_types import Array, Bytes
from commbounds.compressors import GroupQuantizer
from commbounds.compressors.flashcomm.bit_planes import unpacked
from commbounds.theory import claims
from commbounds.verify import inputs
from commbounds.verify.experiments.flashcomm.cases import GroupCoded, in_steps, quantised, through, vectors
from commbounds.verify.experiments.flashcomm.metadata import largest_errors
from commbounds.verify.experiments.flashcomm.quantiser import rounding, worst_in_steps
from commbounds.verify.family import Family, Rounded
from commbounds.verify.finding import Series
from commbounds.verify.space import Space
from commbounds.verify.study import Curve, Outcome, Unmeasured

_EPS = float(np.finfo(np.float64).eps)

# --- bit planes ------------------------------------------------------------------------------------------------------


def _codes(width: int, n: int, shift: int) -> Bytes:
    """All codes, again and again, the first of them at this place."""
    return np.resize(np.roll(np.arange(2**width, dtype=np.uint8), shift), n)


def _run(implementation: Any, x: Bytes, width: int) -> Any:
    return implementation(x, width)


_PLANES = Family(
    "flashcomm.bitplanes", "packed", Space(_codes, {"width": (1,), "n": (8,), "shift": (0,)}), run=_run, searched=False
)
_EVERY_PLACE = _PLANES.every(  # and part-full last bytes
    width=range(1, 9), shift=range(8), n=lambda level, width, shift: [2**width + shift + 3 * level]
)
_LENGTHS = _PLANES.every(width=range(1, 9), n=(1, 7, 8, 16, 40, 1024))


def _wrong(found: Any, x: Bytes, width: int) -> int:
    return int((unpacked(found, width, x.size) != x).sum())


def _bytes(found: Any) -> int:
    return sum(plane.nbytes for plane in found)


# --- spikes ----------------------------------------------------------------------------------------------------------


def _range_ratio(found: GroupCoded) -> Rounded:
    """Of the group that is next to the bound.

    A difference, a quotient and a product are rounded; near the least number the quotient is off by half of that.
    """
    whole = [np.ptp(found.wide[part]) for part in found.groups]
    rest = found.ranges.exact_scale.astype(np.float64) * found.c.top
    kind = np.finfo(found.x.dtype)
    least = found.c.top * float(kind.smallest_subnormal)
    ratios = [
        (float(in_steps(without, all_of_it)), least / float(all_of_it) if all_of_it else 0.0)
        for without, all_of_it in zip(rest, whole, strict=True)
    ]
    ratio, off = max(ratios, key=lambda pair: pair[0] - pair[1])
    return Rounded(ratio, 4 * float(kind.eps) * ratio + off)


def _spike_error(found: GroupCoded) -> Outcome:
    """Error in steps of the entries that are no spikes."""
    off, groups = np.abs(found.read - found.wide), []
    for g, part in enumerate(found.groups):
        kept = np.delete(np.arange(part.start, part.stop), found.ranges.positions[g])
        if kept.size:
            groups.append((float(off[kept].max()), float(found.ranges.scale[g]), rounding(found.x[kept])))
    error = worst_in_steps(groups)
    return Outcome(error.value, {}, error.slack, active=bool(groups))


def _kept(found: GroupCoded) -> float:
    """Largest error of the ends of groups: exact, as spikes are stored in the dtype of the vector."""
    x = found.x
    ends = [part.start + int(at) for part in found.groups for at in (np.argmin(x[part]), np.argmax(x[part]))]
    return float(np.abs(found.read - found.wide)[ends].max())


# --- what spikes pay -------------------------------------------------------------------------------------------------


def two_and_four(cls: Any) -> tuple[Any, Any]:
    """INT2 with spikes and plain INT4."""
    return cls(2, 32, metadata="float16", spikes=True), cls(4, 128, metadata="float16")


def squared_errors(implementation: Any, x: Array) -> list[float]:
    """Of INT2 with spikes, and of plain INT4."""
    wide = x.astype(np.float64)
    return [float(((through(c, x).astype(np.float64) - wide) ** 2).sum()) for c in two_and_four(implementation)]


def _ratio(found: list[float], x: Array) -> Rounded:
    ratio = float(in_steps(*found))
    return Rounded(ratio, 4 * x.size * _EPS * ratio)


def _least_error(x: Array, step: float) -> float:
    """The smallest sum of squared distances of `x` to levels `step` apart, over all that these may be moved by."""
    if not x.size:
        return 0.0
    if step <= 0.0:
        return float(((x - x.mean()) ** 2).sum())
    around = np.sort(np.mod(x - x.min(), step))
    before = np.arange(around.size)
    # the first ones, before the cut, go once round
    total = around.sum() + before * step
    squares = (around**2).sum() + np.concatenate([[0.0], np.cumsum(2 * around * step + step**2)[:-1]])
    return max(0.0, float((squares - total**2 / around.size).min()))


def _pays(found: list[float], x: Array) -> Rounded | Unmeasured:
    if not found[1]:
        return Unmeasured("INT4 makes no error, and no number of zeros is the error with spikes")
    return _ratio(found, x)


def _isolated(found: list[float], x: Array) -> Outcome:
    """The ratio, with what INT2 can err by at most, and what INT4 errs by at least."""
    two, four = (GroupCoded(c, x) for c in two_and_four(GroupQuantizer))
    about, wide = two.ranges, two.wide
    ends = np.zeros(x.size, bool)
    ends[(np.arange(about.count)[:, None] * two.c.group + about.positions).ravel()] = True
    # the ends are rounded to float16, the others coded in their own group
    reserved = float(((np.maximum(np.abs(wide[ends]), 2.0**-14) * 2.0**-11) ** 2).sum())
    most = largest_errors(two.c, about.without_spikes(x), about.exact_low, about.scale)
    most = np.repeat(most + [rounding(x[part]) for part in two.groups], two.c.group)[: x.size]
    reserved += float((most[~ends] ** 2).sum())
    least = 0.0
    for part, scale in zip(four.groups, four.ranges.scale, strict=True):
        others = wide[part][~ends[part]]
        # what is read may be a little off its level
        off = np.sqrt(others.size) * rounding(x[part])
        least += max(0.0, float(np.sqrt(_least_error(others, float(scale)))) - off) ** 2
    ratio = _ratio(found, x)
    return Outcome(ratio.value, {"reserved_error": reserved, "least_error": least}, ratio.slack)


_REPEATED = {
    # ends that both read as they are; the others half-way between the levels of INT2, about one of INT4's
    "half-way": np.array([-110.5, 129.5, 0.0, 3.0, *[0.5] * 14, *[2.5] * 14]),
    "on the levels of INT4": np.arange(16.0),
}


def spiky(n: int, data: str, seed: int, scale: float = 1.0) -> Array:
    """Normal entries, and a hundred in place of one in 64 of them, of either sign; or entries that are repeated."""
    if data in _REPEATED:
        return np.resize(_REPEATED[data] * scale, n).astype(np.float32)
    x = inputs.family("normal", n, seed, 1.0, np.float32)
    rng = np.random.default_rng([seed, 64])
    places = {
        "normal": np.arange(0),
        "one in every 64": np.arange(0, n, 64) + rng.integers(0, 64, n // 64),
        "one in 64, anywhere": rng.permutation(n)[: n // 64],
        "side by side": np.arange(n // 64),
    }[data]
    x[places] = 100 * rng.choice([-1.0, 1.0], places.size) * (1 + np.abs(x[places]))
    return x * np.float32(scale)


_KINDS = ("normal", "one in every 64", "one in 64, anywhere", "side by side", *_REPEATED)
_PAYS = Family(
    "flashcomm.spikes",
    "GroupQuantizer",
    Space(spiky, {"n": (1024, 128, 192, 4096), "data": _KINDS, "scale": (1.0, 2.0**-6)}),
    run=squared_errors,
    exact=False,
    arrays=3,
    searched=False,
)
_LONG = {n: [_PAYS.space.at(n=n, seed=seed) for seed in range(5)] for n in (1024, 4096, 16384)}
_NORMAL = Curve(
    "n", "normal entries", lambda _seed: [(float(n), [*map(_PAYS.case, rows)]) for n, rows in _LONG.items()]
)


def _isolated_curve(implementation: Any, _seed: int) -> list[Series]:
    worst, bound = [], []
    for rows in _LONG.values():
        stacks = [spiky(row["n"], "one in every 64", row["seed"]) for row in rows]
        outcomes = [_isolated(squared_errors(implementation, x), x) for x in stacks]
        worst.append(max(float(o.measured) for o in outcomes))
        bound.append(min(float(claims()["flashcomm.spikes.pays_isolated"].bound(**o.values)) for o in outcomes))
    return [Series("one spike in every 64", "n", list(map(float, _LONG)), bound, worst)]


_OF_SPIKES = vectors(spikes=(True,))
_NEAR_THE_LEAST = [  # where scales of single groups have few digits
    _OF_SPIKES.at(n=33, data=data, group=32, width=width, moved=(1e-310, 0.0))
    for data, width in (("between powers", 4), ("halfway between powers", 8))
]
_SPIKES = quantised("flashcomm.spikes", _OF_SPIKES.including(*_NEAR_THE_LEAST))
_HALF_WAY = _SPIKES.every(n=[5], width=range(1, 9), group=[5], data=["half-way, and spikes"])
_TIED = _SPIKES.every(n=(4, 8, 32), width=[2], group=lambda n: [n], data=["alternating"])

PLANES_AND_SPIKES = (
    *_PLANES.studies(_wrong, "lossless", grid=_EVERY_PLACE, enumerated="every code at every place"),
    *_PLANES.studies(_bytes, "bytes", grid=_LENGTHS, enumerated="widths and lengths"),
    *_SPIKES.studies(_range_ratio, "range", extremal=_TIED),
    *_SPIKES.studies(_kept, "kept"),
    *_SPIKES.studies(_spike_error, "error", extremal=_HALF_WAY),
    *_PAYS.studies(_pays, "pays", curves=[_NORMAL]),
    *_PAYS.studies(_isolated, "pays_isolated", curves=_isolated_curve),
)
"""In the order of the book."""
