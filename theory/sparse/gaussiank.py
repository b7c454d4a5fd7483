"""Claims about Gaussiank: what it moves, and how many entries a normal-quantile threshold lets pass."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Hypothesis, Le, Standing
from commbounds.theory.quantities import P, entries, k, mu
from commbounds.theory.sources import derived
from commbounds.theory.sparse.terms import (
    DATA_WORDS,
    FIXED_THRESHOLD,
    GAUSSIANK_AT,
    HEAVY_TAILS,
    LAPLACE_QUANTILES,
    MISPLACED,
    NONNEGATIVE_MEAN,
    NORMAL_QUANTILES,
    SHARE,
    STUDENT_QUANTILES,
    fewest,
    sd,
    z,
)
from commbounds.theory.traffic import MEAN_RECEIVED, MOST_RECEIVED

_QUANTILES = (
    " The vector holds midpoint quantiles; their magnitudes' squares are a convex function of the probability, so that "
    "the midpoint rule makes their standard deviation at most the law's, and the threshold at most z times that. At "
    "least n P(|X| > t) - 1 of n midpoint quantiles exceed t."
)
_NOTHING = "It is larger only where the bound is below zero, which says nothing."


def _at_least(law: str, title: str, tail: object, share: str, where: Hypothesis, **more: object) -> Claim:
    return Claim(
        name=f"sparse.gaussiank.{law}_least",
        title=title,
        relation=Ge(SHARE, tail / mu - 1 / k),
        assumes=(FIXED_THRESHOLD, where),
        source=derived(share + _QUANTILES),
        axis="mu",
        **more,  # type: ignore[arg-type]
    )


def _at_most(law: str, title: str, tail: object, where: Hypothesis, **more: object) -> Claim:
    return Claim(
        name=f"sparse.gaussiank.{law}_most",
        title=title,
        relation=Le(SHARE, tail / mu + 1 / k),
        assumes=(FIXED_THRESHOLD, where),
        source=derived(
            "The threshold is z times the vector's own standard deviation, and at most one more than n P(|X| > t) of "
            "the midpoint quantiles exceed t."
        ),
        tightness=1,
        extremal="n large: the one entry of rounding is negligible",
        axis="mu",
        **more,  # type: ignore[arg-type]
    )


GAUSSIANK: tuple[Claim, ...] = (
    Claim(
        name="sparse.gaussiank.received",
        title="Gaussiank's busiest receiver, the rank that selects fewest, receives two words per entry of all others",
        relation=Eq(MOST_RECEIVED, 2 * (entries - fewest)),
        assumes=(DATA_WORDS,),
        source=derived(
            "An all-gather brings every rank all selected entries but its own: 2(sum_p |S_p| - |S_r|) words."
        ),
        axis="entries",
    ),
    Claim(
        name="sparse.gaussiank.mean_received",
        title="Gaussiank brings 2(P - 1)/P words to a rank, on average, for every entry that any rank selects",
        relation=Eq(MEAN_RECEIVED, 2 * entries * (P - 1) / P),
        assumes=(DATA_WORDS,),
        source=derived("Every selected entry is received by P - 1 ranks."),
        axis="entries",
        note="It is 2k(P - 1) if the ranks select k entries each; the next claims bound the deviation from that.",
    ),
    Claim(
        name="sparse.gaussiank.any_input",
        title="Gaussiank selects at most n/z^2 entries of a vector whose mean is not negative",
        relation=Le(SHARE, 1 / (mu * z**2)),
        assumes=(FIXED_THRESHOLD, NONNEGATIVE_MEAN),
        source=derived(
            "With mean m >= 0, |x_i| > m + z sd implies |x_i - m| > z sd, and by Chebyshev's inequality at most n/z^2 "
            "entries are that far from the mean."
        ),
        tightness=1,
        extremal="two opposite values, each of just under n/(2 z^2) entries, and zeros: approached from below",
        axis="mu",
        unpinned=(
            (
                "without the factor z*",
                "Still true: it is smaller only where z < 1, and 1/mu times k are all entries of the vector.",
            ),
            ("exponent -1 of z", "Still true: for z < 1 more than 1/mu times k, which are all entries of the vector."),
        ),
        note="Very heavy tails select up to 1/(mu z^2) times k: 15 times at 1 %, 92 times at 0.1 %. With a negative "
        "mean everything can pass: the threshold is below zero for (-1, ..., -1).",
    ),
    Claim(
        name="sparse.gaussiank.sign_symmetry",
        title="Gaussiank selects the same entries of -x as of x",
        relation=Eq(MISPLACED, 0),
        source=derived(
            "Refuted: the mean enters with its sign, while magnitudes are compared.",
            code=GAUSSIANK_AT.at("compression.py", "144-149"),
        ),
        stands=Standing.REFUTED,
        extremal="x = (1, 1): none exceeds 1; of -x both exceed -1",
        axis="n",
        note="A negative mean lowers the threshold: vectors of mean -m select more entries than those of mean m.",
    ),
    Claim(
        name="sparse.gaussiank.heavy_tails",
        title="Gaussiank selects too few entries of heavy-tailed vectors",
        relation=Le(SHARE, 1),
        assumes=(FIXED_THRESHOLD, HEAVY_TAILS),
        source=derived(
            "One may expect it, as much of the spread lies in few entries. Refuted by Laplace quantiles: heavy tails "
            "also mean more entries beyond any large multiple of the standard deviation: exp(-sqrt(2) z) of the "
            "Laplace law against about exp(-z^2/2) of the normal."
        ),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="Laplace quantiles: 2.6 times k at 1 %, 9.5 times at 0.1 %, and without bound as the density falls",
        axis="mu",
        note="Mildly heavy tails select too many at the low densities of sparse training, and too few at high ones: "
        "Laplace entries from 9 % on, Student entries with three degrees of freedom from 4 %. Without a variance, "
        "longer vectors select fewer. With a sharp peak too few pass at any density.",
    ),
    Claim(
        name="sparse.gaussiank.normal_least",
        title="Gaussiank selects at least k of normal quantiles",
        relation=Ge(SHARE, 1),
        assumes=(FIXED_THRESHOLD, NORMAL_QUANTILES),
        source=derived(
            "The j-th midpoint quantile from either end has the tail (j - 1/2)/n, and k/(2n) is that of z: the first "
            "floor((k + 1)/2) of both ends, k or k + 1 in all, are at least z in magnitude. The square of the quantile "
            "is a strictly convex function of the probability, so that the midpoint rule makes the standard deviation "
            "less than 1, and the threshold less than z."
        ),
        tightness=1,
        extremal="k even, n large",
        axis="mu",
    ),
    _at_most(
        "normal",
        "Gaussiank selects at most as many normal quantiles as their own standard deviation gives for k",
        sp.erfc(z * sd / sp.sqrt(2)),
        NORMAL_QUANTILES,
        unpinned=(
            (
                "without the factor sd",
                "Still true as far as seen: for all n and k up to n = 399, and for 300 values of k at some n up to a "
                "million, never more than k + 1 entries pass.",
            ),
        ),
    ),
    _at_least(
        "laplace",
        "Gaussiank selects at least exp(-sqrt(2) z) n - 1 of Laplace quantiles",
        sp.exp(-sp.sqrt(2) * z),
        "P(|X| > t) = exp(-sqrt(2) t) for the Laplace law of variance one.",
        LAPLACE_QUANTILES,
        tightness=1,
        extremal="n large: approached",
        unpinned=(
            ("0.9 times the bound", _NOTHING),
            (
                "0.9 times the term -1/k",
                "It is beyond the tests: more than 0.9 of the one entry is missing first at about a million entries, "
                "0.91 at k = 33, by less than the rounding of the threshold can change.",
            ),
        ),
    ),
    _at_most(
        "laplace",
        "Gaussiank selects at most exp(-sqrt(2) z sd) n + 1 of Laplace quantiles",
        sp.exp(-sp.sqrt(2) * z * sd),
        LAPLACE_QUANTILES,
    ),
    _at_least(
        "student",
        "Gaussiank selects at least the law's share of Student quantiles with three degrees of freedom",
        1 - 2 * (sp.atan(z) + z / (1 + z**2)) / sp.pi,
        "The law has variance 3 and, at sqrt(3) z, a closed distribution function: P(|X| > sqrt(3) z) = 1 - "
        "(2/pi)(arctan z + z/(1 + z^2)).",
        STUDENT_QUANTILES,
        unpinned=(
            ("0.9 times the bound", _NOTHING),
            *(
                (
                    name,
                    "It is loose by nature: the standard deviation is below the law's, so that more pass, and at most "
                    "0.44 of the one entry was missing.",
                )
                for name in ("0.9 times the term -1/k", "k + 1 for k")
            ),
        ),
        note="Its standard deviation converges slowly, as n^(-1/3): short vectors select more.",
    ),
)
