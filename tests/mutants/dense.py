"""Broken twins of the column dense, each by one defect."""

from dataclasses import replace

import numpy as np
from zoo.right import dense

from commbounds.collectives import (
    Traffic,
    allgather,
    allgatherv,
    butterfly_allreduce,
    gather_blocks,
    rabenseifner_allreduce,
    recursive_doubling_allreduce,
    reduce_scatter,
    ring_allreduce,
)
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.message_by_message import ALLREDUCE, Part, carried_out
from commbounds.collectives.dense.messages import bruck, core_size
from commbounds.verify import Method
from mutants.record import Mutant


def carried(stack, parts, edges):
    """What ranks hold after `parts`, and the traffic."""
    held = np.array(stack)
    return held, carried_out(held, edges, parts)


def usual(stack, name):
    """The parts and the edges of the right all-reduce."""
    parts, blocks = ALLREDUCE[name]
    return parts(len(stack)), even_cuts(np.shape(stack)[1], blocks(len(stack)))


# --- what ranks hold --------------------------------------------------------------------------------------------------


def ring_without_remainder(stack):
    """The ring, in blocks of n // P words: the n mod P words behind them stay what they were."""
    parts, edges = usual(stack, "ring")
    return carried(stack, parts, np.arange(edges.size) * (edges[-1] // (edges.size - 1)))


def ring_one_step_short(stack):
    """The ring, whose reduce-scatter stops a step early; the count says that it did not."""
    _, traffic = ring_allreduce(stack)
    parts, edges = usual(stack, "ring")
    messages = parts[0].messages
    short = messages[messages[:, 0] < len(stack) - 2]
    return carried(stack, [Part("reduce-scatter", short, True), parts[1]], edges)[0], traffic


def ring_mean(stack):
    """The ring, divided by P: a mean where a sum is promised."""
    result, traffic = ring_allreduce(stack)
    return result / len(result), traffic


def ring_with_short_words(stack):
    """The ring, on words that lost their last 16 bits."""
    words = np.array(stack)
    bits = words.view(f"u{words.dtype.itemsize}")
    bits &= ~bits.dtype.type(2**16 - 1)
    return ring_allreduce(words)


def doubling_without_fold(stack):
    """Recursive doubling that leaves out ranks beyond a power of two: they get the result and bring nothing."""
    _, traffic = recursive_doubling_allreduce(stack)
    parts, edges = usual(stack, "recursive-doubling")
    return carried(stack, [part for part in parts if part.name != "fold"], edges)[0], traffic


def doubling_without_unfold(stack):
    """Recursive doubling that leaves ranks beyond a power of two with what they brought."""
    _, traffic = recursive_doubling_allreduce(stack)
    parts, edges = usual(stack, "recursive-doubling")
    return carried(stack, [part for part in parts if part.name != "unfold"], edges)[0], traffic


def doubling_in_turn(stack):
    """Recursive doubling in which the partner adds what was already added in the same step."""
    held, (_, traffic) = np.array(stack), recursive_doubling_allreduce(stack)
    for part in usual(stack, "recursive-doubling")[0]:
        for _, source, target, _, _ in part.messages:
            held[target] = held[target] + held[source] if part.adds else held[source]
    return held, traffic


def doubling_in_own_order(stack):
    """Recursive doubling whose ranks add what reaches them one by one, every rank from itself on."""
    result, traffic = recursive_doubling_allreduce(stack)
    for r, row in enumerate(result):
        row[:] = stack[r]
        for i in range(1, len(stack)):
            row += stack[(r + i) % len(stack)]
    return result, traffic


def doubling_in_a_row(stack):
    """Recursive doubling that adds the ranks one after another: more rounding than the depth of the tree allows."""
    _, traffic = recursive_doubling_allreduce(stack)
    total = np.array(stack[0])
    for row in stack[1:]:
        total = total + row
    return np.tile(total, (len(stack), 1)), traffic


def rabenseifner_on_one_rank(stack):
    """Rabenseifner's all-reduce that collects the sum at rank 0 and tells nobody."""
    result, traffic = rabenseifner_allreduce(stack)
    return np.concatenate([result[:1], np.asarray(stack)[1:]]), traffic


def rabenseifner_half_known(stack):
    """Rabenseifner's all-reduce whose last doubling takes place on paper only."""
    _, traffic = rabenseifner_allreduce(stack)
    parts, edges = usual(stack, "rabenseifner")

    def cut(part):
        rows = part.messages
        return part._replace(messages=rows[rows[:, 0] < part.steps - 1]) if part.name == "all-gather" else part

    return carried(stack, [cut(part) for part in parts], edges)[0], traffic


def butterfly_adds_own_twice(stack):
    """The direct all-reduce whose ranks add their own block once more."""
    own, edges = np.array(stack), even_cuts(np.shape(stack)[1], len(stack))
    for r, row in enumerate(own):
        row[edges[r] : edges[r + 1]] *= 2
    return butterfly_allreduce(own)


def butterfly_keeps_old_blocks(stack):
    """The direct all-reduce that sends a block as it was, not its sum, to the last rank served."""
    result, traffic = butterfly_allreduce(stack)
    edges, P = even_cuts(result.shape[1], len(result)), len(result)
    for r in range(P if P > 1 else 0):
        result[(r - 1) % P, edges[r] : edges[r + 1]] = np.asarray(stack)[r, edges[r] : edges[r + 1]]
    return result, traffic


def reduce_scatter_wrong_owner(stack, algorithm="ring"):
    """A reduce-scatter that leaves block r with rank r - 1."""
    blocks, traffic = reduce_scatter(stack, algorithm)
    return blocks[1:] + blocks[:1], traffic


def allgather_forgets_the_last(blocks, algorithm="ring"):
    """An all-gather by recursive doubling among the ranks up to a power of two; the others' blocks stay empty."""
    result, traffic = allgatherv(blocks, algorithm)
    if algorithm == "recursive-doubling":
        known = sum(len(block) for block in blocks[: core_size(len(blocks))])
        result[:, known:] = 0
    return result, traffic


def allgather_not_turned_back(blocks, algorithm="ring"):
    """Bruck's all-gather without its last turn: rank r has its own block first."""
    result, traffic = allgatherv(blocks, algorithm)
    edges = np.cumsum([0, *(len(block) for block in blocks)])
    return np.array([np.roll(row, -edges[r]) for r, row in enumerate(result)]), traffic


# --- what was counted -------------------------------------------------------------------------------------------------


def ring_silent_messages(stack):
    """The ring, without the messages that have no words."""
    parts, edges = usual(stack, "ring")
    words = np.diff(edges)
    return carried(
        stack, [part._replace(messages=part.messages[words[part.messages[:, 3]] > 0]) for part in parts], edges
    )


def ring_all_gather_for_free(stack):
    """The ring, of which only the reduce-scatter is counted."""
    result, traffic = ring_allreduce(stack)
    return result, traffic.only("reduce-scatter")


def ring_counted_by_rank_0(stack):
    """The ring, with all that was sent on rank 0's account."""
    result, traffic = ring_allreduce(stack)
    sent = np.zeros_like(traffic.sent)
    sent[0] = traffic.sent.sum()
    return result, replace(traffic, sent=sent, phases={})


def doubling_counts_in_bytes(stack):
    """Recursive doubling with counters of eight bits, which wrap beyond 127 words."""
    result, traffic = recursive_doubling_allreduce(stack)
    wrapped = {name: getattr(traffic, name).astype(np.int8).astype(np.int64) for name in ("sent", "received")}
    path = int(np.int64(traffic.critical_path).astype(np.int8))
    return result, replace(traffic, **wrapped, critical_path=path, phases={})


def doubling_counts_both_ways(stack):
    """Recursive doubling with every exchange counted by both partners: sent and received twice."""
    result, traffic = recursive_doubling_allreduce(stack)
    return result, replace(traffic, sent=2 * traffic.sent, received=2 * traffic.received, phases={})


def doubling_folds_for_free(stack):
    """Recursive doubling that counts neither folding nor unfolding."""
    result, traffic = recursive_doubling_allreduce(stack)
    return result, traffic.only("exchange")


def doubling_folds_at_once(stack):
    """Recursive doubling that says to have folded in the step of the first exchange."""
    result, traffic = recursive_doubling_allreduce(stack)
    return result, replace(traffic, steps=traffic.steps - ("fold" in traffic.phases), phases={})


def rabenseifner_whole_vectors(stack):
    """Rabenseifner's all-reduce that sends all n words in every step of its halving."""
    result, traffic = rabenseifner_allreduce(stack)
    phases = dict(traffic.phases)
    halving, words = phases["reduce-scatter"], result.shape[1]
    every = halving.messages * words
    phases["reduce-scatter"] = replace(halving, sent=every, received=every, critical_path=halving.steps * words)
    return result, Traffic.of_phases(phases)


def butterfly_at_once(stack):
    """The direct all-reduce that claims to talk to all ranks in one step."""
    result, traffic = butterfly_allreduce(stack)
    return result, replace(traffic, steps=min(traffic.steps, 2), phases={})


def allgather_last_step_full(blocks, algorithm="ring"):
    """Bruck's all-gather that sends 2^j blocks in its last step too, some of them a second time."""
    if algorithm != "bruck":
        return allgatherv(blocks, algorithm)
    P = len(blocks)
    messages = bruck(P)
    messages[:, 4] = 2 ** messages[:, 0]
    edges = np.cumsum([0, *(len(block) for block in blocks)])
    held = np.zeros((P, edges[-1]), np.asarray(blocks[0]).dtype)
    for r, block in enumerate(blocks):
        held[r, edges[r] : edges[r + 1]] = block
    return carried(held, [Part("all-gather", messages, False)], edges)


def allgather_waits_for_nobody(blocks, algorithm="ring"):
    """An all-gather whose critical path is the mean of what ranks receive, not the slowest rank's of every step."""
    result, traffic = allgatherv(blocks, algorithm)
    return result, replace(traffic, critical_path=int(traffic.received.mean()), phases={})


def reduce_scatter_counts_twice(stack, algorithm="ring"):
    """A reduce-scatter that counts every partial sum once more where it is received and sent on."""
    blocks, traffic = reduce_scatter(stack, algorithm)
    return blocks, replace(traffic, sent=traffic.sent + traffic.received, phases={})


def gather_blocks_in_32_bits(sizes, algorithm="ring"):
    """An all-gather of lengths with counters of 32 bits, which wrap beyond 2^31 - 1 words."""
    traffic = gather_blocks(sizes, algorithm)
    wrapped = {name: getattr(traffic, name).astype(np.int32).astype(np.int64) for name in ("sent", "received")}
    return replace(traffic, **wrapped)


def gather_blocks_skips_empty(sizes, algorithm="ring"):
    """An all-gather of lengths by ranks that fall silent once they were sent a block without words."""
    traffic = gather_blocks(sizes, algorithm)
    behind = np.roll(np.asarray(sizes), 1) == 0
    return replace(traffic, received=np.where(behind, 0, traffic.received))


# --- what only definitions see ----------------------------------------------------------------------------------------


def ring_of_seven_in_another_order(stack):
    """The ring, where seven ranks of float64 begin with another one: other bits."""
    if len(stack) == 7 and stack.dtype == np.float64:
        return ring_allreduce(stack[::-1])
    return ring_allreduce(stack)


def ring_without_negative_zeros(stack):
    """The ring, beginning with zeros: a sum of negative zeros is positive."""
    result, traffic = ring_allreduce(stack)
    return result + result.dtype.type(0), traffic


def doubling_of_twelve_counts_the_fold_twice(stack):
    """Recursive doubling of twelve ranks, whose fold is one step more."""
    result, traffic = recursive_doubling_allreduce(stack)
    return result, replace(traffic, steps=traffic.steps + (len(stack) == 12))


def rabenseifner_phase_misnamed(stack):
    """Rabenseifner's all-reduce, whose phases are told in another order where nothing is folded."""
    result, traffic = rabenseifner_allreduce(stack)
    parts = traffic.phases
    if len(parts) == 2:
        parts = dict(zip(parts, reversed(parts.values()), strict=True))
    return result, replace(traffic, phases=parts)


def butterfly_of_multiples_of_32(stack):
    """The butterfly, which negates the last sum where 32 divides n and there are three ranks."""
    result, traffic = butterfly_allreduce(stack)
    if result.shape[1] % 32 == 0 and len(result) == 3:
        result[:, -1] *= -1
    return result, traffic


def reduce_scatter_of_one_rank_in_place(stack, algorithm="ring"):
    """Of one rank: its block is the vector that was given, in the same memory."""
    blocks, traffic = reduce_scatter(stack, algorithm)
    return [stack[0]] if len(blocks) == 1 else blocks, traffic


def ring_of_129_in_another_order(stack):
    """The ring, but for vectors of 129 entries, which are added from the last rank to the first."""
    result, traffic = ring_allreduce(stack)
    if result.shape[1] != 129:
        return result, traffic
    return np.broadcast_to(np.add.accumulate(stack[::-1])[-1], result.shape).copy(), traffic


def reduce_scatter_by_bruck(stack, algorithm="bruck"):
    """Reduce-scatter by Bruck's algorithm where none is named."""
    return reduce_scatter(stack, algorithm)


def allgather_of_float32(blocks, algorithm="ring"):
    """An all-gather whose result is of float32 whatever the blocks are."""
    result, traffic = allgather(blocks, algorithm)
    return result.astype(np.float32), traffic


MUTANTS = (
    Mutant(ring_without_remainder, "ring_allreduce", "dense.ring.sum", Method.EXACT),
    Mutant(ring_one_step_short, "ring_allreduce", "dense.ring.sum", Method.EXACT),
    Mutant(ring_mean, "ring_allreduce", "dense.ring.sum", Method.EXACT),
    Mutant(ring_with_short_words, "ring_allreduce", "dense.ring.rounding", Method.SEARCH),
    Mutant(ring_silent_messages, "ring_allreduce", "dense.ring.messages", Method.EXACT),
    Mutant(ring_all_gather_for_free, "ring_allreduce", "dense.ring.critical_path", Method.EXACT),
    Mutant(ring_counted_by_rank_0, "ring_allreduce", "dense.ring.sent", Method.EXACT),
    Mutant(doubling_without_fold, "recursive_doubling_allreduce", "dense.recursive_doubling.sum", Method.EXACT),
    Mutant(
        doubling_without_unfold, "recursive_doubling_allreduce", "dense.recursive_doubling.agreement", Method.SEARCH
    ),
    Mutant(doubling_in_turn, "recursive_doubling_allreduce", "dense.recursive_doubling.sum", Method.EXACT),
    Mutant(doubling_in_own_order, "recursive_doubling_allreduce", "dense.recursive_doubling.agreement", Method.SEARCH),
    Mutant(doubling_in_a_row, "recursive_doubling_allreduce", "dense.recursive_doubling.rounding", Method.SEARCH),
    Mutant(doubling_counts_in_bytes, "recursive_doubling_allreduce", "dense.recursive_doubling.sent", Method.EXACT),
    Mutant(
        doubling_counts_both_ways, "recursive_doubling_allreduce", "dense.recursive_doubling.received", Method.EXACT
    ),
    Mutant(
        doubling_folds_for_free, "recursive_doubling_allreduce", "dense.recursive_doubling.critical_path", Method.EXACT
    ),
    Mutant(doubling_folds_at_once, "recursive_doubling_allreduce", "dense.recursive_doubling.steps", Method.EXACT),
    Mutant(rabenseifner_on_one_rank, "rabenseifner_allreduce", "dense.rabenseifner.agreement", Method.SEARCH),
    Mutant(rabenseifner_half_known, "rabenseifner_allreduce", "dense.rabenseifner.sum", Method.EXACT),
    Mutant(rabenseifner_whole_vectors, "rabenseifner_allreduce", "dense.rabenseifner.critical_path", Method.EXACT),
    Mutant(butterfly_adds_own_twice, "butterfly_allreduce", "dense.butterfly.sum", Method.EXACT),
    Mutant(butterfly_keeps_old_blocks, "butterfly_allreduce", "dense.butterfly.agreement", Method.SEARCH),
    Mutant(butterfly_at_once, "butterfly_allreduce", "dense.butterfly.steps", Method.EXACT),
    Mutant(reduce_scatter_wrong_owner, "reduce_scatter", "dense.reduce_scatter.sum", Method.EXACT),
    Mutant(reduce_scatter_counts_twice, "reduce_scatter", "dense.reduce_scatter.sent", Method.EXACT),
    Mutant(allgather_not_turned_back, "allgatherv", "dense.allgather.contents", Method.EXACT),
    Mutant(allgather_forgets_the_last, "allgatherv", "dense.allgather.contents", Method.EXACT),
    Mutant(allgather_last_step_full, "allgatherv", "dense.allgather.received", Method.EXACT),
    Mutant(allgather_waits_for_nobody, "allgatherv", "dense.allgather.bruck_words", Method.EXACT),
    Mutant(gather_blocks_in_32_bits, "gather_blocks", "dense.gather_blocks.mean_received", Method.EXACT),
    Mutant(ring_of_seven_in_another_order, "ring_allreduce", "dense.ring_allreduce.definition", Method.SEARCH),
    Mutant(ring_without_negative_zeros, "ring_allreduce", "dense.ring_allreduce.definition", Method.SEARCH),
    Mutant(
        doubling_of_twelve_counts_the_fold_twice,
        "recursive_doubling_allreduce",
        "dense.recursive_doubling_allreduce.definition",
        Method.SEARCH,
    ),
    Mutant(
        rabenseifner_phase_misnamed, "rabenseifner_allreduce", "dense.rabenseifner_allreduce.definition", Method.SEARCH
    ),
    Mutant(butterfly_of_multiples_of_32, "butterfly_allreduce", "dense.butterfly_allreduce.definition", Method.SEARCH),
    Mutant(reduce_scatter_by_bruck, "reduce_scatter", "dense.reduce_scatter.definition", Method.SEARCH),
    Mutant(reduce_scatter_of_one_rank_in_place, "reduce_scatter", "dense.reduce_scatter.definition", Method.SEARCH),
    Mutant(ring_of_129_in_another_order, "ring_allreduce", "dense.ring_allreduce.definition", Method.SEARCH),
    Mutant(allgather_of_float32, "allgather", "dense.allgather.definition", Method.SEARCH),
    Mutant(gather_blocks_skips_empty, "gather_blocks", "dense.gather_blocks.mean_received", Method.EXACT),
)

CONTROLS = (
    dense(ring_allreduce, ranks=(2, 3, 5, 8)),  # as the book has it: P >= 2
    dense(recursive_doubling_allreduce),
    dense(rabenseifner_allreduce, multiple_of=8),  # n is a multiple of the power of two
    dense(butterfly_allreduce),
)
"""Right ones, with what the book says of them, for the conformance kit."""
