"""Steps that drop work beside their definitions: the spaces of their cases."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.dropcompute import (
    Exponential,
    Gamma,
    Histogram,
    LatencyLaw,
    Lattice,
    Lognormal,
    Normal,
    Uniform,
    bernoulli,
    released_noise,
    trial_latencies,
)
from commbounds.collectives.dropcompute.step_law import gaussian_moments
from commbounds.verify.definition import Definition, Given, called, chosen
from commbounds.verify.definitions import dropcompute, dropcompute_times
from commbounds.verify.differences import Said
from commbounds.verify.space import RANKS, TILES, Of, Space

LATENCIES: Mapping[str, Callable[[np.random.Generator, tuple[int, ...]], Array]] = {
    "eighths": lambda rng, shape: rng.integers(0, 17, shape) / 8,
    "whole": lambda rng, shape: rng.integers(0, 4, shape),
    "uniform": lambda rng, shape: rng.random(shape) + 0.1,
    "alike": lambda _rng, shape: np.full(shape, 0.3),
    "zeros": lambda rng, shape: np.where(rng.random(shape) < 0.5, 0.0, 1.0),
    "narrow": lambda rng, shape: rng.random(shape).astype(np.float32),
}
"""(rng, shape) -> latencies; sums of eighths and of whole numbers are exact, and tie."""


def _sampled(data: str, seed: int, *shape: int) -> Array:
    return LATENCIES[data](np.random.default_rng(seed), shape)


# --- steps -------------------------------------------------------------------------------------------------------


def _step(
    P: int, M: int, data: str, tau: float, overhead: float | None, preemption: str | None, forward: float | None,
    at_threshold: bool | None, seed: int,
) -> Given:  # fmt: skip
    options = chosen(overhead=overhead, preemption=preemption, forward=forward, at_threshold=at_threshold)
    return Given({"latencies": _sampled(data, seed, P, M)}, {"tau": tau, **options})


STEPS = Space(
    _step,
    {
        "P": RANKS,
        "M": (1, 2, 3, 4, 5, 8, 12, 17),
        "data": tuple(LATENCIES),
        "tau": (1.0, 2.5, 4.0, 0.125, 100.0, np.inf),
        "overhead": (None, 0.0, 0.3),
        "preemption": (None, "A", "B", "C"),
        "forward": (None, 0.0, 0.25, 0.7, 1.0),
        "at_threshold": (None, False, True),
    },
    options=("M", "tau", "preemption", "forward", "at_threshold"),
    combined=(("data", "tau", "preemption", "at_threshold"), ("tau", "preemption", "forward")),
    hiding={"forward": (1 / 3, 0.5, 0.75), "M": (6, 7, 9, 16, 33)},
).search(P=(1, 12), M=(1, 20))


def _backup(P: int, M: int, data: str, spare: int, overhead: float | None, seed: int) -> Given:
    latencies = _sampled(data, seed, P, M)
    return Given({"latencies": latencies}, {"spare": min(spare, P - 1), **chosen(overhead=overhead)})


SPARES = (0, 1, 2, Of("P // 2", lambda P: P // 2), Of("P - 1", lambda P: P - 1))
BACKUPS = Space(
    _backup,
    {"P": RANKS, "M": (1, 2, 3, 8, 12), "data": tuple(LATENCIES), "spare": SPARES, "overhead": (None, 0.0, 0.3)},
    combined=(("P", "data", "spare"),),
).search(P=(1, 14), M=(1, 20))


def _tied_backups() -> list[Given]:
    """So many workers that a sort may exchange equal ones; among the last waited for and the first spare are some."""
    return [
        Given({"latencies": _sampled(data, P, P, M)}, {"spare": spare})
        for P, M in ((17, 1), (33, 2), (130, 3))
        for data in ("alike", "whole", "zeros")
        for spare in (1, 5, P // 2, P - 1)
    ]


def _period(P: int, M: int, data: str, steps: int, overhead: float | None, seed: int) -> Given:
    return Given({"latencies": _sampled(data, seed, steps, P, M)}, chosen(overhead=overhead))


PERIODS = Space(
    _period,
    {
        "P": RANKS,
        "M": (1, 2, 3, 8, 12, 17),
        "data": tuple(LATENCIES),
        "steps": (1, 2, 3, 5, 9),
        "overhead": (None, 0.0, 0.3),
    },
).search(P=(1, 14), M=(1, 20), steps=(1, 12))

# --- thresholds --------------------------------------------------------------------------------------------------


def _calibration(
    P: int, M: int, data: str, steps: int, overhead: str | float | None, drop_rate: float | None, seed: int
) -> Given:
    latencies = _sampled(data, seed, steps, P, M)
    latencies[0, 0, -1] += 1  # not all are zero
    paid = np.random.default_rng(seed + 1).integers(1, 9, steps) / 4 if overhead == "by step" else overhead
    return Given({"latencies": latencies}, chosen(overhead=paid, drop_rate=drop_rate))


def _chosen(implementation: Any, given: Given) -> Said:
    with warnings.catch_warnings(record=True) as warned:  # that a threshold is degenerate: it is one all the same
        warnings.simplefilter("always", RuntimeWarning)
        found = implementation(**given.inputs, **given.parameters)
    return {"threshold": found, "warned": bool(warned)}


BEST = Space(
    _calibration,
    {
        "P": RANKS,
        "M": (1, 2, 3, 5),
        "data": tuple(LATENCIES),
        "steps": (1, 2, 3, 4),
        "overhead": (2.0, None, 0.3, "by step"),
        "drop_rate": (None, 0.0, 0.125, 0.5, 1.0),
    },
    combined=(("data", "steps", "overhead", "drop_rate"),),
    hiding={"drop_rate": (0.1, 0.25, 0.3, 2 / 3, 0.7, 0.9), "M": (4, 7, 8, 17), "steps": (5, 9)},
)


def _tied_thresholds() -> list[Given]:
    """Gains that are equal at two thresholds or more; elapsed times of several workers and steps that are equal."""
    rows = (
        [[1, 1]],
        [[1, 1, 2]],
        [[1, 1, 2, 4]],
        [[2, 2], [2, 2]],
        [[1, 1], [2, 0]],
        [[2, 2, 4], [2, 2, 4], [8, 0, 0]],
    )
    found = [Given({"latencies": np.array([row] * steps, float)}) for row in rows for steps in (1, 2, 3)]
    # at T_c = 1 twice as many micro-batches take twice as long: 2 by 1, 4 by 3, 8 by 7
    doubled = np.array([[[1.0, 2, 4]], [[1.0, 2, 4]]])
    workers = np.array([[[1.0, 2.0], [1.0, 5.0], [3.0, 3.0], [3.0, 3.0]]])
    options = [{"overhead": 1.0, **chosen(drop_rate=rate)} for rate in (None, 0.0, 0.25, 1 / 3, 0.5, 2 / 3, 1.0)]
    found += [Given({"latencies": t}, given) for t in (doubled, workers) for given in options]
    skewed = (
        np.random.default_rng(7).pareto(0.8, (1, 4, 25)) + 0.1
    )  # 29 of 100 may go, though 0.29 times 100 is below 29
    found += [Given({"latencies": skewed}, {"overhead": 1.0, "drop_rate": rate}) for rate in (0.28, 0.29, 0.57)]
    return [*found, *_without_latencies(3)]


def _without_latencies(M: int) -> list[Given]:
    """Two steps, one of which has no latencies: it takes no time where it has no overhead either."""
    t = np.stack([np.zeros((2, M)), np.arange(1.0, 2 * M + 1).reshape(2, M)])
    return [Given({"latencies": t}, {"overhead": np.array(paid)}) for paid in ([1.0, 0.0], [0.0, 1.0], [0.5, 0.5])]


def _tied_candidates() -> list[Given]:
    """Candidates that are whole numbers, 7 to 206, as elapsed times are; and gains that are equal at several."""
    rng, found = np.random.default_rng(8), []
    for steps, P, M, overhead in ((1, 1, 7, 0.0), (1, 2, 8, 1.0), (2, 3, 9, 0.5), (3, 4, 7, 2.0)):
        t = np.ones((steps, P, M))
        t[..., 7:] = rng.integers(1, 90, t[..., 7:].shape)
        t[..., -1] += rng.integers(0, 100, t[..., -1].shape)
        t[0, 0, :7], t[-1, -1, -1] = 1.0, t[-1, -1, -1] + 206 - t[-1, -1].sum()
        if M > 7 or P > 1:
            found.append(Given({"latencies": t}, {"overhead": overhead}))
    alike = np.full((2, 3, 8), 0.5)
    found += [Given({"latencies": alike}, {"overhead": overhead}) for overhead in (0.0, 1.0)]
    return [*found, *_without_latencies(8)]


RELEASED = Space(
    _calibration,
    {
        "P": RANKS,
        "M": (7, 8, 11),
        "data": tuple(LATENCIES),
        "steps": (1, 2, 3),
        "overhead": (2.0, None, 0.3, "by step"),
        "drop_rate": (None,),
    },
    options=("M", "overhead"),
    hiding={"M": (9, 10, 16, 17), "steps": (4, 5)},
)

# --- gradients ---------------------------------------------------------------------------------------------------


def _gradient(P: int, M: int, d: int, data: str, completed: str, normalisation: str | None, seed: int) -> Given:
    rng = np.random.default_rng(seed)
    gradients = rng.integers(-32, 33, (P, M, d)) / 8 if data == "eighths" else rng.standard_normal((P, M, d))
    counts = {"some": rng.integers(0, M + 1, P), "all": np.full(P, M), "none": np.zeros(P, np.int64)}[completed]
    inputs = {"gradients": gradients.astype("f4" if data == "narrow" else "f8"), "completed": counts}
    return Given(inputs, chosen(normalisation=normalisation))


GRADIENTS = Space(
    _gradient,
    {
        "P": RANKS,
        "M": (1, 2, 3, 7),  # numpy adds up eight and more in an order of its own
        "d": (1, 2, 5, 17),
        "data": ("normal", "eighths", "narrow"),
        "completed": ("some", "all", "none"),
        "normalisation": (None, "fixed", "computed", "worker"),
    },
    options=("M", "d", "data", "completed", "normalisation"),
    hiding={"M": (4, 5, 6), "d": TILES},
).search(P=(1, 12), M=(1, 7))


def _sgd(d: int, B: int, steps: int, gradient: str, data: str, learning_rate: float, seed: int) -> Given:
    rng = np.random.default_rng(seed)
    noise = rng.integers(-16, 17, (steps, B, d)) / 8 if data == "eighths" else rng.standard_normal((steps, B, d))
    batches = rng.permutation(np.arange(steps) % (B + 1))
    options = {"gradient": gradient, "batches": batches, "learning_rate": learning_rate}
    return Given({"start": rng.integers(-8, 9, d) / 4, "noise": noise}, options)


def _visited(implementation: Any, given: Given) -> Said:
    options = dict(given.parameters)
    steep = options.pop("gradient") != "identity"
    return {"visited": implementation(
        **given.inputs, **options, gradient=lambda x: x * (1.0 + np.arange(x.size)) if steep else x
    )}  # fmt: skip


SGD = Space(
    _sgd,
    {
        "d": (1, 2, 5),
        "B": (1, 2, 3, 7),
        "steps": (1, 2, 5, 10),
        "gradient": ("identity", "steeper by entry"),
        "data": ("normal", "eighths"),
        "learning_rate": (0.5, 0.1),
    },
    combined=(("d", "B", "steps", "data"),),
    hiding={"B": (4, 5, 6), "d": (17, 33, 65), "steps": (34,)},
).search(B=(1, 7), steps=(1, 12))

# --- laws --------------------------------------------------------------------------------------------------------

LAWS: Mapping[str, LatencyLaw] = {
    "uniform": Uniform(0.5, 1.5),
    "from zero": Uniform(0.0, 2.0),
    "lattice": Lattice(0.5, 0.25, np.array([3.0, 0.0, 1.0])),
    "many cells": Lattice(0.0, 0.125, np.arange(1.0, 12.0)),
    "histogram": Histogram(0.25, 0.5, np.array([1.0, 5.0, 2.0])),
    "exponential": Exponential(0.8, 0.1),
    "normal": Normal(1.0, 0.3),
    "lognormal": Lognormal(-0.2, 0.5, 0.1),
    "gamma": Gamma(2.5, 0.4, 0.05),
    "small gamma": Gamma(0.4, 2.0),
    "gamma below two": Gamma(1.5, 0.5),
}


def _trials(
    P: int, M: int, law: str, tau: float, overhead: float | None, trials: int, first: int | None,
    preemption: str | None, forward: float | None, at_threshold: bool | None, seed: int,
) -> Given:  # fmt: skip
    options = chosen(overhead=overhead, first=first, preemption=preemption, forward=forward, at_threshold=at_threshold)
    sizes = {"law": LAWS[law], "N": P, "M": M, "tau": tau, "trials": trials}
    return Given({}, {**sizes, **options}, {"seed": 2**44 * seed + 6})


def _tried(implementation: Any, given: Given) -> Said:
    options, seed = given.parameters, given.randomness["seed"]
    first, sizes = options.get("first", 0), (options["N"], options["M"])
    drawn = [trial_latencies(options["law"], *sizes, seed, first + i) for i in range(options["trials"])]
    return {"trials": implementation(**options, seed=seed), "latencies": np.stack(drawn)}


TRIALS = Space(
    _trials,
    {
        "P": (*RANKS, 1025),
        "M": (1, 2, 3, 7),
        "law": tuple(LAWS),
        "tau": (2.0, 3.5, 0.5, np.inf),
        "overhead": (None, 0.25),
        "trials": (1, 5),
        "first": (None, 0, 7, 2**40),
        "preemption": (None, "A", "B", "C"),
        "forward": (None, 0.25, 0.8),
        "at_threshold": (None, False, True),
    },
    options=("law", "tau", "preemption", "forward", "at_threshold"),
    combined=(("law", "tau", "preemption", "at_threshold"), ("law", "preemption", "forward")),
    hiding={"forward": (1 / 3, 0.5), "trials": (2, 9), "M": (4, 5, 8)},
).without("it takes long", lambda P, M, trials: P > 9 and (M > 1 or trials > 1))


def _tied_draws() -> list[Given]:
    """Words whose lower half is just the share that a cell keeps: it is exchanged."""
    found = []
    for trial in range(8):
        bits = dropcompute.first_word(6, trial)
        weights = np.array([bits % 2**32, 2**33 - bits % 2**32], np.float64)
        sizes = {"N": 3, "M": 2, "tau": 1.0, "trials": 1, "first": trial}
        found += [
            Given({}, {"law": law, **sizes}, {"seed": 6}) for law in (Lattice(0, 1, weights), Histogram(0, 1, weights))
        ]
    return found


def _counted(implementation: Any, given: Given) -> Said:
    return {"maximum": implementation(**given.parameters), "moments": gaussian_moments(**given.parameters)}


MAXIMA = Space(
    lambda N, seed: Given({}, {"N": N}), {"N": (*range(1, 25), 99, 100, 101, 999, 1000, 1001, 10**4, 10**6, 10**9)}
).search(N=(1, 10**6))

TIMED: Mapping[str, LatencyLaw] = {
    "normal": LAWS["normal"],
    "exponential": LAWS["exponential"],
    "gamma": Gamma(3.0, 0.25, 0.1),
    "uniform": LAWS["uniform"],
    "from zero": LAWS["from zero"],
    "lattice": LAWS["lattice"],
    "many cells": LAWS["many cells"],
}
"""Laws whose sums a definition can say."""


def _timed(P: int, M: int, law: str, overhead: float, seed: int) -> Given:
    timed = TIMED[law]
    taus = [share * M * timed.mean for share in (0.5, 1.0, 1.25, 2.0, 6.0)]
    if isinstance(timed, Lattice):  # where workers end, too, and next to that
        taus += [M * timed.base + timed.unit * place for place in (0.5, 1, M + 1)]
        taus += [M * timed.base + timed.unit * (2 + 1e-10 * part) for part in (-15, -5, 0, 5, 15)]
    if isinstance(timed, Uniform):  # within the first cells of their grid, and before its first end
        taus += [M * (timed.low + share * (timed.high - timed.low)) for share in (2.0**-17, 2.0**-19)]
    return Given({}, {"law": timed, "N": P, "M": M, "taus": sorted({*taus}), "overhead": overhead})


def _expected(implementation: Any, given: Given) -> Said:
    options = dict(given.parameters)
    if "at" in options:
        law, at = MADE[options.pop("made")](*options.pop("numbers")), options.pop("at")
        step = implementation(law, **options)
        tried = step.times.candidates(step.N)
        some = np.append(tried[:: 1 + len(tried) // 64], tried[-1])
        return {"law": _known_of(law, at), "error": [step.error], "candidates": len(tried), "some": some}
    taus, overhead = options.pop("taus"), options.pop("overhead")
    step = implementation(**options)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", RuntimeWarning)
        tau, gain = step.best(overhead)
    return {
        "quantile": [step.quantile(p) for p in dropcompute_times.QUANTILES],
        "best": {"tau": [tau], "gain": [gain]} if isinstance(step.law, Lattice) else None,
        "warned": bool(warned),
        "mean_time": [step.mean_time()],
        "capped": [*step.capped(taus[:-1]), step.capped(taus[-1])],
        "capped_worker": [step.capped_worker(tau) for tau in taus],
        "late": [step.late(tau) for tau in taus],
        "completed": [*step.completed(taus[:-1]), step.completed(taus[-1])],
        "speedup": [*step.speedup(taus[:-1], overhead), step.speedup(taus[-1], overhead)],
        "ideal": [step.ideal(overhead)],
    }


MADE: Mapping[str, Callable[..., LatencyLaw]] = {
    made.__name__: made
    for made in (Normal, Lognormal, Gamma, Uniform, Lattice, Histogram, Exponential, bernoulli, released_noise)
}


def _known_of(law: LatencyLaw, at: list[float]) -> Said:
    """All that a law says of itself."""
    try:
        beyond: Any = [law.excess(x) for x in at if np.isfinite(x)]
    except TypeError:
        beyond = "TypeError"
    return {
        "mean": [law.mean],
        "variance": [law.variance],
        "skewness": [law.skewness],
        "variation": [law.coefficient_of_variation],
        "ends": [law.low, law.high],
        "ageing": [law.increasing_failure_rate, law.new_better_than_used],
        "cdf": law.cdf(at),
        "excess": beyond,
        "keep": law.plan.keep,
        "alias": law.plan.alias.tolist(),
    }


def _laws() -> list[Given]:
    """Every family of laws, with its numbers and without those that have defaults, and how its sums are tried."""
    weights = [0.0, 1.0, 3.0, 6.0, 4.0, 0.0, 1.0]
    laws: list[tuple[str, tuple[Any, ...], int, int]] = [
        ("Normal", (2.0, 0.5), 3, 2),
        ("Normal", (1.0, 0.125), 1000, 1),
        ("Lognormal", (-0.25, 0.5), 1, 1),
        ("Lognormal", (0.5, 1.0, 0.25), 50, 3),
        ("Lognormal", (-1.0, 0.25), 10**6, 1),
        ("Gamma", (4.0, 0.25), 7, 2),
        ("Gamma", (2.0, 3.0, 0.5), 1, 5),
        ("Gamma", (0.5, 1.0), 3, 2),  # the failure rate falls, if there is no base
        ("Gamma", (0.5, 1.0, 2.0), 1, 4),
        ("Exponential", (1.0,), 2, 1),
        ("Exponential", (0.5, 0.125), 64, 3),
        ("Uniform", (0.5, 1.75), 3, 2),
        ("Uniform", (0.0, 2.0), 100, 3),
        ("Lattice", (0.5, 0.25, weights), 3, 3),
        ("Lattice", (0.0, 2.0, weights[1:]), 1, 1),
        ("Lattice", (0.25, 1.0, [0.0, *[1.0] * 16]), 2, 91),  # too many sums to be tried one by one
        ("Lattice", (3.0, 1.0, [1.0, 0.0]), 4, 2),
        ("Lattice", (1.0, 2.0, [1.0, 1.0]), 4, 1),  # what remains after one is the mean
        ("Lattice", (0.1, 0.1, [1.0] * 10), 2, 1),  # shares that do not add up to one; its ends are roundings
        ("bernoulli", (0.5, 4.0, 0.25), 5, 2),
        ("bernoulli", (1.0, 1.5, 1.0), 5, 2),
        ("released_noise", (), 2, 1),
        ("released_noise", (0.75,), 2, 2),
        ("released_noise", (2.0, 0.5), 9, 1),
        ("Histogram", (0.25, 0.5, weights), 8, 2),
        ("Histogram", (0.0, 1.0, [2.0, 1.0, 1.0]), 8, 3),
    ]
    at = [-np.inf, -1.0, 0.0, 0.125, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 10.0, np.inf]
    at += [1.0 + 0.1 * part * 1e-9 for part in (-15, -5, 5)]  # next to where one law ends
    return [Given({}, {"made": made, "numbers": numbers, "N": N, "M": M, "at": at}) for made, numbers, N, M in laws]


TIMES = Space(
    _timed,
    {"P": (*RANKS, 50), "M": (1, 2, 3, 5), "law": tuple(TIMED), "overhead": (0.5, 0.0, 2.0)},
    options=("law",),
    combined=(("M", "law", "overhead"),),
)

DEFINITIONS = {
    "StepLaw": Definition(TIMES, _expected, dropcompute_times.expected, examples=_laws),
    "backup_step": Definition(BACKUPS, called("step"), dropcompute.spared, examples=_tied_backups),
    "best_threshold": Definition(BEST, _chosen, dropcompute.chosen_best, examples=_tied_thresholds),
    "drop_gradient": Definition(GRADIENTS, called("gradient"), dropcompute.of_gradient),
    "drop_step": Definition(STEPS, called("step"), dropcompute.dropped),
    "drop_trials": Definition(TRIALS, _tried, dropcompute.of_trials, examples=_tied_draws, takes_seed=True),
    "gaussian_maximum": Definition(MAXIMA, _counted, dropcompute.of_maximum, refused={"N": (0, 2**53 + 1)}),
    "local_sgd_period": Definition(PERIODS, called("seconds"), dropcompute.period),
    "random_batch_sgd": Definition(SGD, _visited, dropcompute.of_sgd),
    "released_threshold": Definition(RELEASED, _chosen, dropcompute.chosen_by_release, examples=_tied_candidates),
}
