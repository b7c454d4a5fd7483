"""Errors of quantised all-reduces: the claims bound to their implementations."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.compressors import GroupQuantizer, StochasticGroupQuantizer
from commbounds.theory import claims
from commbounds.verify import inputs
from commbounds.verify.experiments.flashcomm.cases import quantiser_of, random_stacks, stacks_of
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, Settings
from commbounds.verify.study import Outcome, Stream, Study

_EPS = float(np.finfo(np.float64).eps)


def _blocks(n: int, P: int) -> list[slice]:
    ends = np.concatenate([[0], np.cumsum([n // P + (j < n % P) for j in range(P)])])
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]


def _ranges(x: Array, group: int, blocks: list[slice]) -> Array:
    """Range of the group of every entry; groups are counted from the start of a block."""
    out = np.zeros(x.size)
    for block in blocks:
        for start in range(block.start, block.stop, group):
            part = slice(start, min(start + group, block.stop))
            out[part] = np.ptp(x[part])
    return out


@dataclass(frozen=True, eq=False)
class SumErrors:
    """Errors of a sum, and what their bounds are made of, entry by entry.

    Parameters
    ----------
    error : (n,) float64
        The largest error of every entry of the sum.
    values : dict
        Symbols of the bounds.
    """

    error: Array
    values: dict[str, Any]


def _run(implementation: Any, x: Array, width: int, group: int, settings: Settings) -> SumErrors:
    widths = [width, *(settings[name] for name in ("second_width",) if name in settings)]
    quantisers = [GroupQuantizer(bits, group, "float64") for bits in widths]
    held = implementation(x, *quantisers)[0].values
    blocks = [slice(0, x.shape[1])] if settings["one_block"] else _blocks(x.shape[1], len(x))
    error = np.abs(held - x.sum(axis=0)).max(axis=0)
    return SumErrors(error, {**_values(x, quantisers[0], blocks), "first_width": width, "second_width": widths[-1]})


def _values(x: Array, q: GroupQuantizer, blocks: list[slice]) -> dict[str, Any]:
    P = len(x)
    ranges = np.array([_ranges(row, q.group, blocks) for row in x])
    read, ring = np.zeros_like(x[0]), np.zeros(x.shape[1])
    for j, block in enumerate(blocks):
        read[block] = sum(q(row[block]) for row in x) if x[0, block].size else 0.0
        # block j starts at rank j; the h-th sum has the ranks j .. j + h - 1
        ring[block] = np.cumsum(ranges[[(j + h) % P for h in range(P)]][:, block], axis=0).sum(axis=0) / q.top
    return {
        "scales": ranges.sum(axis=0) / q.top,
        "ranges": ranges.sum(axis=0),
        "sum_scale": _ranges(read, q.group, blocks) / q.top,
        "ring_scales": ring,
    }


def _sum_error(name: str, found: SumErrors, x: Array, P: int, n: int) -> Outcome:
    """Error of the sum, at the entry where it comes closest to the claim's bound."""
    error, bound = found.error, np.broadcast_to(claims()[name].bound(**found.values), (n,))
    # every coding and reading rounds a difference, a quotient, a product and a sum, of sums of at most P entries
    slack = 8.0 * (P + 1) * P * _EPS * float(np.abs(x).max())
    share = np.where(bound > slack, error / np.maximum(bound, slack or 1.0), 2.0 * (error - bound > slack))
    at = int(np.argmax(share))
    chosen = {key: float(v[at]) if isinstance(v, np.ndarray) else v for key, v in found.values.items()}
    return Outcome(float(error[at]), chosen, slack)


_T, _R, _O = "twostep_quantised_allreduce", "ring_quantised_allreduce", "oneshot_quantised_allreduce"
_ENDS = [((0.0, 3.0, 1.5, 0.0), (0.0, 3.0, 0.5 + e, 0.0)) for e in (2.0**-12, 2.0**-20)]
"""Two ranks whose errors of half a scale add up, and whose sum lies half-way between two of its levels."""


def _family(subject: str, **axes: Sequence[Any]) -> Family:
    return Family(
        "flashcomm", subject, stacks_of(one_block=(subject == _O,), **axes), quantiser_of, _run, exact=False, arrays=2
    )


def _studies(family: Family, hostile: list[Settings], *names: str, attained: bool = True) -> Iterator[Study]:
    """The hostile rows are extremal if bounds are attained there; at their P they are in the curve."""
    for name in names:
        yield from family.studies(
            partial(_sum_error, f"flashcomm.{name}"),
            name,
            extremal=family.of(hostile) if attained else None,
            curves=[random_stacks(family, lambda P: [row for row in hostile if row["P"] == P])],
        )


_TWOSTEP, _RING, _ONESHOT = (_family(subject) for subject in (_T, _R, _O))
_MIXED = _family(_T, second_width=(5, 1, 3, 8))
# the four entries are the first block; the second is zero
_ATTAINING: dict[str, list[Any]] = {"P": [2], "n": [8], "width": [2], "data": _ENDS}
_KINDS = _RING.space.every(P=RANKS, n=(1, 5), width=(1, 2, 4), data=_RING.space.axes["data"])
_HALF_WAY = _ONESHOT.space.every(P=(1, 2, 5), n=[4], width=[2], data=["half-way"])

# --- both stages stochastic ------------------------------------------------------------------------------------------


def _sum_bias(implementation: Any, x: Array, P: int, n: int, width: int, uniforms: int) -> Fraction:
    """Bias of the two-step sum, all pairs of uniforms injected: enough to meet every outcome with its probability."""
    q, total = StochasticGroupQuantizer(width, n, "float64"), [Fraction(0)] * n
    points = [(2 * i + 1) / (2 * uniforms) for i in range(uniforms)]
    outcomes = list(itertools.product(points, repeat=P + 1))
    for draws in outcomes:
        values = implementation(x, q, draw=lambda stage, rank, u=draws: np.full(n, u[rank] if stage == 0 else u[-1]))
        total = [a + Fraction(float(v)) for a, v in zip(total, values[0].values[0], strict=True)]
    exact = [sum((Fraction(float(v)) for v in column), Fraction(0)) for column in x.T]
    bias = max(abs(a / len(outcomes) - b) for a, b in zip(total, exact, strict=True))
    return bias / max(max(abs(v) for v in exact), Fraction(1))


_QUARTERS = [0.25 * i for i in range(5)]
_DRAWN = Family("flashcomm", _T, stacks_of(uniforms=(4,)), quantiser_of, searched=False)
_DYADIC = [
    # each rank's block is its only entry but for the ends 0 and 1, so that groups are known
    *_DRAWN.space.every(
        P=[2],
        n=[6],
        width=[1],
        group=[6],
        data=[((0.0, 1.0, a), (0.0, 1.0, b)) for a, b in itertools.product(_QUARTERS, repeat=2)],
    ),
    *_DRAWN.space.every(P=[1], n=[3], width=[2], group=[3], data=[((0.0, 3.0, a),) for a in _QUARTERS]),
]
"""Stacks at one bit, where scales are ranges, with all sums and levels multiples of 1/`uniforms`.

A step of one and entries at multiples of a quarter make every upper code's probability a multiple of 1/4; what is
read are whole numbers, whose sums, of range two, have upper codes of probability 0, 1/2 or 1. Four uniforms in the
middles of their cells meet all of them exactly.
"""


def _sum_streams(allreduce: Any) -> list[Stream]:
    """Draws of the two-step sum at every entry, less the exact sum, over what it can be off at most."""
    streams = []
    for P in (2, 5):
        stack = np.array([inputs.family("normal", 64, P + i, 1.0, np.float32) for i in range(P)])
        streams.append(_stream(allreduce, stack))
    return streams


def _stream(allreduce: Any, stack: Array) -> Stream:
    P, q = len(stack), StochasticGroupQuantizer(3, 16)
    exact = stack.astype(np.float64).sum(axis=0)
    # every term and the sum err by less than a scale: the ranges of the whole rows are on the safe side
    reach = 2.0 * float(np.ptp(stack, axis=1).sum()) / q.top
    sign = np.sign(exact)

    def draw(rng: np.random.Generator, count: int) -> Floats:
        drawn = []
        for _ in range(-(-count // exact.size)):
            value = allreduce(stack, q, rng=rng)[0].values[0].astype(np.float64)
            drawn.append(sign * (value - exact) / reach)
        return np.concatenate(drawn)[:count]

    return Stream(f"P = {P}", draw, -1.001, 1.001, unit=float(np.abs(exact).mean()) / reach, cost=8)


ERRORS: tuple[Study, ...] = (
    *_studies(_TWOSTEP, _TWOSTEP.space.every(**_ATTAINING), "twostep.error", "twostep.error_by_scales"),
    *_studies(_MIXED, _MIXED.space.every(**_ATTAINING, second_width=[2]), "twostep.error_mixed"),
    *_studies(_RING, _KINDS, "ring.error", attained=False),
    *_studies(_ONESHOT, _HALF_WAY, "oneshot.error"),
    *_DRAWN.studies(
        _sum_bias,
        "twostep.unbiased",
        grid=_DRAWN.of(_DYADIC),
        corpus=None,
        enumerated="small stacks at one and two bits, every combination of uniforms; rational arithmetic",
        streams=_sum_streams,
    ),
)
"""In the order of the book."""
