"""Packet loss: whole runs of training on quadratics under every history of losses, and on non-convex functions."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from commbounds.array_types import Floats, Mask
from commbounds.collectives import Bernoulli, Replicas, fresh_replicas, layout
from commbounds.theory import claims
from commbounds.verify.experiments.packetloss.curves import LOSSES
from commbounds.verify.family import Family, FamilyStudy
from commbounds.verify.space import Space, nothing
from commbounds.verify.study import Outcome, Stream

Lost = Counter[int]
"""By the number of packets lost: in how many histories."""
_UNIT = 36.0
"""Multiple of all starts and minimisers: means of up to three workers are exact, twice in a row."""
_CURVATURES = {"alike": (2.0, 2.0, 2.0), "several": (2.0, 1.0, 0.5), "steep": (16.0, 16.0, 16.0)}
"""Of the workers' quadratics, in turn; the first is the largest."""


@dataclass(frozen=True)
class _Fates:
    """A loss process of one step: which packets get lost in its two halves."""

    halves: tuple[Mask, Mask]
    shared: bool = False

    @property
    def rate(self) -> float:
        """The share of its packets that get lost."""
        return float(np.concatenate(self.halves).mean())

    def lost(self, address: tuple[int, ...], _step: int, _size: int, _state: None) -> tuple[Mask, None]:
        return self.halves[address[2]], None


def _every_fate(workers: int, shards: int) -> Iterator[tuple[int, _Fates]]:
    """Every fate of the packets of a step that anybody waits for, with the number of those lost."""
    contributions = [(i, j) for j in range(shards) for i in range(workers)]
    broadcasts = [(j, i) for j in range(shards) for i in range(workers) if i != j]
    for fates in itertools.product((False, True), repeat=len(contributions) + len(broadcasts)):
        halves = []
        for links, lost in ((contributions, fates[: len(contributions)]), (broadcasts, fates[len(contributions) :])):
            mask = np.zeros((workers, workers), np.bool_)
            for link, gone in zip(links, lost, strict=True):
                mask[link] = gone
            halves.append(mask.ravel())
        yield sum(fates), _Fates((halves[0], halves[1]))


@dataclass(frozen=True)
class _Quadratics:
    """Worker i has a_i ||x - c_i||^2 / 2; all numbers are small, so that floats hold them exactly."""

    curvature: tuple[Fraction, ...]
    centre: tuple[tuple[Fraction, ...], ...]

    def value(self, x: Sequence[Fraction]) -> Fraction:
        """Their mean at a point."""
        parts = (
            a / 2 * sum(((u - v) ** 2 for u, v in zip(x, c, strict=True)), Fraction(0))
            for a, c in zip(self.curvature, self.centre, strict=True)
        )
        return sum(parts, Fraction(0)) / len(self.curvature)

    def slope(self, points: Sequence[Sequence[Fraction]]) -> list[Fraction]:
        """Mean of the workers' gradients, each at a point of its own."""
        rows = [
            [a * (u - v) for u, v in zip(x, c, strict=True)]
            for a, c, x in zip(self.curvature, self.centre, points, strict=True)
        ]
        return [sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True)]

    @property
    def least(self) -> Fraction:
        """Infimum of their mean."""
        total = sum(self.curvature, Fraction(0))
        columns = zip(*self.centre, strict=True)
        return self.value([sum(a * v for a, v in zip(self.curvature, c, strict=True)) / total for c in columns])


def _square(x: Sequence[Fraction]) -> Fraction:
    return sum((v * v for v in x), Fraction(0))


def _exact(x: Floats) -> Any:
    return [_exact(v) for v in x] if x.ndim else Fraction(float(x))


@dataclass(frozen=True)
class _Histories:
    """What all histories of a run hold: by step, the squares at its outset and the estimates', with their weights.

    `links` packets are waited for in a step; `at_outset[s]` is a list of (weights, |grad f|^2, |gbar|^2, f) before step
    s, and after the last, `estimates[s]` of (weights, |ghat|^2).
    """

    links: int
    least: Fraction
    at_outset: list[list[tuple[Lost, Fraction, Fraction, Fraction]]]
    estimates: list[list[tuple[Lost, Fraction]]]

    def mean(self, p: Fraction, step: int, rows: Sequence[tuple[Lost, Fraction]]) -> Fraction:
        """Expected value of the last entry of the rows, `step` steps being over."""
        chance = [p**lost * (1 - p) ** (self.links * step - lost) for lost in range(self.links * step + 1)]
        return sum((number * chance[lost] * v for weights, v in rows for lost, number in weights.items()), Fraction(0))


@lru_cache(maxsize=64)
def _histories(training: Any, workers: int, n: int, steps: int, curvatures: str, rate: Fraction) -> _Histories:
    """`steps` steps of training under every history of losses; histories with the same replicas go on as one."""
    curvature = np.resize(_CURVATURES[curvatures], workers)
    centre = _UNIT * (np.arange(workers)[:, None] - 2.0 * (np.arange(n) % 2))
    problem = _Quadratics(tuple(_exact(curvature)), tuple(tuple(row) for row in _exact(centre)))
    fates = list(_every_fate(workers, min(n, workers)))
    owner, places = layout(n, workers).owner, np.arange(n)
    states: list[tuple[Lost, Replicas]] = [(Counter({0: 1}), fresh_replicas(np.full(n, 5 * _UNIT), workers))]
    outset, estimates = [], []
    for step in range(steps + 1):
        rows = []
        for weights, state in states:
            point = _exact(state.parameters[owner, places])
            true, seen = problem.slope([point] * workers), problem.slope(_exact(state.parameters))
            rows.append((weights, _square(true), _square(seen), problem.value(point)))
        outset.append(rows)
        if step == steps:
            break
        following: dict[bytes, tuple[Lost, Replicas]] = {}
        squares: list[tuple[Lost, Fraction]] = []
        for weights, state in states:
            for lost, fate in fates:
                updates: list[Floats] = []
                after, _ = training(
                    state,
                    lambda _step, x: curvature[:, None] * (x - centre),
                    fate,
                    1,
                    float(rate),
                    observe=lambda _state, update, kept=updates: kept.append(update),
                )
                shifted = Counter({before + lost: number for before, number in weights.items()})
                squares.append((shifted, _square([v / rate for v in _exact(updates[0])])))
                together, _ = following.setdefault(after.parameters.tobytes(), (Counter(), after))
                together.update(shifted)
        estimates.append(squares)
        states = list(following.values())
    workers_links = workers * min(n, workers)
    return _Histories(2 * workers_links - min(n, workers), problem.least, outset, estimates)


def _expectations(
    implementation: Any, N: int, n: int, t: int, curvatures: str, rate: Fraction, p: Fraction
) -> tuple[list[Fraction], list[Fraction], dict[str, Any]]:
    """Expected |grad f|^2 and |gbar|^2 by step, and the values of the bounds' symbols."""
    smooth = Fraction(_CURVATURES[curvatures][0])
    run = _histories(implementation, N, n, t, curvatures, rate / smooth)
    true, seen, value = (
        [
            run.mean(p, step, [(weights, squares[which]) for weights, *squares in rows])
            for step, rows in enumerate(run.at_outset)
        ]
        for which in range(3)
    )
    estimated = [run.mean(p, step + 1, rows) for step, rows in enumerate(run.estimates)]
    values = {
        "elapsed": t, "eta": rate / smooth, "smooth": smooth, "estimatesquare": sum(estimated, Fraction(0)) / t,
        "fall": value[0] - value[-1], "gap": value[0] - run.least,
    }  # fmt: skip
    return true[:-1], seen[:-1], values


def _descent(found: tuple[list[Fraction], list[Fraction], dict[str, Any]]) -> Outcome:
    true, seen, values = found
    return Outcome((sum(true, Fraction(0)) + sum(seen, Fraction(0))) / (2 * len(true)), values)


def _convergence(found: tuple[list[Fraction], list[Fraction], dict[str, Any]]) -> Outcome:
    true, _, values = found
    return Outcome(sum(true, Fraction(0)) / len(true), values)


_SLOW, _WHOLE, _FAST = Fraction(1, 4), Fraction(1), Fraction(3, 2)
_ROWS = (
    (1, 1, 3, "alike", _SLOW), (1, 1, 3, "alike", _WHOLE), (1, 1, 3, "alike", _FAST), (1, 1, 8, "alike", _SLOW),
    (2, 1, 3, "alike", _WHOLE), (3, 1, 2, "steep", _FAST), (2, 1, 3, "several", _FAST), (2, 3, 1, "several", _SLOW),
    (2, 1, 4, "alike", _WHOLE), (3, 1, 2, "several", _SLOW), (2, 2, 2, "several", _WHOLE),
)  # fmt: skip
"""N, n, t, curvatures, and the step size times the largest of them."""
_ROOTED = tuple(Fraction(*pair) for pair in ((0, 1), (1, 4), (4, 9), (1, 2), (81, 100)))
"""Loss probabilities; all but one have rational roots."""


_AXES: dict[str, Any] = {"N": (2,), "n": (1,), "t": (3,), "curvatures": ("alike",), "rate": (_WHOLE,), "p": _ROOTED}
_HISTORIES = Family("packetloss", "lossy_training", Space(nothing, _AXES), run=_expectations, searched=False)
_RUNS = [_HISTORIES.space.at(**dict(zip(_AXES, (*row, p), strict=True))) for row in _ROWS for p in _ROOTED]

_STEPS = 12


def _streams(claim: str) -> Callable[[Any], list[Stream]]:
    """Runs on f_i(x) = - sum of cos(x - c_i): what the claim bounds, less its bound with the run's own squares."""
    statement, corollary = claims()[claim], claim.endswith("convergence")

    def streams(training: Any) -> list[Stream]:
        def stream(workers: int, n: int, p: float, rate: float) -> Stream:
            centre = np.linspace(-1.0, 1.0, workers)[:, None] + np.arange(n)
            owner, places = layout(n, workers).owner, np.arange(n)
            start = np.linspace(2.0, 3.0, n)
            fixed = {"N": workers, "p": p, "elapsed": _STEPS, "eta": rate, "smooth": 1.0}

            def value(x: Floats) -> float:
                return float(-np.cos(x - centre).sum() / workers)

            # minus the resultant of the workers' unit vectors, coordinate by coordinate
            least = -float(np.hypot(np.cos(centre).mean(axis=0), np.sin(centre).mean(axis=0)).sum())

            def bound(square: float, fall: float) -> float:
                gap = value(start) - least
                return float(statement.bound(**fixed, estimatesquare=square, fall=fall, gap=gap))

            def draw(rng: np.random.Generator, count: int) -> Floats:
                seed, found = int(rng.integers(2**63)), np.empty(count)
                for run in range(count):
                    replicas: list[Floats] = [fresh_replicas(start, workers).parameters]
                    updates: list[Floats] = []

                    def observe(state: Replicas, update: Floats, kept: Any = (replicas, updates)) -> None:
                        kept[0].append(state.parameters)
                        kept[1].append(update)

                    training(
                        fresh_replicas(start, workers), lambda _step, x: np.sin(x - centre), Bernoulli(p), _STEPS,
                        rate, seed=seed, trial=run, observe=observe,
                    )  # fmt: skip
                    points = [x[owner, places] for x in replicas]
                    true = np.mean([np.sin(x - centre).mean(axis=0) @ np.sin(x - centre).mean(axis=0)
                                    for x in points[:-1]])  # fmt: skip
                    seen = np.mean([np.square(np.sin(x - centre).mean(axis=0)).sum() for x in replicas[:-1]])
                    square = float(np.mean([np.square(u / rate).sum() for u in updates]))
                    measured = float(true if corollary else (true + seen) / 2)
                    found[run] = measured - bound(square, value(start) - value(points[-1]))
                return found

            # squares lie between 0 and n, f between -n and n
            low, high = -1.001 * bound(float(n), 2.0 * n), 1.001 * (n - bound(0.0, -2.0 * n))
            return Stream(
                f"cosines, N = {workers}, n = {n}, p = {p}, step size {rate}", draw, low, high, two_sided=False,
                unit=float(n), cost=400,
            )  # fmt: skip

        return [stream(3, 7, 0.3, 0.2), stream(5, 5, 0.1, 1.0), stream(8, 12, 0.5, 0.5)]

    return streams


_GRID_SAYS = (
    "every history of losses of 1 worker over 3 and 8 steps, 2 over 3 and 4 and 3 workers over 2 steps of one "
    "parameter, of 2 workers over 2 steps of two, and in one step of three; quadratics of one and of several curvatures"
)


def _studies(name: str, measure: Any, **options: Any) -> tuple[FamilyStudy, ...]:
    return _HISTORIES.studies(
        measure,
        f"training.{name}",
        grid=_HISTORIES.of(_RUNS),
        enumerated=_GRID_SAYS,
        streams=_streams(f"packetloss.training.{name}"),
        curves=[_HISTORIES.over("p", LOSSES, "N = 2, one curvature L, step size 1/L, 3 steps")],
        **options,
    )


_LOSSLESS = [row for row in _RUNS if row["p"] == 0 and row["curvatures"] != "several"]
DESCENTS = (*_studies("descent", _descent, extremal=_HISTORIES.of(_LOSSLESS)), *_studies("convergence", _convergence))
"""How the claims about convergence are confronted."""
