"""What is known of numbers in blocks says of the symbols of their models."""

from fractions import Fraction

import numpy as np
from model_runs import between_levels, length

from commbounds.compressors.blockformats import FourOverSix, Microscaling
from commbounds.verify.experiments.blockformats.adaptive import _ended_at_six, _own_error, _squared
from commbounds.verify.experiments.blockformats.cases import exact, laws, made, resolution
from commbounds.verify.experiments.blockformats.hops import TABLES, about, sums_of
from commbounds.verify.experiments.blockformats.sums import exponents


def covariances(measured, P, settings, outcome):
    """What the variance of the sum of the codes is more than that of independent ones; of two ranks, by the cells."""
    own, other = outcome.values["ownfraction"], outcome.values["otherfraction"]
    together = measured - outcome.values["fractionnoise"]
    yield {"together": together}
    if P == 2 and settings["rounding"] == "correlated":
        products = P**2 * own * other - P * (P - 1) * (own * other + together / 2)
        yield {"P": P, "products": products, "ownfraction": own, "otherfraction": other}


def a_block_at_six(implementation, case):
    """The error of one block, and what it is if the block ends at 6."""
    if case.array.size <= case.settings["block"]:
        yield {"least": _own_error(implementation, case), "six": _ended_at_six(case)}


def entries_below_the_largest(implementation, case):
    """Of a block whose scale is exact: entries in units of the largest, and the errors with 6 and with 4 for it."""
    x = exact(case.array)
    top = max(map(abs, x))
    for value in x:
        yield {"a": abs(value) / top}
    if len(x) <= case.settings["block"]:
        rule = FourOverSix(case.settings["block"], case.settings["scale"])
        tensor = Fraction(float(rule._tensor(float(np.abs(case.array).max()))))
        four = [y for ((_, y),) in rule._read(x, tensor * rule.exact_scale(x, tensor, 4))]
        errors = {"least": _own_error(implementation, case), "six": _ended_at_six(case), "chosen": _squared(x, four)}
        yield {name: error / top**2 for name, error in errors.items()}


def one_more_rank(implementation, case, width, block):
    """The ranks' codes before the last, and the last one's, which is what it adds to the result."""
    shared = exponents(case.array, width, block)
    codes = np.rint(np.ldexp(case.array, -shared))
    found = implementation(case.array, width, block, "nearest")[0][0]
    for column, total, exponent in zip(codes.T.tolist(), found.tolist(), shared.tolist(), strict=True):
        scale, before = Fraction(2) ** exponent, sum(column[:-1])
        assert Fraction(total) == scale * sum(map(Fraction, column))
        yield {"sum": before, "scale": scale, "code": Fraction(total) / scale - Fraction(before)}


def projection(implementation, case):
    """The inner product of every estimate with the vector: in units of the scale, the codes' with the rotated one."""
    x = exact(case.array)
    for _, y in made(implementation, case).law(x) if case.settings["exact"] else ():
        yield {"inner": sum(a * Fraction(b) for a, b in zip(x, y, strict=True)), "scale": 1, "norm2": length(x)}


def levels(implementation, case):
    """Entries between two elements, by the law that is read off the kernel."""
    within = resolution(made(implementation, case), case.array)
    yield from between_levels(case.once(laws, implementation), exact(case.array), within)


def roundings(implementation, case):
    """What ranks send for their entries, and what is sent back, with blocks of one entry."""
    x, rounded = case.array, Microscaling(case.settings["element"], 1, case.settings["scale"])
    out = implementation(x, rounded, case.settings["schedule"])[0][0].tolist()
    for column, total in zip(x.T, out, strict=True):
        sent = exact(rounded(column))
        turn = -1 if sum(sent) < 0 else 1
        pairs = [(turn * v, turn * y) for v, y in zip(exact(column), sent, strict=True)]
        parts = {"plus": 0, "plus_sent": 0, "minus": 0, "minus_sent": 0, "out": turn * Fraction(total)}
        for v, y in pairs:
            side = "plus" if v >= 0 else "minus"
            parts[side] += abs(v)
            parts[f"{side}_sent"] += abs(y)
            top = abs(v) / Fraction(2) ** int(np.frexp(float(v))[1] - 3)
            if top:
                assert abs(y) / abs(v) * top == (4 if top <= 5 else 6)
                yield {**parts, "plus": 0, "plus_sent": 0, "minus": 0, "minus_sent": 0, "out": 0, "top": top}
        yield parts


def about_a_number(settings, outcome):
    """The gaps before and after a number of the table."""
    numbers = TABLES[settings["table"]]
    at = numbers.index(int(settings["levels"][0]))
    yield {**outcome.values, "below": numbers[at] - numbers[at - 1], "above": numbers[at + 1] - numbers[at]}


def places(settings):
    """Levels between two numbers of the table, and between two multiples of the fine step."""
    numbers, fine = TABLES[settings["table"]], settings["fine"]
    for level in settings["levels"]:
        low, high = about(numbers, level)
        known = {"level": level, "below": level - low, "above": high - level}
        if fine:
            known |= {"step": Fraction(numbers[-1], fine), "part": level / Fraction(numbers[-1], fine) % 1}
        yield known


def equal_sums_of_indices(implementation, settings):
    """Sums of numbers of the table, in steps, for two tuples of indices with one sum."""
    numbers, P = TABLES[settings["table"]], settings["P"]
    if P > 1:
        step = numbers[1] - numbers[0]
        columns = [[Fraction(numbers[row[p]]) for row in ((0, 1), (1, 0))] for p in range(2)]
        columns += [[Fraction(numbers[1])] * 2] * (P - 2)
        found = sums_of(implementation, settings["table"], columns, uniforms=np.full((1, P, 2), 0.5))
        first, second = (Fraction(round(v)) / step for v in found.tolist())
        yield {"step": step, "first": first, "second": second}


RUNS = {
    "blockformats.multihop.butterfly_bounded": {
        "power": lambda hopnoise, halvings: ((2 + Fraction(hopnoise)) / 4) ** halvings
    },
    "blockformats.table.beyond": {"share": lambda measured: measured},
    "blockformats.table.at_a_number": about_a_number,
    "blockformats.table.unbiased": places,
    "blockformats.table.index_sums_of_even": equal_sums_of_indices,
    "blockformats.correlated.equal": {"left": lambda P, fraction: P * Fraction(fraction) % 1},
    "blockformats.correlated.unbiased": {
        "f": lambda fraction: Fraction(fraction),
        "cells": lambda P, f: P * f // 1,
        "left": lambda P, f: P * f % 1,
    },
    "blockformats.correlated.never_worse": covariances,
    "blockformats.fouroversix.contraction": entries_below_the_largest,
    "blockformats.fouroversix.no_worse": a_block_at_six,
    "blockformats.homomorphic.sums": one_more_rank,
    "blockformats.mseden.projection": projection,
    "blockformats.requantised.bits_an_entry_of_whole_blocks": {
        "whole": lambda P, n, block: Fraction(n, P * block),
        "bytes": lambda P, n, whole, measured: measured * n / (8 * P) - whole,
    },
    "blockformats.requantised.direct_error": roundings,
    "blockformats.stochastic.unbiased": levels,
    "blockformats.stochastic_nvfp4.unbiased": levels,
}
