"""Broken twins of the column dropcompute, each by one defect."""

from dataclasses import replace

import numpy as np

from commbounds.collectives import (
    StepLaw,
    backup_step,
    best_threshold,
    drop_gradient,
    drop_step,
    drop_trials,
    gaussian_maximum,
    local_sgd_period,
    random_batch_sgd,
    released_threshold,
)
from commbounds.verify import Method
from mutants.record import Mutant

EXACT, SEARCH, SAMPLE = Method.EXACT, Method.SEARCH, Method.SAMPLE


def step_max_of_micro_batches(t, tau, overhead=0.0, **options):
    """The maximum is taken over the wrong axis: over a worker's micro-batches, and summed over those."""
    step = drop_step(t, tau, overhead, **options)
    late = float(np.asarray(t, dtype=float).max(axis=1).sum())
    return replace(step, time=min(tau, late) + overhead, slowest=late + overhead)


def step_counts_ends_at_tau(t, tau, overhead=0.0, **options):
    """A micro-batch that ends exactly at tau counts."""
    return drop_step(t, tau, overhead, **{**options, "at_threshold": True})


def step_without_overhead(t, tau, overhead=0.0, **options):
    """The overhead is forgotten."""
    return drop_step(t, tau, 0.0, **options)


def step_overhead_per_micro_batch(t, tau, overhead=0.0, **options):
    """The overhead is paid for every micro-batch."""
    return drop_step(t, tau, overhead * np.shape(t)[1], **options)


def step_mean_worker(t, tau, overhead=0.0, **options):
    """A step takes as long as its mean worker, not its slowest."""
    step = drop_step(t, tau, overhead, **options)
    return replace(step, time=float(step.worker_times.mean()) + overhead)


def step_b_for_a(t, tau, overhead=0.0, **options):
    """Elapsed time is tested after each micro-batch where it should be tested all the time."""
    return drop_step(t, tau, overhead, **{**options, "preemption": "B", "at_threshold": False})


def step_a_for_b(t, tau, overhead=0.0, **options):
    """Elapsed time is tested all the time where it should be tested after each micro-batch."""
    return drop_step(t, tau, overhead, **{**options, "preemption": "A"})


def step_c_counts_a_half(t, tau, overhead=0.0, preemption="A", **options):
    """A micro-batch that is stopped between its halves counts."""
    if preemption != "C":
        return drop_step(t, tau, overhead, preemption=preemption, **options)
    step = drop_step(t, tau, overhead, preemption=preemption, **options)
    return replace(step, completed=np.minimum(step.completed + 1, np.shape(t)[1]))


def step_threshold_from_last_step(t, tau, overhead=0.0, **options):
    """The clock is not reset: the threshold has the overhead of the step before taken off."""
    return drop_step(t, max(tau - overhead, 0.25), overhead, **options)


def step_drops_whole_worker(t, tau, overhead=0.0, **options):
    """A worker that is late contributes nothing at all."""
    step = drop_step(t, tau, overhead, **options)
    full = step.completed == np.shape(t)[1]
    return replace(step, completed=np.where(full, step.completed, 0))


def step_b_one_more_in_all(t, tau, overhead=0.0, preemption="A", **options):
    """Tested after each micro-batch, one more than those in time counts for worker 0 alone."""
    step = drop_step(t, tau, overhead, preemption=preemption, **options)
    if preemption != "B":
        return step
    in_time = drop_step(t, tau, overhead, at_threshold=True)
    return replace(step, completed=np.concatenate([step.completed[:1], in_time.completed[1:]]))


def step_pays_for_stopping(t, tau, overhead=0.0, **options):
    """A step that is stopped costs two overheads more."""
    step = drop_step(t, tau, overhead, **options)
    return replace(step, time=step.time + 2 * overhead * (step.slowest > step.time))


def step_of_waits(t, tau, overhead=0.0, **options):
    """All workers wait for one another after every micro-batch."""
    step = drop_step(t, tau, overhead, **options)
    return replace(step, time=min(tau, float(np.asarray(t, dtype=float).max(axis=0).sum())) + overhead)


def trials_share_their_seed(law, N, M, tau, overhead=0.0, *, trials, seed, first=0, **options):
    """Every trial has the latencies of trial 0."""
    one = drop_trials(law, N, M, tau, overhead, trials=1, seed=seed, **options)
    return replace(one, **{name: np.repeat(getattr(one, name), trials) for name in ("time", "slowest", "completed")})


def trials_by_place(law, N, M, tau, overhead=0.0, *, trials, seed, first=0, **options):
    """A trial is numbered from the first of its call."""
    return drop_trials(law, N, M, tau, overhead, trials=trials, seed=seed, first=0, **options)


def trials_of_fewer_workers(law, N, M, tau, overhead=0.0, **options):
    """One worker is left out."""
    found = drop_trials(law, max(N - 1, 1), M, tau, overhead, **options)
    return replace(found, completed=found.completed + found.completed // max(N - 1, 1))


def trials_workers_move_together(law, N, M, tau, overhead=0.0, **options):
    """All workers of a step have the same latencies."""
    one = drop_trials(law, 1, M, tau, overhead, **options)
    return replace(one, completed=one.completed * N)


def trials_miss_one(law, N, M, tau, overhead=0.0, **options):
    """Where anything is dropped, one micro-batch more is."""
    found = drop_trials(law, N, M, tau, overhead, **options)
    return replace(found, completed=found.completed - (found.completed < N * M))


def trials_five_per_cent_fast(law, N, M, tau, overhead=0.0, **options):
    """Every step takes 5 % less time than it does."""
    found = drop_trials(law, N, M, tau, overhead, **options)
    return replace(found, time=0.95 * found.time)


def trials_lose_one_in_twenty(law, N, M, tau, overhead=0.0, **options):
    """Of every twenty micro-batches that count one is lost."""
    found = drop_trials(law, N, M, tau, overhead, **options)
    return replace(found, completed=found.completed - found.completed // 20)


def threshold_on_a_grid(steps, overhead=0.0, **options):
    """Ten evenly spaced thresholds are tried in place of the elapsed times."""
    sums = np.cumsum(steps, axis=2)
    slowest = sums[:, :, -1].max(axis=1)
    found = best_threshold(steps, overhead)

    def gain(tau):
        share = (sums <= tau).mean(axis=(1, 2))
        return float((share * (slowest + overhead) / (np.minimum(tau, slowest) + overhead)).mean())

    tau = max(np.linspace(sums.max() / 10, sums.max(), 10), key=gain)
    return replace(found, tau=float(tau), gain=gain(tau))


def threshold_of_the_mean_worker(steps, overhead=0.0, **options):
    """The threshold is the mean time of a worker."""
    sums = np.cumsum(steps, axis=2)
    return replace(best_threshold(steps, overhead), tau=float(sums[:, :, -1].mean()) or 1.0)


def threshold_of_own_latencies(steps, overhead=0.0, **options):
    """Every worker takes its own latencies, which it lists first, for everybody's."""
    return best_threshold(np.asarray(steps)[:, :1], overhead)


def released_with_mean_time(steps, overhead=0.0):
    """The search reports what the model gains with a step as long as its mean worker's."""
    found = released_threshold(steps, overhead)
    return replace(found, gain=found.gain * float(np.mean(steps) / np.max(steps)))


def backup_waits_for_one_fewer(t, spare, overhead=0.0):
    """It waits for one worker less than it should."""
    return backup_step(t, min(spare + 1, len(t) - 1), overhead)


def local_sgd_meets_every_step(steps, overhead=0.0):
    """Workers meet after every local step, and pay the overhead each time."""
    return float(sum(local_sgd_period(step[None], overhead) for step in np.asarray(steps, dtype=float)))


def gradient_always_by_computed(gradients, completed, normalisation="fixed"):
    """The fixed divisor is replaced by what was computed."""
    return drop_gradient(gradients, completed, "computed" if normalisation == "fixed" else normalisation)


def gradient_always_by_all(gradients, completed, normalisation="fixed"):
    """Everything is divided by N M."""
    return drop_gradient(gradients, completed, "fixed")


def gradient_of_whole_workers(gradients, completed, normalisation="fixed"):
    """The mean of the workers is over those that computed something."""
    g = drop_gradient(gradients, completed, normalisation)
    return g * len(completed) / max(1, np.count_nonzero(completed)) if normalisation == "worker" else g


def sgd_divides_by_the_batch(start, gradient, noise, batches, learning_rate):
    """Every step is divided by its own batch, so that a small batch takes a full step on its noise."""
    B, x, visited = np.shape(noise)[1], np.array(start, dtype=float), []
    for samples, count in zip(np.asarray(noise, dtype=float), batches, strict=True):
        visited.append(x)
        if count:
            x = x - learning_rate * B * (gradient(x) + samples[:count].mean(axis=0))
    return np.array(visited)


def sgd_never_moves(start, gradient, noise, batches, learning_rate):
    """The step size is lost: it is divided by the batch twice too often."""
    return random_batch_sgd(start, gradient, noise, batches, learning_rate / np.shape(noise)[1] / 1024)


def sgd_steps_four_times(start, gradient, noise, batches, learning_rate):
    """Steps are four times too large."""
    return random_batch_sgd(start, gradient, noise, batches, 4 * learning_rate)


def sgd_steps_a_quarter_larger(start, gradient, noise, batches, learning_rate):
    """Steps are a quarter too large."""
    return random_batch_sgd(start, gradient, noise, batches, 1.25 * learning_rate)


def sgd_half_steps(start, gradient, noise, batches, learning_rate):
    """Steps are half as large as they should be."""
    return random_batch_sgd(start, gradient, noise, batches, learning_rate / 2)


def sgd_for_linear_gradients(start, gradient, noise, batches, learning_rate):
    """The gradient is taken at twice the point and halved, which is the same on quadratics about zero."""
    return random_batch_sgd(start, lambda x: gradient(2 * x) / 2, noise, batches, learning_rate)


def maximum_of_one_more(N):
    """The largest of N + 1 in place of N."""
    return gaussian_maximum(N + 1)


class LawOfSumsOfMaxima(StepLaw):
    """The slowest worker of every micro-batch is waited for."""

    def mean_time(self):
        return self.M * StepLaw(self.law, self.N, 1).mean_time()


class LawWithJensen(StepLaw):
    """A step is charged a thousandth more than min(tau, E[T]), which is more than E[min(tau, T)] where T is steady."""

    def mean_time(self):
        return StepLaw(self.law, self.N, self.M).mean_time()

    def capped(self, tau):
        return np.minimum(tau, self.mean_time()) * 1.001


class LawCountsStarts(StepLaw):
    """Micro-batches count when they begin before tau."""

    def completed(self, tau):
        return np.minimum(super().completed(tau) + 1, self.M)


def ties_go_to_the_last(latencies, spare, overhead=0.0):
    """Of equally fast workers those of higher rank are waited for."""
    step = backup_step(np.asarray(latencies)[::-1], spare, overhead)
    return replace(step, completed=step.completed[::-1].copy(), worker_times=step.worker_times[::-1].copy())


def forward_of_a_half_takes_none(latencies, tau, overhead=0.0, *, forward=1 / 3, **options):
    """A forward that takes half of a micro-batch takes no time."""
    return drop_step(latencies, tau, overhead, forward=0.0 if forward == 0.5 else forward, **options)


def forward_takes_three_tenths(latencies, tau, overhead=0.0, *, forward=0.3, **options):
    """Where nothing is said, a forward takes three tenths of a micro-batch."""
    return drop_step(latencies, tau, overhead, forward=forward, **options)


MUTANTS = (
    Mutant(step_max_of_micro_batches, "drop_step", "dropcompute.step.time", EXACT),
    Mutant(step_counts_ends_at_tau, "drop_step", "dropcompute.step.completed", EXACT),
    Mutant(step_without_overhead, "drop_step", "dropcompute.step.time", EXACT),
    Mutant(step_overhead_per_micro_batch, "drop_step", "dropcompute.step.time", SEARCH),
    Mutant(step_mean_worker, "drop_step", "dropcompute.step.time", EXACT),
    Mutant(step_b_for_a, "drop_step", "dropcompute.completed.at_most", EXACT),
    Mutant(step_a_for_b, "drop_step", "dropcompute.completed.work", EXACT),
    Mutant(step_c_counts_a_half, "drop_step", "dropcompute.step.between_at_most", EXACT),
    Mutant(step_threshold_from_last_step, "drop_step", "dropcompute.step.time", SEARCH),
    Mutant(step_drops_whole_worker, "drop_step", "dropcompute.completed.exact", EXACT),
    Mutant(step_b_one_more_in_all, "drop_step", "dropcompute.step.after_backward", EXACT),
    Mutant(step_pays_for_stopping, "drop_step", "dropcompute.time.variance", EXACT),
    Mutant(step_of_waits, "drop_step", "dropcompute.time.dependent", EXACT),
    Mutant(trials_share_their_seed, "drop_trials", "dropcompute.trials.time", SAMPLE),
    Mutant(trials_by_place, "drop_trials", "dropcompute.trials.alone", SEARCH),
    Mutant(trials_of_fewer_workers, "drop_trials", "dropcompute.trials.time", SAMPLE),
    Mutant(trials_workers_move_together, "drop_trials", "dropcompute.trials.time", SAMPLE),
    Mutant(trials_miss_one, "drop_trials", "dropcompute.trials.completed", SAMPLE),
    Mutant(trials_five_per_cent_fast, "drop_trials", "dropcompute.trials.time", SAMPLE),
    Mutant(trials_lose_one_in_twenty, "drop_trials", "dropcompute.trials.completed", SAMPLE),
    Mutant(threshold_on_a_grid, "best_threshold", "dropcompute.threshold.optimal", EXACT),
    Mutant(threshold_of_the_mean_worker, "best_threshold", "dropcompute.threshold.never_loses", EXACT),
    Mutant(threshold_of_own_latencies, "best_threshold", "dropcompute.threshold.agreement", EXACT),
    Mutant(released_with_mean_time, "released_threshold", "dropcompute.released.optimistic", SEARCH),
    Mutant(backup_waits_for_one_fewer, "backup_step", "dropcompute.backup.dominated", EXACT),
    Mutant(local_sgd_meets_every_step, "local_sgd_period", "dropcompute.localsgd.subadditive", EXACT),
    Mutant(gradient_always_by_computed, "drop_gradient", "dropcompute.gradient.fixed", EXACT),
    Mutant(gradient_always_by_all, "drop_gradient", "dropcompute.gradient.computed", EXACT),
    Mutant(gradient_of_whole_workers, "drop_gradient", "dropcompute.gradient.worker", EXACT),
    Mutant(sgd_divides_by_the_batch, "random_batch_sgd", "dropcompute.sgd.convex", EXACT),
    Mutant(sgd_never_moves, "random_batch_sgd", "dropcompute.sgd.nonconvex_tuned", SEARCH),
    Mutant(sgd_steps_four_times, "random_batch_sgd", "dropcompute.sgd.nonconvex", EXACT),
    Mutant(sgd_steps_a_quarter_larger, "random_batch_sgd", "dropcompute.sgd.convex", EXACT),
    Mutant(sgd_half_steps, "random_batch_sgd", "dropcompute.sgd.convex_tuned", SEARCH),
    Mutant(sgd_for_linear_gradients, "random_batch_sgd", "dropcompute.sgd.nonconvex", EXACT),
    Mutant(maximum_of_one_more, "gaussian_maximum", "dropcompute.maximum.harmonic", SEARCH),
    Mutant(LawOfSumsOfMaxima, "StepLaw", "dropcompute.time.increasing_rate", SEARCH),
    Mutant(LawWithJensen, "StepLaw", "dropcompute.gain.with_means", SEARCH),
    Mutant(LawCountsStarts, "StepLaw", "dropcompute.completed.exponential", SEARCH),
    Mutant(ties_go_to_the_last, "backup_step", "dropcompute.backup_step.definition", SEARCH),
    Mutant(forward_of_a_half_takes_none, "drop_step", "dropcompute.drop_step.definition", SEARCH),
    Mutant(forward_takes_three_tenths, "drop_step", "dropcompute.drop_step.definition", SEARCH),
)
