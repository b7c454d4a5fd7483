"""All-reduces that send codes of a few bits: the first coding is replayed, the others are bounded by their steps."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds._arrays import FLOATS, format_of, rows_of
from commbounds._mistakes import Suspect, explanations
from commbounds._sums import rank_sums
from commbounds.array_types import Array, Floats
from commbounds.collectives.cuts import even_cuts
from commbounds.theory.precision.formats import FORMATS, format_named

SCALES = ("float32", "float16", "bfloat16", "e8m0")
KINDS = ("asymmetric", "symmetric", "signed", "float8_e4m3fn", "float8_e5m2")
SCHEDULES = ("two_step", "one_shot", "ring")


@dataclass(frozen=True)
class Codes:
    """How groups of entries are coded: by multiples of a scale, above their smallest entry or around zero.

    Parameters
    ----------
    kind : {"asymmetric", "symmetric", "signed", "float8_e4m3fn", "float8_e5m2"}
        asymmetric: the nearest of 0 .. 2^bits - 1 steps of (max - min)/(2^bits - 1) above min. symmetric: the nearest
        of so many steps of max |x|/(2^(bits - 1) - 1) to either side. signed: the nearest of -2^(bits - 1) ..
        2^(bits - 1) - 1 steps of -1/2^(bits - 1) times the entry of the largest magnitude, which has the lowest code.
        The others: of eight bits, the nearest number of the format times max |x| over the largest.
    bits : int
        Of a code, in [2, 16]; 8 where codes are numbers.
    group : int or None
        Entries that share a scale; None for all: of a row, a block, or the whole vector.
    scale : {"float32", "float16", "bfloat16", "e8m0"}
        Format of scales, and of smallest entries, to nearest; e8m0: powers of two, upwards, and smallest entries as
        they are.
    """

    kind: str
    bits: int
    group: int | None
    scale: str

    def __post_init__(self) -> None:
        for name, value, known in (("codes", self.kind, KINDS), ("scale", self.scale, SCALES)):
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
        if isinstance(self.bits, bool) or not isinstance(self.bits, int) or not 2 <= self.bits <= 16:
            raise ValueError(f"bits must be an integer in [2, 16], got {self.bits!r}")
        if self.kind in FORMATS and self.bits != 8:
            raise ValueError(f"bits of {self.kind} are 8, got {self.bits}")
        if self.group is not None and (isinstance(self.group, bool) or self.group < 1):
            raise ValueError(f"group must be at least 1, or None for one, got {self.group!r}")

    @property
    def levels(self) -> float:
        """Steps from zero, or from the smallest entry, to the largest code."""
        if self.kind in FORMATS:
            return float(FORMATS[self.kind].largest)
        return float(2**self.bits - 1 if self.kind == "asymmetric" else 2 ** (self.bits - 1) - (self.kind != "signed"))

    def _grouped(self, x: Floats, fill: float) -> Floats:
        """Groups along the last axis, the last one filled up."""
        n = x.shape[-1]
        size = min(self.group or n, n)
        padded = np.full((*x.shape[:-1], -(-n // size) * size), fill)
        padded[..., :n] = x
        return padded.reshape(*x.shape[:-1], -1, size)

    def _ends(self, x: Floats, off: Floats | float = 0.0) -> tuple[Floats, Floats]:
        """Of every entry's group: the point that codes are counted from, and the largest distance to it; outwards."""
        n = x.shape[-1]
        size = min(self.group or n, n)
        low = self._grouped(x - off, np.inf).min(axis=-1, keepdims=True)
        high = self._grouped(x + off, -np.inf).max(axis=-1, keepdims=True)
        if self.kind == "asymmetric":
            point, most = low, high - low
        else:
            point, most = np.zeros_like(low), np.maximum(np.abs(low), np.abs(high))
        spread = (np.repeat(end.reshape(*x.shape[:-1], -1), size, axis=-1)[..., :n] for end in (point, most))
        first, second = spread
        return first, second

    def _stored(self, values: Floats) -> Floats:
        if self.scale == "e8m0":
            fraction, exponent = np.frexp(values)
            return np.where(values > 0, np.ldexp(1.0, exponent - (fraction == 0.5)), 0.0)
        return values.astype(FLOATS[self.scale]).astype(np.float64)

    def _read(self, steps: Floats) -> Floats:
        """The nearest code of so many steps."""
        if self.kind in FORMATS:
            return np.clip(steps, -self.levels, self.levels).astype(FLOATS[self.kind]).astype(np.float64)
        lowest = 0.0 if self.kind == "asymmetric" else -self.levels
        return np.clip(np.rint(steps), lowest, self.levels - (self.kind == "signed"))

    def replayed(self, x: Floats, unit: float) -> tuple[Floats, Floats]:
        """What is read of entries, and what that may be off where scales and steps are rounded by a few `unit`."""
        point, most = self._ends(x)
        if self.kind == "asymmetric" and self.scale != "e8m0":
            point = self._stored(point)
        few = 4.0 * unit
        low, high = (self._stored(most / self.levels * (1.0 + sign * few)) for sign in (-1.0, 1.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            # a largest entry of either sign may have the lowest code
            turns = (1.0,) if self.kind != "signed" else self._turns(x)
            ends = [
                point + np.where(scale > 0.0, turn * scale * self._read(turn * (x - point) / scale * near), 0.0)
                for scale in (low, high)
                for near in (1.0 - few, 1.0 + few)
                for turn in turns
            ]
        lower, upper = np.minimum.reduce(ends), np.maximum.reduce(ends)
        # a product and a sum, of which either is rounded, and a scale that is off by a few units
        return (lower + upper) / 2.0, (upper - lower) / 2.0 + 3.0 * few * (np.abs(point) + np.abs(x - point) + high)

    def _turns(self, x: Floats) -> tuple[Floats, Floats]:
        """Of every entry's group the signs that its steps may have: that of the largest entry, inverted."""
        n, size = x.shape[-1], min(self.group or x.shape[-1], x.shape[-1])
        low, high = -self._grouped(x, np.inf).min(axis=-1), self._grouped(x, -np.inf).max(axis=-1)
        signs = (np.where(low >= high, 1.0, -1.0), np.where(high >= low, -1.0, 1.0))
        first, second = (np.repeat(sign, size, axis=-1)[..., :n] for sign in signs)
        return first, second

    def step(self, x: Floats, off: Floats, unit: float) -> Floats:
        """What coding numbers may be off that are within `off` of x."""
        point, most = self._ends(x, off)
        if self.scale == "e8m0":
            stored, clipped = 2.0 * most / self.levels, 0.0 * most
        else:
            # a scale that is rounded down, or a smallest entry that is rounded, leaves numbers beyond the codes
            form = FORMATS[self.scale]
            stored = (1.0 + float(form.unit)) * most / self.levels + float(form.smallest)
            clipped = float(form.unit) * (most + np.abs(point) + off) + self.levels * float(form.smallest)
        if self.kind in FORMATS:
            form, size = FORMATS[self.kind], np.abs(x) + off
            half = np.maximum(float(form.unit) * size, stored * float(form.smallest) / 2.0)
        elif self.kind == "signed":
            # the number that is as large as the largest, of the other sign, has no code: it is a whole step off
            half = np.where(np.abs(x) + off < (1.0 - 0.75 / self.levels) * most, stored / 2.0, stored)
        else:
            half = stored / 2.0
        return half + clipped + 8.0 * unit * (most + np.abs(point) + np.abs(x) + off)


def assert_quantised_close(
    actual: Any,
    inputs: Any,
    *,
    bits: int = 8,
    group: int | None = None,
    codes: str = "asymmetric",
    scale: str = "float32",
    schedule: str = "two_step",
    accumulate: str = "float32",
) -> None:
    """Raise an AssertionError unless `actual` is the sum of `inputs` that an all-reduce of codes of a few bits gives.

    Parameters
    ----------
    actual : array, tensor, or sequence of them
        The result of one rank, of the shape of an input; or of all ranks.
    inputs : array, tensor, or sequence of them
        What the ranks brought.
    bits, group, codes, scale
        How entries are coded: those of `Codes`, `codes` for its kind. Groups are of neighbours in the flat vector; in a
        ring, of neighbours in a block.
    schedule : {"two_step", "one_shot", "ring"}
        two_step: the owner of a block adds what it reads of all ranks' codes, its own too, and sends codes of the sum.
        one_shot: every rank adds what it reads of all ranks' codes. ring: what arrives is read, the own entries are
        added, the sum is coded and sent on; block i begins behind rank i.
    accumulate : str
        Format of scales before they are stored, of steps, of what is read, and of sums.

    Raises
    ------
    AssertionError
        An entry is beyond what the codings after the first, and roundings, explain.
    ValueError, TypeError
        Shapes or options do not fit, or an input is not finite.

    Notes
    -----
    The first coding of every input is replayed: what is left of it is where a step or a scale may be rounded to either
    side. Of every further one half a step is allowed, of the group's range as it is after the sums.

    Examples
    --------
    >>> x = np.array([[0.0, 1.0, 3.0], [0.0, 3.0, 1.5]], np.float32)
    >>> assert_quantised_close(np.array([0.0, 4.0, 4.0], np.float32), x, bits=2, schedule="one_shot")
    >>> assert_quantised_close(x[0], x, bits=2, schedule="one_shot")
    Traceback (most recent call last):
    AssertionError: all-reduce of 2 ranks: 2 of 3 entries are beyond what codes and rounding explain
        worst: entry 1 is 1.0, the codes of the ranks add up to 4.0: off by 3, where 5.72e-06 is explained
        one_shot, asymmetric codes of 2 bits, 3 a group, scales in float32
        what fits: the result is the input of rank 0, not reduced, in entries 1 to 2
    """
    stack, rows, _, of_all = rows_of(actual, inputs)
    if not stack.size:
        raise ValueError("inputs must hold at least one rank and one entry")
    schedule = schedule.replace("-", "_").replace(" ", "_")
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule must be one of {', '.join(SCHEDULES)}, got {schedule!r}")
    code, unit = Codes(codes, bits, group, scale), float(format_named(accumulate).unit)
    form, brought = format_of(rows, "actual"), format_of(stack, "inputs")
    P, flat = len(stack), stack.astype(np.float64)
    if not np.isfinite(flat).all():
        raise ValueError(f"inputs must be finite, in {brought.name}")
    if schedule == "ring":
        terms, allowed = _ring(flat, code, unit)
    else:
        terms, off = code.replayed(flat, unit)
        allowed = off.sum(axis=0) + (P - 1) * unit * np.abs(terms).sum(axis=0)
        if schedule == "two_step":
            total = terms.sum(axis=0)
            allowed = allowed + code.step(total, allowed, unit)
    sums = rank_sums(terms)
    cast = float(form.unit) * (np.abs(sums.wide()) + allowed) + float(form.smallest)
    allowed = (allowed + cast) * (1.0 + P * 2.0**-50) + sums.slack
    for rank, row in enumerate(rows):
        wrong = np.flatnonzero(~(np.abs(sums.distance(row)) <= allowed))
        if wrong.size:
            raise AssertionError(_message(terms, row, sums, allowed, wrong, code, schedule, rank if of_all else None))


def _ring(flat: Floats, code: Codes, unit: float) -> tuple[Floats, Floats]:
    """Terms, of which the first of every block is coded, and what the codings of their partial sums may be off."""
    P, n = flat.shape
    terms, allowed = flat.copy(), np.zeros(n)
    cuts = even_cuts(n, P).tolist()
    for block, (start, stop) in enumerate(pairwise(cuts)):
        if start == stop:
            continue
        first, at = (block + 1) % P, slice(start, stop)
        total, off = code.replayed(flat[first, at], unit)
        terms[first, at] = total
        for step in range(1, P):
            own = flat[(first + step) % P, at]
            total = total + own
            off = off + unit * (np.abs(total) + off)
            off = off + code.step(total, off, unit)
        allowed[at] = off
    return terms, allowed


def _message(
    terms: Floats,
    row: Array,
    sums: Any,
    allowed: Floats,
    wrong: NDArray[np.intp],
    code: Codes,
    schedule: str,
    rank: int | None,
) -> str:
    size = np.abs(sums.distance(row))[wrong]
    worst = int(np.argmax(np.where(np.isfinite(size), size / allowed[wrong], np.inf)))
    entry, on = int(wrong[worst]), "" if rank is None else f" on rank {rank}"
    # with a mistake the groups of the sums have other ranges, and steps
    suspect = Suspect(terms, sums, row, 1, 1.5 * allowed, wrong, 0.0)
    fits = "; ".join(explanations(suspect, {})) or "none of the mistakes that are known here"
    return (
        f"all-reduce of {len(terms)} ranks: {wrong.size} of {len(row)} entries{on} are beyond what codes and rounding "
        f"explain\n    worst: entry {entry}{on} is {float(row[entry])!r}, the codes of the ranks add up to "
        f"{float(sums.wide()[entry])!r}: off by {size[worst]:.3g}, where {allowed[entry]:.3g} is explained\n    "
        f"{schedule}, {code.kind} codes of {code.bits} bits, {min(code.group or len(row), len(row))} a group, scales "
        f"in {code.scale}\n    what fits: {fits}"
    )
