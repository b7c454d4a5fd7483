"""Broken quantisers without randomness: signs, low bits, groups with scales."""

import ml_dtypes
import numpy as np

from commbounds.verify import conformance as cf
from zoo.record import broken

GROUP = 16


def wide(x):
    """In float64."""
    return x.astype(np.float64)


# --- symmetric ---------------------------------------------------------------------------------------------------


def eight_bits(x, seed):
    """The nearest of the 255 multiples of max/127."""
    top = float(np.abs(x).max())
    codes = np.rint(127 * wide(x) / (top or 1.0)).astype(np.int8)
    return (top * (codes / 127)).astype(x.dtype)


def eight_bits_that_wrap(x, seed):
    """Scales to 128 levels: the largest positive entry becomes -128."""
    top = float(np.abs(x).max())
    codes = np.rint(128 * wide(x) / (top or 1.0)).astype(np.int16).astype(np.int8)
    return (top * (codes / 128)).astype(x.dtype)


def eight_bits_with_a_half_scale(x, seed):
    """Sends the scale as float16: infinite above 65504, zero below 6e-8."""
    with np.errstate(all="ignore"):
        scale = float(np.float16(np.abs(x).max() / np.float32(127)))
    codes = np.clip(np.rint(wide(x) / (scale or 1.0)), -127, 127)
    return (scale * codes).astype(x.dtype)


def eight_bits_by_a_reciprocal(x, seed):
    """Multiplies by a reciprocal that was rounded to float16: the levels themselves do not come back."""
    top = float(np.abs(x).max())
    codes = np.rint(wide(x) / (top or 1.0) * 127).astype(np.int8)
    return (top * (codes * float(np.float16(1 / 127)))).astype(x.dtype)


def eight_bits_with_an_epsilon(x, seed):
    """Adds 1e-8 to the scale, lest it be zero: small vectors become all zero."""
    top = float(np.abs(x).max()) + 1e-8
    codes = np.rint(127 * wide(x) / top).astype(np.int8)
    return (top * (codes / 127)).astype(x.dtype)


def thresholded(x, seed):
    """Keeps what is at least one half."""
    return np.where(np.abs(x) >= 0.5, x, x.dtype.type(0))


def thresholded_softly(x, seed):
    """Takes the threshold off what it keeps, again with every hop."""
    return (np.sign(x) * np.maximum(np.abs(wide(x)) - 0.5, 0.0)).astype(x.dtype)


def eight_bits_half_up(x, seed):
    """Rounds halves up, by floor(v + 1/2): -1/2 becomes 0 and 1/2 becomes 1."""
    top = float(np.abs(x).max())
    codes = np.floor(127 * wide(x) / (top or 1.0) + 0.5)
    return (top * (codes / 127)).astype(x.dtype)


def half_step(levels):
    """Half the distance of two levels."""

    def limit(x):
        return np.abs(wide(x)).max() / (2 * levels)

    limit.__name__ = f"max/{2 * levels}"
    return limit


def book_of(levels):
    """The multiples of max/levels."""

    def book(x):
        return np.abs(wide(x)).max() * (np.arange(-levels, levels + 1) / levels)

    book.__name__ = f"{2 * levels + 1} levels"
    return book


def nibbles(x, seed):
    """The nearest of the fifteen multiples of max/7, packed in four bits."""
    top = float(np.abs(x).max())
    codes = np.rint(7 * wide(x) / (top or 1.0)).astype(np.int64) & 15
    return (top * (np.where(codes < 8, codes, codes - 16) / 7)).astype(x.dtype)


def nibbles_that_flip(x, seed):
    """Uses eight levels on either side, in four bits of two's complement: +8 becomes -8."""
    top = float(np.abs(x).max())
    codes = np.rint(8 * wide(x) / (top or 1.0)).astype(np.int64) & 15
    return (top * (np.where(codes < 8, codes, codes - 16) / 8)).astype(x.dtype)


def nibbles_without_a_sign(x, seed):
    """Forgets to extend the sign: -1 comes out as 15."""
    top = float(np.abs(x).max())
    codes = np.rint(7 * wide(x) / (top or 1.0)).astype(np.int64) & 15
    return (top * (codes / 7)).astype(x.dtype)


def nibbles_half_away(x, seed):
    """Rounds halves away from zero: its reference rounds them to even."""
    top = float(np.abs(x).max())
    steps = 7 * wide(x) / (top or 1.0)
    return (top * (np.sign(steps) * np.floor(np.abs(steps) + 0.5) / 7)).astype(x.dtype)


TABLE = np.array([-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0])
MISTYPED = np.array([-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.57, 1.0])


def looked_up(x, table):
    """The nearest entry of a table, relative to the largest magnitude; of two the one closer to zero."""
    top = float(np.abs(x).max())
    distance = np.abs((np.abs(wide(x)) / (top or 1.0))[:, None] - np.abs(table))
    one_side = np.where((table >= 0) == (x >= 0)[:, None], distance, np.inf)
    one_side[:, table == 0] = distance[:, table == 0]
    return (top * table[np.argmin(one_side + 1e-9 * np.abs(table), axis=1)]).astype(x.dtype)


def tabled(x, seed):
    """The nearest of nine levels."""
    return looked_up(x, TABLE)


def tabled_with_a_slip(x, seed):
    """Has 0.57 for 0.75 on one side of its table."""
    return looked_up(x, MISTYPED)


def codes_of_eight_bits(rng, n):
    """Integers whose largest is 127: levels, all of them."""
    codes = rng.integers(-127, 128, n)
    codes[rng.integers(n)] = 127
    return codes.astype(np.float64)


EIGHT = [cf.AbsoluteError(half_step(127)), cf.SignSymmetric(), cf.Idempotent(), cf.Codebook(book_of(127))]
EIGHT += [cf.ScaleEquivariant(), cf.ExactOn(codes_of_eight_bits)]
HALF = [cf.AbsoluteError(0.5), cf.SignSymmetric(), cf.Idempotent()]
NIBBLE = [cf.AbsoluteError(half_step(7)), cf.SignSymmetric(), cf.Idempotent(), cf.Codebook(book_of(7))]
NINE = [cf.AbsoluteError(lambda x: np.abs(wide(x)).max() * (1 / 8 + 1e-9)), cf.SignSymmetric()]
NINE += [cf.Codebook(lambda x: np.abs(wide(x)).max() * TABLE)]

# --- with a zero point -------------------------------------------------------------------------------------------


def affine(x, seed):
    """The nearest of 256 levels from the smallest entry to the largest."""
    low, high = float(x.min()), float(x.max())
    codes = np.rint(255 * (wide(x) - low) / ((high - low) or 1.0))
    return (low + (high - low) * (codes / 255)).astype(x.dtype)


def affine_with_a_clamped_point(x, seed):
    """Keeps its zero point in 0 .. 255: entries that are all negative come out near zero."""
    low, high = float(x.min()), float(x.max())
    scale = (high - low) / 255 or 1.0
    zero = np.clip(np.rint(-low / scale), 0, 255)
    codes = np.clip(np.rint(wide(x) / scale) + zero, 0, 255)
    return (scale * (codes - zero)).astype(x.dtype)


def affine_undefined_on_constants(x, seed):
    """Divides by the range: constants become NaN."""
    low, high = float(x.min()), float(x.max())
    with np.errstate(all="ignore"):
        codes = np.rint(255 * (wide(x) - low) / np.float64(high - low))
    return (low + (high - low) * (codes / 255)).astype(x.dtype)


def affine_in_float32(x, seed):
    """Takes the range in float32: infinite where the smallest and the largest are too far apart."""
    with np.errstate(all="ignore"):
        low, high = x.min(), x.max()
        codes = np.rint(255 * (wide(x) - low) / (np.float32(high - low) or 1.0))
        return (low + (high - low) * (codes / 255).astype(x.dtype)).astype(x.dtype)


def half_affine_step(x):
    """Half the distance of two levels."""
    return (wide(x).max() - wide(x).min()) / 510


AFFINE = [cf.AbsoluteError(half_affine_step)]

# --- groups ------------------------------------------------------------------------------------------------------


def in_groups(x, scale_of):
    """Eight bits for every sixteen entries, with the scale that `scale_of` gives for a group's number."""
    y = np.zeros_like(x)
    tops = [float(np.abs(x[i : i + GROUP]).max()) for i in range(0, x.size, GROUP)]
    for number, start in enumerate(range(0, x.size, GROUP)):
        top = tops[scale_of(number, len(tops))]
        codes = np.clip(np.rint(127 * wide(x[start : start + GROUP]) / (top or 1.0)), -127, 127)
        y[start : start + GROUP] = top * (codes / 127)
    return y


def grouped(x, seed):
    """Eight bits for every sixteen entries."""
    return in_groups(x, lambda number, count: number)


def grouped_with_the_next_scale(x, seed):
    """Reads the scale of the group behind: its scales are one place off."""
    return in_groups(x, lambda number, count: (number + 1) % count)


def grouped_without_the_rest(x, seed):
    """Covers n // 16 groups: what is left over stays zero."""
    whole = x.size // GROUP * GROUP
    return np.concatenate([grouped(x[:whole], seed), np.zeros_like(x[whole:])])


def grouped_without_counting_scales(x, seed):
    """Promises eight bits an entry: the scales are sent as well."""
    return grouped(x, seed)


def bits_of_groups(x, seed):
    """Codes, and a scale a group."""
    return 8 * x.size + 32 * -(-x.size // GROUP)


def half_group_step(x):
    """Half the distance of two levels of the entry's group."""
    return np.concatenate(
        [np.full(part.size, np.abs(part).max() / 254) for part in np.split(wide(x), range(GROUP, x.size, GROUP))]
    )


GROUPED = [cf.AbsoluteError(half_group_step), cf.SignSymmetric(), cf.Idempotent()]

# --- signs, and shorter floats -----------------------------------------------------------------------------------


def signs(x, seed):
    """One bit an entry; zeros count as positive."""
    return np.where(x >= 0, 1, -1).astype(x.dtype)


def signs_of_three_kinds(x, seed):
    """Takes np.sign, which is 0 for 0: one bit does not hold that."""
    return np.sign(x)


def scaled_signs(x, seed):
    """Signs times the mean magnitude."""
    return (np.sign(x) * np.abs(wide(x)).mean()).astype(x.dtype)


def scaled_signs_by_the_norm(x, seed):
    """Scales by |x| / sqrt(n): too long wherever magnitudes differ."""
    return (np.sign(x) * (np.linalg.norm(wide(x)) / np.sqrt(x.size))).astype(x.dtype)


def scaled_signs_summed_in_float32(x, seed):
    """Adds magnitudes in float32: the sum of large ones is infinite."""
    return np.sign(x) * (np.abs(x).sum(dtype=np.float32) / np.float32(x.size))


def brain_floats(x, seed):
    """Rounded to bfloat16."""
    return x.astype(ml_dtypes.bfloat16).astype(x.dtype)


def brain_floats_cut_off(x, seed):
    """Cuts off the lower sixteen bits, and promises the error of rounding to the nearest."""
    return (np.ascontiguousarray(x).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def half_floats(x, seed):
    """Rounded to float16."""
    return x.astype(np.float16).astype(x.dtype)


def half_floats_half_away(x, seed):
    """Adds half a unit to the bits and cuts off: ties go away from zero, not to even."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def half_floats_without_the_last(x, seed):
    """Takes the largest number of float16 for too large, by >= where > is meant."""
    y = half_floats(x, seed)
    return np.where(np.abs(y) >= 65504, np.copysign(np.inf, y), y).astype(x.dtype)


def half_unit(x):
    """Half a unit in the last place of bfloat16, which keeps eight digits: 2^(e - 9) for |x| in [2^(e - 1), 2^e)."""
    return np.ldexp(1.0, np.maximum(np.frexp(wide(x))[1] - 9, -134))


SIGNS = [cf.Codebook([-1.0, 1.0], operations=0), cf.Idempotent()]
SCALED = [cf.Contraction(lambda n: 1 / n), cf.SignSymmetric(), cf.ScaleEquivariant()]
FLOAT16 = [cf.Matches(lambda x: x.astype(np.float16), operations=0), cf.SignSymmetric(), cf.Idempotent()]
BRAIN = [cf.AbsoluteError(half_unit), cf.SignSymmetric(), cf.Idempotent()]

LEVELS = (
    broken(eight_bits_that_wrap, eight_bits, EIGHT, "AbsoluteError", "SignSymmetric"),
    broken(eight_bits_with_a_half_scale, eight_bits, EIGHT, "finite in, finite out"),
    broken(eight_bits_by_a_reciprocal, eight_bits, EIGHT, "ExactOn"),
    broken(eight_bits_with_an_epsilon, eight_bits, EIGHT, "ScaleEquivariant"),
    broken(thresholded_softly, thresholded, HALF, "Idempotent"),
    broken(eight_bits_half_up, eight_bits, EIGHT, "SignSymmetric"),
    broken(nibbles_that_flip, nibbles, NIBBLE, "AbsoluteError", "SignSymmetric"),
    broken(nibbles_without_a_sign, nibbles, NIBBLE, "AbsoluteError", "SignSymmetric"),
    broken(nibbles_half_away, nibbles, [*NIBBLE, cf.Matches(nibbles)], "Matches"),
    broken(tabled_with_a_slip, tabled, NINE, "SignSymmetric"),
    broken(affine_with_a_clamped_point, affine, AFFINE, "AbsoluteError"),
    broken(affine_undefined_on_constants, affine, AFFINE, "finite in, finite out"),
    broken(affine_in_float32, affine, AFFINE, "finite in, finite out"),
    broken(grouped_with_the_next_scale, grouped, GROUPED, "AbsoluteError"),
    broken(grouped_without_the_rest, grouped, GROUPED, "AbsoluteError"),
    broken(grouped_without_counting_scales, None, [*GROUPED, cf.Bits(lambda n: 8 * n)], "Bits", bits=bits_of_groups),
    broken(signs_of_three_kinds, signs, SIGNS, "Codebook"),
    broken(scaled_signs_by_the_norm, scaled_signs, SCALED, "Contraction"),
    broken(scaled_signs_summed_in_float32, scaled_signs, SCALED, "finite in, finite out"),
    broken(brain_floats_cut_off, brain_floats, BRAIN, "AbsoluteError", magnitudes=(0.0, 3e38)),
    broken(half_floats_half_away, half_floats, FLOAT16, "Matches", magnitudes=(2.0**-14, 65504.0)),
    broken(half_floats_without_the_last, half_floats, FLOAT16, "finite in, finite out", magnitudes=(0.0, 65504.0)),
)
"""Broken quantisers, by what kills them."""
