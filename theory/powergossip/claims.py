"""PowerGossip: the claims."""

from fractions import Fraction

from commbounds.theory.claim import Claim, Eq, Hypothesis, Le, Standing
from commbounds.theory.gossip.terms import NOT_AGREED
from commbounds.theory.implementations import defined
from commbounds.theory.moshpit.terms import MEAN_SHIFT, RELATIVE_DISTORTION
from commbounds.theory.quantities import m, n, r
from commbounds.theory.sources import Repository, Work, derived
from commbounds.theory.symbols import Symbol
from commbounds.theory.traffic import MOST_SENT

VOGELS_2020 = Work(
    "T. Vogels, S. P. Karimireddy, M. Jaggi, 2020, Practical low-rank communication compression in decentralized deep "
    "learning, arXiv:2008.01425v2"
)
POWERGOSSIP = Repository("epfml/powergossip", "087eb09f64b0980c4224f3d0d8da1276a77aa721")

degree = Symbol("degree", r"\deg", 2, integer=True, nonnegative=True)
"""Neighbours of the rank that has most."""
odd = Symbol("odd", r"T_{\mathrm{odd}}", 3, integer=True, nonnegative=True)
"""Odd rounds, in which products with the right factors are sent."""
even = Symbol("even", r"T_{\mathrm{even}}", 2, integer=True, nonnegative=True)
"""Even rounds but round 0, in which nothing is sent."""
seen = Symbol("seen", r"\lVert L\rVert", Fraction(3, 2), positive=True)
"""Norm of the left factor that an even round begins with, of one column."""
guard = Symbol("guard", r"\varepsilon", Fraction(1, 4), nonnegative=True)
"""What is added to the norm of a column before the column is divided by it."""

ONE_COLUMN = Hypothesis("one_column", "Factors have one column.", Eq(r, 1))
PAIR = Hypothesis("pair", "Two ranks on a path, whose weight is 1/2.", ensured="All cases are built this way.")
ALIGNED = Hypothesis(
    "aligned",
    "The difference has rank one, and the left factor lies in its column space, as it does after an odd round.",
    ensured="Differences are outer products, whose left vector is a multiple of the left factor.",
)
AGREED_ONCE = Hypothesis(
    "agreed_once",
    "In one round before, warm-started, both ranks held the same matrix; now their difference has rank one.",
    ensured="Such a round runs first, and two further rounds start from its factors.",
)

_kept = (seen / (seen + guard)) ** 2

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="powergossip.words.sent",
        title="A rank sends m r words to every neighbour in an odd round, and n r in an even one",
        relation=Eq(MOST_SENT, degree * r * (odd * m + even * n)),
        source=VOGELS_2020.official_code(
            "PowerGossip.step: the product with the other factor is sent to every neighbour, and counted; in iteration "
            "0 nothing is",
            "Counted: a factor of m or of n rows and r columns, r at most the smaller side.",
            code=POWERGOSSIP.at("algorithms.py", "338-373"),
        ),
        axis="odd",
        note="Two rounds, one multiplication on either side, take (m + n) r words per edge and direction.",
    ),
    Claim(
        name="powergossip.mean.kept",
        title="The mean of the matrices does not change",
        relation=Eq(MEAN_SHIFT, 0),
        source=derived("Both ends of an edge compute the same product: one adds it and the other subtracts it."),
        axis="odd",
        note="It holds up to rounding: the products agree, but the additions to the two matrices round differently.",
    ),
    Claim(
        name="powergossip.distances.one_column",
        title="With factors of one column, the ranks' distances from their mean do not grow together",
        relation=Le(RELATIVE_DISTORTION, 1),
        assumes=(ONE_COLUMN, NOT_AGREED),
        source=derived(
            "A round is I - G, where G is the sum over the edges of w b b^T, b = e_i - e_j, times the projection onto "
            "the factor's column, or less. So 0 <= G <= I - W in the sense of forms, W the matrix of weights, and W is "
            "symmetric and doubly stochastic: I - W <= 2. So |I - G| <= 1."
        ),
        tightness=1,
        extremal="two ranks that differ in the first column, and right factors without a first entry",
        axis="odd",
    ),
    Claim(
        name="powergossip.distances.columns",
        title="With factors of any number of columns, the ranks' distances from their mean do not grow together",
        relation=Le(RELATIVE_DISTORTION, 1),
        assumes=(NOT_AGREED,),
        source=derived(
            "One expects it: orthonormal columns make a projection. Refuted by two ranks of a ring, a difference of "
            "rank one, and 4 columns: after a round these are dependent, Gram-Schmidt leaves only rounding errors of "
            "them, and these, divided by their norm, even with 1e-8 added, are not orthogonal to the others."
        ),
        stands=Standing.REFUTED,
        extremal="two ranks of a ring, 5 x 5 matrices whose difference has rank one, 4 columns, epsilon 1e-8",
        axis="odd",
        note="With the epsilon of the code, in float64, squared distances of some pairs grow sixfold in six rounds.",
    ),
    Claim(
        name="powergossip.pair.epsilon",
        title="An even round reduces a difference of rank one by a factor that epsilon determines",
        relation=Eq(RELATIVE_DISTORTION, (1 - _kept) ** 2),
        assumes=(PAIR, ONE_COLUMN, ALIGNED, NOT_AGREED),
        source=derived(
            "The factor L is divided by |L| + epsilon, so the round moves the pair by (|L|/(|L| + epsilon))^2 D, and "
            "of D = u v^T the rest is left; its square is that of the distances."
        ),
        axis="seen",
        note="Without epsilon the pair agrees: a difference of rank one is sent exactly in two rounds, unless the "
        "first factor is orthogonal to it. With the 1e-8 of the code, differences below that are hardly sent.",
    ),
    Claim(
        name="powergossip.pair.recovers",
        title="Two ranks that agreed in one round agree again after a difference of rank one",
        relation=Eq(RELATIVE_DISTORTION, 0),
        assumes=(PAIR, ONE_COLUMN, AGREED_ONCE, NOT_AGREED),
        source=derived(
            "One expects it of a warm start. Refuted by every pair: a product with a difference of zero is zero, a "
            "column without norm stays zero, and so do all later products."
        ),
        stands=Standing.REFUTED,
        extremal="any pair: all of the difference is left, in every later round",
        axis="odd",
        note="The code skips iteration 0, in which all models are the same; a layer that has no gradient in iteration "
        "1 is never averaged again. Redrawn factors do not have this problem.",
    ),
    *defined(
        "powergossip",
        {
            "powergossip_rounds": "Written from the authors' code, algorithms.py and topologies.py of "
            "epfml/powergossip, one iteration a round; sums are added up in the order of indices, and a column "
            "without norm stays zero."
        },
    ),
)
