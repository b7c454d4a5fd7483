"""Broken twins of ARC-Top-K, each by one defect."""

from dataclasses import replace

import numpy as np

from commbounds.collectives import arctopk_allreduce, recursive_doubling_allreduce, ring_allreduce, row_count
from commbounds.collectives.traffic import Traffic
from commbounds.verify import Method
from mutants.record import Mutant


def smallest_rows(gradients, K, rank, rng=None, **options):
    """Keeps the rows of the smallest scores."""
    stack = np.asarray(gradients)
    P, m, _ = stack.shape
    result, traffic = arctopk_allreduce(stack, m, rank, rng, **options)
    rows = np.sort(np.argsort(result.scores[0], kind="stable")[:K])
    mean = np.zeros_like(stack)
    mean[:, rows] = stack.mean(axis=0)[rows]
    return replace(result, mean=mean, rows=np.repeat(rows[None], P, axis=0)), traffic


def one_row_fewer(gradients, K, rank, rng=None, **options):
    """Keeps K - 1 rows where K > 1."""
    return arctopk_allreduce(gradients, max(1, K - 1), rank, rng, **options)


def sum_in_place_of_mean(gradients, K, rank, rng=None, **options):
    """Returns the sum over the ranks."""
    result, traffic = arctopk_allreduce(gradients, K, rank, rng, **options)
    return replace(result, mean=result.mean * len(np.asarray(gradients))), traffic


def first_rank_decides(gradients, K, rank, rng=None, *, sketch=None, **options):
    """Scores the first rank's gradient, not the average."""
    stack = np.asarray(gradients)
    P, _, n = stack.shape
    V = rng.standard_normal((n, rank)) if sketch is None else sketch
    rows = arctopk_allreduce(stack[:1], K, rank, sketch=V)[0].rows
    result, traffic = arctopk_allreduce(stack, K, rank, sketch=V, **options)
    mean = np.zeros_like(stack)
    mean[:, rows[0]] = stack.mean(axis=0)[rows[0]]
    return replace(result, mean=mean, rows=np.repeat(rows, P, axis=0)), traffic


def first_rows(gradients, K, rank, rng=None, **options):
    """Keeps the first K rows, whatever they hold."""
    stack = np.asarray(gradients)
    result, traffic = arctopk_allreduce(stack, K, rank, rng, **options)
    mean = np.zeros_like(stack)
    mean[:, :K] = stack.mean(axis=0)[:K]
    return replace(result, mean=mean, rows=np.repeat(np.arange(K)[None], len(stack), axis=0)), traffic


def scaled_up(gradients, K, rank, rng=None, **options):
    """Multiplies what is kept by m/K, as unbiased Rand-K does."""
    result, traffic = arctopk_allreduce(gradients, K, rank, rng, **options)
    return replace(result, mean=result.mean * (np.asarray(gradients).shape[1] / K)), traffic


def one_sketch_forever(gradients, K, rank, rng=None, *, sketch=None, **options):
    """Uses the same sketch in every call: the last columns of the unit matrix."""
    n = np.asarray(gradients).shape[2]
    V = np.eye(n)[:, ::-1][:, :rank] if sketch is None else sketch
    return arctopk_allreduce(gradients, K, rank, sketch=V, **options)


def one_seed_for_every_sketch(gradients, K, rank, rng=None, **options):
    """Draws every sketch from the same seed."""
    return arctopk_allreduce(gradients, K, rank, np.random.default_rng(0), **options)


def sketch_of_one_column(gradients, K, rank, rng=None, *, sketch=None, **options):
    """Ignores the rank: the sketch has one column."""
    V = None if sketch is None else np.asarray(sketch)[:, :1]
    return arctopk_allreduce(gradients, K, 1, rng, sketch=V, **options)


def one_rank_dropped(gradients, K, rank, rng=None, **options):
    """Leaves the last rank's gradient out of everything."""
    stack = np.asarray(gradients).copy()
    stack[-1] = 0
    return arctopk_allreduce(stack, K, rank, rng, **options)


def words_of_doubling(gradients, K, rank, rng=None, **options):
    """Adds up by recursive doubling, whatever was asked for."""
    return arctopk_allreduce(gradients, K, rank, rng, **{**options, "allreduce": recursive_doubling_allreduce})


def words_of_rings(gradients, K, rank, rng=None, **options):
    """Adds up by rings, whatever was asked for."""
    return arctopk_allreduce(gradients, K, rank, rng, **{**options, "allreduce": ring_allreduce})


def scores_of_last_column(gradients, K, rank, rng=None, *, sketch=None, **options):
    """Scores rows by their last column alone."""
    V = np.zeros((np.asarray(gradients).shape[2], rank))
    V[-1] = 1.0
    return arctopk_allreduce(gradients, K, rank, sketch=V, **options)


def own_orders(gradients, K, rank, rng=None, **options):
    """Lets every rank add the sketches up in its own order."""
    return arctopk_allreduce(gradients, K, rank, rng, **{**options, "agree": False})


def kept_by_chance(gradients, K, rank, rng=None, **options):
    """Keeps K rows at random."""
    stack = np.asarray(gradients)
    result, traffic = arctopk_allreduce(stack, K, rank, rng, **options)
    rows = np.sort(rng.permutation(stack.shape[1])[:K])
    mean = np.zeros_like(stack)
    mean[:, rows] = stack.mean(axis=0)[rows]
    return replace(result, mean=mean, rows=np.repeat(rows[None], len(stack), axis=0)), traffic


def sketch_uncounted(gradients, K, rank, rng=None, **options):
    """Counts the rows alone."""
    result, traffic = arctopk_allreduce(gradients, K, rank, rng, **options)
    return result, Traffic.of_phases({"rows": traffic.phases["rows"]})


def indices_sent_too(gradients, K, rank, rng=None, **options):
    """Sends an index with every row."""
    result, traffic = arctopk_allreduce(gradients, K, rank, rng, **options)
    extra = arctopk_allreduce(np.asarray(gradients)[:, :, :1], K, rank, rng)[1].phases["rows"]
    return result, Traffic.of_phases({**traffic.phases, "indices": extra})


def never_fewer_than_floor(m, share, rule="ceil"):
    """Rounds the number of rows down."""
    return row_count(m, share, "floor")


_A, _ARC = "arctopk.allreduce.", "arctopk_allreduce"
EXACT, SEARCH, SAMPLE, EXTREMAL = Method.EXACT, Method.SEARCH, Method.SAMPLE, Method.EXTREMAL


def six_ranks_that_double_have_twice_the_mean(gradients, K, rank, rng=None, **options):
    """Doubles the mean of six ranks that add by recursive doubling."""
    result, traffic = arctopk_allreduce(gradients, K, rank, rng, **options)
    doubled = len(gradients) == 6 and options.get("allreduce") is recursive_doubling_allreduce
    return replace(result, mean=result.mean * (1 + doubled)), traffic


def rounded_to_bfloat16_by_default(gradients, K, rank, rng=None, *, sketch_format="bfloat16", **options):
    """Rounds sketches to bfloat16 where no format is named."""
    return arctopk_allreduce(gradients, K, rank, rng, sketch_format=sketch_format, **options)


def floor_by_default(m, share, rule="floor"):
    """Rounds the number of rows down where no rule is named."""
    return row_count(m, share, rule)


MUTANTS = (
    Mutant(six_ranks_that_double_have_twice_the_mean, _ARC, "arctopk.arctopk_allreduce.definition", SEARCH),
    Mutant(rounded_to_bfloat16_by_default, _ARC, "arctopk.arctopk_allreduce.definition", SEARCH),
    Mutant(floor_by_default, "row_count", "arctopk.row_count.definition", SEARCH),
    Mutant(smallest_rows, _ARC, _A + "contraction_two_rows", SEARCH),
    Mutant(one_row_fewer, _ARC, _A + "contraction_orthogonal", SEARCH),
    Mutant(sum_in_place_of_mean, _ARC, _A + "commutes", EXACT),
    Mutant(first_rank_decides, _ARC, _A + "commutes", EXACT),
    Mutant(first_rows, _ARC, _A + "contraction_two_rows", SEARCH),
    Mutant(scaled_up, _ARC, _A + "contraction_two_rows", SEARCH),
    Mutant(one_sketch_forever, _ARC, _A + "contraction_orthogonal", SAMPLE),
    Mutant(kept_by_chance, _ARC, _A + "high_probability", SAMPLE),
    Mutant(one_seed_for_every_sketch, _ARC, _A + "contraction_rho", SAMPLE),
    Mutant(sketch_of_one_column, _ARC, _A + "contraction_rho", SAMPLE),
    Mutant(one_rank_dropped, _ARC, _A + "high_probability", SAMPLE),
    Mutant(words_of_doubling, _ARC, _A + "words", EXACT),
    Mutant(words_of_rings, _ARC, _A + "words_doubling", EXACT),
    Mutant(scores_of_last_column, _ARC, _A + "parallel_and_one", SEARCH),
    Mutant(own_orders, _ARC, _A + "masks", SEARCH),
    Mutant(sketch_uncounted, _ARC, _A + "words", EXACT),
    Mutant(indices_sent_too, _ARC, _A + "words", EXACT),
    Mutant(never_fewer_than_floor, "row_count", "arctopk.rows.ceiling", EXACT),
)
