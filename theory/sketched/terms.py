"""Symbols, quantities, hypotheses and works of the column sketched."""

from fractions import Fraction

import sympy as sp

from commbounds.theory.claim import Eq, Ge, Hypothesis, Le
from commbounds.theory.quantities import P, Quantity, k
from commbounds.theory.sources import Repository, Work
from commbounds.theory.symbols import Symbol

CHARIKAR_2002 = Work(
    "M. Charikar, K. Chen, M. Farach-Colton, 2002, Finding frequent items in data streams, doi:10.1007/3-540-45465-9_59"
)
IVKIN_2019 = Work(
    "N. Ivkin, D. Rothchild, E. Ullah, V. Braverman, I. Stoica, R. Arora, 2019, Communication-efficient distributed "
    "SGD with sketching, arXiv:1903.04488v3",
    "Of the version of NeurIPS 2019 the main text was read, in a transcription by others; appendices A to C are not "
    "in it.",
)
FETCH_AT = Repository("kiddyboots216/CommEfficient", "833ca44cc43a9b034515f55485524e4f1d0fad21")
CSVEC_AT = Repository("nikitaivkin/csh", "8e0198697b60bc6a7e6c48725f1ab34cc3b251e8")
ROTHCHILD_2020 = Work(
    "D. Rothchild, A. Panda, E. Ullah, N. Ivkin, I. Stoica, V. Braverman, J. Gonzalez, R. Arora, 2020, FetchSGD: "
    "communication-efficient federated learning with sketching, arXiv:2007.07682",
    "The abstract was read.",
)
LARSEN_2021 = Work(
    "K. G. Larsen, R. Pagh, J. Tětek, 2021, CountSketches, feature hashing and the median of three, arXiv:2102.02193",
    "The abstract was read.",
)
JIANG_2018 = Work(
    "J. Jiang, F. Fu, T. Yang, B. Cui, 2018, SketchML: accelerating distributed machine learning with data "
    "sketches, doi:10.1145/3183713.3196894",
    "The abstract was read.",
)

rows = Symbol("sketch_rows", r"r", 3, integer=True, positive=True)
"""Rows of the sketch."""
cells = Symbol("sketch_cells", r"c", 4, integer=True, positive=True)
"""Counters of a row."""
prime = Symbol("hash_prime", r"p", 7, integer=True, positive=True)
"""The prime that hash polynomials are taken modulo."""
entry = Symbol("sketched_entry", r"\lvert x_i\rvert", Fraction(2), nonnegative=True)
"""The magnitude of the entry that is estimated."""
other = Symbol("other_entry", r"\lvert x_j\rvert", Fraction(3), nonnegative=True)
"""That of the only other entry."""
tolerance = Symbol("sketch_tolerance", r"\tau", Fraction(1, 2), positive=True)
"""By how much of the norm an estimate is off, at least."""
row_off = Symbol("row_off", r"q", Fraction(1, 4), nonnegative=True)
"""Probability that the estimate of a single row is off by so much."""
smaller = Symbol("smaller_levels", r"\ell", 3, integer=True, nonnegative=True)
"""Entries whose level is below that of the one asked for."""
level = Symbol("sketched_level", r"v_i", 3, integer=True, nonnegative=True)
"""The level asked for."""
candidates = Symbol("sketch_candidates", r"K", 5, integer=True, positive=True)
"""Entries that are asked for in the second round."""
together = Symbol("recovered_in_cell", r"h", 3, integer=True, positive=True)
"""Recovered entries that share the cell."""
cell_before = Symbol("cell_before", r"\lvert T\rvert", Fraction(2), nonnegative=True)
"""The magnitude of a counter before the update is subtracted."""

COLLISION = Quantity(
    "hash_collision", r"\Pr[h(i)=h(j)]", "probability that two entries share a bucket, over all coefficients"
)
SIGN_MEAN = Quantity("hash_sign_mean", r"\lvert\mathbb{E}\,s(i)\rvert", "magnitude of the mean sign of an entry")
SIGN_PAIR = Quantity(
    "hash_sign_pair", r"\lvert\mathbb{E}\,s(i)s(j)\rvert", "magnitude of the mean product of two entries' signs"
)
LINEAR_DEFECT = Quantity(
    "sketch_linear_defect",
    r"\lVert aS(x)+bS(y)-S(ax+by)\rVert_1",
    "absolute difference of the sketch of a combination and the combination of the sketches, all counters added up",
)
ROW_SQUARE = Quantity("sketch_row_square", r"\mathbb{E}\,\lVert S_j\rVert^2", "squared norm of a row, expected")
ENTRY_ERROR = Quantity("sketch_entry_error", r"\mathbb{E}\,(\hat x_i-x_i)^2", "squared error of an estimate, expected")
ENTRY_BIAS = Quantity("sketch_entry_bias", r"\lvert\mathbb{E}\,\hat x_i-x_i\rvert", "bias of the estimate of an entry")
ROW_ERROR = Quantity(
    "sketch_row_error",
    r"\frac{\mathbb{E}\,\lVert\hat x-x\rVert^2}{\lVert x\rVert^2}",
    "squared error of all estimates of one row over the squared norm, expected; x is not zero",
)
OFF_CHANCE = Quantity(
    "sketch_off_chance",
    r"\Pr[\lvert\hat x_i-x_i\rvert\ge\tau\lVert x\rVert]",
    "probability that the error of an estimate is at least the tolerance times the norm",
)
MISSED = Quantity("sketch_missed", r"\#\text{missed}", "entries among the k largest that are not recovered")
LOST = Quantity(
    "sketch_lost",
    r"\lVert S(\textstyle\sum_t\bar g_t)-E-S(\sum_t u_t)\rVert_1",
    "difference of the sketch of all gradients and those of the error and all updates, all counters added up",
)
FORGET_GAP = Quantity(
    "sketch_forget_gap",
    r"\textstyle\sum_t\lVert E_{t,\mathrm{zero}}-E_{t,\mathrm{subtract}}\rVert_1",
    "difference of the error's sketch with zeroing and with subtracting, all counters and steps added up",
)
CELL_AFTER = Quantity(
    "sketch_cell_after", r"\lvert T^+\rvert", "magnitude of a counter after the update's sketch is subtracted"
)
TOP_ERROR = Quantity(
    "sketch_top_error",
    r"\frac{\mathbb{E}\,\lVert U_k(S(x))-x\rVert^2}{\lVert x\rVert^2}",
    "squared error of the k largest estimates over the squared norm, expected; x is not zero",
)
EXACT_ERROR = Quantity(
    "sketch_exact_error",
    r"\frac{\lVert u-\sum_p x_p\rVert^2}{\lVert\sum_p x_p\rVert^2}",
    "squared error of the two rounds' result over the squared norm of the sum, which is not zero",
)
RECOVERED = Quantity("recovered_level", r"\hat v_i", "level by the smallest of a cell and the largest of rows")
EXACT_CHANCE = Quantity("level_exact_chance", r"\Pr[\hat v_i=v_i]", "probability that a level is recovered exactly")

ODD_PRIME = Hypothesis("odd_hash_prime", "The prime is odd.", Ge(prime, 3))
CELLS_WITHIN = Hypothesis("cells_within_prime", "A row has no more counters than the prime.", Le(cells, prime))
INDEPENDENT = Hypothesis(
    "independent_hashes", "Buckets and signs are independent and uniform.", lambda hashing: hashing == "independent"
)
FOURWISE = Hypothesis(
    "fourwise_signs", "Any four signs are independent and uniform.", lambda hashing: hashing in ("independent", "five")
)
PARITY = Hypothesis(
    "parity_signs",
    "The product of all signs is one, and all but one of them are independent.",
    lambda hashing: hashing in ("three", "five"),
)
FOUR_OR_SIX = Hypothesis("four_or_six_entries", "There are four entries, or six.", lambda n: n in (4, 6))
ONE_CELL = Hypothesis("one_sketch_cell", "A row has a single counter.", Eq(cells, 1))
ONES = Hypothesis("three_rows_of_ones", "All entries are one, and there are three rows.",
                  lambda flat, sketch_rows: flat and sketch_rows == 3)  # fmt: skip
ONE_ROW = Hypothesis("one_sketch_row", "The sketch has one row.", Eq(rows, 1))
TWO_ROWS = Hypothesis("two_sketch_rows", "The sketch has two rows.", Eq(rows, 2))
THREE_ROWS = Hypothesis("three_sketch_rows", "The sketch has three rows.", Eq(rows, 3))
LAST_ALONE = Hypothesis(
    "last_entry_alone", "All entries are zero but the last.", lambda x: bool(x[-1] != 0 and not x[:-1].any())
)
ONE_RECOVERED = Hypothesis("one_recovered", "One entry is recovered.", Eq(k, 1))
TWO_ENTRIES = Hypothesis("two_sketched_entries", "There are two entries.", lambda n: n == 2)
FAIR_MIDDLE = Hypothesis(
    "fair_middle",
    "The number of rows is odd, or the median of an even number is the mean of the middle two.",
    lambda middle, sketch_rows: middle == "mean" or sketch_rows % 2 == 1,
)
LOWER_MIDDLE = Hypothesis(
    "lower_middle", "The median of an even number of rows is the lower of the middle two.",
    lambda middle: middle == "lower",
)  # fmt: skip
UP_TO_FIVE_ROWS = Hypothesis(
    "up_to_five_odd_rows", "There are one, three or five rows.", lambda sketch_rows: sketch_rows in (1, 3, 5)
)
WIDE_TOLERANCE = Hypothesis("wide_tolerance", "The tolerance is at least two over the root of the counters of a row.",
                            Ge(tolerance**2 * cells, 4))  # fmt: skip
ODD_ROWS = Hypothesis("odd_sketch_rows", "The number of rows is odd.", Eq(sp.Mod(rows, 2), 1))
GAP = Hypothesis(
    "wide_gap",
    "The k-th and the next magnitude are further apart than twice the largest error of an estimate.",
    lambda gap, worst: gap > 2 * worst,
)
NOT_ZERO = Hypothesis("sketched_not_zero", "The vector, or the ranks' sum, is not zero.", lambda nonzero: nonzero)
SUBTRACTED = Hypothesis("subtracted_sketch", "The update's sketch is subtracted.", lambda forget: forget == "subtract")
ZEROED = Hypothesis("zeroed_cells", "Cells of the update are set to zero.", lambda forget: forget == "zero")
NO_MOMENTUM = Hypothesis("no_sketch_momentum", "There is no momentum.", lambda rho: rho == 0)
ALONE_IN_CELL = Hypothesis(
    "alone_in_cell", "No two entries that a step recovers share a cell.", lambda most_together: most_together <= 1
)
WHOLE_SKETCHES = Hypothesis(
    "whole_blocks_of_sketch", "The number of ranks divides the counters of the sketch.", Eq(sp.Mod(rows * cells, P), 0)
)
WHOLE_CANDIDATES = Hypothesis(
    "whole_blocks_of_candidates", "The number of ranks divides the candidates.", Eq(sp.Mod(candidates, P), 0)
)


def median_tail(count: int) -> sp.Expr:
    """Probability that the median of an odd number of symmetric rows is off, where one is with probability q."""
    half = row_off / 2
    return 2 * sp.Add(
        *(sp.binomial(count, j) * half**j * (1 - half) ** (count - j) for j in range((count + 1) // 2, count + 1))
    )
