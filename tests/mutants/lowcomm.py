"""Broken twins of the column lowcomm, each by one defect."""

from dataclasses import replace
from math import comb

import numpy as np
from zoo.right import SMALL

from commbounds.collectives.lowcomm import (
    binned,
    chunk_length,
    demo_round,
    diloco_round,
    e3m0,
    loco_round,
    noloco_round,
    quantised_reduce_scatter,
    quorum_merge,
    resets,
    sparse_bits,
    sparseloco_round,
)
from commbounds.verify import Method
from commbounds.verify import conformance as cf
from mutants.record import Mutant


def pseudo_gradient_reversed(stack, anchor, momentum=None, *numbers, direction="anchor - local", **options):
    """The pseudo-gradient has the wrong sign."""
    other = {"anchor - local": "local - anchor", "local - anchor": "anchor - local"}[direction]
    return diloco_round(stack, anchor, momentum, *numbers, direction=other, **options)


def always_heavy_ball(stack, anchor, momentum=None, *numbers, rule="nesterov", **options):
    """Nesterov's step is taken without looking ahead."""
    return diloco_round(stack, anchor, momentum, *numbers, rule="heavy-ball", **options)


def last_worker_forgotten(stack, anchor, momentum=None, *numbers, **options):
    """The last of several workers is averaged as if it had not moved."""
    rows = np.array(stack)
    if len(rows) > 1:
        rows[-1] = anchor
    return diloco_round(rows, anchor, momentum, *numbers, **options)


def sums_instead_of_averages(stack, anchor, momentum=None, outer_lr=0.7, *numbers, **options):
    """Pseudo-gradients are added up, and not divided."""
    return diloco_round(stack, anchor, momentum, len(stack) * outer_lr, *numbers, **options)


def whole_vector_for_a_fragment(stack, anchor, momentum=None, *numbers, **options):
    """A fragment costs what the whole vector costs."""
    state, _ = diloco_round(stack, anchor, momentum, *numbers, **options)
    given = {name: value for name, value in options.items() if name not in ("start", "stop")}
    return state, diloco_round(stack, anchor, momentum, *numbers, **given)[1]


def blended_the_other_way(stack, anchor, momentum=None, *numbers, blend=0.0, **options):
    """A worker keeps the share that it should give up."""
    return diloco_round(stack, anchor, momentum, *numbers, blend=1.0 - blend, **options)


def momentum_started_anew(stack, anchor, momentum=None, *numbers, **options):
    """The momentum is forgotten after every round."""
    return diloco_round(stack, anchor, None, *numbers, **options)


def everybody_counts(stack, tokens, arrived=None, **options):
    """The late ones are merged, too."""
    return quorum_merge(stack, tokens, None, **options)


def tokens_ignored(stack, tokens, arrived=None, **options):
    """All weights are one."""
    return quorum_merge(stack, np.ones(len(stack)), arrived, **options)


def divided_by_what_arrived(stack, tokens, arrived=None, *, divisor="arrived"):
    """The divisor is always that of those who are there."""
    return quorum_merge(stack, tokens, arrived)


def late_ones_hear_nothing(stack, tokens, arrived=None, **options):
    """The server answers only those whose vectors arrived; counted so."""
    merged, traffic = quorum_merge(stack, tokens, arrived, **options)
    there = np.ones(len(stack), bool) if arrived is None else np.asarray(arrived)
    sent = traffic.sent.copy()
    sent[0] = there[1:].sum() * np.asarray(stack).shape[1]
    return merged, replace(traffic, sent=sent)


def always_the_same_pairs(workers, order, *numbers):
    """Workers meet their neighbours in every round."""
    return noloco_round(workers, np.arange(len(workers)), *numbers)


def pulled_past_the_mean(workers, order, momentum=0.5, outer_lr=0.7, pull=1.0):
    """Workers go to their partner, and not to the mean."""
    return noloco_round(workers, order, momentum, outer_lr, 2 * pull)


def velocity_dropped(workers, order, momentum=0.5, outer_lr=0.7, pull=1.0):
    """The momentum has no effect."""
    return noloco_round(workers, order, 0.0, outer_lr, pull)


def gradients_not_sent(workers, order, *numbers):
    """Only slow weights are counted."""
    result, traffic = noloco_round(workers, order, *numbers)
    return result, replace(traffic, sent=traffic.sent // 2)


def residual_cleared(workers, k, chunk=4096, beta=0.95, **options):
    """What was not sent is forgotten."""
    result, traffic = sparseloco_round(workers, k, chunk, beta, **options)
    result[:, 1] = 0
    return result, traffic


def residual_never_decays(workers, k, chunk=4096, beta=0.95, **options):
    """The residual is kept whole, whatever is asked."""
    return sparseloco_round(workers, k, chunk, 1.0, **options)


def third_residual_grows(workers, k, chunk=4096, beta=0.95, **options):
    """From the third worker on the residual is kept twice."""
    result, traffic = sparseloco_round(workers, k, chunk, beta, **options)
    result[2:, 1] *= 2
    return result, traffic


def residual_kept_twice(workers, k, chunk=4096, beta=0.95, **options):
    """What was sent stays in the residual."""
    result, traffic = sparseloco_round(workers, k, chunk, beta, **options)
    rows = np.asarray(workers)
    result[:, 1] = beta * rows[:, 1] + rows[:, 0]
    return result, traffic


def indices_free(workers, k, chunk=4096, beta=0.95, **options):
    """An entry is counted as one word."""
    result, traffic = sparseloco_round(workers, k, chunk, beta, **options)
    return result, replace(traffic, sent=traffic.sent // 2)


def logarithms_rounded_down(n, k, chunk, value_bits=2, positions="one by one"):
    """An index has floor(log2 chunk) bits."""
    missing = n // chunk * (k if chunk & (chunk - 1) and positions == "one by one" else 0)
    return sparse_bits(n, k, chunk, value_bits, positions) - missing


def sets_one_by_one(n, k, chunk, value_bits=2, positions="one by one"):
    """Sets cost what single positions cost."""
    return sparse_bits(n, k, chunk, value_bits, "one by one")


def sets_with_order(n, k, chunk, value_bits=2, positions="one by one"):
    """Sets are told apart by the order of their entries, too, where there are two."""
    extra = n // chunk if positions == "as a set" and k > 1 and comb(chunk, k) > 1 else 0
    return sparse_bits(n, k, chunk, value_bits, positions) + extra


def middles_of_bins(values, bins=4, reach=6.0):
    """A value stands for the middle of its bin."""
    x = np.asarray(values, np.float64)
    sd = x.std(ddof=1) if x.size > 1 else 0.0
    if sd == 0:
        return binned(values, bins, reach)
    width = reach * sd / bins
    codes = np.clip(np.rint((x - x.mean()) / width) + bins // 2, 0, bins - 1)
    return (codes - bins // 2) * width + x.mean()


def bins_of_positive_values(values, bins=4, reach=6.0):
    """Values below the mean are all in one bin."""
    x = np.asarray(values, np.float64)
    kept = np.array(binned(values, bins, reach), np.float64)
    below = x < x.mean()
    if below.any():
        kept[below] = x[below].mean()
    return kept


def third_momentum_grows(workers, k, chunk=64, beta=0.999, **options):
    """From the third worker on the momentum is kept twice."""
    result, traffic = demo_round(workers, k, chunk, beta, **options)
    result[2:, 1] *= 2
    return result, traffic


def transform_not_orthonormal(workers, k, chunk=64, beta=0.999, **options):
    """What is taken from the momentum is twice what was sent."""
    result, traffic = demo_round(workers, k, chunk, beta, **options)
    rows = np.asarray(workers)
    m = beta * rows[:, 1] + rows[:, 0]
    result[:, 1] = m - 2 * (m - result[:, 1])
    return result, traffic


def always_by_senders(workers, k, chunk=64, beta=0.999, *, share="senders", signed=False):
    """Sums are divided by the number of senders, whatever is asked."""
    return demo_round(workers, k, chunk, beta, signed=signed)


def always_by_ranks(workers, k, chunk=64, beta=0.999, *, share="senders", signed=False):
    """Sums are divided by the number of ranks, whatever is asked."""
    return demo_round(workers, k, chunk, beta, share="ranks", signed=signed)


def signs_of_senders_turned(workers, k, chunk=64, beta=0.999, *, share="senders", signed=False):
    """Divided by senders, the update is turned."""
    result, traffic = demo_round(workers, k, chunk, beta, share=share, signed=signed)
    if share == "senders":
        result[:, 0] *= -1
    return result, traffic


def momentum_not_decayed(workers, k, chunk=64, beta=0.999, **options):
    """The momentum is kept whole, whatever is asked."""
    return demo_round(workers, k, chunk, 1.0, **options)


def chunk_as_asked(n, target=64):
    """Where the chunk does not divide n, the smallest prime factor is taken."""
    made = chunk_length(n, target)
    return made if made in (1, target, n) else next(d for d in range(2, n + 1) if n % d == 0)


def error_kept_whole(workers, step, bits=4, fresh=0.2, *, reset=False, kept=None):
    """The newest error is added to the old ones, and not averaged."""
    result, traffic = loco_round(workers, step, bits, fresh, reset=reset)
    rows = np.asarray(workers)
    whole, _ = loco_round(workers, step, bits, 1.0, reset=reset)
    result[:, 1] = rows[:, 1] + whole[:, 1]
    return result, traffic


def a_bit_lost(workers, step, bits=4, fresh=0.2, *, reset=False, kept=None):
    """Codes have a bit less than is asked for."""
    return loco_round(workers, step, max(2, bits - 1), fresh, reset=reset, kept=kept)


def third_error_kept_apart(workers, step, bits=4, fresh=0.2, *, reset=False, kept=None):
    """From the third worker on the compensation is not added."""
    rows = np.array(workers)
    rows[2:, 1] = 0
    return loco_round(rows, step, bits, fresh, reset=reset, kept=kept)


def error_with_the_wrong_sign(workers, step, bits=4, fresh=0.2, *, reset=False, kept=None):
    """What was sent less what should have been is compensated."""
    result, traffic = loco_round(workers, step, bits, fresh, reset=reset)
    result[:, 1] *= -1
    return result, traffic


def error_kept_unrounded(workers, step, bits=4, fresh=0.2, *, reset=False, kept=None):
    """The error is kept as it is, whatever bits there are."""
    return loco_round(workers, step, bits, fresh, reset=reset)


def error_rounded_up(workers, step, bits=4, fresh=0.2, *, reset=False, kept=None):
    """The error is rounded away from zero."""
    result, traffic = loco_round(workers, step, bits, fresh, reset=reset)
    if kept is not None:
        e = result[:, 1]
        result[:, 1] = np.sign(e) * np.ceil(np.abs(e) / kept) * kept
    return result, traffic


def powers_truncated(values):
    """Takes the power of two below."""
    x = np.asarray(values)
    top = np.abs(x).max() or 1.0
    shares = np.maximum(np.abs(x) / top, 2.0**-300)
    return np.where(shares < 2.0**-6, 0, np.sign(x) * 2.0 ** np.floor(np.log2(shares)) * top)


def five_powers(values):
    """Has no numbers below 1/16."""
    y = np.array(e3m0(values))
    y[np.abs(y) < np.abs(y).max() / 16] = 0
    return y


def every_tensor_reset(tensors, reset_after, passes):
    """Every tensor has a counter of its own."""
    return np.full(tensors, passes // (reset_after + 1), np.int64)


def one_update_late(tensors, reset_after, passes):
    """The counter begins again one update later."""
    return resets(tensors, reset_after + 1, passes)


def codes_rounded_down(stack, step, bits=8, way="hierarchical", node=1, **options):
    """Codes are rounded down."""
    x = np.floor(np.asarray(stack) / step) * step
    return quantised_reduce_scatter(x, step, bits, way, node, **options)


def first_rank_twice(stack, step, bits=8, way="hierarchical", node=1, **options):
    """Rank 0 is added twice, where there is another."""
    x = np.array(stack)
    if len(x) > 1:
        x[0] *= 2
    return quantised_reduce_scatter(x, step, bits, way, node, **options)


def slices_never_reordered(stack, step, bits=8, way="hierarchical", node=1, *, reorder=True):
    """Slices go out as they lie, whatever is asked."""
    return quantised_reduce_scatter(stack, step, bits, way, node, reorder=False)


def own_node_counted(stack, step, bits=8, way="hierarchical", node=1, **options):
    """What stays on a node is counted among what goes to others."""
    blocks, traffic = quantised_reduce_scatter(stack, step, bits, way, node, **options)
    if way == "ring":
        return blocks, traffic
    across = traffic.phases["across"]
    counted = replace(across, sent=across.sent + traffic.phases["within"].sent)
    return blocks, replace(traffic, phases={**traffic.phases, "across": counted})


_D, _Q, _N, _S = "diloco_round", "quorum_merge", "noloco_round", "sparseloco_round"
_M, _L, _Z = "demo_round", "loco_round", "quantised_reduce_scatter"
_B, _W = "binned", "sparse_bits"
EXACT, SEARCH = Method.EXACT, Method.SEARCH


def momentum_of_seven_is_kept(stack, anchor, momentum=None, *arguments, **options):
    """Seven workers go on with the momentum that they began with."""
    state, traffic = diloco_round(stack, anchor, momentum, *arguments, **options)
    if len(stack) == 7 and momentum is not None:
        state = replace(state, momentum=np.tile(momentum, (7, 1)))
    return state, traffic


def seven_bits_reach_as_far_as_eight(workers, step, bits=4, *numbers, **options):
    """Codes of seven bits are those of eight."""
    return loco_round(workers, step, 8 if bits == 7 else bits, *numbers, **options)


def half_goes_up(values):
    """Values are the next larger ones: what lies half-way goes up."""
    return e3m0(np.nextafter(np.asarray(values), np.inf, dtype=np.asarray(values).dtype))


MUTANTS = (
    Mutant(pseudo_gradient_reversed, _D, "lowcomm.diloco.progress", EXACT),
    Mutant(always_heavy_ball, _D, "lowcomm.diloco.effective_step", EXACT),
    Mutant(last_worker_forgotten, _D, "lowcomm.diloco.average", EXACT),
    Mutant(sums_instead_of_averages, _D, "lowcomm.diloco.first_round", EXACT),
    Mutant(whole_vector_for_a_fragment, _D, "lowcomm.streaming.peak", EXACT),
    Mutant(blended_the_other_way, _D, "lowcomm.streaming.blend", EXACT),
    Mutant(momentum_started_anew, _D, "lowcomm.diloco.radius", SEARCH),
    Mutant(everybody_counts, _Q, "lowcomm.quorum.share", EXACT),
    Mutant(tokens_ignored, _Q, "lowcomm.quorum.expected_divisor", EXACT),
    Mutant(divided_by_what_arrived, _Q, "lowcomm.quorum.expected_divisor", EXACT),
    Mutant(late_ones_hear_nothing, _Q, "lowcomm.quorum.words", EXACT),
    Mutant(always_the_same_pairs, _N, "lowcomm.noloco.odd", EXACT),
    Mutant(pulled_past_the_mean, _N, "lowcomm.noloco.even", EXACT),
    Mutant(velocity_dropped, _N, "lowcomm.noloco.stable", EXACT),
    Mutant(gradients_not_sent, _N, "lowcomm.noloco.words", EXACT),
    Mutant(residual_cleared, _S, "lowcomm.sparseloco.turns", EXACT),
    Mutant(residual_never_decays, _S, "lowcomm.sparseloco.starved", EXACT),
    Mutant(residual_kept_twice, _S, "lowcomm.sparseloco.residual", EXACT),
    Mutant(third_residual_grows, _S, "lowcomm.sparseloco.missing", EXACT),
    Mutant(indices_free, _S, "lowcomm.sparseloco.words", EXACT),
    Mutant(logarithms_rounded_down, _W, "lowcomm.sparseloco.bits", EXACT),
    Mutant(sets_one_by_one, _W, "lowcomm.sparseloco.set_bits", EXACT),
    Mutant(sets_with_order, _W, "lowcomm.sparseloco.set_bits", EXACT),
    Mutant(middles_of_bins, _B, "lowcomm.binned.sum", SEARCH),
    Mutant(bins_of_positive_values, _B, "lowcomm.binned.odd", SEARCH),
    Mutant(error_kept_unrounded, _L, "lowcomm.loco.kept_dead", EXACT),
    Mutant(error_rounded_up, _L, "lowcomm.loco.kept_compensation", EXACT),
    Mutant(powers_truncated, "e3m0", "lowcomm.e3m0.contraction", EXACT),
    Mutant(five_powers, "e3m0", "lowcomm.e3m0.relative_above", EXACT),
    Mutant(transform_not_orthonormal, _M, "lowcomm.demo.contraction", SEARCH),
    Mutant(third_momentum_grows, _M, "lowcomm.demo.missing", SEARCH),
    Mutant(always_by_senders, _M, "lowcomm.demo.by_ranks", SEARCH),
    Mutant(always_by_ranks, _M, "lowcomm.demo.by_senders", SEARCH),
    Mutant(signs_of_senders_turned, _M, "lowcomm.demo.one_amplitude", SEARCH),
    Mutant(momentum_not_decayed, _M, "lowcomm.demo.missing", SEARCH),
    Mutant(chunk_as_asked, "chunk_length", "lowcomm.demo.chunk", EXACT),
    Mutant(error_kept_whole, _L, "lowcomm.loco.compensation", EXACT),
    Mutant(error_with_the_wrong_sign, _L, "lowcomm.loco.late", EXACT),
    Mutant(a_bit_lost, _L, "lowcomm.loco.cut_once", EXACT),
    Mutant(third_error_kept_apart, _L, "lowcomm.loco.late_cut", EXACT),
    Mutant(every_tensor_reset, "resets", "lowcomm.loco.resets", EXACT),
    Mutant(one_update_late, "resets", "lowcomm.loco.resets", EXACT),
    Mutant(codes_rounded_down, _Z, "lowcomm.qgz.one_hop", EXACT),
    Mutant(first_rank_twice, _Z, "lowcomm.qgz.ring", EXACT),
    Mutant(slices_never_reordered, _Z, "lowcomm.qgz.order", EXACT),
    Mutant(own_node_counted, _Z, "lowcomm.qgz.across", EXACT),
    Mutant(momentum_of_seven_is_kept, "diloco_round", "lowcomm.diloco_round.definition", Method.SEARCH),
    Mutant(seven_bits_reach_as_far_as_eight, "loco_round", "lowcomm.loco_round.definition", Method.SEARCH),
    Mutant(half_goes_up, "e3m0", "lowcomm.e3m0.definition", Method.SEARCH),
)


def _averages(stack, seed):
    """DiLoCo without an outer optimiser, from zero: an average."""
    state, traffic = diloco_round(stack, np.zeros_like(stack[0]), None, 1.0, 0.0)
    return cf.AllReduceResult(state.parameters, traffic.sent, traffic.received)


CONTROLS = (cf.AllReduce(_averages, [cf.RanksAgree()], name="diloco_round", **SMALL),)
"""The outer round as a subject of the conformance kit."""
