"""What the models of DropCompute take for given is so where the kernels run."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from goal_values import check_goals, goals, seen_at
from model_runs import Run, met_by

from commbounds.collectives import best_threshold, drop_step, random_batch_sgd
from commbounds.verify.experiments.dropcompute.laws import SMALL_LAWS

TAUS = (0.5, 2.0, 2.5, 3.0, 20.0)
SIZES = ((1, 1), (1, 3), (2, 2), (3, 1))


def conditions(claim, goal, values):
    """What a goal's model knows not to be negative, or to be zero, by name, at values of its symbols by name."""
    known = goals(f"dropcompute.{claim}")[goal]

    def at(conditions):
        return {name: float(e.subs({s: values[s.name] for s in e.free_symbols})) for name, e in conditions.items()}

    return at({**known.given, **known.positive}), at(known.zero)


def holds(claim, goal, values, apart=()):
    """Whether all conditions of a goal but those named hold, up to rounding."""
    given, zero = conditions(claim, goal, values)
    assert min((v for name, v in given.items() if name not in apart), default=0.0) >= -1e-9
    assert max(map(abs, zero.values()), default=0.0) <= 1e-9
    shown = goals(f"dropcompute.{claim}")[goal].show
    if not apart and {s.name for s in shown.free_symbols} <= set(values):
        value = float(shown.subs({s: values[s.name] for s in shown.free_symbols}))
        assert value >= -1e-9
        seen_at(f"dropcompute.{claim}", goal, values)


@pytest.mark.models(
    "dropcompute.backup.dominated",
    "dropcompute.step.between_at_least",
    "dropcompute.step.between_at_most",
    "dropcompute.step.overshoot",
    "dropcompute.step.time",
    "dropcompute.time.variance",
)
@pytest.mark.parametrize("seed", range(20))
def test_steps_obey_the_conditions(seed):
    rng = np.random.default_rng(seed)
    workers, count = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    t, tau, overhead = rng.integers(0, 5, (workers, count)).astype(float), float(rng.integers(1, 12)), 0.5
    ends = np.cumsum(t, axis=1)
    begins = ends - t
    free = drop_step(t, tau, overhead)
    np.testing.assert_array_equal(free.worker_times, np.minimum(tau, ends[:, -1]))
    assert free.time == overhead + free.worker_times.max()
    assert free.slowest == overhead + ends[:, -1].max()
    np.testing.assert_array_equal(free.completed, (ends < tau).sum(axis=1))
    later = drop_step(t, tau, overhead, preemption="B")
    for n in range(workers):
        last = int(later.completed[n]) - 1
        assert later.worker_times[n] == begins[n, last] + t[n, last]
        slowest = float(ends[:, -1].max())
        values = {"tau": tau, "begin": begins[n, last], "took": t[n, last], "longest": t.max(), "slowest": slowest}
        holds("step.overshoot", "at most slowest", values)
    for forward in (0.0, 0.25, 1.0):
        between = drop_step(t, tau, preemption="C", forward=forward).completed
        for n, m in product(range(workers), range(count)):
            middle = begins[n, m] + forward * t[n, m]
            assert (m < between[n]) == (middle <= tau and (m == 0 or m <= between[n]))
            if ends[n, m] < tau:
                assert m < between[n]
    spare = int(rng.integers(0, workers))
    waited = np.sort(ends[:, -1])[workers - 1 - spare]
    if waited > 0:
        kept = drop_step(t, float(waited), at_threshold=True).completed
        assert (kept[ends[:, -1] <= waited] == count).all()
        assert (ends[:, -1] <= waited).sum() >= workers - spare
        for n in range(workers):
            check_goals("dropcompute.backup.dominated", ["counts"], {"count": int(kept[n])})
            for end in ends[n] if ends[n, -1] <= waited else ():
                within = {"tau": waited, "time": ends[n, -1], "end": end}
                check_goals("dropcompute.backup.dominated", ["every micro-batch of a worker waited for"], within)


def spread_of(law, count):
    """M mu and M sigma^2, as the model has them, and both of a single one."""
    mean = sum((p * v for v, p in law.atoms), Fraction(0))
    variance = sum((p * v * v for v, p in law.atoms), Fraction(0)) - mean**2
    return count * mean, count * variance, mean, variance


@pytest.mark.models(
    "dropcompute.time.concave",
    "dropcompute.time.dependent",
    "dropcompute.time.dependent_within",
    "dropcompute.time.universal",
)
@pytest.mark.parametrize("name", SMALL_LAWS)
@pytest.mark.parametrize(("workers", "count"), SIZES)
def test_the_slowest_obeys_the_conditions(name, workers, count):
    law = SMALL_LAWS[name]
    total, variance, _, sigma_squared = spread_of(law, count)
    mean_time, excess, excess_square, spread = (Fraction(0),) * 4
    for t, p in law.outcomes(workers, count):
        times = t.sum(axis=1)
        slowest = drop_step(t, math.inf).slowest
        about = times - times.mean()
        over, squares = slowest - times.mean(), float((about**2).sum())
        holds("time.dependent", "an outcome", {"N": workers, "excess": over, "spread": squares})
        mean_time += p * Fraction(slowest)
        excess += p * Fraction(over)
        excess_square += p * Fraction(over) ** 2
        spread += p * Fraction(squares)
    assert float(mean_time - total) == pytest.approx(float(excess), abs=1e-12)
    values = {
        "width": math.sqrt(workers - 1), "root": math.sqrt(count), "jitter": math.sqrt(sigma_squared),
        "mean": float(excess), "seen": float(excess_square), "spread": float(spread),
    }  # fmt: skip
    holds("time.dependent", "mean", values)
    assert float(spread) <= workers * float(variance) + 1e-9
    # the law of one worker's time: the integrals of its quantile, and of 1 - F^N
    chances = {}
    for t, p in law.outcomes(1, count):
        end = drop_step(t, math.inf).slowest
        chances[end] = chances.get(end, Fraction(0)) + p
    below, inner, before, area = Fraction(0), Fraction(0), 0.0, Fraction(0)
    for end in sorted(chances):
        area += Fraction(end - before) * (1 - below**workers)
        upto = below + chances[end]
        inner += (Fraction(end) - total) * (upto**workers - upto - below**workers + below)
        below, before = upto, end
    assert area == mean_time
    assert inner == mean_time - total


@pytest.mark.models("dropcompute.threshold.optimal")
@pytest.mark.parametrize("seed", range(10))
def test_calibration_obeys_the_conditions(seed):
    rng = np.random.default_rng(seed)
    t = rng.integers(1, 6, (3, 2, 3)).astype(float)
    overhead = float(rng.integers(0, 3)) / 2
    ends = np.cumsum(t, axis=2)
    slowest = ends[:, :, -1].max(axis=1)

    def gain(tau):
        done = (ends <= tau).mean(axis=(1, 2))
        return float(np.mean(done * (slowest + overhead) / (np.minimum(tau, slowest) + overhead)))

    candidates = np.unique(ends)
    found = best_threshold(t, overhead)
    assert found.gain == pytest.approx(max(gain(c) for c in candidates), rel=1e-12)
    assert gain(candidates[-1]) == 1.0
    for tau in rng.uniform(0.1, 20.0, 20):
        under = candidates[candidates <= tau]
        if not under.size:
            assert gain(tau) == 0.0
            continue
        values = {"best": found.gain, "seen": gain(under[-1]), "gain": gain(tau)}
        holds("threshold.optimal", "of all", values)


def expectations(law, workers, count, tau):
    """Moments of a step that the models speak of: of all workers, and of the first."""
    sums = dict.fromkeys(("completed", "begun", "late", "capped", "worker", "work", "slowest"), Fraction(0))
    sums |= dict.fromkeys(("both", "ratio", "paid", "short"), Fraction(0))
    for t, p in law.outcomes(workers, count):
        step, later = drop_step(t, tau), drop_step(t, tau, preemption="B")
        first = float(t[0].sum())
        end, stop = drop_step(t, math.inf).slowest, step.time
        sums["completed"] += p * Fraction(int(step.completed.sum()), workers)
        strict = min(int((np.cumsum(t[0]) < tau).sum()) + 1, count)
        sums["begun"] += p * strict
        sums["late"] += p * (first >= tau)
        sums["worker"] += p * Fraction(float(step.worker_times[0]))
        sums["work"] += p * Fraction(float(t[0][:strict].sum()))
        assert later.completed[0] >= strict
        sums["capped"] += p * Fraction(stop)
        sums["slowest"] += p * Fraction(end)
        sums["short"] += p * abs(Fraction(first) - Fraction(tau))
        paid = Fraction(stop) + Fraction(1, 2)
        ratio = (Fraction(end) + Fraction(1, 2)) / paid
        sums["both"] += p * ratio * Fraction(int(step.completed.sum()), workers)
        sums["ratio"] += p * ratio
        sums["paid"] += p * paid
    return sums


@pytest.mark.models(
    "dropcompute.completed.accounting",
    "dropcompute.completed.at_least",
    "dropcompute.completed.at_the_mean",
    "dropcompute.completed.exponential",
    "dropcompute.completed.new_better",
    "dropcompute.completed.new_worse",
    "dropcompute.completed.work",
)
@pytest.mark.parametrize("name", SMALL_LAWS)
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("tau", TAUS)
def test_completed_micro_batches_obey_the_conditions(name, count, tau):
    law = SMALL_LAWS[name]
    seen = expectations(law, 1, count, tau)
    mean = spread_of(law, 1)[0]
    assert seen["work"] == mean * seen["begun"]
    assert seen["completed"] == seen["begun"] - seen["late"]
    values = {
        "done": seen["completed"], "begun": seen["begun"], "late": seen["late"],
        "latency": mean, "capped": seen["worker"], "ending": seen["work"],
    }  # fmt: skip
    holds("completed.at_least", "at least 0", values)
    total, variance, *_ = spread_of(law, count)
    if total > 0:
        at_mean = expectations(law, 1, count, float(total))
        values = {
            "done": at_mean["completed"], "late": at_mean["late"], "latency": mean, "root": math.sqrt(count),
            "jitter": math.sqrt(variance / count), "deviation": at_mean["short"], "begun": at_mean["begun"],
            "ending": at_mean["work"], "capped": at_mean["worker"],
        }  # fmt: skip
        if float(total) == total:  # tau = M mu is a float
            holds("completed.at_the_mean", "some deviation", values)


@pytest.mark.models(
    "dropcompute.gain.at_the_mean",
    "dropcompute.gain.bounded",
    "dropcompute.gain.calibrated",
    "dropcompute.gain.degenerate",
    "dropcompute.gain.new_better",
    "dropcompute.gain.single",
    "dropcompute.gain.with_means",
)
@pytest.mark.parametrize("name", SMALL_LAWS)
@pytest.mark.parametrize(("workers", "count"), [(1, 2), (2, 2), (3, 1)])
@pytest.mark.parametrize("tau", TAUS)
def test_gains_obey_the_conditions(name, workers, count, tau):
    law = SMALL_LAWS[name]
    seen = expectations(law, workers, count, tau)
    values_of = [v for v, _ in law.atoms]
    values = {
        "M": count, "tau": tau, "overhead": Fraction(1, 2), "below": seen["completed"], "done": seen["completed"],
        "slowest": seen["slowest"], "capped": seen["capped"], "worker": seen["worker"], "both": seen["both"],
        "ratio": seen["ratio"], "paid": seen["paid"], "longest": max(values_of), "shortest": min(values_of),
        "latency": spread_of(law, 1)[0],
    }  # fmt: skip
    holds("gain.with_means", "tau is the smaller", values)
    holds("gain.calibrated", "long run", values)
    holds("gain.bounded", "cap", values)
    holds("gain.new_better", "ideal", values, apart=() if len(values_of) == 1 else ("completed at most",))


@pytest.mark.models("dropcompute.sgd.convex", "dropcompute.sgd.nonconvex")
@pytest.mark.parametrize("curvature", [1.0, 0.25])
@pytest.mark.parametrize("batch", range(4))
@pytest.mark.parametrize("gamma", [0.25, 1.0])
def test_sgd_obeys_the_conditions_of_a_step(curvature, batch, gamma):
    most, sigma, start = 3, 2.0, 1.5
    slope = curvature * start
    falls, noises = 0.0, []
    for signs in product((sigma, -sigma), repeat=most):
        draws = np.zeros((2, most, 1))
        draws[0, :, 0] = signs
        path = random_batch_sgd([start], lambda x: curvature * x, draws, [batch, 0], gamma)
        end = float(path[-1, 0])
        falls += curvature * (start**2 - end**2) / 2 / 2**most
        noises.append([sum(signs[:batch])])
        # additions of samples and six more roundings, of the step and of what is wanted; no number is larger
        allowed = (most + 6) * np.finfo(float).eps * (start + gamma * (slope + sigma))
        assert end == pytest.approx(start - gamma / most * (batch * slope + noises[-1][0]), rel=0.0, abs=allowed)
    values = {
        "stepsize": gamma, "largest_batch": most, "smoothness": 1.0, "noise": sigma, "batch": batch,
        "g": np.full((2**most, 1), slope), "z": np.full((2**most, 1), start), "noise_of_batch": np.array(noises),
        "falls": falls, "above": curvature * start**2 / 2, "fallen": 0.0, "used": 1.0, "sum": 0.0, "distance": start,
    }  # fmt: skip
    for claim, goals_met in (("nonconvex", ["step"]), ("convex", ["nearer", "step"])):
        found = met_by(f"dropcompute.sgd.{claim}", Run(values, 64))
        assert [name for name in found if name in goals_met] == goals_met
        for name in goals_met:
            seen_at(f"dropcompute.sgd.{claim}", name, values)
