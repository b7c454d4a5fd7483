"""Packet loss: the stalest of many workers, and training on replicas that drift."""

import sympy as sp

from commbounds.theory.claim import Claim, Ge, Kind, Le, for_one_reason
from commbounds.theory.functions import harmonic_number
from commbounds.theory.packetloss.quantities import (
    BELOW_ONE,
    BOUNDED_BELOW,
    EQUAL_START,
    GRADIENT_ERROR,
    GRADIENT_SQUARES,
    INDEPENDENT_LOSSES,
    LARGEST_STALENESS,
    LIPSCHITZ_GRADIENT,
    MEAN_OF_ARRIVALS,
    OWN_GRADIENTS,
    OWNERS_GRADIENT_SQUARE,
    REPLICA_GAP,
    SOME_LOSS,
)
from commbounds.theory.packetloss.terms import (
    N,
    estimatesquare,
    eta,
    fall,
    gap,
    meandistance,
    missednorms,
    p,
    receivers,
    smooth,
    t,
)
from commbounds.theory.sources import derived

_some = 1 - p**N
_noise = (smooth * eta / _some + (N - 1) / N * (smooth * eta) ** 2 * p / (1 - sp.sqrt(p)) ** 2) * estimatesquare
_DESCENT = (
    "An owner's update is independent of the losses of its broadcast and of later ones, so a receiver lacks it after a "
    "more steps with probability p^(a + 1), for any update. The mean square of the sum of what a receiver lacks of a "
    "shard is at most, by Cauchy and Schwarz with the weights p^((a + 1)/2), whose sum is below sqrt(p)/(1 - sqrt(p)), "
    "that number times the sum over a of p^((a + 1)/2) E||u_a||^2. Averaged over steps, shards and workers, of whom "
    "one owns the shard: D = (1/t) sum of E (1/N) sum_i ||theta_i - theta||^2 is at most (N - 1)/N eta^2 p/(1 - "
    "sqrt(p))^2 M^2, with M^2 the mean of E||ghat||^2. Something arrives with probability q = 1 - p^N, and then the "
    "estimate is unbiased: E ghat = q gbar, given the replicas. Smoothness gives E f(theta') <= f(theta) - eta q <grad "
    "f, gbar> + L eta^2 E||ghat||^2/2, and 2 <a, b> = ||a||^2 + ||b||^2 - ||a - b||^2 with ||grad f - gbar||^2 <= L^2 "
    "(1/N) sum_i ||theta_i - theta||^2. Sum over the steps and divide by eta q t. "
)
_LOOSE = (
    "runs that can be enumerated are of three workers and three steps at most, where replicas drift less than the "
    "term: it adds up the staleness of all later steps, and workers' distances as if all had one direction"
)
_LOSS = (INDEPENDENT_LOSSES, EQUAL_START, BELOW_ONE)

CLAIMS = (
    Claim(
        name="packetloss.workers.log_upper",
        title="The stalest of R receivers is at most H_R / ln(1/p) steps behind on average, which grows like log R",
        relation=Le(LARGEST_STALENESS, harmonic_number(receivers) / sp.log(1 / p)),
        kind=Kind.EXPECTED,
        source=derived(
            "1 + L is the ceiling of an exponential variable of rate ln(1/p), so L is below it; the maximum of R of "
            "those has mean H_R / ln(1/p)."
        ),
        assumes=(*_LOSS, SOME_LOSS),
        axis="receivers",
    ),
    Claim(
        name="packetloss.workers.log_lower",
        title="The stalest of R receivers is at least H_R / ln(1/p) - 1 steps behind on average, in the long run",
        relation=Ge(
            LARGEST_STALENESS, harmonic_number(receivers) / sp.log(1 / p) - 1 - receivers * p ** (t + 1) / (1 - p)
        ),
        kind=Kind.EXPECTED,
        source=derived(
            "L is above the exponential variable less one; cutting L at t takes at most the sum over s >= t of "
            "P(max L > s) <= R p^(s+1)."
        ),
        assumes=(*_LOSS, SOME_LOSS),
        axis="receivers",
    ),
    Claim(
        name="packetloss.training.replica_gap",
        title="Two replicas of a shard are at most the sum of the norms of the updates between their versions apart",
        relation=Le(REPLICA_GAP, missednorms),
        source=derived("The gap is the sum of those updates: triangle inequality."),
        assumes=(EQUAL_START,),
        tightness=1,
        extremal="updates of one direction",
        axis="missednorms",
    ),
    Claim(
        name="packetloss.training.stale_gradients",
        title="The mean gradient at drifted replicas differs from the one at a point by at most L times the mean "
        "distance",
        relation=Le(GRADIENT_ERROR, smooth * meandistance),
        source=derived("Triangle inequality over the workers, then the Lipschitz constant for each."),
        assumes=(LIPSCHITZ_GRADIENT,),
        tightness=1,
        extremal="a quadratic of one curvature, all replicas on one side of the reference point",
        axis="meandistance",
        note="Unbiased aggregation is unbiased for the mean of gradients at the workers' own replicas; this bounds its "
        "difference from the gradient at any one point.",
    ),
    Claim(
        name="packetloss.training.descent",
        title="Training under loss: the squared gradients are bounded by the fall of f and a term of second order in "
        "the step size for the drift",
        relation=Le(GRADIENT_SQUARES, fall / (eta * _some * t) + _noise / 2),
        kind=Kind.EXPECTED,
        source=derived(_DESCENT),
        assumes=(*_LOSS, OWN_GRADIENTS, MEAN_OF_ARRIVALS),
        tightness=1,
        extremal="no loss, quadratics of one curvature L",
        axis="p",
        unpinned=(
            ("0.9 times the term eta[*][*]2[*]p*", _LOOSE),
            ("*factor (1 - sqrt(p))*", _LOOSE),
            ("exponent * of 1 - sqrt(p)", _LOOSE),
            ("* times the term -sqrt(p)", _LOOSE),
            ("*the term 1", _LOOSE),
            ("exponent * of p", _LOOSE),
            ("exponent 3 of eta", _LOOSE),
            ("*factor N - 1", _LOOSE),
            ("exponent -2 of N", _LOOSE),
            ("N - 1 for N", _LOOSE),
        ),
        note="For quadratics of one curvature all but the bound on the drift is an equality: with loss the only slack "
        "is that replicas drift less than the drift term.",
    ),
    Claim(
        name="packetloss.training.convergence",
        title="Training under loss converges as without loss: the mean squared gradient is at most 2(f_0 - f*)/(eta q "
        "t) plus terms that vanish with the step size",
        relation=Le(OWNERS_GRADIENT_SQUARE, 2 * gap / (eta * _some * t) + _noise),
        kind=Kind.EXPECTED,
        source=derived(_DESCENT + "Leave out ||gbar||^2, and bound the fall of f by f_0 - f*."),
        assumes=(*_LOSS, OWN_GRADIENTS, MEAN_OF_ARRIVALS, BOUNDED_BELOW),
        axis="p",
        unpinned=(
            *for_one_reason(
                "a weaker form of packetloss.training.descent, whose terms the same runs test: half is left out",
                "0.9 times the bound",
                "0.9 times the term 2*gap/(elapsed*eta*(1 - p**N))",
                "elapsed + 1 for elapsed",
                "0.9 times the term -p**N",
                "N + 1 for N",
                "N - 1 for N",
                "without the factor 1/(1 - p**N)",
                "10/9 times the term 1",
                "0.9 times the term estimatesquare*",
                "0.9 times the term eta*smooth/(1 - p**N)",
                "without the factor eta*smooth/(1 - p**N) + *",
            ),
            *for_one_reason(
                _LOOSE,
                "0.9 times the term eta**2*p*",
                "without the term eta**2*p*",
                "0.9 times the term -sqrt(p)",
                "without the factor (1 - sqrt(p))*",
                "exponent -1 of 1 - sqrt(p)",
                "exponent -1/2 of p",
                "exponent 3/2 of p",
                "exponent -2 of N",
                "without the factor N - 1",
                "without the term 1",
                "exponent 1 of smooth",
                "without the factor smooth**2",
                "exponent 3 of eta",
            ),
        ),
        note="With a step size like 1/sqrt(t) the bound falls like 1/sqrt(t) at every p < 1; the loss enters by q = 1 "
        "- p^N and by a term like 1/t. We found no such rate in what we could read of the paper; this one is ours.",
    ),
)
