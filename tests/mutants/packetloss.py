"""Broken twins of the column packetloss, each by one defect."""

from dataclasses import replace

import numpy as np

from commbounds.collectives import (
    Bernoulli,
    drift_trials,
    layout,
    lossy_broadcast,
    lossy_reduce_scatter,
    lossy_step,
    lossy_training,
    staleness_trials,
)
from commbounds.verify import Method
from mutants.record import Mutant

# --- reduce-scatter ----------------------------------------------------------------------------------------------


def _scaled(stack, arrived, estimator, factor, **options):
    """The right estimate times factor(arrivals)."""
    reduced, traffic = lossy_reduce_scatter(stack, arrived, estimator, **options)
    return replace(reduced, estimate=reduced.estimate * factor(reduced.arrivals)), traffic


def divides_by_all(stack, arrived, estimator="arrivals", **options):
    """The sum of what arrived is divided by N, whatever arrived."""
    return _scaled(stack, arrived, estimator, lambda k: k / len(stack), **options)


def counts_the_owner_twice(stack, arrived, estimator="arrivals", **options):
    """The divisor counts the owner once more."""
    return _scaled(stack, arrived, estimator, lambda k: k / (k + 1), **options)


def owner_never_lost(stack, arrived, estimator="arrivals", **options):
    """The owner's value is always there, also where it is to be lost like the others."""
    mask = np.array(arrived)
    mask[range(len(stack)), range(len(stack))] = True
    return lossy_reduce_scatter(stack, mask, estimator, **options)


def owner_forgotten(stack, arrived, estimator="arrivals", **options):
    """The owner's own value is left out."""
    mask = np.array(arrived)
    mask[range(len(stack)), range(len(stack))] = False
    return lossy_reduce_scatter(stack, mask, "arrivals" if estimator == "owner" else estimator, **options)


def expectation_left_out(stack, arrived, estimator="arrivals", p=None, **options):
    """ "expected" divides by N, not by (1 - p) N."""
    return lossy_reduce_scatter(stack, arrived, estimator, p=None if p is None else 0.0, **options)


def expected_by_arrivals(stack, arrived, estimator="arrivals", p=None, **options):
    """ "expected" divides by what arrived."""
    return lossy_reduce_scatter(stack, arrived, "arrivals" if estimator == "expected" else estimator, **options)


def sender_and_owner_swapped(stack, arrived, estimator="arrivals", **options):
    """The mask is read with sender and owner exchanged."""
    return lossy_reduce_scatter(stack, np.swapaxes(arrived, 0, 1), estimator, **options)


def senders_share_their_fate(stack, arrived, estimator="arrivals", **options):
    """An owner gets all contributions or none, as the first one fares."""
    return lossy_reduce_scatter(stack, np.broadcast_to(arrived[:1], np.shape(arrived)), estimator, **options)


def empty_takes_its_own(stack, arrived, estimator="arrivals", **options):
    """An owner that gets nothing takes its own value instead of leaving its shard as it is."""
    reduced, traffic = lossy_reduce_scatter(stack, arrived, estimator, **options)
    own = np.asarray(stack)[layout(stack.shape[1], len(stack)).owner, np.arange(stack.shape[1])]
    return replace(reduced, estimate=np.where(reduced.arrivals == 0, own, reduced.estimate)), traffic


def doubled_on_five_or_seven(stack, arrived, estimator="arrivals", **options):
    """Twice the estimate where there are five or seven workers."""
    return _scaled(stack, arrived, estimator, lambda k: 1 + (len(stack) in (5, 7)), **options)


def doubled_on_long_shards(stack, arrived, estimator="arrivals", **options):
    """Twice the estimate where N does not divide the number of coordinates."""
    return _scaled(stack, arrived, estimator, lambda k: 1 + (stack.shape[1] % len(stack) > 0), **options)


# --- broadcast ---------------------------------------------------------------------------------------------------


def one_version_late(replicas, owned, arrived, packet=None):
    """Receivers get what the owner had a step before."""
    after, traffic = lossy_broadcast(replicas, owned, arrived, packet=packet)
    owner = layout(len(owned), len(replicas), packet).owner
    before = replicas[owner, np.arange(len(owned))]
    late, _ = lossy_broadcast(replicas, before, arrived, packet=packet)
    own = owner == np.arange(len(replicas))[:, None]
    return np.where(own, after, late), traffic


def lost_is_zero(replicas, owned, arrived, packet=None):
    """A receiver that gets nothing starts from zero, where it should keep its copy."""
    return lossy_broadcast(np.zeros_like(replicas), owned, arrived, packet=packet)


def both_ends_lose(replicas, owned, arrived, packet=None):
    """The owner takes its update back when any receiver loses it."""
    after, traffic = lossy_broadcast(replicas, owned, arrived, packet=packet)
    cut = layout(len(owned), len(replicas), packet)
    heard = np.asarray(arrived).all(axis=1)[cut.owner, cut.packet]
    own = cut.owner == np.arange(len(replicas))[:, None]
    return np.where(own & ~heard, replicas, after), traffic


def receivers_share_their_fate(replicas, owned, arrived, packet=None):
    """All receivers get a packet if one of them does."""
    workers = len(replicas)
    others = np.asarray(arrived) & ~np.eye(workers, dtype=bool)[:, :, None]
    return lossy_broadcast(
        replicas, owned, np.broadcast_to(others.any(axis=1, keepdims=True), np.shape(arrived)), packet=packet
    )


def loss_by_pair(replicas, owned, arrived, packet=None):
    """One fate for both directions between two workers: that of the lower rank's packet."""
    upper = np.triu(np.ones((len(replicas), len(replicas)), bool))[:, :, None]
    return lossy_broadcast(replicas, owned, np.where(upper, arrived, np.swapaxes(arrived, 0, 1)), packet=packet)


def averages_old_and_new(replicas, owned, arrived, packet=None):
    """A receiver takes the mean of its copy and the new one."""
    after, traffic = lossy_broadcast(replicas, owned, arrived, packet=packet)
    own = layout(len(owned), len(replicas), packet).owner == np.arange(len(replicas))[:, None]
    return np.where(own, after, (after + replicas) / 2), traffic


def packets_fall_together(replicas, owned, arrived, packet=None):
    """All packets of a shard share the first one's fate."""
    return lossy_broadcast(replicas, owned, np.broadcast_to(arrived[:, :, :1], np.shape(arrived)), packet=packet)


def last_receiver_served(replicas, owned, arrived, packet=None):
    """The last worker gets every packet where N does not divide the number of coordinates."""
    mask = np.array(arrived)
    if len(owned) % len(replicas):
        mask[:, -1] = True
    return lossy_broadcast(replicas, owned, mask, packet=packet)


# --- steps and training ------------------------------------------------------------------------------------------


def lost_words_unsent(*arguments, **options):
    """Words that get lost do not count as sent."""
    after, update, traffic = lossy_step(*arguments, **options)
    kept = np.minimum(traffic.sent, traffic.received)
    return after, update, replace(traffic, sent=kept)


def lost_words_received(*arguments, **options):
    """Words that get lost count as received."""
    after, update, traffic = lossy_step(*arguments, **options)
    return after, update, replace(traffic, received=traffic.sent)


def updates_applied_twice(state, gradient, loss, steps, rate, observe=None, **options):
    """Owners apply every update twice."""

    def halved(after, update):
        if observe is not None:
            observe(after, update / 2)

    return lossy_training(state, gradient, loss, steps, 2 * rate, observe=halved, **options)


def half_the_step(state, gradient, loss, steps, rate, observe=None, **options):
    """Owners make half the step that their estimates call for."""

    def whole(after, update):
        if observe is not None:
            observe(after, 2 * update)

    return lossy_training(state, gradient, loss, steps, rate / 2, observe=whole, **options)


def uphill(state, gradient, loss, steps, rate, observe=None, **options):
    """Owners add what they should subtract."""
    return lossy_training(state, gradient, loss, steps, -rate, observe=observe, **options)


# --- trials ------------------------------------------------------------------------------------------------------


def one_seed_for_all_trials(workers, steps, loss, trials=1, seed=0, **options):
    """All trials draw the same random numbers."""
    one = drift_trials(workers, steps, loss, 1, seed, **options)
    return replace(one, **{name: np.repeat(getattr(one, name), trials) for name in ("owner", "pair", "differ")})


def loss_squared(workers, steps, loss, trials=1, seed=0, **options):
    """A packet is lost only if it is lost twice."""
    return drift_trials(workers, steps, Bernoulli(loss.rate**2), trials, seed, **options)


def bursts_ignored(workers, steps, loss, trials=1, seed=0, **options):
    """Losses in bursts are drawn independently, at the same rate."""
    return drift_trials(workers, steps, Bernoulli(loss.rate), trials, seed, **options)


def smallest_for_largest(*arguments, **options):
    """The smallest staleness is taken for the largest."""
    largest, smallest = staleness_trials(*arguments, **options)
    return smallest, largest


def staleness_from_one(*arguments, **options):
    """Staleness is counted from 1."""
    largest, smallest = staleness_trials(*arguments, **options)
    return largest + 1, smallest + 1


def staleness_stops_at_three(state, *arguments, **options):
    """Who missed three steps is not counted any further."""
    after, update, traffic = lossy_step(state, *arguments, **options)
    return replace(after, missed=np.minimum(after.missed, 3)), update, traffic


def packets_of_three_go_at_once(stack, arrived, estimator="arrivals", *, packet=None, **options):
    """All packets of three words fare as the first of their shard."""
    fate = np.repeat(arrived[:, :, :1], arrived.shape[2], axis=2) if packet == 3 else arrived
    return lossy_reduce_scatter(stack, fate, estimator, packet=packet, **options)


def one_message_a_shard(stack, arrived, *arguments, **options):
    """Packets are charged, but a shard's are one message."""
    reduced, traffic = lossy_reduce_scatter(stack, arrived, *arguments, **options)
    return reduced, replace(traffic, messages=np.minimum(traffic.messages, len(stack) - 1))


MUTANTS = (
    Mutant(divides_by_all, "lossy_reduce_scatter", "packetloss.arrivals.unbiased", Method.EXACT),
    Mutant(counts_the_owner_twice, "lossy_reduce_scatter", "packetloss.owner.unbiased", Method.EXACT),
    Mutant(owner_never_lost, "lossy_reduce_scatter", "packetloss.arrivals.unbiased", Method.EXACT),
    Mutant(owner_forgotten, "lossy_reduce_scatter", "packetloss.owner.bias", Method.EXACT),
    Mutant(expectation_left_out, "lossy_reduce_scatter", "packetloss.expected.unbiased", Method.EXACT),
    Mutant(expected_by_arrivals, "lossy_reduce_scatter", "packetloss.expected.variance", Method.EXACT),
    Mutant(sender_and_owner_swapped, "lossy_reduce_scatter", "packetloss.arrivals.conditional_variance", Method.EXACT),
    Mutant(senders_share_their_fate, "lossy_reduce_scatter", "packetloss.arrivals.empty", Method.EXACT),
    Mutant(empty_takes_its_own, "lossy_reduce_scatter", "packetloss.arrivals.zero_fill", Method.EXACT),
    Mutant(doubled_on_five_or_seven, "lossy_reduce_scatter", "packetloss.arrivals.unbiased", Method.EXACT),
    Mutant(doubled_on_long_shards, "lossy_reduce_scatter", "packetloss.arrivals.unbiased", Method.EXACT),
    Mutant(last_receiver_served, "lossy_broadcast", "packetloss.drift.owner", Method.EXACT),
    Mutant(one_version_late, "lossy_broadcast", "packetloss.staleness.law", Method.EXACT),
    Mutant(lost_is_zero, "lossy_broadcast", "packetloss.drift.owner", Method.EXACT),
    Mutant(both_ends_lose, "lossy_broadcast", "packetloss.drift.owner", Method.EXACT),
    Mutant(receivers_share_their_fate, "lossy_broadcast", "packetloss.drift.pair", Method.EXACT),
    Mutant(loss_by_pair, "lossy_broadcast", "packetloss.versions.differ", Method.EXACT),
    Mutant(averages_old_and_new, "lossy_broadcast", "packetloss.drift.given_updates", Method.EXACT),
    Mutant(packets_fall_together, "lossy_broadcast", "packetloss.packets.all_lost", Method.EXACT),
    Mutant(lost_words_unsent, "lossy_step", "packetloss.volume.sent", Method.EXACT),
    Mutant(lost_words_received, "lossy_step", "packetloss.volume.received", Method.EXACT),
    Mutant(updates_applied_twice, "lossy_training", "packetloss.training.replica_gap", Method.SEARCH),
    Mutant(half_the_step, "lossy_training", "packetloss.training.descent", Method.EXACT),
    Mutant(uphill, "lossy_training", "packetloss.training.convergence", Method.EXACT),
    Mutant(one_seed_for_all_trials, "drift_trials", "packetloss.average.differ", Method.SAMPLE),
    Mutant(loss_squared, "drift_trials", "packetloss.average.pair", Method.SAMPLE),
    Mutant(bursts_ignored, "drift_trials", "packetloss.bursts.average", Method.SAMPLE),
    Mutant(smallest_for_largest, "staleness_trials", "packetloss.workers.log_lower", Method.SAMPLE),
    Mutant(staleness_from_one, "staleness_trials", "packetloss.workers.log_upper", Method.SAMPLE),
    Mutant(staleness_stops_at_three, "lossy_step", "packetloss.lossy_step.definition", Method.SEARCH),
    Mutant(
        packets_of_three_go_at_once, "lossy_reduce_scatter", "packetloss.lossy_reduce_scatter.definition", Method.SEARCH
    ),
    Mutant(one_message_a_shard, "lossy_reduce_scatter", "packetloss.lossy_reduce_scatter.definition", Method.SEARCH),
)
