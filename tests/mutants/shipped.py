"""Broken twins of what packages ship, and what kills them; broken collectives; and the right ones."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from zoo.right import IDEMPOTENT, PATIENT, SCALED, SMALL, SYMMETRIC, called, contracts

from commbounds.collectives.shipped import dgc_steps, permk_mean, shared_randk_mean
from commbounds.compressors import shipped as c
from commbounds.verify import Method
from commbounds.verify import conformance as cf
from commbounds.verify.conformance import book_bound as bound
from mutants import shipped_codes as m
from mutants.record import Mutant

EXACT, INJECT, SEARCH = Method.EXACT, Method.INJECT, Method.SEARCH

# --- Perm-K --------------------------------------------------------------------------------------------------------


def owners_ignored(stack, rng=None, *, owners=None):
    """Entry j is always that of rank j modulo P."""
    return permk_mean(stack, owners=np.arange(np.shape(stack)[1]) % len(stack))


def every_rank_its_own(stack, rng=None, *, owners=None):
    """Every rank ends with its own vector."""
    mean, traffic = permk_mean(stack, rng, owners=owners)
    return np.array(stack, mean.dtype), traffic


def divided_once_more(stack, rng=None, *, owners=None):
    """The values are divided by P."""
    mean, traffic = permk_mean(stack, rng, owners=owners)
    return mean / len(stack), traffic


def next_owner(stack, rng=None, *, owners=None):
    """The last entry is that of rank 0, whoever owns it."""
    mean, traffic = permk_mean(stack, rng, owners=owners)
    return np.concatenate([mean[:, :-1], np.full((len(mean), 1), np.asarray(stack)[0, -1])], axis=1), traffic


def indices_sent(stack, rng=None, *, owners=None):
    """Counts an index with every value."""
    mean, traffic = permk_mean(stack, rng, owners=owners)
    return mean, replace(traffic, sent=2 * traffic.sent)


# --- Rand-K with one seed ------------------------------------------------------------------------------------------


def not_scaled(stack, k, rng=None, *, places=None):
    """The factor n/k is missing."""
    mean, traffic = shared_randk_mean(stack, k, rng, places=places)
    return mean * k / mean.shape[1], traffic


def sum_for_mean(stack, k, rng=None, *, places=None):
    """The sum is not divided by P."""
    mean, traffic = shared_randk_mean(stack, k, rng, places=places)
    return mean * len(stack), traffic


def first_places(stack, k, rng=None, *, places=None):
    """The first k entries are kept."""
    return shared_randk_mean(stack, k, rng, places=np.arange(k))


def last_rank_zeroed(stack, k, rng=None, *, places=None):
    """The last rank's values are zero."""
    zeroed = np.array(stack)
    zeroed[-1] *= len(stack) == 1
    return shared_randk_mean(zeroed, k, rng, places=places)


def places_sent(stack, k, rng=None, *, places=None):
    """Counts an index with every value."""
    mean, traffic = shared_randk_mean(stack, k, rng, places=places)
    return mean, replace(traffic, sent=2 * traffic.sent)


# --- DGC -----------------------------------------------------------------------------------------------------------


def residual_forgotten(stack, steps, k, factor=0.9, masking=True):
    """What is not sent in a step is lost."""
    x = np.asarray(stack)
    rows = x.reshape(len(x), steps, -1)
    run, traffic = dgc_steps(stack, steps, k, factor, masking)
    updates = [dgc_steps(rows[:, t], 1, k, factor, masking)[0].updates[0] for t in range(steps)]
    return replace(run, updates=np.array(updates), accumulated=0 * run.accumulated), traffic


def never_masked(stack, steps, k, factor=0.9, masking=True):
    """Momentum is not masked, whatever was asked for."""
    return dgc_steps(stack, steps, k, factor, False)


def always_masked(stack, steps, k, factor=0.9, masking=True):
    """Momentum is masked, whatever was asked for."""
    return dgc_steps(stack, steps, k, factor, True)


def momentum_squared(stack, steps, k, factor=0.9, masking=True):
    """The factor is squared."""
    return dgc_steps(stack, steps, k, factor**2, masking)


def sums_for_means(stack, steps, k, factor=0.9, masking=True):
    """Updates are sums over the ranks."""
    run, traffic = dgc_steps(stack, steps, k, factor, masking)
    return replace(run, updates=run.updates * len(stack)), traffic


def one_step_early(stack, steps, k, factor=0.9, masking=True):
    """The last gradients count twice."""
    x = np.array(stack)
    n = x.shape[1] // steps
    x[:, -n:] *= 2
    return dgc_steps(x, steps, k, factor, masking)


def divided_by_a_power_of_two(stack, steps, k, factor=0.9, masking=True):
    """Sums are divided by the power of two below the number of ranks."""
    run, traffic = dgc_steps(stack, steps, k, factor, masking)
    return replace(run, updates=run.updates * len(stack) / 2 ** (len(stack).bit_length() - 1)), traffic


def values_alone(stack, steps, k, factor=0.9, masking=True):
    """Indices are not counted."""
    run, traffic = dgc_steps(stack, steps, k, factor, masking)
    return run, replace(traffic, sent=traffic.sent // 2)


# --- mechanisms ----------------------------------------------------------------------------------------------------


def minus_one_appended(x, block=4096):
    """A negative largest entry is exact, as if minus one were a value."""
    sent = c.dynamic_tree(x, block)
    flipped = c.dynamic_tree(-np.asarray(x), block)
    return replace(sent, values=np.where(np.asarray(x) < 0, -flipped.values, sent.values))


def one_scale(x, block=4096):
    """One scale for all blocks."""
    return c.dynamic_tree(x, np.size(x))


def scale_of_the_first_block(x, block=4096):
    """Blocks from the second on are multiplied by the first one's scale."""
    sent = c.dynamic_tree(x, block)
    blocks = np.arange(np.size(x)) // block
    own = sent.scales[blocks]
    return replace(sent, values=np.where(own > 0, sent.values / np.where(own > 0, own, 1) * sent.scales[0], 0))


def last_block_negative(x, block=4096):
    """What is left over after whole blocks is turned before it is mapped, and back."""
    sent = c.dynamic_tree(x, block)
    rest = np.size(x) % block if np.size(x) > block else 0
    turned = -c.dynamic_tree(-np.asarray(x), block).values
    return replace(sent, values=np.where(np.arange(np.size(x)) < np.size(x) - rest, sent.values, turned))


def least_values_halved(x, block=4096):
    """The lowest decade's value is half as large."""
    sent = c.dynamic_tree(x, block)
    least = np.abs(sent.values) < 1e-6 * np.abs(x).max()
    return replace(sent, values=np.where(least, sent.values / 2, sent.values))


def value_above(x, block=4096):
    """The next larger value in magnitude is sent, for the largest entries of the top decade's lower end."""
    sent = c.dynamic_tree(x, block)
    top = np.abs(x).max()
    at = (np.abs(sent.values) > 0.105 * top) & (np.abs(sent.values) < 0.13 * top)
    return replace(sent, values=sent.values + at * np.sign(sent.values) * top * 9 / 640)


def units_for_zeros(x, binades=10):
    """A code that is zero is read as one unit."""
    sent = c.inceptionn(x, binades)
    lost = (sent.classes == 1) & (np.abs(x) < 2.0**-6)
    return replace(sent, values=np.where(lost, np.sign(x) / 64, sent.values).astype(sent.values.dtype))


def one_binade_fewer(x, binades=10):
    """The least binade is dropped."""
    return c.inceptionn(x, max(binades - 1, 0))


def coarser_large(x, binades=10):
    """Entries of one and more have sixteen bits."""
    sent = c.inceptionn(x, binades)
    return replace(sent, values=np.where(sent.classes == 4, np.floor(sent.values), sent.values))


class _Unpadded:
    def __init__(self, sent):
        self.values, self.classes = sent.values, sent.classes
        self.bits = sent.bits - 8 * (sent.classes.size % 4 == 0)


def unpadded(x, binades=10):
    """Tags are padded only where four do not divide their number."""
    return _Unpadded(c.inceptionn(x, binades))


def drawn_once(matrix, budget, rng=None, *, kept=None):
    """A draw that keeps nothing is sent."""
    sent = c.spectral_atoms(matrix, budget, rng, kept=kept)
    if kept is None and (np.random.default_rng(rng.integers(2**32)).random(sent.kept.size) >= sent.probabilities).all():
        return replace(sent, kept=0 * sent.kept.astype(bool), values=0 * sent.values)
    return sent


def atoms_unscaled(matrix, budget, rng=None, *, kept=None):
    """Atoms are not divided by their probabilities."""
    sent = c.spectral_atoms(matrix, budget, rng, kept=kept)
    left, s, right = np.linalg.svd(matrix, full_matrices=False)
    return replace(sent, values=(left * (s * sent.kept)) @ right)


def all_budgets_one(matrix, budget, rng=None, *, kept=None):
    """The budget is one, whatever was asked for."""
    return c.spectral_atoms(matrix, 1, rng, kept=kept)


def small_as_large(matrix, budget, rng=None, *, kept=None):
    """Small matrices are drawn as others are."""
    sent = c.spectral_atoms(np.asarray(matrix) * 1e9, budget, rng, kept=kept)
    return replace(sent, values=sent.values / 1e9)


def divided_by_the_sum(probabilities, dice):
    """Probabilities are divided by their sum."""
    return c.switched([p / sum(probabilities) for p in probabilities], dice)


def the_last_for_none(probabilities, dice):
    """The last compressor is used where none is chosen."""
    return c.switched(probabilities, dice) % len(probabilities)


def never_the_second(probabilities, dice):
    """The first compressor is used in place of the second."""
    chosen = c.switched(probabilities, dice)
    return 0 if chosen == 1 else chosen


def no_momentum(gradients, momentum=0.9):
    """The signs are those of the gradients."""
    return c.signum_signs(gradients, 0.0)


def momentum_of_zeros(gradients, momentum=0.9):
    """The momentum is zero at first, and zero is negative."""
    padded = np.concatenate([0 * np.asarray(gradients)[:1], gradients])
    return -c.signum_signs(-padded, momentum)[1:]


def first_scaled(gradients, rate=0.1, scaled=False):
    """The first gradient is multiplied by the rate."""
    return c.ef_signs(gradients, rate, True)


def residual_dropped(gradients, rate=0.1, scaled=False):
    """Every step begins without a residual."""
    runs = [c.ef_signs([g], rate, bool(t) or scaled) for t, g in enumerate(np.asarray(gradients))]
    joined = [np.concatenate([getattr(run, name) for run in runs]) for name in ("updates", "residuals")]
    return c.SignedRun(*joined)


def every_fourth_residual_lost(gradients, rate=0.1, scaled=False):
    """Every fourth residual is lost, first that of the fourth step."""
    x = np.asarray(gradients)
    updates, residuals = [], []
    for begin in range(0, len(x), 4):
        run = c.ef_signs(x[begin : begin + 4], rate, bool(begin) or scaled)
        updates.append(run.updates)
        residuals.append(run.residuals)
    return c.SignedRun(np.concatenate(updates), np.concatenate(residuals))


def along_too(slope, step, steps, feedback=False, tie=1):
    """A step along the ridge is taken besides."""
    return c.ridge_descent(slope, step, steps, feedback, tie) - 0.25 * step * np.arange(steps + 1)[:, None]


def always_fed_back(slope, step, steps, feedback=False, tie=1):
    """What the signs leave out is kept, whatever was asked for."""
    return c.ridge_descent(slope, step, steps, True, tie)


def ties_are_zero(slope, step, steps, feedback=False, tie=1):
    """The sign of zero is zero, whatever was asked for."""
    return c.ridge_descent(slope, step, steps, feedback, 0)


def never_fed_back(slope, step, steps, feedback=False, tie=1):
    """What the signs leave out is lost, whatever was asked for."""
    return c.ridge_descent(slope, step, steps, False, tie)


_R, _L, _A, _C = "ReplacementRandK", "BernoulliLazy", "Atomic", "ClippedTernGrad"
_O, _T, _U, _Q = "TwoMeans", "ThreeLC", "UniformBuckets", "QuantileBuckets"
_P, _S, _D = "permk_mean", "shared_randk_mean", "dgc_steps"
_Y, _I, _S2, _W = "dynamic_tree", "inceptionn", "spectral_atoms", "switched"
_M, _E, _G = "signum_signs", "ef_signs", "ridge_descent"
MUTANTS = (
    Mutant(m.ReplacementAdds, _R, "shipped.replacementrandk.bias", INJECT),
    Mutant(m.ReplacementOverwrites, _R, "shipped.replacementrandk.unbiased_added", INJECT),
    Mutant(m.ReplacementUnscaled, _R, "shipped.replacementrandk.bias", INJECT),
    Mutant(m.ReplacementNeverLast, _R, "shipped.replacementrandk.support", INJECT),
    Mutant(m.ReplacementPaysDraws, _R, "shipped.replacementrandk.wire", EXACT),
    Mutant(m.ReplacementOnePlace, _R, check="draws_follow_the_law"),
    Mutant(m.LazyUnscaled, _L, "shipped.bernoullilazy.unbiased", INJECT),
    Mutant(m.LazyAtOrAbove, _L, "shipped.bernoullilazy.unbiased", INJECT),
    Mutant(m.LazyRoot, _L, "shipped.bernoullilazy.second_moment", INJECT),
    Mutant(m.LazyFreeFlag, _L, "shipped.bernoullilazy.wire", EXACT),
    Mutant(m.LazyHalf, _L, "shipped.bernoullilazy.variance", INJECT),
    Mutant(m.AtomicUncapped, _A, "shipped.atomic.unbiased", INJECT),
    Mutant(m.AtomicNorm2, _A, "shipped.atomic.variance_balanced", INJECT),
    Mutant(m.AtomicUnscaled, _A, "shipped.atomic.unbiased", INJECT),
    Mutant(m.AtomicUnsigned, _A, "shipped.atomic.unbiased", INJECT),
    Mutant(m.AtomicFreeCount, _A, "shipped.atomic.wire", EXACT),
    Mutant(m.ClippedNever, _C, "shipped.clippedterngrad.bias", INJECT),
    Mutant(m.ClippedAtRMS, _C, "shipped.clippedterngrad.equal_entries", INJECT),
    Mutant(m.ClippedSample, _C, "shipped.clippedterngrad.one_sparse", INJECT),
    Mutant(m.ClippedAtHalf, _C, "shipped.clippedterngrad.unbiased_unclipped", INJECT),
    Mutant(m.ClippedKeepsScale, _C, "shipped.clippedterngrad.bias", INJECT),
    Mutant(m.ClippedOneBit, _C, "shipped.clippedterngrad.wire", EXACT),
    Mutant(m.OneBitFreeMeans, _O, "shipped.twomeans.wire", EXACT),
    Mutant(m.OneBitOneMagnitude, _O, "shipped.twomeans.sum", INJECT),
    Mutant(m.OneBitMedians, _O, "shipped.twomeans.error", INJECT),
    Mutant(m.OneBitSwapped, _O, "shipped.twomeans.contraction", INJECT),
    Mutant(m.OneBitZerosBelow, _O, "shipped.twomeans.contraction", INJECT),
    Mutant(m.ThreeLCTiesDown, _T, "shipped.threelc.entry_error", INJECT),
    Mutant(m.ThreeLCThreshold, _T, "shipped.threelc.entry_error", INJECT),
    Mutant(m.ThreeLCUnsigned, _T, "shipped.threelc.sign_symmetry", INJECT),
    Mutant(m.ThreeLCPlainScale, _T, "shipped.threelc.contraction", INJECT),
    Mutant(m.ThreeLCTwoBits, _T, "shipped.threelc.quartic", EXACT),
    Mutant(m.ThreeLCNoRuns, _T, "shipped.threelc.zeros", EXACT),
    Mutant(m.UniformFreeTable, _U, "shipped.uniformbuckets.wire", EXACT),
    Mutant(m.UniformCentres, _U, "shipped.uniformbuckets.sum", INJECT),
    Mutant(m.UniformPopulation, _U, "shipped.uniformbuckets.error", INJECT),
    Mutant(m.UniformNotCentred, _U, "shipped.uniformbuckets.error", INJECT),
    Mutant(m.UniformDropsOutliers, _U, "shipped.uniformbuckets.sum", INJECT),
    Mutant(m.QuantileFreeTable, _Q, "shipped.quantilebuckets.wire", EXACT),
    Mutant(m.QuantileTiesUp, _Q, "shipped.quantilebuckets.error", INJECT),
    Mutant(m.QuantileMidpoints, _Q, "shipped.quantilebuckets.sum", INJECT),
    Mutant(m.QuantileTwice, _Q, "shipped.quantilebuckets.lossless", INJECT),
    Mutant(m.QuantileFirst, _Q, "shipped.quantilebuckets.error", INJECT),
    Mutant(owners_ignored, _P, "shipped.permk_mean.unbiased", EXACT),
    Mutant(every_rank_its_own, _P, "shipped.permk_mean.unbiased", EXACT),
    Mutant(divided_once_more, _P, "shipped.permk_mean.identical", EXACT),
    Mutant(next_owner, _P, "shipped.permk_mean.error", EXACT),
    Mutant(indices_sent, _P, "shipped.permk_mean.words", EXACT),
    Mutant(not_scaled, _S, "shipped.shared_randk_mean.error", EXACT),
    Mutant(sum_for_mean, _S, "shipped.shared_randk_mean.error", EXACT),
    Mutant(first_places, _S, "shipped.shared_randk_mean.error", EXACT),
    Mutant(last_rank_zeroed, _S, "shipped.shared_randk_mean.error", EXACT),
    Mutant(places_sent, _S, "shipped.shared_randk_mean.words", EXACT),
    Mutant(residual_forgotten, _D, "shipped.dgc_steps.conserved", EXACT),
    Mutant(never_masked, _D, "shipped.dgc_steps.dense_plain", EXACT),
    Mutant(always_masked, _D, "shipped.dgc_steps.dense_unmasked", EXACT),
    Mutant(momentum_squared, _D, "shipped.dgc_steps.delayed", EXACT),
    Mutant(sums_for_means, _D, "shipped.dgc_steps.dense_plain", EXACT),
    Mutant(one_step_early, _D, "shipped.dgc_steps.conserved", EXACT),
    Mutant(divided_by_a_power_of_two, _D, "shipped.dgc_steps.conserved", EXACT),
    Mutant(values_alone, _D, "shipped.dgc_steps.words", EXACT),
    Mutant(minus_one_appended, _Y, "shipped.dynamic_tree.largest_negative", SEARCH),
    Mutant(one_scale, _Y, "shipped.dynamic_tree.wire", EXACT),
    Mutant(scale_of_the_first_block, _Y, "shipped.dynamic_tree.entry_error", SEARCH),
    Mutant(last_block_negative, _Y, "shipped.dynamic_tree.largest_negative", SEARCH),
    Mutant(least_values_halved, _Y, "shipped.dynamic_tree.smallest", SEARCH),
    Mutant(value_above, _Y, "shipped.dynamic_tree.contraction", SEARCH),
    Mutant(units_for_zeros, _I, "shipped.inceptionn.enlarged", EXACT),
    Mutant(one_binade_fewer, _I, "shipped.inceptionn.entry_error", EXACT),
    Mutant(coarser_large, _I, "shipped.inceptionn.large", EXACT),
    Mutant(unpadded, _I, "shipped.inceptionn.wire_zeros", EXACT),
    Mutant(drawn_once, _S2, "shipped.spectral_atoms.bias", SEARCH),
    Mutant(atoms_unscaled, _S2, "shipped.spectral_atoms.bias", SEARCH),
    Mutant(all_budgets_one, _S2, "shipped.spectral_atoms.kept", SEARCH),
    Mutant(small_as_large, _S2, "shipped.spectral_atoms.tiny", SEARCH),
    Mutant(divided_by_the_sum, _W, "shipped.switched.used", EXACT),
    Mutant(the_last_for_none, _W, "shipped.switched.used", EXACT),
    Mutant(never_the_second, _W, "shipped.switched.variance_whole", EXACT),
    Mutant(no_momentum, _M, "shipped.signum_signs.late", EXACT),
    Mutant(momentum_of_zeros, _M, "shipped.signum_signs.late", EXACT),
    Mutant(first_scaled, _E, "shipped.ef_signs.first_large", EXACT),
    Mutant(residual_dropped, _E, "shipped.ef_signs.excess", EXACT),
    Mutant(every_fourth_residual_lost, _E, "shipped.ef_signs.excess", EXACT),
    Mutant(along_too, _G, "shipped.ridge_descent.stuck", EXACT),
    Mutant(always_fed_back, _G, "shipped.ridge_descent.stuck", EXACT),
    Mutant(never_fed_back, _G, "shipped.ridge_descent.feedback", SEARCH),
    Mutant(ties_are_zero, _G, "shipped.ridge_descent.least", EXACT),
)
"""In the order of the registries."""


def _permuted(stack, seed):
    mean, traffic = permk_mean(stack, np.random.default_rng(seed))
    return cf.AllReduceResult(mean, traffic.sent, traffic.received)


def _right(compressor, *claims, **options):
    """A compressor of ours, which also is a port of itself."""
    port = cf.Matches(compressor, operations=0)
    return cf.Codec(called(compressor), [*claims, port], name=repr(compressor), **{**PATIENT, **options})


_BELOW = {"magnitudes": (0.0, 1e30)}
"""So that no product overflows."""
CONTROLS = (
    _right(c.ReplacementRandK(3, added=True), cf.Unbiased(), SYMMETRIC, SCALED, **_BELOW),
    _right(
        c.BernoulliLazy(Fraction(1, 2)),
        cf.Unbiased(),
        cf.Variance(bound("shipped.bernoullilazy.variance", keep=Fraction(1, 2))),
        SYMMETRIC,
        SCALED,
        **_BELOW,
    ),
    _right(c.Atomic(3), cf.Unbiased(), SYMMETRIC, SCALED, **_BELOW),
    _right(c.ClippedTernGrad(), SYMMETRIC, SCALED),
    _right(c.TwoMeans(), contracts("shipped.twomeans.contraction"), SCALED, IDEMPOTENT),
    _right(
        c.ThreeLC(Fraction(3, 2)),
        contracts("shipped.threelc.contraction", sparsity=Fraction(3, 2)),
        SYMMETRIC,
        SCALED,
        **_BELOW,
    ),
    _right(c.UniformBuckets(16), SCALED),
    _right(c.QuantileBuckets(16), SCALED),
    cf.AllReduce(_permuted, [cf.RanksAgree()], name="permk_mean", **SMALL),
)
"""Right ones, with what the book says of them, for the conformance kit."""

EXAMPLES = {
    "ReplacementRandK": [{"k": 1}, {"k": 3}, {"k": 2, "added": True}],
    "BernoulliLazy": [{"keep": Fraction(1, 3)}, {"keep": 0.75}],
    "Atomic": [{"budget": 1}, {"budget": Fraction(5, 2)}, {"budget": 4.0}],
    "ClippedTernGrad": [{}, {"clip": 4}],
    "TwoMeans": [{}],
    "ThreeLC": [{}, {"sparsity": Fraction(7, 4)}, {"sparsity": 1.5, "zero_run": False}],
    "UniformBuckets": [{"buckets": 2}, {"buckets": 4, "sigmas": 1}, {}],
    "QuantileBuckets": [{"buckets": 2}, {"buckets": 3}, {}],
}
"""Hyper-parameters to keep the contract with; the first are admissible for one entry."""


def _tabled_form(message, x):
    assert message.codes.shape == x.shape, "not one code an entry"
    assert message.codes.dtype == np.int16, f"codes are {message.codes.dtype}"
    assert message.codes.min() >= 0, "a code is negative"
    assert message.codes.max() < message.table.size, "a code is not in the table"
    assert message.table.dtype == x.dtype, f"values are {message.table.dtype}"


def _quartic_form(message, x):
    assert message.packed.dtype == np.uint8, f"bytes are {message.packed.dtype}"
    assert 0 < message.packed.size <= -(-x.size // 5), f"{message.packed.size} bytes for {x.size} entries"
    assert message.scale.dtype == x.dtype, "the scale is not in the dtype of the vector"


def _maybe_form(message, x):
    assert message.values.shape in (x.shape, (0,)), "neither all values nor none"
    assert message.values.dtype == x.dtype, f"values are {message.values.dtype}"


FORMS = {"Tabled": _tabled_form, "Quartic": _quartic_form, "Maybe": _maybe_form}
"""What the column's messages look like."""
