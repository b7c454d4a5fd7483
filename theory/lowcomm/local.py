"""Claims about local SGD: how far workers drift apart, and where they end."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.lowcomm.terms import (
    BOUNDED_GRADIENTS,
    KHALED,
    LOCAL_DRIFT,
    LOCAL_LIMIT,
    LOCAL_SPREAD,
    ONE_CURVATURE,
    ONE_STEP,
    SGD_GAP,
    SIGN_NOISE,
    SLOW_STEPS,
    STICH_LOCAL,
    TWO_QUADRATICS,
    localsteps,
    retained,
    retained_second,
)
from commbounds.theory.quantities import P
from commbounds.theory.sources import derived

_left, _left_second = retained**localsteps, retained_second**localsteps
_geometric = sp.Piecewise(
    (localsteps, sp.Eq(retained**2, 1)), ((1 - retained ** (2 * localsteps)) / (1 - retained**2), True)
)

LOCAL_CLAIMS = (
    Claim(
        name="lowcomm.local.one_step",
        title="Local SGD with one step is SGD",
        relation=Eq(SGD_GAP, 0),
        assumes=(ONE_STEP,),
        source=derived("The average of x - gamma g_p is x - gamma times the average of g_p."),
    ),
    Claim(
        name="lowcomm.local.spread",
        title="On a quadratic H noisy steps of local SGD spread the workers by (1 - 1/P) (1 - q^(2 H))/(1 - q^2)",
        relation=Eq(LOCAL_SPREAD, (1 - 1 / P) * _geometric),
        kind=Kind.LAW,
        assumes=(SIGN_NOISE,),
        source=derived(
            "A worker's distance from the noiseless path is gamma sum_j q^j noise_j, of variance gamma^2 sigma^2 sum_j "
            "q^(2 j); of P independent numbers 1 - 1/P of the variance is about their average."
        ),
        axis="localsteps",
        unpinned=(("branch 2 everywhere*", "equivalent: at q^2 = 1 it is undefined, but has the limit H"),),
    ),
    Claim(
        name="lowcomm.local.spread_bound",
        title="For steps of at most 1/(2 a) the variance between local SGD's workers is at most H",
        relation=Le(LOCAL_SPREAD, localsteps),
        kind=Kind.LAW,
        assumes=(SIGN_NOISE, SLOW_STEPS),
        source=KHALED.recalled(
            "for identical data the average deviation is at most (H - 1) gamma^2 sigma^2 before the H-th step",
            "Each term q^(2 j) is at most one, and 1 - 1/P too. Counted after H steps, not H - 1.",
            reading="We read it as one worker's deviation after the steps counted.",
        ),
        extremal="no curvature: q = 1",
        axis="localsteps",
        note="It is loose by 1 - 1/P without curvature, and by any factor beyond H = 1/(1 - q^2): the spread is "
        "bounded on a strongly convex quadratic.",
    ),
    Claim(
        name="lowcomm.local.drift_bound",
        title="With gradients of norm at most G, local SGD's workers are at most 4 H^2 apart",
        relation=Le(LOCAL_DRIFT, 4 * localsteps**2),
        assumes=(BOUNDED_GRADIENTS,),
        source=STICH_LOCAL.recalled(
            "average deviation at most 4 gamma^2 G^2 H^2, for steps that at most halve within a round",
            "Each worker moves by gamma G H at most, and the mean square about the average is at most that about the "
            "start; step sizes that halve make it four times as much.",
        ),
        tightness=sp.Rational(1, 4),
        extremal="an even number of workers, half of which move in each of two opposite directions",
        axis="localsteps",
        note="The factor 4 is for decreasing steps; with a constant step H^2 is sharp (`lowcomm.local.drift_sharp`).",
    ),
    Claim(
        name="lowcomm.local.drift_sharp",
        title="With a constant step, local SGD's workers are at most H^2 apart, and no smaller bound holds",
        relation=Le(LOCAL_DRIFT, localsteps**2),
        assumes=(BOUNDED_GRADIENTS,),
        source=derived("Each worker moves by gamma G H at most; about the average the mean square is no larger."),
        tightness=1,
        extremal="an even number of workers, half of which move in each of two opposite directions",
        axis="localsteps",
    ),
    Claim(
        name="lowcomm.local.limit",
        title="Local gradient descent on two quadratics ends at (1 - q_2^H)/(2 - q_1^H - q_2^H)",
        relation=Eq(LOCAL_LIMIT, (1 - _left_second) / (2 - _left - _left_second)),
        assumes=(TWO_QUADRATICS,),
        source=derived(
            "From x a worker with minimum b ends at b + q^H (x - b). The average is x where (1 - q_1^H) x = (1 - "
            "q_2^H) (1 - x)."
        ),
        axis="localsteps",
    ),
    Claim(
        name="lowcomm.local.optimum",
        title="Local gradient descent on two quadratics ends at the minimum of the average",
        relation=Eq(LOCAL_LIMIT, (1 - retained_second) / (2 - retained - retained_second)),
        assumes=(TWO_QUADRATICS,),
        source=derived(
            "Refuted by H = 2, q = 1/2 and 1/4: 5/9, while the minimum of the average is at 3/5.",
            "the same with a hypothesis left out",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.local.limit",
        extremal="two steps, q = 1/2 and 1/4",
        axis="localsteps",
        note="With many local steps it tends to the average of the two minima, for any curvatures.",
    ),
    Claim(
        name="lowcomm.local.one_curvature",
        title="Local gradient descent on two quadratics of one curvature ends at the minimum of the average",
        relation=Eq(LOCAL_LIMIT, sp.Rational(1, 2)),
        assumes=(TWO_QUADRATICS, ONE_CURVATURE),
        source=derived("q_1 = q_2 in the limit: both sides are 1/2, where the average has its minimum."),
        axis="localsteps",
    ),
)
