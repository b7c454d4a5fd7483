"""Broken twins of the column moshpit, each by one defect."""

from dataclasses import replace

import numpy as np

from commbounds.collectives import (
    grid_average,
    group_average,
    group_trials,
    moshpit,
    moshpit_sgd,
    random_groups,
    regrouping,
)
from commbounds.verify import Method
from mutants.record import Mutant


def key_of_d_digits(stack, keys, M, rounds, rng=None, **options):
    """Keys keep d chunk indices, one too many: at first every peer is alone."""
    longer = np.column_stack((keys, np.arange(len(keys)) % M))
    if isinstance(options["slots"], np.ndarray):
        options["slots"] = "rank"
    (result, longer), traffic = moshpit(stack, longer, M, rounds, rng, **options)
    return (result, longer[:, 1:]), traffic


def newest_digit_replaced(stack, keys, M, rounds, rng=None, *, slots="sample", **options):
    """A new chunk index takes the place of the newest digit, not of the oldest."""
    state, traffic, given = (np.asarray(stack), keys), None, slots if isinstance(slots, str) else "rank"
    for _ in range(rounds):
        (result, renewed), traffic = moshpit(*state, M, 1, rng, slots=given, **options)
        state = result, np.column_stack((state[1][:, :-1], renewed[:, -1:])) if keys.shape[1] else keys
    return state, traffic


def one_index_for_all(stack, keys, M, rounds, rng=None, *, slots="sample", **options):
    """All members of a group get chunk index 0."""
    state, traffic = (np.asarray(stack), keys), None
    for _ in range(rounds):
        (result, renewed), traffic = moshpit(*state, M, 1, slots="rank", **options)
        state = result, np.column_stack((renewed[:, :-1], 0 * renewed[:, -1:])) if keys.shape[1] else keys
    return state, traffic


def keys_never_renewed(stack, keys, M, rounds, rng=None, **options):
    """Peers keep their keys, and meet the same peers again."""
    result = stack
    for t in range(rounds):
        given = options["slots"] if isinstance(options["slots"], str) else options["slots"][t : t + 1]
        (result, _), _ = moshpit(result, keys, M, 1, rng, slots=given)
    return (result, keys), None


def own_chunk_sent(stack, keys, M, rounds, rng=None, **options):
    """Members are charged for the chunk that they keep."""
    state, traffic = moshpit(stack, keys, M, rounds, rng, **options)
    return state, replace(traffic, sent=traffic.sent + rounds * (np.shape(stack)[1] // M))


def divides_by_one_more(stack, groups, **options):
    """A group's sum is divided by one more than its members."""
    result, traffic = group_average(stack, groups, **options)
    labels = np.asarray(groups)
    sizes = np.array([np.count_nonzero(labels == g) for g in labels])
    averaged = (labels >= 0) & (sizes > 1)
    result[averaged] *= (sizes / (sizes + 1))[averaged, None]
    return result, traffic


def nobody_averages(stack, groups, **options):
    """Peers keep their vectors."""
    return np.array(stack), group_average(stack, groups, **options)[1]


def last_chunk_stays(stack, groups, **options):
    """The last member's chunk is not averaged."""
    result, traffic = group_average(stack, groups, **options)
    labels, n = np.asarray(groups), result.shape[1]
    for g in set(labels[labels >= 0].tolist()):
        size = np.count_nonzero(labels == g)
        result[labels == g, (size - 1) * n // size :] = np.asarray(stack)[labels == g, (size - 1) * n // size :]
    return result, traffic


def absent_members_listen(stack, cells, M, rounds, *, alive=None, **options):
    """A peer that fails gets its line's average all the same."""
    result = np.asarray(stack)
    for t in range(rounds):
        there = np.ones(len(cells), bool) if alive is None else alive[t]
        lines = np.delete(cells, t % cells.shape[1], axis=1) @ M ** np.arange(cells.shape[1] - 1)
        given = result
        result = np.array(
            [given[(lines == line) & there].mean(axis=0) if ((lines == line) & there).any() else given[i]
             for i, line in enumerate(lines)]
        )  # fmt: skip
    return result, None


def one_axis_only(stack, cells, M, rounds, *, alive=None, **options):
    """The grid is averaged along its first axis in every round."""
    result = stack
    for t in range(rounds):
        result, traffic = grid_average(result, cells, M, 1, alive=None if alive is None else alive[t : t + 1])
    return result, traffic


def a_line_of_larger_grids_is_left_out(stack, cells, M, rounds, *, alive=None, **options):
    """On grids of side three and more, one line of the second axis does not average."""
    there = np.ones((rounds, len(cells)), bool) if alive is None else np.array(alive)
    if M > 2 and rounds > 1:
        there[1] &= cells[:, 0] > 0
    return grid_average(stack, cells, M, rounds, alive=there, **options)


def one_round_in_ten_is_lost(stack, r, rounds=1, rng=None, *, choices=None, **options):
    """Where groups are drawn, one round in ten does nothing."""
    lost = choices is None and rng.random() < 0.1
    return random_groups(stack, r, 0 if lost else rounds, rng, choices=choices, **options)


def groups_with_replacement(stack, r, rounds=1, rng=None, *, reading="cut", choices=None, **options):
    """Peers are drawn into groups with replacement."""
    if choices is None or reading != "cut":
        return random_groups(stack, r, rounds, rng, reading=reading, choices=choices, **options)
    drawn = [[(7 * c + i) % len(stack) for i, c in enumerate(chosen)] for chosen in choices]
    return random_groups(stack, r, rounds, rng, reading="slots", choices=drawn, **options)


def groups_drawn_once(stack, r, rounds=1, rng=None, *, choices=None, **options):
    """The groups of the first round are used in all rounds."""
    return random_groups(stack, r, rounds, rng, choices=[choices[0]] * rounds, **options)


def peers_stay_put(stack, r, rounds=1, rng=None, *, choices=None, **options):
    """The permutation's first peer is never moved."""
    if options.get("reading", "cut") == "cut" and choices is not None:
        choices = [(0, *chosen[1:]) for chosen in choices]
    return random_groups(stack, r, rounds, rng, choices=choices, **options)


def deaf_peers_hear(stack, r, rounds=1, rng=None, *, receives=None, **options):
    """Peers that should not get the result get it."""
    return random_groups(stack, r, rounds, rng, **options)


def leftovers_sit_out(stack, M, rounds=1, rng=None, *, orders=None, alive=None):
    """Peers that make no whole group are left out."""
    shorter = np.array(alive)
    orders = [list(order)[: len(order) // M * M] for order in orders]
    for t, order in enumerate(orders):
        shorter[t] = np.isin(np.arange(len(stack)), order)
    return regrouping(stack, M, rounds, rng, orders=orders, alive=shorter)


def seed_shared_by_trials(stack, kind, M, rounds, trials, seed, **options):
    """All trials draw the same random numbers."""
    return np.repeat(group_trials(stack, kind, M, rounds, 1, seed, **options), trials, axis=0)


def trials_abort(stack, kind, M, rounds, trials, seed, **options):
    """Groups with a failed member do nothing, where they should go on."""
    return group_trials(stack, kind, M, rounds, trials, seed, rule="abort", **options)


def averages_before_the_step(points, gradient, gamma, noise, period=1, groups=()):
    """Peers average before the local step instead of after it."""
    for rounds in groups:
        for labels in rounds:
            points, _ = group_average(points, labels)
    return moshpit_sgd(points, gradient, gamma, noise, len(noise) + 1)


def noise_shared_by_peers(points, gradient, gamma, noise, period=1, groups=()):
    """All peers see the first peer's noise."""
    return moshpit_sgd(points, gradient, gamma, np.repeat(noise[:, :1], noise.shape[1], axis=1), period, groups)


def step_four_times_too_long(points, gradient, gamma, noise, period=1, groups=()):
    """Steps are four times as long as they should be."""
    return moshpit_sgd(points, gradient, 4 * gamma, noise, period, groups)


def step_eight_times_too_long(points, gradient, gamma, noise, period=1, groups=()):
    """Steps are eight times as long as they should be."""
    return moshpit_sgd(points, gradient, 8 * gamma, noise, period, groups)


def step_a_quarter_longer(points, gradient, gamma, noise, period=1, groups=()):
    """Steps are a quarter longer than they should be."""
    return moshpit_sgd(points, gradient, 1.25 * gamma, noise, period, groups)


def step_four_times_too_short(points, gradient, gamma, noise, period=1, groups=()):
    """Steps are a quarter as long as they should be."""
    return moshpit_sgd(points, gradient, gamma / 4, noise, period, groups)


def half_steps(points, gradient, gamma, noise, period=1, groups=()):
    """Steps are half as long as they should be."""
    return moshpit_sgd(points, gradient, gamma / 2, noise, period, groups)


def steps_half_as_long_again(points, gradient, gamma, noise, period=1, groups=()):
    """Steps are half as long again as they should be."""
    return moshpit_sgd(points, gradient, 1.5 * gamma, noise, period, groups)


def long_runs_start_one_axis_on(stack, cells, M, rounds, *, start=0, **options):
    """Runs of four rounds and more begin with the next axis."""
    if rounds < 4 or np.shape(cells)[1] < 3:
        return grid_average(stack, cells, M, rounds, start=start, **options)
    return grid_average(stack, cells, M, rounds, start=start + 1, **options)


def periods_of_four_average_once(points, gradient, gamma, noise, period=1, groups=()):
    """Where the period is four, nobody is in a group from the second average on."""
    if period == 4:
        groups = [labels if i == 0 else [np.full(len(points), -1)] * len(labels) for i, labels in enumerate(groups)]
    return moshpit_sgd(points, gradient, gamma, noise, period, groups)


def average_of_six_is_another(stack, groups, **options):
    """Where six peers are, the last entry is a bit larger."""
    result, traffic = group_average(stack, groups, **options)
    if len(result) == 6:
        result[:, -1] = np.nextafter(result[:, -1], np.inf, dtype=result.dtype)
    return result, traffic


MUTANTS = (
    Mutant(key_of_d_digits, "moshpit", "moshpit.grid.exact", Method.EXACT),
    Mutant(newest_digit_replaced, "moshpit", "moshpit.grid.exact", Method.EXACT),
    Mutant(one_index_for_all, "moshpit", "moshpit.grid.factor", Method.EXACT),
    Mutant(keys_never_renewed, "moshpit", "moshpit.grid.no_repeats", Method.EXACT),
    Mutant(own_chunk_sent, "moshpit", "moshpit.traffic.equal_chunks", Method.EXACT),
    Mutant(divides_by_one_more, "group_average", "moshpit.mean.preserved", Method.EXACT),
    Mutant(nobody_averages, "group_average", "moshpit.mean.of_group", Method.EXACT),
    Mutant(last_chunk_stays, "group_average", "moshpit.mean.of_group", Method.EXACT),
    Mutant(absent_members_listen, "grid_average", "moshpit.grid.failures", Method.EXACT),
    Mutant(one_axis_only, "grid_average", "moshpit.grid.partial", Method.EXACT),
    Mutant(a_line_of_larger_grids_is_left_out, "grid_average", "moshpit.grid.failures", Method.SAMPLE),
    Mutant(one_round_in_ten_is_lost, "random_groups", "moshpit.random_groups.factor", Method.SAMPLE),
    Mutant(groups_with_replacement, "random_groups", "moshpit.random_groups.factor", Method.EXACT),
    Mutant(groups_drawn_once, "random_groups", "moshpit.random_groups.factor", Method.EXACT),
    Mutant(peers_stay_put, "random_groups", "moshpit.random_groups.factor", Method.EXACT),
    Mutant(deaf_peers_hear, "random_groups", "moshpit.mean.one_way", Method.EXACT),
    Mutant(leftovers_sit_out, "regrouping", "moshpit.random_groups.regrouping", Method.EXACT),
    Mutant(seed_shared_by_trials, "group_trials", "moshpit.trials.random", Method.SAMPLE),
    Mutant(trials_abort, "group_trials", "moshpit.trials.fixed", Method.SAMPLE),
    Mutant(averages_before_the_step, "moshpit_sgd", "moshpit.sgd.spread", Method.EXACT),
    Mutant(noise_shared_by_peers, "moshpit_sgd", "moshpit.sgd.mean_square", Method.EXACT),
    Mutant(step_four_times_too_long, "moshpit_sgd", "moshpit.sgd.convex", Method.SAMPLE),
    Mutant(step_eight_times_too_long, "moshpit_sgd", "moshpit.sgd.strongly_convex", Method.SAMPLE),
    Mutant(step_a_quarter_longer, "moshpit_sgd", "moshpit.sgd.departures", Method.EXACT),
    Mutant(step_four_times_too_short, "moshpit_sgd", "moshpit.sgd.nonconvex", Method.SEARCH),
    Mutant(half_steps, "moshpit_sgd", "moshpit.sgd.convex_noiseless", Method.EXACT),
    Mutant(steps_half_as_long_again, "moshpit_sgd", "moshpit.sgd.nonconvex_noiseless", Method.SEARCH),
    Mutant(long_runs_start_one_axis_on, "grid_average", "moshpit.grid_average.definition", Method.SEARCH),
    Mutant(periods_of_four_average_once, "moshpit_sgd", "moshpit.moshpit_sgd.definition", Method.SEARCH),
    Mutant(average_of_six_is_another, "group_average", "moshpit.group_average.definition", Method.SEARCH),
)
