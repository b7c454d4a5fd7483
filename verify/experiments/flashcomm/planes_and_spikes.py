"""Bit planes and spikes: the claims bound to their implementations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors import GroupQuantizer
from commbounds.compressors.flashcomm.bit_planes import unpacked
from commbounds.theory import claims
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.flashcomm.cases import (
    in_steps,
    made,
    message_of,
    quantiser_of,
    read_of,
    through,
    vector_cases,
    vectors,
)
from commbounds.verify.experiments.flashcomm.metadata import largest_errors
from commbounds.verify.experiments.flashcomm.quantiser import groups_of, rounding, worst_in_steps
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Study

_EPS = float(np.finfo(np.float64).eps)


def _lossless(packed: Any, case: Case) -> Outcome:
    bits, codes = case.settings["width"], case.array
    return Outcome(int((unpacked(packed(codes, bits), bits, codes.size) != codes).sum()), {"width": bits})


def _every_code(level: int) -> Iterator[Case]:
    for bits in range(1, 9):
        codes = np.arange(2**bits, dtype=np.uint8)
        for shift in range(8):  # every code at every place of a byte, and part-full last bytes
            yield Case({"width": bits, "shift": shift}, np.concatenate([codes[:shift], codes, codes[: 3 * level]]))


def _plane_bytes(packed: Any, case: Case) -> Outcome:
    codes = case.array
    planes = packed(codes, case.settings["width"])
    return Outcome(sum(plane.nbytes for plane in planes), {"n": codes.size, "width": case.settings["width"]})


def _code_lengths(_level: int) -> Iterator[Case]:
    for bits in range(1, 9):
        for n in (1, 7, 8, 16, 40, 1024):
            yield Case({"width": bits, "n": n}, np.zeros(n, np.uint8))


def _range_ratio(cls: Any, case: Case) -> Outcome:
    c = made(cls, case)
    about = case.once(message_of, cls).ranges
    whole = np.array([np.ptp(case.array[part]) for part in groups_of(case.array, c.group)], np.float64)
    rest = about.exact_scale.astype(np.float64) * c.top
    # a difference, a quotient and a product are rounded
    ratio = max(float(in_steps(without, all_of_it)) for without, all_of_it in zip(rest, whole, strict=True))
    return Outcome(ratio, {"group": c.group}, 4 * float(np.finfo(case.array.dtype).eps) * ratio)


def _tied_extremes(_budget: Budget) -> Iterator[Case]:
    for group in (4, 8, 32):
        x = np.tile([1.0, -1.0], group)[:group]
        yield Case({"width": 2, "group": group, "spikes": True, "family": "tied extremes"}, x)


def _spike_error(cls: Any, case: Case) -> Outcome:
    """Error in steps of the entries that are no spikes."""
    c = made(cls, case)
    about, y, wide = (
        case.once(message_of, cls).ranges,
        case.once(read_of, cls).astype(np.float64),
        case.array.astype(np.float64),
    )
    groups = []
    for g, part in enumerate(groups_of(wide, c.group)):
        kept = np.ones(wide[part].size, bool)
        kept[about.positions[g]] = False
        if kept.any():
            error = float(np.abs(y[part] - wide[part])[kept].max())
            groups.append((error, float(about.scale[g]), rounding(case.array[part][kept])))
    error, slack = worst_in_steps(groups)
    return Outcome(error, {"width": c.width}, slack, active=bool(groups))


def _kept(cls: Any, case: Case) -> Outcome:
    """Largest error of the ends of groups: exact, as spikes are stored in the dtype of the vector."""
    y, x = case.once(read_of, cls), case.array
    ends = [
        end
        for part in groups_of(x, case.settings["group"])
        for end in (part.start + np.argmin(x[part]), _largest(x, part))
    ]
    return Outcome(float(np.abs(y[ends] - x[ends]).max()), {"group": case.settings["group"]})


def _largest(x: Array, part: slice) -> int:
    return int(part.start + np.argmax(x[part]))


def _half_way_spikes(_budget: Budget) -> Iterator[Case]:
    for width in range(1, 9):
        x = np.array([0.0, 2**width - 1.0, 0.5, 1000.0, -1000.0])
        yield Case({"width": width, "group": 5, "spikes": True, "family": "half-way"}, x)


def _mse_ratio(cls: Any, case: Case) -> Outcome:
    x, wide = case.array, case.array.astype(np.float64)
    errors = [float(((through(c, x).astype(np.float64) - wide) ** 2).sum()) for c in _two_and_four(cls)]
    ratio = float(in_steps(*errors))
    return Outcome(ratio, {"n": x.size}, 4 * x.size * _EPS * ratio)


def _two_and_four(cls: Any) -> tuple[Any, Any]:
    """INT2 with spikes and plain INT4."""
    return cls(2, 32, metadata="float16", spikes=True), cls(4, 128, metadata="float16")


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


def _isolated(cls: Any, case: Case) -> Outcome:
    """The same, with what INT2 can err by at most, and what INT4 errs by at least."""
    outcome = _mse_ratio(cls, case)
    x, wide = case.array, case.array.astype(np.float64)
    two, four = _two_and_four(GroupQuantizer)
    about = two.compress(x).ranges
    ends = np.zeros(x.size, bool)
    ends[(np.arange(about.count)[:, None] * two.group + about.positions).ravel()] = True
    # the ends are rounded to float16, the others coded in their own group
    reserved = float(((np.maximum(np.abs(wide[ends]), 2.0**-14) * 2.0**-11) ** 2).sum())
    most = np.repeat(largest_errors(two, about.without_spikes(x), about.exact_low, about.scale), two.group)[: x.size]
    allowance = np.repeat([rounding(x[part]) for part in groups_of(x, two.group)], two.group)[: x.size]
    reserved += float(((most + allowance)[~ends] ** 2).sum())
    least = 0.0
    for part, scale in zip(groups_of(x, four.group), four.compress(x).ranges.scale, strict=True):
        others = wide[part][~ends[part]]
        # what is read may be a little off its level
        off = np.sqrt(others.size) * rounding(x[part])
        least += max(0.0, float(np.sqrt(_least_error(others, float(scale)))) - off) ** 2
    values = {**outcome.values, "reserved_error": reserved, "least_error": least}
    return Outcome(outcome.measured, values, outcome.slack)


def _with_spikes(n: int, seed: int, where: str = "one in every 64") -> Array:
    """Normal entries, and a hundred in place of one in 64 of them, of either sign."""
    x = inputs.family("normal", n, seed, 1.0, np.float32)
    rng = np.random.default_rng([seed, 64])
    places = {
        "one in every 64": np.arange(0, n, 64) + rng.integers(0, 64, n // 64),
        "one in 64, anywhere": rng.permutation(n)[: n // 64],
        "side by side": np.arange(n // 64),
    }[where]
    x[places] = 100 * rng.choice([-1.0, 1.0], n // 64) * (1 + np.abs(x[places]))
    return x


def _normal_vectors(budget: Budget) -> Iterator[Case]:
    for n in (1024, 4096, 16384)[: 2 + budget.level]:
        for seed in range(3):
            yield Case({"family": "normal", "n": n, "seed": seed}, inputs.family("normal", n, seed, 1.0, np.float32))
    yield Case({"family": "spikes side by side", "n": 4096, "seed": 0}, _with_spikes(4096, 0, "side by side"))


def _spiky_vectors(budget: Budget) -> Iterator[Case]:
    for where in ("one in every 64", "one in 64, anywhere", "side by side"):
        for n in (1024, 4096, 16384)[: 2 + budget.level]:
            for seed in range(3 * (1 + budget.level)):
                yield Case({"family": f"spikes, {where}", "n": n, "seed": seed}, _with_spikes(n, seed, where))
    # ends that both read as they are; the others half-way between the levels of INT2, about one of INT4's
    worst = np.tile([-110.5, 129.5, 0.0, 3.0, *[0.5] * 14, *[2.5] * 14], 4).astype(np.float32)
    yield Case({"family": "half-way", "n": worst.size, "seed": 0}, worst)
    yield Case({"family": "on the levels of INT4", "n": 200, "seed": 0}, (np.arange(200) % 16).astype(np.float32))


def _mse_curves(spiky: bool) -> Any:
    def curves(cls: Any, _seed: int) -> list[Series]:
        sizes = [1024, 4096, 16384]
        make = _with_spikes if spiky else (lambda n, seed: inputs.family("normal", n, seed, 1.0, np.float32))
        claim = claims()["flashcomm.spikes.pays_isolated" if spiky else "flashcomm.spikes.pays"]
        worst, bound = [], []
        for n in sizes:
            outcomes = [(_isolated if spiky else _mse_ratio)(cls, Case({}, make(n, seed))) for seed in range(5)]
            worst.append(max(float(o.measured) for o in outcomes))
            bound.append(min(float(claim.bound(**o.values)) for o in outcomes))
        label = "one spike in every 64" if spiky else "normal entries"
        return [Series(label, "n", [float(n) for n in sizes], bound, worst)]

    return curves


PLANES_AND_SPIKES = (
    Study(
        "flashcomm.bitplanes.lossless", "packed", _lossless, grid=_every_code, enumerated="every code at every place"
    ),
    Study("flashcomm.bitplanes.bytes", "packed", _plane_bytes, grid=_code_lengths, enumerated="widths and lengths"),
    Study(
        "flashcomm.spikes.range",
        "GroupQuantizer",
        _range_ratio,
        known=quantiser_of,
        corpus=vectors(spikes=True),
        extremal=_tied_extremes,
        cases=vector_cases(spikes=True),
    ),
    Study(
        "flashcomm.spikes.kept",
        "GroupQuantizer",
        _kept,
        known=quantiser_of,
        corpus=vectors(spikes=True),
        cases=vector_cases(spikes=True),
    ),
    Study(
        "flashcomm.spikes.error",
        "GroupQuantizer",
        _spike_error,
        known=quantiser_of,
        corpus=vectors(spikes=True),
        extremal=_half_way_spikes,
        cases=vector_cases(spikes=True),
    ),
    Study("flashcomm.spikes.pays", "GroupQuantizer", _mse_ratio, corpus=_normal_vectors, curves=_mse_curves(False)),
    Study(
        "flashcomm.spikes.pays_isolated", "GroupQuantizer", _isolated, corpus=_spiky_vectors, curves=_mse_curves(True)
    ),
)
"""In the order of the book."""
