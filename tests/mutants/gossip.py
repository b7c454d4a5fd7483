"""Broken twins of the column gossip, each by one defect."""

from dataclasses import replace

import numpy as np

from commbounds.collectives import allreduce_with_restarts, gossip, push_sum
from commbounds.verify import Method
from mutants.record import Mutant


def _circulant(stack, rounds, shifts):
    result = np.asarray(stack, np.float64)
    for _ in range(rounds):
        result = sum((np.roll(result, shift, axis=0) for shift in shifts), np.zeros_like(result)) / len(shifts)
    return result, None


def one_neighbour_missed(stack, topology, rounds=1, **options):
    """On a ring, vectors come from one side only."""
    return _circulant(stack, rounds, (0, 1)) if topology == "ring" else gossip(stack, topology, rounds, **options)


def own_vector_forgotten(stack, topology, rounds=1, **options):
    """On a ring, a peer leaves its own vector out."""
    return _circulant(stack, rounds, (-1, 1)) if topology == "ring" else gossip(stack, topology, rounds, **options)


def torus_wraps_into_the_next_row(stack, topology, rounds=1, **options):
    """Neighbours in a row are the next in the list, the last of a row having the first of the next."""
    if topology != "torus":
        return gossip(stack, topology, rounds, **options)
    m = round(len(stack) ** 0.5)
    return _circulant(stack, rounds, (0, 1, -1, m, -m))


def the_same_peer_every_round(stack, topology, rounds=1, *, start=0, **options):
    """On a one-peer exponential graph, the first shift is used in all rounds."""
    result, traffic = np.asarray(stack), None
    for _ in range(rounds):
        result, traffic = gossip(result, topology, 1, start=0)
    return result, traffic


def largest_shift_left_out(stack, topology, rounds=1, *, start=0, **options):
    """On an exponential graph, the largest shift is never used."""
    hops = (len(stack) - 1).bit_length()
    return _circulant(stack, rounds, (0, *(1 << h for h in range(hops - 1))))


def always_renormalises(stack, topology, rounds=1, *, missing="self", **options):
    """A peer divides by the number of vectors that it has, whatever it is told."""
    return gossip(stack, topology, rounds, missing="renormalise", **options)


def the_dead_speak(stack, topology, rounds=1, *, alive=None, **options):
    """A peer that is down sends its vector all the same, and does not receive."""
    result = np.asarray(stack)
    for t in range(rounds):
        heard, traffic = gossip(result, topology, 1, **options)
        result = np.where(alive[t][:, None], heard, result)
    return result, traffic


def links_break_both_ways(stack, topology, rounds=1, *, delivered=None, **options):
    """A link that breaks one way breaks the other way as well."""
    if delivered is not None and topology == "ring":  # what i sends on, its first link, comes back over the second
        whole = np.asarray(delivered[0])
        on, back = whole[:, 0], np.roll(whole[:, 1], -1)
        delivered = [np.column_stack((on & back, np.roll(on & back, 1)))] * rounds
    return gossip(stack, topology, rounds, delivered=delivered, **options)


def broken_links_deliver(stack, topology, rounds=1, *, delivered=None, **options):
    """Vectors arrive over links that do not work."""
    return gossip(stack, topology, rounds, **options)


def one_link_drops_what_the_other_brings(stack, topology, rounds=1, *, delivered=None, **options):
    """Where the first link of a peer is broken, what it would have sent over the second is lost too."""
    if delivered is not None:
        delivered = [np.asarray(works) & np.asarray(works)[:, :1] for works in delivered]
    return gossip(stack, topology, rounds, delivered=delivered, **options)


def weights_not_tracked(stack, topology, rounds=1, weights=None, **options):
    """Estimates are the sums themselves."""
    (sums, held), traffic = push_sum(stack, topology, rounds, weights, **options)
    return (sums, np.ones_like(held)), traffic


def shares_evaporate(stack, topology, rounds=1, weights=None, *, lost="kept", **options):
    """Shares that a broken link does not take are lost."""
    return push_sum(stack, topology, rounds, weights, lost="gone", **options)


def only_weights_are_kept(stack, topology, rounds=1, weights=None, **options):
    """Of a share that a broken link does not take, the sender keeps the weight alone."""
    (_, held), traffic = push_sum(stack, topology, rounds, weights, **options)
    (sums, _), _ = push_sum(stack, topology, rounds, weights, **{**options, "lost": "gone"})
    return (sums, held), traffic


def weight_travels_free(stack, topology, rounds=1, weights=None, **options):
    """The weight in a message is not counted."""
    state, traffic = push_sum(stack, topology, rounds, weights, **options)
    return state, replace(traffic, sent=traffic.sent - traffic.messages)


def first_attempt_not_counted(stack, p=0.0, cap=1000, rng=None, *, alive=None):
    """Restarts are counted in place of attempts."""
    (result, attempts, done), traffic = allreduce_with_restarts(stack, p, cap, rng, alive=alive)
    return (result, attempts - 1, done), traffic


def third_attempt_succeeds(stack, p=0.0, cap=1000, rng=None, *, alive=None):
    """Whoever fails, the third attempt is the last, and succeeds."""
    (result, attempts, done), traffic = allreduce_with_restarts(stack, p, cap, rng, alive=alive)
    return (result, min(attempts, 3), done or attempts >= 3), traffic


def one_failure_tolerated(stack, p=0.0, cap=1000, rng=None, *, alive=None):
    """An attempt with a single failure succeeds."""
    mended = np.array(alive)
    mended[np.count_nonzero(~mended, axis=1) == 1] = True
    return allreduce_with_restarts(stack, p, cap, rng, alive=mended)


def last_failure_not_counted(stack, p=0.0, cap=1000, rng=None, *, alive=None):
    """An attempt that fails at the cap is not counted."""
    (result, attempts, done), traffic = allreduce_with_restarts(stack, p, cap, rng, alive=alive)
    return (result, attempts - (not done), done), traffic


def failures_come_in_pairs(stack, p=0.0, cap=1000, rng=None, *, alive=None):
    """Two peers share the random number that decides whether they fail."""
    half = np.asarray(stack)[: (len(stack) + 1) // 2]
    return allreduce_with_restarts(half if alive is None else stack, p, cap, rng, alive=alive)


def weights_from_one(stack, topology, rounds=1, weights=None, **options):
    """Weights from rounds before are forgotten."""
    return push_sum(stack, topology, rounds, None, **options)


MUTANTS = (
    Mutant(one_neighbour_missed, "gossip", "gossip.ring.iid", Method.EXACT),
    Mutant(own_vector_forgotten, "gossip", "gossip.ring.distortion", Method.EXACT),
    Mutant(torus_wraps_into_the_next_row, "gossip", "gossip.torus.distortion", Method.EXTREMAL),
    Mutant(the_same_peer_every_round, "gossip", "gossip.one_peer.factor", Method.EXACT),
    Mutant(largest_shift_left_out, "gossip", "gossip.exponential.distortion", Method.EXACT),
    Mutant(always_renormalises, "gossip", "gossip.mean.own_instead", Method.EXACT),
    Mutant(the_dead_speak, "gossip", "gossip.mean.own_instead", Method.EXACT),
    Mutant(links_break_both_ways, "gossip", "gossip.mean.one_way", Method.EXACT),
    Mutant(broken_links_deliver, "gossip", "gossip.mean.one_way", Method.EXACT),
    Mutant(one_link_drops_what_the_other_brings, "gossip", "gossip.mean.own_instead", Method.EXACT),
    Mutant(weights_not_tracked, "push_sum", "gossip.push_sum.range", Method.SEARCH),
    Mutant(shares_evaporate, "push_sum", "gossip.push_sum.mean", Method.EXACT),
    Mutant(only_weights_are_kept, "push_sum", "gossip.push_sum.mean", Method.EXACT),
    Mutant(weight_travels_free, "push_sum", "gossip.push_sum.words", Method.EXACT),
    Mutant(first_attempt_not_counted, "allreduce_with_restarts", "gossip.restarts.attempts", Method.EXACT),
    Mutant(third_attempt_succeeds, "allreduce_with_restarts", "gossip.restarts.attempts", Method.SEARCH),
    Mutant(one_failure_tolerated, "allreduce_with_restarts", "gossip.restarts.attempts", Method.EXACT),
    Mutant(last_failure_not_counted, "allreduce_with_restarts", "gossip.restarts.capped", Method.EXACT),
    Mutant(failures_come_in_pairs, "allreduce_with_restarts", "gossip.restarts.capped", Method.SAMPLE),
    Mutant(weights_from_one, "push_sum", "gossip.push_sum.definition", Method.SEARCH),
)
