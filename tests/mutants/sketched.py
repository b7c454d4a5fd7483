"""Broken twins of the column sketched, each by one defect; and the right ones."""

from dataclasses import replace

import numpy as np
from zoo.right import SMALL

from commbounds.collectives.sketched import fetchsgd_step, sketched_sum, sketched_topk
from commbounds.compressors.sketched import (
    Hashes,
    count_sketch,
    min_max_sketch,
    polynomial_hashes,
    sketch_estimates,
    unsketch,
)
from commbounds.verify import Method
from commbounds.verify import conformance as cf
from mutants.record import Mutant

# --- hashes ----------------------------------------------------------------------------------------------------------


def hashes_without_offset(coefficients, n, cells, prime):
    """Buckets are multiples of the entry's number: the first entry never moves."""
    given = np.array(coefficients)
    given[:, 1] = 0
    return polynomial_hashes(given, n, cells, prime)


def hashes_without_prime(coefficients, n, cells, prime):
    """Buckets are taken modulo the counters alone."""
    given = np.asarray(coefficients)
    buckets = (given[:, :1] * np.arange(n) + given[:, 1:2]) % cells
    return Hashes(buckets, polynomial_hashes(given, n, cells, prime).signs)


def signs_of_the_slope(coefficients, n, cells, prime):
    """Signs leave out the last coefficient."""
    given = np.array(coefficients)
    given[:, 5] = 0
    return Hashes(
        polynomial_hashes(coefficients, n, cells, prime).buckets, polynomial_hashes(given, n, cells, prime).signs
    )


def signs_constant(coefficients, n, cells, prime):
    """Signs are those of the last coefficient, the same for all entries."""
    given = np.array(coefficients)
    given[:, 2:5] = 0
    return Hashes(
        polynomial_hashes(coefficients, n, cells, prime).buckets, polynomial_hashes(given, n, cells, prime).signs
    )


# --- tables and estimates --------------------------------------------------------------------------------------------


def sketch_of_magnitudes(x, buckets, signs, cells):
    """Magnitudes are added up, not entries."""
    return count_sketch(np.abs(x), buckets, signs, cells)


def sketch_without_signs(x, buckets, signs, cells):
    """All signs are +1, as in a count-min sketch."""
    return count_sketch(x, buckets, np.ones_like(signs), cells)


def sketch_forgets_the_first(x, buckets, signs, cells):
    """The first entry is left out."""
    rest = np.array(x)
    rest[0] = 0
    return count_sketch(rest, buckets, signs, cells)


def sketch_overwrites(x, buckets, signs, cells):
    """A counter holds the last entry, not the sum."""
    table = np.zeros((len(buckets), cells))
    for row, (places, factors) in enumerate(zip(buckets, signs, strict=True)):
        table[row, places] = factors * np.asarray(x)
    return table


def estimates_without_signs(table, buckets, signs, middle="mean"):
    """Counters are read without the signs."""
    return sketch_estimates(table, buckets, np.ones_like(signs), middle)


def estimates_shrunk(table, buckets, signs, middle="mean"):
    """Estimates are divided by one more than a ninth."""
    return sketch_estimates(table, buckets, signs, middle) * 0.9


def estimates_of_the_first_row(table, buckets, signs, middle="mean"):
    """One row is read, however many there are."""
    return sketch_estimates(np.asarray(table)[:1], buckets[:1], signs[:1], middle)


def estimates_averaged(table, buckets, signs, middle="mean"):
    """The mean over the rows, not the median."""
    rows = [sketch_estimates(table[j : j + 1], buckets[j : j + 1], signs[j : j + 1]) for j in range(len(buckets))]
    return np.mean(rows, axis=0)


def estimates_largest(table, buckets, signs, middle="mean"):
    """The largest magnitude of the rows, not the median."""
    rows = [sketch_estimates(table[j : j + 1], buckets[j : j + 1], signs[j : j + 1]) for j in range(len(buckets))]
    return np.take_along_axis(np.array(rows), np.abs(rows).argmax(axis=0)[None], 0)[0]


def estimates_upper(table, buckets, signs, middle="mean"):
    """The upper of the middle two, where the lower one is asked for."""
    if middle == "lower":
        return -sketch_estimates(-np.asarray(table), buckets, signs, "lower")
    return sketch_estimates(table, buckets, signs, middle) + 0.125


def unsketch_one_more(table, buckets, signs, k, middle="mean"):
    """One entry more than asked for."""
    return unsketch(table, buckets, signs, min(k + 1, len(buckets[0])), middle)


def unsketch_smallest(table, buckets, signs, k, middle="mean"):
    """The smallest estimates are kept."""
    estimates = sketch_estimates(table, buckets, signs, middle)
    kept = np.argsort(np.abs(estimates), kind="stable")[:k]
    return np.where(np.isin(np.arange(estimates.size), kept), estimates, 0)


def unsketch_positive(table, buckets, signs, k, middle="mean"):
    """The largest estimates, not the largest magnitudes, are kept."""
    estimates = sketch_estimates(table, buckets, signs, middle)
    kept = np.argsort(-estimates, kind="stable")[:k]
    return np.where(np.isin(np.arange(estimates.size), kept), estimates, 0)


def unsketch_doubled(table, buckets, signs, k, middle="mean"):
    """Recovered entries are twice as large."""
    return 2 * unsketch(table, buckets, signs, k, middle)


def levels_of_the_largest(levels, buckets, cells):
    """Cells hold the largest level."""
    top = np.max(levels)
    return top - min_max_sketch(top - np.asarray(levels), buckets, cells)


def levels_least_of_rows(levels, buckets, cells):
    """The least of the rows is taken."""
    return np.min([min_max_sketch(levels, row[None], cells) for row in np.asarray(buckets)], axis=0)


def levels_of_the_first_row(levels, buckets, cells):
    """One row is read."""
    return min_max_sketch(levels, np.asarray(buckets)[:1], cells)


def levels_exact(levels, buckets, cells):
    """Nothing collides."""
    return np.array(levels)


# --- collectives -----------------------------------------------------------------------------------------------------


def sum_counts_one_row(stack, buckets, signs, cells, k, middle="mean"):
    """The words of one row alone are counted."""
    total, traffic = sketched_sum(stack, buckets, signs, cells, k, middle)
    return total, replace(traffic, sent=traffic.sent // len(buckets))


def sum_of_all_entries(stack, buckets, signs, cells, k, middle="mean"):
    """Entries travel, not their sketch."""
    places = np.arange(np.shape(stack)[1])[None]
    return sketched_sum(stack, places, np.ones_like(places), places.size, k, middle)


def sum_of_wider_sketches(stack, buckets, signs, cells, k, middle="mean"):
    """A counter more in every row."""
    return sketched_sum(stack, buckets, signs, cells + 1, k, middle)


def sum_of_one_row_less(stack, buckets, signs, cells, k, middle="mean"):
    """The last row is left at home."""
    least = max(1, len(buckets) - 1)
    return sketched_sum(stack, buckets[:least], signs[:least], cells, k, middle)


def topk_entries_travel_free(stack, buckets, signs, cells, k, candidates):
    """The words of the second round are not counted."""
    total, traffic = sketched_topk(stack, buckets, signs, cells, k, candidates)
    return total, replace(traffic, sent=traffic.phases["sketch"].sent)


def topk_asks_for_k(stack, buckets, signs, cells, k, candidates):
    """Only as many entries are asked for as are kept."""
    return sketched_topk(stack, buckets, signs, cells, k, k)


def topk_with_estimates(stack, buckets, signs, cells, k, candidates):
    """Estimates are returned, not the exact entries."""
    _, traffic = sketched_topk(stack, buckets, signs, cells, k, candidates)
    return sketched_sum(stack, buckets, signs, cells, k)[0], traffic


def topk_of_the_mean(stack, buckets, signs, cells, k, candidates):
    """With the sign of the sum turned."""
    total, traffic = sketched_topk(stack, buckets, signs, cells, k, candidates)
    return -total, traffic


def step_always_zeroes(stack, momentum, error, buckets, signs, k, rho=0.9, forget="zero"):
    """Cells are set to zero where the sketch should be subtracted."""
    return fetchsgd_step(stack, momentum, error, buckets, signs, k, rho, "zero")


def step_always_subtracts(stack, momentum, error, buckets, signs, k, rho=0.9, forget="zero"):
    """Every update is subtracted, and once more than it should be."""
    state, traffic = fetchsgd_step(stack, momentum, error, buckets, signs, k, rho, forget)
    again = count_sketch(state.update[0], buckets, signs, np.shape(error)[1])
    return state._replace(error=state.error - again), traffic


def step_keeps_the_error(stack, momentum, error, buckets, signs, k, rho=0.9, forget="zero"):
    """Nothing is forgotten where the sketch should be subtracted."""
    state, traffic = fetchsgd_step(stack, momentum, error, buckets, signs, k, rho, "subtract")
    if forget == "subtract":
        state = state._replace(error=state.error + count_sketch(state.update[0], buckets, signs, np.shape(error)[1]))
    return state, traffic


def step_forgets_the_error(stack, momentum, error, buckets, signs, k, rho=0.9, forget="zero"):
    """The error of the steps before is not added."""
    return fetchsgd_step(stack, momentum, 0 * np.asarray(error), buckets, signs, k, rho, forget)


def step_divides_by_a_power_of_two(stack, momentum, error, buckets, signs, k, rho=0.9, forget="zero"):
    """The sum is divided by the power of two below the number of ranks."""
    factor = len(stack) / 2 ** (len(stack).bit_length() - 1)
    return fetchsgd_step(factor * np.asarray(stack), momentum, error, buckets, signs, k, rho, forget)


def step_zeroes_neighbours(stack, momentum, error, buckets, signs, k, rho=0.9, forget="zero"):
    """Of two counters beside each other both are zero where one is to be."""
    state, traffic = fetchsgd_step(stack, momentum, error, buckets, signs, k, rho, forget)
    if forget == "zero":
        sent = count_sketch(state.update[0], buckets, signs, np.shape(error)[1]) != 0
        state = state._replace(error=np.where(np.roll(sent, 1, axis=1), 0, state.error))
    return state, traffic


EXACT, SEARCH = Method.EXACT, Method.SEARCH
_H, _T, _R, _M = "sketched.hashes.", "sketched.table.", "sketched.row.", "sketched.median."
_K, _F, _L, _W = "sketched.recovery.", "sketched.fetchsgd.", "sketched.minmax.", "sketched.words."
MUTANTS = (
    Mutant(hashes_without_offset, "polynomial_hashes", _H + "collision", EXACT),
    Mutant(hashes_without_prime, "polynomial_hashes", _H + "collision", EXACT),
    Mutant(signs_of_the_slope, "polynomial_hashes", _H + "sign_mean", EXACT),
    Mutant(signs_constant, "polynomial_hashes", _H + "sign_pair", EXACT),
    Mutant(sketch_of_magnitudes, "count_sketch", _T + "linear", EXACT),
    Mutant(sketch_without_signs, "count_sketch", _T + "norm", EXACT),
    Mutant(sketch_forgets_the_first, "count_sketch", _T + "norm", EXACT),
    Mutant(sketch_overwrites, "count_sketch", _T + "norm", EXACT),
    Mutant(estimates_without_signs, "sketch_estimates", _R + "unbiased", EXACT),
    Mutant(estimates_shrunk, "sketch_estimates", _R + "variance", EXACT),
    Mutant(estimates_of_the_first_row, "sketch_estimates", _M + "tail", EXACT),
    Mutant(estimates_averaged, "sketch_estimates", _M + "parity", EXACT),
    Mutant(estimates_largest, "sketch_estimates", _M + "exponential", EXACT),
    Mutant(estimates_upper, "sketch_estimates", _M + "unbiased", EXACT),
    Mutant(unsketch_one_more, "unsketch", _K + "one_cell", EXACT),
    Mutant(unsketch_smallest, "unsketch", _K + "largest", SEARCH),
    Mutant(unsketch_positive, "unsketch", _K + "largest", SEARCH),
    Mutant(unsketch_doubled, "unsketch", _K + "one_cell", EXACT),
    Mutant(levels_of_the_largest, "min_max_sketch", _L + "under", EXACT),
    Mutant(levels_least_of_rows, "min_max_sketch", _L + "exact", EXACT),
    Mutant(levels_of_the_first_row, "min_max_sketch", _L + "exact", EXACT),
    Mutant(levels_exact, "min_max_sketch", _L + "exact", EXACT),
    Mutant(sum_counts_one_row, "sketched_sum", _W + "one_round", EXACT),
    Mutant(sum_of_all_entries, "sketched_sum", _W + "one_round", EXACT),
    Mutant(sum_of_wider_sketches, "sketched_sum", _W + "one_round", EXACT),
    Mutant(sum_of_one_row_less, "sketched_sum", _W + "one_round", EXACT),
    Mutant(topk_entries_travel_free, "sketched_topk", _W + "two_rounds", EXACT),
    Mutant(topk_asks_for_k, "sketched_topk", _W + "two_rounds", EXACT),
    Mutant(topk_with_estimates, "sketched_topk", _K + "second_round", EXACT),
    Mutant(topk_of_the_mean, "sketched_topk", _K + "second_round", EXACT),
    Mutant(step_always_zeroes, "fetchsgd_step", _F + "conserves", EXACT),
    Mutant(step_always_subtracts, "fetchsgd_step", _F + "conserves", EXACT),
    Mutant(step_keeps_the_error, "fetchsgd_step", _F + "conserves", EXACT),
    Mutant(step_forgets_the_error, "fetchsgd_step", _F + "conserves", EXACT),
    Mutant(step_divides_by_a_power_of_two, "fetchsgd_step", _F + "conserves", EXACT),
    Mutant(step_zeroes_neighbours, "fetchsgd_step", _F + "same", EXACT),
)


def _perfect(n):
    """A row in which nothing collides, and two copies of it."""
    return np.tile(np.arange(n), (3, 1)), np.ones((3, n), np.int8)


def _summed(stack, seed):
    n = np.shape(stack)[1]
    total, traffic = sketched_sum(stack, *_perfect(n), n, n)
    return cf.AllReduceResult(total, traffic.sent, traffic.received)


def _asked(stack, seed):
    n = np.shape(stack)[1]
    total, traffic = sketched_topk(stack, *_perfect(n), n, n, n)
    return cf.AllReduceResult(total, traffic.sent, traffic.received)


CONTROLS = (
    cf.AllReduce(_summed, [cf.RanksAgree()], name="sketched_sum(no collisions)", **SMALL),
    cf.AllReduce(_asked, [cf.RanksAgree()], name="sketched_topk(no collisions)", **SMALL),
)
"""Right ones, with what is asked of them, for the conformance kit."""
