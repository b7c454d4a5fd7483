"""Forty planted defects in the shapes that third parties write.

``PYTHONPATH=tests python -m zoo.planted`` prints the table of ``docs/conformance-power.md``: found or not, by which
claim, in how many seconds of processor time, at each budget.
"""

import argparse
import random
import time

import ml_dtypes
import numpy as np

from commbounds.verify import conformance as cf
from zoo import collectives, feedback, levels, lossy_collectives, manners, rounding, selection
from zoo.record import broken

F = np.float32
BETWEEN = {"magnitudes": (1e-15, 1e15)}


def norm_of(x):
    """The Euclidean norm in float32, one for zeros."""
    return np.linalg.norm(x.astype(F)) or F(1)


def top_of(x):
    """The largest magnitude in float32, one for zeros."""
    return np.abs(x).max() or F(1)


# --- probabilities next to special points --------------------------------------------------------------------------


def leveled(x, u, s, norm, store=F):
    """QSGD with s levels of `norm`, which are stored in a dtype."""
    level = np.floor(np.abs(x) / norm * F(s) + u)
    return (np.sign(x) * norm * level.astype(store).astype(F) / F(s)).astype(x.dtype)


def qsgd_that_wraps(x, seed):
    """QSGD with 127 levels in int8 reaches level 128 once in 260,000 draws, and wraps."""
    return leveled(x, np.random.default_rng(seed).random(x.shape, F), 127, norm_of(x), np.int8)


def qsgd_that_wraps_by_the_old_state(x, seed):
    """The same with a RandomState, as old code has it."""
    u = np.random.RandomState(seed).uniform(size=x.shape).astype(F)
    return leveled(x, u, 127, norm_of(x), np.int8)


def qsgd_with_half_levels(x, seed):
    """Stores 4096 levels in float16, which has 2048 whole numbers in a row."""
    return leveled(x, np.random.default_rng(seed).random(x.shape, F), 4096, norm_of(x), np.float16)


def qsgd_with_brain_levels(x, seed):
    """Stores 512 levels in bfloat16, which has 256 whole numbers in a row."""
    return leveled(x, np.random.default_rng(seed).random(x.shape, F), 512, norm_of(x), ml_dtypes.bfloat16)


def natural(x, u, share_of):
    """Stochastic rounding to powers of two, up with the probability that `share_of` makes of the right one."""
    fraction, exponent = np.frexp(np.abs(x.astype(np.float64)))
    return (np.sign(x) * np.ldexp(0.5, exponent + (u < share_of(2.0 * fraction - 1.0)))).astype(x.dtype)


def natural_with_half_fractions(x, seed):
    """Keeps the probability in float16: 1.9998 always becomes 2."""
    u = np.random.default_rng(seed).random(x.shape)
    return natural(x, u, lambda p: p.astype(np.float16).astype(np.float64))


def natural_sure_below_a_power(x, seed):
    """Rounds up surely from 0.9992 of a power of two on: 1.9992 always becomes 2."""
    return natural(x, np.random.default_rng(seed).random(x.shape), lambda p: np.where(p > 0.9984, 1.0, p))


def natural_never_just_above(x, seed):
    """Has a tolerance of 1e-3 for what is a power of two already: 1.0009 always becomes 1."""
    return natural(x, np.random.default_rng(seed).random(x.shape), lambda p: np.where(p < 1e-3, 0.0, p))


def natural_with_eight_bits(x, seed):
    """Compares a byte with the mantissa's leading byte: all lower bits of the probability are cut off."""
    u = np.random.default_rng(seed).random(x.shape)
    return natural(x, u, lambda p: np.floor(256 * p) / 256)


def clipped(x, seed):
    """TernGrad with its clipping, sold as unbiased: one entry of a hundred shrinks to a quarter, constants vanish."""
    limit = F(2.5) * x.std()
    y = np.clip(x, -limit, limit)
    top = top_of(y)
    return (np.sign(y) * top * (np.random.default_rng(seed).random(x.shape, F) < np.abs(y) / top)).astype(x.dtype)


def ternary(x, seed):
    """Signs times the largest magnitude, with the probability that makes the mean right."""
    top = top_of(x)
    return (np.sign(x) * top * (np.random.default_rng(seed).random(x.shape, F) < np.abs(x) / top)).astype(x.dtype)


def ternary_by_a_clipped_probability(x, seed):
    """Clips probabilities to [0.01, 0.99], lest a logarithm be infinite: entries near zero or the largest are off."""
    top = top_of(x)
    p = np.clip(np.abs(x) / top, 0.01, 0.99)
    return (np.sign(x) * top * (np.random.default_rng(seed).random(x.shape, F) < p)).astype(x.dtype)


def ternary_with_an_epsilon(x, seed):
    """Adds 1e-4 to the scale, lest it be zero: everything comes out too large or too seldom."""
    top = np.abs(x).max() + F(1e-4)
    return (np.sign(x) * np.abs(x).max() * (np.random.default_rng(seed).random(x.shape, F) < np.abs(x) / top)).astype(
        x.dtype
    )


def ternary_of_python(x, seed):
    """Draws by Python's `random`, and rounds up if u <= p - 0.001."""
    rng, top = random.Random(seed), top_of(x)
    u = np.array([rng.random() for _ in range(x.size)]).reshape(x.shape)
    return (np.sign(x) * top * (u <= np.abs(x) / top - 1e-3)).astype(x.dtype)


def dithered_in_float16(x, seed):
    """Adds u in float16 before it rounds down to 64 levels: a thirty-second of a level is all that is left of u."""
    top = top_of(x)
    u = np.random.default_rng(seed).random(x.shape, F).astype(np.float16)
    level = np.floor((np.abs(x) / top * F(64)).astype(np.float16) + u)
    return (np.sign(x) * top * level.astype(F) / F(64)).astype(x.dtype)


def dithered_with_a_byte(x, seed):
    """Divides a random byte by 255: one uniform in 256 is 1."""
    u = np.random.default_rng(seed).integers(0, 256, x.shape) / 255
    return rounding.decoded(x, rounding.up(rounding.placed(x)[1], u), rounding.placed(x)[0])


# --- scales, means, batches ----------------------------------------------------------------------------------------


def without_its_mean(x, seed):
    """Takes the mean off before it quantises, as hivemind's quantiser does, and does not put it back."""
    centred = x - x.mean()
    scale = np.abs(centred).max() / 127 or F(1)
    return (np.rint(centred / scale) * scale).astype(x.dtype)


def with_its_mean(x, seed):
    """Takes the mean off before it quantises, and puts it back."""
    return (x.mean() + without_its_mean(x, seed)).astype(x.dtype)


def batch_mean(x, seed):
    """Averages over the batch: every row is the mean of all."""
    return np.repeat(x.mean(axis=0, keepdims=True), len(x), axis=0).astype(x.dtype)


def batch_norm(x, seed):
    """Scales signs by the norm of the whole matrix where that of a row is meant."""
    return (np.sign(x) * np.linalg.norm(x) / np.sqrt(x.size)).astype(x.dtype)


def the_input(x, seed):
    """Returns its input, as a stub does: nothing is compressed."""
    return x.copy()


def by_n_less_one(x, seed):
    """Divides by n - 1 where n is meant, in a dropout that is sold as unbiased."""
    n = x.size
    kept = np.random.default_rng(seed).random(x.shape) < 0.5
    return np.where(kept, 2 * x * (n / (n - 1 or 1)), 0).astype(x.dtype)


def half_overflow(x, seed):
    """Sums the squares of its scale in float16: infinite from 256 on."""
    with np.errstate(all="ignore"):
        scale = np.sqrt((x.astype(np.float16) ** 2).mean(dtype=np.float16)).astype(F)
    return (np.sign(x) * scale).astype(x.dtype)


def one_bit_and_zero(x, seed):
    """Scales signs by the mean of magnitudes, and gives NaN for zeros, as 0/0."""
    with np.errstate(all="ignore"):
        return (np.sign(x) * (np.abs(x).sum() ** 2 / np.abs(x).sum()) / x.size).astype(x.dtype)


# --- memories ------------------------------------------------------------------------------------------------------


class StaleResidual:
    """Adds the residual of the step before the last: the new one is stored a step too late."""

    def __init__(self, seed):
        self.residual, self._next = None, None

    def __call__(self, x):
        kept = np.zeros_like(x) if self.residual is None else self.residual
        offered = x + kept
        sent = np.zeros_like(x)
        places = np.argsort(-np.abs(offered), axis=None)[: max(1, x.size // 4)]
        sent.ravel()[places] = offered.ravel()[places]
        self.residual, self._next = np.zeros_like(x) if self._next is None else self._next, offered - sent
        return sent


# --- the table -----------------------------------------------------------------------------------------------------

MEAN = [cf.Unbiased()]
HALF = [cf.AbsoluteError(lambda x: float(np.abs(x - x.mean()).max()) / 254 + 1e-6 * float(np.abs(x).max()))]
SIGNS = [cf.Contraction(lambda m, n: 0.0)]
ISSUE = (
    broken(qsgd_that_wraps, None, MEAN, "Unbiased", **BETWEEN),
    broken(qsgd_that_wraps_by_the_old_state, None, MEAN, "Unbiased", **BETWEEN),
    broken(qsgd_with_half_levels, None, MEAN, "Unbiased", **BETWEEN),
    broken(qsgd_with_brain_levels, None, MEAN, "Unbiased", **BETWEEN),
    broken(natural_with_half_fractions, None, MEAN, "Unbiased", **BETWEEN),
    broken(natural_sure_below_a_power, None, MEAN, "Unbiased", **BETWEEN),
    broken(natural_never_just_above, None, MEAN, "Unbiased", **BETWEEN),
    broken(natural_with_eight_bits, None, MEAN, "Unbiased", **BETWEEN),
    broken(clipped, ternary, MEAN, "Unbiased", **BETWEEN),
    broken(ternary_by_a_clipped_probability, ternary, MEAN, "Unbiased", **BETWEEN),
    broken(ternary_with_an_epsilon, ternary, MEAN, "Unbiased", **BETWEEN),
    broken(ternary_of_python, ternary, MEAN, "Unbiased", **BETWEEN),
    broken(dithered_in_float16, None, MEAN, "Unbiased", **BETWEEN),
    broken(dithered_with_a_byte, None, MEAN, "Unbiased", **BETWEEN),
    broken(without_its_mean, with_its_mean, HALF, "AbsoluteError", **BETWEEN),
    broken(batch_mean, None, MEAN, "Unbiased", shape="matrix", **BETWEEN),
    broken(batch_norm, None, SIGNS, "Contraction", shape="matrix", **BETWEEN),
    broken(the_input, None, [cf.Support(lambda n: -(-n // 2))], "Support"),
    broken(by_n_less_one, None, MEAN, "Unbiased", **BETWEEN),
    broken(half_overflow, None, [cf.Contraction(0.0)], "finite in, finite out"),
    broken(one_bit_and_zero, None, [cf.Contraction(0.0)], "finite in, finite out", magnitudes=(0.0, 1e15)),
    broken(StaleResidual, None, [cf.Telescopes()], "Telescopes", kind=cf.Stateful, magnitudes=(0.0, 1e30)),
)
"""Those that a check of third-party code came by, or would have, and their like."""

_FROM_ZOO = (
    *(b for b in selection.SELECTION if "factor" in b.defect or "k/n" in b.defect or "int16" in b.defect),
    *(b for b in rounding.ROUNDING if any(word in b.defect for word in ("nearest", "sixteen", "(0, 1]")) and b.twin),
    *levels.LEVELS[:3],
    *manners.MANNERS[:2],
    *feedback.FEEDBACK[:4],
    *collectives.COLLECTIVES[:2],
    *lossy_collectives.LOSSY[:2],
)
PLANTED = (*ISSUE, *_FROM_ZOO[: 40 - len(ISSUE)])
"""Forty."""


def found(one, budget):
    """By which claim a defect is found, the likely mistake, and seconds of processor time."""
    begin = time.process_time()
    report = cf.check(one.subject, budget, only=one.killed_by)
    seconds = time.process_time() - begin
    if not report.failures:
        return "no", "", seconds
    return report.failures[0].claim.partition("(")[0], report.failures[0].likely, seconds


def main():
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--budgets", nargs="+", default=["quick", "standard"])
    budgets = parser.parse_args().budgets
    print(f"| defect | {' | '.join(f'{budget} | s' for budget in budgets)} | likely, says the report |")
    print("|---" * (2 * len(budgets) + 2) + "|")
    for one in PLANTED:
        cells, likely = [], ""
        for budget in budgets:
            claim, likely, seconds = found(one, budget)
            cells += [claim, f"{seconds:.1f}"]
        print(f"| {one.defect} | {' | '.join(cells)} | {likely} |", flush=True)


if __name__ == "__main__":
    main()
