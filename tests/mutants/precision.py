"""Broken twins of the all-reduce in two formats, each by one defect."""

import numpy as np

from commbounds.collectives.precision import mixed_precision_allreduce
from commbounds.theory.precision.formats import FORMATS
from commbounds.verify import Method
from mutants.precision_bits import OF_BITS
from mutants.precision_split import OF_SPLIT
from mutants.record import Mutant

run = mixed_precision_allreduce


def last_rank_left_out(stack, schedule="ring", wire="bfloat16", accumulate=None, **options):
    """The last rank's vector is lost, where there are three or more."""
    x = np.array(stack)
    x[2:][-1:] = 0.0
    return run(x, schedule, wire, accumulate, **options)


def first_rank_counts_twice(stack, schedule="ring", wire="bfloat16", accumulate=None, **options):
    """The first rank's vector is added twice."""
    x = np.array(stack)
    x[0] *= 2.0
    return run(x, schedule, wire, accumulate, **options)


def truncates(stack, schedule="ring", wire="bfloat16", accumulate=None, **options):
    """The result is cut, not rounded."""
    result, traffic = run(stack, schedule, wire, "float64", **{**options, "per_hop": False, "rounds_own": False})
    known = FORMATS[wire]
    lowest = known.smallest.denominator.bit_length() - 1
    exponent = np.maximum(np.frexp(result)[1] - known.digits, -lowest)
    return np.ldexp(np.trunc(np.ldexp(result, -exponent)), exponent), traffic


def flushes_to_zero(stack, schedule="ring", wire="bfloat16", accumulate=None, **options):
    """Results below the normal range become zero."""
    result, traffic = run(stack, schedule, wire, accumulate, **options)
    return np.where(abs(result) < float(FORMATS[wire].normal), 0.0, result), traffic


def flushes_before_adding(stack, schedule="ring", wire="bfloat16", accumulate=None, **options):
    """Terms below the normal range become zero."""
    x = np.array(stack)
    x[abs(x) < float(FORMATS[wire].normal)] = 0.0
    return run(x, schedule, wire, accumulate, **options)


def accumulates_on_the_wire(stack, schedule="ring", wire="bfloat16", accumulate=None, **options):
    """Sums are added in the wire's format, whatever the accumulator."""
    return run(stack, schedule, wire, None, **options)


def rounds_only_once(stack, schedule="ring", wire="bfloat16", accumulate=None, **options):
    """Partial sums travel as they are."""
    return run(stack, schedule, wire, accumulate, **{**options, "per_hop": False})


def owners_keep_theirs(stack, schedule="ring", wire="bfloat16", accumulate=None, **options):
    """What is sent is rounded, and the sender's own copy is not."""
    return run(stack, schedule, wire, accumulate, **{**options, "rounds_own": False})


def trees_are_rings(stack, schedule="ring", wire="bfloat16", accumulate=None, **options):
    """Trees are added up one rank after another."""
    _, traffic = run(stack, schedule, wire, accumulate, **options)
    plain = {**options, "nodes": None}
    if plain.get("uniforms") is not None:
        return run(stack, schedule, wire, accumulate, **options)
    return run(stack, "ring", wire, accumulate, **plain)[0], traffic


def nodes_are_ignored(stack, schedule="ring", wire="bfloat16", accumulate=None, **options):
    """Rings in nodes are one ring."""
    result, traffic = run(stack, schedule, wire, accumulate, **options)
    if schedule == "hierarchical" and options.get("uniforms") is None:
        result, _ = run(stack, "ring", wire, accumulate, **{**options, "nodes": None})
    return result, traffic


def chances_are_doubled(stack, schedule="ring", wire="bfloat16", accumulate=None, *, uniforms=None, **options):
    """Stochastic roundings go up twice as often as they should."""
    halved = None if uniforms is None else np.asarray(uniforms) / 2
    return run(stack, schedule, wire, accumulate, uniforms=halved, **options)


def no_chances(stack, schedule="ring", wire="bfloat16", accumulate=None, *, uniforms=None, **options):
    """Stochastic roundings are to nearest."""
    return run(stack, schedule, wire, accumulate, **options)


def one_chance_for_all(stack, schedule="ring", wire="bfloat16", accumulate=None, *, uniforms=None, **options):
    """All roundings of an entry take the first addition's number."""
    same = None
    if uniforms is not None:
        same = np.asarray(uniforms).copy()
        same[:] = same[min(1, len(same) - 1)]
    return run(stack, schedule, wire, accumulate, uniforms=same, **options)


def of_words_of_one_bit(stack, schedule="ring", wire="bfloat16", accumulate=None, *, uniforms=None, **options):
    """Of the random bits of a rounding one is used."""
    one = None if uniforms is None else np.floor(2 * np.asarray(uniforms)) / 2
    return run(stack, schedule, wire, accumulate, uniforms=one, **options)


def words_of_four_bytes(stack, schedule="ring", wire="bfloat16", accumulate=None, **options):
    """Every number counts four bytes."""
    result, _ = run(stack, schedule, wire, accumulate, **options)
    return result, run(np.zeros_like(stack), schedule, "float32", None, **{**options, "uniforms": None})[1]


def sums_are_as_short_as_results(stack, schedule="ring", wire="bfloat16", accumulate=None, **options):
    """A partial sum counts as many bytes as a result."""
    result, _ = run(stack, schedule, wire, accumulate, **options)
    return result, run(stack, schedule, wire, accumulate, **{**options, "per_hop": True})[1]


_S, EXACT, SEARCH = "mixed_precision_allreduce", Method.EXACT, Method.SEARCH
MUTANTS = (
    Mutant(last_rank_left_out, _S, "precision.any.sure", SEARCH),
    Mutant(first_rank_counts_twice, _S, "precision.underflow.sums_are_exact", EXACT),
    Mutant(truncates, _S, "precision.running.sure", SEARCH),
    Mutant(flushes_to_zero, _S, "precision.underflow.sums_are_exact", EXACT),
    Mutant(flushes_before_adding, _S, "precision.underflow.sums_are_exact", EXACT),
    Mutant(accumulates_on_the_wire, _S, "precision.once.sure", SEARCH),
    Mutant(rounds_only_once, _S, "precision.per_hop.like_one_format", SEARCH),
    Mutant(owners_keep_theirs, _S, "precision.per_hop.like_one_format", SEARCH),
    Mutant(trees_are_rings, _S, "precision.tree.sharp", SEARCH),
    Mutant(nodes_are_ignored, _S, "precision.hierarchical.sure", SEARCH),
    Mutant(chances_are_doubled, _S, "precision.stochastic.unbiased", EXACT),
    Mutant(no_chances, _S, "precision.stochastic.unbiased", EXACT),
    Mutant(of_words_of_one_bit, _S, "precision.stochastic.few_bits", EXACT),
    Mutant(one_chance_for_all, _S, "precision.stochastic.running_variance", EXACT),
    Mutant(words_of_four_bytes, _S, "precision.bytes.ring", EXACT),
    Mutant(sums_are_as_short_as_results, _S, "precision.bytes.tree", EXACT),
    *OF_BITS,
    *OF_SPLIT,
)
