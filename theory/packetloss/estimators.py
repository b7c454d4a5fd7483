"""Packet loss: claims about the estimate of a mean from what arrives, and about words moved."""

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.packetloss.quantities import (
    BELOW_ONE,
    EMPTY,
    ESTIMATE_BIAS,
    ESTIMATE_VARIANCE,
    EVEN_SHARDS,
    FIXED_GRADIENTS,
    IID_VARIANCE,
    INDEPENDENT_GRADIENTS,
    INDEPENDENT_LOSSES,
    MEAN_INVERSE,
    NOT_MORE_THAN_ALL,
    ONE_EXPECTATION,
    OWNER_OFF_MEAN,
    OWNER_PULL,
    PACKET_LOSS,
    SHARE,
    TWO_WORKERS_OR_MORE,
    UNCANCELLED,
    VARIANCE_GIVEN_ARRIVALS,
    WEIGHT_SUM,
)
from commbounds.theory.packetloss.terms import N, S, arrived, coordinates, inverse_arrivals, onefewer, p, sigma, squares
from commbounds.theory.sources import derived
from commbounds.theory.traffic import MEAN_RECEIVED, MOST_SENT

_UNBIASED = "Section on unbiased aggregation, as a public review reports it; the abstract calls it unbiased"
_GIVEN = (INDEPENDENT_LOSSES, FIXED_GRADIENTS)

CLAIMS = (
    Claim(
        name="packetloss.arrivals.unbiased",
        title="Dividing by the arrivals is unbiased for any given gradients, given the number of arrivals",
        relation=Eq(ESTIMATE_BIAS, 0),
        kind=Kind.EXPECTED,
        source=PACKET_LOSS.second_hand(
            _UNBIASED,
            "Given K = k >= 1, exchangeable losses make S uniform over the k-subsets: each worker is in S with "
            "probability k/N, and E ghat = (1/k) sum_i (k/N) g_i = gbar.",
        ),
        assumes=_GIVEN,
        axis="p",
        note="It is unbiased for the average of gradients at the workers' own, possibly stale, replicas. The reviewer "
        "assumes one expectation for all gradients; that is not needed if the owner's own value is lost as often as "
        "the others.",
    ),
    Claim(
        name="packetloss.arrivals.conditional_variance",
        title="Given k arrivals, the estimate's variance is that of a sample without replacement",
        relation=Eq(VARIANCE_GIVEN_ARRIVALS, S**2 / arrived * (1 - arrived / N)),
        kind=Kind.EXPECTED,
        source=derived(
            "S is a uniform k-subset of N, so that ghat is the mean of a simple random sample without replacement: "
            "Var = (S^2/k)(1 - k/N) with S^2 = sum_i (g_i - gbar)^2/(N - 1)."
        ),
        assumes=(*_GIVEN, NOT_MORE_THAN_ALL),
        axis="arrived",
    ),
    Claim(
        name="packetloss.arrivals.variance",
        title="Given that something arrives, the variance is S^2 (E[1/K | K >= 1] - 1/N)",
        relation=Eq(ESTIMATE_VARIANCE, S**2 * (inverse_arrivals(N, p) / (1 - p**N) - 1 / N)),
        kind=Kind.EXPECTED,
        source=derived(
            "Average the variance given K = k, (S^2/k)(1 - k/N), over K given K >= 1; the conditional means all equal "
            "gbar and add nothing."
        ),
        assumes=(*_GIVEN, BELOW_ONE),
        axis="p",
    ),
    Claim(
        name="packetloss.arrivals.mean_inverse",
        title="E[1/K; K >= 1] is a finite sum of powers of p, for K ~ Binomial(N, 1 - p)",
        relation=Eq(MEAN_INVERSE, inverse_arrivals(N, p)),
        kind=Kind.EXPECTED,
        source=derived(
            "Unroll A_n = p A_(n-1) + (1 - p^n)/n from A_0 = 0: A_N = sum_k p^(N-k) (1 - p^k)/k. Measured as N "
            "E[ghat^2] where one worker has gradient 1 and the others 0, which is N E[1{1 in S}/K^2] = E[1/K; K >= 1]."
        ),
        assumes=(INDEPENDENT_LOSSES,),
        axis="p",
    ),
    Claim(
        name="packetloss.arrivals.mean_inverse_recurrence",
        title="One more worker takes E[1/K; K >= 1] from A to p A + (1 - p^N)/N",
        relation=Eq(MEAN_INVERSE, p * onefewer + (1 - p**N) / N),
        kind=Kind.EXPECTED,
        source=derived(
            "A_n is the integral over x in (0, 1) of ((p + (1-p) x)^n - p^n)/x; with y = p + (1-p) x, "
            "A_n - p A_(n-1) is the integral of (1-p) y^(n-1) dx = (1 - p^n)/n."
        ),
        assumes=(INDEPENDENT_LOSSES,),
        axis="p",
        note="All terms are positive: the sum is stable for every N, the binomial sum is not.",
    ),
    Claim(
        name="packetloss.arrivals.empty",
        title="No worker's packet arrives with probability p^N",
        relation=Eq(EMPTY, p**N),
        kind=Kind.LAW,
        source=derived("All N independent contributions are lost."),
        assumes=(INDEPENDENT_LOSSES,),
        axis="p",
        note="The sources do not say what happens then; here the owner does not change its shard.",
    ),
    Claim(
        name="packetloss.arrivals.zero_fill",
        title="If no arrivals count as a zero gradient, the expected estimate is 1 - p^N times the mean",
        relation=Eq(SHARE, 1 - p**N),
        kind=Kind.EXPECTED,
        source=derived("E ghat = P(K >= 1) gbar, as the estimate is unbiased given K >= 1 and 0 otherwise."),
        assumes=(*_GIVEN, UNCANCELLED),
        axis="p",
    ),
    Claim(
        name="packetloss.owner.unbiased",
        title="If the owner's value never gets lost, weights sum to one: unbiased if gradients share their expectation",
        relation=Eq(WEIGHT_SUM, 1),
        source=PACKET_LOSS.second_hand(
            _UNBIASED,
            "K >= 1 always, and the weights 1/K of the K arrivals sum to one; they do not depend on the gradients, so "
            "E ghat is the common expectation.",
        ),
        assumes=(ONE_EXPECTATION,),
        axis="p",
    ),
    Claim(
        name="packetloss.owner.unbiased_for_given_gradients",
        title="If the owner's value never gets lost, the estimate is unbiased for given gradients",
        relation=Eq(OWNER_PULL, 0),
        kind=Kind.EXPECTED,
        source=PACKET_LOSS.second_hand(
            f"{_UNBIASED}; this reading drops the assumption of one expectation",
            "It fails: the owner's weight is E[1/K] > 1/N as soon as p > 0.",
            reading="It is read without the assumption that all gradients share one expectation.",
        ),
        assumes=(*_GIVEN, BELOW_ONE, TWO_WORKERS_OR_MORE, OWNER_OFF_MEAN),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="packetloss.owner.bias",
        extremal="two workers with gradients 0 and 1, at any loss rate in (0, 1)",
        axis="p",
        note="It is unbiased only if all workers' gradients have one expectation. For given or heterogeneous gradients "
        "the estimate is biased towards the owner. It is not known whether the authors count the owner's own gradient "
        "as always received.",
    ),
    Claim(
        name="packetloss.owner.bias",
        title="If the owner's value never gets lost, the bias towards it is (p - p^N)/((1-p)(N-1))",
        relation=Eq(OWNER_PULL, (p - p**N) / ((1 - p) * (N - 1))),
        kind=Kind.EXPECTED,
        source=derived(
            "The owner's weight is w = E[1/K] = (1 - p^N)/(N(1-p)), the others share 1 - w equally, so E ghat = "
            "gbar + (w N - 1)/(N - 1) (g_own - gbar), and (w N - 1)/(N - 1) = (p - p^N)/((1-p)(N-1))."
        ),
        assumes=(*_GIVEN, BELOW_ONE, TWO_WORKERS_OR_MORE, OWNER_OFF_MEAN),
        axis="p",
    ),
    Claim(
        name="packetloss.owner.variance_iid",
        title="Independent gradients, the owner's never lost: the variance is sigma^2 (1 - p^N)/(N (1-p))",
        relation=Eq(IID_VARIANCE, sigma**2 * (1 - p**N) / (N * (1 - p))),
        kind=Kind.EXPECTED,
        source=derived(
            "Var = sigma^2 E[sum_i w_i^2] = sigma^2 E[1/K], K = 1 + Binomial(N-1, 1-p), and E[1/(1+B)] is the integral "
            "of (p + (1-p) x)^(N-1) over (0, 1), (1 - p^N)/(N (1-p))."
        ),
        assumes=(INDEPENDENT_LOSSES, INDEPENDENT_GRADIENTS, BELOW_ONE),
        axis="p",
    ),
    Claim(
        name="packetloss.owner.inflation",
        title="Losses inflate the variance of an average of independent gradients by at most 1/(1-p)",
        relation=Le(IID_VARIANCE, sigma**2 / (N * (1 - p))),
        kind=Kind.EXPECTED,
        source=derived("The exact variance is sigma^2 (1 - p^N)/(N (1-p)), and p^N >= 0."),
        assumes=(INDEPENDENT_LOSSES, INDEPENDENT_GRADIENTS, BELOW_ONE),
        tightness=1,
        extremal="no loss at all; or many workers, p^N vanishing",
        axis="p",
    ),
    Claim(
        name="packetloss.expected.unbiased",
        title="Dividing by the expected number of arrivals is unbiased, also if nothing arrives",
        relation=Eq(ESTIMATE_BIAS, 0),
        kind=Kind.EXPECTED,
        source=derived("E ghat = sum_i (1-p) g_i / ((1-p) N), for any dependence, by linearity."),
        assumes=(*_GIVEN, BELOW_ONE),
        axis="p",
    ),
    Claim(
        name="packetloss.expected.variance",
        title="Dividing by the expected number of arrivals has variance p/((1-p) N^2) times the sum of squares",
        relation=Eq(ESTIMATE_VARIANCE, p / ((1 - p) * N**2) * squares),
        kind=Kind.EXPECTED,
        source=derived("Independent indicators of variance p (1-p), each times g_i/((1-p) N)."),
        assumes=(*_GIVEN, BELOW_ONE),
        axis="p",
        note="It does not vanish if all workers agree; dividing by the arrivals then has no variance.",
    ),
    Claim(
        name="packetloss.volume.sent",
        title="Every worker sends 2 n (N-1)/N words a step, for any losses",
        relation=Eq(MOST_SENT, 2 * coordinates * (N - 1) / N),
        source=derived(
            "First half: its values of N - 1 foreign shards of n/N words; second half: its own shard to N - 1 others. "
            "Lost words were sent; nothing is repeated."
        ),
        assumes=(EVEN_SHARDS,),
        axis="N",
    ),
    Claim(
        name="packetloss.volume.received",
        title="A worker receives (1-p) 2 n (N-1)/N words a step on average",
        relation=Eq(MEAN_RECEIVED, (1 - p) * 2 * coordinates * (N - 1) / N),
        kind=Kind.EXPECTED,
        source=derived("Every word that was sent arrives with probability 1 - p: linearity."),
        assumes=(INDEPENDENT_LOSSES, EVEN_SHARDS),
        axis="p",
        note="A lost word counts as sent but not as received.",
    ),
)
