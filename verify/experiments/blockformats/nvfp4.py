"""Claims about NVFP4 and MS-EDEN, bound to their implementations."""

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.blockformats.cases import (
    bias,
    changed_again,
    exact,
    hostile,
    laws,
    made,
    maximum_error,
    of_families,
    of_law,
    relative_error,
    resolution,
    symbols,
    ways,
    wire_bits,
)
from commbounds.verify.study import Case, Outcome, Study, over, these

_N, _S, _E = "blockformats.nvfp4.", "blockformats.stochastic_nvfp4.", "blockformats.mseden."


# --- measures ----------------------------------------------------------------------------------------------------


def _scales(roundings: float) -> Callable[[Any, Case], float]:
    """Scales of float32 vectors are rounded."""
    return lambda _cls, case: 0.0 if case.array.dtype == np.float64 else roundings * float(np.finfo(np.float32).eps)


_maximum, _error = of_law(maximum_error, _scales(1.0), ("block",)), of_law(relative_error, _scales(4.0))


def _bias(cls: Any, case: Case) -> Outcome:
    c, x = made(cls, case), case.array
    if case.settings.get("law"):  # in exact arithmetic, and the kernel is held to it
        entries = exact(x)
        return Outcome(bias(_entrywise(c.law(entries), len(entries)), entries), symbols(case))
    rounded = 4.0 * float(np.finfo(x.dtype).eps)
    return Outcome(float(bias(case.once(laws, cls), exact(x))), symbols(case), 2.0 * resolution(c, x) + rounded)


def _entrywise(law: Any, n: int) -> Any:
    return [[(p, y[i]) for p, y in law] for i in range(n)]


def _lost(cls: Any, case: Case) -> Outcome:
    x, block = exact(case.array), case.settings["block"]
    y = [entry[0][1] for entry in case.once(laws, cls)]
    top, worst = max(map(abs, x)), Fraction(0)
    for start in range(0, len(x), block):
        part = slice(start, start + block)
        if not any(y[part]):
            worst = max(worst, max(map(abs, x[part])) / top)
    return Outcome(worst, symbols(case), active=worst > 0)


# --- cases -------------------------------------------------------------------------------------------------------

_FEW = (0.0, 1.0, 2.0, 5.0, 102.0, 600.0, 1632.0, 2400.0, 2688.0)


def _grid(level: int) -> Iterator[Case]:
    """Whole numbers about the half-way points of scales, beside 2688, for which the tensor's scale is one."""
    few = _FEW if level else (*_FEW[::2], 102.0, 1632.0)
    for scale, block in itertools.product(("nearest", "up"), (1, 2)):
        for rest in itertools.product(few, repeat=2):
            yield Case({"block": block, "scale": scale, "law": True}, np.array([2688.0, *rest]))
        for a in few[1:]:
            yield Case({"block": block, "scale": scale, "law": True}, np.array([a]))
            yield Case({"block": block, "scale": scale, "law": True}, np.array([-a, 0.1 * a]))


_ROUND = ("nearest", "up")
_corpus = hostile(ways(block=(16, 5, 19), scale=_ROUND), 2, 5)
_drawn = of_families(ways(block=(1, 2, 5, 16, 19), scale=_ROUND))


def _one_each(*entries: float, scale: str = "nearest") -> Callable[[Any], Iterator[Case]]:
    return these(Case({"block": 1, "scale": scale}, np.array(entries)))


def _rounded_up(largest: float, other: float) -> Callable[[Any], Iterator[Case]]:
    """Beside two such entries as they are: the largest a little more, so that its share is rounded up to 1 + 2^-23."""
    moved = (largest * (1 + 2.0**-24 + 2.0**-40), other * (1 + 2.0**-23))
    return these(*(Case({"block": 1, "scale": "nearest"}, np.array(pair)) for pair in ((largest, other), moved)))


def _fives(n: int, block: int) -> Array:
    """Blocks with a scale just above 272, next to one with 448: 17/16 of 256, rounded to 288; other entries at 5."""
    x = np.full(n, 5.0 * 288.0)
    x[::block] = 6.0 * 272.001
    return np.concatenate([[2688.0], np.zeros(block - 1), x])


def _many_blocks(_budget: Budget) -> Iterator[Case]:
    for block in (2, 5, 16, 19):
        yield Case({"block": block, "scale": "nearest"}, _fives(8000 * block, block))


def _study(name: str, trial: Any, subject: str, **sources: Any) -> Study:
    given: dict[str, Any] = {
        "grid": _grid,
        "corpus": _corpus,
        "cases": _drawn,
        "enumerated": "up to three whole numbers beside 2688, in blocks of one and two; exact",
    }
    given |= sources
    if given["grid"] is None:
        given["enumerated"] = ""
    return Study(name, subject, trial, **given)


def _curve_cases() -> list[Case]:
    return [
        Case({"block": block, "scale": "nearest"}, _fives(200 * block, block)) for block in (1, 2, 4, 8, 12, 16, 19)
    ]


_ONE = "NVFP4"
NVFP4 = (
    _study(_N + "maximum", _maximum, _ONE, extremal=_one_each(2688.0, 1632.0)),
    _study(_N + "maximum_any_scale", _maximum, _ONE, extremal=_one_each(458752.0, 1.0)),
    _study(_N + "contraction", _error, _ONE, extremal=_many_blocks,
           curves=[over("block", "200 blocks, entries at 5", _curve_cases())]),
    _study(_N + "lost_blocks", _lost, _ONE, grid=None, extremal=_rounded_up(2688.0, 6 * 2.0**-10)),
    _study(_N + "idempotence", changed_again, _ONE, extremal=_one_each(2688.0, 0.0065)),
    _study(_N + "idempotence_normal", changed_again, _ONE),
    _study(_N + "wire", wire_bits, _ONE, grid=None),
)  # fmt: skip

_OTHER = "StochasticNVFP4"
STOCHASTIC = (
    _study(_S + "unbiased_by_recipe", _bias, _OTHER, extremal=_one_each(2688.0, 102.0)),
    _study(_S + "bias", _bias, _OTHER, extremal=_rounded_up(2688.0, 1632.0)),
    _study(_S + "unbiased", _bias, _OTHER),
)

# --- MS-EDEN -----------------------------------------------------------------------------------------------------


def _projection(cls: Any, case: Case) -> Outcome:
    c, x = made(cls, case), case.array
    patterns = _patterns(c.dim)
    if case.settings.get("law"):
        entries = exact(x)
        square = sum(v * v for v in entries)
        outputs = (c.exact_output(entries, signs) for signs in patterns)
        found = max(abs(sum(v * w for v, w in zip(y, entries, strict=True)) / square - 1) for y in outputs)
        return Outcome(found, {"n": x.size})
    wide = x.astype(np.float64) / float(np.abs(x).max())
    read = [c.decompress(c.compress_with(x, signs)).astype(np.float64) / float(np.abs(x).max()) for signs in patterns]
    norm = float(wide @ wide)
    # scales and entries are rounded to the dtype, relative to the output
    allowance = max(4.0 * float(np.finfo(x.dtype).eps) * float(np.sqrt(y @ y / norm)) for y in read) + x.size * 2.0**-48
    return Outcome(max(abs(float(y @ wide) / norm - 1) for y in read), {"n": x.size}, allowance)


def _patterns(dim: int) -> list[tuple[int, ...]]:
    """All signs, or sixty-four patterns of them."""
    if dim <= 4:
        return list(itertools.product((1, -1), repeat=dim))
    drawn = 2 * np.random.default_rng(dim).integers(0, 2, (16, dim)) - 1
    return [tuple(row) for row in drawn.tolist()]


def _mean_error(cls: Any, case: Case) -> Outcome:
    c, x = made(cls, case), case.array
    entries = exact(x)
    if case.settings.get("law"):
        return Outcome(bias(_entrywise(c.law(entries), len(entries)), entries), {"n": x.size})
    signs = list(itertools.product((1, -1), repeat=4))
    mean = np.mean([c.decompress(c.compress_with(x, s)).astype(np.float64) for s in signs], axis=0)
    top = float(np.abs(x).max()) or 1.0
    return Outcome(float(np.abs(mean - x).max()) / top, {"n": x.size}, 16.0 * float(np.finfo(x.dtype).eps))


def _rotated(level: int) -> Iterator[Case]:
    for x in (
        itertools.product((0, 1, 2, 5), repeat=4) if level else itertools.combinations_with_replacement((5, 2, 1, 0), 4)
    ):
        if any(x):
            yield Case({"dim": 4, "law": True}, np.array(x, np.float64))
    for short in ([3.0], [1.0, -2.0], [5.0, 2.0, 1.0, 0.0, 7.0]):
        for dim in (1, 4, *((16,) if level else ())):
            yield Case({"dim": dim, "law": True}, np.array(short))


def _rotated_corpus(budget: Budget) -> Iterator[Case]:
    dims = itertools.cycle((4, 16, 1, 64))
    for dtype in (np.float32, np.float64):
        for label, x in inputs.corpus((5, 33), dtype):
            if "scale 1" in label and "e" not in label.rpartition(" ")[2]:
                yield Case({"dim": next(dims)}, x)


def _fours(_budget: Budget) -> Iterator[Case]:
    for seed in range(6):
        yield Case({"dim": 4, "seed": seed}, np.random.default_rng(seed).standard_normal(9))


_EDEN = "MSEden"
_ROTATED = "four of the numbers 0, 1, 2 and 5, rotated with all signs; and longer ones; exact"
MSEDEN = (
    Study(_E + "projection", _EDEN, _projection, grid=_rotated, corpus=_rotated_corpus, enumerated=_ROTATED,
          curves=[over("n", "groups of 16, normal", [
              Case({"dim": 16}, np.random.default_rng(n).standard_normal(n)) for n in (16, 32, 64, 256)])]),
    Study(_E + "unbiased", _EDEN, _mean_error, grid=_rotated, corpus=_fours,
          extremal=these(Case({"dim": 4, "law": True}, np.array([5.0, 2.0, 1.0, 0.0]))),
          enumerated=_ROTATED),
)  # fmt: skip
