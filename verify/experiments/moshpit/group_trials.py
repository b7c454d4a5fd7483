"""Studies of counter-based trials: sequential tests against the exact factors."""

from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Floats
from commbounds.theory import claims
from commbounds.verify.experiments.moshpit.averaging import distortions, some_vectors
from commbounds.verify.finding import Series
from commbounds.verify.study import Stream, Study


def _trials(kind: str, name: str, shapes: tuple[tuple[int, int, int, float], ...], implementation: Any) -> list[Stream]:
    """Distortions of trials at (N, M, rounds, p), less what theory says their mean is; D_T / D_0 lies in [0, 1]."""
    streams = []
    for N, M, rounds, p in shapes:
        x = some_vectors(N, 5, 2, 1)
        start = float(sum(distortions(x)))
        values = {"N": N, "M": M, "rounds": rounds, "failure": p, "dims": 2}
        claimed = float(claims()[name].bound(**values))
        groups = N // M if kind == "random" else M

        def draw(
            rng: np.random.Generator, count: int, x: Any = x, groups: int = groups, rounds: int = rounds, p: float = p,
            start: float = start, claimed: float = claimed,
        ) -> Floats:  # fmt: skip
            found = implementation(x, kind, groups, rounds, count, int(rng.integers(2**63)), p=p)
            return np.asarray(found[:, -1] / start - claimed, np.float64)

        label = f"{kind}, N={N}, M={M}, p={p}"
        streams.append(Stream(label, draw, -claimed, 1 - claimed, unit=claimed, cost=2, values=values))
    return streams


def _trial_curve(kind: str, name: str, N: int, M: int, implementation: Any, seed: int) -> list[Series]:
    """The factor against p, means of 400 trials."""
    rates, rounds = [0.0, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0], 1 if kind == "random" else 2
    x = some_vectors(N, 5, 2, 1)
    start = float(sum(distortions(x)))
    groups = N // M if kind == "random" else M
    means = [float(implementation(x, kind, groups, rounds, 400, seed, p=p)[:, -1].mean()) / start for p in rates]
    bounds = [float(claims()[name].bound(N=N, M=M, rounds=rounds, failure=p, dims=2)) for p in rates]
    return [Series(f"N = {N}, M = {M}, means of 400 trials", "failure", rates, bounds, means)]


def _trial_study(kind: str, shapes: tuple[tuple[int, int, int, float], ...]) -> Study:
    name = f"moshpit.trials.{kind}"
    curves = partial(_trial_curve, kind, name, *shapes[-1][:2]) if kind != "keys" else ()
    return Study(name, "group_trials", streams=partial(_trials, kind, name, shapes), curves=curves)


TRIAL_STUDIES = (
    _trial_study("random", ((4, 2, 1, 0.0), (6, 2, 1, 0.5), (24, 6, 1, 0.2))),
    _trial_study("fixed", ((4, 2, 2, 0.05), (4, 2, 2, 0.5), (16, 4, 2, 0.3))),
    _trial_study("keys", ((4, 2, 1, 0.0), (36, 6, 1, 0.0))),
)
"""One study for every kind of trial."""
