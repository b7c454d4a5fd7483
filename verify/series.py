"""The curves of a finding: bound and measurement over the claim's natural parameter."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import Any

import numpy as np
import sympy as sp

from commbounds.array_types import Array, Floats
from commbounds.theory import Claim, Standing
from commbounds.verify import gradients, inputs
from commbounds.verify.compressor_run import CompressorRun
from commbounds.verify.compressor_study import CompressorStudy, SetUps, Sweep
from commbounds.verify.contents import claims_with
from commbounds.verify.experiment import bound_at, decimal
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.finding import Series
from commbounds.verify.judgement import Judgement
from commbounds.verify.methods import own_seeds
from commbounds.verify.study import Case, Curve, Outcome, Study

_SIZES = (1, 2, 3, 4, 6, 8, 16, 64, 256, 1024, 2410)
_SIDES = (2, 4, 8, 16, 32)
_RANDOM = ("normal", "uniform", "laplace", "student", "lognormal", "signs", "sparse")
_DRAWS = {"vector": 100, "stack": 50, "matrix": 20}
_DRAWS_OF_TWO_COLUMNS = 1000
_KNOWN = 0.05
"""Largest standard error of a mean that is drawn, relative to it."""
_KNOWN_WELL = 0.01
"""Relative standard error at which no more is drawn."""
_FIRST_DRAWS = 10
_CONCENTRATED = ("constant", "ramp", "alternating")
"""Hostile inputs on which the mean of a hundred draws is close to its expectation."""
_OF_THE_INPUT = {"norm1", "norm2", "norm3", "norminf", "norm2bar", "sumsq", "absdet", "entries"}
"""Symbols of a bound that may depend on the input itself."""


@dataclass(frozen=True)
class Point:
    """One value of the natural parameter."""

    value: float
    subject: Any
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Pair:
    """Measured value and bound at one input; `drawn` if the value is a mean over draws."""

    value: float
    bound: float
    slack: float = 0.0
    drawn: bool = False

    def over_the_bound(self) -> Pair | None:
        """Both divided by the bound; None where rounding hides the ratio."""
        if 0.01 * self.bound <= self.slack and abs(self.value - self.bound) <= self.slack:
            return None
        return Pair(self.value / self.bound if self.bound > 0 else float("inf"), 1.0, drawn=self.drawn)


@dataclass(frozen=True)
class Row:
    """Everything measured at one point."""

    random: list[Pair]
    hostile: list[Pair]
    real: dict[str, list[Pair]] = field(default_factory=dict)

    @property
    def every(self) -> list[Pair]:
        """All pairs."""
        return [*self.random, *self.hostile, *(pair for pairs in self.real.values() for pair in pairs)]

    def over_the_bound(self) -> Row:
        """The same with every pair divided by its bound, without those that vanish."""
        real = {kind: _divided(pairs) for kind, pairs in self.real.items()}
        return Row(_divided(self.random), _divided(self.hostile), real)


def _divided(pairs: list[Pair]) -> list[Pair]:
    return [ratio for pair in pairs if (ratio := pair.over_the_bound()) is not None]


@dataclass
class SweptCurve:
    """A study's curve while it is measured."""

    judgement: Judgement
    measured: list[tuple[Point, Row]] = field(default_factory=list)

    @property
    def study(self) -> CompressorStudy:
        """What is measured."""
        study = self.judgement.study
        assert isinstance(study, CompressorStudy)
        return study

    def add(self, point: Point, inputs: Inputs, scaled: bool = False) -> None:
        """Measure the point, where anything can be measured there."""
        row = inputs.row(self.study, scaled)
        if row.every:
            self.measured.append((point, row))

    def series(self, axis: str) -> Series | None:
        """The curve over what was measured; None where that is nothing."""
        claim = self.study.statement
        rows = [(p.value, row) for p, row in self.measured]
        relative = any(_differ([pair.bound for pair in row.every]) for _, row in rows)
        if relative and _OF_THE_INPUT & set(claim.parameters):
            rows = [(value, ratios) for value, row in rows if (ratios := row.over_the_bound()).every]
        else:
            relative = False
        if not rows:
            return None
        drawn = any(pair.drawn for _, row in rows for pair in row.every)
        label = _label(self.study, axis, [p for p, _ in self.measured], drawn)
        return _series(self.study, axis, label, rows, relative)


def series_of(judgements: Sequence[Judgement], seed: int) -> dict[str, tuple[Series, ...]]:
    """The curves of every study that raised nothing, by its claim.

    Parameters
    ----------
    judgements : sequence of Judgement
        The studies and what is under test; what drawing raises becomes their error.
    seed : int
        Seeds the random inputs.

    Returns
    -------
    dict of str to tuple of Series
        Bound, worst found, random inputs and real gradients over the natural parameter. For compressors, where the
        bound differs from input to input, measured and bound are both divided by the bound; empty where no input is
        admissible at any point. Inputs are compressed once for all studies of the same set-ups.
    """
    found: dict[str, tuple[Series, ...]] = {}
    swept: dict[Any, list[SweptCurve]] = {}
    of_cases: list[tuple[Judgement, Sequence[Curve]]] = []
    for j in judgements:
        study = j.study
        found[study.claim] = ()
        if j.error is not None:
            continue
        try:
            if not isinstance(study, CompressorStudy):
                assert isinstance(study, Study)
                if callable(study.curves):
                    found[study.claim] = _own(j, study.curves, own_seeds(seed, study.claim)[3])
                else:
                    of_cases.append((j, study.curves))
            elif study.domain.kind == "pair":
                found[study.claim] = (_pairs(study, j.implementation),)
            else:
                sweep = None if study.statement.axis == "n" else study.sweep
                swept.setdefault((study.set_ups, sweep, study.drawn_at), []).append(SweptCurve(j))
        except Exception as error:
            j.error = error
    found |= _of_cases(of_cases, seed)
    again: dict[Any, list[SweptCurve]] = {}
    for (set_ups, sweep, drawn_at), curves in swept.items():
        empty = _swept(set_ups, sweep, drawn_at, curves, seed, found)
        if sweep is not None and empty:
            again.setdefault((set_ups, None, drawn_at), []).extend(empty)
    for (set_ups, sweep, drawn_at), curves in again.items():
        _swept(set_ups, sweep, drawn_at, curves, seed, found)
    return found


def _own(j: Judgement, draw: Callable[[Any, int], Iterable[Series]], seed: int) -> tuple[Series, ...]:
    drawn = tuple(draw(j.implementation, seed))
    for series in drawn:
        series.check()
    return drawn


class CurveOfCases:
    """A curve of a study while its trial measures the cases of every point."""

    def __init__(self, judgement: Judgement, curve: Curve) -> None:
        self.judgement, self._curve = judgement, curve
        self._rows: list[tuple[float, float, float, tuple[float, ...]]] = []

    def add(self, place: float | None, cases: Sequence[Case]) -> None:
        """Measure a point, where the claim's hypotheses admit a case of it, and a random one if there are any."""
        study, curve, claim = self.judgement.study, self._curve, self.judgement.study.statement
        pairs: list[Pair] = []
        typical = 0
        for number, case in enumerate(cases):
            outcome = study.admitted(self.judgement.implementation, case)
            if not isinstance(outcome, Outcome):
                continue
            bound, measured = float(bound_at(claim, outcome.values)), float(outcome.measured)
            if bound or not curve.relative:
                pairs.append(Pair(measured / bound, 1.0) if curve.relative else Pair(measured, bound))
                typical += number < curve.typical
                place = outcome.values[curve.axis] if place is None else place
        if pairs and place is not None and (typical or not curve.typical):
            first = pairs[0].bound
            farthest = max(pairs, key=lambda pair: _beyond(claim, Pair(pair.value, first)))
            shares = _quantiles([pair.value for pair in pairs[:typical]]) if typical else ()
            self._rows.append((float(place), first, farthest.value, tuple(map(float, shares))))

    def series(self) -> Series | None:
        """What was measured; None where that is nothing: the claim is about other cases."""
        curve = self._curve
        if not self._rows:
            return None
        x, bound, worst, shares = (list(column) for column in zip(*self._rows, strict=True))
        low, mid, high = map(list, zip(*shares, strict=True)) if curve.typical else ([], [], [])
        return Series(curve.label, curve.axis, x, bound, worst, low, mid, high, relative=curve.relative)


def _of_cases(listed: Sequence[tuple[Judgement, Sequence[Curve]]], seed: int) -> dict[str, tuple[Series, ...]]:
    """The curves that are data, by claim: claims of a subject that share points share what is run on their cases."""
    made: dict[str, list[CurveOfCases]] = {j.study.claim: [] for j, _ in listed}
    sources: dict[Any, tuple[Curve, list[CurveOfCases]]] = {}
    for j, curves in listed:
        for curve in curves:
            measured = CurveOfCases(j, curve)
            made[j.study.claim].append(measured)
            source = curve.points if callable(curve.points) else id(curve.points)
            sources.setdefault((j.study.subject, source), (curve, []))[1].append(measured)
    for (subject, _), (curve, members) in sources.items():
        try:
            for place, cases in curve.at(own_seeds(seed, subject)[3]):
                for member in members:
                    _guarded(member.judgement, partial(member.add, place, cases))
        except Exception as error:
            for member in members:
                member.judgement.error = member.judgement.error or error
    found: dict[str, tuple[Series, ...]] = {}
    for j, _ in listed:
        drawn = [measured.series() for measured in made[j.study.claim]]
        found[j.study.claim] = tuple(series for series in drawn if series is not None)
        if drawn and not found[j.study.claim] and j.error is None:
            j.error = ValueError(f"no case of the curves of {j.study.claim} was measured")
    return found


def _swept(
    set_ups: SetUps, sweep: Sweep | None, drawn_at: int, curves: list[SweptCurve], seed: int, found: dict[str, Any]
) -> list[SweptCurve]:
    """Measure the curves that share their points; those without any."""
    implementation = curves[0].judgement.implementation
    axis, points = _points(set_ups, sweep, drawn_at, implementation)
    entropy = [seed, zlib.crc32(f"{set_ups.compressor} {axis}".encode())]
    for number, point in enumerate(points):
        inputs = Inputs(set_ups, point, [*entropy, number])
        for curve in curves:
            _guarded(curve.judgement, partial(curve.add, point, inputs))
    # a refuted claim whose violation does not show is drawn at all scales
    hidden = [c for c in curves if c.study.statement.stands is not Standing.HOLDS and not _passed(c)]
    for curve in hidden:
        curve.measured.clear()
    for number, point in enumerate(points if hidden else ()):
        inputs = Inputs(set_ups, point, [*entropy, number])
        for curve in hidden:
            _guarded(curve.judgement, partial(curve.add, point, inputs, scaled=True))
    empty = []
    for curve in curves:
        series = None if curve.judgement.error is not None else curve.series(axis)
        if series is None:
            empty.append(SweptCurve(curve.judgement))
        else:
            found[curve.study.claim] = (series,)
    return [curve for curve in empty if curve.judgement.error is None]


def _guarded(judgement: Judgement, measure: Callable[[], Any]) -> None:
    """What raises becomes the study's error; nothing more is measured for it then."""
    if judgement.error is None:
        try:
            measure()
        except Exception as error:
            judgement.error = error


def _passed(curve: SweptCurve) -> bool:
    """Whether a value lies visibly on the wrong side of its bound."""
    claim = curve.study.statement
    return any(_beyond(claim, pair) > 1e-3 * abs(pair.bound) + 1e-6 for _, row in curve.measured for pair in row.every)


def _differ(bounds: list[float]) -> bool:
    return max(bounds) - min(bounds) > 1e-9 * max(map(abs, bounds))


class Inputs:
    """What is compressed at one point, once for all studies of the set-ups: random, hostile and real inputs.

    Parameters
    ----------
    set_ups : SetUps
        What is under test.
    point : Point
        Where.
    seed : sequence of int
        Seeds random inputs and draws.
    """

    def __init__(self, set_ups: SetUps, point: Point, seed: Sequence[int]) -> None:
        self._set_ups, self._point, self._seed = set_ups, point, list(seed)
        rng, shape = np.random.default_rng(self._seed), point.shape
        random = [_shaped(inputs.FAMILIES[name](rng, int(np.prod(shape))), shape) for name in _RANDOM]
        self._random = self._runs(random, 1)
        self._real = {kind: self._runs(_real(kind, shape), 2 + i) for i, kind in enumerate(gradients.KINDS)}

    def _runs(self, arrays: Sequence[Array], part: int) -> list[CompressorRun]:
        return [CompressorRun(self._point.subject, x, [*self._seed, part, i]) for i, x in enumerate(arrays)]

    @cached_property
    def _hostile(self) -> dict[str, list[CompressorRun]]:
        """The corpus; few of it where values are means of draws; with what any claim calls extremal."""
        shape = self._point.shape
        worst = _extremal_inputs(self._set_ups, self._point)
        every = [_shaped(make(int(np.prod(shape))), shape) for make in inputs.CORPUS.values()]
        few = [i for i, name in enumerate(inputs.CORPUS) if name in _CONCENTRATED]
        runs, ends = self._runs(every, 0), self._runs(worst, 1000)
        return {"all": [*runs, *ends], "few": [*(runs[i] for i in few), *ends], "worst": ends}

    @cached_property
    def _scaled(self) -> list[CompressorRun]:
        return self._runs([x for _, x in self._set_ups.domain.corpus(self._point.shape, np.float32)], 2000)

    def row(self, study: CompressorStudy, scaled: bool) -> Row:
        """What the study measures on all of them."""

        def measured(runs: Sequence[CompressorRun]) -> list[Pair]:
            return [pair for run in runs if (pair := _measured(study, run)) is not None]

        if scaled and study.domain.kind == "vector":
            hostile = [*self._scaled, *self._hostile["worst"]]
        else:
            ramp = self._hostile["all"][list(inputs.CORPUS).index("ramp")]
            readable = not study.admits(ramp) or study.measure.read(ramp) is not None
            hostile = self._hostile["all" if readable else "few"]
        return Row(measured(self._random), measured(hostile), {k: measured(runs) for k, runs in self._real.items()})


def _quantiles(values: Sequence[float]) -> Floats:
    """At 5, 50 and 95 %; between two infinite values infinite."""
    shares = (0.05, 0.5, 0.95)
    with np.errstate(invalid="ignore"):
        between = np.quantile(values, shares)
    return np.where(np.isnan(between), np.quantile(values, shares, method="lower"), between)


def _series(study: CompressorStudy, axis: str, label: str, rows: Sequence[tuple[float, Row]], relative: bool) -> Series:
    kinds = sorted({kind for _, row in rows for kind, pairs in row.real.items() if pairs})
    worst = [max(row.every, key=lambda pair: _beyond(study.statement, pair)) for _, row in rows]
    random = [[pair.value for pair in row.random] for _, row in rows]
    quantiles = [_quantiles(values) if values else [np.nan] * 3 for values in random]
    return Series(
        label=label,
        axis=axis,
        x=[value for value, _ in rows],
        bound=[pair.bound for pair in worst],
        worst=[pair.value for pair in worst],
        random_low=[float(q[0]) for q in quantiles],
        random_mid=[float(q[1]) for q in quantiles],
        random_high=[float(q[2]) for q in quantiles],
        gradients={kind: [_mean(row.real.get(kind, [])) for _, row in rows] for kind in kinds},
        relative=relative,
    )


def _beyond(claim: Claim, pair: Pair) -> float:
    """How far the measured value is on the wrong side of the bound: on either side for an equality."""
    above = pair.value - pair.bound
    return abs(above) if isinstance(claim.relation, sp.Eq) else -above if isinstance(claim.relation, sp.Ge) else above


def _mean(pairs: list[Pair]) -> float:
    return float(np.mean([pair.value for pair in pairs])) if pairs else float("nan")


def _points(set_ups: SetUps, sweep: Sweep | None, drawn_at: int, implementation: Any) -> tuple[str, list[Point]]:
    """Axis, and where to measure: over the natural parameter, or over the number of entries."""
    kind = set_ups.domain.kind
    frame = {"vector": (), "matrix": (64,), "stack": (8,)}[kind]
    if sweep is not None:
        n = 32 if kind == "matrix" else drawn_at
        axis, instances = sweep(implementation, n)
        return axis, [Point(value, c, (*frame, n)) for value, c in instances]
    points = []
    for n in _SIDES if kind == "matrix" else _SIZES:
        subjects = set_ups.setups(implementation, n)
        if subjects:
            points.append(Point(float(n), subjects[(len(subjects) - 1) // 2], (*frame, n)))
    return "n", points


def _label(study: CompressorStudy, axis: str, points: Sequence[Point], drawn: bool) -> str:
    """What is held while `axis` varies, and how often was drawn where measured values are means."""
    words = {"vector": [], "matrix": ["64 rows"], "stack": ["8 workers"]}[study.domain.kind]
    if axis == "n":
        first, last = points[0].subject, points[-1].subject
        varied = [
            f"{f.name} = {a} to {b}"
            for f in fields(first)
            if (a := getattr(first, f.name)) != (b := getattr(last, f.name))
        ]
        words.append(", ".join([type(first).__name__, *varied]) if varied else str(first))
    else:
        words.append(f"n = {points[-1].shape[-1]}")
    if drawn:
        words.append(f"means of up to {_draws(study, points[-1].shape)} draws")
    return "; ".join(words)


def _extremal_inputs(set_ups: SetUps, point: Point) -> list[Array]:
    """What any claim about the set-ups calls extremal."""
    arrays = []
    for name in claims_with(set_ups.words):
        other = EXPERIMENTS[name]
        if other.worst is not None and other.set_ups == set_ups:
            x = other.worst(point.subject, point.shape[-1])
            if x is not None:
                arrays.append(x)
    return arrays


def _shaped(x: Array, shape: tuple[int, ...]) -> Array:
    return x.reshape(shape).astype(np.float32)


def _draws(study: CompressorStudy, shape: tuple[int, ...]) -> int:
    kind = study.domain.kind
    return _DRAWS_OF_TWO_COLUMNS if kind == "matrix" and shape[-1] == 2 else _DRAWS[kind]


def _measured(study: CompressorStudy, run: CompressorRun) -> Pair | None:
    """Measured value and bound at one input; None if it is not admissible or can be neither read nor sampled well."""
    if not study.admits(run):
        return None
    claim = study.statement
    bound = decimal(bound_at(claim, run.once(study.values)))
    reading = study.measure.read(run)
    if reading is not None:
        return Pair(reading.value, bound, reading.slack)
    if not study.measure.sampled:
        return None
    mean, error = _mean_of_draws(study, run, _draws(study, run.x.shape))
    # against an equality, a mean that is not known well looks like a violation
    noisy = error > _KNOWN * abs(mean) + 1e-10
    return None if noisy and isinstance(claim.relation, sp.Eq) else Pair(mean, bound, 1e-12, drawn=True)


def _mean_of_draws(study: CompressorStudy, run: CompressorRun, most: int) -> tuple[float, float]:
    """The mean of draws and its standard error: of ten, twenty, forty, ..., until it is known well, or of `most`."""
    count, draws = min(_FIRST_DRAWS, most), np.empty(0)
    while True:
        draws = np.concatenate([draws, study.measure.draws(run, count, draws.size)])
        mean, error = float(draws.mean()), float(draws.std() / np.sqrt(count))
        # equal draws say nothing of how often there is another one
        if count == most or 0.0 < error <= _KNOWN_WELL * abs(mean):
            return mean, error
        count = min(2 * count, most)


def _real(kind: str, shape: tuple[int, ...]) -> list[Array]:
    """Real gradients of a kind in the given shape: two workers' vectors or matrices, or the stack of all eight."""
    sharding, _, phase = kind.partition(", ")
    if len(shape) == 2 and shape[0] == 64:
        stack = gradients.matrices(sharding, phase)
        return [np.ascontiguousarray(stack[0, worker][:, : shape[1]]) for worker in (0, 1)]
    vectors = gradients.vectors(sharding, phase)
    # the middle of the vector, where the gradient of the hidden layer is dense
    start = (vectors.shape[-1] - shape[-1]) // 2
    cut = vectors[0, :, start : start + shape[-1]]
    return [np.ascontiguousarray(cut)] if len(shape) == 2 else [np.ascontiguousarray(cut[worker]) for worker in (0, 1)]


def _pairs(study: CompressorStudy, implementation: Any) -> Series:
    """The family of two workers, over its parameter e."""
    (c,) = study.set_ups.at(implementation, (2, 2))
    x, bound, worst = [], [], []
    for _, stack in study.domain.corpus((), np.float64):
        run = CompressorRun(c, stack)
        values, reading = run.once(study.values), study.measure.read(run)
        assert reading is not None
        x.append(float(values["e"]))
        bound.append(float(bound_at(study.statement, values)))
        worst.append(reading.value)
    return Series(label="two workers, n = 2, k = 1", axis="e", x=x, bound=bound, worst=worst)
