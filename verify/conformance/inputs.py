"""Hostile inputs for subjects of every kind and dtype, and strategies for the search."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array
from commbounds.verify.conformance.budgets import CheckBudget
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.narrow import ends, level_ties, limits, ties
from commbounds.verify.conformance.subject import AllReduce, Stateful, Subject
from commbounds.verify.inputs import CORPUS, FAMILIES, SCALES, balanced, family, integers, sampled_from

_EXTRA: Mapping[str, Callable[[int], Array]] = MappingProxyType(
    {
        "huge offset, tiny spread": lambda n: 1e4 + 1e-2 * np.sin(np.arange(n)),
        "smooth": lambda n: np.cos(1.7 * np.arange(n) + 0.3),
        "mostly tiny": lambda n: np.where(np.arange(n) % 7 == 3, 1.0, 1e-3 * np.cos(np.arange(n))),
    }
)
_LONG = ("ramp", "smooth", "one huge entry", "constant", "two entries")
"""What is taken at the long sizes too."""


def _largest(dtype: np.dtype[Any]) -> float:
    return float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]


def _cast(values: Array, dtype: np.dtype[Any]) -> Array | None:
    """`values` in `dtype`; None where they, or their norm, are beyond it."""
    with np.errstate(all="ignore"):
        x: Array = np.ascontiguousarray(values.astype(dtype))
        wide = x.astype(np.float64)
        norm = float(np.linalg.norm(wide.ravel()))
        fits = np.isfinite(wide).all() and norm <= _largest(dtype)
    return x if fits else None


def _vectors(
    budget: CheckBudget, dtype: np.dtype[Any], whole_range: bool, tiles: tuple[int, ...]
) -> Iterator[tuple[str, Array]]:
    """Hostile vectors: everything at every size, the long ones in part, and so the ends of the range if not whole."""
    makers = {**CORPUS, **_EXTRA}
    subnormal = float(ml_dtypes.finfo(dtype).smallest_subnormal)  # type: ignore[no-untyped-call]
    for scale in (*SCALES, 3.0 * subnormal):
        for name, make in makers.items() if scale == 1.0 or whole_range else ((name, makers[name]) for name in _LONG):
            for n in budget.sizes if scale == 1.0 else sorted({budget.sizes[0], budget.sizes[-1]}):
                yield f"{name}, n={n}, scale {scale:g}", make(n) * scale
    for n in tiles:
        for name in ("ramp", "smooth"):
            yield f"{name}, n={n}", makers[name](n)
    for n in budget.long:
        for name in _LONG:
            yield f"{name}, n={n}", makers[name](n)


def _matrices(budget: CheckBudget) -> Iterator[tuple[str, Array]]:
    """Hostile matrices: of low rank, with rows of zeros, tall, wide and single."""
    side = budget.sizes[-1]
    shapes = [(1, 1), (1, 5), (5, 1), (2, 2), (3, 4), (8, 5), (side, 7), (6, side)]
    makers = {**CORPUS, **_EXTRA}
    for m, n in shapes:
        for name in ("zero", "constant", "one entry", "two entries", "ties", "ramp", "smooth", "one huge entry"):
            yield f"{name}, {m} x {n}", makers[name](m * n).reshape(m, n)
        yield f"rank one, {m} x {n}", np.outer(np.arange(1.0, m + 1), (-1.0) ** np.arange(n))
        yield f"identity, {m} x {n}", np.eye(m, n)
        last = np.zeros((m, n))
        last[-1] = 1.0 + np.arange(n)
        yield f"all in the last row, {m} x {n}", last
        for scale in (1e-30, 1e-20, 1e18):
            yield f"smooth, {m} x {n}, scale {scale:g}", makers["smooth"](m * n).reshape(m, n) * scale
    yield "smooth, 300 x 260", makers["smooth"](300 * 260).reshape(300, 260)


def _arrays(subject: Subject, budget: CheckBudget) -> Iterator[tuple[str, Array]]:
    """Hostile single inputs of the subject's shape, as float64."""
    if isinstance(subject.shape, tuple):
        size = int(np.prod(subject.shape))
        for scale in SCALES:
            for name, make in {**CORPUS, **_EXTRA}.items():
                yield f"{name}, scale {scale:g}", (make(size) * scale).reshape(subject.shape)
    elif subject.shape == "matrix":
        for label, x in _matrices(budget):
            yield label, _stretched(x, subject.multiple_of)
    else:
        tiles = () if isinstance(subject, Stateful) else budget.tiles
        for label, x in _vectors(budget, subject.numpy_dtype, subject.leading == 0, tiles):
            yield label, _stretched(x, subject.multiple_of)


def _of_rounding(subject: Subject) -> Iterator[tuple[str, Array, bool]]:
    """Inputs for subjects that round, and whether they are taken however little effort there is.

    Ties for all, but between levels: of stacks few, with memory none. The ends of ranges for single inputs.
    """
    about = subject.numpy_dtype, subject.magnitudes
    for label, row in ties(*about):
        yield label, _shaped(subject, row), not label.startswith("subnormal")
    if isinstance(subject, Stateful):
        return
    yield "zeros of both signs", _shaped(subject, np.array([-0.0, 0.0])), True
    for label, row in level_ties(*about, few=subject.leading > 0):
        yield label, _shaped(subject, row), False
    if subject.leading:
        return
    for several, always in ((ends(*about), False), (limits(*about), True)):
        for label, row in several:
            size = int(np.prod(subject.shape)) if isinstance(subject.shape, tuple) else len(row)
            wanted = -(-size // subject.multiple_of) * subject.multiple_of
            yield label, _shaped(subject, np.pad(row, (0, max(0, wanted - len(row))))), always


def _shaped(subject: Subject, row: Array) -> Array:
    """A vector in the subject's shape: repeated, or cut off, where that is of one size; a matrix has one row."""
    if isinstance(subject.shape, tuple):
        return np.resize(row, subject.shape)
    row = _stretched(row, subject.multiple_of)
    return row[None] if subject.shape == "matrix" else row


def _stretched(x: Array, multiple: int) -> Array:
    """`x` with its last axis brought to a multiple, by repeating what there is."""
    if multiple == 1 or x.shape[-1] % multiple == 0:
        return x
    wanted = -(-x.shape[-1] // multiple) * multiple
    stretched: Array = np.take(x, np.arange(wanted) % x.shape[-1], axis=-1)
    return stretched


def corpus(
    subject: Subject,
    budget: CheckBudget,
    wanted: Callable[[str, tuple[int, ...], str], bool] = lambda label, shape, kind: True,
) -> Iterator[CheckCase]:
    """The hostile cases that the subject takes, small first within each kind.

    Single inputs for a compressor; for a stateful subject runs that begin with zeros, stay constant, change their
    signs, or drift; for an all-reduce stacks whose rows are equal, opposite, hostile in one row only, or all different.

    Parameters
    ----------
    subject : Subject
        Whose they are.
    budget : CheckBudget
        Their sizes.
    wanted : callable (label, shape, kind) -> bool
        Asked of a case unlike all before it; `kind` is that of the run or stack ("zero first, 64 steps"), empty for
        single inputs and where everything is zero.
    """
    dtype = subject.numpy_dtype
    seen = set[tuple[tuple[int, ...], bytes]]()
    hostile = ((label, values, False) for label, values in _arrays(subject, budget))
    for number, (label, values, always) in enumerate(chain(hostile, _of_rounding(subject))):
        for suffix, stack in _stacked(subject, budget, values, number):
            x = _cast(stack, dtype)
            if x is None or not subject.takes(x):
                continue
            if subject.leading:  # of one entry, or of equal ones, most kinds are the same
                key = x.shape, hashlib.sha256(x.tobytes()).digest()
                if key in seen:
                    continue
                seen.add(key)
            kind = suffix.lstrip(", ") if values.any() else ""
            if always or wanted(label + suffix, x.shape, kind):
                yield CheckCase(x, number % 7, label + suffix, kind)


_Stacks = Iterator[tuple[str, Array]]
"""The end of a label, and the array."""


def _stacked(subject: Subject, budget: CheckBudget, values: Array, number: int) -> _Stacks:
    if isinstance(subject, Stateful):
        yield from _runs(budget, values, number)
    elif isinstance(subject, AllReduce):
        yield from _brought(subject, values, number)
    else:
        yield "", values


def _runs(budget: CheckBudget, values: Array, number: int) -> _Stacks:
    """Gradients over steps, made from one; how many, and some kinds of runs, go round with `number`.

    Long inputs have few steps.
    """
    steps = budget.steps[number % len(budget.steps)]
    steps = min(steps, max(budget.steps[0], 2**18 // values.size))
    along = np.arange(steps).reshape(-1, *[1] * values.ndim)
    yield f", constant for {steps} steps", np.repeat(values[None], steps, axis=0)
    yield f", sign changing for {steps} steps", values * (-1.0) ** along
    if values.size > 400:
        return
    others = (
        ("zero first,", values * (along >= max(1, steps // 3))),
        ("wave with a zero,", values * np.cos(along) * (along != steps // 2)),
        ("turning for", np.stack([np.roll(values, t) * (-1.0) ** t for t in range(steps)])),
    )
    for kind, run in others if number % 3 == 0 else others[number % 3 - 1 :: 2]:
        yield f", {kind} {steps} steps", run


def _brought(subject: AllReduce, values: Array, number: int) -> _Stacks:
    """What the ranks bring, made from one row; which numbers of ranks goes round with `number`, single entries all."""
    turn = sorted({number % len(subject.ranks), (number + 2) % len(subject.ranks)})
    for place, P in enumerate(subject.ranks):
        if (place not in turn and values.size > 1) or (values.size > 400 and P > 3):
            continue
        fit = values if isinstance(subject.shape, tuple) else _stretched(values, subject.multiple(P))
        for suffix, stack in _of_ranks(fit, P, number, place, _largest(subject.numpy_dtype)):
            yield f", P={P}, {suffix}", stack


def _of_ranks(values: Array, P: int, number: int, place: int, largest: float) -> _Stacks:
    rows = np.arange(P).reshape(-1, *[1] * values.ndim)
    turned = np.stack([np.roll(values, r) for r in range(P)])
    yield "turned", turned * (1.0 + 0.5 * rows)
    others = (
        ("equal rows", np.repeat(values[None], P, axis=0)),
        ("opposite rows", turned * (-1.0) ** rows),
        ("in the last row alone", np.where(rows == P - 1, values[None], 0.0)),
    )
    yield others[(number + place) % 3]
    top = float(np.abs(values).max())
    if number % 5 == 0 and top > 0.0:  # whatever is formed beside the sum itself may be beyond the dtype
        yield "the sum near the largest number", turned * (largest / top / 1.25 / P)


# --- generated ---------------------------------------------------------------------------------------------------


@st.composite
def generated(draw: st.DrawFn, subject: Subject) -> CheckCase | None:
    """A case by structure and seed, small ones simplest; None where the subject does not take it."""
    shape = _shape(draw, subject)
    rows: tuple[int, ...] = ()
    if isinstance(subject, AllReduce):
        rows = (draw(sampled_from(tuple(sorted(subject.ranks)))),)
        if not isinstance(subject.shape, tuple):
            shape = (*shape[:-1], -(-shape[-1] // subject.multiple(*rows)) * subject.multiple(*rows))
    elif isinstance(subject, Stateful):
        rows = (draw(integers(1, 12)),)
    dtype = subject.numpy_dtype
    top = int(np.log10(_largest(dtype))) - 3
    exponent = draw(sampled_from(balanced(min(top, 30))))
    whole_shape = (*rows, *shape)
    size = int(np.prod(whole_shape))
    values = family(draw(sampled_from(tuple(FAMILIES))), size, draw(integers(0, 2**31)), 1.0, np.float64)
    for place, value in draw(
        st.lists(st.tuples(integers(0, size - 1), sampled_from((0.0, 1.0, -1.0, 0.5))), max_size=4)
    ):
        values[place] = value * (np.abs(values).max() or 1.0)
    if rows and draw(sampled_from((False, True))):
        values.reshape(whole_shape)[draw(integers(0, rows[0] - 1))] = 0.0
    x = _cast((values * 10.0**exponent).reshape(whole_shape), dtype)
    seed = draw(integers(0, 2**31 - 1))
    return None if x is None or not subject.takes(x) else CheckCase(x, seed, "generated")


def _shape(draw: st.DrawFn, subject: Subject) -> tuple[int, ...]:
    if not isinstance(subject.shape, str):
        return subject.shape
    largest = max(1, 300 // subject.multiple_of)
    if subject.shape == "matrix":
        return draw(integers(1, 24)), subject.multiple_of * draw(integers(1, min(24, largest)))
    return (subject.multiple_of * draw(integers(1, largest)),)


def fitted(subject: Subject, values: Array) -> Array | None:
    """A vector as an input of the subject: of a length that it takes, or a row; None if it takes neither."""
    if isinstance(subject.shape, tuple):
        values = np.resize(values, subject.shape)
    else:
        values = _stretched(values, subject.multiple_of)
        values = values[None] if subject.shape == "matrix" else values
    x = _cast(values, subject.numpy_dtype)
    return x if x is not None and subject.takes(x if subject.leading == 0 else x[None]) else None


def generic(subject: Subject, rng: np.random.Generator, size: int) -> Array | None:
    """One input of about `size` entries, whose magnitudes lie between 0.3 and 3, signs and order at random.

    For tests by sampling: no entry is so small that what happens to it is rare. None if the subject does not take it.
    """
    if isinstance(subject.shape, tuple):
        shape: tuple[int, ...] = subject.shape
    elif subject.shape == "matrix":
        columns = max(subject.multiple_of, int(np.sqrt(size)) // subject.multiple_of * subject.multiple_of)
        shape = (max(1, size // columns), columns)
    else:
        shape = (max(1, size // subject.multiple_of) * subject.multiple_of,)
    values = np.exp(rng.uniform(np.log(0.3), np.log(3.0), shape)) * rng.choice((-1.0, 1.0), shape)
    low, high = subject.magnitudes
    if high < 3.0 or low > 0.3:
        values *= np.sqrt(max(low, high / 1e6) * high)
    x = _cast(values, subject.numpy_dtype)
    return x if x is not None and subject.takes(x if subject.leading == 0 else x[None]) else None
