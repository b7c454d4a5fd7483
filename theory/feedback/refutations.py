"""Where refuted claims about error feedback are computed: the models of their smallest counterexamples."""

from __future__ import annotations

import sympy as sp

from commbounds.theory.feedback.terms import convexity, gap, smoothness
from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import alpha

_u, _v = sp.symbols("u v", integer=True, nonnegative=True)
_r = _u / _v
_STEP = 2 / ((1 + _r) * (convexity + smoothness))

REFUTATIONS = by_claim(
    Refutation(
        claim="feedback.cgd.first_step",
        words="mu x^2/2 at x = 1, and a compressor that returns 1 - r of the gradient, r = u/v: the step takes away "
        "(1 - r) mu times the step size.",
        whole={convexity: 1, smoothness: 1, _u: 1, _v: 1},
        measured=convexity * (1 - _STEP * (1 - _r) * convexity) ** 2 / 2,
        values={convexity: convexity, smoothness: smoothness, alpha: 1 - _r**2, gap: convexity / 2},
        positive={"L > mu": smoothness - convexity, "r < 1": _v - _u},
        met={
            "feedback_contractive": "It errs by r times its input.",
            "one_convex_worker": "It is a quadratic of curvature mu.",
            "cgd_first_step": "The step size is that.",
        },
    ),
)
