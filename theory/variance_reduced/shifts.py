"""Claims about DIANA: an estimate without bias, shifts that learn the gradients, and the step size that follows."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Kind, Le, Standing, for_one_reason
from commbounds.theory.feedback.terms import stepsize
from commbounds.theory.quantities import P, k
from commbounds.theory.sources import FOLKLORE, derived
from commbounds.theory.traffic import MOST_SENT
from commbounds.theory.variance_reduced import terms as t

_CODE = "class DIANA in fl_pytorch/utils/algorithms.py: "
_PRINTED_FACTOR = 4 * stepsize**2 * t.omega * (1 + t.omega) / P
_SHARP_FACTOR = stepsize**2 * t.omega / (P * t.weight * (1 - t.weight * (1 + t.omega)))
_ONE_STEP = (
    "E||x+ - x*||^2 = ||x - x* - gamma grad||^2 + gamma^2 omega/P V with V the mean of ||g_i - h_i||^2; the shifts' "
    "error becomes (1 - a) sigma + a A - a (1 - a (1 + omega)) V; ||grad||^2 <= 2 L D and A <= 2 L_max D with D = f - "
    "f*; <grad, x - x*> >= D + mu/2 ||x - x*||^2. "
)

DIANA_CLAIMS = (
    Claim(
        name="variance_reduced.diana.unbiased",
        title="DIANA's estimate is unbiased for any shifts",
        relation=Eq(t.STEP_BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM,),
        source=t.FLPYTORCH_2022.official_code(
            _CODE + "the server adds the average shift to the average of the compressed differences",
            "E C(g_i - h_i) = g_i - h_i: the shifts cancel.",
            code=t.FLPYTORCH_AT.at("fl_pytorch/utils/algorithms.py", "1395-1428"),
        ),
        axis="n",
    ),
    Claim(
        name="variance_reduced.diana.biased",
        title="DIANA's estimate is also unbiased with Top-K",
        relation=Eq(t.STEP_BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(t.LARGEST,),
        source=FOLKLORE.recalled(
            "the statement without its compressor", "Refuted by (2, 1) with no shift and k = 1: (2, 0) arrives."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="variance_reduced.diana.unbiased",
        extremal="one worker with gradient (2, 1), no shift, k = 1",
        axis="n",
        note="With weight 1 it is then EF21, whose estimate is biased but contracts.",
    ),
    Claim(
        name="variance_reduced.diana.variance",
        title="DIANA's variance is omega/P times the mean squared distance of gradients and shifts",
        relation=Eq(t.STEP_VARIANCE, t.omega / P * t.shift_gap),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.DRAWN_ALONE),
        source=t.DIANA_2019.recalled(
            "the variance of the estimator",
            "Independent errors without mean: their squares add up, over P^2. Rand-K has omega = n/k - 1 exactly.",
        ),
        axis="P",
    ),
    Claim(
        name="variance_reduced.diana.shift",
        title="DIANA multiplies a shift's squared distance from the gradient by exactly (1 - a)^2 + a^2 omega",
        relation=Eq(t.SHIFT_GAP_AFTER, ((1 - t.weight) ** 2 + t.weight**2 * t.omega) * t.shift_gap),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM,),
        source=derived("h+ - g = (1 - a)(h - g) + a (C(g - h) - (g - h)), and the second part has no mean."),
        axis="weight",
    ),
    Claim(
        name="variance_reduced.diana.shift_contracts",
        title="At a weight a of at most 1/(1 + omega), DIANA's mean shift gap is multiplied by at most 1 - a",
        relation=Le(t.SHIFT_GAP_AFTER, (1 - t.weight) * t.shift_gap),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.SMALL_WEIGHT),
        source=t.FLPYTORCH_2022.official_code(
            _CODE + "the weight 1/(1 + w); the inequality is recalled",
            "(1 - a)^2 + a^2 omega = 1 - a - a (1 - a (1 + omega)).",
            code=t.FLPYTORCH_AT.at("fl_pytorch/utils/algorithms.py", "1350"),
        ),
        tightness=1,
        extremal="the weight 1/(1 + omega), any vectors",
        axis="weight",
    ),
    Claim(
        name="variance_reduced.diana.shift_any_weight",
        title="DIANA's mean shift gap shrinks by 1 - a at least for every weight a up to 1",
        relation=Le(t.SHIFT_GAP_AFTER, (1 - t.weight) * t.shift_gap),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.WEIGHT_AT_MOST_ONE),
        source=FOLKLORE.recalled(
            "shifts as an exponential average", "Refuted by a = 1: the shift's error is Rand-K's, omega times."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="variance_reduced.diana.shift_contracts",
        tightness=sp.oo,
        extremal="the weight 1 with omega > 0",
        axis="weight",
        note="For a > 2/(1 + omega) the shift even moves away from a constant gradient.",
    ),
    Claim(
        name="variance_reduced.diana.shift_least",
        title="For every weight the mean factor of DIANA's shift gap is at least omega/(1 + omega)",
        relation=Ge(t.SHIFT_GAP_AFTER, t.omega / (1 + t.omega) * t.shift_gap),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM,),
        source=derived("(1 - a)^2 + a^2 omega is least at a = 1/(1 + omega)."),
        tightness=1,
        extremal="the weight 1/(1 + omega), any vectors",
        axis="omega",
    ),
    Claim(
        name="variance_reduced.diana.shift_target",
        title="About fixed vectors the shifts' error becomes (1 - a) times itself plus a times the gradients' less a "
        "term",
        relation=Eq(
            t.SHIFT_ERROR_AFTER,
            (1 - t.weight) * t.shift_error
            + t.weight * t.target_gap
            - t.weight * (1 - t.weight * (1 + t.omega)) * t.shift_gap,
        ),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM,),
        source=derived(
            "||(1 - a)(h - g*) + a (g - g*)||^2 = (1 - a)||h - g*||^2 + a ||g - g*||^2 - a (1 - a)||g - h||^2, and a^2 "
            "omega ||g - h||^2 of variance."
        ),
        axis="weight",
        note="The printed proofs drop the last term, which is zero only at a = 1/(1 + omega); see "
        "variance_reduced.diana.rate_sharp for its benefit.",
    ),
    Claim(
        name="variance_reduced.diana.weight_one",
        title="At weight 1 DIANA's estimate is the average of the new shifts: EF21, if the compressor is contractive",
        relation=Eq(t.SHIFT_DEFECT, 0),
        assumes=(t.WEIGHT_ONE,),
        source=derived("mean h + mean C(g - h) = mean (h + C(g - h))."),
        axis="n",
    ),
    Claim(
        name="variance_reduced.diana.rate",
        title="DIANA's potential falls by max(1 - gamma mu, 1 - a/2) up to gamma = 1/(L (1 + 6 omega/P))",
        relation=Le(
            t.DIANA_POTENTIAL,
            sp.Max(1 - stepsize * t.leastconvexity, 1 - t.weight / 2)
            * (t.to_minimiser + _PRINTED_FACTOR * t.shift_error),
        ),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.DRAWN_ALONE, t.CONVEX_PARTS, t.DIANA_STEP),
        source=t.HORVATH_VR_2019.recalled(
            "the theorem on strongly convex functions, without noise",
            _ONE_STEP + "Here a (1 + omega) = 1, V <= 2 A + 2 sigma, and c = 4 gamma^2 omega/(a P).",
        ),
        axis="stepsize",
        unpinned=for_one_reason(
            "It is loose by nature: a proof that keeps the term which is zero at this weight needs less, and "
            "variance_reduced.diana.rate_sharp attains that. V <= 2 A + 2 sigma, an equality if the shifts' error is "
            "opposite to the gradients', costs more than that state gains.",
            "0.9 times the term 4*omega*shift_error*stepsize**2*(omega + 1)/P",
            "0.9 times the term 1",
            "0.9 times the term omega",
            "-leastconvexity*stepsize + 1 for Max(1 - weight/2, -leastconvexity*stepsize + 1)",
            "without the term 1",
            "10/9 times the term -weight/2",
            "without the factor weight",
            "10/9 times the term -leastconvexity*stepsize",
        ),
        note="With 4 in place of 6, as in a published simulator, it fails: variance_reduced.diana.code_step.",
    ),
    Claim(
        name="variance_reduced.diana.code_step",
        title="DIANA's potential falls by max(1 - gamma mu, 1 - a/2) at step sizes up to 1/(L (1 + 4 omega/P))",
        relation=Le(
            t.DIANA_POTENTIAL,
            sp.Max(1 - stepsize * t.leastconvexity, 1 - t.weight / 2)
            * (t.to_minimiser + _PRINTED_FACTOR * t.shift_error),
        ),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.DRAWN_ALONE, t.CONVEX_PARTS, t.DIANA_CODE_STEP),
        source=t.FLPYTORCH_2022.official_code(
            _CODE + "the step size of the convex case, by the analysis SGD-CTRL named there, which was not read",
            "Refuted by x^2/2 and a shift whose error is opposite to that of x: at a = 1/2, P = 1, gamma = 1/5.",
            "It is read for this potential and rate; the code only has a step size.",
            code=t.FLPYTORCH_AT.at("fl_pytorch/utils/algorithms.py", "1335-1343"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="variance_reduced.diana.rate",
        extremal="one worker, x^2/2, omega = 1, gamma = 1/5, the shift's error opposite to the gradient's",
        axis="stepsize",
        note="Only this potential grows in a step; the method is stable there by a wide margin: on x^2/2, with omega = "
        "1 and one worker, up to step 0.457, and the code's is 0.2. At 4 omega/P the general analysis leaves no rate "
        "for the shifts' error. Half the weight allows 2 omega/P: variance_reduced.diana.rate_sharp.",
    ),
    Claim(
        name="variance_reduced.diana.rate_sharp",
        title=(
            "At a weight a below 1/(1 + omega) DIANA's potential falls by the larger of 1 - gamma mu and 1 - a, with "
            "longer steps"
        ),
        relation=Le(
            t.DIANA_POTENTIAL,
            sp.Max(1 - stepsize * t.leastconvexity, 1 - t.weight) * (t.to_minimiser + _SHARP_FACTOR * t.shift_error),
        ),
        kind=Kind.EXPECTED,
        assumes=(t.RANDOM, t.DRAWN_ALONE, t.CONVEX_PARTS, t.SHIFTING, t.DIANA_SHARP_STEP),
        source=derived(
            _ONE_STEP
            + "c = gamma^2 omega/(P a (1 - a (1 + omega))) makes the factor of V zero; of D there remains - 2 "
            "gamma (1 - gamma L - gamma L_max omega/(P (1 - a (1 + omega))))."
        ),
        tightness=1,
        extremal="workers with x^2/2 and exact shifts, the largest step size, a weight that is no smaller; any shifts "
        "at the minimiser, and a smaller weight",
        axis="stepsize",
        note="At a = 1/(2 (1 + omega)) the step size is 1/(L + 2 L_max omega/P), and the shifts' rate is that of the "
        "printed theorem, whose step size is 1/(L_max (1 + 6 omega/P)): up to three times longer. This compares the "
        "conditions of two proofs, not limits. Semidefinite programmes (1 and 4 workers, L_i = L, omega 1 to 9, mu/L "
        "0.01 to 0.999; not proved) find that this potential allows 1.19 to 1.99 times the step here, and the printed "
        "theorem's own potential 1.07 to 2.23 times its step. At half weight the inequality is attained only at the "
        "minimiser, where every step works; at 3/4 of 1/(1 + omega) and near mu = L the step is the largest. Nor is it "
        "the range of steps at which the method is stable: with omega = 1 and one worker that ends at 0.727/L, where "
        "the step here is 0.333/L.",
    ),
    Claim(
        name="variance_reduced.diana.words",
        title="A step of DIANA sends 2 k (P - 1) words",
        relation=Eq(MOST_SENT, 2 * k * (P - 1)),
        source=derived("Counted: k indices and k values of every rank go round a ring; each passes on P - 1 messages."),
        axis="P",
    ),
)
