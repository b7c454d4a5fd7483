"""Claims about sums of table numbers (THC), and about roundings hop after hop (DynamiQ)."""

from fractions import Fraction

import sympy as sp

from commbounds.theory.blockformats.terms import (
    E2M1_ELEMENTS,
    HAN_2026,
    LI_2024,
    NOTHING_CLIPPED,
    ONE_ENTRY_BLOCKS,
    PARTS_ALIKE,
    PARTS_OF_BLOCKS,
    SUMS_FIT,
    THC_AT,
    TOTAL_ERROR,
    WIRE_BYTES,
    elementbits,
)
from commbounds.theory.claim import Claim, Eq, Hypothesis, Kind, Le, Standing, for_one_reason
from commbounds.theory.quantities import P, Quantity, block, index_bits, n
from commbounds.theory.sources import derived
from commbounds.theory.symbols import Symbol

_CODE = "SophiaLi06/BytePS_THC, byteps/torch/compression.py"

# --- symbols -----------------------------------------------------------------------------------------------------

tabletop = Symbol("tabletop", "g_T", 30, integer=True, positive=True)
"""The last number of a table; the authors' granularity."""
tablesize = Symbol("tablesize", r"\lvert T\rvert", 14, integer=True, positive=True)
"""Numbers in a table."""
tablenoise = Symbol("tablenoise", r"\left(\sum_p(\ell_p-l_p)(h_p-\ell_p)\right)", Fraction(3, 4), nonnegative=True)
"""Sum over the ranks of (level - number below) (number above - level)."""
finestep = Symbol("finestep", r"\delta_f", Fraction(3, 100), positive=True)
"""Distance of the multiples that levels are first rounded to, in levels."""
cutplace = Symbol("cutplace", r"\varphi_f", Fraction(1, 3), nonnegative=True)
"""How far a number of the table lies above the multiple below, in such steps; in [0, 1)."""
bothgaps = Symbol("bothgaps", r"\Gamma", 4, integer=True, positive=True)
"""The table's numbers after it less the one before it."""
tableroom = Symbol("tableroom", "t_T", Fraction(9, 4), positive=True)
"""Half the range, in root mean squares of the vector."""
tailshare = Symbol("tailshare", "p_T", Fraction(1, 16), positive=True)
"""Share of a normal distribution beyond the range."""
hopnoise = Symbol("hopnoise", r"\omega_h", Fraction(1, 3), positive=True)
"""What one rounding of x adds to the variance, over x^2."""
hopgrowth = Symbol("hopgrowth", r"\left(\sum_{k=1}^P k^2(25/24)^{P-k}\right)", Fraction(7, 3), positive=True)
"""The squares of partial sums of equal entries, each grown by the roundings that follow, at w = 1/24."""
halvings = Symbol("halvings", "L_h", 3, integer=True, nonnegative=True)
"""log2 P, the hops of a butterfly."""

# --- quantities --------------------------------------------------------------------------------------------------

TABLE_DEFECT = Quantity(
    "table_defect", r"\#\{i:\hat y_i\neq\sum_p\hat x_{p,i}\}", "entries of the sum that differ from the sum of the "
    "ranks' separately decoded indices",
)  # fmt: skip
INDEX_AMBIGUITY = Quantity(
    "index_ambiguity",
    r"\max_s\#\{\textstyle\sum_p T(j_p):\sum_p j_p=s\}-1",
    "largest number of different sums of table numbers with the same sum of indices, less one",
)
TABLE_BIAS = Quantity("table_bias", r"|\mathbb{E}\,S-\textstyle\sum_p\ell_p|", "bias of a sum of table numbers")
TABLE_VARIANCE = Quantity("table_variance", r"\mathrm{Var}(S)", "variance of a sum of table numbers, in levels squared")
TABLE_SUM_BITS = Quantity(
    "table_sum_bits", r"\beta_S", "fewest bits that a sum of table numbers can be sent in so that none wraps around"
)
SHARE_AT_ENDS = Quantity(
    "share_at_ends",
    r"\tfrac{1}{d}\#\{i:|y_i|\geq t_T\lVert y\rVert/\sqrt d\}",
    "share of the rotated entries at the ends of the range or beyond, which always become the ends",
)
HOP_VARIANCE = Quantity(
    "hop_variance", r"\mathrm{Var}(\hat y_i)/x_i^2", "variance of an entry of the sum, over the square of one rank's"
)
HOP_SHARE = Quantity(
    "hop_share", r"\mathrm{Var}(\hat y_i)/(\sum_p x_{p,i})^2", "variance of an entry of the sum, over its square"
)
HOP_BIAS = Quantity(
    "hop_bias", r"|\mathbb{E}\,\hat y_i-\textstyle\sum_p x_{p,i}|", "bias of an entry of a sum over many hops"
)

# --- hypotheses --------------------------------------------------------------------------------------------------

EVEN_STEPS = Hypothesis("even_steps", "The table's numbers are at equal distances.", lambda evenly: evenly)
IN_RANGE = Hypothesis("levels_in_range", "No level is cut off.", lambda inside: inside)
AT_ONCE = Hypothesis("rounded_at_once", "Levels are rounded to the table at once.", lambda fine: fine == 0)
IN_TWO_STAGES = Hypothesis(
    "rounded_in_two_stages", "Levels are first rounded to multiples of a fine step.", lambda fine: fine > 0
)
NESTED_STEPS = Hypothesis("nested_steps", "The table's numbers are multiples of the fine step.", lambda nested: nested)
AT_A_NUMBER = Hypothesis(
    "at_a_number",
    "There is one rank, and its level is a number of the table, neither the first nor the last; the multiples about it "
    "lie between its neighbours.",
    lambda at_number: at_number,
)
GAUSSIAN_RANGE = Hypothesis(
    "gaussian_range",
    "The range is that of a share of a normal distribution with the vector's norm.",
    lambda by_quantile: by_quantile,
)
RING_OF_HOPS = Hypothesis("ring_of_hops", "Partial sums go round a ring.", lambda topology: topology == "ring")
HALVES = Hypothesis("halves", "Partial sums are halved (butterfly).", lambda topology: topology == "butterfly")
LIKE_ENTRIES = Hypothesis("like_entries", "All ranks hold the same entry.", lambda alike: alike)
THINNED = Hypothesis(
    "thinned_messages",
    "A rounding multiplies with a random number of mean 1 and one variance: entries are thinned.",
    lambda message: message == "thinned",
)
BELOW_TWO = Hypothesis("noise_below_two", "That variance is below 2.", hopnoise < 2)
NOISE_NOT_TWO = Hypothesis("noise_not_two", "That variance is not 2: there the law is a limit.", sp.Ne(hopnoise, 2))
BLOCK_MESSAGES = Hypothesis("block_messages", "Messages are in a block format.", lambda message: message != "thinned")
TO_NEAREST_ELEMENT = Hypothesis(
    "to_nearest_element", "Entries are rounded to the nearest element.", lambda message: message == "nearest"
)

_T, _H = "blockformats.table.", "blockformats.multihop."
_TABLE_BITS = index_bits(tabletop * P + 1)
_WHOLE = for_one_reason(
    "Equivalent: the number of different values is whole, and a ninth more of it takes no further bit.",
    "10/9 times the term 1",
)


def ring_growth(noise: sp.Expr) -> sp.Expr:
    """Noise times the sum over k = 1 .. P of k^2 (1 + noise)^(P - k)."""
    return ((1 + noise) * (2 + noise) * ((1 + noise) ** P - 1) - 2 * P * noise * (1 + noise) - P**2 * noise**2) / (
        noise**2
    )


TABLE: tuple[Claim, ...] = (
    Claim(
        name=_T + "sums",
        title="The sum of table numbers decodes to the sum of the ranks’ decoded vectors",
        relation=Eq(TABLE_DEFECT, 0),
        source=LI_2024.official_code(
            f"{_CODE}, decompress: a sum of table numbers over the clients, less half the last number",
            "With one range for all, reading is affine: sum_p (2 T_p - g) r/g = (2 S - P g) r/g.",
            reading="It is read for sums as well as averages.",
            code=THC_AT.at("byteps/torch/compression.py", "550-575"),
        ),
        axis="P",
    ),
    Claim(
        name=_T + "index_sums",
        title="Table indices can be added directly: the table of the sum is the sum of the tables",
        relation=Eq(INDEX_AMBIGUITY, 0),
        source=LI_2024.second_hand(
            "its abstract on the web: the direct aggregation of compressed values",
            "In the authors’ table for 1/128 the indices 0 and 2 stand for 0 + 6, 1 and 1 for 4 + 4.",
            reading="It is read as adding the four-bit indices that workers send.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_T + "index_sums_of_even",
        extremal="two ranks with the indices (0, 2) or (1, 1) in the authors’ table (0, 4, 6, 8, ...)",
        axis="P",
        note="The adder first has to look up numbers of more bits: the switch needs the table. The authors’ code also "
        "receives such a sum of numbers.",
    ),
    Claim(
        name=_T + "index_sums_of_even",
        title="Table indices can be added directly if the table’s numbers are at equal distances",
        relation=Eq(INDEX_AMBIGUITY, 0),
        assumes=(EVEN_STEPS,),
        source=derived("T(j) = c j, so that sum_p T(j_p) = c sum_p j_p; and only then, for two ranks."),
        axis="P",
    ),
    Claim(
        name=_T + "unbiased",
        title=(
            "Rounded stochastically to a table, the sum is unbiased if no level is cut off, in one stage and in two"
        ),
        relation=Eq(TABLE_BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(IN_RANGE,),
        source=LI_2024.official_code(
            f"{_CODE}, rvec_compress: a Bernoulli draw to the fine grid, and one to the table",
            "Each stage has its argument as its mean; so have both.",
            code=THC_AT.at("byteps/torch/compression.py", "477-485"),
        ),
        axis="P",
    ),
    Claim(
        name=_T + "unbiased_beyond",
        title="Rounded stochastically to a table, the sum is unbiased, even where entries are cut off",
        relation=Eq(TABLE_BIAS, 0),
        kind=Kind.EXPECTED,
        source=LI_2024.official_code(
            f"{_CODE}, rvec_compress: entries are clamped to the range; it warns where there is no error feedback",
            "Entries beyond the range are read as its end.",
            reading="It is read for its stochastic quantisation alone, although the code itself warns.",
            code=THC_AT.at("byteps/torch/compression.py", "469-473"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_T + "unbiased",
        extremal="a level of one and a half ranges: read as the last number, always",
        axis="P",
        note="Every rank’s own residual has to keep the cut-off part; the sum of the ranks cannot.",
    ),
    Claim(
        name=_T + "variance",
        title="Rounded directly to a table, the sum has the variance sum (level - below) (above - level)",
        relation=Eq(TABLE_VARIANCE, tablenoise),
        kind=Kind.EXPECTED,
        assumes=(IN_RANGE, AT_ONCE),
        source=derived("This is the variance of each rank’s two numbers; independent draws add up."),
        axis="tablenoise",
    ),
    Claim(
        name=_T + "two_stages",
        title="Rounded via a fine grid to a table, the sum has the variance sum (level - below) (above - level)",
        relation=Eq(TABLE_VARIANCE, tablenoise),
        kind=Kind.EXPECTED,
        assumes=(IN_RANGE, IN_TWO_STAGES),
        source=LI_2024.official_code(
            f"{_CODE}, rvec_compress, and byteps/torch/tables: 1001 places for granularities of 30 and 16, at which no "
            "table’s numbers are places",
            "1000 steps for 30 levels: a number of the table lies a third of a step from a place, and a level on it is "
            "first rounded past it.",
            reading="It is read as: the two stages replace one, and are faster.",
            code=THC_AT.at("byteps/torch/compression.py", "477-485"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_T + "two_stages_nested",
        extremal="the table 0, 1, 3, 4 and the level 1, by way of 0, 2 and 4: 3/2 and not 0; in the authors’ table of "
        "30 the level 10, with 1000 steps: 1/3 2/3 0.03 4 levels squared",
        note="The excess is at most 3/100 of a level squared with 1000 steps, and zero with 990 or 1020.",
        axis="tablenoise",
    ),
    Claim(
        name=_T + "two_stages_nested",
        title=(
            "Rounded via a fine grid that holds the table, the sum has the variance sum (level - below) (above - level)"
        ),
        relation=Eq(TABLE_VARIANCE, tablenoise),
        kind=Kind.EXPECTED,
        assumes=(IN_RANGE, IN_TWO_STAGES, NESTED_STEPS),
        source=derived(
            "Both places are then in one gap of the table, where the chance to go up is linear: the mean of the "
            "chances is the chance of the mean."
        ),
        axis="tablenoise",
    ),
    Claim(
        name=_T + "at_a_number",
        title=(
            "Rounded via a fine grid, a level on the table has the variance f (1 - f) times the fine step times the "
            "gaps on both sides"
        ),
        relation=Eq(TABLE_VARIANCE, cutplace * (1 - cutplace) * finestep * bothgaps),
        kind=Kind.EXPECTED,
        assumes=(IN_TWO_STAGES, AT_A_NUMBER),
        source=derived(
            "The places f d below and (1 - f) d above have chances 1 - f and f, and then f d (l - f d) and (1 - f) d "
            "(h - (1 - f) d) as variances, l and h the gaps; with f (1 - f) d^2 of the first stage that is "
            "f (1 - f) d (l + h)."
        ),
        axis="cutplace",
    ),
    Claim(
        name=_T + "sum_bits",
        title="Sums of P table numbers need exactly ceil(log2(P g + 1)) bits",
        relation=Eq(TABLE_SUM_BITS, _TABLE_BITS),
        source=derived(
            "Sums reach P g, and the smallest is 0: for g = 30, eight bits suffice for eight ranks and not for nine."
        ),
        unpinned=_WHOLE,
        axis="P",
    ),
    Claim(
        name=_T + "bytes",
        title="Table indices: the busiest rank's bytes, its norm, indices to their owners, and sums round the ring",
        relation=Eq(
            WIRE_BYTES,
            (P - 1) * (8 + sp.ceiling(index_bits(tablesize) * n / (8 * P)) + sp.ceiling(_TABLE_BITS * n / (8 * P))),
        ),
        assumes=(PARTS_ALIKE,),
        source=derived(
            "Counted from the program: P - 1 messages in each of three phases. n counts what is rounded: where vectors "
            "are rotated, the padded length."
        ),
        unpinned=_WHOLE,
        axis="P",
    ),
    Claim(
        name=_T + "beyond",
        title="At most 1/t^2 of rotated entries lie at t root mean squares or beyond, for any rotation",
        relation=Le(SHARE_AT_ENDS, 1 / tableroom**2),
        source=derived("Each of their squares is at least t^2 times the mean square (Chebyshev)."),
        tightness=1,
        extremal="t = 2, four equal entries whose signs cancel in all rotated entries but one",
        axis="tableroom",
    ),
    Claim(
        name=_T + "beyond_as_gaussian",
        title="The share p of rotated entries lies beyond the normal quantile of p, in expectation over the signs",
        relation=Le(SHARE_AT_ENDS, tailshare),
        kind=Kind.EXPECTED,
        assumes=(GAUSSIAN_RANGE,),
        source=derived(
            "For four equal entries a rotated one is two root mean squares with probability 1/8.",
            code=THC_AT.at("byteps/torch/compression.py", "459-471"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_T + "beyond",
        tightness=2,
        extremal="four equal entries, p = 1/16: 1/8 lie beyond 1.8627",
        note="Random signs do not make few large entries Gaussian: only sums of many entries are nearly so.",
        axis="tailshare",
    ),
)

MULTIHOP: tuple[Claim, ...] = (
    Claim(
        name=_H + "unbiased",
        title="Unbiased roundings at every hop leave the sum unbiased, on a ring and by recursive halving",
        relation=Eq(HOP_BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(THINNED,),
        source=derived("What arrives has the partial sum as its mean, given what was sent before."),
        axis="P",
    ),
    Claim(
        name=_H + "ring_law",
        title="Rounded at every hop of a ring, the variance grows as the sum of k^2 (1 + w)^(P - k)",
        relation=Eq(HOP_VARIANCE, ring_growth(hopnoise)),
        kind=Kind.EXPECTED,
        assumes=(THINNED, RING_OF_HOPS, LIKE_ENTRIES),
        source=HAN_2026.read(
            "abstract: quantisation is not optimised for multi-hop aggregation, where entries are partially summed "
            "many times",
            "A rounding of Y, with mean S, adds w E Y^2 = w (V + S^2): V(k + 1) = (1 + w) V(k) + w k^2, V(1) = 0, and "
            "once more at the end.",
            reading="The law is ours; the abstract gives none.",
        ),
        axis="P",
    ),
    Claim(
        name=_H + "butterfly_law",
        title="Recursive halving's variance grows as P^2",
        relation=Eq(
            HOP_VARIANCE,
            (1 + hopnoise) * hopnoise * (4**halvings - (2 + hopnoise) ** halvings) / (2 - hopnoise)
            + hopnoise * 4**halvings,
        ),
        kind=Kind.EXPECTED,
        assumes=(THINNED, HALVES, LIKE_ENTRIES, NOISE_NOT_TWO),
        source=derived(
            "One of two independent sums of h is rounded: V(2 h) = (2 + w) V(h) + w h^2, V(1) = 0; and (1 + w) V + w "
            "P^2 at the end."
        ),
        axis="halvings",
    ),
    Claim(
        name=_H + "butterfly_bounded",
        title="Recursive halving's relative variance stays below 3 w/(2 - w) for any number of ranks",
        relation=Le(HOP_SHARE, 3 * hopnoise / (2 - hopnoise)),
        kind=Kind.EXPECTED,
        assumes=(THINNED, HALVES, LIKE_ENTRIES, BELOW_TWO),
        source=derived("w (1 + w) (1 - ((2 + w)/4)^L)/(2 - w) + w, and w (1 + w)/(2 - w) + w = 3 w/(2 - w)."),
        axis="hopnoise",
        unpinned=for_one_reason(
            "The bound is the limit: with w = 1 eight ranks reach 23/32 of it, and with w = 1/7 0.94, where a tenth of "
            "w changes it by less.",
            "0.9 times the term -hopnoise",
        ),
    ),
    Claim(
        name=_H + "ring_bounded",
        title="The relative variance on a ring stays below 3 w/(2 - w) for any number of ranks",
        relation=Le(HOP_SHARE, 3 * hopnoise / (2 - hopnoise)),
        kind=Kind.EXPECTED,
        assumes=(THINNED, RING_OF_HOPS, LIKE_ENTRIES, BELOW_TWO),
        source=derived(
            "P - 1 roundings in a row: (1 + w)^P exceeds P^2, and w P/3 for small w.", "the same with the other way"
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_H + "butterfly_bounded",
        extremal="w = 1, four ranks: 29/8, and not 3; eight: 717/32",
        axis="hopnoise",
        note="Few successive hops matter more than few roundings: with eight ranks a ring and a butterfly both round a "
        "part eight times.",
    ),
    Claim(
        name=_H + "mxfp4_ring",
        title="MXFP4 for entries with separate scales keeps the ring’s law of variance with w = 1/24",
        relation=Le(HOP_VARIANCE, hopgrowth / 24),
        kind=Kind.EXPECTED,
        assumes=(BLOCK_MESSAGES, E2M1_ELEMENTS, NOTHING_CLIPPED, ONE_ENTRY_BLOCKS, LIKE_ENTRIES, SUMS_FIT),
        source=HAN_2026.read(
            "abstract: MXFP4 among the standards that it is compared with",
            "Between neighbours c and d an entry a has the variance (a - c)(d - a) <= a^2 (d - c)^2/(4 c d), and (3, "
            "6] holds 3 to 4 and 4 to 6: 1/48 and 1/24. A butterfly’s is less.",
            reading="This number is ours.",
        ),
        axis="hopgrowth",
    ),
    Claim(
        name=_H + "bytes",
        title="A ring and recursive halving send the same bytes if parts have whole blocks and bytes",
        relation=Eq(WIRE_BYTES, 2 * (P - 1) * n * (elementbits / 8 + 1 / block) / P),
        assumes=(PARTS_OF_BLOCKS, BLOCK_MESSAGES),
        source=derived("Halves, quarters, ... of n add up to (P - 1)/P of it, and the all-gather to the same."),
        axis="P",
    ),
    Claim(
        name=_H + "nearest_error",
        title=(
            "Rounded to nearest, MXFP4 by recursive halving has error at most (6/5)^(L + 1) - 1 of the ranks’ "
            "magnitudes, and 1/4 on a single rank"
        ),
        relation=Le(TOTAL_ERROR, sp.Max(sp.Rational(1, 4), sp.Rational(6, 5) ** (halvings + 1) - 1)),
        assumes=(TO_NEAREST_ELEMENT, HALVES, E2M1_ELEMENTS, ONE_ENTRY_BLOCKS, SUMS_FIT),
        source=derived(
            "A rank’s entry takes part in at most L + 1 roundings, each of which multiplies with a number in (3/4, "
            "6/5); and 1 - (3/4)^2 is less than (6/5)^2 - 1."
        ),
        axis="halvings",
        note="The ring loses all other entries if one rank’s is larger (blockformats.requantised.ring_error); here "
        "eight such ranks lose 3/8.",
        unpinned=for_one_reason(
            "It is loose by nature: no rank’s entry grows by a fifth at every hop while the others add nothing.",
            "10/9 times the term -1",
        ),
    ),
    Claim(
        name=_H + "nearest_error_grown",
        title=(
            "Rounded to nearest, MXFP4 by halving has error at most (6/5)^(L + 1) - 1 of the ranks’ magnitudes, for "
            "any number of ranks"
        ),
        relation=Le(TOTAL_ERROR, sp.Rational(6, 5) ** (halvings + 1) - 1),
        assumes=(TO_NEAREST_ELEMENT, HALVES, E2M1_ELEMENTS, ONE_ENTRY_BLOCKS, SUMS_FIT),
        source=derived(
            "Roundings multiply with a number in (3/4, 6/5). Refuted by one rank: an entry just below 8 in its unit is "
            "clipped to 6.",
            "an earlier version of this claim: entries grow more than they shrink",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_H + "nearest_error",
        extremal="one rank, 31/4: 7/31 and not 1/5",
        axis="halvings",
        note="Clipping removes up to a quarter of an entry, more than a rounding adds to one.",
    ),
)
