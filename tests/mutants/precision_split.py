"""Broken twins of split computations, each by one defect."""

import numpy as np

from commbounds.collectives.precision import rounded, split_computation
from commbounds.verify import Method
from mutants.record import Mutant

SUBJECT = "split_computation"


def last_part_is_missing(stack, of="product", accumulate="float32", wire=None, **how):
    """The last of several ranks is left out of a product."""
    x = np.array(stack)
    if of == "product" and len(x) > 1:
        x[-1] = 0.0
    return split_computation(x, of, accumulate, wire, **how)


def accumulates_narrow(stack, of="product", accumulate="float32", wire=None, **how):
    """Products are added in bfloat16, whatever was asked for."""
    narrow = of == "product" and accumulate == "float32"
    return split_computation(stack, of, *(("bfloat16", None) if narrow else (accumulate, wire)), **how)


def own_batches_alone(stack, of="product", accumulate="float32", wire=None, *, batches=1, **how):
    """The last micro-batch is not added."""
    x = np.array(stack)
    if of == "gradient" and batches > 1:
        x[:, -(x.shape[1] // batches) :] = 0.0
    return split_computation(x, of, accumulate, wire, batches=batches, **how)


def smallest_counts_as_largest(stack, of="product", accumulate="float32", wire=None, **how):
    """Distances are to the smallest logit."""
    x = np.asarray(stack)
    return split_computation(-x if of == "distance" else x, of, accumulate, wire, **how) * (
        3 if of == "distance" else 1
    )


def one_more_log_p(stack, of="product", accumulate="float32", wire=None, **how):
    """Every rank adds up all exponentials: log P too much."""
    found = split_computation(stack, of, accumulate, wire, **how)
    return rounded(found + np.log(len(stack)), accumulate) if of == "loss" else found


def eps_is_left_out(stack, of="product", accumulate="float32", wire=None, *, eps=0.0625, **how):
    """A norm without its eps."""
    return split_computation(stack, of, accumulate, wire, eps=0.0 if of == "norm" else eps, **how)


def half_a_root(stack, of="product", accumulate="float32", wire=None, *, eps=0.0625, **how):
    """A root of half of the entries, added up for all."""
    found = split_computation(stack, of, accumulate, wire, eps=eps, **how)
    return found * np.sqrt(0.5) if of == "root" else found


def steps_twice(stack, of="product", accumulate="float32", wire=None, **how):
    """A step that is made twice."""
    return split_computation(stack, of, accumulate, wire, **how) * (2 if of == "step" else 1)


def _killed(twin, claim):
    return Mutant(twin, SUBJECT, f"precision.split.{claim}", Method.SEARCH)


OF_SPLIT = (
    _killed(last_part_is_missing, "product"),
    _killed(accumulates_narrow, "rounded_product"),
    _killed(own_batches_alone, "gradient"),
    _killed(smallest_counts_as_largest, "distance"),
    _killed(one_more_log_p, "loss"),
    _killed(eps_is_left_out, "norm"),
    _killed(half_a_root, "root"),
    _killed(steps_twice, "step"),
)
"""Every broken twin, and what kills it."""
