"""Broken selections: Top-K, Top-K of groups, Rand-K."""

import numpy as np

from commbounds.compressors import RandK
from commbounds.verify import conformance as cf
from zoo.record import broken

K, GROUP = 3, 8


def kept(n):
    """How many entries are kept of n."""
    return min(K, n)


def share(n):
    """The contraction of Top-K."""
    return kept(n) / n


# --- Top-K -------------------------------------------------------------------------------------------------------


def only(x, places):
    """`x` at `places`, zero elsewhere."""
    y = np.zeros_like(x)
    y[places] = x[places]
    return y


def topk(x, seed):
    """The three entries that are largest in magnitude, ties to the lowest index."""
    return only(x, np.argsort(-np.abs(x), kind="stable")[:K])


def topk_keeps_all_ties(x, seed):
    """Keeps everything at or above the k-th magnitude: with ties more than k entries."""
    sizes = np.abs(x)
    threshold = np.sort(sizes)[-kept(x.size)]
    return np.where(sizes >= threshold, x, x.dtype.type(0))


def topk_keeps_one_fewer(x, seed):
    """Keeps what is strictly above the k-th magnitude: k - 1 entries, or none of equal ones."""
    sizes = np.abs(x)
    threshold = np.sort(sizes)[-kept(x.size)]
    return np.where(sizes > threshold, x, x.dtype.type(0))


def topk_by_value(x, seed):
    """Sorts by value, not by magnitude: large negative entries are left out."""
    return only(x, np.argsort(-x, kind="stable")[:K])


def topk_shifted_by_one(x, seed):
    """Writes each value one place behind its own: indices counted from one."""
    places = np.argsort(-np.abs(x), kind="stable")[:K]
    y = np.zeros_like(x)
    y[(places + 1) % x.size] = x[places]
    return y


def topk_without_the_last(x, seed):
    """Looks for the largest entries in x[:-1]: the last entry is never sent."""
    return only(x, np.argsort(-np.abs(x[:-1]), kind="stable")[:K])


def topk_with_short_indices(x, seed):
    """Sends indices as int16: beyond 32767 they come out negative, and land elsewhere."""
    places = np.argsort(-np.abs(x), kind="stable")[:K]
    y = np.zeros_like(x)
    y[places.astype(np.int16)] = x[places]
    return y


def topk_by_a_sample(x, seed):
    """Takes the threshold from every fourth entry, and keeps all that reaches it."""
    sample = np.sort(np.abs(x[::4]))
    threshold = sample[-min(sample.size, max(1, K // 4))]
    return np.where(np.abs(x) >= threshold, x, x.dtype.type(0))


def topk_flushes_subnormal_numbers(x, seed):
    """Runs with denormals flushed to zero: small vectors vanish."""
    return topk(np.where(np.abs(x) < np.finfo(np.float32).tiny, np.float32(0), x), seed)


def topk_sends_half_precision(x, seed):
    """Sends the values as float16: large ones become infinite."""
    return topk(x, seed).astype(np.float16).astype(x.dtype)


def nothing_at_all(x, seed):
    """Returns zeros, which any test with |y| <= |x| and a wide tolerance accepts."""
    return np.zeros_like(x)


def values_and_indices(x, seed):
    """Bits of three values and three indices."""
    return 64 * kept(x.size)


TOPK = [cf.Contraction(share), cf.Support(kept), cf.Idempotent(), cf.SignSymmetric(), cf.ScaleEquivariant()]


def topk_bits_claimed(n):
    """Bits that a paper counts which forgets the indices."""
    return 32 * kept(n)


def topk_counted_without_indices(x, seed):
    """Promises 32 k bits; what is sent are k values and k indices."""
    return topk(x, seed)


# --- groups ------------------------------------------------------------------------------------------------------


def groups(n):
    """Ends of the groups of eight."""
    return range(0, n, GROUP)


def group_top1(x, seed):
    """The largest entry of every eight."""
    y = np.zeros_like(x)
    for start in groups(x.size):
        place = start + int(np.argmax(np.abs(x[start : start + GROUP])))
        y[place] = x[place]
    return y


def group_top1_drops_the_rest(x, seed):
    """Reshapes to whole groups: the last, partial one is dropped."""
    whole = x[: x.size // GROUP * GROUP].reshape(-1, GROUP)
    y = np.zeros_like(x)
    for row, place in enumerate(np.argmax(np.abs(whole), axis=1)):
        y[row * GROUP + place] = whole[row, place]
    return y


def group_top1_with_an_empty_group(x, seed):
    """Makes n // 8 + 1 groups: of a multiple of eight the last one is empty, and has no largest entry."""
    y = np.zeros_like(x)
    for start in range(0, (x.size // GROUP + 1) * GROUP, GROUP):
        place = start + int(np.argmax(np.abs(x[start : start + GROUP])))
        y[place] = x[place]
    return y


TOP1 = [cf.Contraction(1 / GROUP), cf.Support(lambda n: -(-n // GROUP)), cf.Idempotent(), cf.SignSymmetric()]


# --- Rand-K ------------------------------------------------------------------------------------------------------


def randk(x, seed):
    """Three entries at random, times n/3: unbiased."""
    n, k = x.size, kept(x.size)
    return only(x, np.random.default_rng(seed).permutation(n)[:k]) * x.dtype.type(n / k)


def randk_unscaled(x, seed):
    """Sold as unbiased without the factor n/k."""
    return only(x, np.random.default_rng(seed).permutation(x.size)[:K])


def randk_scaled_the_other_way(x, seed):
    """Multiplies by k/n where it should divide."""
    n, k = x.size, kept(x.size)
    return only(x, np.random.default_rng(seed).permutation(n)[:k]) * x.dtype.type(k / n)


def randk_with_replacement(x, seed):
    """Draws indices with replacement: an entry that comes twice is sent once."""
    n, k = x.size, kept(x.size)
    return only(x, np.random.default_rng(seed).integers(n, size=k)) * x.dtype.type(n / k)


def randk_of_one_seed(x, seed):
    """Seeds its generator with 42, whatever the seed: always the same entries."""
    return randk(x, 42)


def randk_of_the_last_bits(x, seed):
    """Keeps four bits of the seed: sixteen choices, over and over."""
    return randk(x, seed % 16)


def randk_window(x, seed):
    """Sends three neighbours, from a random place on: every mean is right, the joint law is not."""
    n, k = x.size, kept(x.size)
    start = np.random.default_rng(seed).integers(n)
    return only(x, (start + np.arange(k)) % n) * x.dtype.type(n / k)


def randk_never_the_last(x, seed):
    """Draws from n - 1 places: numpy's upper end is exclusive already."""
    n, k = x.size, kept(x.size)
    return only(x, np.random.default_rng(seed).permutation(max(1, n - 1))[:k]) * x.dtype.type(n / k)


def randk_with_the_global_generator(x, seed):
    """Seeds and uses numpy's global generator."""
    np.random.seed(seed)  # noqa: NPY002  that is the defect
    n, k = x.size, kept(x.size)
    return only(x, np.random.permutation(n)[:k]) * x.dtype.type(n / k)  # noqa: NPY002


def randk_of_short_vectors(x, seed):
    """Asks for three different places even where there are fewer."""
    places = np.random.default_rng(seed).choice(x.size, K, replace=False)
    return only(x, places) * x.dtype.type(x.size / K)


def variance_of_randk(n):
    """The variance of Rand-K: n/k - 1."""
    return n / kept(n) - 1


def law_of_randk(x):
    """The law of Rand-K, whose k is n for the shortest vectors."""
    return RandK(kept(len(x))).law(x)


RANDK = [cf.Unbiased(), cf.Variance(variance_of_randk), cf.Support(kept), cf.SameLaw(law_of_randk)]
small = {"magnitudes": (0.0, 1e30)}  # n/k times the largest number is beyond the dtype

SELECTION = (
    broken(topk_keeps_all_ties, topk, TOPK, "Support"),
    broken(topk_keeps_one_fewer, topk, TOPK, "Contraction"),
    broken(topk_by_value, topk, TOPK, "Contraction", "SignSymmetric"),
    broken(topk_shifted_by_one, topk, TOPK, "Contraction"),
    broken(topk_without_the_last, topk, TOPK, "Contraction"),
    broken(topk_with_short_indices, topk, TOPK, "Contraction"),
    broken(topk_by_a_sample, topk, TOPK, "Support"),
    broken(topk_flushes_subnormal_numbers, topk, TOPK, "Contraction"),
    broken(topk_sends_half_precision, topk, TOPK, "finite in, finite out"),
    broken(nothing_at_all, topk, TOPK, "Contraction"),
    broken(topk_counted_without_indices, None, [*TOPK, cf.Bits(topk_bits_claimed)], "Bits", bits=values_and_indices),
    broken(group_top1_drops_the_rest, group_top1, TOP1, "Contraction"),
    broken(group_top1_with_an_empty_group, group_top1, TOP1, "answers"),
    broken(randk_unscaled, randk, RANDK, "Unbiased", **small),
    broken(randk_scaled_the_other_way, randk, RANDK, "Unbiased", **small),
    broken(randk_with_replacement, randk, RANDK, "SameLaw", **small),
    broken(randk_of_one_seed, randk, RANDK, "Unbiased", **small),
    broken(randk_of_the_last_bits, randk, RANDK, "Unbiased", **small),
    broken(randk_window, randk, RANDK, "SameLaw", **small),
    broken(randk_never_the_last, randk, RANDK, "Unbiased", **small),
    broken(randk_with_the_global_generator, randk, RANDK, "global generators untouched", **small),
    broken(randk_of_short_vectors, randk, RANDK, "answers", **small),
)
"""Broken selections, by what kills them."""
