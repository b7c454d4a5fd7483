"""What is known of code's runs says of the symbols of their models."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
from model_runs import EPS, Run, between_levels, law_of_entries

from commbounds.compressors.shipped.threelc import LONGEST_RUN, ZEROS

MEAN = {"t": lambda x: Fraction(float(np.asarray(x)[:, 0].sum())), "m": lambda t, P: t / P}


def chances(run):
    """Of the entries that are not certain to be sent: the magnitude, how often it is sent, and what all share."""
    if not run.exact:
        return
    law = run.law()
    sent = [sum(p for p, y in law if y[i]) for i in range(len(run.x))]
    drawn = [(abs(v), p) for v, p in zip(run.x, sent, strict=True) if 0 < p < 1]
    total = sum(a for a, _ in drawn)
    for a, p in drawn:
        yield {"a": a, "p": p, "sum": total, "room": drawn[0][1] * total / drawn[0][0], "c": Fraction(3, 2)}


def unclipped(run):
    """Magnitudes that become zero or the level."""
    magnitudes, law = zip(*law_of_entries(run), strict=True) if run.exact else ((), ())
    for found in between_levels(law, magnitudes):
        assert not found["low"]
        yield {"a": found["value"], "level": found["high"]}


def cleared(found, momenta, outcome):
    """The momenta and what waits after the steps, beside those of dense descent."""
    run = found[0]
    for u, v, w in zip(run.momentum.ravel().tolist(), run.accumulated.ravel().tolist(), momenta[-1].ravel().tolist(),
                       strict=True):  # fmt: skip
        values = {"momentum": outcome.values["momentum"], "u": Fraction(u), "v": Fraction(v), "w": Fraction(w)}
        yield values


def read_numbers(found):
    """Magnitudes over the largest, and how far off they are read."""
    x, read, eps = found  # of numbers of size one, beside errors of 1/142
    for v, y in zip(np.abs(x).tolist(), np.abs(read).tolist(), strict=True):
        yield Run({"a": v, "off": abs(v - y)}, int(512 * eps / EPS))


def sent_numbers(found):
    """Magnitudes that are sent, and are not zero."""
    for y in np.abs(found[1]).tolist():
        if y:
            yield Run({"a": y}, 64)


def descent(found, ridgeslope, ridgestep, ridgesteps, tie, measured):
    """The path without what is left out, which takes subgradient steps; and what is left out."""
    a, gamma, left = ridgeslope, ridgestep, [Fraction(0), Fraction(0)]
    known = {"ridgestep": gamma, "ridgesteps": ridgesteps, "q": 0.5**0.5, "least": measured}
    for point, after in itertools.pairwise(found[:65]):
        x, y = point
        along, across = ((t > 0) - (t < 0) or tie for t in (x + y, x - y))
        slope = [a * along + across, a * along - across]
        before = [u - v for u, v in zip(point, left, strict=True)]
        moved = [u - gamma * g for u, g in zip(before, slope, strict=True)]
        now = [u - v for u, v in zip(after, moved, strict=True)]
        square, size = (sum(float(v) ** 2 for v in vector) ** 0.5 for vector in (slope, left))
        yield Run({**known, "before": sum(v * v for v in before), "after": sum(v * v for v in moved), "slope": square,
                   "residual": size, "larger": abs(sum(u * v for u, v in zip(left, slope, strict=True))),
                   "height": sum(u * v for u, v in zip(point, slope, strict=True))}, 1024)  # fmt: skip
        left = now


def zero_runs(run):
    """Bytes of five zeros, and runs of them that become a byte."""
    c, x = run.c, np.asarray(run.x, np.float64)
    plain = replace(c, zero_run=False).compress(x).packed.tolist()
    zeros = [byte == ZEROS for byte in plain]
    runs = sum(-(-len(list(same)) // LONGEST_RUN) for zero, same in itertools.groupby(zeros) if zero)
    assert len(c.compress(x).packed) == len(plain) - sum(zeros) + runs
    yield {"zeros": sum(zeros), "runs": runs}


RUNS = {
    "shipped.permk_mean.unbiased": MEAN,
    "shipped.permk_mean.error": MEAN,
    "shipped.permk_mean.identical": {**MEAN, "v": lambda x: Fraction(float(np.asarray(x)[0, 0]))},
    "shipped.shared_randk_mean.error": MEAN,
    "shipped.ef_signs.first_large": {"height": lambda firstlargest: firstlargest},
    "shipped.switched.variance_whole": {
        "before": lambda chances, omegas: sum(p * omega for p, omega in zip(chances, omegas, strict=True))
    },
    "shipped.spectral_atoms.bias": {
        "chance": lambda planned: planned,
        "in_the_end": lambda planned, measured: planned * (1 + measured),
    },
    "shipped.atomic.scale_equivariance": chances,
    "shipped.atomic.sign_symmetry": chances,
    "shipped.atomic.shrunk_contraction": {
        "slack": lambda n, budget, measured: (n / budget - 1) - (measured - (1 - budget / n) ** 2) * (n / budget) ** 2
    },
    "shipped.clippedterngrad.unbiased_unclipped": unclipped,
    "shipped.dgc_steps.dense_plain": cleared,
    "shipped.dgc_steps.dense_unmasked": cleared,
    "shipped.dynamic_tree.entry_error": read_numbers,
    "shipped.dynamic_tree.smallest": sent_numbers,
    "shipped.ridge_descent.feedback": descent,
    "shipped.threelc.wire": zero_runs,
}
