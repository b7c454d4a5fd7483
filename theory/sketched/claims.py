"""Claims about sketches: hashes, estimates, what is recovered and forgotten, and the words of their collectives."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing, for_one_reason
from commbounds.theory.implementations import defined
from commbounds.theory.quantities import BIAS, P, k, n, norm2
from commbounds.theory.sketched import terms as t
from commbounds.theory.sources import derived
from commbounds.theory.traffic import MOST_SENT

_VEC = "csvec.py of csvec: "
_AGGREGATOR = "_server_helper_sketched in fed_aggregator.py: "
_left = sp.Mod(t.prime, t.cells)
_hashed = (t.INDEPENDENT,)

HASHES: tuple[Claim, ...] = (
    Claim(
        name="sketched.hashes.collision",
        title="Polynomial hashes modulo p collide with probability 1/c + (p mod c)(c - p mod c)/(c p^2)",
        relation=Eq(t.COLLISION, 1 / t.cells + _left * (t.cells - _left) / (t.cells * t.prime**2)),
        kind=Kind.LAW,
        source=derived(
            "The values before the last step are all p^2 pairs. Among the c classes modulo c, p mod c have one value "
            "more than the others: add up the squares of the sizes."
        ),
        axis="sketch_cells",
    ),
    Claim(
        name="sketched.hashes.universal",
        title="Two entries share one of c buckets with probability at most 1/c",
        relation=Le(t.COLLISION, 1 / t.cells),
        kind=Kind.LAW,
        assumes=(t.CELLS_WITHIN,),
        source=t.ROTHCHILD_2020.official_code(
            _VEC + "bucket hashes, with two-wise independence",
            "Refuted by p = 3 and c = 2, where it is 5/9.",
            "Two-wise independence is read for buckets, as variances need it, not for values modulo p.",
            code=t.CSVEC_AT.at("csvec/csvec.py", "148-151"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="sketched.hashes.collision",
        extremal="p = 3 and c = 2",
        axis="sketch_cells",
        note="The excess is at most an eighth, near c = 3 p/4; for the authors' p = 2^61 - 1 it is negligible.",
    ),
    Claim(
        name="sketched.hashes.sign_mean",
        title="Signs from residues modulo an odd prime p, taken modulo two, have the mean -1/p",
        relation=Eq(t.SIGN_MEAN, 1 / t.prime),
        kind=Kind.LAW,
        assumes=(t.ODD_PRIME,),
        source=derived("Among the p residues (p + 1)/2 are even."),
        axis="hash_prime",
    ),
    Claim(
        name="sketched.hashes.sign_pair",
        title="Two signs from residues modulo an odd prime p, taken modulo two, have the mean product 1/p^2, not zero",
        relation=Eq(t.SIGN_PAIR, 1 / t.prime**2),
        kind=Kind.LAW,
        assumes=(t.ODD_PRIME,),
        source=derived("Values of a random cubic at two places are independent and uniform: the square of the mean."),
        axis="hash_prime",
        note="So the bias of a row's estimate is the collision's probability times p^-2 times the other entries.",
    ),
    Claim(
        name="sketched.hashes.balanced",
        title="The mean product of two signs is zero",
        relation=Eq(t.SIGN_PAIR, 0),
        kind=Kind.LAW,
        source=t.ROTHCHILD_2020.official_code(
            _VEC + "sign hashes, with four-wise independence",
            "Refuted by every odd prime: p = 3 has 1/9.",
            "It is read for signs, as an unbiased estimate needs it.",
            code=t.CSVEC_AT.at("csvec/csvec.py", "134-140"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="sketched.hashes.sign_pair",
        extremal="p = 3",
        axis="hash_prime",
        note="With p = 2^61 - 1 it is 2^-122. That code's 64-bit products also wrap around; no claim covers that.",
    ),
)

ESTIMATES: tuple[Claim, ...] = (
    Claim(
        name="sketched.table.linear",
        title="The sketch of a sum is the sum of the sketches",
        relation=Eq(t.LINEAR_DEFECT, 0),
        source=t.ROTHCHILD_2020.read(
            "abstract: the count sketch is linear, so momentum and error accumulate within it", "Counters are sums."
        ),
        axis="n",
    ),
    Claim(
        name="sketched.table.norm",
        title="The expected squared norm of a row is that of the vector",
        relation=Eq(t.ROW_SQUARE, norm2**2),
        kind=Kind.EXPECTED,
        assumes=_hashed,
        source=t.ROTHCHILD_2020.official_code(
            _VEC + "l2estimate, the root of the median of the rows' squared norms",
            "Cross terms have mean zero for all collisions.",
            "The row is the code's; its lack of bias is our claim.",
            code=t.CSVEC_AT.at("csvec/csvec.py", "414-417"),
        ),
        axis="norm2",
    ),
    Claim(
        name="sketched.row.unbiased",
        title="The estimates of one row are unbiased",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(*_hashed, t.ONE_ROW),
        source=t.CHARIKAR_2002.recalled("the estimate of a single row", "E s_i s_j = 0."),
        axis="n",
    ),
    Claim(
        name="sketched.row.variance",
        title="The squared error of an entry is the square of all others over the counters of a row",
        relation=Eq(t.ENTRY_ERROR, (norm2**2 - t.entry**2) / t.cells),
        kind=Kind.EXPECTED,
        assumes=(*_hashed, t.ONE_ROW),
        source=derived("The error is the sum over j of s_i s_j x_j where j collides, with probability 1/c."),
        axis="sketch_cells",
    ),
    Claim(
        name="sketched.row.variance_bound",
        title="The squared error of an entry is at most the squared norm over the counters of a row",
        relation=Le(t.ENTRY_ERROR, norm2**2 / t.cells),
        kind=Kind.EXPECTED,
        assumes=(*_hashed, t.ONE_ROW),
        source=t.LARSEN_2021.read(
            "abstract: variance bounded by the squared norm over s, for one row", "The entry's own square is left out."
        ),
        tightness=1,
        extremal="the entry is zero",
        axis="sketch_cells",
    ),
    Claim(
        name="sketched.row.error",
        title="The error of all estimates of one row together is (n - 1)/c of the squared norm",
        relation=Eq(t.ROW_ERROR, (n - 1) / t.cells),
        kind=Kind.EXPECTED,
        assumes=(*_hashed, t.ONE_ROW, t.NOT_ZERO),
        source=derived("The sum of the errors of the entries."),
        axis="n",
        note="Rand-K with as many entries as counters has n/c - 1: a sketch is worse by (c - 1)/c of the squared norm.",
    ),
    Claim(
        name="sketched.median.unbiased",
        title="The median of rows is unbiased if signs are independent",
        relation=Eq(t.ENTRY_BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(*_hashed, t.FAIR_MIDDLE),
        source=derived(
            "Errors of rows are symmetric and independent: negating all signs but one negates the median's error."
        ),
        axis="sketch_rows",
    ),
    Claim(
        name="sketched.median.fourwise",
        title="The median of rows is unbiased if any four signs are independent",
        relation=Eq(t.ENTRY_BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(t.FOURWISE, t.FAIR_MIDDLE),
        source=t.ROTHCHILD_2020.official_code(
            _VEC + "four-wise independent signs, and the median over rows",
            "Refuted by six equal entries in one cell, signs whose product is one, and three rows: the bias is 15/128. "
            "With five entries four-wise independence makes the error symmetric: six is the least.",
            "We read it as an unbiased estimate; the code has the independence and the median.",
            code=t.CSVEC_AT.at("csvec/csvec.py", "134-140"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="sketched.median.unbiased",
        extremal="six equal entries in one cell, whose signs have the product one",
        axis="sketch_rows",
        note="Pairwise or three-wise independent signs are biased with four entries: by 3/8.",
    ),
    Claim(
        name="sketched.median.parity",
        title="Signs whose product is one bias the median of three rows of n ones by 3/8 (n = 4), 15/128 (n = 6)",
        relation=Eq(t.ENTRY_BIAS, sp.Piecewise((sp.Rational(3, 8), Eq(n, 4)), (sp.Rational(15, 128), True))),
        kind=Kind.EXPECTED,
        assumes=(t.PARITY, t.ONE_CELL, t.ONES, t.FOUR_OR_SIX),
        source=derived(
            "The error of a row is 3 with probability 1/4, else -1; for n = 6 it is 5, 1, -3 with 1/16, 10/16, 5/16. "
            "The mean is zero and the law skewed, so the mean of the median is not zero. For odd n the law is "
            "symmetric, and there is no bias."
        ),
        axis="n",
    ),
    Claim(
        name="sketched.median.lower",
        title="The median of rows by torch.median is unbiased, also for an even number of rows",
        relation=Eq(t.ENTRY_BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(*_hashed, t.LOWER_MIDDLE),
        source=t.ROTHCHILD_2020.official_code(
            _VEC + "vals.median(dim=0)[0], which is torch.median: by its documentation the lower of two medians",
            "Refuted by two entries and two rows of one counter: the smaller of two estimates.",
            "It is read for an even number of rows; the authors' default is five.",
            code=t.CSVEC_AT.at("csvec/csvec.py", "351", "an even number of rows; the default is five"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="sketched.median.unbiased",
        extremal="two entries in two rows of one counter",
        axis="sketch_rows",
        note="It is too small for either sign; an odd number of rows, or the mean of the middle two, is unbiased.",
    ),
    Claim(
        name="sketched.median.lower_bias",
        title="The lower estimate of two rows is too small by |x_j| (2 c - 1)/(2 c^2)",
        relation=Eq(t.ENTRY_BIAS, t.other * (2 * t.cells - 1) / (2 * t.cells**2)),
        kind=Kind.EXPECTED,
        assumes=(*_hashed, t.LOWER_MIDDLE, t.TWO_ROWS, t.TWO_ENTRIES),
        source=derived("The smaller of two errors, each x_j or -x_j with probability 1/(2 c) and zero otherwise."),
        axis="sketch_cells",
    ),
    Claim(
        name="sketched.median.variance",
        title="The median of three rows has at most the squared error of one of them",
        relation=Le(t.ENTRY_ERROR, (norm2**2 - t.entry**2) / t.cells),
        kind=Kind.EXPECTED,
        assumes=(*_hashed, t.THREE_ROWS),
        source=derived(
            "Its error exceeds any number with probability q^2 (3 - q)/2 (sketched.median.tail), at most q: integrate."
        ),
        tightness=1,
        extremal="two entries in one counter, where every row has the same error magnitude",
        axis="sketch_cells",
    ),
    Claim(
        name="sketched.median.of_three",
        title="With two entries the median of three rows has the squared error x_j^2 (3 c - 1)/(2 c^3)",
        relation=Eq(t.ENTRY_ERROR, t.other**2 * (3 * t.cells - 1) / (2 * t.cells**3)),
        kind=Kind.EXPECTED,
        assumes=(*_hashed, t.THREE_ROWS, t.TWO_ENTRIES),
        source=t.LARSEN_2021.read(
            "abstract: with three rows or more the variance decreases with the square of s",
            "The tail of sketched.median.tail at q = 1/c.",
            "The constant is ours, for two entries.",
        ),
        axis="sketch_cells",
        note="A single row has x_j^2/c: two more rows reduce it to 3/(2 c) of that.",
    ),
    Claim(
        name="sketched.row.tail",
        title="The error of one row is tau times the norm or more with probability at most 1/(c tau^2)",
        relation=Le(t.OFF_CHANCE, 1 / (t.cells * t.tolerance**2)),
        kind=Kind.LAW,
        assumes=(*_hashed, t.ONE_ROW, t.NOT_ZERO),
        source=t.CHARIKAR_2002.recalled("Chebyshev's inequality for a row", "The variance is at most that over c."),
        tightness=1,
        extremal="one other entry, and the tolerance one",
        axis="sketch_cells",
    ),
    Claim(
        name="sketched.median.tail",
        title="The median of r rows exceeds a tolerance with probability exactly 2 P(Bin(r, q/2) >= (r + 1)/2)",
        relation=Eq(
            t.OFF_CHANCE,
            sp.Piecewise((t.row_off, Eq(t.rows, 1)), (t.median_tail(3), Eq(t.rows, 3)), (t.median_tail(5), True)),
        ),
        kind=Kind.LAW,
        assumes=(*_hashed, t.UP_TO_FIVE_ROWS, t.NOT_ZERO),
        source=derived(
            "More than half of the rows have to exceed it on one side; each side has half of q, not both at once."
        ),
        axis="row_off",
    ),
    Claim(
        name="sketched.median.exponential",
        title="The error of the median of r rows is 2/sqrt(c) of the norm or more with probability at most exp(-r/8)",
        relation=Le(t.OFF_CHANCE, sp.exp(-t.rows / 8)),
        kind=Kind.LAW,
        assumes=(*_hashed, t.WIDE_TOLERANCE, t.ODD_ROWS, t.NOT_ZERO),
        source=t.LARSEN_2021.read(
            "abstract: off by more than twice the norm over the root of s with probability exponentially small in t",
            "Hoeffding's bound, as a row exceeds it with probability at most 1/4.",
            "The constant 1/8 is ours.",
        ),
        axis="sketch_rows",
        note="It is far from the exact law: a single row exceeds it with probability 1/4, and this bound is 0.88.",
        unpinned=for_one_reason(
            "loose by nature: the exact law is sketched.median.tail", "0.9 times the bound", "sketch_rows + 1 for *"
        ),
    ),
)

RECOVERY: tuple[Claim, ...] = (
    Claim(
        name="sketched.recovery.largest",
        title="The k largest entries are recovered if their gap exceeds twice the largest error",
        relation=Eq(t.MISSED, 0),
        assumes=(t.GAP,),
        source=derived("Their estimates are above the middle of the gap, and all others below it."),
        axis="k",
    ),
    Claim(
        name="sketched.recovery.contraction",
        title="The k largest estimates are a contraction by 1 - k/n in expectation",
        relation=Le(t.TOP_ERROR, 1 - k / n),
        kind=Kind.EXPECTED,
        assumes=(*_hashed, t.ONE_ROW, t.NOT_ZERO),
        source=t.IVKIN_2019.transcribed(
            "Lemma 1: a contraction by k/d with probability 1 - delta, for sketches of order k log(d/delta)",
            "Refuted by two equal entries in one counter: the error for k = 1 is the squared norm, not half of it.",
            "It is read in expectation, for every size of the sketch, and for the largest estimates: the paper keeps "
            "heavy entries, and adds random ones.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="sketched.recovery.one_cell",
        tightness=sp.oo,
        extremal="two equal entries in one counter: all of the squared norm, also for k = n, where none should be lost",
        axis="k",
        note="Entries that share a counter with a large one are estimated as large; each one recovered adds error.",
    ),
    Claim(
        name="sketched.recovery.one_cell",
        title="With one counter the error of the k recovered entries is at most k + 1 times the squared norm",
        relation=Le(t.TOP_ERROR, k + 1),
        kind=Kind.EXPECTED,
        assumes=(*_hashed, t.ONE_ROW, t.ONE_CELL, t.NOT_ZERO),
        source=derived(
            "All estimates have one magnitude, the first k are kept: k + 1 less twice their share of the squared norm."
        ),
        tightness=1,
        extremal="the first k entries are zero",
        axis="k",
    ),
    Claim(
        name="sketched.recovery.one_entry",
        title="One recovered entry has error 2 (1 - (1 - 1/c)^(n - 1)), if only the last of n is nonzero",
        relation=Eq(t.TOP_ERROR, 2 * (1 - (1 - 1 / t.cells) ** (n - 1))),
        kind=Kind.EXPECTED,
        assumes=(*_hashed, t.ONE_ROW, t.ONE_RECOVERED, t.LAST_ALONE),
        source=derived(
            "If any zero shares its counter, that zero is recovered, as ties go to the lowest index: the error counts "
            "the missed entry and the false one."
        ),
        axis="sketch_cells",
        note="So for a contraction a single row needs more counters than entries, not only than large entries.",
    ),
    Claim(
        name="sketched.recovery.second_round",
        title="With exact values in a second round the error is at most the squared norm",
        relation=Le(t.EXACT_ERROR, 1),
        assumes=(t.NOT_ZERO,),
        source=t.IVKIN_2019.transcribed(
            "algorithm 1: a second round, which requests the exact entries from the workers",
            "Kept entries are exact: the error loses their square.",
            "The bound is ours.",
        ),
        tightness=1,
        extremal="the sketch names entries that are zero",
        axis="sketch_candidates",
        note="It may not be smaller: hashes that cancel a large entry hide it.",
    ),
)

FEEDBACK: tuple[Claim, ...] = (
    Claim(
        name="sketched.fetchsgd.conserves",
        title="If the update's sketch is subtracted, the error's sketch contains everything not sent",
        relation=Eq(t.LOST, 0),
        assumes=(t.SUBTRACTED, t.NO_MOMENTUM),
        source=t.ROTHCHILD_2020.official_code(
            _AGGREGATOR + "Verror -= sketched_update, which is commented out: it should work, and diverges",
            "E + S(u) does not change: the sketch is linear.",
            "The identity is ours.",
            code=t.FETCH_AT.at("CommEfficient/fed_aggregator.py", "597-598", False),
        ),
        axis="k",
    ),
    Claim(
        name="sketched.fetchsgd.zeroing",
        title="If the update's cells are set to zero, the error's sketch contains everything not sent",
        relation=Eq(t.LOST, 0),
        assumes=(t.ZEROED, t.NO_MOMENTUM),
        source=derived(
            "Refuted by two rows, in one of which another entry shares a cell with the recovered one.",
            code=t.FETCH_AT.at("CommEfficient/fed_aggregator.py", "599-601"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="sketched.fetchsgd.conserves",
        extremal="two equal entries that share a cell in one of two rows",
        axis="k",
        note="Entries that shared these cells are lost in these rows, and so is the growth.",
    ),
    Claim(
        name="sketched.fetchsgd.same",
        title="Without momentum, with one row and recovered entries in separate cells, zeroing equals subtracting",
        relation=Eq(t.FORGET_GAP, 0),
        assumes=(t.ONE_ROW, t.ALONE_IN_CELL, t.NO_MOMENTUM),
        source=derived(
            "The sketch of s_i T at i is T in i's cell: both leave the same after one step, and so after all."
        ),
        axis="k",
    ),
    Claim(
        name="sketched.fetchsgd.same_momentum",
        title="With one row and recovered entries in separate cells, zeroing equals subtracting, also with momentum",
        relation=Eq(t.FORGET_GAP, 0),
        assumes=(t.ONE_ROW, t.ALONE_IN_CELL),
        source=derived(
            "It holds for the first step. Zeroing also clears the momentum of sent entries, and subtracting does not: "
            "refuted by the gradients (2, 1) and (0, 0), two counters, k = 1 and a momentum that keeps all."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="sketched.fetchsgd.same",
        extremal="momentum of an entry that was sent",
        axis="k",
        note="If the sketch is subtracted, sent entries come back with the momentum: zeroing is also DGC's momentum "
        "factor masking.",
    ),
    Claim(
        name="sketched.fetchsgd.growth",
        title="With one row, subtracting h recovered entries of one cell multiplies its counter by 1 - h",
        relation=Eq(t.CELL_AFTER, (t.together - 1) * t.cell_before),
        assumes=(t.ONE_ROW, t.SUBTRACTED, t.NO_MOMENTUM),
        source=derived("Each of them takes T off."),
        axis="recovered_in_cell",
        note=(
            "With three or more it grows in every step without a gradient, which may explain the authors' remark: "
            "their code says that subtracting should work, but that the model diverges."
        ),
    ),
)

LEVELS: tuple[Claim, ...] = (
    Claim(
        name="sketched.minmax.under",
        title="SketchML: the smallest of a cell and then the largest of rows is at most the level",
        relation=Le(t.RECOVERED, t.level),
        source=t.JIANG_2018.read(
            "abstract: collisions in hash tables are solved by a MinMax strategy",
            "An entry's cells hold at most its own level.",
            "The inequality is ours, and that levels are those of magnitudes.",
        ),
        tightness=1,
        extremal="the entry is alone in one of its cells",
        axis="sketched_level",
        note="So magnitudes shrink, and signs, stored separately, never change: the result is biased.",
    ),
    Claim(
        name="sketched.minmax.exact",
        title="A level is exact with probability 1 - (1 - (1 - 1/c)^l)^r, l the number of smaller ones",
        relation=Eq(t.EXACT_CHANCE, 1 - (1 - (1 - 1 / t.cells) ** t.smaller) ** t.rows),
        kind=Kind.LAW,
        assumes=_hashed,
        source=derived("In a row it is exact where no smaller one shares the cell; rows are independent."),
        axis="sketch_cells",
    ),
)

WORDS: tuple[Claim, ...] = (
    Claim(
        name="sketched.words.one_round",
        title="A rank sends 2 r c (P - 1)/P words for the sum of sketches, for any entries",
        relation=Eq(MOST_SENT, 2 * t.rows * t.cells * (P - 1) / P),
        assumes=(t.WHOLE_SKETCHES,),
        source=t.ROTHCHILD_2020.official_code(
            "FedModel in fed_aggregator.py: num_rows num_cols floats are uploaded",
            "We count a ring all-reduce of the table.",
            "The ring is our reading.",
            code=t.FETCH_AT.at("CommEfficient/fed_aggregator.py", "288-298"),
        ),
        axis="sketch_cells",
    ),
    Claim(
        name="sketched.words.two_rounds",
        title="With K candidates in a second round a rank sends 2 (r c + K)(P - 1)/P words",
        relation=Eq(MOST_SENT, 2 * (t.rows * t.cells + t.candidates) * (P - 1) / P),
        assumes=(t.WHOLE_SKETCHES, t.WHOLE_CANDIDATES),
        source=t.IVKIN_2019.transcribed(
            "two rounds, of sketches and of candidates' entries, between workers and a server",
            "Counted: two rings.",
            "We count a ring; the paper counts a worker's |S| + P k words to a server, and k back.",
        ),
        axis="sketch_candidates",
    ),
)

DEFINITIONS = defined(
    "sketched",
    {
        "polynomial_hashes": (
            "Written from the docstring (the authors' code of FetchSGD): polynomials in integers without limits, "
            "modulo the prime once."
        ),
        "count_sketch": (
            "Written from the docstring (Charikar, Chen, Farach-Colton 2002): counters are added to one entry after "
            "another, in the dtype."
        ),
        "sketch_estimates": (
            "Written from the docstring (Charikar, Chen, Farach-Colton 2002): the median by a sort, for an even number "
            "of rows both ways."
        ),
        "unsketch": "Written from the docstring: the k largest estimates, ties to the lowest index, and zeros.",
        "min_max_sketch": (
            "Written from the docstring (SketchML): the smallest level of every cell, and the largest of those of an "
            "entry."
        ),
        "sketched_sum": (
            "Written from the docstring (Rothchild et al. 2020, arXiv:2007.07682): sketches added on the ring of "
            "`dense`, and the largest estimates; words by phase."
        ),
        "sketched_topk": (
            "Written from the docstring (Ivkin et al. 2019, arXiv:1903.04488): sketches and then candidates added on "
            "the ring of `dense`; words by phase."
        ),
        "fetchsgd_step": (
            "Written from the docstring (Rothchild et al. 2020, arXiv:2007.07682), step after step: update, both "
            "tables and words by phase."
        ),
    },
)

CLAIMS: tuple[Claim, ...] = (*HASHES, *ESTIMATES, *RECOVERY, *FEEDBACK, *LEVELS, *WORDS, *DEFINITIONS)
