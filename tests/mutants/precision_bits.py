"""Broken twins of the simulated all-reduce, and of the quantised ones, each by one defect."""

from dataclasses import replace

import numpy as np

from commbounds.collectives import (
    hierarchical_quantised_allreduce,
    oneshot_quantised_allreduce,
    ring_quantised_allreduce,
    twostep_quantised_allreduce,
)
from commbounds.collectives.precision import rounded, simulated_allreduce
from commbounds.verify import Method
from mutants.record import Mutant

SUBJECT = "simulated_allreduce"

# --- who keeps and adds what ------------------------------------------------------------------------------------------


def owners_keep_their_sums(stack, *, kept, **how):
    """Owners keep their sums as they were added, whatever was asked for."""
    return simulated_allreduce(stack, kept="unrounded", **how)


def partners_keep_their_own(stack, *, schedule, own, **how):
    """In recursive doubling partners add what arrives to their own sum as it is."""
    own = "unrounded" if schedule == "recursive_doubling" else own
    return simulated_allreduce(stack, schedule=schedule, own=own, **how)


def halves_keep_their_own(stack, *, schedule, own, **how):
    """In Rabenseifner's schedule a rank adds what arrives to its own half as it is."""
    own = "unrounded" if schedule == "rabenseifner" else own
    return simulated_allreduce(stack, schedule=schedule, own=own, **how)


# --- in which order ---------------------------------------------------------------------------------------------------


def order_begins_at_the_owner(stack, *, schedule, **how):
    """The order of the ranks begins with the owner of the block."""
    return simulated_allreduce(stack, schedule="direct" if schedule == "in_rank_order" else schedule, **how)


def doubling_farthest_first(stack, *, schedule, **how):
    """Recursive doubling begins with the farthest rank."""
    return simulated_allreduce(stack, schedule="rabenseifner" if schedule == "recursive_doubling" else schedule, **how)


def halving_neighbours_first(stack, *, schedule, **how):
    """Rabenseifner's schedule begins with the neighbours."""
    return simulated_allreduce(stack, schedule="recursive_doubling" if schedule == "rabenseifner" else schedule, **how)


def order_by_place(stack, **how):
    """Ranks take turns to be the first, entry by entry."""
    x = np.asarray(stack)
    turned = np.stack([np.roll(column, i) for i, column in enumerate(x.T)], axis=1)
    return simulated_allreduce(turned, **how)


# --- averages ---------------------------------------------------------------------------------------------------------


def always_before(stack, *, average, **how):
    """Entries are divided before they are added, also where the sum is to be divided."""
    return simulated_allreduce(stack, average="before" if average == "after" else average, **how)


def always_after(stack, *, average, **how):
    """The sum is divided, also where entries are to be."""
    return simulated_allreduce(stack, average="after" if average == "before" else average, **how)


def halved_behind(stack, *, average, **how):
    """Where sums are to be halved before each addition, the sum of all is divided."""
    return simulated_allreduce(stack, average="after" if average == "halving" else average, **how)


def divided_in_few_digits(stack, *, average, **how):
    """What is divided before it is added is rounded to three digits first."""
    x = rounded(stack, "float8_e5m2") if average == "before" else stack
    return simulated_allreduce(x, average=average, **how)


def last_rank_forgotten(stack, **how):
    """The last of several ranks brings zeros."""
    x = np.array(stack)
    if len(x) > 1:
        x[-1] = 0.0
    return simulated_allreduce(x, **how)


# --- formats ----------------------------------------------------------------------------------------------------------


def wide_sums(stack, *, accumulate, **how):
    """Sums are in float64, whatever was asked for, and travel so."""
    return simulated_allreduce(stack, accumulate="float64", **{**how, "per_hop": False})


def sums_travel_wide(stack, *, per_hop, **how):
    """Sums travel in the accumulator's format."""
    return simulated_allreduce(stack, per_hop=False, **how)


def owners_add_narrow(stack, *, accumulate, wire, **how):
    """Sums are added in the wire's format."""
    return simulated_allreduce(stack, accumulate=wire, wire=wire, **how)


def tree_one_by_one(stack, *, schedule, **how):
    """A tree's terms are added one after another."""
    trees = ("binomial", "recursive_doubling", "rabenseifner")
    return simulated_allreduce(stack, schedule="in_rank_order" if schedule in trees else schedule, **how)


def infinity_is_no_number(stack, **how):
    """What overflows is NaN in every format."""
    held = simulated_allreduce(stack, **how)
    return np.where(np.isinf(held), np.nan, held)


def counted_twice(stack, **how):
    """Rank 0 is added twice."""
    x = np.array(stack)
    with np.errstate(over="ignore"):
        x[0] *= 2
    return simulated_allreduce(x, **how)


# --- quantised --------------------------------------------------------------------------------------------------------


def _a_bit_less(quantiser):
    return replace(quantiser, width=max(1, quantiser.width - 1))


def twostep_a_bit_short(stack, quantiser, second=None, **more):
    """The two-step with a bit less in every code."""
    return twostep_quantised_allreduce(stack, _a_bit_less(quantiser), second and _a_bit_less(second), **more)


def ring_a_bit_short(stack, quantiser, **more):
    """The quantised ring with a bit less in every code."""
    return ring_quantised_allreduce(stack, _a_bit_less(quantiser), **more)


def oneshot_a_bit_short(stack, quantiser, **more):
    """One shot with a bit less in every code."""
    return oneshot_quantised_allreduce(stack, _a_bit_less(quantiser), **more)


def hierarchy_a_bit_short(stack, quantiser, node, **more):
    """The quantised hierarchy with a bit less in every code."""
    return hierarchical_quantised_allreduce(stack, _a_bit_less(quantiser), node, **more)


def _killed(twin, claim, method=Method.SEARCH, subject=SUBJECT):
    return Mutant(twin, subject, f"precision.{claim}", method)


OF_BITS = (
    _killed(owners_keep_their_sums, "bits.agreement"),
    _killed(partners_keep_their_own, "bits.agreement"),
    _killed(halves_keep_their_own, "fused.anywhere"),
    _killed(order_begins_at_the_owner, "fused.anywhere"),
    _killed(order_by_place, "fused.same_block"),
    _killed(doubling_farthest_first, "shards.doubling"),
    _killed(halving_neighbours_first, "shards.rabenseifner_in_turn"),
    _killed(always_before, "average.underflow_after"),
    _killed(always_after, "average.before_with_room"),
    _killed(halved_behind, "average.halving_in_range"),
    _killed(divided_in_few_digits, "average.power_of_two"),
    _killed(last_rank_forgotten, "average.error"),
    _killed(wide_sums, "overflow.stagnation", Method.EXACT),
    _killed(tree_one_by_one, "overflow.tree", Method.EXACT),
    _killed(infinity_is_no_number, "overflow.infinite"),
    _killed(counted_twice, "overflow.in_range"),
    _killed(sums_travel_wide, "growth.ring"),
    _killed(owners_add_narrow, "growth.wide_owner"),
    _killed(twostep_a_bit_short, "quantised.twostep", subject="twostep_quantised_allreduce"),
    _killed(ring_a_bit_short, "quantised.ring", subject="ring_quantised_allreduce"),
    _killed(oneshot_a_bit_short, "quantised.oneshot", subject="oneshot_quantised_allreduce"),
    _killed(hierarchy_a_bit_short, "quantised.hierarchical", subject="hierarchical_quantised_allreduce"),
)
"""Every broken twin, and what kills it."""
