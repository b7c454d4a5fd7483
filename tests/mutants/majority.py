"""Broken twins of majority vote, each by one defect; and the right one."""

from dataclasses import replace

import numpy as np
from zoo.right import SMALL

from commbounds.collectives.majority import majority_vote
from commbounds.verify import Method
from commbounds.verify import conformance as cf
from commbounds.verify.conformance import book_bound as bound
from mutants.record import Mutant


def sign_of_the_sum(stack, way="server", zeros="plus", rng=None, *, coins=None):
    """The sum is taken of the vectors, not of their signs."""
    votes, traffic = majority_vote(stack, way, zeros, rng, coins=coins)
    return np.where(np.sum(stack, axis=0) >= 0, 1.0, -1.0) + np.zeros_like(votes), traffic


def loudest_decides(stack, way="server", zeros="plus", rng=None, *, coins=None):
    """The vote is the sign of the entry that is largest in magnitude."""
    votes, traffic = majority_vote(stack, way, zeros, rng, coins=coins)
    x = np.asarray(stack)
    largest = np.take_along_axis(x, abs(x).argmax(axis=0)[None], axis=0)
    return np.where(largest >= 0, 1.0, -1.0) + np.zeros_like(votes), traffic


def server_does_not_vote(stack, way="server", zeros="plus", rng=None, *, coins=None):
    """The ballot of rank 0 is left out, where there is another."""
    votes, traffic = majority_vote(stack, way, zeros, rng, coins=coins)
    if len(stack) == 1:
        return votes, traffic
    others, _ = majority_vote(stack[1:], way, zeros, rng, coins=None if coins is None else np.array(coins)[1:])
    return np.concatenate([others[:1], others]), traffic


def last_worker_ignored(stack, way="server", zeros="plus", rng=None, *, coins=None):
    """The ballot of the last rank is left out, where there are three or more."""
    votes, traffic = majority_vote(stack, way, zeros, rng, coins=coins)
    if len(stack) < 3:
        return votes, traffic
    kept = None if coins is None else np.delete(coins, len(stack) - 1, axis=0)
    others, _ = majority_vote(stack[:-1], way, zeros, rng, coins=kept)
    return np.concatenate([others, others[:1]]), traffic


def first_votes_twice(stack, way="server", zeros="plus", rng=None, *, coins=None):
    """Rank 0 has two votes."""
    _, traffic = majority_vote(stack, way, zeros, rng, coins=coins)
    more = None if coins is None else np.concatenate([np.array(coins)[:1], coins])
    votes, _ = majority_vote(np.concatenate([stack[:1], stack]), way, zeros, rng, coins=more)
    return votes[1:], traffic


def two_thirds_needed(stack, way="server", zeros="plus", rng=None, *, coins=None):
    """For -1, two thirds of the votes are needed."""
    votes, traffic = majority_vote(stack, way, zeros, rng, coins=coins)
    against = 3 * np.sum(np.asarray(stack) < 0, axis=0) >= 2 * len(stack)
    return np.where(against, votes, 1.0), traffic


def ties_go_down(stack, way="server", zeros="plus", rng=None, *, coins=None):
    """A tie that is to become +1 becomes -1."""
    votes, traffic = majority_vote(stack, way, zeros, rng, coins=coins)
    if zeros == "plus":
        votes = np.where(majority_vote(stack, way, "abstain")[0] == 0, -1.0, votes)
    return votes, traffic


def coins_not_tossed(stack, way="server", zeros="plus", rng=None, *, coins=None):
    """A coin always shows +1."""
    return majority_vote(stack, way, "plus" if zeros == "coin" else zeros, rng)


def zeros_never_broken(stack, way="server", zeros="plus", rng=None, *, coins=None):
    """Ties stay zero, whatever the rule."""
    _, traffic = majority_vote(stack, way, zeros, rng, coins=coins)
    return majority_vote(stack, way, "abstain")[0], traffic


def votes_weighted_by_magnitude(stack, way="server", zeros="plus", rng=None, *, coins=None):
    """A vote counts as many times as its entry has digits before the point."""
    _, traffic = majority_vote(stack, way, zeros, rng, coins=coins)
    x = np.asarray(stack)
    total = (np.sign(x) * (1 + np.floor(np.log10(np.maximum(abs(x), 1.0))))).sum(axis=0)
    return np.where(total >= 0, 1.0, -1.0) + np.zeros(x.shape), traffic


def minority_decides(stack, way="server", zeros="plus", rng=None, *, coins=None):
    """The vote of several ranks is turned."""
    votes, traffic = majority_vote(stack, way, zeros, rng, coins=coins)
    return votes if len(stack) == 1 else -votes, traffic


def one_voter_is_contradicted(stack, way="server", zeros="plus", rng=None, *, coins=None):
    """A rank that is alone gets the opposite of its signs."""
    votes, traffic = majority_vote(stack, way, zeros, rng, coins=coins)
    return -votes if len(stack) == 1 else votes, traffic


def shards_disagree(stack, way="server", zeros="plus", rng=None, *, coins=None):
    """With shards, a rank keeps its own signs for the block that it serves."""
    votes, traffic = majority_vote(stack, way, zeros, rng, coins=coins)
    if way == "shards":
        for p, block in enumerate(np.array_split(np.arange(votes.shape[1]), len(votes))):
            votes[p, block] = np.where(np.asarray(stack)[p, block] < 0, -1.0, 1.0)
    return votes, traffic


def _recounted(sent, received=None):
    def twin(stack, way="server", zeros="plus", rng=None, *, coins=None):
        votes, traffic = majority_vote(stack, way, zeros, rng, coins=coins)
        found = replace(traffic, sent=sent(traffic.sent, len(stack), votes.shape[1], way, zeros))
        return votes, found if received is None else replace(found, received=received(traffic.received))

    return twin


def _named(name, broken, twin):
    twin.__name__, twin.__doc__ = name, broken
    return twin


a_byte_a_ballot = _named(
    "a_byte_a_ballot", "Signs are sent as bytes, not packed.", _recounted(lambda sent, P, n, *_: sent * n // -(-n // 8))
)
incomplete_bytes_free = _named(
    "incomplete_bytes_free",
    "Bits of a byte that is not full are not counted.",
    _recounted(lambda sent, P, n, *_: sent // -(-n // 8) * (n // 8)),
)
abstentions_free = _named(
    "abstentions_free",
    "Ballots that may abstain are counted as one bit.",
    _recounted(lambda sent, P, n, way, zeros: -(-sent // 2) if zeros == "abstain" else sent),
)
the_vote_is_free = _named(
    "the_vote_is_free",
    "What the server sends back is not counted.",
    _recounted(lambda sent, P, n, way, zeros: sent * (np.arange(P) > 0) if way == "server" else sent),
)
blocks_of_one_size = _named(
    "blocks_of_one_size",
    "Shards count as if all blocks had the length of the longest.",
    _recounted(
        lambda sent, P, n, way, zeros: (
            np.full(P, 2 * (P - 1) * -(-(-(-n // P) * (1 + (zeros == "abstain"))) // 8)) if way == "shards" else sent
        )
    ),
)

_S, EXACT = "majority_vote", Method.EXACT
MUTANTS = (
    Mutant(sign_of_the_sum, _S, "majority.vote.law", EXACT),
    Mutant(loudest_decides, _S, "majority.vote.scale", EXACT),
    Mutant(server_does_not_vote, _S, "majority.vote.law", EXACT),
    Mutant(last_worker_ignored, _S, "majority.vote.sharp", EXACT),
    Mutant(first_votes_twice, _S, "majority.vote.even_worker", EXACT),
    Mutant(two_thirds_needed, _S, "majority.adversaries.inverting", EXACT),
    Mutant(ties_go_down, _S, "majority.ties.drift", EXACT),
    Mutant(coins_not_tossed, _S, "majority.ties.fair", EXACT),
    Mutant(zeros_never_broken, _S, "majority.ties.broken", EXACT),
    Mutant(votes_weighted_by_magnitude, _S, "majority.vote.scale", Method.SEARCH),
    Mutant(minority_decides, _S, "majority.vote.bound", EXACT),
    Mutant(one_voter_is_contradicted, _S, "majority.worker.gauss", EXACT),
    Mutant(shards_disagree, _S, "majority.vote.law", EXACT),
    Mutant(a_byte_a_ballot, _S, "majority.server.worker", EXACT),
    Mutant(incomplete_bytes_free, _S, "majority.all_gather.busiest", EXACT),
    Mutant(abstentions_free, _S, "majority.server.busiest", EXACT),
    Mutant(the_vote_is_free, _S, "majority.server.busiest", EXACT),
    Mutant(blocks_of_one_size, _S, "majority.shards.busiest", EXACT),
)


def _control(way, claim):
    """The vote by one way, which claims agreement and its bytes."""

    def run(stack, seed):
        votes, traffic = majority_vote(stack, way)
        return cf.AllReduceResult(votes, traffic.sent, traffic.received)

    sent = cf.WordsAtMost(bound(f"majority.{claim}.busiest", ("P", "n"), votebits=1), of="sent")
    return cf.AllReduce(run, [cf.RanksAgree(), sent], name=f"majority_vote({way})", **SMALL)


CONTROLS = tuple(
    _control(way, claim) for way, claim in (("server", "server"), ("shards", "shards"), ("all-gather", "all_gather"))
)
"""Right ones, with what the book says of them, for the conformance kit."""
