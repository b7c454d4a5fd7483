"""Claims about EF21M, that is EF21 with momentum, and about ARC-Top-K inside it."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing, for_one_reason
from commbounds.theory.feedback import terms as t
from commbounds.theory.quantities import P, alpha
from commbounds.theory.sources import FOLKLORE, derived

_LEMMAS = (
    Claim(
        name="feedback.ef21m.momentum",
        title="The average momentum contracts to f's gradient by 1 - eta, with the noise of P workers averaged",
        relation=Le(
            t.MOMENTUM_LAG,
            (1 - t.eta) * t.momentum_lag
            + (1 - t.eta) ** 2 / t.eta * t.smoothness**2 * t.shift
            + t.eta**2 * t.variance / P,
        ),
        kind=Kind.EXPECTED,
        assumes=(t.SMOOTH, t.INDEPENDENT_NOISE, t.WEIGHT),
        source=derived(
            "h+ - grad+ = (1 - eta)(h - grad + grad - grad+) + eta noise; (a + b)^2 <= a^2/(1 - eta) + b^2/eta."
        ),
        tightness=1,
        extremal="h - grad f is -(1 - eta)/eta times the change of the gradient",
        axis="eta",
        note="With 3 L^2/eta in place of (1 - eta)^2 L^2/eta it is looser by a factor of three or more.",
    ),
    Claim(
        name="feedback.ef21m.lag",
        title="EF21M's estimates contract to their momenta by 1 - alpha/2",
        relation=Le(
            t.COMPRESSION_LAG,
            (1 - alpha / 2) * t.lag
            + 4 * t.eta**2 / alpha * t.own_lag
            + 4 * t.smoothness_apart**2 * t.eta**2 / alpha * t.shift
            + t.eta**2 * t.variance,
        ),
        kind=Kind.EXPECTED,
        assumes=(t.CONTRACTIVE, t.SMOOTH_APART, t.INDEPENDENT_NOISE),
        source=derived(
            "h+ - g = (h - g) + eta (grad+ - h) + eta noise; Young with alpha/2: "
            "(1 - alpha)(1 + alpha/2) <= 1 - alpha/2 and (1 - alpha)(1 + 2/alpha) <= 2/alpha; ||grad+ - h||^2 is at "
            "most twice ||grad - h||^2 plus twice ||grad+ - grad||^2."
        ),
        tightness=1,
        extremal="alpha towards 0: h - grad f is opposite to the gradient's change, and g - h is 4 eta/alpha times it; "
        "the compressor that returns 1 - q of its input",
        axis="eta",
    ),
    Claim(
        name="feedback.ef21m.descent",
        title="f falls by a gradient term minus the lags of compression and momentum",
        relation=Le(
            t.EXCESS_AFTER,
            t.gap
            - t.stepsize / 2 * t.slope
            - t.shift / (4 * t.stepsize)
            + t.stepsize * t.mean_lag
            + t.stepsize * t.momentum_lag,
        ),
        assumes=(t.SMOOTH, t.HALF_STEP),
        source=derived(
            "f+ <= f - gamma/2 ||grad f||^2 - (1/(2 gamma) - L/2)||x+ - x||^2 + gamma/2 ||g - grad f||^2, "
            "L gamma <= 1/2, and ||g - grad f||^2 <= 2||g - h||^2 + 2||h - grad f||^2."
        ),
        tightness=1,
        extremal="one worker in one dimension, g - h = h - grad f, step size 1/(2 L)",
        axis="stepsize",
        unpinned=(("10/9 times the bound", "Equivalent: the bound is not negative, except for rounding."),),
    ),
)

_STEP = (
    Claim(
        name="feedback.ef21m.step",
        title="The weights move by the step size times the average of the workers' estimates",
        relation=Eq(t.STEP_DEFECT, 0),
        assumes=(t.WEIGHT,),
        source=derived(
            "The server adds the average of the corrections to its estimate, every worker its own correction to its "
            "own: both begin with zeros or with the first gradients, so the server's is the average of theirs."
        ),
        axis="horizon",
        note="Every descent above starts from it; upper bounds do not detect a step that is too long.",
    ),
)

_NOISE = 16 * t.eta**3 / alpha**2 + 4 * t.eta**2 / alpha
_SUM = "The three lemmas, summed over the steps; the step size makes the coefficient of ||x+ - x||^2 negative."

_DESCENT_LOOSE = for_one_reason(
    "It is loose by nature: with such small steps gradients reach 0.52 of the first term, which is at least 40 L "
    "gap/(alpha T).",
    "0.9 times the bound",
    "0.9 times the term 2*gap/(horizon*stepsize)",
    "horizon + 1 for horizon",
)
_COMPRESSED_NOISE = (
    "It is loose by nature: {} is noise that compression delays, counted in every step as if no later step sent it. "
    "Without compression, all noise reaches at most 0.033 of 2 eta sigma^2/P."
)

_EF21M_LOOSE = (
    *_DESCENT_LOOSE,
    *for_one_reason(
        "It is loose by nature: uncompressed noise reaches at most 0.033 of this term, as steps are at most a seventh "
        "of eta/L.",
        "0.9 times the term 2*eta*variance/P",
    ),
    *for_one_reason(
        "The other noise terms have no 1/P: as noise reaches 0.033 of its term, only 30 workers or more with eta below "
        "1/2000 would reveal the square of P, in tens of thousands of steps.",
        "exponent -2 of P",
        "P + 1 for P",
    ),
    *for_one_reason(
        _COMPRESSED_NOISE.format("(16 eta^3/alpha^2 + 4 eta^2/alpha) sigma^2")
        + " Beside that it could decide only for thousands of workers whose errors do not cancel.",
        "without the term variance*(4*eta**2/alpha + 16*eta**3/alpha**2)",
        "0.9 times the term variance*(4*eta**2/alpha + 16*eta**3/alpha**2)",
        "without the factor 4*eta**2/alpha + 16*eta**3/alpha**2",
        "without the factor variance",
        "without the term 4*eta**2/alpha",
        "0.9 times the term 4*eta**2/alpha",
        "without the term 16*eta**3/alpha**2",
        "0.9 times the term 16*eta**3/alpha**2",
        "exponent 3 of eta",
        "exponent 4 of eta",
    ),
    *for_one_reason(
        "It is loose by nature: from the minimiser, where it is alone, the estimates' lag moves the weights by at most "
        "a twentieth of its root, and errors of several workers cancel: runs reach 2.4e-5 of the term.",
        "0.9 times the term 4*lag/(alpha*horizon)",
        "without the factor 1/alpha",
        "exponent -2 of horizon",
    ),
    *for_one_reason(
        "It is loose by nature: the momenta's first lag is the noise in the first gradients, which reaches 0.036 of "
        "2/eta times the averages' lag.",
        "0.9 times the term (2*momentum_lag/eta + 16*eta*own_lag/alpha**2)/horizon",
        "0.9 times the term 2*momentum_lag/eta",
    ),
    *for_one_reason(
        "It is loose by nature: the workers' own lags have P times the first gradients' noise of the averages' lag, "
        "which moves the weights; beside it they could decide only for many workers whose errors do not cancel.",
        "without the term 16*eta*own_lag/alpha**2",
        "0.9 times the term 16*eta*own_lag/alpha**2",
        "without the factor own_lag",
        "without the factor alpha**(-2)",
        "exponent -1 of alpha",
    ),
)
_ARC_LOOSE = (
    *_DESCENT_LOOSE,
    *for_one_reason(
        "It is loose by nature: uncompressed noise reaches at most 0.033 of 2 eta sigma^2/P, as steps are at most a "
        "seventh of eta/L.",
        "0.9 times the term 2*eta",
        "0.9 times the term variance*(2*eta + 4*eta**2/alpha + 16*eta**3/alpha**2)/P",
        "P + 1 for P",
    ),
    *for_one_reason(
        _COMPRESSED_NOISE.format("(16 eta^3/alpha^2 + 4 eta^2/alpha) sigma^2/P"),
        "without the factor 2*eta + 4*eta**2/alpha + 16*eta**3/alpha**2",
        "without the term 4*eta**2/alpha",
        "0.9 times the term 4*eta**2/alpha",
        "without the term 16*eta**3/alpha**2",
        "0.9 times the term 16*eta**3/alpha**2",
        "exponent 3 of eta",
        "exponent 4 of eta",
    ),
    *for_one_reason(
        "Still true where gradients are exact: estimates that begin with zeros lag by ||grad f||^2 <= 2 L gap, for "
        "which the first term has 20 times as much; with noise in them (2/eta + 16 eta/alpha^2) times the "
        "momentum's lag is more, as 2/eta + 16 eta/alpha^2 > 4/alpha.",
        "without the term 4*mean_lag/(alpha*horizon)",
        "0.9 times the term 4*mean_lag/(alpha*horizon)",
        "without the factor 1/alpha",
        "exponent -2 of horizon",
    ),
    *for_one_reason(
        "It is loose by nature: the momenta's first lag is the noise in the first gradients, which reaches 0.036 of "
        "2/eta times it; 16 eta/alpha^2 matters beside that only for large eta, where it decays soon.",
        "0.9 times the term momentum_lag*(2/eta + 16*eta/alpha**2)/horizon",
        "0.9 times the term 2/eta",
        "without the term 16*eta/alpha**2",
        "0.9 times the term 16*eta/alpha**2",
        "without the factor alpha**(-2)",
        "exponent -1 of alpha",
    ),
)

_BOUNDS = (
    Claim(
        name="feedback.ef21m.bound",
        title="EF21M's mean squared gradient has a bound with explicit constants",
        relation=Le(
            t.MEAN_SQUARED_GRADIENT,
            2 * t.gap / (t.stepsize * t.horizon)
            + 4 * t.lag / (alpha * t.horizon)
            + (16 * t.eta / alpha**2 * t.own_lag + 2 / t.eta * t.momentum_lag) / t.horizon
            + _NOISE * t.variance
            + 2 * t.eta * t.variance / P,
        ),
        kind=Kind.EXPECTED,
        assumes=(t.CONTRACTIVE, t.SMOOTH, t.SMOOTH_APART, t.INDEPENDENT_NOISE, t.WEIGHT, t.EF21M_STEP),
        source=t.EF21M_2023.recalled("the step size and the order of every term; the constants are ours", _SUM),
        axis="horizon",
        unpinned=_EF21M_LOOSE,
        note="The terms that compression adds have no 1/P. It fails with eta well above 1, where the momentum grows by "
        "(eta - 1)^2 per step. An upper bound does not detect a step size a few times too large, as this one is a "
        "tenth of what EF21 allows: a separate claim says that the weights move by gamma. The proof allows more than "
        "twice as much, gamma <= alpha/(8 L~) and eta/(3 L): the squared steps' coefficient keeps its sign, as 16/64 + "
        "2/9 < 1/2. These are not the limit: with other weights f - f* + a ||h - grad f||^2 + b ||g - h||^2 allows 2.3 "
        "to 4.7 times as much for one worker without noise, and so 5 to 10 times the step sizes here (alpha 1/2, 0.19 "
        "and 0.05, eta 0.1, 0.3 and 0.7; by semidefinite programmes, not proved).",
    ),
    Claim(
        name="feedback.arc.bound",
        title="With ARC-Top-K, every noise term of EF21M's bound is divided by P",
        relation=Le(
            t.MEAN_SQUARED_GRADIENT,
            2 * t.gap / (t.stepsize * t.horizon)
            + 4 * t.mean_lag / (alpha * t.horizon)
            + (16 * t.eta / alpha**2 + 2 / t.eta) * t.momentum_lag / t.horizon
            + (_NOISE + 2 * t.eta) * t.variance / P,
        ),
        kind=Kind.EXPECTED,
        assumes=(t.ARC_ROWS, t.SMOOTH, t.INDEPENDENT_NOISE, t.WEIGHT, t.ARC_STEP),
        source=derived(
            "EF21M's bound for one worker, whose gradient is the average: its noise is sigma^2/P, its L~ is L."
        ),
        axis="P",
        unpinned=_ARC_LOOSE,
        note="The step size needs L where EF21M needs L~, and alpha/(8 L) and eta/(3 L) would suffice; these are not "
        "the limit either, as for feedback.ef21m.bound. The rates of the paper itself were not read.",
    ),
)

_ARC = (
    Claim(
        name="feedback.arc.single_node",
        title="EF21M with ARC-Top-K equals EF21M of a single worker with the average gradients",
        relation=Eq(t.RATES_APART, 0),
        assumes=(t.SAME_SKETCHES,),
        source=derived(
            "Averages of h and of g obey the single worker's recursion, as averaging commutes with the rows."
        ),
        axis="P",
    ),
    Claim(
        name="feedback.arc.speedup",
        title="The noise floor of EF21M with ARC-Top-K is 1/P of a single worker's",
        relation=Eq(t.FLOORS, 1 / P),
        kind=Kind.LAW,
        assumes=(t.INDEPENDENT_NOISE, t.NORMAL_NOISE, t.AT_THE_MINIMUM, t.SAME_SKETCHES, t.WEIGHT),
        source=derived(
            "P workers equal one worker with their average noise, which has the law of its own noise over sqrt(P). "
            "From the minimiser of a quadratic gradients, momenta, estimates and weights are homogeneous in the noise, "
            "and the selected rows do not depend on the scale: everything is 1/sqrt(P) of a single worker's."
        ),
        axis="P",
        note="Noise that is not normal changes its shape as it is averaged; its floor still falls like 1/P, within the "
        "precision of one run.",
    ),
    Claim(
        name="feedback.topk.speedup",
        title="The noise floor of EF21M with Top-K per worker falls like 1/P",
        relation=Le(t.ORDER_DEFECT, sp.Rational(1, 2)),
        kind=Kind.APPROXIMATE,
        assumes=(t.INDEPENDENT_NOISE, t.BIASED_NOISE),
        source=FOLKLORE.recalled(
            "a natural expectation, as it does so under mild symmetric noise",
            "Refuted by a run: every worker's estimate has a bias that averaging over workers does not remove.",
        ),
        stands=Standing.REFUTED,
        extremal="two dimensions, Top-1, eta = 1, noise of three values whose average largest entry is not zero",
        axis="P",
        note=(
            "With more workers the floor stops falling; with a small eta it stops later. The noise law was chosen "
            "among sixty random ones of three integer values for the largest floor relative to its variance: it shows "
            "that the claim can fail, not how much it fails on other noise."
        ),
    ),
)

MOMENTUM_CLAIMS: tuple[Claim, ...] = (*_STEP, *_LEMMAS, *_BOUNDS, *_ARC)
"""In the order of the proof."""
