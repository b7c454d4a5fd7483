"""Claims about EControl, whose corrections send a share of the error that has added up."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Le, Standing
from commbounds.theory.feedback import terms as t
from commbounds.theory.sources import FOLKLORE, derived

_RECURSION = (
    "While the gradient is constant, e+ = (1 - eta) e + r and w+ = (1 + eta) r - eta^2 e, where r, what compression "
    "leaves out of w = eta e + grad - g, has ||r|| <= q ||w||. "
)
_FASTEST = (sp.Max(t.surplus, -t.surplus) + t.pace) / 2
"""rho."""

ECONTROL_CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="feedback.econtrol.telescoping",
        title="EControl: weights minus gamma times the mean error equal the weights of uncompressed steps",
        relation=Eq(t.CONTROLLED, 0),
        source=t.ECONTROL_2023.second_hand(
            "the recursion, from code of its users and of Berg Thomsen, Taylor and Dieuleveut",
            "e+ = e + grad - g+, and the weights move by -gamma g+: x+ - gamma e+ = x - gamma e - gamma grad.",
        ),
        axis="horizon",
    ),
    Claim(
        name="feedback.econtrol.rate",
        title="At a constant gradient eta^2 ||e||^2 + q ||w||^2 falls by rho^2, rho = (|b| + sqrt(b^2 + 4 q))/2",
        relation=Le(
            t.CONTROLLED_ENERGY, _FASTEST**2 * (t.error_weight**2 * t.squared_error + t.root * t.squared_offer)
        ),
        assumes=(t.CONTRACTIVE, t.STANDING_GRADIENT, t.SMALL_ERROR_WEIGHT),
        source=derived(
            _RECURSION + "With b = (1 + q) eta - (1 - q), rho^2 = |b| rho + q: what rho^2 times the sum before exceeds "
            "the sum after by is rho^2/q (q^2 ||w||^2 - ||r||^2) and a square, which for b >= 0 is eta^2 b/(rho + 1 - "
            "eta) times that of (rho + 1 - eta) e + r, and for b <= 0 is -b/(q (rho + q (1 + eta))) times that of (rho "
            "+ q (1 + eta)) r - q eta^2 e."
        ),
        tightness=1,
        extremal="the compressor that returns 1 + q of its input, e and w along one another: w is (1 - eta + rho)/q "
        "times e for b > 0, and (1 - eta - rho)/q times it for b < 0",
        axis="error_weight",
        note="rho is the exact rate over all contractive compressors. It is smallest, sqrt(q), at eta = (1 - q)/(1 + "
        "q), and below 1 exactly for 0 < eta < 2 (1 - q)/(1 + q). The norms' own recursion, ||e+|| <= (1 - eta) ||e|| "
        "+ q ||w|| and ||w+|| <= eta^2 ||e|| + (1 + eta) q ||w||, contracts only for eta < (1 - q)/(2 q), which is "
        "less for q above 1/3.",
    ),
    Claim(
        name="feedback.econtrol.growth",
        title="With the compressor that returns 1 + q, EControl's error is multiplied by (b + sqrt(b^2 + 4 q))/2",
        relation=Eq(t.ERROR_GROWTH, ((t.surplus + t.pace) / 2) ** t.horizon),
        assumes=(t.STANDING_GRADIENT, t.SMALL_ERROR_WEIGHT, t.LARGE_ERROR_WEIGHT, t.STRETCHED),
        source=derived(
            _RECURSION + "With r = -q w a step is linear; of its two factors, whose sum is -b and whose product is -q, "
            "the larger is negative for b >= 0, and e is multiplied by it where q w = (1 - eta + rho) e."
        ),
        axis="error_weight",
        note="It grows for eta above 2 (1 - q)/(1 + q), which is 0.67 at q = 1/2 and 0.005 at alpha = 1/100. Top-K may "
        "allow more, since what it leaves out is orthogonal to what it sends.",
    ),
    Claim(
        name="feedback.econtrol.any_weight",
        title="EControl's error does not grow at any weight up to 1",
        relation=Le(t.ERROR_GROWTH, 1),
        assumes=(t.CONTRACTIVE, t.STANDING_GRADIENT, t.SMALL_ERROR_WEIGHT),
        source=FOLKLORE.recalled(
            "a natural expectation, as EF14 sends the whole error and works with every contractive compressor",
            "Refuted by a run: at eta = 1 and q = 4/5 the compressor that returns 9/5 of its input doubles the error "
            "in every step.",
        ),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="the compressor that returns 1 + q of its input, eta = 1, q above 1/3",
        axis="error_weight",
        note="With eta below 2 (1 - q)/(1 + q) the error falls in the long run by feedback.econtrol.rate, though it "
        "may rise in single steps.",
    ),
)
"""In the order of the proof."""
