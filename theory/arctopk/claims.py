"""ARC-Top-K: all-reduce-compatible Top-K: the claims."""

import sympy as sp

from commbounds.theory.arctopk import terms as t
from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.dense.terms import POWER_OF_TWO_RANKS, ceil_log2
from commbounds.theory.implementations import defined, rank_by_rank
from commbounds.theory.quantities import LOCAL_ERROR, P, k, m, mu, n, r
from commbounds.theory.sources import derived
from commbounds.theory.traffic import CRITICAL_PATH

_A = "arctopk.allreduce."
_E = t.ROW_ERROR
_PARALLEL_ERROR = 1 - (1 - 2 / sp.pi * sp.atan(sp.sqrt(t.square)) * (1 - t.square)) / (m - 1 + t.square)
"""The relative error of m - 1 parallel unit rows and an orthogonal one, K = 1, rank 1."""

_IDENTITIES = (
    Claim(
        name=_A + "commutes",
        title="The average of the compressed gradients is the compressed average",
        relation=Eq(t.COMMUTATION, 0),
        assumes=(t.SHARED_SKETCH, t.EXACT_SUMS),
        source=t.ARC_2025.second_hand(
            "reported as the reason why the compressor is compatible with all-reduce",
            "The averaged sketch is the average's sketch, so the rows depend on the average and the sketch alone, and "
            "restriction to rows is linear.",
        ),
        axis="P",
    ),
    Claim(
        name=_A + "parallel_and_one",
        title="The exact error of parallel rows and an orthogonal one",
        relation=Eq(_E, _PARALLEL_ERROR),
        kind=Kind.EXPECTED,
        assumes=(t.SHARED_SKETCH, t.PARALLEL_AND_ONE),
        source=derived(
            "A direction at angle phi to the parallel rows scores them cos^2 phi and the other w sin^2 phi: the odd "
            "row wins where tan^2 phi > 1/w, on the share 1 - (2/pi) atan(1/sqrt w) = (2/pi) atan(sqrt w). Kept: 1 - "
            "that (1 - w)."
        ),
        axis="m",
    ),
)

_CONTRACTION = (
    Claim(
        name=_A + "contraction",
        title="ARC-Top-K contracts the average by 1 - K/m",
        relation=Le(_E, 1 - k / m),
        kind=Kind.EXPECTED,
        assumes=(t.SHARED_SKETCH, t.NONZERO_ROWS),
        source=t.ARC_2025.second_hand(
            "reported to keep Top-K's contraction; its theorem was not read",
            "Refuted in closed form by three rows: (1, 0), (1, 0) and (0, sqrt(0.6)), one kept, rank 1.",
            reading="It is read for any rows.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_A + "contraction_rho",
        tightness=sp.oo,
        extremal="parallel rows win together: (1, 0), (1, 0), (0, sqrt(0.6)); one heavy row among many weak parallel "
        "ones",
        axis="m",
        note=(
            "Three rows give 1.76783 against 1.73333. With all rows but one kept, a heavy row and m - 1 weak parallel "
            "ones exceed the bound by any factor (about sqrt(m)/pi at rank 1): all the weak ones are selected "
            "together. The bound holds for orthogonal rows, for two rows, or with a factor rho(m, r). If the paper's "
            "theorem has this constant for any gradient, it needs one of these hypotheses."
        ),
    ),
    Claim(
        name=_A + "contraction_orthogonal",
        title="On orthogonal rows ARC-Top-K contracts by 1 - K/m at every rank of the sketch",
        relation=Le(_E, 1 - k / m),
        kind=Kind.EXPECTED,
        assumes=(t.SHARED_SKETCH, t.NONZERO_ROWS, t.ORTHOGONAL_ROWS),
        source=derived(
            "Scores are w_j q_j with q_j independent and alike, so a row of larger norm is selected at least as often "
            "(couple the two q's by exchanging them). Chances rise with w_j and add up to K: by Chebyshev's sum "
            "inequality what is kept is at least K/m of the sum."
        ),
        tightness=1,
        extremal="rows of equal norm",
        axis="m",
    ),
    Claim(
        name=_A + "contraction_two_rows",
        title="ARC-Top-K keeps at least half of two rows, for any angle between them",
        relation=Le(_E, 1 - k / m),
        kind=Kind.EXPECTED,
        assumes=(t.SHARED_SKETCH, t.NONZERO_ROWS, t.ONE_KEPT_OF_TWO),
        source=derived(
            "s_1 - s_2 is a quadratic form of V with one eigenvalue of each sign and trace w_1 - w_2 >= 0: it is "
            "distributed like l chi - l' chi' with l >= l', independent and alike, so it is positive with probability "
            "at least 1/2."
        ),
        tightness=1,
        extremal="two rows of equal norm",
        axis="r",
        unpinned=(("without the factor k", "Equivalent: one row is kept."),),
    ),
    Claim(
        name=_A + "contraction_rho",
        title="For all rows ARC-Top-K contracts by 1 - rho(m, r) K/m",
        relation=Le(_E, 1 - t.retained(m, r) * k / m),
        kind=Kind.EXPECTED,
        assumes=(t.SHARED_SKETCH, t.NONZERO_ROWS),
        source=derived(
            "What is kept is the sum over S of s_j/q_j >= (K/m) sum_j w_j q_j / max q. Each E[q_j / max q] is least "
            "when q_j and the maximum rise together, the maximum with the law of the union bound: that is rho."
        ),
        axis="m",
        note="rho tends to 1 if r is much larger than ln m; it is about a third of the smallest ratio that was found.",
        unpinned=tuple(
            (pattern, "It is loose by nature: the worst rows that were found keep about three times rho K/m.")
            for pattern in ("10/9 times the term -k*retained(m, r)/m", "k + 1 for k", "r + 1 for r")
        ),
    ),
    Claim(
        name=_A + "high_probability",
        title="A sketch of rank 4 ln(2 m/delta)/(eps^2 - eps^3) keeps nearly all of Top-K's rows",
        relation=Le(t.FAILURE, t.delta),
        kind=Kind.LAW,
        assumes=(t.SHARED_SKETCH, t.LARGE_RANK),
        source=derived(
            "With probability 1 - delta every squared norm is kept within 1 +- eps (chi-square tails and a union over "
            "m rows, two sides); then the rows selected by score have at least (1 - eps)/(1 + eps) of the best rows' "
            "squared norm."
        ),
        axis="m",
        note="The condition is conservative: in practice a sketch of small rank keeps as much.",
    ),
    Claim(
        name=_A + "local_contraction",
        title="ARC-Top-K contracts every rank's own gradient by 1 - K/m",
        relation=Le(LOCAL_ERROR, 1 - k / m),
        kind=Kind.EXPECTED,
        assumes=(t.SHARED_SKETCH, t.ONE_ROW_CANCELS),
        source=derived(
            "Refuted by two ranks whose largest row cancels: that row is never selected, so all of it is lost."
        ),
        stands=Standing.REFUTED,
        tightness=m / (m - k),
        extremal="a row that is large on one rank and its negative on the other",
        axis="m",
        note="It contracts the average but not each rank's gradient; Top-K on each rank does the opposite.",
    ),
)

_ROWS = (
    Claim(
        name="arctopk.rows.floor",
        title="Keeping floor(mu m) rows contracts by 1 - mu",
        relation=Le(_E, 1 - mu),
        kind=Kind.EXPECTED,
        assumes=(t.SHARED_SKETCH, t.ORTHOGONAL_ROWS, t.FLOOR_ROWS),
        source=derived(
            "A third party's version of its hooks keeps this many rows; no source states the bound for it. Refuted by "
            "equal rows: 9 of them at mu = 1/5 keep one, and the error is 8/9, not 4/5."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="arctopk.rows.ceiling",
        tightness=sp.oo,
        extremal="orthogonal rows of equal norm, mu m no integer",
        axis="m",
        note="The contraction is 1 - K/m for the K rows that are kept.",
    ),
    Claim(
        name="arctopk.rows.ceiling",
        title="Keeping ceil(mu m) rows contracts by 1 - mu",
        relation=Le(_E, 1 - mu),
        kind=Kind.EXPECTED,
        assumes=(t.SHARED_SKETCH, t.ORTHOGONAL_ROWS, t.CEILING_ROWS),
        source=derived("K/m >= mu."),
        tightness=1,
        extremal="orthogonal rows of equal norm, mu m an integer",
        axis="m",
    ),
)

_AGREEMENT = (
    Claim(
        name=_A + "masks",
        title="All ranks select the same rows",
        relation=Eq(t.MASKS, 0),
        assumes=(t.SAME_BITS,),
        source=derived("Rows are a function of the summed sketch, ties included."),
        axis="P",
    ),
    Claim(
        name=_A + "masks_of_own_orders",
        title="All ranks select the same rows if each rank adds up the sketches in its own order",
        relation=Eq(t.MASKS, 0),
        assumes=(t.OWN_ORDERS,),
        source=derived("Refuted by three ranks whose sketches cancel: sums in different orders round differently."),
        stands=Standing.REFUTED,
        extremal="sketches that cancel: 2^24, 1 and -2^24 in float32 add up to 0 or 1",
        axis="P",
        note=(
            "Ranks then send different rows without indices, and the all-reduce adds them up: a silent error. All "
            "ranks need the same bits of the sketch's sum, or the rows have to be broadcast."
        ),
    ),
)

_WORDS = (
    Claim(
        name=_A + "words",
        title="With ring all-reduces ARC-Top-K moves 2 (P - 1)/P (m r + K n) words",
        relation=Eq(CRITICAL_PATH, 2 * (P - 1) / P * (m * r + k * n)),
        assumes=(t.TWO_RINGS, t.BLOCKS_OF_BOTH),
        source=t.ARC_2025.second_hand(
            "its notation counts 2 K n + 2 m r", "Two ring all-reduces, of m r and of K n words, counted as they move."
        ),
        axis="P",
    ),
    Claim(
        name=_A + "words_doubling",
        title="With recursive doubling ARC-Top-K moves log2 P (m r + K n) words",
        relation=Eq(CRITICAL_PATH, ceil_log2 * (m * r + k * n)),
        assumes=(t.TWO_DOUBLINGS, POWER_OF_TWO_RANKS),
        source=derived("Both vectors are sent whole in each of the log2 P rounds."),
        axis="P",
        note="For P >= 4 that is more than rings move.",
    ),
    Claim(
        name=_A + "words_against_gather",
        title="Gathering Top-K with the same number of values moves P/(1 + m r/(K n)) times as many words",
        relation=Eq(t.WORDS_RATIO, P / (1 + m * r / (k * n))),
        assumes=(t.SEVERAL_RANKS, t.TWO_RINGS, t.BLOCKS_OF_BOTH),
        source=derived("2 (P - 1) k n words against 2 (P - 1)/P (m r + k n), both counted as they move."),
        axis="P",
        note="At K/m = mu the gather alone exceeds a dense all-reduce if P mu > 1.",
    ),
)

_RANKS = rank_by_rank("arctopk", "arctopk_allreduce")

_DEFINITIONS = defined(
    "arctopk",
    {
        "arctopk_allreduce": "Written from the method as third parties report arXiv:2510.26709, which was not read, "
        "one entry at a time, and from the documented rules: ties, rounding to a format, scores out of range, orders "
        "of one's own, how sums are made. Bits, but for scores whose products are added in an order that is left open.",
        "row_count": "Written from the documented rule: a product with a float is rounded, with a fraction exact.",
    },
)

CLAIMS: tuple[Claim, ...] = (*_IDENTITIES, *_CONTRACTION, *_ROWS, *_AGREEMENT, *_WORDS, *_RANKS, *_DEFINITIONS)
