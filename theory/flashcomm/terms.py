"""Symbols, quantities, hypotheses and works of the column flashcomm."""

from fractions import Fraction

import sympy as sp

from commbounds.theory.claim import Eq, Ge, Hypothesis
from commbounds.theory.flashcomm import conditions
from commbounds.theory.quantities import P, Quantity, n
from commbounds.theory.sources import Work
from commbounds.theory.symbols import Symbol

width = Symbol("width", "b", 3, integer=True, positive=True)
"""Bits of a code."""
first_width = Symbol("first_width", "b_1", 4, integer=True, positive=True)
"""Bits of a code in the all-to-all."""
second_width = Symbol("second_width", "b_2", 8, integer=True, positive=True)
"""Bits of a code in the all-gather."""
group = Symbol("group", "g", 32, integer=True, positive=True)
"""Entries of a group."""
groups = Symbol("groups", "G", 5, integer=True, positive=True)
"""Groups of a vector."""
metabits = Symbol("metabits", "w", 16, integer=True, positive=True)
"""Bits of a stored scale, and of a stored zero point."""
theta = Symbol("theta", example=8, integer=True, positive=True)
"""Steps of a log2 scale in an octave."""
step = Symbol("step", r"\tilde s", Fraction(1, 4), positive=True)
"""Stored scale of a group."""
offset = Symbol("offset", r"|\min|", Fraction(3), nonnegative=True)
"""Magnitude of a group's smallest entry."""
span = Symbol("span", "R", Fraction(7, 4), positive=True)
"""Largest entry of a group minus its smallest."""
roundoff = Symbol("roundoff", "u", Fraction(1, 256), positive=True)
"""Unit roundoff of the metadata's format: 2^-24, 2^-11, 2^-8."""
tiny = Symbol("tiny", "t", Fraction(1, 2**14), positive=True)
"""Smallest normal number of the metadata's format: 2^-126, 2^-14, 2^-126. Below, rounding errs by up to u t."""
magnitude = Symbol("magnitude", r"\max|x|", Fraction(5), nonnegative=True)
"""Magnitude of a group's largest entry."""
own_roundoff = Symbol("own_roundoff", "u_x", Fraction(1, 2**24), positive=True)
"""Unit roundoff of the vector's dtype: 2^-24, 2^-53."""
own_tiny = Symbol("own_tiny", "t_x", Fraction(1, 2**126), positive=True)
"""Smallest normal number of the vector's dtype: 2^-126, 2^-1022."""
smallest_scale = Symbol("smallest_scale", r"\min s", Fraction(1, 8), positive=True)
"""Smallest exact scale of a group whose entries are not all equal."""
reserved_error = Symbol("reserved_error", "E", Fraction(3), nonnegative=True)
"""Largest squared error that INT2 with spike reserving can make, by `flashcomm.groupquant.stored` of every group of 32
without its ends, and by the rounding of the ends."""
least_error = Symbol("least_error", "V", Fraction(8), nonnegative=True)
"""Smallest squared error that levels as far apart as those of INT4 can make, wherever they lie, of the entries that are
no ends of groups of 32; in groups of 128."""
scales = Symbol("scales", r"\left(\sum_p s_p\right)", Fraction(5, 2), nonnegative=True)
"""Sum over the ranks of the scales of their groups at an entry."""
sum_scale = Symbol("sum_scale", "s'", Fraction(2), nonnegative=True)
"""Scale of the group of the sum."""
ranges = Symbol("ranges", r"\left(\sum_p R_p\right)", Fraction(9), nonnegative=True)
"""Sum over the ranks of the ranges of their groups at an entry."""
ring_scales = Symbol("ring_scales", r"\left(\sum_{h=1}^P\sum_{p\leq h} s_p\right)", Fraction(6), nonnegative=True)
"""Sum over h = 1 .. P of the sums of the scales of the first h ranks on the ring, from where the block starts."""
coded_bytes = Symbol("coded_bytes", "M", 60, integer=True, positive=True)
"""Bytes of a quantised vector."""


ERROR_IN_STEPS = Quantity(
    "error_in_steps",
    r"\max_i \frac{|\hat x_i-x_i|}{s}",
    "largest error of an entry, over the scale of its group; infinite where the scale is zero and the error is not",
)
LARGEST_ERROR = Quantity("largest_error", r"\max_i |\hat x_i-x_i|", "largest error of an entry of a group")
END_ERROR = Quantity(
    "end_error",
    r"\max\{|\hat x_i-x_i|: x_i\in\{\min,\max\}\}",
    "largest error of the smallest and the largest entry of a group",
)
INVERSIONS = Quantity(
    "inversions", r"\#\{(i,j): x_i<x_j,\ \hat x_i>\hat x_j\}", "pairs of entries of a group whose order is reversed"
)
CHANGED = Quantity("changed", r"\#\{i: y_i\neq x_i\}", "entries that are not what they were")
INFLATION = Quantity("inflation", r"\max \tilde s/s", "stored scale over the exact one, at its largest over the groups")
RANGE_WITHOUT_SPIKES = Quantity(
    "range_without_spikes", r"\max R'/R", "range of a group without its spikes over its range with them"
)
MSE_RATIO = Quantity(
    "mse_ratio",
    r"\frac{\lVert \hat x_{\mathrm{spikes}}-x\rVert^2}{\lVert \hat x_{\mathrm{plain}}-x\rVert^2}",
    "squared error of INT2 with spike reserving (groups of 32) over that of plain INT4 (groups of 128), float16 "
    "metadata",
)
VARIANCE_IN_STEPS = Quantity(
    "variance_in_steps", r"\max_i \mathrm{Var}(\hat x_i)/s^2", "largest variance of an entry over its scale squared"
)
VALUE_BITS = Quantity("value_bits", r"\mathrm{bits}/n", "bits on the wire for one entry")
PACKED_BYTES = Quantity("packed_bytes", r"\mathrm{bytes}", "bytes of the packed planes of a vector of codes")
SUM_ERROR = Quantity(
    "sum_error", r"\Big|\hat y_i-\sum_p x_{p,i}\Big|", "error of an entry of the sum that the ranks end with"
)
RMS_RATIO = Quantity(
    "rms_ratio",
    r"\mathrm{rms}\big(\hat y-\sum_p x_p\big)/\mathrm{rms}(\hat x_1-x_1)",
    "root mean square error of the sum, over that of one quantisation",
)
RING_OVER_TWOSTEP = Quantity(
    "ring_over_twostep",
    r"\mathrm{rms}_{\mathrm{ring}}/\mathrm{rms}_{\mathrm{two\ step}}",
    "root mean square error of the ring's sum over that of the two-step's",
)
MIXED_RATIO = Quantity(
    "mixed_ratio",
    r"\mathrm{rms}_{4+8}/\mathrm{rms}_{6+6}",
    "root mean square error of the two-step with four and eight bits, over that with six and six",
)
DISAGREEING = Quantity("disagreeing", r"\#\{p: \hat y_p\neq\hat y_1\}", "ranks that do not end with rank 1's bits")
BYTES_SENT = Quantity("bytes_sent", r"\max_p \mathrm{sent}_p", "bytes sent by the rank that sends most")
BRIDGE_BYTES = Quantity("bridge_bytes", r"\mathrm{bridge}", "bytes over the bridge between two halves, per direction")

EXACT_METADATA = Hypothesis(
    "exact_metadata",
    "Arithmetic is exact, and scales and zero points are stored exactly. A kernel that computes and stores in the "
    "vector's dtype meets the claim up to its rounding, which can be as large as a scale: see the claims *_rounded; no "
    "entry exceeds 1 - 8u times its largest number.",
    conditions.stored_exactly,
)
ONE_GROUPING = Hypothesis("one_grouping", "Both stages have the same groups.", ensured="Cases have one size of groups.")
ONE_QUANTISER = Hypothesis(
    "one_quantiser",
    "Both stages have the same bits and groups.",
    ensured="Cases have one quantiser, unless the claim has two widths.",
)
OWN_METADATA = Hypothesis(
    "own_metadata",
    "Scales and zero points are computed and stored in the vector's dtype, rounded to nearest; no range overflows, and "
    "no entry exceeds 1 - 8u times the largest number, so that nothing that is read does.",
    conditions.stored_as_the_vector,
)
STORED_METADATA = Hypothesis(
    "stored_metadata",
    "Scales and zero points fit float32, float16 or bfloat16 and are stored there; codes are relative to those. No "
    "entry exceeds 1 - 8u times the largest number of the vector's dtype, so that nothing that is read does.",
    conditions.stored_in_few_bits,
)
EXACT_THEN_STORED = Hypothesis(
    "exact_then_stored",
    "Codes are relative to the exact scale and zero point; the receiver has the stored ones, which fit their format.",
    conditions.coded_then_stored,
)
REPAIRED = Hypothesis(
    "repaired",
    "The zero point is rounded down, the scale is taken from there and rounded up, codes use both as stored; no entry "
    "exceeds a quarter of the largest number of their format.",
    conditions.repaired,
)
EXACT_CODES = Hypothesis(
    "exact_codes",
    "Codes and what is read of them are computed exactly; a kernel that computes in the vector's dtype meets the claim "
    "up to its rounding: see flashcomm.groupquant.repaired_rounded.",
    ensured="Tests allow the rounding of coding and reading in the vector's dtype, by repaired_rounded.",
)
INTEGER_POINT = Hypothesis(
    "integer_point",
    "The zero point is the integer round(-min/s), of at most 32 bits and not clamped.",
    conditions.has_integer_points,
)
CLAMPED_POINT = Hypothesis(
    "clamped_point",
    "The zero point is the integer round(-min/s), clamped to the codes' range.",
    conditions.has_clamped_points,
)
LOG2_SCALE = Hypothesis(
    "log2_scale",
    "The scale is the smallest 2^(j/theta), j = -128 .. 127, that is not below the exact one; there is one.",
    conditions.has_log2_scales,
)
SOME_RANGE = Hypothesis("some_range", "The entries of some group are not all equal.", conditions.has_a_range)
SIXTEEN_BITS = Hypothesis(
    "sixteen_bits", "Scales and zero points take 16 bits each: float16 or bfloat16.", Eq(metabits, 16)
)
WHOLE_GROUPS = Hypothesis(
    "whole_groups", "The group divides n, and 8 divides n.", Eq(sp.Mod(n, group), 0) & Eq(sp.Mod(n, 8), 0)
)
WHOLE_BYTES = Hypothesis("whole_bytes", "8 divides n.", Eq(sp.Mod(n, 8), 0))
NO_SPIKE = Hypothesis(
    "no_spike",
    "The entry is neither the smallest nor the largest of its group.",
    ensured="Errors are taken over the entries that are not reserved.",
)
GAUSSIAN = Hypothesis(
    "gaussian",
    "The entries are independent standard normal numbers.",
    ensured="The trial draws every rank's entries in float32, from its own seed.",
)
SUMS_CODED = Hypothesis("sums_coded", "P >= 2: a single rank's second quantisation finds entries on levels.", Ge(P, 2))
LEVELS_MISS = Hypothesis(
    "levels_miss",
    "The entries that are no ends do not all lie on levels as far apart as INT4's.",
    sp.Gt(least_error, 0),
)
OWN_BLOCK_CODED = Hypothesis(
    "own_block_coded",
    "In the two-step every rank quantises its own block too, before it adds the others'.",
    ensured="The two-step of this package does that.",
)
OWN_BLOCK_KEPT = Hypothesis(
    "own_block_kept",
    "In the two-step every rank adds its own block unquantised.",
    ensured="The trial compares the ring with such a two-step.",
)
MIXED_WIDTHS = Hypothesis(
    "mixed_widths", "Four bits in one stage and eight in the other, against six in both.", conditions.has_mixed_widths
)
OWNER_READS = Hypothesis("owner_reads", "Owners read the bytes that they send.", conditions.owners_read)
OWNER_KEEPS = Hypothesis("owner_keeps", "Owners keep their sums unquantised.", conditions.owners_keep)
SIDES_READ = Hypothesis(
    "sides_read", "In the exchange both sides add both halves as they were coded.", conditions.sides_read
)
SIDES_KEEP = Hypothesis("sides_keep", "In the exchange a side keeps its own half unquantised.", conditions.sides_keep)
EQUAL_NODES = Hypothesis("equal_nodes", "All nodes have the same number of ranks.", conditions.nodes_are_equal)
FULL_BLOCKS = Hypothesis(
    "full_blocks",
    "P groups divide n, and so do 8 P entries: every block is made of whole groups, its planes of whole bytes.",
    Eq(sp.Mod(n, P * group), 0) & Eq(sp.Mod(n, 8 * P), 0),
)
TWO_HALVES = Hypothesis(
    "two_halves", "P is even, and a bridge joins the first half of the ranks to the second.", Eq(sp.Mod(P, 2), 0)
)
TWO_NODES = Hypothesis("two_nodes", "Two nodes of P/2 ranks each.", conditions.nodes_are_two)

FLASH_2024 = Work("Flash Communication, 2024, arXiv:2412.04964", "Public notes alone.")
FLASH_2025 = Work("FlashCommunication V2, 2025, arXiv:2508.03760", "The abstract was read.")
