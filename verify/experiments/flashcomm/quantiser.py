"""The group quantisers' claims, bound to their implementations."""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.theory import claims
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.flashcomm.cases import (
    NEVER,
    in_steps,
    law_of,
    made,
    message_of,
    quantiser_of,
    read_of,
    through,
    vector_cases,
    vector_grid,
    vectors,
)
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Study, Unmeasured

_G = "flashcomm.groupquant."
ENUMERATED = "every vector of two to four small integers, at one to three bits; rational arithmetic"


def groups_of(x: Any, group: int) -> Iterator[slice]:
    """The groups of `x`, as slices; the last one may be shorter."""
    return (slice(start, min(start + group, len(x))) for start in range(0, len(x), group))


def rounding(x: Array) -> float:
    """What one coding and reading may be off by rounding, at most.

    By ``flashcomm.groupquant.error_rounded`` u (max|x| + 5 (hi - lo)) <= 11 u max|x| where scales are normal numbers;
    by ``repaired_rounded`` u (max|x| + 4 N s), with stored levels N s that reach little further than the range. Where
    scales are no normal numbers, 5 u N t more: 638 of the smallest numbers, at eight bits.
    """
    kind = np.finfo(x.dtype)
    return 8.0 * float(kind.eps) * float(np.abs(x).max()) + 638.0 * float(kind.smallest_subnormal)


def _read(cls: Any, case: Case) -> tuple[Any, Any]:
    """Input and output of a case, in Fractions or in floats."""
    if case.settings.get("exact"):
        ((_, output),) = case.once(law_of, cls)
        return [Fraction(v) for v in case.array], output
    return case.array, case.once(read_of, cls).astype(np.float64)


def _error_in_steps(cls: Any, case: Case) -> Outcome:
    """Largest error over the scale of the group: exact scales on exact input, stored ones else."""
    c = made(cls, case)
    x, y = case.once(_read, cls)
    values = {"width": c.width}
    if case.settings.get("exact"):
        worst = Fraction(0)
        for part in groups_of(x, c.group):
            step = (max(x[part]) - min(x[part])) / (2**c.width - 1)
            worst = max(worst, *(in_steps(abs(a - b), step) for a, b in zip(x[part], y[part], strict=True)))
        return Outcome(worst, values)
    wide = case.array.astype(np.float64)
    if c.metadata == "float64" and c.scale == "float" and not c.repaired:
        steps = np.array([np.ptp(wide[part]) for part in groups_of(x, c.group)]) / (2**c.width - 1)
    else:
        steps = case.once(message_of, cls).ranges.scale.astype(np.float64)
    error, slack = worst_in_steps(
        (float(np.abs(y[part] - wide[part]).max()), float(s), rounding(case.array[part]))
        for part, s in zip(groups_of(x, c.group), steps, strict=True)
    )
    return Outcome(error, values, slack)


def _stored_error_in_steps(cls: Any, case: Case) -> Outcome | Unmeasured:
    """The same where scales may be stored as zero."""
    outcome = _error_in_steps(cls, case)
    if outcome.measured >= NEVER:
        return Unmeasured("a scale is stored as zero, and no number of zeros is the error")
    return outcome


def worst_in_steps(groups: Iterable[tuple[float, float, float]]) -> tuple[float, float]:
    """The largest error in steps, beyond rounding, and that rounding, of groups given by error, scale and rounding.

    An error that rounding explains is none where the scale is zero.
    """
    worst = 0.0, 0.0
    for error, step, allowance in groups:
        found = (error / step, allowance / step) if step else (float(in_steps(float(error > allowance), 0.0)), 0.0)
        if found[0] - found[1] > worst[0] - worst[1]:
            worst = found
    return worst


def _half_way(_budget: Budget, **options: Any) -> Iterator[Case]:
    """Levels at the integers and one entry half-way: at every width, and on both sides of zero."""
    for width in range(1, 9):
        for low in (0.0, -1.0, 3.0):
            x = np.array([low, low + 2**width - 1, low + 0.5, low + 1.0])
            yield Case({"width": width, "group": 4, "family": "half-way", **options}, x)


def _half_way_exact(_budget: Budget) -> Iterator[Case]:
    yield from _half_way(_budget)


def _half_way_repaired(_budget: Budget) -> Iterator[Case]:
    yield from _half_way(_budget, repaired=True, metadata="float64")


def _half_way_integer(_budget: Budget) -> Iterator[Case]:
    yield from _half_way(_budget, zero="integer")


def formats(budget: Budget, **options: Any) -> Iterator[Case]:
    """The corpus with metadata in half precision."""
    for form in ("float32", "float16", "bfloat16"):
        yield from vectors(np.float32, metadata=form, **options)(budget)


def _far(_budget: Budget, **options: Any) -> Iterator[Case]:
    """Offsets that are large against the range."""
    for offset in (1003.0, 30000.0):
        x = (offset + np.arange(4) / 10).astype(np.float64)
        for form in ("bfloat16", "float16"):
            yield Case({"width": 4, "group": 4, "metadata": form, "family": f"{offset:g} + i/10", **options}, x)


def _far_stored(budget: Budget) -> Iterator[Case]:
    yield from _far(budget)


def _far_exact_then_stored(budget: Budget) -> Iterator[Case]:
    yield from _far(budget, quantise_with="exact")


def _one_sign(_budget: Budget) -> Iterator[Case]:
    for base in (30.0, -300.0):
        yield Case({"width": 2, "group": 4, "zero": "clamped", "family": "one sign"}, base + np.arange(4.0))


def _curve(options: dict[str, Any]) -> Any:
    """Error in steps over the number of bits: the worst of the corpus, and normal vectors."""

    def curves(cls: Any, seed: int) -> list[Series]:
        rng, widths = np.random.default_rng(seed), list(range(1, 9))
        normal = [rng.standard_normal(4096).astype(np.float32) for _ in range(9)]
        rows = [[_measured(cls, Case({"width": w, "group": 128, **options}, x)) for x in normal] for w in widths]
        worst = []
        for w in widths:
            cases = [
                Case({"width": w, "group": 4, **options}, np.array([0.0, 2**w - 1.0, 0.5, 1.0])),
                Case({"width": w, "group": 4, **options}, 103.0 + np.arange(4) / 10),
            ]
            worst.append(max(*rows[w - 1], *(_measured(cls, case) for case in cases)))
        quantiles = np.quantile(rows, (0.05, 0.5, 0.95), axis=1).tolist()
        label = "groups of 128 normal entries; worst also over groups of 4"
        bound = [float(claims()[_G + "error"].bound())] * len(widths)
        return [Series(label, "bits", [float(w) for w in widths], bound, worst, *quantiles)]

    return curves


def _measured(cls: Any, case: Case) -> float:
    return float(_error_in_steps(cls, case).measured)


def _study(name: str, trial: Callable[[Any, Case], Outcome | Unmeasured], **sources: Any) -> Study:
    return Study(_G + name, "GroupQuantizer", trial, known=quantiser_of, **sources)


def _error_study(name: str, grid: bool = False, **options: Any) -> Study:
    """A study of the error in steps, with the corpus and the search at the given options."""
    form = options.get("metadata", "float64")
    dtype = np.float64 if form == "float64" else np.float32
    return _study(
        name,
        _error_in_steps,
        grid=vector_grid(**options) if grid else None,
        enumerated=ENUMERATED if grid else "",
        corpus=vectors(dtype, **options),
        cases=vector_cases(dtype, **options),
        extremal={"error": _half_way_exact, "repaired": _half_way_repaired, "integer_point": _half_way_integer}.get(
            name
        ),
        curves=_curve(options),
    )


def _own_arithmetic(part: Any) -> dict[str, Any]:
    """What the bounds of the vector's own arithmetic are made of, in Fractions."""
    kind = np.finfo(part.dtype)
    low, high = Fraction(float(part.min())), Fraction(float(part.max()))
    return {
        "span": high - low,
        "magnitude": max(abs(low), abs(high)),
        "own_roundoff": Fraction(float(kind.eps)) / 2,
        "own_tiny": Fraction(float(kind.tiny)),
    }


def _farthest(x: Array, y: Array, places: Any) -> Fraction:
    """The largest error at these places, as what it is."""
    errors = np.abs(y[places].astype(np.float64) - x[places].astype(np.float64))
    at = np.arange(x.size)[places][int(np.argmax(errors))]
    return abs(Fraction(float(y[at])) - Fraction(float(x[at])))


def _rounded(what: str) -> Callable[[Any, Case], Outcome]:
    """The group whose error comes closest to the claim's bound, both in Fractions: nothing is left to rounding."""

    def trial(cls: Any, case: Case) -> Outcome:
        c, x = made(cls, case), case.array
        y, steps = case.once(read_of, cls), case.once(message_of, cls).ranges.scale if c.repaired else None
        found, closest = None, Fraction(-1)
        for g, part in enumerate(groups_of(x, c.group)):
            group = x[part]
            ends = (group == group.min()) | (group == group.max())
            error = _farthest(group, y[part], ends if what == "ends_rounded" else slice(None))
            values = {**_own_arithmetic(group), "width": c.width}
            if steps is not None:
                values["step"] = Fraction(float(steps[g]))
            bound = claims()[_G + what].bound(**values)
            share = error / bound if bound else Fraction(int(error > 0))
            if share > closest:
                found, closest = Outcome(error, values), share
        assert found is not None
        return found

    return trial


def _coarse(budget: Budget, **options: Any) -> Iterator[Case]:
    """Levels about as far apart as the numbers of the dtype are, and levels that are subnormal."""
    for dtype, form in ((np.float32, "float32"), (np.float64, "float64")):
        kind = np.finfo(dtype)
        base = 2.0**kind.nmant
        for width in range(1, 9):
            settings = {"width": width, "group": 512, "metadata": form, **options}
            whole = base + np.arange(2**width + 1)
            yield Case({**settings, "family": "whole numbers, far from zero"}, whole.astype(dtype))
            # the second one's scale, nearly 2.5 of the smallest, is stored as two
            for few in (
                np.arange(-3 * 2**width // 4, 3 * 2**width // 4 + 1),
                np.arange(0, 5 * 2 ** (width - 1) - 2, 2),
            ):
                multiples = few * float(kind.smallest_subnormal)
                yield Case({**settings, "family": "multiples of the smallest number"}, multiples.astype(dtype))
            for seed in range(4 * (1 + budget.level)):
                rng = np.random.default_rng([seed, width])
                step = 0.5 + rng.random()
                levels = (rng.integers(0, 2**width - 1, 200) + 0.5) * step
                x = np.concatenate([[0.0, (2**width - 1) * step], levels]) - seed % 3 * 2.0 ** (width - 1) * step
                x *= 2.0 ** (5 * (seed % 4))
                yield Case({**settings, "family": "half-way", "seed": seed}, x.astype(dtype))


def _twice_rounded(**options: Any) -> Iterator[Case]:
    """Entries within two roundings of half-way, in ranges that are no numbers of few bits: found among 300 for each."""
    for width, seed in ((3, 77), (4, 190), (6, 277), (8, 21)):
        rng = np.random.default_rng([seed, width])
        span = 0.5 + rng.random()
        levels = (rng.integers(0, 2**width - 1, 200) + 0.5) / (2**width - 1) * span
        near = levels * (1.0 + (rng.random(200) - 0.5) * 2.0**-22)
        x = (np.concatenate([[0.0, span], near]) - span / 2).astype(np.float32) * np.float32(1024.0)
        settings = {
            "width": width,
            "group": 512,
            "metadata": "float32",
            "family": "nearly half-way",
            "seed": seed,
            **options,
        }
        yield Case(settings, x)


def _coarse_plain(budget: Budget) -> Iterator[Case]:
    yield from _coarse(budget)
    yield from _twice_rounded()


def _coarse_repaired(budget: Budget) -> Iterator[Case]:
    yield from _coarse(budget, repaired=True)
    yield from _twice_rounded(repaired=True)


def _ends(cls: Any, case: Case) -> Outcome:
    c = made(cls, case)
    x, y = case.once(_read, cls)
    worst: Any = Fraction(0)
    for part in groups_of(x, c.group):
        for end in (min(x[part]), max(x[part])):
            worst = max(worst, *(abs(b - end) for a, b in zip(x[part], y[part], strict=True) if a == end))
    exact = bool(case.settings.get("exact"))
    return Outcome(worst if exact else float(worst), {}, 0.0 if exact else rounding(case.array))


def _inversions(cls: Any, case: Case) -> Outcome:
    c = made(cls, case)
    x, y = case.once(_read, cls)
    turned = 0
    for part in groups_of(x, c.group):
        pairs = sorted(zip(x[part], y[part], strict=True))
        turned += sum(b < max(v for _, v in pairs[: i + 1]) for i, (_, b) in enumerate(pairs))
    return Outcome(turned, {})


def _changed(cls: Any, case: Case) -> Outcome:
    """Entries that a second coding moves by more than rounding."""
    c = made(cls, case)
    _, y = case.once(_read, cls)
    if case.settings.get("exact"):
        ((_, again),) = c.law(y)
        return Outcome(sum(a != b for a, b in zip(y, again, strict=True)), {})
    allowance = 2 * rounding(case.array)
    return Outcome(int((np.abs(through(c, y.astype(case.array.dtype)) - y) > allowance).sum()), {})


QUANTISER = (
    _error_study("error", grid=True),
    *(
        _study(name, _rounded(name), corpus=_coarse_plain, cases=vector_cases())
        for name in ("error_rounded", "ends_rounded")
    ),
    _study("ends", _ends, grid=vector_grid(), enumerated=ENUMERATED, corpus=vectors(), cases=vector_cases()),
    _study(
        "order",
        _inversions,
        grid=vector_grid(),
        enumerated=ENUMERATED,
        corpus=vectors(np.float32),
        cases=vector_cases(np.float32, metadata="bfloat16"),
    ),
    _study("idempotence", _changed, grid=vector_grid(), enumerated=ENUMERATED, corpus=vectors(), cases=vector_cases()),
    _study(
        "half_step_stored",
        _stored_error_in_steps,
        corpus=formats,
        extremal=_far_stored,
        cases=vector_cases(np.float32, metadata="bfloat16"),
        curves=_curve({"metadata": "bfloat16"}),
    ),
    _study(
        "exact_then_stored",
        _stored_error_in_steps,
        extremal=_far_exact_then_stored,
        corpus=vectors(np.float32, metadata="bfloat16", quantise_with="exact"),
        cases=vector_cases(np.float32, metadata="bfloat16", quantise_with="exact"),
        curves=_curve({"metadata": "bfloat16", "quantise_with": "exact"}),
    ),
    _error_study("repaired", metadata="bfloat16", repaired=True),
    _study(
        "repaired_rounded",
        _rounded("repaired_rounded"),
        corpus=_coarse_repaired,
        cases=vector_cases(np.float32, metadata="bfloat16", repaired=True),
    ),
    _error_study("integer_point", zero="integer"),
    _study(
        "clamped_point",
        _error_in_steps,
        extremal=_one_sign,
        corpus=vectors(zero="clamped"),
        cases=vector_cases(zero="clamped"),
        curves=_curve({"zero": "clamped"}),
    ),
)
"""The studies of the errors."""
