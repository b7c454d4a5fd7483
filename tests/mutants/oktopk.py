"""Broken twins of the column oktopk, each by one defect."""

from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module

import numpy as np
from zoo.right import sparse

from commbounds.collectives import OkTopkSGD, Traffic, oktopk_allreduce
from commbounds.collectives.dense.gathering import gathered_blocks
from commbounds.verify import Method
from mutants.record import Mutant

OKTOPK, REGIONS, SPLIT, WINNERS = (
    import_module(f"commbounds.collectives.oktopk.{name}") for name in ("allreduce", "regions", "split", "winners")
)
allreduce, boundaries = OKTOPK.oktopk_allreduce, REGIONS.oktopk_boundaries


@contextmanager
def using(module, **stand_ins):
    """The module with some of its functions replaced."""
    kept = {name: getattr(module, name) for name in stand_ins}
    try:
        for name, function in stand_ins.items():
            setattr(module, name, function)
        yield
    finally:
        for name, function in kept.items():
            setattr(module, name, function)


def with_phase(returned, name, change):
    """What the collective returned, with one phase of the traffic changed."""
    result, state, traffic = returned
    return result, state, Traffic.of_phases({**traffic.phases, name: change(traffic.phases[name])})


def more(traffic, sent, received, messages):
    """The traffic with so much more."""
    return Traffic(
        traffic.sent + sent,
        traffic.received + received,
        traffic.messages + messages,
        traffic.steps,
        traffic.critical_path,
    )


# --- thresholds --------------------------------------------------------------------------------------------------


def greater_for_at_least(acc, k, state=None, **options):
    """Selects what is larger than the threshold, also where equality should pass."""
    return allreduce(acc, k, state, **{**options, "threshold": "strict"})


def stale_threshold_for_a_fresh_one(acc, k, state=None, **options):
    """Keeps its thresholds in iterations that should find them anew."""
    tau_prime = (1 << 31) - 1 if state is not None and state.t else 32
    return allreduce(acc, k, state, **{**options, "tau_prime": tau_prime})


def zeros_selected(acc, k, state=None, **options):
    """Lets zeros pass a threshold of zero."""

    def passing(stack, keys, room):
        chosen = kept_passing(stack, keys, room)
        if len(stack) == 1:
            return chosen
        rows = [np.flatnonzero(np.abs(row) >= key) for row, key in zip(stack, keys.view(stack.dtype), strict=True)]
        for p in np.flatnonzero(thresholds(stack) == 0):
            rows[p] = np.arange(stack.shape[1])
        return filled(chosen, stack, rows)

    def thresholds(stack):
        return np.sort(np.abs(stack), axis=1)[:, -k]

    kept_passing = OKTOPK.passing
    with using(OKTOPK, passing=passing):
        return allreduce(acc, k, state, **options)


def filled(chosen, stack, rows):
    """`chosen` with these indices instead."""
    width = max(map(len, rows))
    indices, values = np.zeros((len(rows), width), np.int32), np.zeros((len(rows), width), stack.dtype)
    for p, row in enumerate(rows):
        indices[p, : row.size], values[p, : row.size] = row, stack[p, row]
    return replace(chosen, indices=indices, values=values, counts=np.array([row.size for row in rows], np.int64))


def a_local_threshold_for_the_sums(acc, k, state=None, **options):
    """Compares the sums with the first rank's threshold."""
    first = []

    def kth_largest(vector, k):
        first.append(kept(vector, k))
        return first[0]

    kept = OKTOPK._kth_largest
    with using(OKTOPK, _kth_largest=kth_largest):
        return allreduce(acc, k, state, **options)


def means_against_the_threshold(acc, k, state=None, **options):
    """Compares means, not sums, with the global threshold."""

    def passing(stack, keys, room):
        alone = len(stack) == 1 and P > 1
        if not alone:
            return kept(stack, keys, room)
        chosen = kept((stack / P).astype(stack.dtype), keys, room)
        # beyond what passed, indices are not set
        return replace(chosen, values=np.take(stack[0], chosen.indices, mode="clip"))

    P, kept = len(acc), OKTOPK.passing
    with using(OKTOPK, passing=passing):
        return allreduce(acc, k, state, **options)


def one_in_eight_selected(acc, k, state=None, **options):
    """Selects an eighth of what passes a reused threshold."""

    def passing(stack, keys, room):
        chosen = kept(stack, keys, room)
        if fresh or len(stack) == 1:
            return chosen
        return filled(chosen, stack, [row[::8] for row in chosen.rows()])

    fresh, kept = state is None or state.t % options.get("tau_prime", 32) == 0, OKTOPK.passing
    with using(OKTOPK, passing=passing):
        return allreduce(acc, k, state, **options)


# --- regions -----------------------------------------------------------------------------------------------------


def boundaries_summed_in_32_bits(selected, n, rule="mean-of-quantiles", **options):
    """Adds the proposed boundaries in 32 bits."""

    def summed(numbers, allgather):
        sums, traffic = kept(numbers, allgather)
        return sums.astype(np.int32).astype(np.int64), traffic

    kept = REGIONS._summed_at_owners
    with using(REGIONS, _summed_at_owners=summed):
        return boundaries(selected, n, rule, **options)


def indices_shipped_as_float32(selected, n, rule="mean-of-quantiles", **options):
    """Ships indices as float32, which are exact up to 2^24 only."""

    def summed(numbers, allgather):
        return kept(numbers.astype(np.float32).astype(np.int64), allgather)

    kept = REGIONS._summed_at_owners
    with using(REGIONS, _summed_at_owners=summed):
        return boundaries(selected, n, rule, **options)


def boundaries_from_the_first_rank(selected, n, rule="mean-of-quantiles", **options):
    """Takes the first rank's quantiles for everybody's."""
    return boundaries([selected[0]] * len(selected), n, rule, **options)


def boundaries_rounded_up(selected, n, rule="mean-of-quantiles", **options):
    """Rounds the mean of the proposals up."""

    def summed(numbers, allgather):
        sums, traffic = kept(numbers, allgather)
        return sums + len(numbers) - 1, traffic

    kept = REGIONS._summed_at_owners
    with using(REGIONS, _summed_at_owners=summed):
        return boundaries(selected, n, rule, **options)


# --- split and reduce --------------------------------------------------------------------------------------------


def splitting(change):
    """A collective whose split gets what `change` makes of the selected entries and the boundaries."""

    def twin(acc, k, state=None, **options):
        def split(chosen, cuts, *rest):
            rows = [change(p, row, cuts) for p, row in enumerate(chosen.rows())]
            return kept(filled(chosen, np.asarray(acc), rows), cuts, *rest)

        kept = OKTOPK.split_and_reduce
        with using(OKTOPK, split_and_reduce=split):
            return allreduce(acc, k, state, **options)

    return twin


def lost_remainder_chunk(acc, k, state=None, **options):
    """Sends P equal chunks of what a rank selected, and loses the remainder."""
    P = len(acc)
    return splitting(lambda p, row, cuts: row[: row.size // P * P])(acc, k, state, **options)


def region_boundary_off_by_one(acc, k, state=None, **options):
    """Begins every region but the first one entry late, so that nobody adds that entry."""
    return splitting(lambda p, row, cuts: row[~np.isin(row, cuts[1:-1])])(acc, k, state, **options)


def own_entries_not_added(acc, k, state=None, **options):
    """An owner adds what it receives, and forgets its own entries."""
    return splitting(lambda p, row, cuts: row[(row < cuts[p]) | (row >= cuts[p + 1])])(acc, k, state, **options)


def mean_for_a_sum(acc, k, state=None, **options):
    """Returns the mean over the ranks."""
    result, after, traffic = allreduce(acc, k, state, **options)
    return replace(result, update=result.update / result.update.dtype.type(len(acc))), after, traffic


def missing_rotation(acc, k, state=None, **options):
    """All ranks send to the same one in every step."""
    return allreduce(acc, k, state, **{**options, "rotation": False})


def first_message_counted_twice(acc, k, state=None, **options):
    """Counts the first step of the split twice for the first rank."""

    def split_traffic(cuts, rotation, bucket):
        traffic = kept(cuts, rotation, bucket)
        P = len(cuts)
        first, second = np.arange(P) == 0, np.arange(P) == 1 % P
        words = 2 * (cuts[0, 2] - cuts[0, 1]) if P > 1 else 0
        return more(traffic, words * first, words * second, np.zeros(P, np.int64))

    kept = SPLIT.split_traffic
    with using(SPLIT, split_traffic=split_traffic):
        return allreduce(acc, k, state, **options)


def own_entries_counted(acc, k, state=None, **options):
    """Counts entries that stay where they are."""
    returned = allreduce(acc, k, state, **options)
    own = 2 * np.diag(returned[0].region_counts)
    return with_phase(returned, "split", lambda traffic: more(traffic, own, own, 0 * own))


def empty_messages_not_counted(acc, k, state=None, **options):
    """Does not count messages without words, though somebody waits for them."""
    returned = allreduce(acc, k, state, **options)
    counts = returned[0].region_counts
    empty = (counts == 0).sum(axis=1) - (np.diag(counts) == 0)
    return with_phase(returned, "split", lambda traffic: more(traffic, 0 * empty, 0 * empty, -empty))


# --- sizes, balance, all-gather ----------------------------------------------------------------------------------


def sizes_not_counted(acc, k, state=None, **options):
    """Leaves out of the count that the ranks tell one another how many winners they have."""
    return with_phase(allreduce(acc, k, state, **options), "sizes", lambda traffic: Traffic.none(len(acc)))


def first_shares_one_too_large(acc, k, state=None, **options):
    """Rounds the shares up until nothing is left, so that the last ranks get too little."""

    def balanced(winners):
        P, total = winners.size, int(winners.sum())
        ends = np.minimum(np.arange(P + 1) * -(-total // P), total)
        _, traffic = kept(winners)
        return np.diff(ends), traffic

    kept = WINNERS.balanced
    with using(WINNERS, balanced=balanced):
        return allreduce(acc, k, state, **options)


def never_balanced(acc, k, state=None, **options):
    """Leaves the winners where they are, though they should be balanced."""
    return allreduce(acc, k, state, **{**options, "balance": "never"})


def four_times_the_mean_ignored(acc, k, state=None, **options):
    """Balances never where it should above four times the mean."""
    rule = options.get("balance", "always")
    return allreduce(acc, k, state, **{**options, "balance": "never" if rule == "4x-mean" else rule})


def a_round_more(acc, k, state=None, **options):
    """Takes one round of messages more in the all-gather than there are distances."""

    def longer(traffic):
        return Traffic(traffic.sent, traffic.received, traffic.messages, traffic.steps + 1, traffic.critical_path)

    return with_phase(allreduce(acc, k, state, **options), "allgather", longer)


def balancing_all_winners(acc, k, state=None, **options):
    """Sends in the balancing also what a rank keeps."""
    returned = allreduce(acc, k, state, **options)
    winners = returned[0].winners
    moved = returned[2].phases["balance"]
    words = 2 * winners - moved.sent
    return with_phase(returned, "balance", lambda traffic: more(traffic, words, words, 0 * words))


def sums_without_indices(acc, k, state=None, **options):
    """Counts one word for an entry of the gathered sums, as if indices travelled for nothing."""

    def gathered(sizes, algorithm):
        return kept(tuple(size // 2 for size in sizes), algorithm)

    kept = gathered_blocks
    with using(OKTOPK, gathered_blocks=gathered):
        return allreduce(acc, k, state, **options)


def ranks_beyond_a_power_of_two_left_out(acc, k, state=None, **options):
    """Gathers among the first 2^m ranks only."""

    def gathered(sizes, algorithm):
        among = 1 << (len(sizes).bit_length() - 1)
        return kept((*sizes[:among], *[0] * len(sizes[among:])), algorithm)

    kept = gathered_blocks
    with using(OKTOPK, gathered_blocks=gathered):
        return allreduce(acc, k, state, **options)


# --- what is selected, and the residuals --------------------------------------------------------------------------


def returning(change):
    """A collective that returns what `change` makes of the indices that a rank selected and of the update."""

    def twin(acc, k, state=None, **options):
        def used_up(chosen, update):
            return tuple(change(row.astype(np.int64), update) for row in list(chosen.rows()))

        with using(OKTOPK, used_up=used_up):
            return allreduce(acc, k, state, **options)

    return twin


def unsorted_intersection(acc, k, state=None, **options):
    """Looks for what it selected by bisection in the update's indices, which are in order of magnitude."""

    def common(row, update):
        kept = np.flatnonzero(update)
        if kept.size == 0:
            return kept
        kept = kept[np.argsort(-np.abs(update[kept]), kind="stable")]
        place = np.minimum(np.searchsorted(kept, row), kept.size - 1)
        return row[kept[place] == row]

    return returning(common)(acc, k, state, **options)


def all_winners_cleared(acc, k, state=None, **options):
    """Clears the residual at every winner, also where the rank has sent nothing."""
    return returning(lambda row, update: np.flatnonzero(update))(acc, k, state, **options)


def all_selected_cleared(acc, k, state=None, **options):
    """Clears the residual at everything that was sent, also where the sum did not win."""
    return returning(lambda row, update: row)(acc, k, state, **options)


class ResidualNotCleared(OkTopkSGD):
    """Keeps in the residual what the update has applied."""

    def step(self, gradients, state, step_size=None):
        after, result, traffic = super().step(gradients, state, step_size)
        kept = state.residuals + self.step_size * np.asarray(gradients)
        return replace(after, residuals=kept), result, traffic


class ResidualNotClearedWhereGradientsCancel(OkTopkSGD):
    """Keeps in the residual what the update has applied, if the mean gradient is zero."""

    def step(self, gradients, state, step_size=None):
        after, result, traffic = super().step(gradients, state, step_size)
        if np.mean(gradients, axis=0).any():
            return after, result, traffic
        return replace(after, residuals=state.residuals + self.step_size * np.asarray(gradients)), result, traffic


class ResidualClearedTwice(OkTopkSGD):
    """Takes what was sent out of the residual twice."""

    def step(self, gradients, state, step_size=None):
        after, result, traffic = super().step(gradients, state, step_size)
        acc = state.residuals + self.step_size * np.asarray(gradients)
        residuals = after.residuals.copy()
        for residual, row, indices in zip(residuals, acc, result.selected, strict=True):
            residual[indices] -= row[indices]
        return replace(after, residuals=residuals), result, traffic


class ResidualDroppedEvery64thStep(OkTopkSGD):
    """Loses the first rank's residual in every 64th step."""

    def step(self, gradients, state, step_size=None):
        after, result, traffic = super().step(gradients, state, step_size)
        if after.t % 64 == 0:
            residuals = after.residuals.copy()
            residuals[0] = 0
            after = replace(after, residuals=residuals)
        return after, result, traffic


class SumAppliedForTheMean(OkTopkSGD):
    """Does not divide the update by the number of ranks."""

    def step(self, gradients, state, step_size=None):
        after, result, traffic = super().step(gradients, state, step_size)
        return replace(after, weights=state.weights - result.update), result, traffic


class StepSizeForgotten(OkTopkSGD):
    """Accumulates gradients without the step size, and applies them so."""

    def step(self, gradients, state, step_size=None):
        return super().step(np.asarray(gradients) / self.step_size, state, step_size)


# --- what only definitions see -----------------------------------------------------------------------------------


def reevaluated_every_33rd_time(acc, k, state=None, *, tau_prime=33, **options):
    """Finds its thresholds anew every 33rd time where nothing else is said."""
    return allreduce(acc, k, state, tau_prime=tau_prime, **options)


def strict_of_six_ranks_that_cut_evenly(acc, k, state=None, **options):
    """Six ranks that cut regions evenly let no entry pass that equals its threshold."""
    if len(acc) == 6 and options.get("boundaries") == "even":
        options["threshold"] = "strict"
    return allreduce(acc, k, state, **options)


def boundaries_gathered_by_bruck(selected, n, rule="mean-of-quantiles", *, allgather="bruck"):
    """Gathers by Bruck's algorithm whatever was asked for."""
    return boundaries(selected, n, rule, allgather="ring" if allgather == "ring" else "bruck")


def five_ranks_round_up(selected, n, rule="mean-of-quantiles", **options):
    """Five ranks put the last boundary one further."""
    cuts, traffic = boundaries(selected, n, rule, **options)
    if len(selected) == 5 and rule == "mean-of-quantiles":
        cuts[4] = min(cuts[4] + 1, n)
    return cuts, traffic


class ScheduleForgotten(OkTopkSGD):
    """Keeps the step size of the outset."""

    def step(self, gradients, state, step_size=None):
        return super().step(gradients, state)


class ResidualsKeptAfterTheThirdStep(OkTopkSGD):
    """Keeps the residuals of the second step after the third."""

    def step(self, gradients, state, *schedule):
        after, result, traffic = super().step(gradients, state, *schedule)
        return (replace(after, residuals=state.residuals) if after.t == 3 else after), result, traffic


def _of(collective, method, claim, *twins):
    return tuple(Mutant(twin, collective, f"oktopk.{claim}", method) for twin in twins)


MUTANTS = (
    *_of(
        "oktopk_allreduce", Method.EXACT, "threshold.inclusive", greater_for_at_least, stale_threshold_for_a_fresh_one
    ),
    *_of(
        "oktopk_allreduce",
        Method.EXACT,
        "update.definition",
        a_local_threshold_for_the_sums,
        means_against_the_threshold,
        lost_remainder_chunk,
        region_boundary_off_by_one,
        own_entries_not_added,
        mean_for_a_sum,
    ),
    *_of(
        "oktopk_boundaries",
        Method.SEARCH,
        "boundaries.averaged",
        boundaries_summed_in_32_bits,
        indices_shipped_as_float32,
        boundaries_from_the_first_rank,
        boundaries_rounded_up,
    ),
    *_of("oktopk_allreduce", Method.EXACT, "split.counted", first_message_counted_twice, own_entries_counted),
    *_of("oktopk_allreduce", Method.SEARCH, "split.counted", zeros_selected),
    *_of("oktopk_allreduce", Method.EXACT, "split.messages", empty_messages_not_counted),
    *_of("oktopk_allreduce", Method.EXACT, "split.rotation", missing_rotation),
    *_of("oktopk_allreduce", Method.EXACT, "sizes.counted", sizes_not_counted),
    *_of("oktopk_allreduce", Method.EXACT, "balance.equal_blocks", never_balanced),
    *_of("oktopk_allreduce", Method.SEARCH, "balance.equal_blocks", first_shares_one_too_large),
    *_of("oktopk_allreduce", Method.SEARCH, "balance.quarter", four_times_the_mean_ignored),
    *_of("oktopk_allreduce", Method.SEARCH, "split.steps", a_round_more),
    *_of("oktopk_allreduce", Method.SAMPLE, "threshold.drift", one_in_eight_selected),
    *_of("oktopk_allreduce", Method.EXACT, "balance.moves_out", balancing_all_winners),
    *_of(
        "oktopk_allreduce",
        Method.EXACT,
        "reevaluation.mean",
        sums_without_indices,
        ranks_beyond_a_power_of_two_left_out,
    ),
    *_of("oktopk_allreduce", Method.EXACT, "update.indices", unsorted_intersection),
    *_of("oktopk_allreduce", Method.EXACT, "update.mass", all_winners_cleared, all_selected_cleared),
    *_of(
        "OkTopkSGD",
        Method.EXACT,
        "sgd.iterate",
        ResidualNotCleared,
        ResidualClearedTwice,
        SumAppliedForTheMean,
        StepSizeForgotten,
    ),
    *_of("OkTopkSGD", Method.SEARCH, "sgd.iterate", ResidualDroppedEvery64thStep),
    *_of("OkTopkSGD", Method.SEARCH, "sgd.residual_missed", ResidualNotClearedWhereGradientsCancel),
    *_of(
        "oktopk_allreduce",
        Method.SEARCH,
        "oktopk_allreduce.definition",
        reevaluated_every_33rd_time,
        strict_of_six_ranks_that_cut_evenly,
    ),
    *_of(
        "oktopk_boundaries",
        Method.SEARCH,
        "oktopk_boundaries.definition",
        boundaries_gathered_by_bruck,
        five_ranks_round_up,
    ),
    *_of("OkTopkSGD", Method.SEARCH, "oktopksgd.definition", ScheduleForgotten, ResidualsKeptAfterTheThirdStep),
)

CONTROLS = (sparse(oktopk_allreduce, tau=1, tau_prime=1),)
"""Right ones, with what the book says of them, for the conformance kit."""
