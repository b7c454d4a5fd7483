"""DropCompute: stragglers: figures about more than one claim."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from commbounds.collectives import best_threshold, drop_trials, released_threshold, trial_latencies
from commbounds.verify.exhibit import Exhibit, Heat, Line, Maker, Panel, line
from commbounds.verify.experiments.dropcompute.laws import LAWS, step_law
from commbounds.verify.experiments.dropcompute.maps import formula, formula_gap, gain_gap

_M = 12
_WORKERS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 10_000)
_SIMULATED = (2, 8, 32, 128, 512, 2048)
_TRIALS = {"quick": 300, "standard": 3000, "thorough": 30_000}
_SHARES = tuple(float(s) for s in np.linspace(0.3, 2.0, 69))
_LEVELS = ("within 1 %", "within 5 %", "within 20 %", "worse")
_MAPPED = (
    "normal, cv 0.2",
    "uniform",
    "Bernoulli",
    "lognormal, width 0.1",
    "gamma, shape 16",
    "gamma, shape 4",
    "lognormal, width 0.5",
    "released delay",
    "exponential",
    "gamma, shape 1/4",
    "lognormal, width 1",
)


def _band(values: Any) -> tuple[float, float, float]:
    """Mean, and the ends of its 99 % interval."""
    mean, half = float(values.mean()), 2.576 * float(values.std(ddof=1)) / math.sqrt(values.size)
    return mean, mean - half, mean + half


def _banded(label: str, x: Sequence[float], rows: Sequence[tuple[float, float, float]], role: str = "measured") -> Line:
    """A line of (value, low, high) at every x."""
    middle, low, high = zip(*rows, strict=True)
    return line(label, x, middle, role, low, high)


def _slowest(law: str, trials: int, seed: int) -> Panel:
    t = LAWS[law]
    mean = _M * t.mean
    exact = [step_law(law, N, _M).mean_time() / mean for N in _WORKERS]
    lines = [line("exact", _WORKERS, exact, "exact")]
    named = (("published formula", "time.formula", "printed"), ("corrected for skewness", "time.skewed", "corrected"))
    for label, name, role in (*named, ("bracket with true quantiles", "time.generalised", "corrected")):
        lines.append(line(label, _WORKERS, lambda N, name=name: formula(name, law, N, _M) / mean, role))
    bands = [
        _band(drop_trials(t, N, _M, mean, trials=max(40, trials * 32 // max(32, N)), seed=seed).slowest / mean)
        for N in _SIMULATED
    ]
    lines.append(_banded("simulated, 99 %", _SIMULATED, bands))
    return Panel(law, "workers N", "E[T] / (M mu)", tuple(lines), xscale="log")


def slowest(budget: str, seed: int) -> Exhibit:
    """E[T] against N: exact, published and corrected, and simulated."""
    panels = tuple(_slowest(law, _TRIALS[budget], seed) for law in ("normal, cv 0.2", "exponential", "released delay"))
    return Exhibit(
        "dropcompute.slowest_worker",
        "The published E[T] is accurate for normal latencies; for skewed ones it needs a term for the skewness",
        "Twelve micro-batches of mean mu. Exact: the integral of 1 - F^N. The band is a 99 % confidence interval of "
        "the mean of simulated steps.",
        panels,
    )


def _gains(law: str, N: int, trials: int, seed: int) -> Panel:
    t, step = LAWS[law], step_law(law, N, _M)
    mean = _M * t.mean
    overhead = 0.2 * mean
    taus = np.array(_SHARES) * mean
    exact = [float(v) for v in step.speedup(taus, overhead)]
    printed = [g * (1 + gain_gap(law, N, _M, float(tau), overhead)) for g, tau in zip(exact, taus, strict=True)]
    time = step.mean_time()
    means = [
        float(done) * (time + overhead) / (_M * (min(float(tau), time) + overhead))
        for done, tau in zip(step.completed(taus), taus, strict=True)
    ]
    xs = list(_SHARES)
    lines = [
        Line("exact", xs, exact, "exact"),
        Line("published formulas", xs, printed, "printed"),
        Line("exact moments in the published formula", xs, means, "lower"),
        line("ideal workers", [xs[0], xs[-1]], step.ideal(overhead), "bound"),
    ]
    points = (0.5, 0.7, 0.85, 1.0, 1.2, 1.5)
    bands = []
    for share in points:
        found = drop_trials(t, N, _M, share * mean, overhead, trials=trials, seed=seed)
        ratio = float(found.completed.mean() / (N * _M) * found.slowest.mean() / found.time.mean())
        # linearised: the mean of these is the ratio's, to first order
        parts = sum(sign * v / v.mean() for sign, v in ((1, found.completed), (1, found.slowest), (-1, found.time)))
        half = 2.576 * ratio * float(parts.std(ddof=1)) / math.sqrt(trials)
        bands.append((ratio, ratio - half, ratio + half))
    lines.append(_banded("simulated, 99 %", points, bands))
    return Panel(f"{law}, N = {N}", "threshold tau / (M mu)", "gain S_eff", tuple(lines))


def gains(budget: str, seed: int) -> Exhibit:
    """S_eff against tau: exact, published, bounds, and simulated."""
    cells = (("exponential", 8), ("exponential", 200), ("released delay", 200), ("normal, cv 0.2", 200))
    return Exhibit(
        "dropcompute.gain",
        "For skewed latencies the published gain is conservative, and its best threshold is still accurate",
        "Twelve micro-batches, overhead M mu/5. Ideal workers bound the gain if latencies are new better than used; "
        "those shown are, except the released delay.",
        tuple(_gains(law, N, _TRIALS[budget], seed) for law, N in cells),
    )


def _level(gap: float) -> float:
    return float(sum(abs(gap) > limit for limit in (0.01, 0.05, 0.2)))


def _map(name: str, M: int, laws: Sequence[str]) -> Panel:
    z = [[_level(formula_gap(name, law, N, M)) for N in _WORKERS] for law in laws]
    what = {"time.formula": "published", "time.skewed": "with skewness", "time.generalised": "with true quantiles"}[
        name
    ]
    workers, places = [float(N) for N in _WORKERS], [float(j) for j in range(len(laws))]
    return Panel(
        f"E[T] {what}, M = {M}",
        "workers N",
        "latency law",
        heat=Heat(workers, places, z, list(_LEVELS), "error", list(laws)),
        xscale="log",
    )


def validity(budget: str, seed: int) -> Exhibit:
    """Where each formula for E[T] is within 1 %, 5 % and 20 % of the truth."""
    counts = (1, 4, 12, 64) if budget != "quick" else (4, 12, 64)
    panels = [_map("time.formula", M, _MAPPED) for M in counts]
    panels += [_map(name, 12, _MAPPED) for name in ("time.skewed", "time.generalised")]
    return Exhibit(
        "dropcompute.validity",
        "The published E[T] is within 5 % for nearly normal latencies or 64 micro-batches; the corrections need 12",
        "Every cell is an exact computation: law of the latency, number of workers, number of micro-batches M.",
        tuple(panels),
    )


def _regret(law: str, replicates: int, seed: int) -> Panel:
    t = LAWS[law]
    overhead = 0.2 * _M * t.mean
    xs = (1, 2, 5, 10, 22, 44)
    lines = []
    for N in (8, 64):
        step = step_law(law, N, _M)
        best = step.best(overhead)[1]
        searches = (("exact candidates", best_threshold, "measured"), ("released", released_threshold, "printed"))
        for label, search, role in searches:
            rows = []
            for steps in xs:
                lost = []
                for r in range(replicates):
                    sample = [trial_latencies(t, N, _M, seed, r * 44 + i) for i in range(steps)]
                    tau = search(np.array(sample), overhead).tau
                    lost.append(max(100 * (1 - float(step.speedup(tau, overhead)) / best), 0.0))
                rows.append((float(np.mean(lost)), float(np.min(lost)), float(np.max(lost))))
            lines.append(_banded(f"{label}, N = {N}", xs, rows, role))
    return Panel(law, "calibration steps", "gain lost, %", tuple(lines), xscale="log")


def regret(budget: str, seed: int) -> Exhibit:
    """What a threshold chosen on calibration steps loses."""
    replicates = {"quick": 6, "standard": 30, "thorough": 200}[budget]
    return Exhibit(
        "dropcompute.regret",
        "A few calibration steps suffice: 44 of them lose a fraction of a percent of the best gain",
        "Twelve micro-batches, overhead M mu/5; mean loss over calibrations, and its range. Trying every elapsed time "
        "and the released search of 200 thresholds do equally well.",
        tuple(_regret(law, replicates, seed) for law in ("exponential", "released delay")),
    )


EXHIBITS: dict[str, Maker] = {
    "dropcompute.slowest_worker": slowest,
    "dropcompute.gain": gains,
    "dropcompute.validity": validity,
    "dropcompute.regret": regret,
}
