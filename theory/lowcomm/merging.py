"""Claims about merges with a quorum and about random pairs (NoLoCo)."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.lowcomm.terms import (
    ANY_QUORUM,
    AT_LEAST_TWO_WORKERS,
    DECOUPLED,
    DIVIDED_BY_ARRIVED,
    DIVIDED_BY_EXPECTED,
    EQUAL_TOKENS,
    EVEN_WORKERS,
    HEAVY_SHARE,
    MERGE_BIAS,
    NOLOCO,
    ODD_WORKERS,
    ONE_HEAVY,
    PAIR_DISTORTION,
    PAIR_MOMENTUM_BELOW_ONE,
    PAIR_STABLE,
    PULL_IN_RANGE,
    RANDOM_PAIRS,
    TWO_ARRIVE,
    WHOLE_PULL,
    arrive_first,
    arrive_second,
    heavytokens,
    pairmomentum,
    pairpull,
    quorum,
)
from commbounds.theory.quantities import P, n
from commbounds.theory.sources import derived
from commbounds.theory.traffic import MOST_SENT

_fair = heavytokens / (heavytokens + P - 1)
_met = sp.Piecewise((P / (2 * (P - 1)), sp.Eq(sp.Mod(P, 2), 0)), (sp.Rational(1, 2), True))
_apart = sp.Piecewise((1 / (P - 1), sp.Eq(sp.Mod(P, 2), 0)), (0, True))
"""2 kappa - 1, for the share kappa of a squared distance that is about the means of pairs."""
_pull_limit = 2 * (1 - pairmomentum**2) / (1 - pairmomentum * _apart)
_PAIRS = (
    "About the average, squared distances add up to D. In a pair the difference from its mean is (x_i - x_j)/2; of "
    "distinct ranks E x_i x_j = -D/(P (P - 1)). So kappa = P/(2 (P - 1)) of D is within pairs for even P; for odd P "
    "one of P is left over, and kappa = 1/2. "
)
_SECOND_MOMENTS = (
    f"{_PAIRS}With C = sum x v and V = sum v^2 a round without gradients maps V to alpha^2 V - 2 alpha gamma kappa C + "
    "gamma^2 kappa D, C to alpha C - gamma kappa D + V', and D to D + 2 alpha C - 2 gamma kappa D + V'. Jury's "
    "conditions of this cubic come down to 0 < gamma < 2 (1 - alpha^2)/(1 - alpha (2 kappa - 1))."
)

MERGING_CLAIMS = (
    Claim(
        name="lowcomm.quorum.words",
        title="The server of a quorum merge sends P - 1 merged vectors",
        relation=Eq(MOST_SENT, (P - 1) * n),
        assumes=(AT_LEAST_TWO_WORKERS, ANY_QUORUM),
        source=DECOUPLED.read(
            "abstract: a central synchroniser aggregates with a minimum quorum",
            "Workers send at most n words each; the server answers all others.",
            reading="We assume that the merge goes to late workers too; the count is ours.",
        ),
    ),
    Claim(
        name="lowcomm.quorum.share",
        title="In random quorums of K the worker with w tokens has the expected weight K w/(P (w + K - 1))",
        relation=Eq(HEAVY_SHARE, quorum * heavytokens / (P * (heavytokens + quorum - 1))),
        assumes=(ANY_QUORUM, ONE_HEAVY, DIVIDED_BY_ARRIVED),
        source=derived("It arrives with probability K/P, and then has w of w + K - 1 tokens."),
        kind=Kind.LAW,
        axis="quorum",
    ),
    Claim(
        name="lowcomm.quorum.unbiased",
        title="A token-weighted merge of a random quorum is unbiased for the merge of all workers",
        relation=Eq(HEAVY_SHARE, _fair),
        assumes=(ANY_QUORUM, ONE_HEAVY, DIVIDED_BY_ARRIVED),
        source=derived(
            "Refuted by two workers with 2 tokens and 1, of whom one arrives: the first has weight 1/2, and not 2/3. "
            "For K < P it is unbiased for equal tokens only: E[1/W] over the quorums with a worker falls with its "
            "tokens.",
            "what weighting by tokens is for",
        ),
        kind=Kind.LAW,
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.quorum.share",
        extremal="two workers, 2 tokens and 1, a quorum of one",
        axis="quorum",
        note="The worker with more tokens has less weight than its tokens, although all are equally likely to be late: "
        "the divisor is random, and large if that worker arrives.",
    ),
    Claim(
        name="lowcomm.quorum.equal_tokens",
        title="With equal tokens, a token-weighted merge of a random quorum is unbiased",
        relation=Eq(HEAVY_SHARE, 1 / P),
        assumes=(ANY_QUORUM, ONE_HEAVY, DIVIDED_BY_ARRIVED, EQUAL_TOKENS),
        source=derived("All workers have the same quorums: K/P times 1/K."),
        kind=Kind.LAW,
        axis="quorum",
    ),
    Claim(
        name="lowcomm.quorum.expected_divisor",
        title="Divided by all tokens times K/P, a merge of a random quorum is unbiased for any tokens",
        relation=Eq(HEAVY_SHARE, _fair),
        assumes=(ANY_QUORUM, ONE_HEAVY, DIVIDED_BY_EXPECTED),
        source=derived("K/P times w P/(K W): the estimate of Horvitz and Thompson. Its weights do not add up to one."),
        kind=Kind.LAW,
        axis="quorum",
    ),
    Claim(
        name="lowcomm.quorum.stragglers",
        title="If two workers arrive with different probabilities, the bias of the merge is |p_1 - p_2|/(2 (p_1 + p_2 "
        "- p_1 p_2))",
        relation=Eq(
            MERGE_BIAS,
            sp.Abs(arrive_first - arrive_second) / (2 * (arrive_first + arrive_second - arrive_first * arrive_second)),
        ),
        assumes=(TWO_ARRIVE, DIVIDED_BY_ARRIVED),
        source=derived(
            "Given an arrival: both arrive with p_1 p_2, and the mean is exact; one alone arrives with p (1 - p'), and "
            "the error is 1/2 towards that one."
        ),
        kind=Kind.LAW,
        axis="arrive_first",
        note="A minimum quorum without waiting gives late workers less weight, and so their data if data differ.",
    ),
    Claim(
        name="lowcomm.noloco.words",
        title="A worker of NoLoCo sends 2 n words, in one message, to one other",
        relation=Eq(MOST_SENT, 2 * n),
        assumes=(AT_LEAST_TWO_WORKERS, RANDOM_PAIRS),
        source=NOLOCO.read(
            "abstract: no collective communication; model weights are partially averaged with a randomly selected "
            "other one",
            "Counted: slow weights and pseudo-gradient.",
            reading="We assume that both are exchanged; the count is ours.",
        ),
    ),
    Claim(
        name="lowcomm.noloco.even",
        title="Random pairs of an even number keep (P - 2)/(2 (P - 1)) of the squared distances",
        relation=Eq(PAIR_DISTORTION, (P - 2) / (2 * (P - 1))),
        assumes=(RANDOM_PAIRS, WHOLE_PULL, EVEN_WORKERS),
        source=derived(f"{_PAIRS}What is left is 1 - kappa."),
        kind=Kind.LAW,
        axis="P",
    ),
    Claim(
        name="lowcomm.noloco.odd",
        title="Random pairs of an odd number keep exactly half of the squared distances",
        relation=Eq(PAIR_DISTORTION, sp.Rational(1, 2)),
        assumes=(RANDOM_PAIRS, WHOLE_PULL, ODD_WORKERS),
        source=derived(f"{_PAIRS}What is left is 1/2: the single worker's loss equals the gain of a small number."),
        kind=Kind.LAW,
        axis="P",
    ),
    Claim(
        name="lowcomm.noloco.half",
        title="Random pairs keep at most half of the squared distances",
        relation=Le(PAIR_DISTORTION, sp.Rational(1, 2)),
        assumes=(RANDOM_PAIRS, WHOLE_PULL, AT_LEAST_TWO_WORKERS),
        source=derived(f"{_PAIRS}kappa >= 1/2."),
        kind=Kind.LAW,
        tightness=1,
        extremal="an odd number of workers",
        axis="P",
    ),
    Claim(
        name="lowcomm.noloco.pull",
        title="A pull of gamma without momentum keeps 1 - gamma (2 - gamma) kappa of the squared distances",
        relation=Eq(PAIR_DISTORTION, 1 - pairpull * (2 - pairpull) * _met),
        assumes=(RANDOM_PAIRS, AT_LEAST_TWO_WORKERS),
        source=derived(f"{_PAIRS}A share (1 - gamma)^2 of the part within pairs is left."),
        kind=Kind.LAW,
        axis="pairpull",
        note="The momentum is zero before the round.",
    ),
    Claim(
        name="lowcomm.noloco.stable",
        title=(
            "Without gradients NoLoCo's replicas converge in mean square exactly for 0 < gamma < 2 (1 - alpha^2)/(1 - "
            "alpha (2 kappa - 1))"
        ),
        relation=Eq(PAIR_STABLE, sp.Piecewise((1, (pairpull > 0) & (pairpull < _pull_limit)), (0, True))),
        kind=Kind.LAW,
        assumes=(RANDOM_PAIRS, AT_LEAST_TWO_WORKERS, PAIR_MOMENTUM_BELOW_ONE),
        source=derived(_SECOND_MOMENTS),
        axis="pairpull",
        note="The authors' code (gensyn-ai/noloco at commit a1b4a42, sparse_optimizer_c.py) pulls by its outer step, "
        "0.7. With the momentum of its configurations, 0.5, any number of replicas converges; with that of its "
        "constructor, 0.9, only two do: three or more diverge, eight by 1.07 in mean square per round.",
    ),
    Claim(
        name="lowcomm.noloco.range",
        title=(
            "Without gradients NoLoCo's replicas converge in mean square for every pull between alpha and 2 + alpha"
        ),
        relation=Eq(PAIR_STABLE, 1),
        kind=Kind.LAW,
        assumes=(RANDOM_PAIRS, AT_LEAST_TWO_WORKERS, PAIR_MOMENTUM_BELOW_ONE, PULL_IN_RANGE),
        source=NOLOCO.recalled(
            "a range of the averaging weight for groups of two, alpha < gamma < 2 + alpha",
            "Refuted by three workers, alpha = 1/2, gamma = 2: the limit is 2 (1 - 1/4) = 3/2. The mean alone allows "
            "more: the squares grow.",
            reading="The range and its meaning for mean squares are ours: the theorem was not read.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.noloco.stable",
        extremal="three workers, momentum 1/2, pull 2",
        axis="pairpull",
        note="With many workers and a momentum of 0.9 the pull must be below 0.38; for three or more no pull above the "
        "momentum works.",
    ),
)
