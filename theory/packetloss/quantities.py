"""Quantities, hypotheses and works of the column packetloss."""

import sympy as sp

from commbounds.theory.claim import Eq, Hypothesis, Le
from commbounds.theory.packetloss.terms import (
    N,
    age,
    apart,
    arrived,
    coordinates,
    lossrate,
    older,
    p,
    recovery,
    rho,
    stale,
    t,
)
from commbounds.theory.quantities import Quantity
from commbounds.theory.sources import Work

ESTIMATE_BIAS = Quantity(
    "estimate_bias",
    r"\mathbb{E}\,\hat g-\bar g",
    "expected estimate minus the mean of the workers' gradients, given an arrival where the estimate needs one",
    real=True,
)
ESTIMATE_VARIANCE = Quantity(
    "estimate_variance", r"\mathrm{Var}(\hat g)", "variance of the estimate over the losses, for given gradients"
)
VARIANCE_GIVEN_ARRIVALS = Quantity(
    "variance_given_arrivals", r"\mathrm{Var}(\hat g\mid K)", "variance of the estimate, given how many arrived"
)
IID_VARIANCE = Quantity(
    "iid_variance", r"\mathrm{Var}(\hat g)", "variance of the estimate over losses and independent gradients"
)
SHARE = Quantity(
    "estimate_share",
    r"\mathbb{E}\,\hat g/\bar g",
    "expected estimate over the mean of the workers' gradients, which is not zero",
    real=True,
)
OWNER_PULL = Quantity(
    "owner_pull",
    r"\frac{\mathbb{E}\,\hat g-\bar g}{g_{\mathrm{own}}-\bar g}",
    "bias of the estimate over the owner's own deviation from the mean",
    real=True,
)
WEIGHT_SUM = Quantity(
    "weight_sum", r"\sum_i w_i", "sum of the weights that the estimate gives to the workers' gradients", real=True
)
MEAN_INVERSE = Quantity(
    "mean_inverse", r"\mathbb{E}\left[\tfrac1K;K\geq1\right]", "mean of one over the arrivals, zero where there is none"
)
EMPTY = Quantity("empty", r"\Pr[K=0]", "probability that no contribution arrives")
STALENESS_LAW = Quantity("staleness_law", r"\Pr[L_t=\ell]", "probability of a staleness")
DIFFER = Quantity("differ", r"\Pr[\theta_i\neq\theta_j]", "probability that two receivers hold different versions")
VERSION_GAP_LAW = Quantity(
    "version_gap_law", r"\Pr[M_t=m]", "probability that two receivers are a given number of versions apart"
)
MEAN_VERSION_GAP = Quantity("mean_version_gap", r"\mathbb{E}\,M_t", "expected number of versions between two receivers")
SQUARE_VERSION_GAP = Quantity("square_version_gap", r"\mathbb{E}\,M_t^2", "the same, squared")
BOTH_MISSED = Quantity(
    "both_missed",
    r"\Pr[u_a,u_b\in D_t]",
    "probability that two given updates both lie between the versions of two receivers",
)
DRIFT = Quantity(
    "drift", r"\mathbb{E}\,\lVert D_t\rVert^2", "expected squared distance of two receivers' copies of a shard"
)
MEAN_DRIFT = Quantity("mean_drift", r"\mathbb{E}\,\lVert D_t\rVert", "expected distance of two receivers' copies")
OWNER_DRIFT = Quantity(
    "owner_drift", r"\mathbb{E}\,\lVert \theta_j-\theta_i\rVert^2", "expected squared distance of a copy to the owner's"
)
WHOLE_DRIFT = Quantity(
    "whole_drift",
    r"\frac{\mathbb{E}\,\lVert \theta_1-\theta_2\rVert^2}{\mathbb{E}\,\lVert u\rVert^2}",
    "expected squared distance of two workers' whole replicas, over the expected squared norm of an update",
)
CONSENSUS = Quantity(
    "consensus",
    r"\frac1N\sum_i\mathbb{E}\,\lVert\theta_i-\bar\theta\rVert^2",
    "expected squared distance of the copies to their mean, averaged over the workers",
)
AVERAGE_DRIFT = Quantity(
    "average_drift", r"\frac1t\sum_{s\leq t}\mathbb{E}\,D_s^2", "expected squared gap of two receivers, mean over steps"
)
AVERAGE_OWNER_DRIFT = Quantity(
    "average_owner_drift", r"\frac1t\sum_{s\leq t}\mathbb{E}\,x_s^2", "the same, of a receiver to the owner"
)
AVERAGE_DIFFER = Quantity(
    "average_differ",
    r"\frac1t\sum_{s\leq t}\Pr[\theta_i\neq\theta_j]",
    "share of the steps after which two receivers hold different versions, expected",
)
SHORTFALL = Quantity(
    "shortfall", r"1-\mathbb{E}D_t^2/\mathbb{E}D_\infty^2", "share of its limit that the expected squared gap lacks"
)
RANGE = Quantity("staleness_range", r"\mathbb{E}[\max L-\min L]", "expected range of the receivers' staleness")
LARGEST_STALENESS = Quantity("largest_staleness", r"\mathbb{E}\max_i L_i", "expected staleness of the stalest receiver")
ALL_STALE = Quantity("all_stale", r"\Pr[\mathrm{no\ packet\ arrives}]", "probability that no packet of a shard arrives")
GRADIENT_ERROR = Quantity(
    "gradient_error",
    r"\left\lVert\tfrac1N\sum_i\nabla f(\theta_i)-\nabla f(\theta)\right\rVert",
    "distance of the mean gradient at the workers' replicas to the gradient at the reference point",
)
GRADIENT_SQUARES = Quantity(
    "gradient_squares",
    r"\frac1t\sum_{s<t}\tfrac12\mathbb{E}\left(\lVert\nabla f(\theta_s)\rVert^2+\lVert\bar g_s\rVert^2\right)",
    "mean over the steps of half the squared norm of the gradient of f at the owners' values, plus half that of the "
    "mean of the workers' gradients at their own replicas, expected",
)
OWNERS_GRADIENT_SQUARE = Quantity(
    "owners_gradient_square",
    r"\frac1t\sum_{s<t}\mathbb{E}\,\lVert\nabla f(\theta_s)\rVert^2",
    "squared norm of the gradient of f at the owners' values, expected, mean over the steps",
)
REPLICA_GAP = Quantity("replica_gap", r"\lVert\theta_i-\theta_j\rVert", "distance of two workers' copies of a shard")

BELOW_ONE = Hypothesis("loss_below_one", "The loss probability is below 1.", p < 1)
INDEPENDENT_LOSSES = Hypothesis(
    "independent_losses",
    "Packets get lost independently, over receivers and steps, with one probability.",
    ensured="Every pattern of losses is weighed with its probability under this law, and draws are of it.",
)
EQUAL_START = Hypothesis(
    "equal_start", "All replicas are equal before the first of the t steps.", ensured="All runs begin so."
)
WHITE_UPDATES = Hypothesis(
    "white_updates",
    "Updates have mean zero and variance sigma^2, are uncorrelated, and do not depend on the losses.",
    ensured="Every update has its own direction, and adds sigma^2 if it is missed.",
)
GIVEN_UPDATES = Hypothesis(
    "given_updates", "The updates do not depend on the losses.", ensured="They are chosen before any loss."
)
AUTOREGRESSIVE = Hypothesis(
    "autoregressive_updates",
    "Updates have variance sigma^2 and autocovariance sigma^2 rho^h, and do not depend on the losses.",
    (rho >= -(1 + p) / 2) & (rho <= 1),
)
NONNEGATIVE_AUTOCOVARIANCE = Hypothesis(
    "nonnegative_autocovariance",
    "The updates' autocovariance is nowhere negative; they do not depend on the losses.",
    ensured="Updates are sums of the last few of independent ones.",
)
BOUNDED_UPDATES = Hypothesis(
    "bounded_updates",
    "No update's norm exceeds G; updates may depend on anything.",
    ensured="Every update is G, 0 or -G times one unit vector.",
)
FIXED_GRADIENTS = Hypothesis(
    "fixed_gradients",
    "The gradients are given; only the losses are random.",
    ensured="The same gradients meet every pattern of losses.",
)
UNCANCELLED = Hypothesis(
    "uncancelled_gradients",
    "The workers' gradients do not cancel in their mean.",
    lambda gradients: sum(gradients) != 0,
)
OWNER_OFF_MEAN = Hypothesis(
    "owner_off_mean",
    "The owner's own gradient is not the mean of all.",
    lambda gradients, owner: len(gradients) * gradients[owner] != sum(gradients),
)
ONE_EXPECTATION = Hypothesis(
    "one_expectation",
    "All workers' gradients have the same expectation.",
    ensured="All workers have the same gradient, whose factor is the sum of the weights.",
)
INDEPENDENT_GRADIENTS = Hypothesis(
    "independent_gradients",
    "The workers' gradients are independent, of one mean and of variance sigma^2.",
    ensured="Such gradients' variance is sigma^2 times the weights' squares, which unit vectors show.",
)
TWO_WORKERS_OR_MORE = Hypothesis("two_workers_or_more", "There are at least two workers.", N >= 2)
NOT_MORE_THAN_ALL = Hypothesis("not_more_than_all", "At most all contributions arrive.", arrived <= N)
STALE_BELOW_STEPS = Hypothesis("stale_below_steps", "The staleness is below the number of steps.", stale < t)
APART_WITHIN_STEPS = Hypothesis("apart_within_steps", "The gap is at most the number of steps.", apart <= t)
AGES_IN_ORDER = Hypothesis(
    "ages_in_order", "The second update is the older one, or the same.", (age <= older) & (older < t)
)
TWO_STATE_LOSSES = Hypothesis(
    "two_state_losses",
    "A link is good or bad, starts in its stationary law, and loses every packet while bad; receivers' links are "
    "independent. Its stationary share of bad links is pi: a good one fails with probability b pi/(1 - pi).",
    (lossrate < 1) & (recovery <= 1) & Le(recovery * lossrate, 1 - lossrate),
)
LONG_BURSTS = Hypothesis(
    "long_bursts", "A bad link recovers less often than if its steps were independent.", recovery < 1 - lossrate
)
SHARED_FATE = Hypothesis(
    "shared_fate",
    "All receivers of a packet get it, or none.",
    ensured="Patterns in which their fates differ have probability zero.",
)
ANY_INDEPENDENT_LOSSES = Hypothesis(
    "any_independent_losses",
    "Receivers' losses are independent and have the same law, with any dependence over time.",
    ensured="A probability of loss is drawn for every step; receivers' losses are weighed as independent.",
)
NOTHING_LOST = Hypothesis("nothing_lost", "No packet gets lost.", Eq(p, 0))
ALL_LOST = Hypothesis("all_lost", "Every packet gets lost.", Eq(p, 1))
LIPSCHITZ_GRADIENT = Hypothesis(
    "lipschitz_gradient",
    "The gradient is Lipschitz with constant L.",
    ensured="Functions are sums of cosines, L = 1, and quadratics of curvature L.",
)
OWN_GRADIENTS = Hypothesis(
    "own_gradients",
    "f is the mean of the workers' functions, whose gradients are Lipschitz with constant L; every worker has the "
    "gradient of its own at its own replica, and owners make plain steps with the estimates.",
    ensured="Workers have quadratics of curvature L at most, or cosines, L = 1.",
)
MEAN_OF_ARRIVALS = Hypothesis(
    "mean_of_arrivals",
    "Owners take the mean of the contributions that arrive, their own may get lost too, and do not change their shard "
    "if none does.",
    ensured="This is the default of the trials.",
)
BOUNDED_BELOW = Hypothesis(
    "bounded_below", "f has a finite infimum f*.", ensured="Quadratics and cosines have an infimum, which is computed."
)
EVEN_SHARDS = Hypothesis("even_shards", "N divides the number of parameters.", Eq(sp.Mod(coordinates, N), 0))
SOME_LOSS = Hypothesis("some_loss", "Some packets get lost, and some do not.", (p > 0) & (p < 1))

MATCHING_CORRELATION = Hypothesis(
    "matching_correlation", "Updates have autocovariance sigma^2 rho^h with rho = -1/(2-p).", Eq(rho, -1 / (2 - p))
)
LOSSY_LINKS = Hypothesis("lossy_links", "Some links are bad.", lossrate > 0)

PACKET_LOSS = Work(
    "E. Weintraub, R. Banner, A. Orda, 2025, Distributed training under packet loss, arXiv:2507.07114v1",
    "The abstract, and one public review.",
)
